# SPDX-License-Identifier: Apache-2.0
"""A read-only disk with the files that the tests use in the guest, where it is mounted at /payload."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

MOUNT = "mkdir -p /payload && mount -o ro /dev/vdb /payload"


def make(path, files):
    """Writes the disk image. `files` is {"drivers/535.261.03": Path to a file or directory, …}."""
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as name:
        tree = Path(name)
        for target, source in files.items():
            (tree / target).parent.mkdir(parents=True, exist_ok=True)
            if Path(source).is_dir():
                shutil.copytree(source, tree / target, dirs_exist_ok=True)
            else:
                shutil.copy(source, tree / target)
        size = sum(file.stat().st_size for file in tree.rglob("*") if file.is_file())
        Path(path).unlink(missing_ok=True)
        blocks = size // 1024 + size // 8192 + 16384
        subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", "-m", "0", "-d", tree, path, f"{blocks}k"], check=True,
                       stdout=subprocess.DEVNULL)
    os.chmod(path, 0o644)
    return path
