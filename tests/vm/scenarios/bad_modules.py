# SPDX-License-Identifier: Apache-2.0
"""Modules and packages that must be refused before the first unload."""

from rig.case import case
from rig.system import DEBIAN_12

from . import expect
from .install import NEW, import_modules

KERNEL = DEBIAN_12.kernel
STORED = f"$(find /var/lib/gpuhost/driver/{NEW}/modules -name nvidia.ko)"


def refuse_swap(host, *words):
    before = host.facts()
    expect.refused(host, host.ctl("driver", "swap", NEW), *words)
    expect.untouched(before, host.facts())


@case("a stored module that was modified is refused, nothing changes", start="both")
def altered(host):
    host.check(f"f={STORED}; chattr -i $f 2>/dev/null; printf x | dd of=$f bs=1 seek=4000000 conv=notrunc status=none")
    refuse_swap(host, "nvidia.ko")
    assert host.ctl("driver", "verify", NEW).rc != 0, "verify did not find the modified module"


@case("a stored module that was truncated is refused, nothing changes", start="both")
def truncated(host):
    host.check(f"f={STORED}; chattr -i $f 2>/dev/null; truncate -s 1000000 $f")
    refuse_swap(host, "nvidia.ko")


@case("a truncated module is not imported", start="new-packages")
def truncated_import(host):
    host.check(f"cp -r /payload/modules/{NEW} /root/mods && truncate -s 1000000 /root/mods/nvidia.ko")
    expect.refused(host, host.ctl("driver", "import", "/root/mods"), "nvidia.ko")
    refuse_swap(host, KERNEL)


@case("modules of another kernel are refused, nothing changes", start="new-packages")
def wrong_kernel(host):
    other = KERNEL.replace("-50-", "-49-")
    host.check(f"cp -r /payload/modules/{NEW} /root/mods && sed -i 's/{KERNEL}/{other}/g' /root/mods/*.ko")
    result = host.ctl("driver", "import", "/root/mods")
    assert result.rc == 0 or other in result.out + result.err, f"import: {result}"
    refuse_swap(host, KERNEL)


@case("with sig_enforce unsigned modules and unknown keys are refused, nothing changes", start="both")
def signatures(host):
    host.check("echo 1 >/sys/module/module/parameters/sig_enforce")
    refuse_swap(host, "module 'nvidia' is not signed", "module.sig_enforce")
    status = host.ctl_json("secure-boot", "status")
    assert any(".builtin_trusted_keys" in key["keyrings"] for key in status["keys"]), f"the kernel's own keys are missing: {status['keys']}"
    host.ctl_ok("secure-boot", "create-key", "--name=Guest key")
    host.check("mkdir -p /etc/gpuhost/gpuhostd.conf.d && printf '[Driver]\\nSigningKey=/etc/gpuhost/modules.key\\n"
               "SigningCertificate=/etc/gpuhost/modules.der\\n' >/etc/gpuhost/gpuhostd.conf.d/signing.conf")
    host.ctl_ok("reload")
    host.ctl_ok("driver", "build", NEW)
    refuse_swap(host, "module 'nvidia' is signed by 'Guest key'", "does not have", "secure-boot show-enrolment")
    host.check(f"modinfo -F signer $(ls -t /var/lib/gpuhost/driver/{NEW}/modules/*/*/nvidia.ko | head -1) | grep -qx 'Guest key'")


@case("a driver without its firmware is refused, nothing changes", start="old")
def no_firmware(host):
    debs = [deb for deb in host.payload_debs(NEW) if "firmware" not in deb and "dkms" not in deb]
    host.ctl_ok("driver", "import", *debs)
    import_modules(host, NEW)
    refuse_swap(host, "firmware")
