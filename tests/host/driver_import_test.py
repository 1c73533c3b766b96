# SPDX-License-Identifier: Apache-2.0
"""Driver imports: RPM packages, .run files by makeself and NVIDIA's variant, source directories, hostile
files.

The programs are real, the host is a directory."""
import os
import shutil

import tap
from driver_files import DEPENDS, KERNEL, library, module
from fake_host import NEW, FakeHost, read
from run_files import PACKINGS, makeself, nvidias, write, write_tree
from toolkit_files import RPM, rpm, write_bytes

BAD_CONTENT, UNSUPPORTED = 9, 10


def inside(host, path):
    return os.path.join(host.scratch, path)


def driver(host, version=NEW):
    """Returns the version's document in driver list, or {} if the store lacks it."""
    for one in host.json("driver", "list")["versions"]:
        if one["version"] == version:
            return one
    return {}


def remove(host, version=NEW):
    if driver(host, version):
        host.ctl("driver", "remove", version, check=0)


def files(host, driver_set):
    top = host.path(driver_set["path"])
    return sorted(os.path.relpath(os.path.join(directory, name), top)
                  for directory, _, names in os.walk(top) for name in names)


def check_rpms(t, host):
    def package(name, content, architecture=RPM):
        return write_bytes(inside(host, f"rpms/{name}-{NEW}-1.{architecture}.rpm"), rpm(name, NEW, content, architecture))
    packages = [
        package("nvidia-driver-cuda-libs", {f"usr/lib64/libcuda.so.{NEW}": (library("libcuda.so.1"), 0o755)}),
        package("libnvidia-ml", {f"usr/lib64/libnvidia-ml.so.{NEW}": (library("libnvidia-ml.so.1"), 0o755)}),
        package("nvidia-driver-cuda", {"usr/bin/nvidia-smi": (f"#!/bin/sh\necho {NEW}\n".encode(), 0o755)}),
        package("nvidia-kmod-common", {f"usr/lib/firmware/nvidia/{NEW}/gsp_ga10x.bin": (NEW.encode(), 0o644)}, "noarch"),
        package("kmod-nvidia-open-dkms", {f"usr/src/nvidia-{NEW}/dkms.conf": (b"PACKAGE_NAME=nvidia\n", 0o644)}, "noarch"),
        package("kmod-nvidia-open", {f"lib/modules/{KERNEL}/extra/nvidia/{name}.ko": (module(name, NEW), 0o644)
                                     for name in DEPENDS})]
    other = package("nvidia-driver-cuda-libs", {f"usr/lib/libcuda.so.{NEW}": (b"32 bits", 0o755)}, "i686")
    run = host.ctl("driver", "import", *packages, other)
    t.ok(run.returncode == BAD_CONTENT and f"{os.path.basename(other)}: is for i686" in run.stderr and not driver(host),
         "an import with a 32-bit RPM is refused", run.returncode, run.stderr)
    os.remove(other)
    run = host.ctl("driver", "import", inside(host, "rpms"))
    found = driver(host)
    t.ok(run.returncode == 0 and len(found["userland"]) == 1 and [one["flavour"] for one in found["sources"]] == ["open"]
         and [one["kernel"] for one in found["modules"]] == [KERNEL],
         "RPMs become a userland, a source and modules", run.stderr, found)
    run = host.ctl("driver", "swap", NEW)
    t.ok(run.returncode == 0 and read(host.path("/sys/module/nvidia/version")).strip() == NEW,
         "a swap loads a driver imported from RPMs", run.stderr)


KEPT = ["LICENSE", "gsp_ga10x.bin", "libcuda.so", "libcuda.so.1", f"libcuda.so.1.2.3", "libnvidia-ml.so", "libnvidia-ml.so.1",
        "libnvidia-ml.so.1.2.3", "manifest.json", "nvidia-persistenced", "nvidia-smi"]


def check_comes_in(t, host, version, path, what, tree):
    run = host.ctl("driver", "import", path)
    found = driver(host, version)
    names = sorted(os.path.basename(name).replace(version, "1.2.3") for one in found.get("userland", []) for name in files(host, one))
    flavours = sorted((one["flavour"], one["file"]) for one in found.get("sources", []))
    t.ok(run.returncode == 0 and names == KEPT
         and flavours == [("open", f"nvidia-open-{version}.tar.zst"), ("proprietary", f"nvidia-{version}.tar.zst")],
         f"{what} is imported with userland and both sources", run.returncode, run.stderr, names, flavours)
    t.ok(not os.path.exists(tree + ".was-run"), f"importing {what} runs nothing in it")
    t.equal([one["closed_gpus"] for one in found.get("userland", [])], [["10de:1db6"]],
            f"importing {what} finds GPUs without open modules")
    sources = {one["flavour"]: one["digest"] for one in found.get("sources", [])}
    remove(host, version)
    return sources


