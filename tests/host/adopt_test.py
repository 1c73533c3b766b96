# SPDX-License-Identifier: Apache-2.0
"""A driver that was installed otherwise: found and named, copied into the store, left as it is."""
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
    """As dpkg records it."""
    database = host.path("/var/lib/dpkg")
    write(f"{database}/info/{package}.list", "/.\n" + "".join(path + "\n" for path in paths))
    with open(f"{database}/status", "a", encoding="utf-8") as file:
        file.write(f"Package: {package}\nStatus: install ok installed\nMaintainer: nobody\nArchitecture: all\nVersion: 1\nDescription: fake\n\n")


def install(host):
    """As Debian's packages leave it: modules by another name, programs and libraries behind alternatives."""
    os.makedirs(host.path("/var/lib/dpkg/updates"))
    modules = [f"{DKMS}/{name.replace('nvidia', 'nvidia-current')}.ko" for name in DEPENDS]
    for name, path in zip(DEPENDS, modules):
        put(host, path, module(name, VERSION))
    peermem = f"{DKMS}/nvidia-current-peermem.ko"  # its licence is not the others'
    put(host, peermem, module("nvidia-peermem", VERSION, flavour="proprietary"))
    others = [f"{DKMS}/{name.replace('nvidia', 'nvidia-current-open')}.ko" for name in ("nvidia-uvm", "nvidia-drm")]  # of another package
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
    write(host.path("/usr/lib/systemd/system/nvidia-persistenced.service"), "[Service]\n")
    write(host.path(f"/var/lib/dkms/nvidia-current/{VERSION}/source"), "")
    write(host.path("/etc/apt/apt.conf.d/20auto-upgrades"), 'APT::Periodic::Unattended-Upgrade "1";\n')
    source = f"/usr/src/nvidia-current-{VERSION}/dkms.conf"
    write(host.path(source), "PACKAGE_NAME=nvidia-current\n")
    own(host, "nvidia-kernel-dkms", [source])
    own(host, "libcuda1", [f"{LIBRARIES}/libcuda.so.{VERSION}"])
    own(host, "libnvidia-ml1", [f"{LIBRARIES}/libnvidia-ml.so.{VERSION}"])
    own(host, "nvidia-smi", ["/usr/lib/nvidia/current/nvidia-smi"])
    own(host, "firmware-nvidia-gsp", [f"/usr/lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin"])  # as merged /usr has it


def adopt(host, *more):
    return host.ctl("driver", "adopt", "--root", host.root, *more)


def check_none(t, host):
    none = adopt(host, "--dry-run")
    t.equal(none.returncode, 4, "what gpuhostd itself runs is nobody else's driver")


def check_found(t, host):
    install(host)
    said = adopt(host, "--dry-run")
    t.equal(said.returncode, 0, "a driver of Debian's packages is found")
    for what, words in (("its version", VERSION), ("its packages", "firmware-nvidia-gsp libcuda1 libnvidia-ml1 nvidia-kernel-dkms nvidia-smi"),
                        ("where its modules are", DKMS), ("what DKMS has of it", "/var/lib/dkms/nvidia-current"),
                        ("the rule that loads it", "/etc/modprobe.d/nvidia.conf"), ("its service", "nvidia-persistenced.service"),
                        ("unattended upgrades", "unattended-upgrades may replace"), ("how to leave it alone", "Version=preinstalled"),
                        ("how it goes", "apt-get remove firmware-nvidia-gsp libcuda1"), ("how it is taken over", f"driver swap {VERSION}")):
        t.ok(words in said.stdout, f"it says {what}", said.stdout)
    document = json.loads(adopt(host, "--dry-run", "--json").stdout)
    t.equal((document["version"], document["flavour"], document["loaded"]), (VERSION, "open", False), "the document says the same")
    t.equal([path for path in document["owners"]["unowned"] if path.endswith(".ko")], sorted(document["modules"]), "DKMS built what is of no package")
    t.equal(len(document["modules"]), len(DEPENDS) + 1, "and of two flavours the one that nvidia's own file is of")
    versions = [one["version"] for one in host.json("driver", "list")["versions"]]
    t.ok(VERSION not in versions, "nothing was copied")


