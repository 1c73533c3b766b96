# SPDX-License-Identifier: Apache-2.0
"""Prints results of cases in the Test Anything Protocol."""

import time
import traceback


class Skip(Exception):
    pass


class Tap:
    def __init__(self):
        self.count = self.failed = self.skipped = 0

    def _line(self, good, name, note=""):
        self.count += 1
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}{note}", flush=True)

    @staticmethod
    def comment(text):
        for row in str(text).splitlines():
            print(f"# {row}", flush=True)

    def skip(self, name, reason):
        self.skipped += 1
        self._line(True, name, f" # SKIP {reason}")

    def run(self, name, function, diagnose=None):
        """Runs one case, which fails on any exception; then prints what `diagnose` returns. True if it did
        not fail."""
        start = time.monotonic()
        try:
            function()
        except Skip as reason:
            self.skip(name, reason)
            return True
        except Exception as error:  # pylint: disable=broad-except
            self.failed += 1
            self._line(False, name, f" ({time.monotonic() - start:.1f} s)")
            self._explain(error)
            if diagnose:
                self.comment(diagnose())
            return False
        self._line(True, name, f" ({time.monotonic() - start:.1f} s)")
        return True

    def _explain(self, error):
        """Prints the first exception first, because an exception in a case's `finally` may only follow
        from it."""
        if error.__context__:
            self._explain(error.__context__)
        where = traceback.extract_tb(error.__traceback__)
        mine = next((f for f in reversed(where) if "/scenarios/" in f.filename), where[-1])
        self.comment(f"{type(error).__name__} at {mine.name}:{mine.lineno}: {mine.line}")
        self.comment(error)

    def fail(self, name, reason):
        self.failed += 1
        self._line(False, name)
        self.comment(reason)

    def finish(self):
        """Prints the plan, which TAP allows at the end, and the totals. Returns the number of failed
        cases."""
        print(f"1..{self.count}", flush=True)
        self.comment(f"{self.count - self.failed - self.skipped} passed, {self.failed} failed, {self.skipped} skipped")
        return self.failed
