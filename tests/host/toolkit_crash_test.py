# SPDX-License-Identifier: Apache-2.0
"""Import, selection and removal of a toolkit are interrupted at every record of their journals: by an error,
SIGKILL of worker and daemon, and a power cut (crash.py). The selection is also interrupted at each change of
a name (die_at.c).

After each fault the link points to a complete toolkit, config.toml is old or new, and the store has a toolkit
completely or not at all.
"""
import os
import time

import tap
from crash import Case, Recording, check_crashes, check_deaths, check_errors, listing, restore
from fake_host import FakeHost, read, write
from programs import PATIENCE
from toolkit_files import CONFIG, CURRENT, PROGRAM, STORE, program, write_debs

OLD, NEW = "1.18.1", "1.20.0"
IMPORT, SELECT, REMOVE = 3, 4, 5  # after one import and one apply


def intact(host, version):
    """Returns whether the store's toolkit is complete, or None if it is not in the store."""
    place = host.path(f"{STORE}/{version}")
    if not os.path.isdir(place):
        return None
    digests = os.listdir(place)
    path = f"{place}/{digests[0]}/{PROGRAM}" if len(digests) == 1 else ""
    return os.path.exists(path) and open(path, "rb").read() == program(version, "nvidia-container-runtime")


def selected(host):
    target = host.path(CURRENT)
    return os.readlink(target).partition("/")[0] if os.path.islink(target) else ""


def mode(host):
    return "jit-cdi" if 'mode = "jit-cdi"' in read(host.path(CONFIG)) else "auto" if 'mode = "auto"' in read(host.path(CONFIG)) else ""


def end_faults(host, operation, outcomes):
    end = host.journal(operation)[-1]
    wrong = [] if end.get("outcome") in outcomes else [f"outcome is {end.get('outcome')}, not one of {outcomes}: {end.get('error')}"]
    for path in ("/run/gpuhost/jobs", "/var/lib/gpuhost/staging"):
        if listing(host, path):
            wrong.append(f"left in {path}: {listing(host, path)}")
    if not os.path.exists(host.path(f"{CURRENT}/{PROGRAM}")):
        wrong.append("the link does not point to a toolkit")
    return end.get("outcome"), wrong


def import_faults(host, outcomes):
    outcome, wrong = end_faults(host, IMPORT, outcomes)
    if intact(host, NEW) is not (True if outcome == "committed" else None):
        wrong.append(f"{outcome}, but {NEW} is complete: {intact(host, NEW)}")
    if (intact(host, OLD), selected(host)) != (True, OLD):
        wrong.append("the selection has changed")
    return wrong


def select_faults(host, outcomes):
    outcome, wrong = end_faults(host, SELECT, outcomes)
    wanted = (NEW, "jit-cdi") if outcome == "committed" else (OLD, "auto")
    if (selected(host), mode(host)) != wanted:
        wrong.append(f"{outcome}: selected is {selected(host)} with mode {mode(host)}, not {wanted}")
    if outcome == "committed" and host.plan("--only", "toolkit")["steps"]:
        wrong.append(f"the plan is not empty: {host.ctl('apply', '--dry-run').stdout}")
    return wrong


def remove_faults(host, outcomes):
    outcome, wrong = end_faults(host, REMOVE, outcomes)
    if intact(host, OLD) is not (None if outcome in ("committed", "incomplete") else True):  # incomplete: past the point of no return
        wrong.append(f"{outcome}, but {OLD} is complete: {intact(host, OLD)}")
    if outcome == "committed" and os.path.exists(host.path(f"{STORE}/.trash")):
        wrong.append("its files are not deleted")
    return wrong


def outcomes(recording, moment, power_cut, _earlier):
    if not power_cut or moment.ended:
        return ("committed",)
    return ("committed", "rolled-back", "failed", "cancelled")


def import_outcomes(recording, moment, power_cut, _earlier):
    """Returns the outcomes that are right for an import. A restarted daemon no longer has the files."""
    return ("committed",) if moment.ended else ("committed", "failed", "cancelled", "incomplete")


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
        host.kill_daemon()
        host.kill_workers()
        host.boot()
        host.start_daemon()
    host.settle()
    eventually(lambda: case.journal()[-1].get("type") == "end" and host.json("status")["operation"] is None, "the operation did not end")
    return True


def check_changes(t, case, words):
    for who, what, ends in ("worker", "SIGKILL", ("committed",)), ("both", "power cut", ("committed", "rolled-back", "cancelled")):
        number = 1
        while die(case.host, case, number, who):
            wrong = case.faults(case.host, ends)
            t.ok(not wrong,
                 f"{words}: recovers from {what} before change {number}", *wrong, case.host.tail() if wrong else "")
            case.host.kill_daemon()
            number += 1
        t.ok(number > 3, f"{words}: the worker makes more than 2 changes", number)


def check_case(t, case, words, deaths=True):
    recording = Recording(case, f"run-{case.operation}")
    t.equal(recording.outcome, "committed", f"{words} is committed")
    check_crashes(t, case, recording, words)
    check_errors(t, case, recording, words)
    for who in ("worker", "daemon") if deaths else ():
        check_deaths(t, case, who)
    restore(case.host, recording.moments[-1].tree)


def main():
    t = tap.Tap()
    host = FakeHost(gpus=())
    try:
        host.install()
        write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Runtime]\nManage=no\n[CDI]\nManage=no\n")
        host.start_daemon()
        host.settle()
        host.ctl("toolkit", "import", *write_debs(os.path.join(host.scratch, "old"), OLD), check=0)
        host.ctl("apply", check=0)
        host.kill_daemon()
        packages = write_debs(os.path.join(host.scratch, "new"), NEW)
        check_case(t, Case(host, IMPORT, ("toolkit", "import", *packages), import_faults, import_outcomes), "an import", deaths=False)
        write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Runtime]\nManage=no\n[CDI]\nManage=no\n[Toolkit]\nMode=jit-cdi\n")
        select = Case(host, SELECT, ("apply",), select_faults, outcomes)
        check_case(t, select, "a selection")
        check_changes(t, select, "a selection")
        restore(host, select.start)
        host.start_daemon()
        host.settle()
        host.ctl("apply", check=0)
        host.kill_daemon()
        check_case(t, Case(host, REMOVE, ("toolkit", "remove", OLD), remove_faults, outcomes, no_return="toolkit.purge"), "a removal")
    finally:
        host.close()
    t.done()


main()
