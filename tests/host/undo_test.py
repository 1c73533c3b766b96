# SPDX-License-Identifier: Apache-2.0
"""The undo of a driver swap is obstructed at each gate: by a process that uses the driver for good or for a
moment, a client unit that starts, a full disk, a cancel, a power cut on a full disk, and endless hangs.

In each case the host ends with one version of the driver, or requires a reboot and boots into one
(one_version.py).

undo_test.py                                    SEED=535 for a sample of the gates, FULL=1: each
"""
import json
import os
import shutil
import signal
import threading
import time

import one_version
import own_mounts
import tap
from crash import FULL, Case, restore
from fake_host import CLIENT, NEW, OLD, FakeHost, prepare, write, write_driver
from gates import Gates
from programs import PATIENCE, end

STATE = "/var/lib/gpuhost"
SWAP = 6  # number of the operation, after four imports and the first load
NO_RETURN = "apply autoload.unblock before"
FAILS = "apply driver.validate before"
SETTINGS = "[Driver]\nTerminateGrace=300ms\n"
SAMPLE = 8  # gates for each harm
SIZE = 192 << 20  # preflight needs part of it free


def hold(host):
    host.add_process(812, "python3", "train.service")


def hold_for_a_moment(host):
    hold(host)
    threading.Timer(0.15, shutil.rmtree, (host.path("/proc/812"), True)).start()


def start_client(host):
    """Starts a client unit, as udev does when the driver is loaded."""
    host.add_process(4711, "persistenced", CLIENT)
    write(host.path(f"/sys/fs/cgroup/system.slice/{CLIENT}/cgroup.procs"), "4711\n")


def cancel(host):
    host.start_ctl("operation", "cancel", str(SWAP), "--no-wait").wait(30)


def fill(host):
    own_mounts.fill(host.path(STATE))


HARMS = {"a process uses the driver": hold, "a process uses the driver for a moment": hold_for_a_moment,
         "a client unit starts": start_client, "the disk is full": fill, "the swap is cancelled": cancel}


