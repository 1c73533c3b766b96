# SPDX-License-Identifier: Apache-2.0
"""Builds kernel modules for the guest: NVIDIA's open ones of each version, and our own test modules."""

import os
import shutil
import subprocess
from pathlib import Path

from . import cache, inputs, say

KERNEL = "6.1.0-50-amd64"
VERSIONS = ("535.261.03", "550.163.01")
GUEST = Path(__file__).resolve().parent.parent / "guest"
JOBS = f"-j{os.cpu_count()}"


def _headers():
    build = Path("/lib/modules") / KERNEL / "build"
    if not build.exists():
        raise RuntimeError(f"no kernel headers for {KERNEL} on this machine: run ./bootstrap, or install "
                           f"{inputs.find(f'linux-headers-{KERNEL}').path}")
    return build


def _header_key():
    return cache.key(KERNEL, inputs.find(f"linux-headers-{KERNEL}").digest,
                     inputs.find(f"linux-headers-{KERNEL.removesuffix('-amd64')}-common").digest)


def _make(log, *args, cwd=None):
    with open(log, "ab") as out:
        done = subprocess.run(["make", JOBS, *args], stdout=out, stderr=out, cwd=cwd)
    if done.returncode:
        tail = Path(log).read_text(errors="replace").splitlines()[-30:]
        raise RuntimeError("\n".join([f"make {' '.join(args)} failed:", *tail]))


def _strip(module, directory):
    subprocess.run(["strip", "-g", "-o", directory / module.name, module], check=True)


def _kbuild(tree, log, *settings):
    _make(log, "-C", _headers(), f"M={tree}", *settings, "modules")


def _build_driver(work, version):
    """work/modules/*.ko: the driver. work/stuckexit.ko: our module that depends on this very nvidia.ko."""
    log = work / "build.log"
    tree = work / "tree"
    tree.mkdir()
    subprocess.run(["dpkg-deb", "-x", inputs.find("nvidia-open-kernel-dkms", version).path, tree], check=True)
    source = next(tree.glob("usr/src/nvidia-*"))
    _make(log, f"KERNEL_UNAME={KERNEL}", "modules", cwd=source)
    (work / "modules").mkdir()
    for module in [*source.glob("*.ko"), *source.glob("*/*.ko")]:
        _strip(module, work / "modules")
    stuck = tree / "stuckexit"
    shutil.copytree(GUEST / "stuckexit", stuck)
    _kbuild(stuck, log, f"KBUILD_EXTRA_SYMBOLS={source}/Module.symvers", f"VERSION_OF_NVIDIA={version}")
    _strip(stuck / "stuckexit.ko", work)
    shutil.rmtree(tree)


def driver(version):
    """The directory with `version`'s modules in modules/, and stuckexit.ko beside it; built where not cached."""
    name = cache.key(_header_key(), inputs.find("nvidia-open-kernel-dkms", version).digest, Path(__file__),
                     *sorted((GUEST / "stuckexit").iterdir()))

    def make(work):
        with say.step(f"building NVIDIA {version} for {KERNEL} (about 5 minutes on 2 cores)"):
            _build_driver(work, version)

    return cache.entry("modules", f"{version}-{name}", make)


def fakegpu():
    """fakegpu.ko for the guest's kernel."""
    def make(work):
        tree = work / "tree"
        tree.mkdir()
        for name in ("fakegpu.c", "Kbuild"):
            shutil.copy(GUEST / name, tree)
        _kbuild(tree, work / "build.log")
        _strip(tree / "fakegpu.ko", work)
        shutil.rmtree(tree)

    name = cache.key(_header_key(), GUEST / "fakegpu.c", GUEST / "Kbuild")
    return cache.entry("modules", f"fakegpu-{name}", make) / "fakegpu.ko"
