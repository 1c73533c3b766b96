# SPDX-License-Identifier: Apache-2.0
"""Makes the guest: a kernel, a small initrd, and a Debian 12 disk with the dependencies of our package."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from . import cache, inputs, modules, say

KERNEL = modules.KERNEL
GUEST = modules.GUEST
SIZE = "3G"

# Packages of a Debian installation that the product or the tests use.
PACKAGES = """
    apt busybox-static crun dbus e2fsprogs initramfs-tools kmod libarchive13 libcurl4 libkmod2 libmicrohttpd12 libncursesw6 libnss-systemd libssl3
    libsystemd0 libdate-tz3 libyaml-cpp0.7 podman polkitd procps runc systemd systemd-sysv tzdata udev zstd xz-utils
""".split()

# Modules of the guest; their dependencies are added. The initrd has DISK_MODULES only.
DISK_MODULES = ["virtio_pci", "virtio_blk", "virtio_console", "crc32c_generic", "ext4"]
MODULES = ["virtio_rng", "virtio_net", "video", "drm_kms_helper", "ecdh_generic", "overlay", "loop", "i2c-core",
           "ipmi_msghandler", "nouveau", "dm_mod", "autofs4"]

MASKED = """
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer
    getty@tty1.service serial-getty@ttyS0.service systemd-timesyncd.service systemd-networkd.service
    systemd-networkd.socket systemd-network-generator.service systemd-random-seed.service
    systemd-pcrphase-sysinit.service
    systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-tmpfiles-clean.timer
    dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-fs-fuse-connections.mount
    modprobe@configfs.service modprobe@drm.service modprobe@fuse.service modprobe@efi_pstore.service
