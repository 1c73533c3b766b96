# SPDX-License-Identifier: Apache-2.0
"""A system that does not come up, mended from another one: gpuhostctl --root= where it is mounted.

A swap there was cut off at any of its records; then another driver is selected, which is cut off too. Whatever happened, the
system that boots next has one working driver, the one that was selected if the rescue came to its end.
"""
import os
import signal
import subprocess
import time

import own_mounts
import tap
from crash import Case, Recording, listing, restore
from driver_files import KERNEL
from fake_host import NEW, OLD, FakeHost, prepare, read, write
from gates import Gates
from initramfs_files import IMAGE, STALE, put
from one_version import mixture
from programs import end

SWAP = 6  # the operation, after four imports and the first load
RUNNING = ("/proc", "/sys", "/run", "/dev")


def install_daemon(host):
    """gpuhostctl starts what PATH has; a test's has workers that play the kernel."""
    programs = os.path.join(host.scratch, "bin")
    tests = os.path.join(tap.TOP_BUILDDIR, "tests/host")
    write(f"{programs}/gpuhostd", f'#!/bin/sh\nexec {tests}/fake-daemon --worker={tests}/fake-worker "$@"\n')
    os.chmod(f"{programs}/gpuhostd", 0o755)
    host.environment["PATH"] = f"{programs}:{os.environ['PATH']}"


def rescue(host, *words, **more):
    return host.ctl(*words, f"--root={host.root}", **more)


def files(host):
    """Each with all that a change would show in."""
    return subprocess.run(["find", host.root, "-printf", "%p %l %s %T@ %m\n"], capture_output=True, check=True, text=True).stdout


def turn_off(host):
    """What is left of a system that does not run, as its file system is found on the disk."""
    for directory in RUNNING:
        for path in listing(host, directory):
            subprocess.run(["rm", "-rf", host.path(f"{directory}/{path}")], check=True)


def boot(host):
    """What does the system run once it is up?"""
    host.boot()
    host.start_daemon()
    settled = host.settle()
    version, plan, wrong = host.loaded().get("nvidia"), host.json("plan")["steps"], mixture(host)
    host.kill_daemon()
    return version if settled and not plan and not wrong else f"{version}, {wrong}, settled {settled}, to do {plan}"


def check_look(t, host, start):
    restore(host, start)
    turn_off(host)
    before = files(host)
    versions = rescue(host, "driver", "list", check=0).stdout
    t.ok(f"{OLD}" in versions and "selected" in versions and "loaded" not in versions, "driver list says what it would boot", versions)
    t.ok(KERNEL in rescue(host, "driver", "show", NEW, check=0).stdout, "driver show says for which kernels a version is")
    t.ok(OLD in rescue(host, "driver", "history", check=0).stdout, "driver history has what became of the driver")
    t.ok(f"load driver {OLD}" in rescue(host, "operation", "list", check=0).stdout, "operation list has its operations")
    t.ok("validate driver" in rescue(host, "operation", "show", check=0).stdout, "operation show its steps")
    plan = rescue(host, "driver", "select", NEW, "--dry-run", check=0).stdout
    t.ok(f"kernel {KERNEL} boots {OLD}, wanted: {NEW}" in plan, "a dry run says what would be done", plan)
    t.equal(files(host), before, "and none of them changes anything")


def check_select(t, host, start):
    restore(host, start)
    turn_off(host)
    done = rescue(host, "driver", "select", NEW)
    t.ok(done.returncode == 0, "another driver is selected", done.stderr)
    for directory in RUNNING:
        t.equal(listing(host, directory), [], f"nothing is left in {directory}")
    t.ok("Nothing to do" in rescue(host, "driver", "select", NEW, check=0).stdout, "a second time there is nothing to do")
    t.equal(boot(host), NEW, "the system boots it")
    subject = host.journal(SWAP)[0]["subject"]
    t.ok(subject["command"] == "gpuhostctl" and subject["allowed_by"] == "root", "who selected it is on record there", subject)


