# SPDX-License-Identifier: Apache-2.0
"""driver adopt: describes a driver that packages installed, and copies it into the store."""
import json
import os
import shutil

from driver_files import DEPENDS, KERNEL, TRIPLET, library, module
from fake_host import run_checks, write

VERSION = "525.147.05"
LIBRARIES = f"/usr/lib/{TRIPLET}/nvidia/current"
DKMS = f"/lib/modules/{KERNEL}/updates/dkms"


def put(host, path, content, mode=0o644):
    os.makedirs(os.path.dirname(host.path(path)), exist_ok=True)
    with open(host.path(path), "wb") as file:
        file.write(content)
    os.chmod(host.path(path), mode)


def own(host, package, paths):
    """Adds a package with these files to dpkg's database."""
    database = host.path("/var/lib/dpkg")
    write(f"{database}/info/{package}.list", "/.\n" + "".join(path + "\n" for path in paths))
    with open(f"{database}/status", "a", encoding="utf-8") as file:
        file.write(f"Package: {package}\nStatus: install ok installed\nMaintainer: nobody\nArchitecture: all\nVersion: 1\nDescription: fake\n\n")


def install(host):
    """Installs a driver as Debian's packages do: renamed modules, programs and libraries as alternatives."""
    os.makedirs(host.path("/var/lib/dpkg/updates"))
    modules = [f"{DKMS}/{name.replace('nvidia', 'nvidia-current')}.ko" for name in DEPENDS]
    for name, path in zip(DEPENDS, modules):
        put(host, path, module(name, VERSION))
    peermem = f"{DKMS}/nvidia-current-peermem.ko"  # the only proprietary module
    put(host, peermem, module("nvidia-peermem", VERSION, flavour="proprietary"))
    others = [f"{DKMS}/{name.replace('nvidia', 'nvidia-current-open')}.ko" for name in ("nvidia-uvm", "nvidia-drm")]  # from another package
    for name, path in zip(("nvidia-uvm", "nvidia-drm"), others):
        put(host, path, module(name, VERSION))
    modules += [peermem, *others]
    index = host.read(f"/lib/modules/{KERNEL}/modules.dep") + "\n"
    write(host.path(f"/lib/modules/{KERNEL}/modules.dep"),
          index + "".join(f"updates/dkms/{os.path.basename(path)}:\n" for path in modules))
    put(host, f"{LIBRARIES}/libcuda.so.{VERSION}", library("libcuda.so.1"))
    put(host, f"{LIBRARIES}/libnvidia-ml.so.{VERSION}", library("libnvidia-ml.so.1"))
    os.symlink(f"libcuda.so.{VERSION}", host.path(f"{LIBRARIES}/libcuda.so.1"))
    put(host, "/usr/lib/nvidia/current/nvidia-smi", b"#!/bin/sh\n", 0o755)
    put(host, f"/lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin", b"firmware")
    write(host.path("/etc/modprobe.d/nvidia.conf"), "install nvidia modprobe -i nvidia-current $CMDLINE_OPTS\n")
    for unit in "/usr/lib/systemd/system/nvidia-persistenced.service", "/etc/systemd/system/nvidia-powerd.service":
        write(host.path(unit), "[Service]\n")
    write(host.path(f"/var/lib/dkms/nvidia-current/{VERSION}/source"), "")
    write(host.path("/etc/apt/apt.conf.d/20auto-upgrades"), 'APT::Periodic::Unattended-Upgrade "1";\n')
    source = f"/usr/src/nvidia-current-{VERSION}/dkms.conf"
    write(host.path(source), "PACKAGE_NAME=nvidia-current\n")
    own(host, "nvidia-kernel-dkms", [source])
    own(host, "libcuda1", [f"{LIBRARIES}/libcuda.so.{VERSION}"])
    own(host, "libnvidia-ml1", [f"{LIBRARIES}/libnvidia-ml.so.{VERSION}"])
    own(host, "nvidia-smi", ["/usr/lib/nvidia/current/nvidia-smi"])
    own(host, "firmware-nvidia-gsp", [f"/usr/lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin"])  # the path with a merged /usr


def adopt(host, *more):
    return host.ctl("driver", "adopt", "--root", host.root, *more)