def check_runs(t, host, version):
    tree = write_tree(inside(host, "tree"), version)
    ways = {"NVIDIA's makeself": [], "makeself": []}
    for packing in PACKINGS:
        if not shutil.which(PACKINGS[packing][0]):
            t.skip(f"a .run by NVIDIA's makeself ({packing}) is imported", f"no {packing}")
            continue
        path = write_bytes(inside(host, "nvidia.run"), nvidias(tree, version, packing))
        ways["NVIDIA's makeself"].append(check_comes_in(t, host, version, path, f"a .run by NVIDIA's makeself ({packing})", tree))
    for packing in PACKINGS:
        if not shutil.which("makeself"):
            t.skip(f"a .run by makeself --{packing} is imported", "no makeself")
            continue
        path = makeself(tree, inside(host, "own.run"), version, "--" + packing, *(["--sha256"] if packing == "xz" else []))
        ways["makeself"].append(check_comes_in(t, host, version, path, f"a .run by makeself --{packing}", tree))
    for way, digests in ways.items():
        t.ok(all(one == digests[0] and len(one) == 2 for one in digests),
             f"sources of {way} are equal for all compressions", digests)


def check_directories(t, host, version):
    """Imports source directories, as in /usr/src, in a .run and in the open source release."""
    for kernel, license_text, flavour in (("kernel", "NVIDIA", "proprietary"), ("kernel-open", "Dual MIT/GPL", "open")):
        tree = os.path.join(write_tree(inside(host, "tree"), version), kernel)
        write(f"{tree}/nvidia/nv.c", f'MODULE_LICENSE("{license_text}");\n')
        write(f"{tree}/dkms.conf", f'PACKAGE_NAME="nvidia"\nPACKAGE_VERSION="{version}"\n')
        run = host.ctl("driver", "import", tree)
        found = driver(host, version)
        t.ok(run.returncode == 0 and [one["flavour"] for one in found["sources"]] == [flavour] and not found["userland"],
             f"a directory with {flavour} source becomes a source", run.stderr, found)
        first = found.get("sources")
        os.utime(f"{tree}/Makefile", (1, 1))
        host.ctl("driver", "import", tree, check=0)
        t.equal([one["digest"] for one in driver(host, version)["sources"]], [one["digest"] for one in first],
                f"file times do not change the {flavour} source's digest")
        remove(host, version)
    write(f"{tree}/nvidia/nv.o", "built")
    run = host.ctl("driver", "import", tree)
    t.ok(run.returncode == BAD_CONTENT and "is the result of a build\nHint: Run 'make clean'" in run.stderr and not driver(host, version),
         "a source directory with built objects is refused", run.returncode, run.stderr)


def check_hostile(t, host, version):
    tree = write_tree(inside(host, "tree"), version)
    good = nvidias(tree, version)
    head = good.index(b"skip=")
    crc, md5 = good.index(b"CRCsum=") + 7, good.index(b"MD5=") + 4
    flip = lambda at: good[:at] + (b"1" if good[at:at + 1] != b"1" else b"2") + good[at + 1:]
    no_sums = lambda data: data[:crc] + b"0\nMD5=" + b"0" * 32 + b"\n" + data[head:]
    write(f"{tree}/evil", "x")
    climbing = nvidias(tree, version, "gzip", tar_options=["-P", "--transform=s,^./evil$,../../evil,"])
    cases = (("a wrong CRC", flip(crc), BAD_CONTENT, "CRC mismatch"),
             ("a wrong MD5", no_sums(good)[:crc] + b"0\nMD5=" + flip(md5)[md5:], BAD_CONTENT, "MD5 mismatch"),
             ("a changed byte", flip(len(good) - 40), BAD_CONTENT, "CRC mismatch"),
             ("a truncated file", good[:-100], BAD_CONTENT, "CRC mismatch"),
             ("a truncated file without checksums", no_sums(good[:-100]), BAD_CONTENT, "nvidia.run: "),
             ("an archive offset past the end", no_sums(good).replace(b"skip=", b"skip=9999", 1), BAD_CONTENT, "after the file's end"),
             ("a header without end", good[:head] + b"#" * (5 << 20) + good[head:], UNSUPPORTED, "where its archive begins"),
             ("a command instead of an offset", no_sums(good).replace(b"skip=", b"skip=`id`", 1), BAD_CONTENT, "unreadable value"),
             ("a path with '..'", climbing, BAD_CONTENT, "points outside the archive"),
             ("not made by makeself", b"#!/bin/sh\nrm -rf /\n", UNSUPPORTED, "where its archive begins"))
    for name, data, status, message in cases:
        run = host.ctl("driver", "import", write_bytes(inside(host, "nvidia.run"), data))
        t.ok(run.returncode == status and message in run.stderr and not driver(host, version),
             f"a .run is refused: {name}", run.returncode, run.stderr)
    t.ok(not os.path.exists(tree + ".was-run"), "refused .run files are not executed")


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        host.install()
        host.start_daemon()
        host.settle()
        check_rpms(t, host)
        check_runs(t, host, "570.86.10")
        check_directories(t, host, "570.86.12")
        check_hostile(t, host, "570.86.15")
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