def check_deselect(t, host, start):
    restore(host, start)
    turn_off(host)
    t.equal(rescue(host, "driver", "deselect").returncode, 0, "all kernels are let go of")
    t.equal(boot(host), None, "the system boots without a driver of gpuhostd's")


def check_refusals(t, host, start):
    restore(host, start)
    host.start_daemon()
    host.settle()
    busy = rescue(host, "driver", "select", NEW)
    t.ok(busy.returncode == 6 and "another gpuhostd" in busy.stderr, "where a gpuhostd runs there is nothing to rescue", busy.returncode, busy.stderr)
    host.kill_daemon()
    turn_off(host)
    unknown = rescue(host, "driver", "select", "999")
    t.ok(unknown.returncode == 4 and "not in the driver store" in unknown.stderr, "a version that is not there can't be selected", unknown.stderr)
    write(host.path("/etc/gpuhost/gpuhostd.conf"), f"[Driver]\nVersion={OLD}\n")
    before = files(host)
    for words, status, said in (
            (("select", NEW), 8, f"Version={OLD}"),
            (("select", OLD, "--kernel=6.6.6"), 4, "kernel '6.6.6' is not installed"),
            (("select", NEW, "--no-wait"), 2, "--no-wait"),
            (("deselect",), 8, f"Version={OLD}")):
        refused = rescue(host, "driver", *words)
        t.ok(refused.returncode == status and said in refused.stderr, f"driver {' '.join(words)} is refused", refused.returncode, refused.stderr)
    t.equal(sorted(set(before.splitlines()) ^ set(files(host).splitlines())), [], "and nothing was changed")
    for root, status, said in (("/", 2, "is the system that runs"), (host.path("/etc"), 4, "holds no system"),
                               ("/nonesuch", 4, "No such file"), (host.path("/etc/gpuhost/gpuhostd.conf"), 2, "not a directory")):
        refused = host.ctl("driver", "list", f"--root={root}")
        t.ok(refused.returncode == status and said in refused.stderr, f"{root} is no system to mend", refused.returncode, refused.stderr)
    os.rename(host.path("/var/lib/gpuhost"), host.path("/var/lib/elsewhere"))
    refused = rescue(host, "driver", "list")
    t.ok(refused.returncode == 4 and "/var too" in refused.stderr, "nor is one without its /var", refused.stderr)
    os.rename(host.path("/var/lib/elsewhere"), host.path("/var/lib/gpuhost"))


def check_without_daemon(t, host, start):
    restore(host, start)
    turn_off(host)
    path = host.environment["PATH"]
    host.environment["PATH"] = host.scratch
    missing = rescue(host, "driver", "list")
    host.environment["PATH"] = path
    t.ok(missing.returncode != 0 and "in PATH" in missing.stderr, "where gpuhostd is not found that is said", missing.stderr)


def check_read_only(t, host, start):
    restore(host, start)
    turn_off(host)
    own_mounts.bind(host.root, host.root)
    try:
        own_mounts.mount("none", host.root, "none", flags=own_mounts.MS_BIND | 32 | 1)  # MS_REMOUNT | MS_RDONLY
        t.equal(rescue(host, "driver", "list").returncode, 0, "one that is mounted read-only can be looked at")
        refused = rescue(host, "driver", "select", NEW)
        t.ok(refused.returncode == 8 and "remount,rw" in refused.stderr, "and is not changed", refused.returncode, refused.stderr)
    finally:
        own_mounts.detach(host.root)


def check_images(t, host, start):
    """Its own programs can't make one anew from here."""
    for content, said in ((STALE, "nvidia-current.ko"), (STALE[:-10], "cannot list the modules in an initramfs")):
        restore(host, start)
        turn_off(host)
        put(host, IMAGE, content)
        done = rescue(host, "driver", "select", NEW)
        t.ok(done.returncode == 0 and said in done.stdout, "an initramfs with a driver in it, or damaged, is named and stops nothing", done.stdout, done.stderr)
        with open(host.path(IMAGE), "rb") as file:
            t.ok(file.read() == content, "and stays as it is")
        t.equal(listing(host, "/boot"), [os.path.basename(IMAGE)], "with nothing beside it")


