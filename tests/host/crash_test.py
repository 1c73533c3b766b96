# SPDX-License-Identifier: Apache-2.0
"""A driver swap, ended at every record of its journal by an error, by SIGKILL of worker and daemon, and by a power cut.

Whatever happens, the host ends with one working driver, the old or the new: what is loaded, what is selected and what
the files lead to are the same, the door is open, clients run, and nothing waits for a person.

One swap is recorded: at each gate (fake_worker.cpp) the tree is copied, as SIGKILL of everything at that moment would
leave it. Of the record just written before a gate the copy without its journal's last line is the moment before.
"""
import json
import os
import shutil
import time

import tap
from driver_files import KERNEL
from fake_host import CLIENT, NEW, OLD, FakeHost, prepare, write
from gates import Gates

SWAP = 6  # the operation, after four imports and the first load


def copy(source, target):
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("gate"))


def restore(host, snapshot):
    shutil.rmtree(host.root, ignore_errors=True)
    copy(snapshot, host.root)


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


def listing(host, path):
    try:
        return os.listdir(host.path(path))
    except OSError:
        return []


class Moment:
    """A gate: the tree as it was when a worker stood there for the `count`th time."""

    def __init__(self, records, where, count, tree):
        self.name = f"record {records}, {where}"
        self.where, self.count, self.tree = where, count, tree
        self.begins = not where.endswith(" after")  # its journal's last record announces what is not begun yet
        self.ended = where == "end"  # all is done; one record before, only the end's is missing


class Recording:
    """One run, copied at each of its gates and at its end."""

    def __init__(self, host, start, directory, failing=None):
        self.host, self.directory, self.moments = host, directory, []
        restore(host, start)

        def decide(where, count):
            self.take(where, count)
            return "error failed" if failing and (where, count) == (failing.where, failing.count) else "go"

        gates = Gates(host, decide)
        host.start_daemon()
        host.settle()
        host.ctl("driver", "swap", NEW)
        host.kill_daemon()
        gates.close()
        self.take("end", 1)
        self.records = host.journal(SWAP)
        self.outcome = self.records[-1].get("outcome")

    def take(self, where, count):
        if where.startswith("preflight") and self.moments:
            return  # one worker, one record: nothing changes at its other gates
        tree = os.path.join(self.directory, str(len(self.moments)))
        copy(self.host.root, tree)
        self.moments.append(Moment(len(self.host.journal(SWAP)), where, count, tree))


def without_last_record(host):
    path = host.path(f"/var/lib/gpuhost/journal/{SWAP}.jsonl")
    with open(path) as file:
        lines = file.readlines()
    write(path, "".join(lines[:-1]))


def recover(host, recording, moment, earlier, power_cut):
    restore(host, moment.tree)
    if earlier:
        without_last_record(host)
    if power_cut:
        host.boot()
    host.start_daemon()
    wrong = [] if host.settle() else ["it does not settle"]
    # In the same boot the swap goes on to where it went. After a reboot a driver whose swap was not done and verified is
    # never what the host stays with.
    goes_back = power_cut and not moment.ended
    wrong += faults(host, ("rolled-back", "cancelled") if goes_back else (recording.outcome,))
    host.kill_daemon()
    return wrong


def check_crashes(t, host, recording, label):
    for moment in recording.moments:
        for cut in (False, True):
            how = "power cut" if cut else "SIGKILL"
            if moment.begins:
                wrong = recover(host, recording, moment, True, cut)
                t.ok(not wrong, f"{label}: {how} one record before {moment.name}", *wrong, host.tail() if wrong else "")
            wrong = recover(host, recording, moment, False, cut)
            t.ok(not wrong, f"{label}: {how} at {moment.name}", *wrong, host.tail() if wrong else "")


def check_errors(t, host, start, recording):
    """Each step fails before and after its work."""
    for moment in recording.moments[:-1]:
        restore(host, start)
        gates = Gates(host, lambda *at: "error no-space" if at == (moment.where, moment.count) else "go")
        host.start_daemon()
        host.settle()
        host.ctl("driver", "swap", NEW)
        gates.close()
        wrong = faults(host, ("rolled-back", "refused"))
        t.ok(not wrong, f"error at {moment.name}", *wrong, host.tail() if wrong else "")
        host.kill_daemon()


def check_deaths(t, host, start, who):
    """One swap in which it dies at every gate, and only then."""
    restore(host, start)
    died = set()

    def decide(where, _count):
        if where in died or where.startswith("preflight") and died:
            return "go"
        died.add(where)
        if who == "worker":
            return None
        host.kill_daemon()
        host.start_daemon()
        return "go"

    gates = Gates(host, decide)
    host.start_daemon()
    host.settle()
    host.ctl("driver", "swap", NEW, "--no-wait")
    deadline = time.monotonic() + 30
    while host.journal(SWAP)[-1].get("type") != "end" and time.monotonic() < deadline:
        time.sleep(0.02)
    host.settle()
    wrong = faults(host, ("committed",))
    gates.close()
    t.ok(not wrong, f"the {who} dies at each of {len(died)} gates, and the swap goes on", *wrong, host.tail() if wrong else "")
    host.kill_daemon()


def main():
    t = tap.Tap()
    began = time.monotonic()
    host = FakeHost()
    try:
        prepare(host)
        start = os.path.join(host.scratch, "start")
        copy(host.root, start)
        forward = Recording(host, start, os.path.join(host.scratch, "forward"))
        t.equal(forward.outcome, "committed", "the recorded swap is committed")
        back = Recording(host, start, os.path.join(host.scratch, "back"), failing=forward.moments[-2])
        t.equal(back.outcome, "rolled-back", "the recorded failure of its last step is rolled back")
        back.moments = [moment for moment in back.moments if moment.where.startswith(("undo", "end"))]
        check_crashes(t, host, forward, "forward")
        check_crashes(t, host, back, "back")
        check_errors(t, host, start, forward)
        check_deaths(t, host, start, "worker")
        check_deaths(t, host, start, "daemon")
        records = f"{len(forward.records)} records forward, {len(back.records)} with the way back"
        print(f"# {records}, {t.count} cases, {time.monotonic() - began:.0f} s")
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
