# SPDX-License-Identifier: Apache-2.0
"""A cache keyed by content: an entry's name is the digest of all of its inputs.

An entry is complete or absent: it is made under a temporary name and renamed. A run that is killed half way
leaves no entry that a later run would use.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from pathlib import Path


def root():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "gpuhost-tests"
    path.mkdir(parents=True, exist_ok=True)
    return path


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def key(*parts):
    """Returns a short digest of the texts; a Path counts with its file's content."""
    digest = hashlib.sha256()
    for part in parts:
        text = sha256(part) if isinstance(part, Path) else str(part)
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:20]


def entry(kind, name, make):
    """Returns the directory cached as `kind/name`; `make(directory)` fills it if it does not exist yet. Of
    two runs that need it at once, one makes it and the other waits."""
    final = root() / kind / name
    final.parent.mkdir(parents=True, exist_ok=True)
    with open(final.parent / f".{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if final.is_dir():
            os.utime(final)
            return final
        work = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=final.parent))
        try:
            make(work)
            work.chmod(0o755)
            os.rename(work, final)
            return final
        finally:
            shutil.rmtree(work, ignore_errors=True)