def check_mounts(t, host, start):
    """As whoever goes in by chroot has mounted them: of another system, whose kernel and processes are not this one's."""
    restore(host, start)
    turn_off(host)
    own_mounts.bind("/proc", host.path("/proc"))
    try:
        t.equal(rescue(host, "driver", "select", NEW).returncode, 0, "what of the running system is mounted in it is not looked at")
        t.ok(os.path.exists(host.path("/proc/self/stat")), "and stays")
    finally:
        own_mounts.detach(host.path("/proc"))
    t.equal(boot(host), NEW, "it boots the other driver")


def check_interrupted_swaps(t, host, swap):
    """The swap's worker stood at a gate when the power went."""
    wrong, forward = [], False
    for moment in swap.moments:
        forward = forward or moment.where == "apply autoload.unblock before"
        for wanted in (OLD, NEW):
            restore(host, moment.tree)
            turn_off(host)
            dry = rescue(host, "driver", "select", wanted, "--dry-run")
            if not moment.ended and "was interrupted" not in dry.stderr:
                wrong.append(f"{moment.name}: a look does not tell of it: {dry.stderr}")
            done = rescue(host, "driver", "select", wanted)
            outcome = host.journal(SWAP)[-1].get("outcome")
            right = "committed" if forward else "cancelled" if moment.where.startswith("preflight") else "rolled-back"
            if done.returncode or outcome != right:
                wrong.append(f"{moment.name}, select {wanted}: {done.returncode}, swap {outcome}: {done.stdout}{done.stderr}")
            if (found := boot(host)) != wanted:
                wrong.append(f"{moment.name}, select {wanted}: it boots {found}")
    t.equal(wrong, [], f"of a swap cut off at any of {len(swap.moments)} moments what is left goes back, and what is selected boots")


def check_interrupted_rescue(t, host, swap):
    """The power goes, or gpuhostctl and what it started are killed, in the middle of the rescue."""
    middle = next(moment for moment in swap.moments if moment.where == "apply driver.select after")
    host_before, cut_off = os.path.join(host.scratch, "before-rescue"), os.path.join(host.scratch, "cut-off")
    restore(host, middle.tree)
    turn_off(host)
    subprocess.run(["cp", "-a", host.root, host_before], check=True)
    gates = []

    def seen(where, count):
        gates.append((where, count))
        return "go"

    watching = Gates(host, seen)
    rescue(host, "driver", "select", NEW, check=0)
    watching.close()
    t.ok(("undo driver.select before", 1) in gates and ("apply driver.select before", 1) in gates and not any("modules.converge" in where for where, _ in gates),
         "the rescue undoes files and then selects, and never comes near the kernel", gates)
    wrong = []
    for point in gates:
        restore(host, host_before)

        def decide(where, count, point=point):
            if (where, count) != point:
                return "go"
            os.killpg(int(host.read("/fake-worker/rescuer")), signal.SIGKILL)
            return None

        killing = Gates(host, decide)
        write(f"{host.scratch}/bin/gpuhostd", daemon_that_says_its_group(host))
        if rescue(host, "driver", "select", NEW).returncode == 0:
            wrong.append(f"{point}: it was not cut off")
        install_daemon(host)
        killing.close()
        subprocess.run(["rm", "-rf", cut_off], check=True)
        subprocess.run(["cp", "-a", host.root, cut_off], check=True)
        if (found := boot(host)) not in (OLD, NEW):
            wrong.append(f"{point}: it boots {found}")
        restore(host, cut_off)
        if rescue(host, "driver", "select", NEW).returncode or (found := boot(host)) != NEW:
            wrong.append(f"{point}: a second rescue does not help: {found}")
    t.equal(wrong, [], f"a rescue killed at any of {len(gates)} gates leaves a system that boots a driver, or that can be rescued")


