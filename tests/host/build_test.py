# SPDX-License-Identifier: Apache-2.0
"""Builds NVIDIA's real source with the real programs, for kernels whose headers are installed here. The build
fails for one kernel; with FULL=1 it also succeeds for another. $GPUHOST_TEST_DEBS names a directory with
Debian's packages."""
import glob
import os
import shutil

import tap
from fake_host import OLD, FakeHost

NOT_FOR, FOR = "6.1.0-56-amd64", "6.1.0-50-amd64"  # pci_resize_resource() got an argument between them
DEBS = os.environ.get("GPUHOST_TEST_DEBS", "")


def missing(kernel):
    """Returns why a build for the kernel is impossible here, or None."""
    if not glob.glob(f"{DEBS}/nvidia-open-kernel-dkms_{OLD}-*.deb"):
        return "GPUHOST_TEST_DEBS has no source"
    if not os.path.isdir(f"/usr/src/linux-headers-{kernel}"):
        return f"no headers of {kernel}"
    return None


def add_headers(host, kernel):
    """Copies the headers into the host's root, where gpuhostd searches. Absolute paths point to /usr/src."""
    for name in (kernel, kernel.replace("amd64", "common")):
        shutil.copytree(f"/usr/src/linux-headers-{name}", host.path(f"/usr/src/linux-headers-{name}"), symlinks=True)
    os.makedirs(host.path(f"/lib/modules/{kernel}"), exist_ok=True)
    for name, target in (("build", kernel), ("source", kernel.replace("amd64", "common"))):
        os.symlink(f"/usr/src/linux-headers-{target}", host.path(f"/lib/modules/{kernel}/{name}"))


def build(host, kernel):
    add_headers(host, kernel)
    return host.ctl("driver", "build", OLD, "--kernel", kernel, timeout=3600)  # tests/support/limited ends the test earlier


def module_sets(host):
    return {one["kernel"]: one for one in host.json("driver", "list")["versions"][0]["modules"]}


def check_failure(t, host):
    made = build(host, NOT_FOR)
    t.equal(made.returncode, 10, f"the build of {OLD} for {NOT_FOR} fails")
    t.ok("error:" in made.stderr and "pci_resize_resource" in made.stderr,
         "a failed build shows the compiler's first error", made.stderr)
    log = f"/var/lib/gpuhost/driver/build-logs/{OLD}-{NOT_FOR}.log"
    t.ok(log in made.stderr and "pci_resize_resource" in host.read(log),
         "a failed build names the log with the error", made.stderr)
    t.equal(module_sets(host), {}, "a failed build adds no modules to the store")
    t.equal(os.listdir(host.path("/var/lib/gpuhost/staging")), [],
            "a failed build leaves no staging directory")


def check_success(t, host):
    made = build(host, FOR)
    t.ok(made.returncode == 0, f"the build of {OLD} for {FOR} succeeds", made.stderr)
    found = module_sets(host).get(FOR, {"modules": []})
    names = sorted(module["name"] for module in found["modules"])
    t.equal(names, ["nvidia", "nvidia_drm", "nvidia_modeset", "nvidia_peermem", "nvidia_uvm"],
            "a build stores all five modules")
    t.equal({module["vermagic"].split()[0] for module in found["modules"]}, {FOR},
            "built modules have the kernel's vermagic")


def main():
    t = tap.Tap()
    if why := missing(NOT_FOR):
        t.skip("builds of NVIDIA's source", why)
        t.done()
    host = FakeHost()
    try:
        host.install()
        host.start_daemon()
        host.settle()
        host.ctl("driver", "import", *glob.glob(f"{DEBS}/nvidia-open-kernel-dkms_{OLD}-*.deb"), check=0, timeout=300)
        check_failure(t, host)
        if os.environ.get("FULL") == "1" and (why := missing(FOR)):
            t.skip(f"a build for {FOR}", why)
        elif os.environ.get("FULL") == "1":
            check_success(t, host)
    finally:
        host.close()
    t.done()


main()
