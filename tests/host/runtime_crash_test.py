# SPDX-License-Identifier: Apache-2.0
"""The configuration of a runtime is interrupted at every record of its journal by an error, SIGKILL of worker
and daemon, and a power cut (crash.py).

After each fault containerd starts, its files are all old or all new, and it has loaded them.
"""
import os
import time

import tap
from crash import Case, Recording, check_crashes, check_deaths, check_errors, listing, restore
from fake_host import FakeHost, read, write
from programs import PATIENCE
from runtime_files import CONFIG, DROP_IN, PLAIN, dump, install_containerd, loaded, systemctl

CONFIGURE = 1


def faults(host, outcomes):
    wrong = []
    end = host.journal(CONFIGURE)[-1]
    if end.get("type") != "end" or end.get("outcome") not in outcomes:
        wrong.append(f"outcome is {end.get('outcome')}, not one of {outcomes}: {end.get('error')}")
    boot = int(host.read("/proc/sys/kernel/random/boot_id").rpartition("-")[2])
    if boot > 1 and not os.path.exists(host.path(f"/proc/{host.read('/fake-containerd/pid')}")):
        systemctl(host, "start")  # after a power cut containerd starts when the host is ready
    has_drop_in, imports = os.path.exists(host.path(DROP_IN)), DROP_IN in read(host.path(CONFIG))
    if has_drop_in != imports:
        wrong.append(f"only one file is changed: drop-in: {has_drop_in}, import: {imports}")
    if not imports and read(host.path(CONFIG)) != PLAIN:
        wrong.append(f"config.toml is not restored: {read(host.path(CONFIG))}")
    if end.get("outcome") == "committed" and not imports:
        wrong.append("containerd is not configured")
    if dump(host) is None:
        wrong.append("containerd does not start with its files")
    if loaded(host) != dump(host):
        wrong.append(f"containerd runs with another configuration: {loaded(host)}")
    for path in ("/run/gpuhost/jobs", "/var/lib/gpuhost/staging"):
        if listing(host, path):
            wrong.append(f"left in {path}: {listing(host, path)}")
    if end.get("outcome") == "committed" and host.plan("--only", "runtime")["steps"]:
        wrong.append(f"the plan is not empty: {host.ctl('apply', '--dry-run').stdout}")
    return wrong


def outcomes(recording, moment, power_cut, _earlier):
    if not power_cut or moment.ended:
        return ("committed",)
    return ("committed", "rolled-back", "cancelled")


def eventually(is_so, what):
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.01)


def die(host, case, number, who):
    """Runs the operation once; its worker dies before its `number`th change of a name. Returns False if it
    makes fewer."""
    restore(host, case.start)
    path = host.path("/fake-worker/die-at")
    write(path, f"{number} {who}\n")
    host.environment |= {"LD_PRELOAD": os.path.join(tap.TOP_BUILDDIR, "tests/host/die-at.so"), "DIE_AT": path}
    host.start_daemon()
    host.settle()
    host.ctl(*case.words, "--no-wait")
    eventually(lambda: not os.path.exists(path) or case.journal()[-1].get("type") == "end", "the worker neither died nor ended")
    for name in "LD_PRELOAD", "DIE_AT":
        del host.environment[name]
    if os.path.exists(path):
        host.kill_daemon()
        return False
    if who == "both":
        left = [name for name in listing(host, os.path.dirname(DROP_IN)) if name != os.path.basename(DROP_IN)]
        if left:
            raise AssertionError(f"an incomplete file among drop-ins: {left}")
        host.kill_daemon()
        host.kill_workers()
        host.boot()
        host.start_daemon()
    host.settle()
    eventually(lambda: case.journal()[-1].get("type") == "end" and host.json("status")["operation"] is None, "the operation did not end")
    return True


def check_changes(t, case, words):
    """The worker dies at each change of a name, until a run has fewer changes."""
    host = case.host
    for who, what, ends in ("worker", "SIGKILL", ("committed",)), ("both", "power cut", ("committed", "rolled-back", "cancelled")):
        number = 1
        while die(host, case, number, who):
            wrong = faults(host, ends)
            t.ok(not wrong,
                 f"{words}: recovers from {what} before change {number}", *wrong, host.tail() if wrong else "")
            host.kill_daemon()
            number += 1
        t.ok(number > 8, f"{words}: the worker makes more than 7 changes", number)


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        host.install()
        install_containerd(host)
        case = Case(host, CONFIGURE, ("runtime", "configure"), faults, outcomes)
        recording = Recording(case, "run")
        t.equal(recording.outcome, "committed", "the recorded configuration is committed")
        check_crashes(t, case, recording, "configure")
        check_errors(t, case, recording, "configure")
        for who in "worker", "daemon":
            check_deaths(t, case, who)
        check_changes(t, case, "configure")
    finally:
        host.close()
    t.done()


main()
