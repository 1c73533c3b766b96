# SPDX-License-Identifier: Apache-2.0
"""A process holds the driver open."""

from rig.case import case
from rig.system import ALL

from . import expect
from .install import NEW, OLD

HOLD = ("systemd-run -q --unit=holder -- bash -c 'exec 9<>/dev/nvidiactl; exec sleep {}' && "
        "until [ -n \"$(find /proc/$(systemctl show -P MainPID holder)/fd -lname /dev/nvidiactl)\" ]; do sleep 0.1; done;"
        "systemctl show -P MainPID holder")


def hold(host, seconds=1000):
    return host.check(HOLD.format(seconds)).split()[-1]


@case("a swap with a holder is refused, naming its process and unit", start="both", systems=ALL)
def refuse(host):
    pid = hold(host)
    before = host.facts()
    expect.refused(host, host.ctl("driver", "swap", NEW, "--dry-run"), pid, "holder.service")
    expect.refused(host, host.ctl("driver", "swap", NEW), pid, "holder.service")
    expect.untouched(before, host.facts())
    assert host.run(f"kill -0 {pid}").rc == 0, "the holder was ended"


@case("--holders=wait swaps the driver after its holder has ended", start="both")
def wait(host):
    pid = hold(host)
    before = host.facts()
    swap = host.swap(NEW, "--holders=wait", "--no-wait").out.strip()
    host.wait_until(f"gpuhostctl operation show {swap} --json | grep -F 'waiting for process {pid} (sleep)'", 120)
    expect.untouched(before, host.facts())
    host.check("systemctl stop holder")
    host.ctl_ok("operation", "wait", swap)
    expect.driver(host, NEW)


@case("--holders=terminate ends the holder and swaps the driver", start="both")
def terminate(host):
    pid = hold(host)
    swap = host.swap(NEW, "--holders=terminate")
    expect.driver(host, NEW)
    ended = f"process {pid} (sleep) of holder.service"
    assert f"Terminated: {ended}" in swap.out, f"the swap does not name the process: {swap}"
    host.check(f"journalctl -u gpuhostd | grep -F 'terminated {ended}'")
    assert host.run(f"kill -0 {pid}").rc != 0, "the holder still runs"


@case("a driver that gets a holder during its unload is loaded again", start="both")
def half_way(host):
    # Opens the device after the first module was unloaded: after the check for holders, before nvidia.ko is
    # unloaded.
    host.write("/run/late", """#!/bin/bash
mknod /dev/late-ctl c 195 255
while [ -e /sys/module/nvidia_uvm ] && [ -e /sys/module/nvidia_drm ] && [ -e /sys/module/nvidia_modeset ]; do :; done
exec 9<>/dev/late-ctl
touch /run/late-holds
exec sleep 1000
""", "0755")
    host.check("systemd-run -q --unit=late --nice=-10 /run/late")
    before = host.facts()
    result = host.ctl("driver", "swap", NEW)
    assert host.run("test -e /run/late-holds").rc == 0, f"the holder opened the device too late: {result}"
    expect.refused(host, result, "in use")
    expect.untouched(before, host.facts())
    assert host.last_operation()["state"] == "rolled-back", f"operation: {host.last_operation()}"
    host.check("systemctl stop late")
    host.swap(NEW)
    expect.driver(host, NEW)


def start_client(host):
    host.write("/etc/systemd/system/nvidia-persistenced.service", "[Service]\n"
               "ExecStart=/bin/bash -c 'exec 9<>/dev/nvidiactl; exec sleep infinity'\n")
    host.check("systemctl daemon-reload && systemctl start nvidia-persistenced")
    return host.check("systemctl show -P MainPID nvidia-persistenced")


@case("a client unit is stopped before a swap and started after it", start="both")
def client_unit(host):
    pid = start_client(host)
    host.swap(NEW)
    expect.driver(host, NEW)
    after = host.check("systemctl show -P MainPID nvidia-persistenced")
    assert after not in ("0", pid), f"nvidia-persistenced was {pid} and is {after}"


