# SPDX-License-Identifier: Apache-2.0
"""A minimal NVIDIA container toolkit in packages that gpuhostd accepts, and in some that it must refuse."""
import gzip
import io
import os
import platform
import struct
import tarfile

from driver_files import ET_DYN, TRIPLET, elf
from programs import run

DEB = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
RPM = platform.machine()
OTHER_DEB = {"amd64": "arm64", "arm64": "amd64"}[DEB]
OTHER_RPM = {"x86_64": "aarch64", "aarch64": "x86_64"}[RPM]
PROGRAM = "usr/bin/nvidia-container-runtime"
CONFIG = "/etc/nvidia-container-runtime/config.toml"
STORE = "/var/lib/gpuhost/toolkit"
CURRENT = STORE + "/current"


def program(version, name):
    return elf(ET_DYN, [(".comment", 1, 0, f"{name} {version}".encode())])


def base_files(version):
    """Returns {path: (content, mode)} of nvidia-container-toolkit-base."""
    names = ("nvidia-container-runtime", "nvidia-container-runtime.cdi", "nvidia-ctk", "nvidia-cdi-hook")
    files = {f"usr/bin/{name}": (program(version, name), 0o755) for name in names}
    files["usr/lib/systemd/system/nvidia-cdi-refresh.service"] = (b"[Service]\n", 0o644)
    files["usr/share/doc/nvidia-container-toolkit-base/copyright"] = (b"Apache-2.0\n", 0o644)
    return files


def library_files(version, directory=f"usr/lib/{TRIPLET}"):
    """Returns the files of libnvidia-container1 and its tools. The value of a link is its target."""
    return {f"{directory}/libnvidia-container.so.{version}": (program(version, "libnvidia-container"), 0o644),
            f"{directory}/libnvidia-container.so.1": f"libnvidia-container.so.{version}",
            f"{directory}/libnvidia-container-go.so.{version}": (program(version, "go"), 0o644),
            "usr/bin/nvidia-container-cli": (program(version, "nvidia-container-cli"), 0o4755)}


def tar(files, mode="w:gz", prefix="./"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path if path.startswith("/") else prefix + path)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size, member.mode = len(content[0]), content[1]
                archive.addfile(member, io.BytesIO(content[0]))
    return out.getvalue()


def deb(package, version, files, architecture=DEB):
    control = f"Package: {package}\nVersion: {version}-1\nArchitecture: {architecture}\nDescription: fake\n"
    out = b"!<arch>\n"
    for name, content in (("debian-binary", b"2.0\n"), ("control.tar.gz", tar({"control": (control.encode(), 0o644)})), ("data.tar.gz", tar(files))):
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content
        out += b"\n" * (len(content) % 2)
    return out


def cpio(files):
    """Returns a cpio archive in newc format, as rpm writes it."""
    out = b""
    for number, (path, content) in enumerate([*files.items(), ("TRAILER!!!", (b"", 0))], 1):
        mode = 0o120777 if isinstance(content, str) else 0o100000 | content[1]
        data = content.encode() if isinstance(content, str) else content[0]
        name = (path if path == "TRAILER!!!" or path.startswith("/") else "./" + path).encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        out += bytes(-len(out) % 4) + data
        out += bytes(-len(out) % 4)
    return out


def rpm_header(texts):
    store, index = b"", b""
    for tag, text in texts.items():
        index += struct.pack(">IIII", tag, 6, len(store), 1)
        store += text.encode() + b"\0"
    return b"\x8e\xad\xe8\x01" + bytes(4) + struct.pack(">II", len(texts), len(store)) + index + store


def rpm(package, version, files, architecture=RPM, release="1"):
    lead = b"\xed\xab\xee\xdb" + bytes(92)
    signatures = rpm_header({1000: "x"})
    signatures += bytes(-(len(lead) + len(signatures)) % 8)
    return lead + signatures + rpm_header({1000: package, 1001: version, 1002: release, 1022: architecture}) + gzip.compress(cpio(files))


def write_bytes(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    return path


def write_debs(directory, version):
    """Writes the packages of one version, split as NVIDIA's. Returns their paths."""
    return [write_bytes(f"{directory}/nvidia-container-toolkit-base_{version}-1_{DEB}.deb",
                        deb("nvidia-container-toolkit-base", version, base_files(version))),
            write_bytes(f"{directory}/libnvidia-container_{version}-1_{DEB}.deb",
                        deb("libnvidia-container1", version, library_files(version)))]


def write_rpms(directory, version):
    return [write_bytes(f"{directory}/nvidia-container-toolkit-base-{version}-1.{RPM}.rpm",
                        rpm("nvidia-container-toolkit-base", version, base_files(version))),
            write_bytes(f"{directory}/libnvidia-container1-{version}-1.{RPM}.rpm",
                        rpm("libnvidia-container1", version, library_files(version, "usr/lib64")))]


RPM_SPEC = """Name: nvidia-container-toolkit-base
Version: {version}
Release: 1
Summary: fake
License: none
%description
%install
cp -r {tree}/usr %{{buildroot}}/
%files
/usr/bin/*
"""


def real_package(directory, tool, version):
    """Builds a package with rpmbuild (with zstd, as on Fedora) or dpkg-deb. Returns its path."""
    tree = directory + "/tree"
    write_bytes(f"{tree}/{PROGRAM}", program(version, "nvidia-container-runtime"))
    os.chmod(f"{tree}/{PROGRAM}", 0o755)
    if tool == "dpkg-deb":
        write_bytes(tree + "/DEBIAN/control", f"Package: nvidia-container-toolkit-base\nVersion: {version}-1\nArchitecture: {DEB}\n"
                    "Maintainer: x\nDescription: x\n".encode())
        run(["dpkg-deb", "--root-owner-group", "--build", tree, directory + "/base.deb"], check=True)
        return directory + "/base.deb"
    write_bytes(directory + "/x.spec", RPM_SPEC.format(version=version, tree=tree).encode())
    run(["rpmbuild", "--define", f"_topdir {directory}/top", "--define", "_binary_payload w3.zstdio", "--define", "debug_package %{nil}",
         "--define", "__os_install_post %{nil}", "-bb", directory + "/x.spec"], check=True)
    return f"{directory}/top/RPMS/{RPM}/nvidia-container-toolkit-base-{version}-1.{RPM}.rpm"
