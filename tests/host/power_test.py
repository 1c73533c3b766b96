# SPDX-License-Identifier: Apache-2.0
"""Power cuts of a host whose disk keeps only flushed writes (recorded_disk.py), at every record of the
journal and at random points of imports and a removal.

The disk's writes are recorded once. For each point the disk is built as a power cut leaves it, and the kernel
recovers its file system. Then each blob must match its digest, each record in the catalogue must have all its
blobs, and each bundle that was reported as imported must be listed. At some points a daemon starts on the
disk and undoes or finishes the operation. The next import then completes.

power_test.py                                   SEED=535, POINTS=400 random ones (FULL=1: 1000, a daemon at each)
power_test.py --recording DIR --point NUMBER    one point of a recording that a failed run has kept
"""
import argparse
import concurrent.futures
import json
import multiprocessing
import os
import random
import shutil
import sys
import time
import traceback

import own_mounts
import programs
import recorded_disk
import tap
from archive_files import docker_24, layer_of
from bundle_crash_test import seen
from bundle_driver_test import SPEC, Maker
from bundle_unsigned_test import MACHINE, NAME
from crash import listing
from fake_host import FakeHost, scratch, write
from gates import Gates
from image_files import Layout
from power_faults import state_faults

FULL = os.environ.get("FULL") == "1"
SEED, POINTS = os.environ.get("SEED", "535"), int(os.environ.get("POINTS", "1000" if FULL else "400"))
DAEMON_SHARE = 0.04  # share of the random points; each takes half a second
PATIENCE = 500  # seconds for all points of a file system
MANY = "[Bundle]\nName=many\nGeneration=1\n" + "".join(
    f"\n[Image registry.example/many:v{i}]\nLayout=many\nReference=v{i}\n" for i in range(3))


# --- what is imported


class Bundles:
    """Three generations with drivers and images, large and small; one bundle with more blobs than are synced
    one by one; unsigned images."""

    def __init__(self, directory):
        self.maker = Maker(os.path.join(directory, "maker"))
        random_bytes = random.Random(SEED).randbytes
        shared, base = random_bytes(300_000), random_bytes(800_000)
        layout = Layout(self.maker.path("apps"))
        for generation, layer in (1, base), (2, random_bytes(1_500_000)), (3, random_bytes(70_000)):
            layout.tag(layout.add_manifest([shared, layer]), f"v{generation}")
            image = f"app:v{generation}]\nLayout=apps\nReference=v{generation}"
            self.sign(SPEC.replace("app:v1]\nLayout=layout", image), f"site-{generation}", generation)
        many = Layout(self.maker.path("many"))
        for i in range(3):
            many.tag(many.add_manifest([random_bytes(100 + 90 * i + j) for j in range(90)]), f"v{i}")
        self.sign(MANY, "many", 1)
        self.unsigned = self.maker.path("unsigned.tar")
        layers = [layer_of({"etc/motd": b"hello"}), layer_of({"data": random_bytes(300_000)})]
        with open(self.unsigned, "wb") as file:
            file.write(docker_24({NAME: layers}, MACHINE).bytes())

    def sign(self, spec, name, generation):
        made = self.maker.create(spec, generation)
        if made.returncode != 0:
            raise RuntimeError(made.stderr)
        os.rename(self.maker.path("site.bundle"), self.path(name))

    def path(self, name):
        return self.maker.path(name + ".bundle")


# --- the recording


def plain(value):
    return json.loads(json.dumps(value))