def check_none(t, host):
    none = adopt(host, "--dry-run")
    t.equal(none.returncode, 4, "a driver of gpuhostd itself cannot be adopted")


def check_found(t, host):
    install(host)
    said = adopt(host, "--dry-run")
    t.equal(said.returncode, 0, "a driver of Debian's packages is found")
    for what, words in (("its version", VERSION), ("its packages", "firmware-nvidia-gsp libcuda1 libnvidia-ml1 nvidia-kernel-dkms nvidia-smi"),
                        ("the directory of its modules", DKMS), ("its DKMS tree", "/var/lib/dkms/nvidia-current"),
                        ("the rule that loads it", "/etc/modprobe.d/nvidia.conf"), ("its service", "nvidia-persistenced.service"),
                        ("how to keep its service", "cp /usr/lib/systemd/system/nvidia-persistenced.service /etc/systemd/system/"),
                        ("unattended upgrades", "unattended-upgrades may replace"), ("how to keep it", "Version=preinstalled"),
                        ("how to remove it", "apt-get remove firmware-nvidia-gsp libcuda1"), ("how to replace it", f"driver swap {VERSION}")):
        t.ok(words in said.stdout, f"adopt --dry-run shows {what}", said.stdout)
    t.ok("cp /etc/" not in said.stdout, "adopt --dry-run copies no unit of the administrator", said.stdout)
    t.ok("nouveau" not in said.stdout, "adopt --dry-run omits nouveau that drives no GPU", said.stdout)
    link = host.path(f"/sys/bus/pci/devices/{host.gpus[0]}/driver")
    bound = os.readlink(link)
    os.unlink(link)
    os.symlink("../../../bus/pci/drivers/nouveau", link)
    t.ok(f"nouveau drives the GPU {host.gpus[0]}" in adopt(host, "--dry-run").stdout, "adopt --dry-run shows the GPU of nouveau")
    os.unlink(link)
    os.symlink(bound, link)
    document = json.loads(adopt(host, "--dry-run", "--json").stdout)
    t.equal((document["version"], document["flavour"], document["loaded"]), (VERSION, "open", False),
            "adopt --json has version, flavour and load state")
    t.equal([path for path in document["owners"]["unowned"] if path.endswith(".ko")], sorted(document["modules"]),
            "modules that DKMS built have no owning package")
    t.equal(len(document["modules"]), len(DEPENDS) + 1, "only modules of nvidia.ko's flavour are selected")
    versions = [one["version"] for one in host.json("driver", "list")["versions"]]
    t.ok(VERSION not in versions, "adopt --dry-run copies nothing into the store")


def check_adopted(t, host):
    before = host.loaded()
    said = adopt(host)
    t.equal(said.returncode, 0, "adopt copies the driver into the store")
    t.ok("apt-get remove" in said.stdout,
         "adopt prints the command that removes the packages", said.stdout + said.stderr)
    found = next(one for one in host.json("driver", "list")["versions"] if one["version"] == VERSION)
    names = sorted(one["file"] for one in found["modules"][0]["modules"])
    t.equal(names, ["nvidia-drm.ko", "nvidia-modeset.ko", "nvidia-peermem.ko", "nvidia-uvm.ko", "nvidia.ko"],
            "modules have NVIDIA's names in the store")
    userland = host.path(found["userland"][0]["path"])
    t.equal(os.readlink(f"{userland}/lib/libcuda.so.1"), f"libcuda.so.{VERSION}",
            "the store links libraries by soname")
    t.ok(os.access(f"{userland}/bin/nvidia-smi", os.X_OK) and found["userland"][0]["firmware"] == ["gsp_ga10x.bin"],
         "adopt copies programs and firmware")
    t.equal(found["sources"], [], "an adopted driver has no module source")
    t.equal(host.loaded(), before, "adopt leaves the loaded modules unchanged")
    again = adopt(host)
    t.equal((again.returncode, len(next(one for one in host.json("driver", "list")["versions"] if one["version"] == VERSION)["modules"])), (0, 1),
            "a second adopt adds no module set")
    refused = host.ctl("driver", "swap", VERSION)
    t.equal(refused.returncode, 5, "a swap is refused while modprobe.d redirects nvidia")
    t.ok("/etc/modprobe.d/nvidia.conf" in refused.stderr,
         "the refused swap names the modprobe.d file", refused.stderr)
    t.ok("adopt --dry-run" in refused.stderr, "the refused swap points to adopt --dry-run", refused.stderr)
    listed = [path for problem in host.json("operation", "show")["problems"] for path in (problem.get("details") or {}).get("paths", [])]
    t.equal(listed, ["/etc/modprobe.d/nvidia.conf"],
            "the refused operation's document lists the modprobe.d file")


