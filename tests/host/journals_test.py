# SPDX-License-Identifier: Apache-2.0
"""An upgraded daemon finishes or undoes operations that earlier versions left at each gate of their workers
(journals/VERSION, made by record_journals.py), in the same boot and after a reboot.

journals_test.py                                SEED=535 for a sample of the gates, FULL=1: each
"""
import glob
import json
import os
import random

import one_version
import tap
import trees
from crash import FULL, SEED, listing
from fake_host import FakeHost
from record_journals import OPERATION

JOURNALS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "journals")
SAMPLE = 12  # gates of each operation
ENDS = ("committed", "failed", "rolled-back", "cancelled", "refused")


def read(path):
    """Returns (where, tree) of each gate."""
    with open(os.path.join(os.path.dirname(path), "start.json")) as file:
        tree = json.load(file)
    moments = []
    with open(path) as file:
        for line in file:
            moment = json.loads(line)
            tree = trees.update(tree, moment["changes"])
            moments.append((moment["where"], tree))
    return moments


def faults(host):
    end = host.journal(OPERATION)[-1]
    wrong = [] if end.get("outcome") in ENDS else [f"unexpected end record: {end}"]
    wrong += one_version.mixture(host)
    if (state := one_version.state(host)) != "idle":
        wrong.append(f"state is {state}: {host.ctl('apply', '--dry-run').stdout}")
    wrong += [f"left in {path}" for path in ("/run/gpuhost/jobs", "/var/lib/gpuhost/staging") if listing(host, path)]
    verified = host.ctl("driver", "verify")
    return wrong + ([] if verified.returncode == 0 else [f"the store is damaged: {verified.stdout}{verified.stderr}"])


def check_moment(t, host, label, where, tree, reboot):
    trees.make(host.root, tree)
    host.boots = int(host.read("/proc/sys/kernel/random/boot_id").rpartition("-")[2])
    if reboot:
        host.boot()
    host.start_daemon()
    wrong = [] if host.settle() else ["the host does not settle"]
    wrong += faults(host)
    outcome = host.journal(OPERATION)[-1].get("outcome")
    t.ok(not wrong,
         f"{label} {outcome} {'after a reboot' if reboot else 'in the same boot'}, left at '{where}'", *wrong, host.tail() if wrong else "")
    host.kill_daemon()


def check_operation(t, host, path):
    moments = read(path)
    label = os.path.relpath(path, JOURNALS).removesuffix(".jsonl")
    points = [(where, tree, reboot) for where, tree in moments for reboot in (False, True)]
    if not FULL and len(points) > SAMPLE:
        points = random.Random(f"{SEED}/{label}").sample(points, SAMPLE)
    for where, tree, reboot in points:
        check_moment(t, host, label, where, tree, reboot)


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        journals = sorted(glob.glob(f"{JOURNALS}/*/*.jsonl"))
        t.ok(journals, "journals of earlier versions exist")
        for path in journals:
            check_operation(t, host, path)
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