def check_adopted(t, host):
    before = host.loaded()
    said = adopt(host)
    t.equal(said.returncode, 0, "it is copied into the store")
    t.ok("apt-get remove" in said.stdout, "and what comes next is said", said.stdout + said.stderr)
    found = next(one for one in host.json("driver", "list")["versions"] if one["version"] == VERSION)
    names = sorted(one["file"] for one in found["modules"][0]["modules"])
    t.equal(names, ["nvidia-drm.ko", "nvidia-modeset.ko", "nvidia-peermem.ko", "nvidia-uvm.ko", "nvidia.ko"], "modules have NVIDIA's own names there")
    userland = host.path(found["userland"][0]["path"])
    t.equal(os.readlink(f"{userland}/lib/libcuda.so.1"), f"libcuda.so.{VERSION}", "libraries are found by their sonames")
    t.ok(os.access(f"{userland}/bin/nvidia-smi", os.X_OK) and found["userland"][0]["firmware"] == ["gsp_ga10x.bin"], "with programs and firmware")
    t.equal(found["sources"], [], "what it came of is no source to build from")
    t.equal(host.loaded(), before, "what runs did not change")
    again = adopt(host)
    t.equal((again.returncode, len(next(one for one in host.json("driver", "list")["versions"] if one["version"] == VERSION)["modules"])), (0, 1),
            "a second time it is the same set")
    refused = host.ctl("driver", "swap", VERSION)
    t.equal(refused.returncode, 5, "it is not run from the store while modprobe would load the other one")
    t.ok("/etc/modprobe.d/nvidia.conf" in refused.stderr, "by the rule's name", refused.stderr)
    t.ok("adopt --dry-run" in refused.stderr, "and says who knows how it goes", refused.stderr)
    listed = [path for problem in host.json("operation", "show")["problems"] for path in (problem.get("details") or {}).get("paths", [])]
    t.equal(listed, ["/etc/modprobe.d/nvidia.conf"], "its document names each file")


def check_taken_over(t, host):
    os.unlink(host.path("/etc/modprobe.d/nvidia.conf"))
    shutil.rmtree(host.path("/var/lib/dpkg"))
    said = adopt(host, "--dry-run")
    t.ok(f"driver adopt --files --root={host.root} | xargs" in said.stdout, "where no package takes it away there is a list to do it by", said.stdout)
    os.symlink("libcuda.so.1", host.path(f"{LIBRARIES}/libcuda.so"))
    write(host.path(f"{LIBRARIES}/libc.so.6"), "")
    os.symlink("libc.so.6", host.path(f"{LIBRARIES}/libc.so"))
    other = "/usr/lib/libcuda.so." + VERSION  # for 32 bits
    write(host.path(other), "")
    os.rename(host.path("/usr/lib/nvidia"), host.path("/opt-nvidia"))
    os.symlink("/opt-nvidia", host.path("/usr/lib/nvidia"))  # from outside it leads elsewhere
    said = adopt(host, "--files")
    files = said.stdout.splitlines()
    real = os.path.realpath(host.root)
    t.ok(files and all(path.startswith(real + "/") for path in files), "by the names that this host has for them", said.stdout)
    wanted = [f"{LIBRARIES}/libcuda.so.{VERSION}", f"{LIBRARIES}/libcuda.so.1", f"{LIBRARIES}/libcuda.so", other]
    t.ok({real + path for path in wanted} <= set(files), "with all links to it, and its libraries for other architectures", said.stdout)
    t.ok(real + "/opt-nvidia/current/nvidia-smi" in files, "behind links that from here lead elsewhere, too", said.stdout)
    t.ok(not any("libc.so" in path for path in files), "and nothing else", said.stdout)
    t.equal(len(files), len(set(files)), "each once")
    t.equal(adopt(host, "--files", "--json").returncode, 2, "which is one answer, not two")
    odd = f"/lib/firmware/nvidia/{VERSION}/a\nb.bin"
    write(host.path(odd), "")
    t.equal(adopt(host, "--files").returncode, 9, "nor a list in which a name would be two")
    os.unlink(host.path(odd))
    for path in files:
        os.unlink(path)
    shutil.rmtree(host.path(DKMS))  # a set of the other flavour
    host.ctl("driver", "swap", VERSION, check=0)
    t.equal(host.loaded().get("nvidia"), VERSION, "with the packages gone gpuhostd runs it")
    firmware = host.path(f"/lib/firmware/nvidia/{VERSION}")
    t.ok(os.path.islink(firmware) and host.read(os.readlink(firmware) + "/gsp_ga10x.bin") == "firmware",
         "with its firmware, in place of the directory that was left")
    t.equal(adopt(host, "--dry-run").returncode, 4, "and there is no other")


def check_ambiguous(t, host):
    for name, version in (("one", "470.1.1"), ("two", "470.2.2")):
        put(host, f"/lib/modules/{KERNEL}/extra/{name}/nvidia.ko", module("nvidia", version))
    with open(host.path(f"/lib/modules/{KERNEL}/modules.dep"), "a", encoding="utf-8") as file:
        file.write("extra/one/nvidia.ko:\nextra/two/nvidia.ko:\n")
    several = adopt(host, "--dry-run")
    t.equal(several.returncode, 9, "of several drivers, none of which runs, nobody knows which one boots")
    t.ok("extra/one/nvidia.ko" in several.stderr and "extra/two/nvidia.ko" in several.stderr, "so they are named", several.stderr)


run_checks(check_none, check_found, check_adopted, check_taken_over, check_ambiguous)
