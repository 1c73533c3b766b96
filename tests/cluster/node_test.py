# SPDX-License-Identifier: Apache-2.0
"""Tests that the programs of the cluster tests are pinned and that the cache's keys depend on the pins.
Builds nothing."""

import dataclasses
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
import node  # noqa: E402, F401
from node import binaries  # noqa: E402
from node.waiting import eventually  # noqa: E402
from tap import Tap  # noqa: E402


def test_pins(tap):
    pinned = binaries.CONTAINERD, binaries.CONTAINERD_22, binaries.CONTAINERD_23, binaries.CONFORMANCE, binaries.KUBERNETES, binaries.CONTROL_PLANE, binaries.HELM, binaries.CRIO, binaries.TOOLKIT, binaries.PROMETHEUS, *binaries.OTHER_KUBELETS
    tap.equal([module.version() for module in pinned], ["2.4.2", "2.2.9", "2.3.7", "0.0.0-20260831232431-97274622c111", "1.36.3", "1.36.3", "3.20.2", "1.34.0", "1.20.1", "0.316.0", "1.34.3", "1.37.2"], "versions are those of go.mod")
    for module in pinned:
        sums = (module.path / "go.sum").read_text()
        tap.ok(f"{module.pinned} v{module.version()} h1:" in sums, f"{module.name}: go.sum pins the version")
    tap.ok("gitMinor=36" in binaries.KUBERNETES.flags(), "the kubelet is linked with its version", binaries.KUBERNETES.flags())


def test_keys(tap, work):
    for path in binaries.TOOLS.path.rglob("*.*"):  # without its mode, because a tarball's tree may be read-only
        copy = work / path.relative_to(binaries.MODULES)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    binaries.MODULES = work
    keys = {binaries.TOOLS.key()}
    tap.equal({binaries.TOOLS.key()}, keys, "the same files give the same key")
    for changed in ("go.sum", "go.mod", "hold/main.go"):
        with open(work / "tools" / changed, "a", encoding="utf-8") as file:
            file.write("\n")
        keys.add(binaries.TOOLS.key())
    keys.add(dataclasses.replace(binaries.TOOLS, packages=("./hold",)).key())
    keys.add(dataclasses.replace(binaries.TOOLS, tags=("quick",)).key())
    tap.equal(len(keys), 6, "each changed file, package or tag gives another key")


def test_waiting(tap):
    answers = iter(["", "there"])
    tap.equal(eventually("an answer", lambda: next(answers)), "there", "a wait ends with the first true result")
    try:
        eventually(lambda: "the description", lambda: None, 0)
        tap.ok(False, "a wait past its deadline fails with its description")
    except TimeoutError as error:
        tap.ok("the description" in str(error), "a wait past its deadline fails with its description", error)


def main():
    tap = Tap()
    test_pins(tap)
    with tempfile.TemporaryDirectory() as name:
        test_keys(tap, Path(name))
    test_waiting(tap)
    tap.done()


if __name__ == "__main__":
    main()
