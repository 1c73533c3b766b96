# SPDX-License-Identifier: Apache-2.0
"""Builds kernel modules for the guest: NVIDIA's open modules of each version, and our own test modules."""

import os
import shutil
import subprocess
from pathlib import Path

from . import cache, inputs, say

KERNEL = "6.1.0-50-amd64"
OTHER_KERNEL = "6.1.0-50-cloud-amd64"  # has neither DRM nor I2C, so NVIDIA's modules for it differ
VERSIONS = ("535.261.03", "550.163.01")
GUEST = Path(__file__).resolve().parent.parent / "guest"
JOBS = f"-j{os.cpu_count()}"


def _common(kernel):
    """Returns the name of the package of headers that the flavours of a kernel share."""
    return f"linux-headers-{'-'.join(kernel.split('-')[:2])}-common"


def _header_key(kernel):
    return cache.key(kernel, inputs.find(f"linux-headers-{kernel}").digest, inputs.find(_common(kernel)).digest)


def _headers(kernel):
    """Unpacks the headers of the flavour. The common headers, which they include by path, must be
    installed."""
    own = inputs.find(f"linux-headers-{kernel}")
    if not (Path("/usr/src") / _common(kernel)).exists():
        raise RuntimeError(f"kernel headers of {kernel} are not installed: run ./bootstrap, or install {inputs.find(_common(kernel)).path}")

    def make(work):
        subprocess.run(["dpkg-deb", "-x", own.path, work], check=True)
        (work / "usr/lib").mkdir()
        (work / "usr/lib/linux-kbuild-6.1").symlink_to("/usr/lib/linux-kbuild-6.1")

    return cache.entry("headers", own.digest, make) / "usr/src" / own.package


def _make(log, *args, cwd=None):
    with open(log, "ab") as out:
        done = subprocess.run(["make", JOBS, *args], stdout=out, stderr=out, cwd=cwd)
    if done.returncode:
        tail = Path(log).read_text(errors="replace").splitlines()[-30:]
        raise RuntimeError("\n".join([f"make {' '.join(args)} failed:", *tail]))


def _strip(module, directory):
    subprocess.run(["strip", "-g", "-o", directory / module.name, module], check=True)


def _kbuild(kernel, tree, log, *settings):
    _make(log, "-C", _headers(kernel), f"M={tree}", *settings, "modules")


def _build_driver(work, version, kernel):
    """Builds work/modules/*.ko, the driver, and work/stuckexit.ko, our module that depends on this
    nvidia.ko."""
    log = work / "build.log"
    tree = work / "tree"
    tree.mkdir()
    subprocess.run(["dpkg-deb", "-x", inputs.find("nvidia-open-kernel-dkms", version).path, tree], check=True)
    source = next(tree.glob("usr/src/nvidia-*"))
    _make(log, f"SYSSRC=/usr/src/{_common(kernel)}", f"SYSOUT={_headers(kernel)}", "modules", cwd=source)
    (work / "modules").mkdir()
    for module in [*source.glob("*.ko"), *source.glob("*/*.ko")]:
        _strip(module, work / "modules")
    stuck = tree / "stuckexit"
    shutil.copytree(GUEST / "stuckexit", stuck)
    _kbuild(kernel, stuck, log, f"KBUILD_EXTRA_SYMBOLS={source}/Module.symvers", f"VERSION_OF_NVIDIA={version}")
    _strip(stuck / "stuckexit.ko", work)
    shutil.rmtree(tree)


def driver(version, kernel=KERNEL):
    """Returns the directory with `version`'s modules in modules/ and with stuckexit.ko. Builds it if not
    cached."""
    name = cache.key(_header_key(kernel), inputs.find("nvidia-open-kernel-dkms", version).digest, Path(__file__),
                     *sorted((GUEST / "stuckexit").iterdir()))

    def make(work):
        with say.step(f"building NVIDIA {version} for {kernel} (about 5 minutes on 2 cores)"):
            _build_driver(work, version, kernel)

    return cache.entry("modules", f"{version}-{name}", make)


def fakegpu(kernel=KERNEL):
    def make(work):
        tree = work / "tree"
        tree.mkdir()
        for name in ("fakegpu.c", "Kbuild"):
            shutil.copy(GUEST / name, tree)
        _kbuild(kernel, tree, work / "build.log")
        _strip(tree / "fakegpu.ko", work)
        shutil.rmtree(tree)

    name = cache.key(_header_key(kernel), GUEST / "fakegpu.c", GUEST / "Kbuild")
    return cache.entry("modules", f"fakegpu-{name}", make) / "fakegpu.ko"
