# SPDX-License-Identifier: Apache-2.0
"""Images that kernels boot with, and what makes them on a fake host."""
import gzip
import os
import stat

from driver_files import KERNEL
from fake_host import write

IMAGE = f"/boot/initrd.img-{KERNEL}"
TOOL = "/usr/sbin/update-initramfs"
MAKE = """#!/bin/sh
root=${0%/usr/sbin/*}
echo "$GPUHOST_INITRAMFS $*"
cp "$root/next" "$root/boot/new" && mv "$root/boot/new" "$root$IMAGE"
""".replace("$IMAGE", IMAGE)


def member(name, mode=stat.S_IFREG | 0o644, content=b""):
    """Of a cpio archive of the format newc."""
    numbers = [0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    header = "070701" + "".join(f"{number:08x}" for number in numbers) + name + "\0"
    return header.encode() + b"\0" * (-len(header) % 4) + content + b"\0" * (-len(content) % 4)


def image(*paths):
    """With microcode in front, as the kernel takes it."""
    end = member("TRAILER!!!", 0)
    early = member("kernel/x86/microcode/GenuineIntel.bin", content=b"microcode") + end
    return early + b"\0" * (-len(early) % 512) + gzip.compress(b"".join(map(member, ("init", *paths))) + end, mtime=0)


def put(host, path, content):
    os.makedirs(os.path.dirname(host.path(path)), exist_ok=True)
    with open(host.path(path), "wb") as file:
        file.write(content)


def tool(host, text):
    write(host.path(TOOL), text)
    os.chmod(host.path(TOOL), 0o755)


CLEAN = image(f"usr/lib/modules/{KERNEL}/kernel/fs/ext4.ko")
STALE = image(f"usr/lib/modules/{KERNEL}/kernel/fs/ext4.ko", f"usr/lib/modules/{KERNEL}/updates/dkms/nvidia-current.ko")