class Recorder:
    """Runs operations on a host with a recorded disk, and notes the log's length at each known state."""

    def __init__(self, host, log):
        self.host, self.log = host, log
        self.operations, self.known = [], []

    def size(self):
        return os.stat(self.log).st_size

    def note(self):
        """Notes the number of flushed records. A worker waits at a gate, so no record is written meanwhile. But
        the worker of a group does not wait until the record of its step before is flushed."""
        operation = len(self.operations) + 1
        records = self.host.journal(operation)
        self.known.append((self.size(), operation, len(records) - bool(records and records[-1].get("continues"))))

    def run(self, label, words, failing=None, then=None):
        """Runs an operation, which fails at the gate `failing`. `then` is the next import, if it differs."""
        def decide(where, _):
            self.note()
            return "error failed" if where == failing else "go"

        before, begin = plain(seen(self.host)), self.size()
        gates = Gates(self.host, decide)
        ctl = self.host.ctl(*words)
        end = self.size()
        gates.close()
        if (ctl.returncode == 0) == bool(failing):
            raise AssertionError(f"{label}: exit {ctl.returncode}\n{ctl.stdout}{ctl.stderr}{self.host.tail()}")
        self.note()
        after = plain(seen(self.host))
        for failed in self.operations:  # the import after a failed one must lead to this state
            failed["whole"] = failed["whole"] or after
        whole = before if then else None if failing else after
        self.operations.append({
            "label": label, "next": then or words, "begin": begin, "end": end, "before": before, "after": after,
            "whole": whole, "shown": failing == "apply bundle.commit after"})


def record_all(recorder, bundles):
    def site(generation):
        return "bundle", "import", bundles.path(f"site-{generation}")

    many = "bundle", "import", bundles.path("many")
    recorder.run("the first import", site(1))
    recorder.run("an import of many blobs", many)
    recorder.run("an import that fails", site(2), failing="apply bundle.receive after")
    recorder.run("the import that resumes", site(2))
    recorder.run("an import that is undone", site(3), failing="apply bundle.commit after")
    recorder.run("the repeated import", site(3))
    recorder.run("a removal", ("bundle", "remove", "many"), then=many)
    recorder.run("an unsigned import", ("bundle", "import", "--unsigned", bundles.unsigned))


def record(kind, directory, operations=record_all, **environment):
    """Creates a recording in `directory`: initial disk, log, operations, and times of known states."""
    os.makedirs(directory)
    host = FakeHost()
    try:
        host.environment.update(environment)
        bundles = Bundles(directory)
        base, image, log, disk = (os.path.join(directory, name) for name in ("base", "disk-now", "log", "disk"))
        recorded_disk.make_image(kind, base)
        with recorded_disk.disk_of(host, kind, base):
            host.install()
            for path in ("/etc/gpuhost/trust.d", "/etc/containerd"):
                os.makedirs(host.path(path))
            shutil.copy(bundles.maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
            write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Images]\nAllowUnsigned=yes\n")
        recorded_disk.copy_sparse(base, image)
        with recorded_disk.recorded(image, log, disk), recorded_disk.disk_of(host, kind, disk):
            host.start_daemon()
            host.settle()
            recorder = Recorder(host, log)
            operations(recorder, bundles)
            host.kill_daemon()
            journals = [host.read(f"/var/lib/gpuhost/journal/{i + 1}.jsonl").splitlines()
                        for i in range(len(recorder.operations))]
        os.unlink(image)
        write(os.path.join(directory, "known.json"), json.dumps(
            {"kind": kind, "directory": directory, "operations": recorder.operations, "known": recorder.known,
             "journals": journals}))
    finally:
        host.close()


