# SPDX-License-Identifier: Apache-2.0
"""SIGKILL, reboots and power cuts at the records of a swap's journal: the host always has one complete
driver after it."""

import json
import os
import random
import subprocess

from rig import case as cases
from rig import disklog, guest
from rig.case import case
from rig.host import Host

from . import expect
from .install import NEW, OLD

FULL = os.environ.get("FULL") == "1"
SEED = int(os.environ.get("SEED", "535"))
KILLS, CUTS, REBOOTS = 3, 4, 2  # number of each kind, without FULL=1

# Waits in a tight loop without forks for record $1 of a journal that does not exist yet; then kills, or
# reboots. "package" keeps the daemon down until its package has changed.
KILLER = r"""#!/bin/bash
shopt -s nullglob
declare -A old
for file in /var/lib/gpuhost/journal/*.jsonl; do old[$file]=1; done
pid=$(systemctl show -P MainPID gpuhostd)
touch /run/killer-ready
while :; do
    for file in /var/lib/gpuhost/journal/*.jsonl; do [[ ${old[$file]} ]] || break 2; done
done
while mapfile -t lines <"$file"; (( ${#lines[@]} < $1 )); do :; done
if [ "$2" = daemon ]; then
    kill -KILL "$pid"
elif [ "$2" = package ]; then
    kill -KILL "$pid"
    systemctl mask -q --runtime gpuhostd # before systemd restarts it
elif [ "$2" = host ]; then
    systemctl reboot
else
    until [[ $done ]]; do
        for group in /sys/fs/cgroup/system.slice/gpuhost-worker-*.service/cgroup.kill; do
            echo 1 >"$group" && done=1
        done
    done 2>/dev/null
fi
touch /run/killer-done
"""


def journal(host):
    """Returns the lines of the newest transaction's journal."""
    return host.check("cat \"$(ls -v /var/lib/gpuhost/journal/*.jsonl | tail -1)\"").splitlines()


def consistent(host, outcomes=("committed", "rolled-back")):
    """Expects one of the outcomes and the complete driver that matches it."""
    host.settle()
    swap = host.last_operation("driver.swap")
    state = swap["state"]
    assert state in outcomes, f"operation: {swap}"
    version = NEW if state == "committed" else OLD
    expect.driver(host, version, host.srcversions(version))


def start_killer(host, record, victim):
    host.write("/run/killer", KILLER, "0755")
    host.check(f"systemd-run -q --unit=killer --property=RuntimeMaxSec=120 /run/killer {record} {victim}")
    host.wait_until("test -e /run/killer-ready", 20, 0.1)


def kill_at(record, victim, last):
    def run(host):
        daemon = host.check("systemctl show -P MainPID gpuhostd")
        start_killer(host, record, victim)
        host.run(f"gpuhostctl driver swap {NEW} --no-wait; sleep 1", 60)
        host.wait_until("test -e /run/killer-done || ! systemctl is-active -q killer", 150)
        killed = host.run("test -e /run/killer-done").rc == 0
        # after the last step's record only the end's record follows, and no worker runs
        assert killed or victim == "worker" and record == last, "no process was killed"
        consistent(host)
        if victim == "daemon":
            # NRestarts does not suffice: a bus call before the restart activates the daemon without counting
            # there.
            assert host.check("systemctl show -P MainPID gpuhostd") != daemon, "the daemon was not killed"
    return run


def reboot_at(record):
    def run(host):
        start_killer(host, record, "host")
        host.start(f"gpuhostctl driver swap {NEW} --no-wait")
        host.wait_reboot()
        consistent(host, ("committed", "rolled-back", "cancelled"))
    return run


def sample(items, count, rng):
    return items if FULL or len(items) <= count else sorted(rng.sample(items, count))


@case("a swap's journal has at least four records, for crash cases", start="both")
def learn(host):
    host.swap(NEW)
    count = len(journal(host))
    assert count >= 4, f"only {count} records: {journal(host)}"
    rng = random.Random(SEED)
    for victim in ("daemon", "worker"):
        for record in sample(list(range(1, count)), KILLS, rng):
            cases.add(f"SIGKILL of the {victim} at record {record} of {count} leaves one driver",
                      kill_at(record, victim, count - 1), "both")
    for record in sample(list(range(1, count)), REBOOTS, rng):
        cases.add(f"a reboot at record {record} of {count} leaves one driver", reboot_at(record), "both")