def check_taken_over(t, host):
    os.unlink(host.path("/etc/modprobe.d/nvidia.conf"))
    shutil.rmtree(host.path("/var/lib/dpkg"))
    said = adopt(host, "--dry-run")
    t.ok(f"driver adopt --files --root={host.root} | xargs" in said.stdout,
         "without an owning package adopt prints a removal command", said.stdout)
    os.symlink("libcuda.so.1", host.path(f"{LIBRARIES}/libcuda.so"))
    write(host.path(f"{LIBRARIES}/libc.so.6"), "")
    os.symlink("libc.so.6", host.path(f"{LIBRARIES}/libc.so"))
    other = "/usr/lib/libcuda.so." + VERSION  # for 32 bits
    write(host.path(other), "")
    os.rename(host.path("/usr/lib/nvidia"), host.path("/opt-nvidia"))
    os.symlink("/opt-nvidia", host.path("/usr/lib/nvidia"))  # outside the root it points elsewhere
    said = adopt(host, "--files")
    files = said.stdout.splitlines()
    real = os.path.realpath(host.root)
    t.ok(files and all(path.startswith(real + "/") for path in files),
         "adopt --files prints paths below the root", said.stdout)
    wanted = [f"{LIBRARIES}/libcuda.so.{VERSION}", f"{LIBRARIES}/libcuda.so.1", f"{LIBRARIES}/libcuda.so", other]
    t.ok({real + path for path in wanted} <= set(files),
         "adopt --files lists links and 32-bit libraries", said.stdout)
    t.ok(real + "/opt-nvidia/current/nvidia-smi" in files,
         "adopt --files resolves absolute links inside the root", said.stdout)
    t.ok(not any("libc.so" in path for path in files),
         "adopt --files omits files of other software", said.stdout)
    t.equal(len(files), len(set(files)), "adopt --files lists each file once")
    t.equal(adopt(host, "--files", "--json").returncode, 2, "adopt --files with --json is refused")
    odd = f"/lib/firmware/nvidia/{VERSION}/a\nb.bin"
    write(host.path(odd), "")
    t.equal(adopt(host, "--files").returncode, 9, "adopt --files fails on a file name with newline")
    os.unlink(host.path(odd))
    for path in files:
        os.unlink(path)
    shutil.rmtree(host.path(DKMS))  # a set of the other flavour
    host.ctl("driver", "swap", VERSION, check=0)
    t.equal(host.loaded().get("nvidia"), VERSION, "a swap loads the adopted driver after package removal")
    firmware = host.path(f"/lib/firmware/nvidia/{VERSION}")
    t.ok(os.path.islink(firmware) and host.read(os.readlink(firmware) + "/gsp_ga10x.bin") == "firmware",
         "a swap replaces the leftover firmware directory")
    t.equal(adopt(host, "--dry-run").returncode, 4, "an adopted and loaded driver cannot be adopted again")


def check_ambiguous(t, host):
    for name, version in (("one", "470.1.1"), ("two", "470.2.2")):
        put(host, f"/lib/modules/{KERNEL}/extra/{name}/nvidia.ko", module("nvidia", version))
    with open(host.path(f"/lib/modules/{KERNEL}/modules.dep"), "a", encoding="utf-8") as file:
        file.write("extra/one/nvidia.ko:\nextra/two/nvidia.ko:\n")
    several = adopt(host, "--dry-run")
    t.equal(several.returncode, 9, "adopt fails with two candidate drivers, none loaded")
    t.ok("extra/one/nvidia.ko" in several.stderr and "extra/two/nvidia.ko" in several.stderr,
         "the error names both candidate modules", several.stderr)


run_checks(check_none, check_found, check_adopted, check_taken_over, check_ambiguous)
