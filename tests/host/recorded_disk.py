# SPDX-License-Identifier: Apache-2.0
"""A disk that logs its writes and flushes, and the images that power cuts leave of it.

The disk is a loop device on a file that this program serves to the kernel by FUSE. The device turns a flush
into an fsync of its file, and a forced write (FUA) into a write and a flush. Flushed writes persist after a
power cut. Any subset of later writes persists, in any order, and each sector is old or new.

It can also refuse writes: those that contain REFUSED, while a certain file exists.
"""
import contextlib
import errno
import fcntl
import os
import shutil
import struct
import sys

import own_mounts
import programs

FLUSH = 2**64 - 1  # in place of a write's offset in the log
EVENT = struct.Struct("<QQ")  # offset and size, followed by the data
SECTOR = 4096
MOST = 1 << 20  # bytes per write
REFUSED = b"this block is refused"

# linux/fuse.h
LOOKUP_NOTHING = (2, 42)  # FORGET and BATCH_FORGET have no reply
GETATTR, SETATTR, OPEN, READ, WRITE, RELEASE, FSYNC, FLUSH_FILE, INIT = 3, 4, 14, 15, 16, 18, 20, 25, 26
BIG_WRITES, MAX_PAGES = 1 << 5, 1 << 22
REQUEST, ANSWER = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")

# linux/loop.h
CONTROL_GET_FREE, CONFIGURE = 0x4C82, 0x4C0A
AUTOCLEAR = 4


