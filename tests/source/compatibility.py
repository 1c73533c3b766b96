# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/reference/compatibility.md has the versions that the suites pin, and the script that compares
it with their logs."""
import os
import re
import sys
import tempfile

from programs import run
from tap import TOP_SRCDIR, Tap

SCRIPT = os.path.join(TOP_SRCDIR, "tests/support/compatibility")
PAGE = os.path.join(TOP_SRCDIR, "docs/reference/compatibility.md")
MODULES = {"containerd": "containerd", "containerd22": "containerd", "containerd23": "containerd", "controlplane": "API server",
           "crio": "CRI-O", "helm": "Helm", "kubernetes": "kubelet", "kubernetes134": "kubelet", "kubernetes137": "kubelet", "prometheus": "Prometheus",
           "toolkit": "NVIDIA Container Toolkit"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def pinned():
    """Yields rows of the page that the inputs of the suites imply."""
    inputs = read(os.path.join(TOP_SRCDIR, "tests/vm/inputs.list"))
    for version in re.findall(r" nvidia-open-kernel-dkms (\S+)-\d+ ", inputs):
        yield f"| driver | {version} | vm |"
    for kernel in re.findall(r" linux-image-(\S+) \S+ \S+ bookworm", inputs):
        yield f"| kernel | {kernel} | vm |"
    for name, software in MODULES.items():
        version = re.search(r"^require \S+ v(\S+)$", read(os.path.join(TOP_SRCDIR, "tests/cluster/modules", name, "go.mod")), re.M)[1]
        if name == "prometheus":  # the module v0.316.0 is the release 3.16.0
            _, number, patch = map(int, version.split("."))
            version = f"{number // 100}.{number % 100}.{patch}"
        yield f"| {software} | {version} | cluster |"


def main():
    tap = Tap()
    page = read(PAGE).splitlines()
    rows = list(pinned())
    tap.ok(len(rows) == 15, "versions of the suites' inputs are found", *rows)
    missing = [row for row in rows if row not in page]
    tap.ok(not missing, "the page has the versions of the suites' inputs", *missing)
    with tempfile.TemporaryDirectory() as scratch:
        log, made = os.path.join(scratch, "vm.log"), os.path.join(scratch, "page.md")

        def write(path, text):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

        def call(*words):
            return run([os.environ.get("PYTHON", sys.executable), SCRIPT, *words])

        write(log, "ok 1 - a\n# ran with: driver 550.163.01\n# ran with: kernel 6.1.0-50-amd64\n# ran with: driver 535.261.03\n")
        text = call(log).stdout
        write(made, text + "| containerd | 1.7.24 | cluster |\n")
        tap.equal(text.splitlines()[-3:], ["| driver | 535.261.03 | vm |", "| driver | 550.163.01 | vm |", "| kernel | 6.1.0-50-amd64 | vm |"],
                  "a page is made from a log, each version once")
        tap.ok(call("--check", "--all", made, log).returncode == 0, "the page of a run has its versions, and others of another suite")
        write(log, "# ran with: driver 550.163.01\n")
        tap.ok(call("--check", made, log).returncode == 0, "a sample may run with fewer versions")
        tap.ok("no case ran with '| driver | 535.261.03 | vm |'" in call("--check", "--all", made, log).stdout, "a full run may not")
        write(log, "# ran with: driver 580.95.05\n")
        done = call("--check", made, log)
        tap.ok(done.returncode == 1 and "lacks '| driver | 580.95.05 | vm |'" in done.stdout, "a version that the page lacks is refused", done.stdout)
    tap.done()


main()
