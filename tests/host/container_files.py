# SPDX-License-Identifier: Apache-2.0
"""A container as its runtime prepares it for hooks: a bundle, and a root without processes."""
import json
import os
import re

from programs import run
from tap import TOP_BUILDDIR

HOOK = os.path.join(TOP_BUILDDIR, "gpuhost-cdi-hook")
LIBRARY = "libm.so.6"  # copied into the root under another name; its SONAME is unchanged


def library_file():
    """Returns the path of LIBRARY on this machine, which every Python has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return re.search(rf"/\S*/{re.escape(LIBRARY)}$", maps.read(), re.M)[0]


def write(path, content="", mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w" if isinstance(content, str) else "wb") as file:
        file.write(content)
    os.chmod(path, mode)


class Container:
    """A container in its own directory. No hook may change the directory `outside` next to its root."""
    def __init__(self, directory):
        self.directory = directory
        self.outside = os.path.join(directory, "outside")
        os.makedirs(os.path.join(self.outside, "etc"))
        write(os.path.join(self.outside, "secret"), "secret")
        self.configure()
        for name in ("etc", "usr/lib/gpu", "proc", "dev", "lib", "volume"):
            os.makedirs(self.path("/" + name))
        write(self.path("/etc/debian_version"), "12.1\n")
        with open(library_file(), "rb") as file:
            write(self.path("/usr/lib/gpu/libm.so.550.1"), file.read(), 0o755)

    def configure(self, **root):
        """Writes config.json, with additional members of its `root`."""
        write(os.path.join(self.directory, "config.json"), json.dumps({"ociVersion": "1.0.2", "root": {"path": "rootfs"} | root}))

    def path(self, path):
        return os.path.join(self.directory, "rootfs", path.lstrip("/"))

    def read(self, path):
        with open(self.path(path), encoding="utf-8") as file:
            return file.read()

    def hook(self, *words, state=None):
        return run([HOOK, *words], input=json.dumps({"bundle": self.directory}) if state is None else state)

    def untouched(self):
        """Returns whether the directory `outside` is unchanged."""
        return sorted(os.listdir(self.outside)) == ["etc", "secret"] and not os.listdir(os.path.join(self.outside, "etc")) \
            and open(os.path.join(self.outside, "secret"), encoding="utf-8").read() == "secret"

    def tree(self):
        """Returns {path: (inode, link's target)} of the root."""
        found = {}
        for directory, directories, files in os.walk(self.path("/")):
            for name in directories + files:
                path = os.path.join(directory, name)
                found[path] = (os.lstat(path).st_ino, os.readlink(path) if os.path.islink(path) else "")
        return found

    def cache(self):
        """Returns {library: path} of the loader's cache; empty without a cache."""
        shown = run(["/sbin/ldconfig", "-p", "-C", self.path("/etc/ld.so.cache")])
        return dict(re.findall(r"^\t(\S+) .* => (\S+)$", shown.stdout, re.M))
