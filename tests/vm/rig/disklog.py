# SPDX-License-Identifier: Apache-2.0
"""Power cuts: replays a recorded prefix of the guest's writes, less what the disk's cache would have lost.

QEMU's blklogwrites driver records every write and flush in the format of dm-log-writes. Killing QEMU does not
simulate a power cut, because all writes of the guest are kept. The replay keeps exactly what a disk
guarantees: all writes before the last flush, all writes with FUA, and any subset of the later writes.
"""

import random
import struct
import subprocess
from dataclasses import dataclass

MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
BLOCK = 4096  # of the guest's filesystem


@dataclass(frozen=True)
class Entry:
    offset: int  # on the guest's disk, in bytes
    length: int
    flags: int
    data_at: int  # in the log file


class DiskLog:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.entries = list(self._parse(file))

    @staticmethod
    def _parse(file):
        size = file.seek(0, 2)
        file.seek(0)
        magic, version, _, sector = struct.unpack("<QQQI", file.read(28))
        if magic != MAGIC or version != 1:
            raise ValueError("not a log of writes")
        at = sector
        # The superblock's count is updated late, so the first entry of zeroes marks the end.
        while at + 32 <= size:
            file.seek(at)
            start, count, flags, _ = struct.unpack("<QQQQ", file.read(32))
            if (start, count, flags) == (0, 0, 0):
                return
            data = count * sector if not flags & (DISCARD | MARK) else 0
            if at + sector + data > size:
                return
            yield Entry(start * sector, count * sector, flags, at + sector)
            at += sector + data

    def data(self, entry):
        with open(self.path, "rb") as file:
            file.seek(entry.data_at)
            return file.read(entry.length)

    def line_cuts(self, content):
        """Returns [(line, n)] for the lines of `content`, of a file to which lines were only appended: the
        first `n` entries are the shortest prefix with this line on the disk. A line can span two of the
        filesystem's blocks, and these can be in different entries. So the line's last block is looked for."""
        cuts, ends, at = [], [], 0
        for line in content.splitlines(keepends=True):
            at += len(line)
            start = (at - 1) // BLOCK * BLOCK
            ends.append((line.rstrip(b"\n").decode(), content[start:at]))
        written = 0
        for n, entry in enumerate(self.entries):
            if entry.length and not entry.flags & (DISCARD | MARK):
                data = self.data(entry)
                blocks = [data[i:i + BLOCK] for i in range(0, len(data), BLOCK)]
                while written < len(ends) and any(block.startswith(ends[written][1]) for block in blocks):
                    written += 1
            if entry.flags & (FLUSH | FUA):
                cuts += [(line, n + 1) for line, _ in ends[len(cuts):written]]
        return cuts

    def survivors(self, count, rng):
        """Yields the entries that survive a cut after `count` of them; with `rng` None no unflushed entry
        survives."""
        prefix = self.entries[:count]
        flushed = max((n for n, entry in enumerate(prefix) if entry.flags & FLUSH), default=-1)
        for n, entry in enumerate(prefix):
            if not entry.length or entry.flags & (DISCARD | MARK):
                continue
            if n < flushed or entry.flags & FUA or (rng is not None and rng.random() < 0.5):
                yield entry

    def cut(self, base, image, count, seed=None):
        """Writes to `image` (raw) the content of disk `base` (raw) after `count` entries and a power cut."""
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", base, image], check=True)
        rng = None if seed is None else random.Random(seed)
        with open(image, "r+b") as disk, open(self.path, "rb") as log:
            for entry in self.survivors(count, rng):
                log.seek(entry.data_at)
                disk.seek(entry.offset)
                disk.write(log.read(entry.length))
        return image


def read_file(image, path, work):
    """Returns a file's content on a raw ext4 disk, after the recovery that the next boot does."""
    copy = work / "recovered.raw"
    subprocess.run(["cp", "--sparse=always", "--reflink=auto", image, copy], check=True)
    done = subprocess.run(["e2fsck", "-fy", copy], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode > 2:
        raise RuntimeError(f"e2fsck can't repair the disk: status {done.returncode}")
    done = subprocess.run(["debugfs", "-R", f"cat {path}", copy], capture_output=True, check=True)
    copy.unlink()
    return done.stdout
