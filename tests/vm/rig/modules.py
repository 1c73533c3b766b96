# SPDX-License-Identifier: Apache-2.0
"""Builds kernel modules for the guest: NVIDIA's open modules of each version, and our own test modules."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from . import cache, debian, inputs, say

OTHER_KERNEL = "6.1.0-50-cloud-amd64"  # of Debian 12. Has neither DRM nor I2C, so NVIDIA's modules for it differ
VERSIONS = ("535.261.03", "550.163.01")
GUEST = Path(__file__).resolve().parent.parent / "guest"
JOBS = f"-j{os.cpu_count()}"
NO_BTF = ("CONFIG_DEBUG_INFO_BTF_MODULES=",)  # type information for tracers, which takes pahole minutes to make


def _version(kernel):
    """Returns 6.1.0-50 of 6.1.0-50-cloud-amd64, and 6.12.117+deb13 of 6.12.117+deb13-amd64."""
    return re.match(r"[\d.]+(-\d+|\+\w+)", kernel)[0]


def _common(kernel):
    """Returns the name of the package of headers that the flavours of a kernel share."""
    return f"linux-headers-{_version(kernel)}-common"


def _header_key(kernel):
    return cache.key(kernel, inputs.find(f"linux-headers-{kernel}").digest, inputs.find(_common(kernel)).digest)


def _headers(system, kernel):
    """Returns the directory with the headers of the flavour, which include the common ones by path."""
    own = inputs.find(f"linux-headers-{kernel}")
    if system.compiler:
        return Path("/usr/src") / own.package  # in its compilers' root
    if not (Path("/usr/src") / _common(kernel)).exists():
        raise RuntimeError(f"kernel headers of {kernel} are not installed: run ./bootstrap, or install {inputs.find(_common(kernel)).path}")

    def make(work):
        subprocess.run(["dpkg-deb", "-x", own.path, work], check=True)
        (work / "usr/lib").mkdir()
        (work / "usr/lib/linux-kbuild-6.1").symlink_to("/usr/lib/linux-kbuild-6.1")

    return cache.entry("headers", own.digest, make) / "usr/src" / own.package


def _compilers(system):
    """Returns the root of a Debian that compiles modules for the system's kernel, with this cache's path in it."""
    names = (f"linux-headers-{system.kernel}", _common(system.kernel), f"linux-kbuild-{_version(system.kernel)}")
    packages = [inputs.find(name) for name in names]

    def make(work):
        with say.step(f"making a {system.name} that compiles modules (about a minute)"):
            debian.make_root(system.suite, work / "root", system.compiler.split())
        for package in packages:
            subprocess.run(["dpkg-deb", "-x", package.path, work / "root"], check=True)
        (work / "root" / cache.root().relative_to("/")).mkdir(parents=True, exist_ok=True)

    return cache.entry("compilers", cache.key(system.suite, system.compiler, *(package.digest for package in packages)), make) / "root"


def _enter(system):
    """Returns the words before a command that make it run with the system's compiler."""
    if not system.compiler:
        return []
    script = 'mount --bind "$2" "$1$2" && exec chroot "$1" "${@:3}"'
    return ["unshare", "--mount", "--propagation", "private", "bash", "-c", script, "bash", str(_compilers(system)), str(cache.root())]


def _make(system, log, *args, cwd):
    with open(log, "ab") as out:
        done = subprocess.run([*_enter(system), "make", JOBS, "-C", cwd, *NO_BTF, *args], stdout=out, stderr=out)
    if done.returncode:
        tail = Path(log).read_text(errors="replace").splitlines()[-30:]
        raise RuntimeError("\n".join([f"make {' '.join(args)} failed:", *tail]))


def _strip(module, directory):
    subprocess.run(["strip", "-g", "-o", directory / module.name, module], check=True)


def _kbuild(system, kernel, tree, log, *settings):
    _make(system, log, f"M={tree}", *settings, "modules", cwd=_headers(system, kernel))


def _correct(system, source):
    for name, text, new in system.corrections:
        content = (source / name).read_text()
        if content.count(text) != 1:
            raise RuntimeError(f"{name}: '{text}' is there {content.count(text)} times, expected 1")
        (source / name).write_text(content.replace(text, new))


def _build_driver(work, system, version, kernel):
    """Builds work/modules/*.ko, the driver, and work/stuckexit.ko, our module that depends on this
    nvidia.ko."""
    log = work / "build.log"
    tree = work / "tree"
    tree.mkdir()
    subprocess.run(["dpkg-deb", "-x", inputs.find("nvidia-open-kernel-dkms", version).path, tree], check=True)
    source = next(tree.glob("usr/src/nvidia-*"))
    _correct(system, source)
    _make(system, log, f"SYSSRC=/usr/src/{_common(kernel)}", f"SYSOUT={_headers(system, kernel)}", "modules", cwd=source)
    (work / "modules").mkdir()
    for module in [*source.glob("*.ko"), *source.glob("*/*.ko")]:
        _strip(module, work / "modules")
    stuck = tree / "stuckexit"
    shutil.copytree(GUEST / "stuckexit", stuck)
    _kbuild(system, kernel, stuck, log, f"KBUILD_EXTRA_SYMBOLS={source}/Module.symvers", f"VERSION_OF_NVIDIA={version}")
    _strip(stuck / "stuckexit.ko", work)
    shutil.rmtree(tree)


def driver(system, version, kernel=None):
    """Returns the directory with `version`'s modules in modules/ and with stuckexit.ko, for the system's kernel or
    another one. Builds it if not cached."""
    kernel = kernel or system.kernel
    name = cache.key(system.compiler, system.corrections, _header_key(kernel), inputs.find("nvidia-open-kernel-dkms", version).digest, Path(__file__),
                     *sorted((GUEST / "stuckexit").iterdir()))

    def make(work):
        with say.step(f"building NVIDIA {version} for {kernel} (about 5 minutes on 2 cores)"):
            _build_driver(work, system, version, kernel)

    return cache.entry("modules", f"{version}-{name}", make)


def fakegpu(system, kernel=None):
    kernel = kernel or system.kernel

    def make(work):
        tree = work / "tree"
        tree.mkdir()
        for name in ("fakegpu.c", "Kbuild"):
            shutil.copy(GUEST / name, tree)
        _kbuild(system, kernel, tree, work / "build.log")
        _strip(tree / "fakegpu.ko", work)
        shutil.rmtree(tree)

    name = cache.key(system.compiler, _header_key(kernel), GUEST / "fakegpu.c", GUEST / "Kbuild")
    return cache.entry("modules", f"fakegpu-{name}", make) / "fakegpu.ko"
