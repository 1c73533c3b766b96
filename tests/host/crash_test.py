# SPDX-License-Identifier: Apache-2.0
"""A driver swap, ended at every record of its journal by an error, by SIGKILL of worker and daemon, by a hang, and by a power
cut (crash.py).

Whatever happens, the host ends with one working driver, the old or the new: what is loaded, what is selected and what
the files lead to and containers are told of are the same, the door is open, clients run, the kernel's images are whole ones,
and nothing waits for a person.
"""
import json
import os
import time

import tap
from crash import Case, Recording, check_crashes, check_deaths, check_errors, check_hangs, listing
from driver_files import KERNEL
from fake_host import CLIENT, NEW, OLD, FakeHost, prepare
from initramfs_files import CLEAN, DRACUT, ENTRY, IMAGE, MAKE, MAKE_ENTRY, STALE, put, tool

SWAP = 6  # the operation, after four imports and the first load


def faults(host, outcomes):
    """What is not as it must be once the host has settled."""
    wrong = []
    end = host.journal(SWAP)[-1]
    outcome = end.get("outcome")
    if end.get("type") != "end" or outcome not in outcomes:
        wrong.append(f"outcome is {outcome}, not one of {outcomes}: {end.get('error')}")
    version = NEW if outcome == "committed" else OLD
    modules = {"nvidia", "nvidia_modeset", "nvidia_drm", "nvidia_uvm"}
    if host.loaded() != dict.fromkeys(modules, version):
        wrong.append(f"loaded is {host.loaded()}, not {version}")
    leads = {
        f"/lib/modules/{KERNEL}/updates/gpuhost/nvidia.ko": version,
        f"/lib/firmware/nvidia/{version}/gsp_ga10x.bin": version,
        "/usr/bin/nvidia-smi": version,
    }
    for path, wanted in leads.items():
        found = follow(host, path)
        if wanted.encode() not in found:
            wrong.append(f"{path} does not lead to {wanted}: {found[:80]}")
    selected = json.loads(host.read(f"/var/lib/gpuhost/driver/selected/{KERNEL}") or "{}").get("version")
    if selected != version:
        wrong.append(f"selected is {selected}, not {version}")
    if any("gpuhost" in name for name in listing(host, "/run/modprobe.d")):
        wrong.append("the door is shut")
    if not host.read(f"/sys/fs/cgroup/system.slice/{CLIENT}/cgroup.procs"):
        wrong.append(f"{CLIENT} does not run")
    for path in ("/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"):
        if not os.path.exists(host.path(path)):
            wrong.append(f"{path} is missing")
    for path in ("/run/gpuhost/jobs", "/var/lib/gpuhost/staging"):
        if listing(host, path):
            wrong.append(f"left in {path}: {listing(host, path)}")
    for path in (IMAGE, ENTRY):
        with open(host.path(path), "rb") as file:
            image = file.read()
        if image != CLEAN and (version == NEW or image != STALE):
            wrong.append(f"{path} of {len(image)} bytes is no image, or has another driver in it")
        directory, name = os.path.split(path)
        if listing(host, directory) != [name]:
            wrong.append(f"left in {directory}: {listing(host, directory)}")
    if host.told() != version:
        wrong.append(f"containers are told of {host.told()}, not {version}")
    state = host.json("status")["state"]
    if state != "idle":
        wrong.append(f"state is {state}: {host.ctl('plan').stdout}")
    return wrong


def follow(host, path):
    """What a path of the tree leads to; absolute links are the tree's own."""
    resolved, parts = host.root, path.strip("/").split("/")
    for _ in range(200):
        if not parts:
            break
        candidate = os.path.join(resolved, parts.pop(0))
        if os.path.islink(candidate):
            target = os.readlink(candidate)
            if target.startswith("/"):
                resolved = host.root
            parts = target.strip("/").split("/") + parts
        else:
            resolved = os.path.normpath(candidate)
    try:
        with open(resolved, "rb") as file:
            return file.read()
    except OSError as error:
        return str(error).encode()


def outcomes(recording, moment, power_cut):
    """In the same boot the swap goes on to where it went. After a reboot a driver whose swap was not done and verified is
    never what the host stays with."""
    return ("rolled-back", "cancelled") if power_cut and not moment.ended else (recording.outcome,)


def main():
    t = tap.Tap()
    began = time.monotonic()
    host = FakeHost()
    try:
        prepare(host)
        put(host, IMAGE, STALE)
        put(host, ENTRY, STALE)
        put(host, "/next", CLEAN)
        tool(host, MAKE)
        tool(host, MAKE_ENTRY, DRACUT)
        case = Case(host, SWAP, ("driver", "swap", NEW), faults, outcomes)
        forward = Recording(case, "forward")
        t.equal(forward.outcome, "committed", "the recorded swap is committed")
        back = Recording(case, "back", failing=forward.moments[-2])
        t.equal(back.outcome, "rolled-back", "the recorded failure of its last step is rolled back")
        back.moments = [moment for moment in back.moments if moment.where.startswith(("undo", "end"))]
        check_crashes(t, case, forward, "forward")
        check_crashes(t, case, back, "back")
        check_errors(t, case, forward, "forward")
        check_hangs(t, case, forward, "forward")
        # What could not be undone in time is put right when the host converges, and the operation says that it failed.
        check_hangs(t, case, back, "back", failing=forward.moments[-2], outcomes=("rolled-back", "failed"))
        check_deaths(t, case, "worker")
        check_deaths(t, case, "daemon")
        records = f"{len(forward.records)} records forward, {len(back.records)} with the way back"
        print(f"# {records}, {t.count} cases, {time.monotonic() - began:.0f} s")
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
