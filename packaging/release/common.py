# SPDX-License-Identifier: Apache-2.0
"""What releases of all kinds of packages share: programs, checksums, signatures, times, the system's name."""

import hashlib
import os
import re
import subprocess
from pathlib import Path


class Mistake(Exception):
    """An input that no release can be made of."""


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def os_release():
    lines = Path("/etc/os-release").read_text().splitlines()
    return {name: value.strip("\"'") for name, value in (line.split("=", 1) for line in lines if "=" in line)}


class Key:
    """A key of gpg, which signs as of the source's time. No signature may be older than its key, so a newer key
    signs as of its creation."""

    def __init__(self, name, epoch):
        keys = run("gpg", "--list-keys", "--with-colons", name)
        created = re.findall(r"^(?:pub|sub):(?:[^:]*:){4}([0-9]+):", keys, re.MULTILINE)
        time = max(epoch, *map(int, created))
        self._gpg = ["gpg", "--batch", "--yes", "--quiet", "--local-user", name, "--faked-system-time", f"{time}!",
                     "--no-comments", "--no-emit-version"]  # fmt: skip

    def clear_sign(self, path, output):
        run(*self._gpg, "--clear-sign", "--output", str(output), str(path))

    def detach_sign(self, path, output, *options):
        run(*self._gpg, *options, "--detach-sign", "--output", str(output), str(path))


def checksums(directory):
    files = sorted(path.relative_to(directory) for path in directory.rglob("*") if path.is_file())
    sums = directory / "SHA256SUMS"
    sums.write_text("".join(f"{digest(directory / name)}  {name}\n" for name in files))
    return sums


def set_times(directory, epoch):
    for path in [directory, *directory.rglob("*")]:
        if path.is_file():
            path.chmod(0o755 if path.name == "install" else 0o644)
        else:
            path.chmod(0o755)
        os.utime(path, (epoch, epoch))
