# SPDX-License-Identifier: Apache-2.0
"""A host with two kernels boots the one and the other. The second one's modules are built when the first of these cases runs."""

from contextlib import contextmanager

from rig import image, modules, payload
from rig.case import case

from . import expect
from .boot import KUBELET
from .install import OLD

KERNEL, OTHER = modules.KERNEL, modules.OTHER_KERNEL
# As a kernel's package does it.
BRING = f"""mount -o ro /dev/disk/by-id/virtio-other /mnt && cp -r /mnt/modules /root && cp -r /mnt/kernel/boot/. /boot &&
cp -r /mnt/kernel/lib/modules/. /lib/modules && umount /mnt && depmod {OTHER} && /etc/kernel/postinst.d/gpuhost {OTHER} 2>&1"""


def bring_other(host):
    """The other kernel is there, and the driver's modules for it lie in /root/modules. Gives back what its package prints."""
    files = {"kernel": image.kernel(OTHER) / "root", "modules": modules.driver(OLD, OTHER) / "modules"}
    host.plug(payload.make(host.work / "other.raw", files), "other")
    host.wait_until("test -e /dev/disk/by-id/virtio-other", 30)
    host.write("/etc/systemd/system/kubelet.service", KUBELET)
    host.check("systemctl enable -q kubelet gpuhost-ready 2>&1")
    return host.check(BRING, 240)


@contextmanager
def two_kernels(host):
    """Gives a function that boots either of them; the next case boots the first, whatever becomes of this one."""
    images = {KERNEL: host.image, OTHER: image.other(host.image, OTHER, host.work / "other")}

    def boot(kernel):
        host.image = images[kernel]
        host.reboot()
        host.settle()
        host.wait_until("systemctl is-active -q kubelet", 60)
        assert host.check("uname -r") == kernel

    try:
        yield boot
    finally:
        host.image = images[KERNEL]


def leads_through(host):
    """The kernel whose driver all programs get."""
    return host.check("readlink /var/lib/gpuhost/driver/current").split("/")[1]


def serves(host, kernel):
    """What is this kernel's own serves, and everybody says so."""
    expect.driver(host, OLD, host.srcversions(OLD, kernel))
    assert leads_through(host) == kernel, f"programs get the driver of {leads_through(host)}"
    shown = host.ctl_ok("status").out
    assert f"Host: idle, ready, kernel {kernel}" in shown, f"status: {shown}"
    found = host.ctl("doctor")
    assert found.rc == 0, f"doctor: {found}"


@case("a kernel boots for which there is no driver: the host is up, ready, and says what it lacks; once that is imported apply loads it",
      start="old", full=True)
def nothing_for_it(host):
    lacks = f"driver {OLD} has no modules for kernel {OTHER}"
    with two_kernels(host) as boot:
        printed = bring_other(host)
        assert "would boot without an NVIDIA driver" in printed, f"the kernel's package prints: {printed}"
        boot(OTHER)
        assert not host.facts().loaded, "a driver is loaded"
        shown = host.ctl_ok("status").out
        assert "degraded, ready" in shown and lacks in shown, f"status: {shown}"
        assert f"neither modules nor headers: {OTHER}" in host.ctl("doctor").out, "doctor does not say it"
        expect.refused(host, host.ctl("apply"), lacks)
        assert leads_through(host) == KERNEL
        host.ctl_ok("driver", "import", "/root/modules")
        host.ctl_ok("apply")
        serves(host, OTHER)


@case("another kernel boots what was selected for it while the first ran, before the kubelet starts; so does the first again",
      start="old", full=True)
def selected_ahead(host):
    with two_kernels(host) as boot:
        bring_other(host)
        host.ctl_ok("driver", "import", "/root/modules")
        before = host.facts()
        host.ctl_ok("driver", "select")
        expect.untouched(before, host.facts())
        for kernel in (OTHER, KERNEL):
            boot(kernel)
            assert host.check("cat /run/kubelet-saw").split() == [OLD, "node"], "the kubelet started before the driver"
            serves(host, kernel)
