# SPDX-License-Identifier: Apache-2.0
"""A runtime is configured, ended at every record of its journal by an error, by SIGKILL of worker and daemon, and by a power cut (crash.py).

Whatever happens, containerd starts with what is there, its files are all of before or all as they were to be, and it runs with
them.
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
        systemctl(host, "start")  # after a power cut it starts when the host is ready
    has_drop_in, imports = os.path.exists(host.path(DROP_IN)), DROP_IN in read(host.path(CONFIG))
    if has_drop_in != imports:
        wrong.append(f"one file of two: ours is there: {has_drop_in}, it is imported: {imports}")
    if not imports and read(host.path(CONFIG)) != PLAIN:
        wrong.append(f"its file is not as before: {read(host.path(CONFIG))}")
    if end.get("outcome") == "committed" and not imports:
        wrong.append("it is not configured")
    if dump(host) is None:
        wrong.append("containerd does not start with what is there")
    if loaded(host) != dump(host):
        wrong.append(f"it runs with another configuration: {loaded(host)}")
    for path in ("/run/gpuhost/jobs", "/var/lib/gpuhost/staging"):
        if listing(host, path):
            wrong.append(f"left in {path}: {listing(host, path)}")
    if end.get("outcome") == "committed" and host.json("plan", "--only", "runtime")["steps"]:
        wrong.append(f"there is more to do: {host.ctl('plan').stdout}")
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
    """One run whose worker dies before its `number`th change of a name. False where it makes fewer."""
    restore(host, case.start)
    path = host.path("/fake-worker/die-at")
    write(path, f"{number} {who}\n")
    host.environment |= {"LD_PRELOAD": os.path.join(tap.TOP_BUILDDIR, "tests/host/die-at.so"), "DIE_AT": path}
    host.start_daemon()
    host.settle()
    host.ctl(*case.words, "--no-wait")
    eventually(lambda: not os.path.exists(path) or case.journal()[-1].get("type") == "end", "it dies, or is done")
    for name in "LD_PRELOAD", "DIE_AT":
        del host.environment[name]
    if os.path.exists(path):
        host.kill_daemon()
        return False
    if who == "both":
        left = [name for name in listing(host, os.path.dirname(DROP_IN)) if name != os.path.basename(DROP_IN)]
        if left:
            raise AssertionError(f"half of a file among drop-ins: {left}")
        host.kill_daemon()
        host.kill_workers()
        host.boot()
        host.start_daemon()
    host.settle()
    eventually(lambda: case.journal()[-1].get("type") == "end" and host.json("status")["operation"] is None, "it ends")
    return True


def check_changes(t, case, words):
    """It dies at each change of a name; those of the first run say how many there are."""
    host = case.host
    for who, what, ends in ("worker", "SIGKILL", ("committed",)), ("both", "power cut", ("committed", "rolled-back", "cancelled")):
        number = 1
        while die(host, case, number, who):
            wrong = faults(host, ends)
            t.ok(not wrong, f"{words}: {what} before change {number}", *wrong, host.tail() if wrong else "")
            host.kill_daemon()
            number += 1
        t.ok(number > 8, f"{words}: there are changes to die at", number)


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        host.install()
        install_containerd(host)
        case = Case(host, CONFIGURE, ("runtime", "configure"), faults, outcomes)
        recording = Recording(case, "run")
        t.equal(recording.outcome, "committed", "a runtime is configured")
        check_crashes(t, case, recording, "configure")
        check_errors(t, case, recording, "configure")
        for who in "worker", "daemon":
            check_deaths(t, case, who)
        check_changes(t, case, "configure")
    finally:
        host.close()
    t.done()


main()
