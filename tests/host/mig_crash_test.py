# SPDX-License-Identifier: Apache-2.0
"""A driver swap with split GPUs is interrupted at records of its journal: by an error, SIGKILL and a power cut
(crash.py). Afterwards the GPUs are split as before.

A reboot destroys MIG instances. They are created again if the swap had saved them and is undone afterwards."""
import os
import time

import one_version
import tap
from crash import Case, Recording, check_crashes, check_deaths, check_errors, listing
from fake_host import NEW, OLD
from mig_files import MigHost, geometry, prepare_split
from one_version import mixture

SWAP = 7  # number of the operation, after four imports, the first load and the publication of the instances
NO_RETURN = "autoload.unblock"
SAMPLE = 8


class CrashHost(MigHost):
    def boot(self):
        self.must_restore = os.path.exists(self.path(f"/var/lib/gpuhost/staging/{SWAP}/mig.json")) and not self.has_restored()
        super().boot()

    def has_restored(self):
        records = self.journal(SWAP)
        return any(record["type"] == "done" and record["phase"] == "undo" and
                   records[0]["plan"]["steps"][record["step"]]["kind"] == "mig.save" for record in records)


def faults_for(before):
    def faults(host, outcomes):
        """Returns what is wrong after the host has settled."""
        wrong, state = [], one_version.state(host)
        end = host.journal(SWAP)[-1]
        outcome = end.get("outcome")
        if end.get("type") != "end" or outcome not in outcomes:
            wrong.append(f"outcome is {outcome}, not one of {outcomes}: {end.get('error')}")
        version = NEW if outcome == "committed" else OLD
        if host.loaded().get("nvidia") != version:
            wrong.append(f"loaded is {host.loaded()}, not {version}")
        rebooted = host.read("/proc/sys/kernel/random/boot_id") != host.first_boot
        remain = not rebooted or (host.must_restore and outcome != "committed")
        if (now := geometry(host)) != (before if remain else {}):
            wrong.append(f"after {outcome}, {'a reboot' if rebooted else 'no reboot'}, the GPUs are split as {now}")
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


def main():
    t = tap.Tap()
    began = time.monotonic()
    host = CrashHost()
    try:
        prepare_split(host)
        host.start_daemon()
        host.settle()
        host.kill_daemon()
        host.first_boot = host.read("/proc/sys/kernel/random/boot_id")
        case = Case(host, SWAP, ("driver", "swap", NEW), faults_for(geometry(host)), outcomes, NO_RETURN, SAMPLE)
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
        print(f"# {len(forward.records)} records forward, {len(back.records)} with the way back, {t.count} cases, "
              f"{time.monotonic() - began:.0f} s")
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
