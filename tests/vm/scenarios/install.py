# SPDX-License-Identifier: Apache-2.0
"""A fresh host: the package is installed, both drivers are imported, the first driver is loaded."""

from rig.case import case
from rig.modules import VERSIONS

from . import expect

OLD, NEW = VERSIONS


def import_packages(host, version):
    host.ctl_ok("driver", "import", *host.payload_debs(version))


def import_modules(host, version):
    host.ctl_ok("driver", "import", f"/payload/modules/{version}")


@case("the package installs and the daemon is ready without a driver", start="fresh", makes="installed")
def install(host):
    host.check("apt-get -qq -o Dpkg::Use-Pty=0 install /payload/gpuhostd.deb </dev/null", 240)
    host.check("systemctl enable --now gpuhostd", 60)
    host.settle()
    status = host.ctl_json("status")
    verdict = status["verdict"]
    assert status["state"] == "degraded" and "no driver is chosen for 2 GPUs" in verdict["text"], f"{status['state']}: {verdict}"
    expect.no_driver(host)
    failed = host.check("systemctl --failed --no-legend --plain | cut -d' ' -f1")
    assert not failed, f"units failed: {failed}"


@case("535.261.03 is imported from Debian's packages and a directory of modules", start="installed", makes="old-imported")
def import_old(host):
    import_packages(host, OLD)
    import_modules(host, OLD)
    versions = host.ctl_json("driver", "list")["versions"]
    assert [entry["version"] for entry in versions] == [OLD], f"list: {versions}"
    modules = versions[0]["modules"][0]["modules"]
    for module in modules:
        real = host.check(f"modinfo -F srcversion /payload/modules/{OLD}/{module['file']}")
        assert module["srcversion"] == real, f"{module}: modinfo reports {real}"
    host.ctl_ok("driver", "verify", OLD)
    expect.no_driver(host)


@case("a host without a driver swaps to 535.261.03", start="old-imported", makes="old")
def first_driver(host):
    host.swap(OLD)
    expect.driver(host, OLD, host.srcversions(OLD))


@case("550.163.01's packages are imported while 535.261.03 is loaded", start="old", makes="new-packages")
def import_new_packages(host):
    before = host.facts()
    import_packages(host, NEW)
    expect.untouched(before, host.facts())


@case("550.163.01's modules are imported while 535.261.03 is loaded", start="new-packages", makes="both")
def import_new_modules(host):
    before = host.facts()
    import_modules(host, NEW)
    expect.untouched(before, host.facts())


@case("a driver that insmod loaded is reported by doctor with remedies", start="installed")
def loaded_by_insmod(host):
    host.check(f"modprobe drm; insmod /payload/modules/{OLD}/nvidia.ko", 60)
    found = host.ctl("doctor").out
    assert f"driver {OLD} is loaded, but gpuhostd has not selected it" in found, f"doctor: {found}"
    assert "driver adopt --dry-run" in found and "Version=preinstalled" in found, f"doctor names no remedy: {found}"
    host.write("/etc/gpuhost/gpuhostd.conf.d/vm.conf", "[Driver]\nVersion=preinstalled\n")
    host.ctl_ok("reload")
    found = host.ctl("doctor").out
    assert "has not selected" not in found and "but device nodes are missing" in found, f"doctor: {found}"  # insmod creates none
