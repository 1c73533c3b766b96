# SPDX-License-Identifier: Apache-2.0
"""One operation, ended at every record of its journal by an error, by SIGKILL of worker and daemon, and by a power cut.

A run is recorded: at each gate (fake_worker.cpp) the tree is copied, as SIGKILL of everything at that moment would
leave it. Of the record just written before a gate the copy without its journal's last line is the moment before.
"""
import os
import shutil
import time

from fake_host import write
from gates import Gates


def copy(source, target):
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("gate"))


def restore(host, snapshot):
    shutil.rmtree(host.root, ignore_errors=True)
    copy(snapshot, host.root)


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


class Case:
    """What is done to the host: an operation's number, the words of gpuhostctl that start it, the tree before it. `faults(host,
    outcomes)` says what is not as it must be once the host has settled; `outcomes(recording, moment, power_cut)` which ends are right
    after a restart at that moment. `no_return` names the steps that there is no way back from, if there are any."""

    def __init__(self, host, operation, words, faults, outcomes, no_return=()):
        self.host, self.operation, self.words, self.faults, self.outcomes = host, operation, words, faults, outcomes
        self.no_return = tuple("apply " + step for step in no_return)
        self.start = os.path.join(host.scratch, f"start-{operation}")
        copy(host.root, self.start)

    def journal(self):
        return self.host.journal(self.operation)


class Recording:
    """One run, copied at each of its gates and at its end."""

    def __init__(self, case, directory, failing=None):
        self.case, self.host, self.directory, self.moments = case, case.host, os.path.join(case.host.scratch, directory), []
        host = case.host
        restore(host, case.start)

        def decide(where, count):
            self.take(where, count)
            return "error failed" if failing and (where, count) == (failing.where, failing.count) else "go"

        gates = Gates(host, decide)
        host.start_daemon()
        host.settle()
        host.ctl(*case.words)
        host.kill_daemon()
        gates.close()
        self.take("end", 1)
        self.records = case.journal()
        self.outcome = self.records[-1].get("outcome")

    def take(self, where, count):
        if where.startswith("preflight") and self.moments:
            return  # one worker, one record: nothing changes at its other gates
        tree = os.path.join(self.directory, str(len(self.moments)))
        copy(self.host.root, tree)
        self.moments.append(Moment(len(self.case.journal()), where, count, tree))


def without_last_record(case):
    path = case.host.path(f"/var/lib/gpuhost/journal/{case.operation}.jsonl")
    with open(path) as file:
        lines = file.readlines()
    write(path, "".join(lines[:-1]))


def recover(case, recording, moment, earlier, power_cut):
    host = case.host
    restore(host, moment.tree)
    if earlier:
        without_last_record(case)
    if power_cut:
        host.boot()
    host.start_daemon()
    wrong = [] if host.settle() else ["it does not settle"]
    wrong += case.faults(host, case.outcomes(recording, moment, power_cut))
    host.kill_daemon()
    return wrong


def check_crashes(t, case, recording, label):
    for moment in recording.moments:
        for cut in (False, True):
            how = "power cut" if cut else "SIGKILL"
            if moment.begins:
                wrong = recover(case, recording, moment, True, cut)
                t.ok(not wrong, f"{label}: {how} one record before {moment.name}", *wrong, case.host.tail() if wrong else "")
            wrong = recover(case, recording, moment, False, cut)
            t.ok(not wrong, f"{label}: {how} at {moment.name}", *wrong, case.host.tail() if wrong else "")


def check_errors(t, case, recording):
    """Each step fails before and after its work."""
    host = case.host
    for moment in recording.moments[:-1]:
        restore(host, case.start)
        gates = Gates(host, lambda *at: "error no-space" if at == (moment.where, moment.count) else "go")
        host.start_daemon()
        host.settle()
        host.ctl(*case.words)
        gates.close()
        wrong = case.faults(host, ("failed",) if moment.where.startswith(case.no_return) else ("rolled-back", "refused"))
        t.ok(not wrong, f"error at {moment.name}", *wrong, host.tail() if wrong else "")
        host.kill_daemon()


def check_deaths(t, case, who, outcome="committed"):
    """One run in which it dies at every gate, and only then."""
    host = case.host
    restore(host, case.start)
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
    host.ctl(*case.words, "--no-wait")
    deadline = time.monotonic() + 30
    while case.journal()[-1].get("type") != "end" and time.monotonic() < deadline:
        time.sleep(0.02)
    host.settle()
    wrong = case.faults(host, (outcome,))
    gates.close()
    t.ok(not wrong, f"the {who} dies at each of {len(died)} gates, and it ends {outcome}", *wrong, host.tail() if wrong else "")
    host.kill_daemon()