""".split()


def _depends(tree, release):
    """Returns {module: [its own path, then its dependencies]} from the tree's modules.dep. The last one
    loads first."""
    base = tree / "lib/modules" / release
    subprocess.run(["depmod", "-b", tree, release], check=True)
    rows = (row.split(":") for row in (base / "modules.dep").read_text().splitlines())
    return {Path(name).name.removesuffix(".ko").replace("-", "_"): [name, *needs.split()] for name, needs in rows}


def _closure(depends, names):
    """Returns paths of the modules and their dependencies in load order. Skips names that the kernel has
    built in."""
    order = []
    for name in names:
        for path in reversed(depends.get(name.replace("-", "_"), [])):
            if path not in order:
                order.append(path)
    return order


def _make_kernel(work, release):
    tree = work / "unpacked"
    tree.mkdir()
    subprocess.run(["dpkg-deb", "-x", inputs.find(f"linux-image-{release}").path, tree], check=True)
    shutil.copy(tree / "boot" / f"vmlinuz-{release}", work / "vmlinuz")
    base = tree / "lib/modules" / release
    depends = _depends(tree, release)
    keep = _closure(depends, DISK_MODULES + MODULES)
    for module in base.rglob("*.ko"):
        if str(module.relative_to(base)) not in keep:
            module.unlink()
    shutil.copytree(base, work / "root/lib/modules" / release)
    shutil.copytree(tree / "boot", work / "root/boot")
    (work / "root/lib/modules" / release / "extra").mkdir()
    shutil.copy(modules.fakegpu(release), work / "root/lib/modules" / release / "extra")
    initrd = work / "initrd/modules" / release
    initrd.mkdir(parents=True)
    for n, path in enumerate(_closure(depends, DISK_MODULES)):
        shutil.copy(base / path, initrd / f"{n:02d}-{Path(path).name}")
    shutil.rmtree(tree)


def kernel(release):
    """Returns the directory with vmlinuz, the files of the kernel's package and fakegpu.ko in root/, and
    the modules of the initrd in initrd/."""
    key = cache.key(inputs.find(f"linux-image-{release}").digest, modules.fakegpu(release), Path(__file__))
    return cache.entry("kernel", key, lambda work: _make_kernel(work, release))


def _mmdebstrap(root):
    sources = "".join(inputs.source_lines(["bookworm", "bookworm-updates", "bookworm-security"]))
    command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(PACKAGES)}",
               "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
               "--dpkgopt=path-exclude=/usr/share/locale/*", "--dpkgopt=path-exclude=/usr/share/info/*",
               "--aptopt=Acquire::Languages none", "bookworm", root, "-"]
    subprocess.run(command, check=True, input=sources.encode())


def _configure(root):
    """Disables network, getty and timers; enables the fake GPU and the agent."""
    for part in ("lib/modules", "boot"):
        shutil.copytree(kernel(KERNEL) / "root" / part, root / part, dirs_exist_ok=True)
    (root / "etc/modules-load.d/fakegpu.conf").write_text("fakegpu\n")
    subprocess.run(["depmod", "-b", root, KERNEL], check=True)
    agent = root / "usr/local/libexec/vm-agent"
    agent.parent.mkdir(parents=True)
    shutil.copy(GUEST / "agent", agent)
    agent.chmod(0o755)
    units = root / "etc/systemd/system"
    shutil.copy(GUEST / "vm-agent.service", units)
    (units / "sysinit.target.wants").mkdir(exist_ok=True)
    (units / "sysinit.target.wants/vm-agent.service").symlink_to("../vm-agent.service")
    for name in MASKED:
        unit = units / name
        unit.unlink(missing_ok=True)
        unit.symlink_to("/dev/null")
    default = units / "default.target"
    default.unlink(missing_ok=True)
    default.symlink_to("/lib/systemd/system/multi-user.target")
    journald = root / "etc/systemd/journald.conf.d/vm.conf"
    journald.parent.mkdir(parents=True, exist_ok=True)
    journald.write_text("[Journal]\nStorage=volatile\nRateLimitIntervalSec=0\n")
    (root / "etc/fstab").write_text("/dev/vda / ext4 noinit_itable 0 0\n")
    (root / "etc/hostname").write_text("gpuhost-vm\n")
    (root / "etc/machine-id").write_text("uninitialized\n")


def _pack(tree, target):
    """Appends an archive of `tree` to `target`: an initrd may be several concatenated archives."""
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    with open(target, "ab") as out:
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=tree, input=names.encode(), stdout=out, check=True)


def _make_initrd(root, target):
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name)
        for directory in ("bin", "dev", "root", "proc"):
            (tree / directory).mkdir()
        shutil.copy(root / "bin/busybox", tree / "bin/busybox")
        shutil.copy(GUEST / "init", tree / "init")
        (tree / "init").chmod(0o755)
        _pack(tree, target)
    _pack(kernel(KERNEL) / "initrd", target)


def _make_image(work):
    with tempfile.TemporaryDirectory(prefix="gpuhost-root.") as name:
        root = Path(name) / "root"
        _mmdebstrap(root)
        _configure(root)
        _make_initrd(root, work / "initrd")
        shutil.copy(kernel(KERNEL) / "vmlinuz", work / "vmlinuz")
        subprocess.run(["mkfs.ext4", "-q", "-d", root, "-L", "root", work / "disk.raw", SIZE], check=True,
                       stdout=subprocess.DEVNULL)


def other(ready, release, work):
    """Makes vmlinuz and initrd of another kernel in `work`. The guest's disk must have its modules before
    it boots."""
    work.mkdir(exist_ok=True)
    shutil.copy(ready / "initrd", work)
    _pack(kernel(release) / "initrd", work / "initrd")
    shutil.copy(kernel(release) / "vmlinuz", work)
    return work


def guest():
    """Returns the directory with vmlinuz, initrd and disk.raw."""
    parts = [path for path in sorted(GUEST.iterdir()) if path.name in ("agent", "init", "vm-agent.service")]
    name = cache.key(inputs.find(f"linux-image-{KERNEL}").digest, modules.fakegpu(), Path(__file__), *parts)

    def make(work):
        with say.step("making the guest's Debian 12 disk (about a minute)"):
            _make_image(work)

    return cache.entry("image", name, make)
