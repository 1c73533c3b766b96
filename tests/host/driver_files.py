# SPDX-License-Identifier: Apache-2.0
"""Minimal drivers: kernel modules, libraries and Debian packages that gpuhostd accepts as real ones."""
import io
import os
import platform
import struct
import tarfile

KERNEL = "6.1.0-50-amd64"
MACHINE = {"x86_64": 62, "aarch64": 183}[platform.machine()]
TRIPLET = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}[platform.machine()]
DEPENDS = {"nvidia": [], "nvidia-modeset": ["nvidia"], "nvidia-drm": ["nvidia-modeset"], "nvidia-uvm": ["nvidia"]}

SHT_PROGBITS, SHT_STRTAB, SHT_DYNAMIC = 1, 3, 6
ET_REL, ET_DYN = 1, 3
DT_NULL, DT_SONAME = 0, 14


def elf(kind, sections):
    """Returns an ELF file. `sections`: (name, type, link, content); adds the null section and .shstrtab."""
    sections = [("", 0, 0, b"")] + sections + [(".shstrtab", SHT_STRTAB, 0, b"")]
    names, offsets = b"\0", [0]
    for name, _, _, _ in sections[1:]:
        offsets.append(len(names))
        names += name.encode() + b"\0"
    sections[-1] = (".shstrtab", SHT_STRTAB, 0, names)
    body, headers, at = b"", b"", 64
    for (_, section_type, link, content), name in zip(sections, offsets):
        headers += struct.pack("<IIQQQQIIQQ", name, section_type, 0, 0, at if content else 0, len(content), link, 0, 1, 0)
        body += content
        at += len(content)
    pad = -at % 8
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = ident + struct.pack(
        "<HHIQQQIHHHHHH", kind, MACHINE, 1, 0, 0, at + pad, 0, 64, 0, 0, 64, len(sections), len(sections) - 1
    )
    return header + body + bytes(pad) + headers


def module(name, version, kernel=KERNEL, flavour="open"):
    info = {
        "license": "Dual MIT/GPL" if flavour == "open" else "NVIDIA",
        "version": version,
        "srcversion": (name.upper().replace("-", "") + version.replace(".", "") + ("0" if flavour == "open" else "1") * 24)[:24],
        "depends": ",".join(d.replace("-", "_") if d == "nvidia-modeset" else d for d in DEPENDS.get(name, [])),
        "name": name.replace("-", "_"),
        "vermagic": f"{kernel} SMP preempt mod_unload modversions ",
    }
    text = b"".join(f"{key}={value}".encode() + b"\0" for key, value in info.items())
    return elf(ET_REL, [(".modinfo", SHT_PROGBITS, 0, text)])


def library(soname):
    names = b"\0" + soname.encode() + b"\0"
    dynamic = struct.pack("<qQqQ", DT_SONAME, 1, DT_NULL, 0)
    return elf(ET_DYN, [(".dynstr", SHT_STRTAB, 0, names), (".dynamic", SHT_DYNAMIC, 1, dynamic)])


def tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz", preset=0) as archive:
        for path, (content, mode) in files.items():
            member = tarfile.TarInfo("./" + path)
            member.size, member.mode = len(content), mode
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def deb(package, version, files):
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    control = f"Package: {package}\nVersion: {version}-1\nArchitecture: {architecture}\nInstalled-Size: 10\nDescription: fake\n"
    out = b"!<arch>\n"
    for name, content in (
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", tar({"control": (control.encode(), 0o644)})),
        ("data.tar.xz", tar(files)),
    ):
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content
        out += b"\n" * (len(content) % 2)
    return out


def write_driver(directory, version, kernel=KERNEL, flavour="open", nvml=None):
    """Writes the modules and packages of one version. Returns their paths as (modules, packages). `nvml` is the
    content of NVML's library."""
    os.makedirs(directory, exist_ok=True)
    written = []

    def write(name, content):
        path = os.path.join(directory, name)
        with open(path, "wb") as file:
            file.write(content)
        written.append(path)
        return path

    modules = [write(f"{name}.ko", module(name, version, kernel, flavour)) for name in DEPENDS]
    packages = [
        write(f"{package}.deb", deb(package, version, files))
        for package, files in {
            "nvidia-smi": {"usr/bin/nvidia-smi": (f"#!/bin/sh\necho {version}\n".encode(), 0o755)},
            "libnvidia-ml1": {f"usr/lib/{TRIPLET}/libnvidia-ml.so.{version}": (nvml or library("libnvidia-ml.so.1"), 0o644)},
            "libcuda1": {f"usr/lib/{TRIPLET}/libcuda.so.{version}": (library("libcuda.so.1"), 0o644)},
            "firmware-nvidia-gsp": {f"lib/firmware/nvidia/{version}/gsp_ga10x.bin": (version.encode(), 0o644)},
        }.items()
    ]
    return modules, packages