@case("a swap that would stop a dependent unit is refused, naming it", start="both")
def dependent_unit(host):
    host.write("/etc/systemd/system/job.service", "[Unit]\nRequires=nvidia-persistenced.service\n"
               "[Service]\nExecStart=/bin/sleep infinity\n")
    pid = start_client(host)
    host.check("systemctl start job")
    before = host.facts()
    expect.refused(host, host.ctl("driver", "swap", NEW), "job.service", "ClientUnits=")
    expect.untouched(before, host.facts())
    assert host.check("systemctl show -P MainPID nvidia-persistenced") == pid, "the client was stopped"
    host.check("systemctl is-active job")
    host.write("/etc/gpuhost/gpuhostd.conf.d/vm.conf",
               "[Driver]\nClientUnits=nvidia-persistenced.service job.service\n")
    host.ctl_ok("reload")
    host.swap(NEW)
    host.check("systemctl is-active job nvidia-persistenced")


# Like NVIDIA's fabric manager it starts only with a driver of its own version, and holds it.
FABRIC_MANAGER = """#!/bin/sh
grep -q " {version} " /proc/driver/nvidia/version || {{ echo "interface version {version} does not match the driver" >&2; exit 1; }}
echo {version} >/run/fabric-version
exec 9<>/dev/nvidiactl
exec sleep infinity
"""
FABRIC_UNIT = "[Service]\nExecStart=/usr/bin/nv-fabricmanager\n[Install]\nWantedBy=multi-user.target\n"


def fabric_package(host, version):
    """Makes a package with the layout of NVIDIA's; returns its path in the guest."""
    tree = f"/root/fabric-{version}"
    host.check(f"mkdir -p {tree}/DEBIAN {tree}/usr/bin {tree}/lib/systemd/system")
    host.write(f"{tree}/DEBIAN/control", f"Package: nvidia-fabricmanager\nVersion: {version}-1\nArchitecture: amd64\n"
               "Maintainer: nobody <root@localhost>\nDescription: test\n")
    host.write(f"{tree}/usr/bin/nv-fabricmanager", FABRIC_MANAGER.format(version=version), "0755")
    host.write(f"{tree}/lib/systemd/system/nvidia-fabricmanager.service", FABRIC_UNIT)
    host.check(f"dpkg-deb -b {tree} {tree}.deb", 60)
    return f"{tree}.deb"


@case("the fabric manager runs the program of the loaded driver", start="both")
def fabric_manager(host):
    host.check(f"dpkg -i {fabric_package(host, OLD)}; systemctl enable -q --now nvidia-fabricmanager", 60)
    runs = "systemctl is-active nvidia-fabricmanager && cat /run/fabric-version"
    assert host.check(runs).split() == ["active", OLD]
    before = host.facts()
    expect.refused(host, host.ctl("driver", "swap", NEW), "nvidia-fabricmanager.service", "import nvidia-fabricmanager of version")
    expect.untouched(before, host.facts())
    host.ctl_ok("driver", "import", *host.payload_debs(NEW), fabric_package(host, NEW))
    host.swap(NEW)
    expect.driver(host, NEW)
    assert host.check(runs).split() == ["active", NEW]
    assert not host.check("dpkg -V nvidia-fabricmanager"), "the package's files were changed"
    host.check("sync")
    host.reboot()
    host.settle()
    host.wait_until(f"{runs} | grep -qx {NEW}", 60)
    host.swap(OLD)
    assert host.check(runs).split() == ["active", OLD]
    assert host.run("test -e /etc/systemd/system/nvidia-fabricmanager.service.d/50-gpuhost.conf").rc, "the drop-in is left"


@case("a failed fabric manager starts with the program of the first driver", start="old-imported")
def fabric_manager_of_the_first_driver(host):
    host.check(f"dpkg -i {fabric_package(host, NEW)}; systemctl enable -q nvidia-fabricmanager; systemctl start nvidia-fabricmanager; true", 60)
    host.wait_until("systemctl is-failed -q nvidia-fabricmanager", 30)
    host.ctl_ok("driver", "import", *host.payload_debs(OLD), fabric_package(host, OLD))
    host.swap(OLD)
    expect.driver(host, OLD)
    host.check("systemctl start nvidia-fabricmanager")
    host.wait_until(f"systemctl is-active -q nvidia-fabricmanager && grep -qx {OLD} /run/fabric-version", 30)
