# SPDX-License-Identifier: Apache-2.0
"""A driver swap with split GPUs, and the operation of a boot that creates the instances again, are interrupted at
records of their journals: by an error, SIGKILL and a power cut (crash.py). Afterwards the GPUs are split as before,
also after a reboot, which destroys MIG instances."""
import shutil
import time

import one_version
import tap
from crash import Case, Recording, check_crashes, check_deaths, check_errors, listing, restore
from fake_host import NEW, OLD
from mig_files import MigHost, geometry, prepare_split
from one_version import mixture

# Number of the operation, after four imports, the first load and the publication of the instances.
SWAP = BOOT = 7
NO_RETURN = "autoload.unblock"
SAMPLE = 8


def faults_for(before, to=NEW):
    def faults(host, outcomes):
        """Returns what is wrong after the host has settled."""
        wrong, state = [], one_version.state(host)
        end = host.journal(SWAP)[-1]
        outcome = end.get("outcome")
        if end.get("type") != "end" or outcome not in outcomes:
            wrong.append(f"outcome is {outcome}, not one of {outcomes}: {end.get('error')}")
        version = to if outcome == "committed" else OLD
        if host.loaded().get("nvidia") != version:
            wrong.append(f"loaded is {host.loaded()}, not {version}")
        if (now := geometry(host)) != before:
            wrong.append(f"after {outcome} the GPUs are split as {now}")
        for path in ("/run/gpuhost/jobs", "/var/lib/gpuhost/staging"):
            if listing(host, path):
                wrong.append(f"left in {path}: {listing(host, path)}")
        wrong += mixture(host)
        if state != "idle":
            wrong.append(f"state is {state}: {host.ctl('apply', '--dry-run').stdout}")
        return wrong
    return faults


def outcomes(recording, moment, power_cut, earlier):
    """Returns the outcomes that are right, as for a swap without MIG instances."""
    begun = recording.moments[:recording.moments.index(moment) + (not earlier)]
    if recording.outcome == "committed" and any(each.where == f"apply {NO_RETURN} before" for each in begun):
        return ("committed",)
    return ("rolled-back", "cancelled") if power_cut and not moment.ended else (recording.outcome,)


def any_outcome(*_):
    """A power cut may end the operation early: the next boot then has another one."""
    return ("committed", "rolled-back", "cancelled")


def check_boot(t, host, before):
    """The first start of the daemon after a reboot; the reboot itself is done."""
    host.boot()
    case = Case(host, BOOT, ("operation", "wait"), faults_for(before, OLD), any_outcome, sample=SAMPLE)
    boot = Recording(case, "boot")
    t.ok(boot.outcome == "committed" and any(moment.where == "apply mig.recreate after" for moment in boot.moments),
         "the recorded boot creates the instances", [moment.where for moment in boot.moments])
    boot.moments = [moment for moment in boot.moments if not moment.where.startswith("preflight")]
    check_crashes(t, case, boot, "boot")
    check_deaths(t, case, "worker")
    check_deaths(t, case, "daemon")


def main():
    t = tap.Tap()
    began = time.monotonic()
    host = MigHost()
    try:
        prepare_split(host)
        host.start_daemon()
        host.settle()
        host.kill_daemon()
        before = geometry(host)
        case = Case(host, SWAP, ("driver", "swap", NEW), faults_for(before), outcomes, NO_RETURN, SAMPLE)
        forward = Recording(case, "forward")
        t.equal(forward.outcome, "committed", "the recorded swap is committed")
        failing = next(moment for moment in forward.moments if moment.where == "apply mig.restore after")
        back = Recording(case, "back", failing=failing)
        t.equal(back.outcome, "rolled-back", "the recorded swap with a failed mig.restore is rolled back")
        back.moments = [moment for moment in back.moments if moment.where.startswith(("undo", "end"))]
        forward.moments = [moment for moment in forward.moments if not moment.where.startswith("preflight")]
        check_crashes(t, case, forward, "forward")
        check_crashes(t, case, back, "back")
        check_errors(t, case, forward, "forward")
        check_deaths(t, case, "worker")
        check_deaths(t, case, "daemon")
        restore(host, case.start)
        shutil.rmtree(case.start)
        check_boot(t, host, before)
        print(f"# {len(forward.records)} records forward, {len(back.records)} with the way back, {t.count} cases, "
              f"{time.monotonic() - began:.0f} s")
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
