# SPDX-License-Identifier: Apache-2.0
"""Power cuts during runtime configure and restore, on a disk that keeps only flushed writes
(recorded_disk.py).

After each of them containerd starts with its files, and reported results are on the disk. After the start of
a daemon the files are all old or all new, and containerd has loaded them. The same operation then completes.

SEED=535, POINTS=80 random points besides one for a third of the events; FULL=1: 200, all events, more daemons.
"""
import concurrent.futures
import multiprocessing
import os
import random
import shutil
import sys
import traceback

import own_mounts
import recorded_disk
import tap
from fake_host import FakeHost, read, scratch
from runtime_files import CONFIG, DROP_IN, PLAIN, dump, install_containerd, loaded, systemctl

FULL = os.environ.get("FULL") == "1"
SEED, POINTS = os.environ.get("SEED", "535"), int(os.environ.get("POINTS", "200" if FULL else "80"))
DAEMONS = 60 if FULL else 12  # for each file system; one or two seconds each
PATIENCE = 300
VERBS = ("configure", "unconfigure", "configure")


def state(host):
    """Returns (config.toml, drop-in or None)."""
    return read(host.path(CONFIG)), read(host.path(DROP_IN)) if os.path.exists(host.path(DROP_IN)) else None


class Recording:
    """A recording: files of the initial disk and the log; for each verb its begin and end as event counts,
    and its result."""
    def __init__(self, kind, directory, **environment):
        os.makedirs(directory)
        self.kind, self.base, self.log, self.spans = kind, os.path.join(directory, "base"), os.path.join(directory, "log"), []
        image, disk = (os.path.join(directory, name) for name in ("image", "disk"))
        host = FakeHost()
        host.environment.update(environment)
        try:
            recorded_disk.make_image(kind, self.base)
            with recorded_disk.disk_of(host, kind, self.base):
                host.install()
                install_containerd(host)
            recorded_disk.copy_sparse(self.base, image)
            with recorded_disk.recorded(image, self.log, disk), recorded_disk.disk_of(host, kind, disk):
                host.start_daemon()
                host.settle()
                sizes = [self._run(host, verb) for verb in VERBS]
        finally:
            host.close()
        log = recorded_disk.Log(self.log)
        self.flushes, self.events = log.events.count(None), len(log.events)
        for begin, end, before, after in sizes:
            self.spans.append((log.position(begin), log.position(end), before, after))

    def _run(self, host, verb):
        begin, before = os.stat(self.log).st_size, state(host)
        done = host.ctl("runtime", verb)
        if done.returncode != 0:
            raise AssertionError(f"runtime {verb}: {done.stdout}{done.stderr}{host.tail()}")
        return begin, os.stat(self.log).st_size, before, state(host)

    def at(self, event):
        """Returns (verb, whether it had ended, state before, state after) of the last operation."""
        number = max((i for i, span in enumerate(self.spans) if span[0] <= event), default=0)
        _, end, before, after = self.spans[number]
        return VERBS[number], event >= end, before, after


class Point:
    def __init__(self, number, at, share, daemon):
        self.number, self.at, self.share, self.daemon = number, at, share, daemon

    def is_written(self):
        chance = random.Random(f"{SEED}/{self.number}")
        return lambda: chance.random() < self.share


