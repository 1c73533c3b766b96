# SPDX-License-Identifier: Apache-2.0
"""Mounts and a loopback network in namespaces of the test's own, which end with the test."""
import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

INSIDE = "GPUHOST_TEST_MOUNTS_INSIDE"
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_RELATIME, MNT_DETACH = 1, 32, 4096, 16384, 1 << 21, 2
FILLER = "filler"
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
LIBC = ctypes.CDLL(None, use_errno=True)


def enter(network=False):
    """Runs this program again in a mount namespace. Skips the test if the machine does not permit that."""
    if os.environ.get(INSIDE):
        if network:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
                fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
        return
    words = ["unshare", "--mount", "--propagation", "private"] + ["--net"] * network
    words += [] if os.geteuid() == 0 else ["--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        print("1..0 # SKIP mount namespaces are not available")
        sys.exit(0)
    os.environ[INSIDE] = "1"
    os.execvp("unshare", [*words, sys.executable, *sys.argv])


def mount(source, target, kind, options="", flags=0):
    if LIBC.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()):
        error = ctypes.get_errno()
        raise OSError(error, f"mounting {source}: {os.strerror(error)}", target)


def bind(source, target):
    mount(source, target, "none", flags=MS_BIND)


def bind_read_only(source, target):
    """Binds a tree. What is mounted below it stays writable. A user's namespace may not clear flags that the mount has."""
    mount(source, target, "none", flags=MS_BIND | MS_REC)
    had = os.statvfs(target).f_flag
    kept = had & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME)
    mount("none", target, "none", flags=MS_REMOUNT | MS_BIND | MS_RDONLY | kept | (MS_RELATIME if had & os.ST_RELATIME else 0))
    assert os.statvfs(target).f_flag & os.ST_RDONLY


def unmount(target):
    if LIBC.umount2(target.encode(), 0):
        error = ctypes.get_errno()
        raise OSError(error, f"unmounting: {os.strerror(error)}", target)


def detach(target):
    """Unmounts lazily, because a failed test may have left the mount busy."""
    LIBC.umount2(target.encode(), MNT_DETACH)


def fill(directory, left=0):
    """Fills the file system except `left` bytes, also for root."""
    state = os.statvfs(directory)
    most = state.f_bavail * state.f_frsize - left
    with open(f"{directory}/{FILLER}", "ab") as file:
        at = file.tell()
        while most > 0:
            try:
                os.posix_fallocate(file.fileno(), at, most)
                at += most
                state = os.statvfs(directory)
                most = state.f_bavail * state.f_frsize - left
            except OSError:
                most //= 2


def free(directory):
    if os.path.exists(f"{directory}/{FILLER}"):
        os.unlink(f"{directory}/{FILLER}")
