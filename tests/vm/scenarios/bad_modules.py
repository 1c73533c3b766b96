# SPDX-License-Identifier: Apache-2.0
"""Modules and packages that must not get as far as the first unload."""

from rig.case import case
from rig.image import KERNEL

from . import expect
from .install import NEW, modules_in

STORED = f"$(find /var/lib/gpuhost/driver/{NEW}/modules -name nvidia.ko)"


def refuse_swap(host, *words):
    before = host.facts()
    expect.refused(host, host.ctl("driver", "swap", NEW), *words)
    expect.untouched(before, host.facts())


@case("a stored module that was altered: refused, nothing touched", start="both")
def altered(host):
    host.check(f"f={STORED}; chattr -i $f 2>/dev/null; printf x | dd of=$f bs=1 seek=4000000 conv=notrunc status=none")
    refuse_swap(host, "nvidia.ko")
    assert host.ctl("driver", "verify", NEW).rc != 0, "verify finds nothing"


@case("a stored module that was truncated: refused, nothing touched", start="both")
def truncated(host):
    host.check(f"f={STORED}; chattr -i $f 2>/dev/null; truncate -s 1000000 $f")
    refuse_swap(host, "nvidia.ko")


@case("a truncated module does not come in", start="new-packages")
def truncated_import(host):
    host.check(f"cp -r /payload/modules/{NEW} /root/mods && truncate -s 1000000 /root/mods/nvidia.ko")
    expect.refused(host, host.ctl("driver", "import", "/root/mods"), "nvidia.ko")
    refuse_swap(host, KERNEL)


@case("modules of another kernel: refused, nothing touched", start="new-packages")
def wrong_kernel(host):
    other = KERNEL.replace("-50-", "-49-")
    host.check(f"cp -r /payload/modules/{NEW} /root/mods && sed -i 's/{KERNEL}/{other}/g' /root/mods/*.ko")
    result = host.ctl("driver", "import", "/root/mods")
    assert result.rc == 0 or other in result.out + result.err, f"import: {result}"
    refuse_swap(host, KERNEL)


@case("firmware is missing: refused, nothing touched", start="old")
def no_firmware(host):
    debs = [deb for deb in host.payload_debs(NEW) if "firmware" not in deb and "dkms" not in deb]
    host.ctl_ok("driver", "import", *debs)
    modules_in(host, NEW)
    refuse_swap(host, "firmware")
