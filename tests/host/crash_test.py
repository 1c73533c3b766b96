# SPDX-License-Identifier: Apache-2.0
"""A driver swap is interrupted at every record of its journal: by an error, SIGKILL, a hang and a power cut
(crash.py).

After each fault the host has one working driver, the old or the new one. Loaded and selected driver, links
and specifications agree. Autoloading is not blocked, clients run, boot images are complete, and no manual
action is needed.
"""
import os
import time

import one_version
import tap
from crash import Case, Recording, check_crashes, check_deaths, check_errors, check_hangs, listing
from fake_host import CLIENT, NEW, OLD, FakeHost, prepare
from initramfs_files import CLEAN, DRACUT, ENTRY, IMAGE, MAKE, MAKE_ENTRY, STALE, put, tool
from one_version import mixture

SWAP = 6  # number of the operation, after four imports and the first load
NO_RETURN = "autoload.unblock"
LAST = "apply driver.validate after"  # the last gate before it


def faults(host, outcomes):
    """Returns what is wrong after the host has settled."""
    wrong, _ = [], one_version.state(host)
    end = host.journal(SWAP)[-1]
    outcome = end.get("outcome")
    if end.get("type") != "end" or outcome not in outcomes:
        wrong.append(f"outcome is {outcome}, not one of {outcomes}: {end.get('error')}")
    version = NEW if outcome == "committed" else OLD
    modules = {"nvidia", "nvidia_modeset", "nvidia_drm", "nvidia_uvm"}
    if host.loaded() != dict.fromkeys(modules, version):
        wrong.append(f"loaded is {host.loaded()}, not {version}")
    if any("gpuhost" in name for name in listing(host, "/run/modprobe.d")):
        wrong.append("autoloading is blocked")
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
            wrong.append(f"{path} of {len(image)} bytes is not an image, or has another driver")
        directory, name = os.path.split(path)
        if listing(host, directory) != [name]:
            wrong.append(f"left in {directory}: {listing(host, directory)}")
    wrong += mixture(host)
    if (state := one_version.state(host)) != "idle":
        wrong.append(f"state is {state}: {host.ctl('apply', '--dry-run').stdout}")
    return wrong


def outcomes(recording, moment, power_cut, earlier):
    """Returns the outcomes that are right for a swap. Within one boot the swap ends as recorded. After a
    reboot it continues only past the point of no return. The host never keeps an unverified driver."""
    begun = recording.moments[:recording.moments.index(moment) + (not earlier)]
    if recording.outcome == "committed" and any(each.where == f"apply {NO_RETURN} before" for each in begun):
        return ("committed",)
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
        case = Case(host, SWAP, ("driver", "swap", NEW), faults, outcomes, NO_RETURN)
        forward = Recording(case, "forward")
        t.equal(forward.outcome, "committed", "the recorded swap is committed")
        last = next(moment for moment in forward.moments if moment.where == LAST)
        back = Recording(case, "back", failing=last)
        t.equal(back.outcome, "rolled-back", "the recorded swap with a failed validation is rolled back")
        back.moments = [moment for moment in back.moments if moment.where.startswith(("undo", "end"))]
        check_crashes(t, case, forward, "forward")
        check_crashes(t, case, back, "back")
        check_errors(t, case, forward, "forward")
        check_hangs(t, case, forward, "forward")
        check_hangs(t, case, back, "back", failing=last)
        check_deaths(t, case, "worker")
        check_deaths(t, case, "daemon")
        records = f"{len(forward.records)} records forward, {len(back.records)} with the way back"
        print(f"# {records}, {t.count} cases, {time.monotonic() - began:.0f} s")
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