def record(host, work, operate):
    """Runs `operate(host, log)` on a copy of the host whose disk writes are logged. Returns the disk
    before it and the log."""
    host.check("sync")
    host.power_off()
    work.mkdir()
    base, log = work / "base.raw", work / "writes.log"
    subprocess.run(["qemu-img", "convert", "-O", "raw", host.disk, base], check=True)
    log.touch()
    disk = guest.create_overlay(work / "disk.qcow2", base)
    with Host(host.image, disk, work, accel=host.accel, payload=host.payload, options=host.options, log=log) as recorded:
        recorded.wait_boot()
        recorded.settle()
        operate(recorded, log)
    return base, log


def cut_at(base, log, position, seed, judge):
    """Returns a case that boots the disk as a power cut after `position` entries leaves it, then runs
    `judge(host)`."""
    def run(host):
        work = host.work / f"cut-{position}"
        work.mkdir()
        raw = disklog.DiskLog(log).cut(base, work / "cut.raw", position, seed)
        disk = guest.create_overlay(work / "disk.qcow2", raw)
        with Host(host.image, disk, work, accel=host.accel, payload=host.payload, options=host.options) as after:
            after.wait_boot()
            try:
                judge(after)
            except Exception:
                print("# " + after.diagnose().replace("\n", "\n# "))
                raise
        subprocess.run(["rm", "-rf", work], check=True)
    return run


@case("a replayed power cut loses unflushed writes and preserves flushed ones", start="both")
def record_writes(host):
    work = host.work / "recorded"
    lines = []

    def operate(recorded, _):
        recorded.check("dd if=/dev/zero of=/root/b bs=4096 count=1 status=none; echo kept >/root/a; sync")
        recorded.check("tr '\\0' x </dev/zero | "
                       "dd of=/root/b bs=4096 count=1 iflag=fullblock oflag=direct conv=notrunc status=none")
        recorded.swap(NEW)
        lines.extend(journal(recorded))

    base, log = record(host, work, operate)
    prove(disklog.DiskLog(log), base, work)
    plan_cuts(disklog.DiskLog(log).line_cuts("".join(f"{line}\n" for line in lines).encode()), base, log)


def prove(writes, base, work):
    """Tests the replay: a flushed file is present, an unflushed write is present or absent, depending on
    the seed. The cut is directly after the write, because another process can flush the disk at any time."""
    unflushed = b"x" * 4096
    here = 1 + next(n for n, entry in enumerate(writes.entries)
                    if not entry.flags & (disklog.DISCARD | disklog.MARK) and unflushed in writes.data(entry))
    found = set()
    for seed in (None, *range(40)):  # each seed keeps the write with probability 1/2
        image = writes.cut(base, work / "proof.raw", here, seed)
        assert disklog.read_file(image, "/root/a", work) == b"kept\n", "a flushed file is lost"
        content = disklog.read_file(image, "/root/b", work)
        assert seed is not None or content == bytes(4096), "a write that was never flushed is present"
        found.add(content)
        if len(found) == 2:
            break
    assert found == {bytes(4096), unflushed}, f"{len(found)} outcomes, expected 2"
    image.unlink()


def parse(line):
    return json.loads(line[9:])


def is_past_return(line, steps):
    """Returns whether a swap continues after a power cut at this record: it is past the point of no
    return."""
    no_return = next(number for number, step in enumerate(steps) if step.get("forward"))
    return line["type"] == "end" or line.get("phase") == "apply" and line["step"] >= no_return


def ended(finished):
    return lambda host: consistent(host, ("committed",) if finished else ("rolled-back", "cancelled"))


def plan_cuts(cuts, base, log):
    steps = parse(cuts[0][0])["plan"]["steps"]
    assert len(cuts) >= 4, f"only {len(cuts)} records in the log of writes"
    rng = random.Random(SEED)
    chosen = sample(list(range(len(cuts))), CUTS, rng)
    for n in chosen:
        line, position = cuts[n]
        name = f"a power cut at record {n + 1} of {len(cuts)} leaves one driver"
        cases.add(name, cut_at(base, log, position, rng.randrange(1 << 30), ended(is_past_return(parse(line), steps))), "both")
