# SPDX-License-Identifier: Apache-2.0
"""The labels of GPUs that gpuhost-cluster writes are those that the admission policy allows, and those that its test
sends."""
import re

from sources import changed, load, main

CODE, POLICY, TEST = "daemon/cluster/node/gpu_labels.cpp", "packaging/kubernetes/host-policy.yaml", "tests/cluster/scenarios/rights.py"
OTHERS = {"gpu.present", "gpu-driver-upgrade-state"}  # allowed for the operator's label and for upgrades
PREFIXES = ("cuda.", "mig-")  # the policy allows all such names


def names(text, pattern):
    found = re.search(pattern, text, re.DOTALL)
    return set(re.findall(r"[\"']([a-z][a-z0-9.-]+)[\"']", found.group(1))) if found else set()


def label_names(tree):
    code = names(tree[CODE], r"string_view, \d+> names\{(.*?)\};")
    if not code:
        yield f"{CODE}: no names found"
    for path, pattern, others in ((POLICY, r"name: gpuLabels\n(.*?)\]\.map", OTHERS), (TEST, r"GPU_LABELS = \{(.*?)\)\}", set())):
        listed = {name for name in names(tree[path], pattern) if not name.startswith(PREFIXES)} - others
        for name in sorted(code ^ listed):
            yield f"{name} is in {CODE if name in code else path} alone"


TREE = load()
main(
    ("labels of GPUs have the same names everywhere", label_names, {
        "a label that the policy refuses": changed(TREE, POLICY, "'gpu.memory', ", ""),
        "a label that nobody writes": changed(TREE, POLICY, "'gpu.mode'", "'gpu.mode', 'gpu.other'"),
        "a label that no test sends": changed(TREE, TEST, '"gpu.slices.ci", ', ""),
    }),
)