def points_of(recording):
    chance = random.Random(SEED)
    first, last = recording.spans[0][0], recording.events
    events = range(first, last + 1)
    wanted = [(at, 1) for at in (events if FULL else chance.sample(events, len(events) // 3))]
    wanted += [(chance.randint(first, last), chance.choice((0, 0.1, 0.5, 0.9))) for _ in range(POINTS // len(recorded_disk.OPTIONS))]
    daemons = set(chance.sample(range(len(wanted)), min(DAEMONS, len(wanted))))
    return [Point(i, at, share, i in daemons) for i, (at, share) in enumerate(wanted)]


def disk_faults(host, recording, at):
    verb, ended, before, after = recording.at(at)
    config, drop_in = state(host)
    wrong = [] if dump(host) is not None else [f"containerd does not start with {config!r} and {drop_in!r}"]
    if ended and (config, drop_in) != after:
        wrong.append(f"'runtime {verb}' had ended, but the files are {config!r} and {drop_in!r}")
    if config not in (before[0], after[0]) or drop_in not in (None, before[1], after[1]):
        wrong.append(f"a file is neither old nor new: {config!r}, {drop_in!r}")
    return wrong


def daemon_faults(host, recording, at):
    """Starts a daemon and repeats the operation. Returns the faults."""
    verb, _, before, after = recording.at(at)
    host.boot()
    host.start_daemon()
    wrong = [] if host.settle() else ["the host does not settle"]
    if not os.path.exists(host.path(f"/proc/{host.read('/fake-containerd/pid')}")):
        systemctl(host, "start")  # systemd starts it when the host is ready
    if state(host) not in (before, after):
        wrong.append(f"files of two states: {state(host)}")
    if loaded(host) != dump(host):
        wrong.append(f"containerd runs with another configuration: {loaded(host)}")
    done = host.ctl("runtime", verb)
    if done.returncode != 0 or state(host) != after:
        wrong.append(f"'runtime {verb}' then leaves {state(host)}: {done.stdout}{done.stderr}")
    done = host.ctl("runtime", "unconfigure")
    if done.returncode != 0 or state(host) != (PLAIN, None):
        wrong.append(f"'runtime unconfigure' leaves {state(host)}: {done.stdout}{done.stderr}")
    host.kill_daemon()
    return wrong + ([host.tail()] if wrong else [])


def check_point(host, recording, cuts, point):
    image = cuts.cut(point.at, point.is_written())
    try:
        with recorded_disk.disk_of(host, recording.kind, image):
            wrong = disk_faults(host, recording, point.at)
            if point.daemon and not wrong:
                wrong = daemon_faults(host, recording, point.at)
            return wrong
    except Exception:  # pylint: disable=broad-exception-caught
        return [traceback.format_exc() + host.tail()]


def check_points(recording, points):
    """Returns {number: faults} of points, which must be sorted by time."""
    host = FakeHost()
    try:
        host.install()
        install_containerd(host)
        cuts = recorded_disk.PowerCuts(recording.base, recorded_disk.Log(recording.log), host.scratch)
        return {point.number: faults for point in points if (faults := check_point(host, recording, cuts, point))}
    finally:
        host.close()


def check_all(recording, points):
    """Checks all points in one process per CPU, at most 8."""
    count = min(len(os.sched_getaffinity(0)), 8)
    faults = {}
    with concurrent.futures.ProcessPoolExecutor(count, multiprocessing.get_context("fork")) as pool:
        for one in [pool.submit(check_points, recording, points[i::count]) for i in range(count)]:
            faults |= one.result(PATIENCE)
    return faults


def check_file_system(t, kind, directory):
    recording = Recording(kind, directory)
    points = sorted(points_of(recording), key=lambda point: point.at)
    faults = check_all(recording, points)
    print(f"# {kind}: seed {SEED}, {recording.events} events, of them {recording.flushes} flushes; {len(points)} points", flush=True)
    told = [f"{point.number} (event {point.at}, {point.share} of unflushed writes): {'; '.join(faults[point.number])}"
            for point in points if point.number in faults]
    t.ok(not faults,
         f"{kind}: containerd starts and operations complete after power cuts", f"{len(faults)} faults", *told[:8])


def check_mutant(t, directory):
    """Tests the test: a worker that does not sync must cause faults."""
    library = os.path.join(tap.TOP_BUILDDIR, "tests/host/no-sync.so")
    recording = Recording("ext4", directory, LD_PRELOAD=library, NO_SYNC="fake-worker")
    faults = check_all(recording, [Point(at, at, 1, False) for at in range(recording.spans[0][0], recording.events + 1)])
    t.ok(faults, "a worker that does not sync causes faults", recording.events)


def main():
    if reason := recorded_disk.missing():
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    own_mounts.enter()
    t = tap.Tap()
    directory = scratch()
    try:
        for kind in recorded_disk.OPTIONS:
            if reason := recorded_disk.unknown(kind, directory):
                t.skip(f"{kind}: containerd starts and operations complete after power cuts", reason)
                continue
            check_file_system(t, kind, os.path.join(directory, kind))
        check_mutant(t, os.path.join(directory, "mutant"))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    t.done()


main()
