# SPDX-License-Identifier: Apache-2.0
"""Repairs an offline system from a running one: an overlay mount of the host's own root."""

from rig.case import case

from . import expect
from .install import NEW, OLD

MOUNT = "mkdir -p /mnt /tmp/change /tmp/work && mount -t overlay overlay -o lowerdir=/,upperdir=/tmp/change,workdir=/tmp/work /mnt"
# A module whose absolute link is valid only inside the mounted system.
SITE = """modules=/mnt/lib/modules/$(uname -r); mkdir -p /mnt/opt/site $modules/weak-updates; 
cp $(find /lib/modules/$(uname -r)/kernel -name "*.ko*" | head -1) /mnt/opt/site/site.ko
ln -s /opt/site/site.ko $modules/weak-updates/site.ko"""
INDEXED = "grep -c ^weak-updates/site.ko: /mnt/lib/modules/$(uname -r)/modules.dep"
CHROOT = "for d in proc sys run; do mount --rbind /$d /mnt/$d; done"
INDEX = "chroot /mnt modinfo -F version nvidia 2>&1 || true"
LIBRARY = "chroot /mnt readlink -f /var/lib/gpuhost/driver/current/lib/libnvidia-ml.so.1"


@case("a mounted system gets another driver, the running host is unchanged", start="both")
def rescue(host):
    host.check("mount -t tmpfs tmpfs /tmp; systemctl stop gpuhostd; " + MOUNT)
    host.check("systemctl start gpuhostd")
    host.settle()
    host.check(SITE)
    before = host.facts()
    listed = host.check("gpuhostctl driver list --root=/mnt")
    assert "selected" in listed and "loaded" not in listed, f"driver list: {listed}"
    said = host.check(f"gpuhostctl driver set-default {NEW} --root=/mnt 2>&1", 120)
    assert "done" in said, f"set-default: {said}"
    assert host.check(INDEX) == NEW, f"modprobe there would load {host.check(INDEX)}"
    assert f"libnvidia-ml.so.{NEW}" in host.check(LIBRARY), f"its libraries: {host.check(LIBRARY)}"
    assert host.run(INDEXED).out.strip() == "1", "a module of the site is missing in the index"
    expect.untouched(before, host.facts())
    host.check("mount --rbind /dev /mnt/dev")
    listed = host.check("chroot /mnt gpuhostctl driver list --root=/")
    assert "selected" in listed, f"in a chroot without /proc: {listed}"
    host.check(CHROOT)
    said = host.check(f"chroot /mnt gpuhostctl driver set-default {OLD} --root=/ 2>&1", 120)
    assert "done" in said and host.check(INDEX) == OLD, f"by chroot: {said}"
    said = host.check("chroot /mnt gpuhostctl driver release --root=/ 2>&1", 120)
    assert "done" in said and "not found" in host.check(INDEX), f"release: {said}, {host.check(INDEX)}"
    expect.untouched(before, host.facts())
    refused = host.ctl("driver", "release", "--root=/")
    assert refused.rc == 2 and "is the running system" in refused.err, f"--root=/: {refused}"
