# SPDX-License-Identifier: Apache-2.0
"""Checks that the generated pages of docs/reference are those of the sources: 'make reference' writes them."""
import os
import re
import sys

from sources import load, main
from tap import TOP_SRCDIR

sys.path.insert(0, os.path.join(TOP_SRCDIR, "docs"))
import make_reference  # pylint: disable=wrong-import-position

METRICS = make_reference.CLUSTER_METRICS[0]


def current_rule(tree):
    for path, wanted in make_reference.pages(tree).items():
        there = tree.get(path, "").splitlines()
        for line in wanted.splitlines():
            if line not in there:
                yield f"{path} lacks: {line}"
        if tree.get(path, "") != wanted:
            yield f"{path} is not current: run make reference"


def complete_rule(tree):
    """The generator finds all entries of its tables, which it reads with regular expressions."""
    metrics = make_reference.metrics(tree)
    for path in make_reference.HOST_METRICS + make_reference.CLUSTER_METRICS + make_reference.REGISTRY_METRICS:
        for name in set(re.findall(r'"(gpu(?:host|_operator)_\w+)"', tree[path])):
            if f"| `{name}` |" not in metrics:
                yield f"metric {name} is not found by docs/make_reference.py"
        for name, rest in re.findall(r'(?:family|one)\("(\w+)"(.*?)\);', tree[path], re.S):
            if re.search(r'"(histogram|summary)"', rest) or name.endswith("_total") != ('"counter"' in rest):
                yield f"docs/make_reference.py writes another type of {name}"
    for path in sorted(tree):
        if path.startswith("daemon/exporter/") and re.search(r"\b(family|one)\(", tree[path]) and path not in make_reference.HOST_METRICS + ["daemon/exporter/add_metrics.hpp"]:
            yield f"docs/make_reference.py does not read {path}"
    lines = tree["systemd/gpuhostd.conf"].splitlines()
    keys = sum(line.startswith("#") and "=" in line.split(" ")[0] for line in lines)
    if make_reference.settings(tree).count("=` | ") != keys:
        yield "docs/make_reference.py does not find all settings"


TREE = load()
main(
    ("pages of docs/reference are current", current_rule, {
        "a page with another default": TREE | {"docs/reference/settings.md": TREE["docs/reference/settings.md"].replace("`10min`", "`11min`")},
        "another limit in the code": TREE | {"kmod/build/build.hpp": TREE["kmod/build/build.hpp"].replace("hours(4)", "hours(5)")},
        "a page that is missing": {path: text for path, text in TREE.items() if path != "docs/reference/json.md"},
    }),
    ("pages of docs/reference are complete", complete_rule, {
        "a metric in another form": TREE | {METRICS: TREE[METRICS] + '\nauto x = "gpuhost_new";\n'},
        "a metric of another type": TREE | {METRICS: TREE[METRICS] + '\ntext.one("gpuhost_leader", "", 1, "counter");\n'},
        "metrics in another file": TREE | {"daemon/exporter/new.cpp": 'text.one("gpuhost_new", "", 1);\n'},
        "a setting in another form": TREE | {"systemd/gpuhostd.conf": TREE["systemd/gpuhostd.conf"] + "\n#New=\n"},
    }),
)
