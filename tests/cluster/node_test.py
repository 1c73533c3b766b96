# SPDX-License-Identifier: Apache-2.0
"""What the cluster tests build is pinned, and the cache knows one pin from another. Nothing is built here."""

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
    pinned = binaries.CONTAINERD, binaries.CONTAINERD_22, binaries.CONTAINERD_23, binaries.CONFORMANCE, binaries.KUBERNETES, binaries.CONTROL_PLANE, binaries.CRIO, binaries.TOOLKIT
    tap.equal([module.version() for module in pinned], ["2.4.2", "2.2.9", "2.3.7", "0.0.0-20260831232431-97274622c111", "1.36.3", "1.36.3", "1.34.0", "1.20.1"], "the versions that go.mod has")
    for module in pinned:
        sums = (module.path / "go.sum").read_text()
        tap.ok(f"{module.pinned} v{module.version()} h1:" in sums, f"{module.name}: go.sum has it")
    tap.ok("gitMinor=36" in binaries.KUBERNETES.flags(), "the kubelet is told which one it is", binaries.KUBERNETES.flags())


def test_keys(tap, work):
    for path in binaries.TOOLS.path.rglob("*.*"):  # without its mode: a tarball's tree may be one that can't be written
        copy = work / path.relative_to(binaries.MODULES)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    binaries.MODULES = work
    keys = {binaries.TOOLS.key()}
    tap.equal({binaries.TOOLS.key()}, keys, "a key is the same for the same files")
    for changed in ("go.sum", "go.mod", "hold/main.go"):
        with open(work / "tools" / changed, "a", encoding="utf-8") as file:
            file.write("\n")
        keys.add(binaries.TOOLS.key())
    keys.add(dataclasses.replace(binaries.TOOLS, packages=("./hold",)).key())
    keys.add(dataclasses.replace(binaries.TOOLS, tags=("quick",)).key())
    tap.equal(len(keys), 6, "and another one for every change")


def test_waiting(tap):
    answers = iter(["", "there"])
    tap.equal(eventually("an answer", lambda: next(answers)), "there", "a wait ends with the answer")
    try:
        eventually(lambda: "it says why", lambda: None, 0)
        tap.ok(False, "or with its deadline")
    except TimeoutError as error:
        tap.ok("it says why" in str(error), "or with its deadline", error)


def main():
    tap = Tap()
    test_pins(tap)
    with tempfile.TemporaryDirectory() as name:
        test_keys(tap, Path(name))
    test_waiting(tap)
    tap.done()


if __name__ == "__main__":
    main()
