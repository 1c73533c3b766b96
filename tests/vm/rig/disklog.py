# SPDX-License-Identifier: Apache-2.0
"""Power cuts: replays a recorded prefix of the guest's writes, less what the disk's cache would have lost.

QEMU's blklogwrites driver records every write and flush in the format of dm-log-writes. Killing QEMU is no power cut,
for all that the guest wrote is kept. Here a disk's promise is taken at its word and no further: what was written
before the last flush (or with FUA) is on the disk; of what came after it any part may be.
"""

import random
import re
import struct
import subprocess
from dataclasses import dataclass

MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
RECORD = re.compile(rb'^[0-9a-f]{8} (?=\{)[^\n]*"t_us"[^\n]*$', re.M)  # a line of gpuhost's transaction journal


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
        # The superblock's count lags behind, so the end is where the zeroes begin.
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

    def record_cuts(self):
        """[(record, n)]: `n` entries are the shortest prefix that has this record of the journal on the disk."""
        seen, fresh, cuts = set(), [], []
        for n, entry in enumerate(self.entries):
            if entry.length and not entry.flags & (DISCARD | MARK):
                for record in RECORD.findall(self.data(entry)):
                    if record not in seen:
                        seen.add(record)
                        fresh.append(record)
            if entry.flags & (FLUSH | FUA) and fresh:
                cuts += [(record.decode(errors="replace"), n + 1) for record in fresh]
                fresh = []
        return cuts

    def survivors(self, count, rng):
        """Entries that a cut after `count` of them leaves; `rng` None keeps none of the unflushed ones."""
        prefix = self.entries[:count]
        flushed = max((n for n, entry in enumerate(prefix) if entry.flags & FLUSH), default=-1)
        for n, entry in enumerate(prefix):
            if not entry.length or entry.flags & (DISCARD | MARK):
                continue
            if n < flushed or entry.flags & FUA or (rng is not None and rng.random() < 0.5):
                yield entry

    def cut(self, base, image, count, seed=None):
        """Writes to `image` (raw) what is left of disk `base` (raw) when the power goes after `count` entries."""
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", base, image], check=True)
        rng = None if seed is None else random.Random(seed)
        with open(image, "r+b") as disk, open(self.path, "rb") as log:
            for entry in self.survivors(count, rng):
                log.seek(entry.data_at)
                disk.seek(entry.offset)
                disk.write(log.read(entry.length))
        return image


def read_file(image, path, work):
    """A file's content on a (raw) ext4 disk, after the recovery that the next boot would do."""
    copy = work / "recovered.raw"
    subprocess.run(["cp", "--sparse=always", "--reflink=auto", image, copy], check=True)
    done = subprocess.run(["e2fsck", "-fy", copy], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode > 2:
        raise RuntimeError(f"e2fsck can't repair the disk: status {done.returncode}")
    done = subprocess.run(["debugfs", "-R", f"cat {path}", copy], capture_output=True, check=True)
    copy.unlink()
    return done.stdout
