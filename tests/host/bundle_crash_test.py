# SPDX-License-Identifier: Apache-2.0
"""An import of a bundle with images and drivers, ended at every record of its journal (crash.py).

Whatever happens, either all of it is here (listed, blobs in the store, drivers in the driver store) or nothing of it can be
seen; and the next import brings all of it.
"""
import os
import shutil

import tap
from bundle_driver_test import BOTH, Maker, drivers
from crash import Case, Recording, check_crashes, check_deaths, check_errors, listing
from fake_host import FakeHost

IMPORT = 1


def seen(host):
    return (sorted(bundle["name"] for bundle in host.json("bundle", "list")["bundles"]), drivers(host),
            len(listing(host, "/var/lib/gpuhost/store/sha256")))


def make_faults(bundle, blobs):
    def faults(host, outcomes):
        wrong = []
        end = host.journal(IMPORT)[-1]
        outcome = end.get("outcome")
        if end.get("type") != "end" or outcome not in outcomes:
            wrong.append(f"outcome is {outcome}, not one of {outcomes}: {end.get('error')}")
        whole = (["drivers"], BOTH, blobs)
        names, versions, count = seen(host)
        forward = outcome in ("committed", "failed")  # failed: only what comes behind the point of no return
        if forward and (names, versions, count) != whole:
            wrong.append(f"{outcome}, but here is {(names, versions, count)}")
        if not forward and (names or versions):
            wrong.append(f"{outcome}, but here is {(names, versions, count)}")
        for path in ("/run/gpuhost/jobs", "/var/lib/gpuhost/staging"):
            if listing(host, path):
                wrong.append(f"left in {path}: {listing(host, path)}")
        if host.json("status")["state"] != "idle":
            wrong.append(f"state is {host.json('status')['state']}")
        run = host.ctl("bundle", "import", bundle)
        if run.returncode != 0 or seen(host) != whole or listing(host, "/var/lib/gpuhost/store/incoming"):
            wrong.append(f"the next import: {run.stderr}, and here is {seen(host)}")
        return wrong
    return faults


def outcomes(recording, moment, power_cut):
    """The bundle is open only as long as the daemon that got it lives, so what is not received goes back."""
    if moment.ended:
        return (recording.outcome,)
    if moment.where.startswith("apply images.mirrors"):
        return ("committed",)
    if moment.where.startswith("apply bundle.settle"):  # one record before, it was not begun
        return ("rolled-back", "committed") if moment.begins and power_cut else ("committed",)
    return ("rolled-back", "refused", "cancelled") if power_cut else ("rolled-back", "refused", "cancelled", "committed")


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        maker = Maker(os.path.join(host.scratch, "maker"))
        maker.create()
        host.install()
        os.makedirs(host.path("/etc/gpuhost/trust.d"))
        shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
        bundle = maker.path("site.bundle")
        words = ("bundle", "import", bundle)
        case = Case(host, IMPORT, words, None, outcomes, ("bundle.settle", "images.mirrors"))
        forward = Recording(case, "forward")
        t.equal(forward.outcome, "committed", "the recorded import is committed")
        case.faults = make_faults(bundle, len(listing(host, "/var/lib/gpuhost/store/sha256")))
        commit = next(moment for moment in forward.moments if moment.where == "apply bundle.commit after")
        back = Recording(case, "back", failing=commit)
        t.equal(back.outcome, "rolled-back", "the recorded failure of its commit is rolled back")
        back.moments = [moment for moment in back.moments if moment.where.startswith(("undo", "end"))]
        check_crashes(t, case, forward, "forward")
        check_crashes(t, case, back, "back")
        check_errors(t, case, forward)
        check_deaths(t, case, "worker")
        print(f"# {len(forward.records)} records forward, {len(back.records)} with the way back, {t.count} cases")
    finally:
        host.close()
    t.done()


main()
