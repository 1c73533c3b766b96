# SPDX-License-Identifier: Apache-2.0
"""A fresh host: the package is installed, both drivers are imported, the first driver is loaded."""

from rig.case import case
from rig.modules import VERSIONS
from rig.system import ALL

from . import expect

OLD, NEW = VERSIONS


def import_packages(host, version):
    host.ctl_ok("driver", "import", *host.payload_debs(version))


def import_modules(host, version):
    host.ctl_ok("driver", "import", f"/payload/modules/{version}")


@case("the package installs and the daemon is ready without a driver", start="fresh", makes="installed", systems=ALL)
def install(host):
    said = host.check("apt-get -qq -o Dpkg::Use-Pty=0 install /payload/gpuhostd.deb </dev/null 2>&1", 480)  # minutes on a busy machine
    assert "non-existent" not in said, said
    host.check("systemctl enable --now gpuhostd", 60)
    host.settle()
    status = host.ctl_json("status")
    verdict = status["verdict"]
    assert status["state"] == "degraded" and "no driver is chosen for 2 GPUs" in verdict["text"], f"{status['state']}: {verdict}"
    expect.no_driver(host)
    failed = host.check("systemctl --failed --no-legend --plain | cut -d' ' -f1")
    assert not failed, f"units failed: {failed}"


@case("535.261.03 is imported from Debian's packages and a directory of modules", start="installed", makes="old-imported", systems=ALL)
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


@case("a host without a driver swaps to 535.261.03", start="old-imported", makes="old", systems=ALL)
def first_driver(host):
    host.swap(OLD)
    expect.driver(host, OLD, host.srcversions(OLD))


@case("550.163.01's packages are imported while 535.261.03 is loaded", start="old", makes="new-packages", systems=ALL)
def import_new_packages(host):
    before = host.facts()
    import_packages(host, NEW)
    expect.untouched(before, host.facts())


@case("550.163.01's modules are imported while 535.261.03 is loaded", start="new-packages", makes="both", systems=ALL)
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


@case("metrics are served on a socket and written for node_exporter", start="installed")
def metrics(host):
    assert host.check("systemctl is-enabled gpuhost-metrics.socket gpuhost-textfile.timer || true").split() == ["disabled"] * 2
    host.check("systemctl enable --now gpuhost-metrics.socket")
    scrape = "busybox wget -qO- http://127.0.0.1:9836/metrics"
    text = host.check(scrape, 30)
    assert "\ngpuhost_gpus 2\n" in text and "\ngpuhost_ok 0\n" in text, f"scrape: {text}"
    host.check("systemctl stop gpuhostd")
    assert "\ngpuhost_up 0\n" in host.check(f"sleep 1; {scrape}", 30)
    assert host.run("systemctl is-active gpuhostd").rc != 0, "a scrape started gpuhostd"
    host.check("systemctl start gpuhostd")
    host.settle()
    directory = "/var/lib/prometheus/node-exporter"
    host.check("systemctl start gpuhost-textfile.service")
    assert host.run(f"ls {directory}").rc != 0, "a directory was made"
    host.check(f"mkdir -p {directory} && systemctl enable --now gpuhost-textfile.timer")
    host.check(f"for i in $(seq 100); do [ -e {directory}/gpuhost.prom ] && break; sleep 0.2; done")
    assert "\ngpuhost_gpus 2\n" in host.check(f"cat {directory}/gpuhost.prom")
    host.check(f"mv {directory} {directory}.real && ln -s /etc {directory}")
    assert host.run("systemctl start gpuhost-textfile.service").rc != 0, "a link was followed"
    assert host.run("ls /etc/gpuhost.prom").rc != 0
    assert "has a symbolic link in its path" in host.check("journalctl -b -q -o cat -u gpuhost-textfile.service")