class Recording:
    """A recording. Times are numbers of events in the log."""

    def __init__(self, directory):
        with open(os.path.join(directory, "known.json"), encoding="utf-8") as file:
            known = json.load(file)
        self.kind, self.operations, self.journals = known["kind"], known["operations"], known["journals"]
        self.log = recorded_disk.Log(os.path.join(directory, "log"))
        for operation in self.operations:
            operation["next"] = [word.replace(known["directory"], directory)  # the directory may have moved
                                 for word in operation["next"]]
            for edge in "begin", "end":
                operation[edge] = self.log.position(operation[edge])
        self.known = [(self.log.position(size), operation, count) for size, operation, count in known["known"]]

    def at(self, time_of_cut):
        """Returns the operation that ran at that time, or the last one before."""
        begun = [operation for operation in self.operations if operation["begin"] <= time_of_cut]
        return begun[-1] if begun else self.operations[0]

    def written(self, line):
        """Returns the time when a record was written. One half of a record is always within one block."""
        for half in line[len(line) // 2:][-60:], line[:len(line) // 2][:60]:  # the end of a record has its unique time
            for number, event in enumerate(self.log.events, 1):
                if event and half.encode() in bytes(event[1]):
                    return number
        raise LookupError(f"no write has the record {line}")

    def records_written(self):
        """Yields (operation, record, time of its write)."""
        for number, journal in enumerate(self.journals, 1):
            for count, line in enumerate(journal, 1):
                yield number, count, self.written(line)


# --- the points


class Point:
    """A power cut at a time, after which `share` of the unflushed writes are on the disk."""

    def __init__(self, number, name, at, share, daemon):
        self.number, self.name, self.at, self.share, self.daemon = number, name, at, share, daemon

    def is_written(self):
        chance = random.Random(f"{SEED}/{self.number}")
        return lambda: chance.random() < self.share


def points_of(recording):
    """Returns two points for each journal record, then this file system's share of the random points."""
    count = POINTS // len(recorded_disk.OPTIONS)
    points, chance = [], random.Random(SEED)
    flushes = [i + 1 for i, event in enumerate(recording.log.events) if event is None]

    def add(name, at, share, daemon):
        when = f"after {at} of {len(recording.log.events)} events"
        points.append(Point(len(points), f"{name}, {when}", at, share, daemon or FULL))

    for operation, record_count, written in recording.records_written():
        name = f"record {record_count} of '{recording.operations[operation - 1]['label']}'"
        add("half written " + name, written, 0.5, chance.random() < DAEMON_SHARE)
        flushed = next((flush for flush in flushes if flush > written), len(recording.log.events))
        add(name, flushed, 1, recording.kind == "ext4" or chance.random() < DAEMON_SHARE)
    for _ in range(count):
        at = chance.randint(recording.operations[0]["begin"], len(recording.log.events))
        share = chance.choice((0, 0.1, 0.5, 0.5, 0.9, 1))
        add(f"in '{recording.at(at)['label']}'", at, share, chance.random() < DAEMON_SHARE)
    return points


def journal_faults(state, recording, at):
    """Returns journals that lack records known to be flushed."""
    known = {operation: count for time_known, operation, count in recording.known if time_known <= at}
    wrong = []
    for operation, count in known.items():
        try:
            with open(os.path.join(state, f"journal/{operation}.jsonl"), encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            lines = []
        if lines[:count] != recording.journals[operation - 1][:count]:
            wrong.append(f"journal {operation} lacks some of {count} flushed records")
    return wrong


def right_states(recording, at):
    operation = recording.at(at)
    if at >= operation["end"]:
        return [operation["after"]]
    shown = [operation["whole"]] if operation["shown"] else []  # visible before it is undone
    return [operation["before"], operation["after"], *shown]


def disk_faults(state, recording, at):
    wrong, bundles = state_faults(state)
    right = [known[0] for known in right_states(recording, at)]
    if bundles not in right:
        wrong.append(f"the bundles are {bundles}, not one of {right}")
    return wrong + journal_faults(state, recording, at)


def daemon_faults(host, recording, at):
    """Starts a daemon and the next import. Returns their faults."""
    operation = recording.at(at)
    host.boot()
    host.start_daemon()
    wrong = [] if host.settle() else ["the host does not settle"]
    now = plain(seen(host))
    if now[:2] not in [known[:2] for known in right_states(recording, at)]:
        wrong.append(f"after a daemon started, the state is {now}")
    run = host.ctl(*operation["next"])
    now = plain(seen(host))
    if run.returncode != 0 or now != operation["whole"] or listing(host, "/var/lib/gpuhost/store/incoming"):
        wrong.append(f"the next import: exit {run.returncode} {run.stderr}, "
                     f"the state is {now}, not {operation['whole']}")
    host.kill_daemon()
    return wrong + state_faults(host.path("/var/lib/gpuhost"))[0] + ([host.tail()] if wrong else [])


def check_point(host, recording, cuts, point):
    image = cuts.cut(point.at, point.is_written())
    try:
        with recorded_disk.disk_of(host, recording.kind, image):
            wrong = disk_faults(host.path("/var/lib/gpuhost"), recording, point.at)
            if point.daemon and not wrong:
                wrong = daemon_faults(host, recording, point.at)
            return wrong
    except Exception:  # pylint: disable=broad-exception-caught
        return [traceback.format_exc() + host.tail()]


def check_points(directory, points):
    """Returns {number: faults} of points, which must be sorted by time."""
    recording = Recording(directory)
    host = FakeHost()
    try:
        host.install()
        cuts = recorded_disk.PowerCuts(os.path.join(directory, "base"), recording.log, host.scratch)
        return {point.number: faults for point in points if (faults := check_point(host, recording, cuts, point))}
    finally:
        host.close()


def check_all(directory, points):
    """Checks all points in one process per CPU, at most 8."""
    points = sorted(points, key=lambda point: point.at)
    count = min(len(os.sched_getaffinity(0)), 8)
    faults = {}
    with concurrent.futures.ProcessPoolExecutor(count, multiprocessing.get_context("fork")) as pool:
        slices = [pool.submit(check_points, directory, points[i::count]) for i in range(count)]
        for one in slices:
            faults |= one.result(PATIENCE)
    return faults


# --- the cases


def keep(directory, kind):
    kept = os.path.join(tap.TOP_BUILDDIR, f"power-cuts-{kind}")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(directory, kept, copy_function=recorded_disk.copy_sparse)
    return kept


def check_file_system(t, kind, directory):
    began = time.monotonic()
    record(kind, directory)
    recording = Recording(directory)
    points = points_of(recording)
    faults = check_all(directory, points)
    by_number = {point.number: point for point in points}
    kept = keep(directory, kind) if faults else None
    again = f"again: SEED={SEED} POINTS={POINTS} power_test.py --recording {kept} --point"
    told = [f"point {number}, {by_number[number].name}: {'; '.join(wrong)}\n{again} {number}"
            for number, wrong in faults.items()]
    events = recording.log.events
    daemons = sum(point.daemon for point in points)
    print(f"# {kind}: seed {SEED}, {len(events)} events, of them {events.count(None)} flushes; {len(points)} points, "
          f"a daemon at {daemons}; {time.monotonic() - began:.0f} s", flush=True)
    t.ok(len(points) - POINTS // len(recorded_disk.OPTIONS) > 200,
         f"{kind}: the log has the journals of all operations", len(points))
    t.ok(not faults, f"{kind}: no power cut damages the store or blocks the next import",
         f"{len(faults)} faults", *told[:10])


def check_mutant(t, directory, program, words):
    """Tests the test: a program that does not sync must cause faults."""
    library = os.path.join(tap.TOP_BUILDDIR, "tests/host/no-sync.so")
    def first(recorder, bundles):
        recorder.run("the first import", ("bundle", "import", bundles.path("site-1")))

    record("ext4", directory, first, LD_PRELOAD=library, NO_SYNC=program)
    recording = Recording(directory)
    at = range(recording.operations[0]["begin"], len(recording.log.events) + 1)
    faults = check_all(directory, [Point(i, "", i, 1, False) for i in at])
    t.ok(any(words in fault for wrong in faults.values() for fault in wrong),
         f"a {program} that does not sync causes: {words}", f"{len(at)} points", *list(faults.items())[:5])


def check_one(t, directory, number):
    point = points_of(Recording(directory))[number]
    point.daemon = True
    faults = check_points(directory, [point])
    t.ok(not faults, f"point {number} has no faults: {point.name}", *faults.get(number, []))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--recording")
    options.add_argument("--point", type=int)
    chosen = options.parse_args()
    if reason := recorded_disk.missing():
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    own_mounts.enter()
    t = tap.Tap()
    if chosen.recording:
        check_one(t, chosen.recording, chosen.point)
        t.done()
    directory = scratch()
    try:
        for kind in recorded_disk.OPTIONS:
            if reason := recorded_disk.unknown(kind, directory):
                t.skip(f"{kind}: no power cut damages the store or blocks the next import", reason)
                continue
            check_file_system(t, kind, os.path.join(directory, kind))
        check_mutant(t, os.path.join(directory, "worker"), "fake-worker", "digest mismatch")
        check_mutant(t, os.path.join(directory, "daemon"), "fake-daemon", "flushed records")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    t.done()


main()
