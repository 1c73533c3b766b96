# SPDX-License-Identifier: Apache-2.0
"""Package changes on a host that runs a driver."""

from rig.case import case
from rig.system import ALL

from . import expect
from .install import NEW

APT = "apt-get -qq -o Dpkg::Use-Pty=0 {} </dev/null"
LOADS = "dmesg | grep -c 'NVRM: loading'"


@case("a package upgrade restarts the daemon, the driver stays loaded", start="both")
def upgrade(host):
    before, loads = host.facts(), host.check(LOADS)
    pid = host.check("systemctl show -P MainPID gpuhostd")
    host.check("systemctl enable --now gpuhost-metrics.socket")
    host.check(APT.format("install /payload/gpuhostd-next.deb"), 240)
    host.settle()
    assert host.check("systemctl show -P MainPID gpuhostd") != pid, "the old daemon still runs"
    assert host.run("systemctl is-active gpuhost-metrics.socket").rc == 0, "an enabled socket does not listen"
    assert host.run("systemctl is-active gpuhost-cluster.service").rc != 0, "a disabled service runs"
    expect.untouched(before, host.facts())
    assert host.check(LOADS) == loads, "the driver was loaded again"
    host.swap(NEW)
    expect.driver(host, NEW)


@case("removal and purge of the package leave a loaded driver unchanged", start="both", systems=ALL)
def removal(host):
    before = host.facts()
    host.check("systemctl enable --now gpuhost-metrics.socket")
    host.check(APT.format("remove gpuhostd"), 300)
    expect.untouched(before, host.facts())
    assert host.run("systemctl is-active gpuhostd").rc != 0, "the daemon still runs"
    assert host.run("systemctl is-active gpuhost-metrics.socket").rc != 0, "the socket for metrics still listens"
    result = host.run(APT.format("purge gpuhostd"), 300)
    assert result.rc == 0 and "in use" in result.out + result.err, f"purge: {result}"
    expect.untouched(before, host.facts())


@case("a purge with the driver unloaded removes all files", start="both", systems=ALL)
def purge(host):
    host.check("systemctl stop gpuhostd; rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia")
    host.check(APT.format("purge gpuhostd"), 300)
    expect.no_driver(host)
    left = host.check("ls -d /var/lib/gpuhost /var/cache/gpuhost /etc/gpuhost /run/gpuhost /etc/modprobe.d/gpuhost.conf "
                      "/etc/ld.so.conf.d/gpuhost.conf 2>/dev/null || true")
    assert not left, f"files are left: {left}"
    dangling = host.check("find /usr/lib /usr/bin /lib/firmware /lib/modules /etc -xtype l -lname '*gpuhost*'")
    assert not dangling, f"dangling links: {dangling}"
