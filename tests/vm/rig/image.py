# SPDX-License-Identifier: Apache-2.0
"""Makes the guest: a kernel, a small initrd, and a Debian disk with the dependencies of our package."""

import lzma
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import cache, debian, inputs, modules, say

GUEST = modules.GUEST
SIZE = "3G"

# Packages of a Debian installation that the product or the tests use, beside the system's libraries.
PACKAGES = """
    apt busybox-static crun dbus e2fsprogs initramfs-tools kmod libkmod2 libncursesw6 libnss-systemd
    libsystemd0 libdate-tz3 podman polkitd procps runc systemd systemd-sysv tzdata udev zstd xz-utils
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
    return {Path(name).name.split(".ko")[0].replace("-", "_"): [name, *needs.split()] for name, needs in rows}


def _closure(depends, names):
    """Returns paths of the modules and their dependencies in load order. Skips names that the kernel has
    built in."""
    order = []
    for name in names:
        for path in reversed(depends.get(name.replace("-", "_"), [])):
            if path not in order:
                order.append(path)
    return order


def _copy_plain(module, target):
    """Copies a module to `target` without compression, because the initrd's insmod does not read it."""
    if module.suffix == ".xz":
        target.with_suffix("").write_bytes(lzma.decompress(module.read_bytes()))
    else:
        shutil.copy(module, target)


def _make_kernel(work, system, release):
    tree = work / "unpacked"
    tree.mkdir()
    subprocess.run(["dpkg-deb", "-x", inputs.find(f"linux-image-{release}").path, tree], check=True)
    if not (tree / "lib").exists():  # Debian 13 has the modules in /usr/lib
        (tree / "lib").symlink_to("usr/lib")
    shutil.copy(tree / "boot" / f"vmlinuz-{release}", work / "vmlinuz")
    base = tree / "lib/modules" / release
    depends = _depends(tree, release)
    keep = _closure(depends, DISK_MODULES + MODULES)
    for module in base.rglob("*.ko*"):
        if str(module.relative_to(base)) not in keep:
            module.unlink()
    shutil.copytree(base, work / "root/lib/modules" / release)
    shutil.copytree(tree / "boot", work / "root/boot")
    (work / "root/lib/modules" / release / "extra").mkdir()
    shutil.copy(modules.fakegpu(system, release), work / "root/lib/modules" / release / "extra")
    initrd = work / "initrd/modules" / release
    initrd.mkdir(parents=True)
    for n, path in enumerate(_closure(depends, DISK_MODULES)):
        _copy_plain(base / path, initrd / f"{n:02d}-{Path(path).name}")
    shutil.rmtree(tree)


def kernel(system, release):
    """Returns the directory with vmlinuz, the files of the kernel's package and fakegpu.ko in root/, and
    the modules of the initrd in initrd/."""
    key = cache.key(inputs.find(f"linux-image-{release}").digest, modules.fakegpu(system, release), Path(__file__))
    return cache.entry("kernel", key, lambda work: _make_kernel(work, system, release))


def _make_root(system, root):
    without = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale", "info")]
    debian.make_root(system.suite, root, [*PACKAGES, *system.libraries.split()], *without)


def _configure(root, system):
    """Disables network, getty and timers; enables the fake GPU and the agent."""
    for part in ("lib/modules", "boot"):
        shutil.copytree(kernel(system, system.kernel) / "root" / part, root / part, dirs_exist_ok=True)
    (root / "etc/modules-load.d/fakegpu.conf").write_text("fakegpu\n")
    subprocess.run(["depmod", "-b", root, system.kernel], check=True)
    agent = root / "usr/local/libexec/vm-agent"
    agent.parent.mkdir(parents=True, exist_ok=True)
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


def _make_initrd(root, modules_directory, target):
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name)
        for directory in ("bin", "dev", "root", "proc"):
            (tree / directory).mkdir()
        shutil.copy(root / "bin/busybox", tree / "bin/busybox")
        shutil.copy(GUEST / "init", tree / "init")
        (tree / "init").chmod(0o755)
        _pack(tree, target)
    _pack(modules_directory, target)


def _make_image(work, system):
    own = kernel(system, system.kernel)
    with tempfile.TemporaryDirectory(prefix="gpuhost-root.") as name:
        root = Path(name) / "root"
        _make_root(system, root)
        _configure(root, system)
        _make_initrd(root, own / "initrd", work / "initrd")
        shutil.copy(own / "vmlinuz", work / "vmlinuz")
        subprocess.run(["mkfs.ext4", "-q", "-d", root, "-L", "root", work / "disk.raw", SIZE], check=True,
                       stdout=subprocess.DEVNULL)


def other(ready, system, release, work):
    """Makes vmlinuz and initrd of another kernel in `work`. The guest's disk must have its modules before
    it boots."""
    work.mkdir(exist_ok=True)
    shutil.copy(ready / "initrd", work)
    _pack(kernel(system, release) / "initrd", work / "initrd")
    shutil.copy(kernel(system, release) / "vmlinuz", work)
    return work


def guest(system):
    """Returns the directory with vmlinuz, initrd and disk.raw."""
    parts = [path for path in sorted(GUEST.iterdir()) if path.name in ("agent", "init", "vm-agent.service")]
    name = cache.key(system, inputs.find(f"linux-image-{system.kernel}").digest, modules.fakegpu(system), Path(__file__), *parts)

    def make(work):
        with say.step(f"making the guest's disk, {system.name} (about a minute)"):
            _make_image(work, system)

    return cache.entry("image", name, make)
