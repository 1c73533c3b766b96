# SPDX-License-Identifier: Apache-2.0
"""Newer modules of the loaded version, with the same source, are imported. A swap to that version reloads the
driver, because modules that were never loaded could fail at the next boot. It is interrupted at its records.

After each fault the host has one working driver, and boots modules that were loaded and validated."""
import json
import os
import shutil

import one_version
import tap
from crash import Case, Recording, check_crashes, check_errors, copy, restore
from driver_files import DEPENDS, module
from fake_host import OLD, FakeHost, prepare
from one_version import mixture

SWAP = 7  # number of the operation, after five imports and the first load
NO_RETURN = "autoload.unblock"
SELECTED = "/var/lib/gpuhost/driver/selected"


def selected(host):
    return json.loads(host.read(f"{SELECTED}/{host.kernel}"))["modules"]


def loaded_sets(host):
    """Returns the digests of the sets whose modules are in the kernel."""
    return {host.read(f"/sys/module/{name}/fake-path").split("/")[-2] for name in host.loaded()}


def rebuild(host):
    """Imports modules that differ from the loaded ones only in their code. Returns the digest of the loaded set."""
    directory = os.path.join(host.scratch, "rebuilt")
    os.makedirs(directory)
    for name in DEPENDS:
        with open(os.path.join(directory, f"{name}.ko"), "wb") as file:
            file.write(module(name, OLD) + bytes(16))
    host.start_daemon()
    host.settle()
    host.ctl("driver", "import", *(os.path.join(directory, name) for name in sorted(os.listdir(directory))), check=0)
    host.kill_daemon()
    return selected(host)


def faults(before, boots):
    """A boot loads the selected modules. If these are the newer ones, an undo selects the others, and unloads nothing."""
    def check(host, outcomes):
        wrong, _ = [], one_version.state(host)
        end = host.journal(SWAP)[-1]
        outcome = end.get("outcome")
        if end.get("type") != "end" or outcome not in outcomes:
            wrong.append(f"outcome is {outcome}, not one of {outcomes}: {end.get('error')}")
        if (selected(host) != before) != (outcome == "committed"):
            wrong.append(f"{selected(host)} is selected after the outcome {outcome}")
        if host.loaded() != dict.fromkeys(("nvidia", "nvidia_modeset", "nvidia_drm", "nvidia_uvm"), OLD):
            wrong.append(f"loaded is {host.loaded()}")
        if (loaded := loaded_sets(host)) != {selected(host)} and (host.boots == boots or len(loaded) > 1):
            wrong.append(f"modules of {loaded} are loaded, and those of {selected(host)} are selected")
        wrong += mixture(host)
        if (state := one_version.state(host)) != "idle":
            wrong.append(f"state is {state}: {host.ctl('apply', '--dry-run').stdout}")
        return wrong
    return check


def outcomes(recording, moment, power_cut, earlier):
    """A swap ends as recorded, but a reboot undoes it before the point of no return."""
    begun = recording.moments[:recording.moments.index(moment) + (not earlier)]
    if any(each.where == f"apply {NO_RETURN} before" for each in begun):
        return ("committed",)
    return ("rolled-back", "cancelled") if power_cut and not moment.ended else ("committed",)


def check_reload(t, host, before):
    host.start_daemon()
    host.settle()
    t.equal(host.ctl("apply", "--dry-run", check=0).stdout, f"Nothing to do: driver {OLD} is loaded and selected\n", "apply keeps the loaded modules")
    plan = host.ctl("driver", "swap", OLD, "--dry-run", check=0).stdout
    t.ok(plan.startswith(f"reload driver {OLD}\n") and "are of another import or build than those to select" in plan, "a dry run says that the driver is reloaded, and why", plan)
    done = host.ctl("driver", "swap", OLD, check=0).stdout
    moved = [output for output in json.loads(host.ctl("operation", "show", "--json", check=0).stdout)["outputs"] if output and "unloaded" in output]
    t.equal([(len(output["unloaded"]), len(output["loaded"])) for output in moved], [(4, 0), (0, 4)], "all modules are unloaded, then loaded")
    t.ok(selected(host) != before and f"OK: driver {OLD}" in done, "the reloaded modules are selected", done)
    again = host.ctl("driver", "swap", OLD, check=0).stdout
    t.ok(again.startswith("Nothing to do"), "a second swap has nothing to do", again)
    host.kill_daemon()


def check_boot_with_holder(t, case, recording):
    """After a power cut, the boot has loaded the modules that the undo would restore, and a program uses them."""
    host = case.host
    moment = next(one for one in recording.moments if (one.where, one.count) == ("apply modules.converge after", 2))
    restore(host, moment.tree)
    host.boot()
    shutil.rmtree(host.path("/dev"))
    copy(os.path.join(moment.tree, "dev"), host.path("/dev"))  # the boot has made the device nodes
    host.add_process(812, "Xorg", "display-manager.service")
    host.start_daemon()
    host.settle()
    wrong = case.faults(host, ("rolled-back",))
    t.ok(not wrong and os.path.exists(host.path("/proc/812")), "a program that uses the driver since the boot stays, and obstructs nothing", *wrong)
    host.kill_daemon()


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        prepare(host)
        before = rebuild(host)
        case = Case(host, SWAP, ("driver", "swap", OLD), faults(before, host.boots), outcomes, NO_RETURN, sample=12)
        check_reload(t, host, before)
        recording = Recording(case, "forward")
        t.equal(recording.outcome, "committed", "the recorded reload is committed")
        check_boot_with_holder(t, case, recording)
        check_crashes(t, case, recording, "reload")
        check_errors(t, case, recording, "reload")
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
