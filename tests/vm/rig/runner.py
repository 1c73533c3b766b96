# SPDX-License-Identifier: Apache-2.0
"""Makes a booted guest from a .deb, with all inputs at /payload."""

import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "host")]
# pylint: disable=wrong-import-position
import image_files  # noqa: E402
import peer_files  # noqa: E402
import toolkit_files  # noqa: E402

from . import accel, guest, image, inputs, modules, payload, say
from .host import Host
from .system import DEBIAN_12

OPTIONS = "fakegpu.gpus=2"
TOOLKITS = ("1.17.9", "1.18.1")  # of NVIDIA's container toolkit; packages with its file names
MADE_HERE = ".check-vm"


def work_directory(keep=None):
    """Returns an empty directory: `keep`, if it is empty or of an earlier run, else a temporary one."""
    if not keep:
        return Path(tempfile.mkdtemp(prefix="gpuhost-vm.", dir="/var/tmp"))
    if keep.exists() and not (keep / MADE_HERE).exists() and any(keep.iterdir()):
        sys.exit(f"{keep}: the directory is not empty and not of an earlier run")
    shutil.rmtree(keep, ignore_errors=True)
    keep.mkdir(parents=True)
    (keep / MADE_HERE).touch()
    return keep


def next_version(deb, work):
    """Makes the same package with a higher version, for an upgrade."""
    tree = work / "next"
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    control = tree / "DEBIAN/control"
    rows = [row + "+next" if row.startswith("Version:") else row for row in control.read_text().splitlines()]
    control.write_text("\n".join(rows) + "\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-b", tree, work / "next.deb"], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return work / "next.deb"


def make_images(directory):
    """Makes an image, the keys of the site that signs it, and the keys that a host uses with its peers."""
    noise = random.Random(535)
    layout = image_files.Layout(directory / "layout")
    layout.tag(layout.add_manifest([noise.randbytes(size) for size in (1000, 100_000, 20_000_000)]), "v1")
    image_files.Site(directory / "site")
    peer_files.Authority(directory / "peers").keys("host")
    return directory


def make_pod(directory, tools):
    """Adds a CRI client and the image of its pods, whose only program prints a version and waits."""
    layout = image_files.Layout(directory / "layout")
    files = {"hold": ((tools / "hold").read_bytes(), 0o755), "version": (b"1\n", 0o644)}
    layout.tag(layout.add_manifest([image_files.pack(files)], command=["/hold"]), "v1")
    shutil.copy(tools / "cri", directory)
    return directory


def make_payload(system, deb, next_deb, work, tools, toolkits=()):
    files = {"gpuhostd.deb": deb, "gpuhostd-next.deb": next_deb}
    for version in system.versions():
        built = modules.driver(system, version)
        files[f"modules/{version}"] = built / "modules"
        files[f"stuckexit/{version}.ko"] = built / "stuckexit.ko"
        for package in inputs.driver(version):
            files[f"debs/{version}/{package.name}"] = package
    files["images"] = make_images(work / "images")
    for version in toolkits:
        toolkit_files.write_debs(work / "toolkit" / version, version)
        files["toolkit"] = work / "toolkit"
    files["containerd.deb"] = inputs.find("containerd").path
    files["headers.deb"] = inputs.find(f"linux-headers-{system.kernel}").path
    if tools:
        files["pod"] = make_pod(work / "pod", tools)
    return payload.make(work / "payload.raw", files)


def first_boot(deb, work, tools=None, server=None, emulated="tcg", former=None, system=DEBIAN_12):
    """With a `former` package that one is installed first, and `deb` is its upgrade."""
    ready = image.guest(system)
    packages = (former, deb) if former else (deb, next_version(deb, work))
    drive = make_payload(system, *packages, work, tools, TOOLKITS if former else ())
    how = accel.choose(ready, emulated)
    disk = guest.create_overlay(work / "disk.qcow2", ready / "disk.raw")
    with say.step(f"booting the guest ({how})"):
        host = Host(ready, disk, work, accel=how, payload=drive, options=OPTIONS, server=server)
        host.system = system
        try:
            host.wait_boot()
            host.wait_until("systemctl is-active -q multi-user.target", 120)
            host.check(payload.MOUNT)
            host.save("fresh")
        except BaseException:
            host.kill()
            raise
    return host
