# SPDX-License-Identifier: Apache-2.0
"""Initramfs images, and the programs that generate them on a fake host."""
import gzip
import os
import stat
import struct

from driver_files import KERNEL
from fake_host import write

IMAGE = f"/boot/initrd.img-{KERNEL}"
TOOL = "/usr/sbin/update-initramfs"
MAKE = """#!/bin/sh
root=${0%/usr/sbin/*}
echo "$GPUHOST_INITRAMFS $*"
cp "$root/next" "$root/boot/new" && mv "$root/boot/new" "$root$IMAGE"
""".replace("$IMAGE", IMAGE)
ENTRY = f"/efi/Default/{KERNEL}/initrd"  # by the Boot Loader Specification, without a machine ID
DRACUT = "/usr/bin/dracut"
MAKE_ENTRY = """#!/bin/sh
echo "$GPUHOST_INITRAMFS $*"
cp "${0%/usr/bin/*}/next" "$2"
"""
UNIFIED = f"/efi/EFI/Linux/site-{KERNEL}.efi"


def member(name, mode=stat.S_IFREG | 0o644, content=b""):
    """Returns a member of a cpio archive in newc format."""
    numbers = [0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    header = "070701" + "".join(f"{number:08x}" for number in numbers) + name + "\0"
    return header.encode() + b"\0" * (-len(header) % 4) + content + b"\0" * (-len(content) % 4)


def image(*paths):
    """Returns an image with these files, preceded by a microcode archive."""
    end = member("TRAILER!!!", 0)
    early = member("kernel/x86/microcode/GenuineIntel.bin", content=b"microcode") + end
    return early + b"\0" * (-len(early) % 512) + gzip.compress(b"".join(map(member, ("init", *paths))) + end, mtime=0)


def put(host, path, content):
    os.makedirs(os.path.dirname(host.path(path)), exist_ok=True)
    with open(host.path(path), "wb") as file:
        file.write(content)


def unified(content):
    """Returns a UEFI program that has only an initramfs section."""
    header = b"MZ" + bytes(58) + struct.pack("<I4sHHIIIHH", 64, b"PE", 0x8664, 1, 0, 0, 0, 0, 0)
    return header + struct.pack("<8sIIII16x", b".initrd", len(content), 0, len(content), 128) + content


def tool(host, text, path=TOOL):
    write(host.path(path), text)
    os.chmod(host.path(path), 0o755)


CLEAN = image(f"usr/lib/modules/{KERNEL}/kernel/fs/ext4.ko")
STALE = image(f"usr/lib/modules/{KERNEL}/kernel/fs/ext4.ko", f"usr/lib/modules/{KERNEL}/updates/dkms/nvidia-current.ko")