class Server:
    """A FUSE file system that is a single file."""

    def __init__(self, fuse, image, log, refusing):
        self.fuse, self.image, self.log, self.refusing = fuse, image, log, refusing

    def serve(self):
        """Serves requests until the file system is unmounted."""
        while True:
            try:
                request = os.read(self.fuse, MOST + 65536)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return
                if error.errno in (errno.EINTR, errno.ENOENT):  # a request was interrupted
                    continue
                raise
            _, code, unique, _, _, _, _, _ = REQUEST.unpack_from(request)
            if code in LOOKUP_NOTHING:
                continue
            number, answer = self.answer(code, memoryview(request)[REQUEST.size:])
            os.writev(self.fuse, [ANSWER.pack(ANSWER.size + len(answer), -number, unique), answer])

    def answer(self, code, body):
        if code == INIT:
            return 0, struct.pack("<IIIIHHIIHH32x", 7, 31, MOST, BIG_WRITES | MAX_PAGES, 16, 12, MOST, 1,
                                  MOST // 4096, 0)
        if code in (GETATTR, SETATTR):
            size = os.fstat(self.image).st_size
            return 0, struct.pack("<QII6Q10I", 3600, 0, 0, 1, size, size // 512, *6 * [0], 0o100600, 1, *3 * [0],
                                  SECTOR, 0)
        if code == OPEN:
            return 0, bytes(16)
        if code == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return 0, os.pread(self.image, size, offset)
        if code == WRITE:
            _, offset, size = struct.unpack_from("<QQI", body)
            data = body[40:40 + size]
            if os.path.exists(self.refusing) and REFUSED in bytes(data):
                return errno.ENOSPC, b""
            os.writev(self.log, [EVENT.pack(offset, size), data])
            os.pwrite(self.image, data, offset)
            return 0, struct.pack("<II", size, 0)
        if code == FSYNC:
            os.write(self.log, EVENT.pack(FLUSH, 0))
            return 0, b""
        return (0, b"") if code in (RELEASE, FLUSH_FILE) else (errno.ENOSYS, b"")


def missing():
    """Returns why such a disk is impossible here, or None."""
    if os.geteuid() != 0:
        return "needs root, to mount disks"
    for device in ("/dev/fuse", "/dev/loop-control"):
        try:
            os.close(os.open(device, os.O_RDWR))
        except OSError as error:
            return f"needs {device}: {error.strerror}"
    return None


def loop_device(path):
    """Returns name and descriptor of a loop device on a file. It is detached when its last user closes it."""
    backing = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        for _ in range(100):  # another process may claim a free device first
            number = fcntl.ioctl(control, CONTROL_GET_FREE)
            name = f"/dev/loop{number}"
            with contextlib.suppress(FileExistsError):  # in a container udev does not create it
                os.mknod(name, 0o600 | 0o060000, os.makedev(7, number))
            device = os.open(name, os.O_RDWR | os.O_CLOEXEC)
            config = bytearray(304)
            struct.pack_into("<II", config, 0, backing, 0)
            struct.pack_into("<I", config, 8 + 52, AUTOCLEAR)
            try:
                fcntl.ioctl(device, CONFIGURE, config)
                return name, device
            except OSError as error:
                os.close(device)
                if error.errno != errno.EBUSY:
                    raise
        raise OSError(errno.EBUSY, "no loop device is available")
    finally:
        os.close(control)
        os.close(backing)


# ext4 without its protection of programs that do not sync; xfs permits other images with the same UUID.
OPTIONS = {"ext4": "noauto_da_alloc", "xfs": "nouuid"}


def make_image(kind, path):
    """Creates an empty file system in a sparse file without zero blocks."""
    with open(path, "wb") as file:
        file.truncate({"ext4": 192 << 20, "xfs": 320 << 20}[kind])
    words = {"ext4": ["mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
             "xfs": ["mkfs.xfs", "-q"]}
    programs.run([*words[kind], path], check=True)
    sparse = path + ".sparse"
    programs.run(["cp", "--sparse=always", path, sparse], check=True)
    os.rename(sparse, path)


def unknown(kind, directory):
    """Returns why this file system is impossible here, or None."""
    if not shutil.which(f"mkfs.{kind}"):
        return f"mkfs.{kind} is not installed"
    image, place = os.path.join(directory, "probe"), os.path.join(directory, "probed")
    make_image(kind, image)
    os.makedirs(place, exist_ok=True)
    try:
        with mounted(kind, image, place):
            return None
    except OSError as error:
        if error.errno == errno.ENODEV:
            return f"the kernel has no {kind}"
        raise


@contextlib.contextmanager
def mounted(kind, image, directory):
    """Mounts the file system of `image` at `directory`. The kernel recovers it first."""
    name, device = loop_device(image)
    try:
        own_mounts.mount(name, directory, kind, OPTIONS[kind])
    finally:
        os.close(device)
    try:
        yield
        own_mounts.unmount(directory)
    except BaseException:
        own_mounts.detach(directory)
        raise


@contextlib.contextmanager
def recorded(image, log, file, refusing="/nonexistent"):
    """Serves `image` as `file` and logs its writes in `log` first. While the file `refusing` exists, writes
    that contain REFUSED fail."""
    open(file, "wb").close()
    fuse = os.open("/dev/fuse", os.O_RDWR)
    with open(image, "r+b") as content, open(log, "wb") as events:
        fds = (fuse, content.fileno(), events.fileno())
        own_mounts.mount("disk", file, "fuse", f"fd={fuse},rootmode=100600,user_id=0,group_id=0")
        server = programs.start([sys.executable, __file__, *map(str, fds), refusing], pass_fds=fds)
        try:
            os.close(fuse)  # only the server keeps it: waiting clients get an error when the server dies
            yield
        finally:
            own_mounts.detach(file)
            programs.wait(server)


@contextlib.contextmanager
def disk_of(host, kind, image):
    """Mounts the disk as the host's /var and /etc, which operations change and a boot keeps."""
    os.makedirs(host.path("/var"), exist_ok=True)
    os.makedirs(host.path("/etc"), exist_ok=True)
    with mounted(kind, image, host.path("/var")):
        os.makedirs(host.path("/var/etc"), exist_ok=True)
        own_mounts.bind(host.path("/var/etc"), host.path("/etc"))
        try:
            yield
        finally:
            host.kill_daemon()
            host.kill_workers()
            own_mounts.detach(host.path("/etc"))


def copy_sparse(source, target):
    """Copies a file without its holes, which is fast for a sparse file."""
    with open(source, "rb", buffering=0) as old, open(target, "wb", buffering=0) as new:
        size = os.fstat(old.fileno()).st_size
        new.truncate(size)
        at = 0
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:
                break  # only holes are left
            end = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            os.lseek(new.fileno(), at, os.SEEK_SET)
            while at < end:
                at += os.sendfile(new.fileno(), old.fileno(), at, end - at)


class Log:
    """The events of a log in order: (offset, data) of a write, or None for a flush."""

    def __init__(self, path):
        self.events, self.ends = [], []
        with open(path, "rb") as file:
            content = memoryview(file.read())
        at = 0
        while at < len(content):
            offset, size = EVENT.unpack_from(content, at)
            at += EVENT.size
            self.events.append(None if offset == FLUSH else (offset, content[at:at + size]))
            at += size
            self.ends.append(at)

    def position(self, size):
        """Returns the number of events in the first `size` bytes of the log."""
        return sum(end <= size for end in self.ends)


class PowerCuts:
    """Builds images of power cuts from one log, in the order of their times."""

    def __init__(self, base, log, directory):
        self.log, self.prefix, self.image = log, os.path.join(directory, "prefix"), os.path.join(directory, "image")
        copy_sparse(base, self.prefix)
        self.flushed = 0  # number of events in the prefix

    def cut(self, at, is_written):
        """Returns the image after a power cut after `at` events. is_written() is called for each sector write
        since the last flush, and returns whether it persists."""
        events = self.log.events
        last = max((i + 1 for i in range(self.flushed, at) if events[i] is None), default=self.flushed)
        with open(self.prefix, "r+b", buffering=0) as file:
            for event in filter(None, events[self.flushed:last]):
                os.pwrite(file.fileno(), event[1], event[0])
        self.flushed = last
        copy_sparse(self.prefix, self.image)
        with open(self.image, "r+b", buffering=0) as file:
            for offset, data in filter(None, events[last:at]):
                for start in range(0, len(data), SECTOR):
                    if is_written():
                        os.pwrite(file.fileno(), data[start:start + SECTOR], offset + start)
        return self.image


if __name__ == "__main__":
    os.nice(-20)  # each flush waits for this process
    Server(*map(int, sys.argv[1:4]), sys.argv[4]).serve()
