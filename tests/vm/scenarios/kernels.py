# SPDX-License-Identifier: Apache-2.0
"""A host with two kernels boots either of them. The first of these cases builds the modules of the second
kernel."""

from contextlib import contextmanager

from ran_with import ran_with
from rig import image, modules, payload
from rig.case import case
from rig.system import DEBIAN_12

from . import expect
from .boot import KUBELET
from .install import OLD

KERNEL, OTHER = DEBIAN_12.kernel, modules.OTHER_KERNEL
# Installs the kernel as its package does.
BRING = f"""mount -o ro /dev/disk/by-id/virtio-other /mnt && cp -r /mnt/modules /root && cp -r /mnt/kernel/boot/. /boot &&
cp -r /mnt/kernel/lib/modules/. /lib/modules && umount /mnt && depmod {OTHER} && /etc/kernel/postinst.d/gpuhost {OTHER} 2>&1"""


def bring_other(host):
    """Installs the other kernel and copies the driver's modules for it to /root/modules. Returns the
    package's output."""
    files = {"kernel": image.kernel(host.system, OTHER) / "root", "modules": modules.driver(host.system, OLD, OTHER) / "modules"}
    host.plug(payload.make(host.work / "other.raw", files), "other")
    host.wait_until("test -e /dev/disk/by-id/virtio-other", 30)
    host.write("/etc/systemd/system/kubelet.service", KUBELET)
    host.check("systemctl enable -q kubelet gpuhost-ready 2>&1")
    return host.check(BRING, 240)


@contextmanager
def two_kernels(host):
    """Yields a function that boots either kernel. The next case boots the first kernel, even if this case
    fails."""
    images = {KERNEL: host.image, OTHER: image.other(host.image, host.system, OTHER, host.work / "other")}

    def boot(kernel):
        host.image = images[kernel]
        host.reboot()
        host.settle()
        host.wait_until("systemctl is-active -q kubelet", 60)
        assert host.check("uname -r") == kernel
        ran_with("kernel", kernel)

    try:
        yield boot
    finally:
        host.image = images[KERNEL]


def leads_through(host):
    """Returns the kernel whose driver all programs use."""
    return host.check("readlink /var/lib/gpuhost/driver/current").split("/")[1]


def serves(host, kernel):
    """Expects that this kernel's own driver serves, and that status and doctor report it."""
    expect.driver(host, OLD, host.srcversions(OLD, kernel))
    assert leads_through(host) == kernel, f"programs use the driver of {leads_through(host)}"
    shown = host.ctl_ok("status").out
    assert f"Host: idle, ready, kernel {kernel}" in shown, f"status: {shown}"
    found = host.ctl("doctor")
    assert found.rc == 0, f"doctor: {found}"


@case("a kernel without a driver boots ready, apply loads an imported one", start="old", full=True)
def nothing_for_it(host):
    lacks = f"driver {OLD} has no modules for kernel {OTHER}"
    with two_kernels(host) as boot:
        printed = bring_other(host)
        assert "would boot without an NVIDIA driver" in printed, f"the kernel's package prints: {printed}"
        boot(OTHER)
        assert not host.facts().loaded, "a driver is loaded"
        shown = host.ctl_ok("status").out
        assert "degraded, kernel" in shown and lacks in shown, f"status: {shown}"
        assert f"modules are missing and can't be built: {OTHER}" in host.ctl("doctor").out, "doctor does not report it"
        expect.refused(host, host.ctl("apply"), lacks)
        assert leads_through(host) == KERNEL
        host.ctl_ok("driver", "import", "/root/modules")
        host.ctl_ok("apply")
        serves(host, OTHER)


@case("each kernel loads its selected driver before the kubelet starts", start="old", full=True)
def selected_ahead(host):
    with two_kernels(host) as boot:
        bring_other(host)
        host.ctl_ok("driver", "import", "/root/modules")
        before = host.facts()
        host.ctl_ok("driver", "set-default")
        expect.untouched(before, host.facts())
        for kernel in (OTHER, KERNEL):
            boot(kernel)
            assert host.check("cat /run/kubelet-saw").split() == [OLD, "node"], "the kubelet started before the driver"
            serves(host, kernel)
