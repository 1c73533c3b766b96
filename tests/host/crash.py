# SPDX-License-Identifier: Apache-2.0
"""One operation, interrupted at every record of its journal by an error, by SIGKILL of worker and daemon, by
a hang, and by a power cut.

A run is recorded: at each gate (fake_worker.cpp) the tree is copied, as SIGKILL of all programs would leave
it. The copy without the journal's last line is the moment before that record was written.

Large sets of cases are sampled: SEED=535 repeats a sample, FULL=1 runs all cases.
"""
import os
import random
import shutil
import time

from fake_host import write
from gates import Gates

SEED = os.environ.get("SEED", "535")
FULL = os.environ.get("FULL") == "1"
DEADLINE_MS = "2000"  # for a worker that hangs


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
    """A gate: the tree when a worker reached it for the `count`th time."""

    def __init__(self, journal, where, count, tree):
        self.name = f"record {len(journal)}, {where}"
        self.where, self.count, self.tree = where, count, tree
        self.starts = sum(record["type"] == "start" for record in journal)
        self.begins = False  # the journal's last record announces a group of phases, none of which has begun
        self.ended = where == "end"  # the operation is done; one record earlier only the end record is missing


class Case:
    """Describes an operation: its number, the arguments of gpuhostctl that start it, and the tree before it.

    `faults(host, outcomes)` returns what is wrong after the host has settled. `outcomes(recording, moment,
    power_cut, earlier)` returns the outcomes that are right after a restart at that moment. `no_return` names
    the step of no return, if there is one. `sample` is the number of points to try for each kind of fault;
    None tries all."""

    def __init__(self, host, operation, words, faults, outcomes, no_return=None, sample=None):
        self.host, self.operation, self.words, self.faults, self.outcomes = host, operation, words, faults, outcomes
        self.no_return, self.sample = no_return, sample
        self.chance = random.Random(f"{SEED}/{operation}")
        self.start = os.path.join(host.scratch, f"start-{operation}")
        copy(host.root, self.start)

    def journal(self):
        return self.host.journal(self.operation)

    def chosen(self, points, sample=None):
        sample = sample or self.sample
        if FULL or sample is None or len(points) <= sample:
            return points
        return [points[i] for i in sorted(self.chance.sample(range(len(points)), sample))]


class Recording:
    """One run, with copies of the tree at each gate and at the end."""

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
            return  # one worker and one record: its other gates change nothing
        tree = os.path.join(self.directory, str(len(self.moments)))
        copy(self.host.root, tree)
        moment = Moment(self.case.journal(), where, count, tree)
        moment.begins = moment.ended or moment.starts > (self.moments[-1].starts if self.moments else 0)
        self.moments.append(moment)


def without_last_record(case):
    """Removes the last record and the job that it announces. A job's files are created after its record."""
    host = case.host
    path = host.path(f"/var/lib/gpuhost/journal/{case.operation}.jsonl")
    with open(path) as file:
        lines = file.readlines()
    write(path, "".join(lines[:-1]))
    starts = sum(record["type"] == "start" for record in case.journal())
    for job in listing(host, "/run/gpuhost/jobs"):
        operation, start, _attempt = map(int, job.split("-"))
        if operation == case.operation and start > starts:
            shutil.rmtree(host.path(f"/run/gpuhost/jobs/{job}"))


def recover(case, recording, moment, earlier, power_cut):
    host = case.host
    restore(host, moment.tree)
    if earlier:
        without_last_record(case)
    if power_cut:
        host.boot()
    host.start_daemon()
    wrong = [] if host.settle() else ["the host does not settle"]
    wrong += case.faults(host, case.outcomes(recording, moment, power_cut, earlier))
    host.kill_daemon()
    return wrong


def check_crashes(t, case, recording, label):
    points = [(moment, earlier, cut) for moment in recording.moments for cut in (False, True)
              for earlier in ((True, False) if moment.begins else (False,))]
    for moment, earlier, cut in case.chosen(points):
        wrong = recover(case, recording, moment, earlier, cut)
        when = ("a power cut " if cut else "SIGKILL ") + ("one record before" if earlier else "at")
        t.ok(not wrong,
             f"{label}: recovers from {when} {moment.name}", *wrong, case.host.tail() if wrong else "")


def check_errors(t, case, recording, label):
    """Each step fails with no-space before and after its work. Past the point of no return it is repeated."""
    host, points, past_return = case.host, [], False
    for moment in recording.moments[:-1]:
        past_return = past_return or moment.where == f"apply {case.no_return} before"
        points.append((moment, ("committed",) if past_return else ("rolled-back", "failed", "refused")))
    for moment, outcomes in case.chosen(points):
        restore(host, case.start)
        gates = Gates(host, lambda *at, moment=moment: "error no-space" if at == (moment.where, moment.count) else "go")
        host.start_daemon()
        host.settle()
        host.ctl(*case.words)
        gates.close()
        wrong = case.faults(host, outcomes)
        t.ok(not wrong, f"{label}: handles an error at {moment.name}", *wrong, host.tail() if wrong else "")
        host.kill_daemon()


def repeated(records):
    """Returns how many phases of these records were started again."""
    begun, again = set(), 0
    for record in records:
        if record["type"] == "start":
            again += record["step"] in begun
            begun.add(record["step"])
        elif record.get("continues"):
            begun.add(record["step"] + 1 + (record["output"] or {}).get("skip", 0))
    return again


def check_hangs(t, case, recording, label, failing=None):
    """A worker hangs in each phase until its deadline. The error at the moment `failing` starts the undo."""
    host, past_return = case.host, False
    for moment in [moment for moment in recording.moments if moment.where.endswith(" before")]:
        past_return = past_return or moment.where == f"apply {case.no_return} before"
        restore(host, case.start)

        def decide(where, count, moment=moment):
            if (where, count) == (moment.where, moment.count):
                return Gates.HANG
            return "error failed" if failing and (where, count) == (failing.where, failing.count) else "go"

        gates = Gates(host, decide)
        host.start_daemon(FAKE_DAEMON_DEADLINE_MS=DEADLINE_MS)
        host.settle()
        host.ctl(*case.words)
        gates.close()
        wrong = case.faults(host, ("committed",) if past_return else ("rolled-back", "failed", "refused"))
        if past_return or failing:
            records = [record for record in case.journal() if record.get("phase") == ("undo" if failing else "apply")]
            if repeated(records) != 1:
                wrong.append(f"the phase that hung was not run again: {records}")
        elif "deadline" not in str(case.journal()[-1].get("error")):
            wrong.append(f"the end does not name the deadline: {case.journal()[-1]}")
        t.ok(not wrong, f"{label}: handles a hang at {moment.name}", *wrong, host.tail() if wrong else "")
        host.kill_daemon()


def check_deaths(t, case, who, outcome="committed"):
    """Runs the operation and kills worker or daemon once at every gate."""
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
    t.ok(not wrong,
         f"the operation is {outcome} although the {who} dies at {len(died)} gates", *wrong, host.tail() if wrong else "")
    host.kill_daemon()
