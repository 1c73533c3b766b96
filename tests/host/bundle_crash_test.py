# SPDX-License-Identifier: Apache-2.0
"""An import of a bundle with images and drivers, ended at every record of its journal (crash.py).

Whatever happens, either all of it is here (listed, blobs in the store, drivers in the driver store) or nothing of it can be
seen; and the next import brings all of it.
"""
import os
import shutil

import tap
from archive_files import docker_24, layer_of
from bundle_driver_test import SPEC, Maker, drivers
from bundle_unsigned_test import MACHINE, NAME
from crash import Case, Recording, check_crashes, check_deaths, check_errors, listing, restore
from fake_host import FakeHost, write

HOSTS = "/etc/containerd/certs.d/registry.example/hosts.toml"


def seen(host):
    """What a person sees: bundles with their generations, drivers, blobs that have names, what else lies in the catalogue, and whom
    containerd asks."""
    bundles = [(bundle["name"], bundle["generation"]) for bundle in host.json("bundle", "list")["bundles"]]
    rest = [name for name in listing(host, "/var/lib/gpuhost/catalogue") if name.startswith(".") and name != ".generations"]
    return (bundles, drivers(host), len(listing(host, "/var/lib/gpuhost/store/sha256")), rest, "gpuhostd" in host.read(HOSTS))


def make_faults(operation, words, before, whole):
    def faults(host, outcomes):
        wrong = []
        end = host.journal(operation)[-1]
        outcome = end.get("outcome")
        if end.get("type") != "end" or outcome not in outcomes:
            wrong.append(f"outcome is {outcome}, not one of {outcomes}: {end.get('error')}")
        now = seen(host)
        if outcome == "committed" and now != whole:
            wrong.append(f"{outcome}, but here is {now}")
        if outcome == "failed" and now[:3] != whole[:3]:  # only what comes behind the point of no return failed
            wrong.append(f"{outcome}, but here is {now}")
        if outcome not in ("committed", "failed") and (now[0], now[1], now[3]) != (before[0], before[1], before[3]):
            wrong.append(f"{outcome}, but here is {now}")
        for path in ("/run/gpuhost/jobs", "/var/lib/gpuhost/staging"):
            if listing(host, path):
                wrong.append(f"left in {path}: {listing(host, path)}")
        if outcome == "committed" and host.json("status")["state"] != "idle":
            wrong.append(f"state is {host.json('status')['state']}")
        if "--unsigned" in words and outcome != "failed" and listing(host, "/var/lib/gpuhost/store/incoming"):
            wrong.append("what was unpacked is left")  # nothing of it could be gone on with
        run = host.ctl(*words)
        if run.returncode != 0 or seen(host) != whole or listing(host, "/var/lib/gpuhost/store/incoming"):
            wrong.append(f"the next import: {run.stderr}, and here is {seen(host)}")
        return wrong
    return faults


def outcomes(recording, moment, power_cut):
    """The bundle is open only as long as the daemon that got it lives, so what is not received goes back; what is goes on, but for
    a power cut."""
    if moment.ended:
        return (recording.outcome,)
    if recording.outcome != "committed":
        return (recording.outcome, "cancelled")
    if moment.where.startswith(("apply images.mirrors", "apply packages.repositories")):
        return ("committed",)
    if moment.where.startswith("apply bundle.settle"):  # one record before, it was not begun
        return ("rolled-back", "committed") if moment.begins and power_cut else ("committed",)
    if power_cut or moment.where.startswith(("preflight", "apply bundle.receive", "apply bundle.adopt")):
        return ("rolled-back", "refused", "cancelled")
    if moment.where.startswith(("apply driver.take before", "apply bundle.commit before")):  # one record before, the one before it had not ended
        return ("rolled-back", "committed")
    return ("committed",)


def crash(t, host, operation, words, label):
    """One import on the host as it is, ended everywhere."""
    host.start_daemon()
    host.settle()
    before = seen(host)
    host.kill_daemon()
    case = Case(host, operation, words, None, outcomes, ("bundle.settle", "images.mirrors", "packages.repositories"))
    forward = Recording(case, label)
    t.equal(forward.outcome, "committed", f"{label}: the recorded import is committed")
    host.start_daemon()
    host.settle()
    case.faults = make_faults(operation, words, before, seen(host))
    host.kill_daemon()
    commit = next(moment for moment in forward.moments if moment.where == "apply bundle.commit after")
    back = Recording(case, label + "-back", failing=commit)
    t.equal(back.outcome, "rolled-back", f"{label}: the recorded failure of its commit is rolled back")
    back.moments = [moment for moment in back.moments if moment.where.startswith(("undo", "end"))]
    check_crashes(t, case, forward, label)
    check_crashes(t, case, back, label + ", going back")
    check_errors(t, case, forward)
    check_deaths(t, case, "worker")
    restore(host, forward.moments[-1].tree)


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        maker = Maker(os.path.join(host.scratch, "maker"))
        host.install()
        for directory in ("/etc/gpuhost/trust.d", "/etc/containerd"):
            os.makedirs(host.path(directory))
        shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
        bundle = maker.path("site.bundle")
        maker.create(generation=1)
        crash(t, host, 1, ("bundle", "import", bundle), "first")
        maker.create(SPEC.replace("app:v1", "app:v2"), generation=2)
        crash(t, host, 2, ("bundle", "import", bundle), "next")
        write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Images]\nAllowUnsigned=yes\n")
        airgap = os.path.join(host.scratch, "airgap.tar")
        with open(airgap, "wb") as file:
            file.write(docker_24({NAME: [layer_of({"etc/motd": b"hello"}), layer_of({"data": bytes(300_000)})]}, MACHINE).bytes())
        crash(t, host, 3, ("bundle", "import", "--unsigned", airgap), "unsigned")
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