class Swaps:
    """A host with its state on a separate disk that can be filled, and the gates of a failing swap."""

    def __init__(self, host):
        self.host = host
        self.start = os.path.join(host.scratch, "start")
        self.kept = os.path.join(host.scratch, "state")
        write(host.path("/etc/gpuhost/gpuhostd.conf"), SETTINGS)
        self.case = Case(host, SWAP, ("driver", "swap", NEW), None, None)

    def again(self):
        """Restores the host as before the swap."""
        own_mounts.detach(self.host.path(STATE))
        restore(self.host, self.case.start)
        self.mount()

    def mount(self):
        state = self.host.path(STATE)
        os.rename(state, self.kept)
        os.mkdir(state)
        own_mounts.mount("tmpfs", state, "tmpfs", f"size={SIZE}")
        shutil.copytree(self.kept, state, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(self.kept)

    def run(self, decide, **variables):
        """Runs one swap with the gates' answers of `decide`."""
        self.again()
        gates = Gates(self.host, decide)
        self.host.start_daemon(**variables)
        self.host.settle()
        self.host.ctl("driver", "swap", NEW)
        gates.close()

    def gates(self):
        """Returns the gates of a swap that fails at its validation and is undone."""
        passed = []

        def decide(where, count):
            passed.append((where, count))
            return "error failed" if (where, count) == (FAILS, 1) else "go"

        self.run(decide)
        self.host.kill_daemon()
        return [gate for gate in passed if not gate[0].startswith("preflight")]


def outcome(host):
    return host.journal(SWAP)[-1].get("outcome")


def check_harm(t, swaps, name, gate, fails=True):
    host = swaps.host

    def decide(where, count):
        if (where, count) == gate:
            HARMS[name](host)
        return "error failed" if fails and (where, count) == (FAILS, 1) else "go"

    swaps.run(decide)
    own_mounts.free(host.path(STATE))
    wrong = one_version.mixture(host)
    too_late = HARMS[name] is start_client and gate[0] in ("undo units.quiesce after", "undo modules.converge before")
    if HARMS[name] is not hold and not too_late and outcome(host) in ("incomplete", "reboot-required"):
        wrong.append(f"the outcome is {outcome(host)}: {host.journal(SWAP)[-1]}")
    t.ok(not wrong,
         f"{name} at '{gate[0]}': {outcome(host)}, one version", *wrong, host.tail() if wrong else "")
    host.kill_daemon()


def check_harms(t, swaps, gates):
    for name in HARMS:
        for gate in swaps.case.chosen(gates, SAMPLE):
            check_harm(t, swaps, name, gate)


def check_late_cancel(t, swaps):
    """A cancel is refused from the moment at which containers may use the new driver."""
    host = swaps.host
    for where in (NO_RETURN, "apply units.start before", "apply cdi.publish before"):
        said = []

        def decide(at, _count, where=where, said=said):
            if at == where and not said:
                said.append(host.ctl("operation", "cancel", str(SWAP), "--no-wait"))
                hold(host)
            return "go"

        swaps.run(decide)
        t.ok(said[0].returncode != 0 and "point of no return" in said[0].stderr, f"a cancel at '{where}' is refused", said[0].stderr)
        t.equal((outcome(host), one_version.parts(host)["kernel"]), ("committed", NEW),
                f"the swap is committed after a cancel at '{where}'")
        one_version.check(t, host, f"the host has one version after a cancel at '{where}'")
        host.kill_daemon()


def check_holder(t, swaps):
    """A process that uses the new driver keeps it loaded until it ends or the host reboots."""
    host = swaps.host

    def decide(where, count):
        if (where, count) == (FAILS, 1):
            hold(host)
            return "error failed"
        return "go"

    swaps.run(decide)
    end = host.journal(SWAP)[-1]
    t.equal(end["outcome"], "reboot-required", "a process that keeps the driver requires a reboot")
    t.ok("812 (python3)" in end["error"]["message"], "the swap's error names the process", end)
    found = one_version.parts(host)
    t.equal((found["kernel"], found["selection"], found["containers"]), (NEW, OLD, None),
            "the old driver is selected, no specification is published")
    t.equal(one_version.without_firmware(host), [], "the loaded driver's firmware is available")
    t.equal(one_version.state(host), "reboot-required", "status reports that a reboot is required")
    shutil.rmtree(host.path("/proc/812"))
    applied = host.ctl("apply")
    t.ok(applied.returncode == 0 and one_version.state(host) == "idle",
         "apply after the process ended needs no reboot", applied.stdout, applied.stderr)
    one_version.check(t, host, "the host has one version after apply without a reboot")
    host.kill_daemon()


def check_endless_hangs(t, swaps):
    for where, ended in (("undo modules.converge before", "reboot-required"), ("undo driver.select before", "incomplete"),
                         ("undo units.stop before", "incomplete")):
        def decide(at, count, where=where):
            return Gates.HANG if at == where else "error failed" if (at, count) == (FAILS, 1) else "go"

        swaps.run(decide, FAKE_DAEMON_DEADLINE_MS="1500")
        wrong = one_version.mixture(swaps.host)
        t.ok(outcome(swaps.host) == ended and not wrong,
             f"an endless hang at '{where}' ends {ended}, with one version", outcome(swaps.host), *wrong)
        swaps.host.kill_daemon()


def check_first_driver(t):
    """The first driver fails. A client unit has started with it, and is stopped for the undo."""
    host = FakeHost()
    try:
        host.install()
        write(host.path("/etc/gpuhost/gpuhostd.conf"), SETTINGS)
        host.start_daemon()
        host.settle()
        modules, packages = write_driver(os.path.join(host.scratch, NEW), NEW)
        host.ctl("driver", "import", *packages, check=0)
        host.ctl("driver", "import", *modules, check=0)

        def decide(where, _count):
            if where == FAILS:
                start_client(host)
                return "error failed"
            return "go"

        gates = Gates(host, decide)
        host.ctl("driver", "swap", NEW)
        gates.close()
        end = host.journal(3)[-1]
        t.equal((end.get("outcome"), one_version.kernel(host)), ("rolled-back", None),
                "a failing first driver with a client unit is unloaded")
        one_version.check(t, host, "a failing first driver leaves no part installed")
    finally:
        host.close()


def check_full_after_power_cut(t, swaps):
    """The disk is full after a reboot, so the undo cannot compute an index of modules."""
    host, copy = swaps.host, os.path.join(swaps.host.scratch, "cut")

    def decide(where, count):
        if (where, count) == (FAILS, 1):
            host.kill_daemon()
            shutil.copytree(host.root, copy, symlinks=True, ignore=shutil.ignore_patterns("gate"))
            return None
        return "go"

    swaps.again()
    gates = Gates(host, decide)
    host.start_daemon()
    host.settle()
    with host.start_ctl("driver", "swap", NEW) as ctl:
        deadline = time.monotonic() + PATIENCE
        while not os.path.isdir(copy) or host.daemon:
            if time.monotonic() > deadline:
                raise TimeoutError("the swap did not reach its validation")
            time.sleep(0.02)
        gates.close()
        end(ctl, signal.SIGKILL)
    host.kill_workers()
    own_mounts.detach(host.path(STATE))
    restore(host, copy)
    swaps.mount()
    fill(host)
    host.boot()
    host.start_daemon()
    host.settle()
    t.equal(outcome(host), "rolled-back", "a swap after a power cut is undone on a full disk")
    one_version.check(t, host, "the host has one version after an undo on a full disk")
    host.kill_daemon()


def main():
    own_mounts.enter()
    t, began = tap.Tap(), time.monotonic()
    host = FakeHost()
    try:
        prepare(host)
        swaps = Swaps(host)
        gates = swaps.gates()
        t.ok(len(gates) > 20 and gates[-1][0].startswith("undo"),
             "a failing swap passes more than 20 gates", json.dumps(gates), json.dumps(host.journal(SWAP)[1:3]))
        check_holder(t, swaps)
        check_late_cancel(t, swaps)
        check_full_after_power_cut(t, swaps)
        check_first_driver(t)
        check_endless_hangs(t, swaps)
        check_harms(t, swaps, gates)
        print(f"# {len(gates)} gates, {'each' if FULL else f'{SAMPLE} of them for each harm'}; {t.count} cases, {time.monotonic() - began:.0f} s")
    finally:
        own_mounts.detach(host.path(STATE))
        host.close()
    t.done()


if __name__ == "__main__":
    main()
