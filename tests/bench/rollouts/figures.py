# SPDX-License-Identifier: Apache-2.0
"""Figures and their limits."""

import json
import sys
import time


def note(text):
    """Prints progress to stderr."""
    print(f"# {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Figures:
    def __init__(self, as_json):
        self.as_json = as_json
        self.rows = []

    def add(self, what, value, unit, most=None, least=None, baseline=None, **more):
        """Prints a figure. `baseline` is the library's value of the same figure; `more` is printed
        unchanged."""
        row = {"what": what, "value": value, "unit": unit, **more}
        if most is not None:
            row.update(most=most, kept=value <= most)
        if least is not None:
            row.update(least=least, kept=value >= least)
        if baseline is not None:
            row.update(baseline=baseline, ratio=value / baseline if baseline else None)
        self.rows.append(row)
        if not self.as_json:
            print(self.line(row), flush=True)

    @staticmethod
    def line(row):
        known = ("what", "value", "unit", "most", "least", "kept", "baseline", "ratio")
        parts = [f"{number(row['value'])} {row['unit']}".rstrip()]
        if "baseline" in row:
            ratio = "" if row["ratio"] is None else f", ratio {row['ratio']:.3f}"
            parts.append(f"NVIDIA's library {number(row['baseline'])}{ratio}")
        parts += [f"{key.replace('_', ' ')} {number(value)}" for key, value in row.items() if key not in known]
        limit = f" (at most {number(row['most'])})" if "most" in row else f" (at least {number(row['least'])})" if "least" in row else ""
        return f"{'' if row.get('kept', True) else 'MISSED: '}{row['what']}: {', '.join(parts)}{limit}"

    def finish(self):
        """Returns whether all limits were kept."""
        if self.as_json:
            print(json.dumps(self.rows, indent=1))
        return all(row.get("kept", True) for row in self.rows)


def number(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {number(one)}" for key, one in value.items()) + "}"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