def daemon_that_says_its_group(host):
    tests = os.path.join(tap.TOP_BUILDDIR, "tests/host")
    return f'#!/bin/sh\necho $$ >{host.root}/fake-worker/rescuer\nexec {tests}/fake-daemon --worker={tests}/fake-worker "$@"\n'


def check_killed_daemon(t, host, start):
    """Its worker, which nobody would find, ends with it."""
    restore(host, start)
    turn_off(host)
    left = []

    def decide(where, _count):
        if where != "apply driver.select before":
            return "go"
        os.kill(int(host.read("/fake-worker/rescuer")), signal.SIGKILL)
        ctl.wait(10)
        deadline = time.monotonic() + 10
        while workers_of_rescues() and time.monotonic() < deadline:
            time.sleep(0.02)
        left.extend(workers_of_rescues())
        return "go"

    gates = Gates(host, decide)
    write(f"{host.scratch}/bin/gpuhostd", daemon_that_says_its_group(host))
    ctl = host.start_ctl("driver", "select", NEW, f"--root={host.root}")
    ctl.wait(20)
    install_daemon(host)
    gates.close()
    t.ok(ctl.returncode != 0, "a gpuhostd that is killed is no success", ctl.returncode)
    t.equal(left, [], "and no worker of it is left")
    t.ok(rescue(host, "driver", "select", NEW).returncode == 0 and boot(host) == NEW, "the next one ends the work")


def workers_of_rescues():
    """Processes that see a system where a rescue has it."""
    commands = (read(f"/proc/{pid}/cmdline") for pid in os.listdir("/proc") if pid.isdigit())
    return [command for command in commands if "fake-worker\0--root=/run/gpuhost-rescue" in command]


def check_hostile(t, host, start):
    """What a system can't have made itself, and would keep the rescue from its end, or lead it out of there."""
    restore(host, start)
    turn_off(host)
    os.unlink(host.path("/var/lib/gpuhost/reserve"))
    os.mkfifo(host.path("/var/lib/gpuhost/reserve"))
    t.equal(rescue(host, "driver", "select", NEW, timeout=30).returncode, 0, "a pipe where room is kept hangs nobody")
    t.equal(boot(host), NEW, "and the system boots what was selected")
    os.rename(host.path("/run"), host.path("/elsewhere"))
    os.symlink("/elsewhere", host.path("/run"))
    refused = rescue(host, "driver", "list")
    t.ok(refused.returncode == 4 and "has no /run" in refused.stderr, "a link in the place of /run is refused", refused.stderr)


def check_interrupt(t, host, start):
    """Ctrl-C ends the command and not what it had begun."""
    restore(host, start)
    turn_off(host)
    reached = []

    def decide(where, _count):
        if where == "apply driver.select before":
            os.kill(ctl.pid, signal.SIGINT)
            ctl.wait(10)
            reached.append(where)
        return "go"

    gates = Gates(host, decide)
    ctl = host.start_ctl("driver", "select", NEW, f"--root={host.root}")
    deadline = time.monotonic() + 20
    while host.journal(SWAP)[-1:] == [] or host.journal(SWAP)[-1]["type"] != "end":
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    gates.close()
    end(ctl, signal.SIGKILL)
    t.equal(reached, ["apply driver.select before"], "the command was there to be interrupted")
    t.equal(host.journal(SWAP)[-1].get("outcome"), "committed", "what it began goes on to its end")
    t.equal(boot(host), NEW, "and the system boots that")


def main():
    own_mounts.enter()
    own_mounts.mount("tmpfs", "/run", "tmpfs")
    t = tap.Tap()
    host = FakeHost()
    try:
        prepare(host)
        install_daemon(host)
        case = Case(host, SWAP, ("driver", "swap", NEW), None, None)
        swap = Recording(case, "forward")
        for check in (check_look, check_select, check_deselect, check_refusals, check_without_daemon, check_read_only, check_images, check_mounts, check_hostile, check_killed_daemon, check_interrupt):
            check(t, host, case.start)
        check_interrupted_swaps(t, host, swap)
        check_interrupted_rescue(t, host, swap)
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
