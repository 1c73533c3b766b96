# SPDX-License-Identifier: Apache-2.0
"""An initramfs contains another driver for a GPU."""

from rig.case import case
from rig.system import ALL

from . import expect
from .install import NEW, OLD

IMAGE = "/boot/initrd.img-$(uname -r)"
HELD = f"lsinitramfs {IMAGE} | grep -E '/(nvidia|nouveau)[^/]*[.]ko' || true"
SEEN = "which is loaded before the selected driver"


@case("a swap rebuilds an initramfs that contains drivers, without them", start="both", full=True, systems=ALL)
def cleared(host):
    host.check("printf 'nouveau\\nnvidia\\n' >>/etc/initramfs-tools/modules; mv /usr/share/initramfs-tools/hooks/gpuhost /root/; "
               "update-initramfs -c -k $(uname -r) 2>&1; mv /root/gpuhost /usr/share/initramfs-tools/hooks/", 300)
    held = host.check(HELD)
    assert "nouveau.ko" in held and "nvidia.ko" in held, f"the image does not contain both drivers: {held}"
    assert SEEN in host.ctl("doctor").out, "doctor does not report the drivers"
    host.check("echo '#!/bin/sh\nexit 1' >/usr/share/initramfs-tools/hooks/off; "
               "chmod 644 /usr/share/initramfs-tools/hooks/off")
    host.swap(NEW)
    expect.driver(host, NEW, host.srcversions(NEW))
    assert not host.check(HELD), f"the image still contains {host.check(HELD)}"
    assert host.check(f"lsinitramfs {IMAGE} | grep -c .") != "0", "the image is empty"
    assert SEEN not in host.ctl("doctor").out, f"doctor: {host.ctl('doctor').out}"
    before = host.check(f"stat -c %Y.%i {IMAGE}")
    host.check("rm /usr/share/initramfs-tools/hooks/off")
    host.swap(OLD)
    assert host.check(f"stat -c %Y.%i {IMAGE}") == before, "the image was rebuilt again"
    host.check("update-initramfs -u -k $(uname -r) 2>&1", 300)
    assert not host.check(HELD), f"update-initramfs adds {host.check(HELD)}"
