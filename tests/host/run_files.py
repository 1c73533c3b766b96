# SPDX-License-Identifier: Apache-2.0
"""Minimal .run files of NVIDIA, packed by the real makeself or in the format of NVIDIA's variant."""
import hashlib
import os
import platform
import shutil
import subprocess

from driver_files import library
from programs import run

MACHINE = platform.machine()
PACKINGS = {"gzip": ["gzip", "-c"], "bzip2": ["bzip2", "-c"], "xz": ["xz", "-c"], "zstd": ["zstd", "-qc"], "nocomp": ["cat"]}
SOURCE = {"dkms.conf": "PACKAGE_NAME=nvidia\n", "Makefile": "modules:\n\tfalse\n", "nvidia/nv.c": "int nv;\n"}


def label(version):
    return f"NVIDIA Accelerated Graphics Driver for Linux-{MACHINE} {version}"


def write(path, content, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    os.chmod(path, mode)


def write_tree(directory, version):
    """Writes the archive's content to the directory. Returns its path."""
    shutil.rmtree(directory, ignore_errors=True)
    lines = [label(version), version, "nvidia.ko", "nvidia nvidia-uvm", "", "nvidia", "nvidia.o", "kernel"]

    def add(name, content, kind, mode=0o644):
        write(f"{directory}/{name}", content, mode)
        lines.append(f"{name} {mode:04o} {kind}")

    for name, soname in (("libcuda.so", "libcuda.so.1"), ("libnvidia-ml.so", "libnvidia-ml.so.1")):
        add(f"{name}.{version}", library(soname), "CUDA_LIB NATIVE /", 0o755)
        lines.append(f"{name} 0000 CUDA_SYMLINK NATIVE / {soname}")
        add(f"32/{name}.{version}", b"32 bits", "CUDA_LIB COMPAT32 /", 0o755)
    add("nvidia-smi", f"#!/bin/sh\necho {version}\n", "UTILITY_BINARY", 0o755)
    add("nvidia-persistenced", "#!/bin/sh\n", "UTILITY_BINARY", 0o755)
    add("nvidia-installer", f"#!/bin/sh\ntouch {directory}.was-run\n", "INSTALLER_BINARY", 0o755)
    add("nvidia_drv.so", b"X11", "XMODULE_SHARED_LIB drivers", 0o755)
    add("firmware/gsp_ga10x.bin", version, "FIRMWARE INHERIT_PATH_DEPTH:1")
    add("LICENSE", "theirs\n", "DOCUMENTATION /")
    add("supported-gpus/supported-gpus.json", '{"chips": [{"devid": "0x1DB6"}, {"devid": "0x2330", "features": ["kernelopen"]}]}', "DOCUMENTATION /")
    for kernel in ("kernel", "kernel-open"):
        for name, content in SOURCE.items():
            kind = "DKMS_CONF" if name == "dkms.conf" else "KERNEL_MODULE_SRC"
            add(f"{kernel}/{name}", content, f"{kind} INHERIT_PATH_DEPTH:1")
    write(f"{directory}/.manifest", "\n".join(lines) + "\n")
    return directory


def makeself(tree, path, version, *options, **more):
    """Packs the tree by the real makeself. Returns the file's path."""
    run(["makeself", "--quiet", *options, tree, path, label(version), "./nvidia-installer"], check=True, **more)
    return path


def tar_of(tree, packing, options):
    tar = subprocess.run(["tar", *options, "-C", tree, "-cf", "-", "."], check=True, stdout=subprocess.PIPE).stdout
    return subprocess.run(PACKINGS[packing], check=True, input=tar, stdout=subprocess.PIPE).stdout


def cksum(data):
    return subprocess.run(["cksum"], check=True, input=data, stdout=subprocess.PIPE).stdout.split()[0].decode()


def nvidias(tree, version, packing="zstd", decompressor=b"\x7fELF\nnot a program\n\n", tar_options=()):
    """Returns a file as by makeself 1.6.0-nv: the checksums cover all following bytes, a decompressor
    precedes the archive."""
    script = (f"label=\"{label(version)}\"\nversion_string={version}\npkg_version=1\nscript=./nvidia-installer\n"
              f"targetdir=\"NVIDIA-Linux-{MACHINE}-{version}\"\nscriptargs=\"\"\nkeep=n\nTMPROOT=${{TMPDIR:=/tmp}}\nTARGET_OS=\"Linux\"\n"
              f"TARGET_ARCH=\"{MACHINE}\"\n\ncatDecompress() {{\n    tail -n +${{skip_decompress}} $0\n}}\nexit $res\n").encode()
    before = 6 + script.count(b"\n")
    numbers = f"skip={before + decompressor.count(10) + 1}\nskip_decompress={before + 1}\nsize_decompress={decompressor.count(10)}\n".encode()
    summed = numbers + script + decompressor + tar_of(tree, packing, tar_options)
    return f"#! /bin/sh\nCRCsum={cksum(summed)}\nMD5={hashlib.md5(summed).hexdigest()}\n".encode() + summed
