# SPDX-License-Identifier: Apache-2.0
"""The rescue of a system that does not boot, mounted on another one: gpuhostctl --root=.

A swap of the system was interrupted at any of its records. Then another driver is selected, and that is
interrupted too. In each case the system boots with one working driver: the selected one if the rescue was
completed.
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

SWAP = 6  # number of the operation, after four imports and the first load
RUNNING = ("/proc", "/sys", "/run", "/dev")


def install_daemon(host):
    """Puts a gpuhostd in PATH, which gpuhostctl starts, with workers that simulate the kernel."""
    programs = os.path.join(host.scratch, "bin")
    tests = os.path.join(tap.TOP_BUILDDIR, "tests/host")
    write(f"{programs}/gpuhostd", f'#!/bin/sh\nexec {tests}/fake-daemon --worker={tests}/fake-worker "$@"\n')
    os.chmod(f"{programs}/gpuhostd", 0o755)
    host.environment["PATH"] = f"{programs}:{os.environ['PATH']}"


def rescue(host, *words, **more):
    return host.ctl(*words, f"--root={host.root}", **more)


def files(host):
    """Returns all files with link target, size, time and mode."""
    return subprocess.run(["find", host.root, "-printf", "%p %l %s %T@ %m\n"], capture_output=True, check=True, text=True).stdout


def turn_off(host):
    """Removes the directories that are empty in a system that is not running."""
    for directory in RUNNING:
        for path in listing(host, directory):
            subprocess.run(["rm", "-rf", host.path(f"{directory}/{path}")], check=True)


def boot(host):
    """Boots the system. Returns its loaded driver, or a text if anything is wrong."""
    host.boot()
    host.start_daemon()
    settled = host.settle()
    version, plan, wrong = host.loaded().get("nvidia"), host.plan()["steps"], mixture(host)
    host.kill_daemon()
    return version if settled and not plan and not wrong else f"{version}, {wrong}, settled {settled}, to do {plan}"


def check_look(t, host, start):
    restore(host, start)
    turn_off(host)
    before = files(host)
    versions = rescue(host, "driver", "list", check=0).stdout
    t.ok(f"{OLD}" in versions and "selected" in versions and "loaded" not in versions,
         "driver list --root marks the selected driver", versions)
    t.ok(KERNEL in rescue(host, "driver", "show", NEW, check=0).stdout,
         "driver show --root lists a version's kernels")
    t.ok(OLD in rescue(host, "driver", "history", check=0).stdout, "driver history --root lists past changes")
    t.ok(f"load driver {OLD}" in rescue(host, "operation", "list", check=0).stdout,
         "operation list --root lists past operations")
    t.ok("validate driver" in rescue(host, "operation", "show", check=0).stdout,
         "operation show --root prints the steps")
    plan = rescue(host, "driver", "set-default", NEW, "--dry-run", check=0).stdout
    t.ok(f"kernel {KERNEL} boots {OLD}, wanted: {NEW}" in plan,
         "driver set-default --dry-run --root prints the plan", plan)
    t.equal(files(host), before, "read-only verbs with --root change no file")


def check_set_default(t, host, start):
    restore(host, start)
    turn_off(host)
    done = rescue(host, "driver", "set-default", NEW)
    t.ok(done.returncode == 0, "driver set-default --root succeeds", done.stderr)
    for directory in RUNNING:
        t.equal(listing(host, directory), [], f"driver set-default --root leaves {directory} empty")
    t.ok("Nothing to do" in rescue(host, "driver", "set-default", NEW, check=0).stdout,
         "a second driver set-default --root does nothing")
    t.equal(boot(host), NEW, "the rescued system boots the selected driver")
    subject = host.journal(SWAP)[0]["subject"]
    t.ok(subject["command"] == "gpuhostctl" and subject["allowed_by"] == "root",
         "the rescued system's journal records who selected", subject)


def check_release(t, host, start):
    restore(host, start)
    turn_off(host)
    t.equal(rescue(host, "driver", "release").returncode, 0, "driver release --root succeeds")
    t.equal(boot(host), None, "the system boots without gpuhostd's driver after release")


def check_refusals(t, host, start):
    restore(host, start)
    host.start_daemon()
    host.settle()
    busy = rescue(host, "driver", "set-default", NEW)
    t.ok(busy.returncode == 6 and "another gpuhostd" in busy.stderr,
         "a rescue is refused while the system's gpuhostd runs", busy.returncode, busy.stderr)
    host.kill_daemon()
    turn_off(host)
    unknown = rescue(host, "driver", "set-default", "999")
    t.ok(unknown.returncode == 4 and "not in the driver store" in unknown.stderr,
         "driver set-default --root of an unknown version fails", unknown.stderr)
    write(host.path("/etc/gpuhost/gpuhostd.conf"), f"[Driver]\nVersion={OLD}\n")
    before = files(host)
    for words, status, said in (
            (("set-default", NEW), 8, f"Version={OLD}"),
            (("set-default", OLD, "--kernel=6.6.6"), 4, "kernel '6.6.6' is not installed"),
            (("set-default", NEW, "--no-wait"), 2, "--no-wait"),
            (("release",), 8, f"Version={OLD}")):
        refused = rescue(host, "driver", *words)
        t.ok(refused.returncode == status and said in refused.stderr,
             f"driver {' '.join(words)} --root is refused", refused.returncode, refused.stderr)
    t.equal(sorted(set(before.splitlines()) ^ set(files(host).splitlines())), [],
            "refused verbs with --root change no file")
    for root, status, said in (("/", 2, "is the running system"), (host.path("/etc"), 4, "is not the root of a system"),
                               ("/nonesuch", 4, "No such file"), (host.path("/etc/gpuhost/gpuhostd.conf"), 2, "not a directory")):
        refused = host.ctl("driver", "list", f"--root={root}")
        t.ok(refused.returncode == status and said in refused.stderr,
             f"--root={os.path.relpath(root, host.root) if root.startswith(host.root) else root} is refused", refused.returncode, refused.stderr)
    os.rename(host.path("/var/lib/gpuhost"), host.path("/var/lib/elsewhere"))
    refused = rescue(host, "driver", "list")
    t.ok(refused.returncode == 4 and "including /var" in refused.stderr,
         "--root of a system without /var is refused", refused.stderr)
    os.rename(host.path("/var/lib/elsewhere"), host.path("/var/lib/gpuhost"))


def check_without_daemon(t, host, start):
    restore(host, start)
    turn_off(host)
    path = host.environment["PATH"]
    host.environment["PATH"] = host.scratch
    missing = rescue(host, "driver", "list")
    host.environment["PATH"] = path
    t.ok(missing.returncode != 0 and "to PATH" in missing.stderr,
         "a rescue without gpuhostd in PATH fails", missing.stderr)


def check_read_only(t, host, start):
    restore(host, start)
    turn_off(host)
    own_mounts.bind(host.root, host.root)
    try:
        own_mounts.mount("none", host.root, "none", flags=own_mounts.MS_BIND | 32 | 1)  # MS_REMOUNT | MS_RDONLY
        t.equal(rescue(host, "driver", "list").returncode, 0, "driver list works on a read-only system")
        refused = rescue(host, "driver", "set-default", NEW)
        t.ok(refused.returncode == 8 and "remount,rw" in refused.stderr,
             "driver set-default on a read-only system is refused", refused.returncode, refused.stderr)
    finally:
        own_mounts.detach(host.root)


def check_images(t, host, start):
    """A rescue cannot regenerate an initramfs, because that needs the system's own programs."""
    for what, content, said in (("with a driver", STALE, "nvidia-current.ko"), ("that is damaged", STALE[:-10], "cannot list the modules in an initramfs")):
        restore(host, start)
        turn_off(host)
        put(host, IMAGE, content)
        done = rescue(host, "driver", "set-default", NEW)
        t.ok(done.returncode == 0 and said in done.stdout,
             f"a rescue reports an initramfs {what}", done.stdout, done.stderr)
        with open(host.path(IMAGE), "rb") as file:
            t.ok(file.read() == content, f"a rescue keeps an initramfs {what}")
        t.equal(listing(host, "/boot"), [os.path.basename(IMAGE)],
                f"a rescue leaves no other file than an initramfs {what}")


def check_mounts(t, host, start):
    """The running system's /proc is mounted in the system, as for a chroot."""
    restore(host, start)
    turn_off(host)
    own_mounts.bind("/proc", host.path("/proc"))
    try:
        t.equal(rescue(host, "driver", "set-default", NEW).returncode, 0,
                "a rescue ignores a mounted /proc of the running system")
        t.ok(os.path.exists(host.path("/proc/self/stat")), "a rescue keeps a mounted /proc")
    finally:
        own_mounts.detach(host.path("/proc"))
    t.equal(boot(host), NEW, "the system boots the selected driver after the rescue")


def check_interrupted_swaps(t, host, swap):
    """Rescues systems whose swap was interrupted by a power cut at each gate."""
    wrong, forward = [], False
    for moment in swap.moments:
        forward = forward or moment.where == "apply autoload.unblock before"
        for wanted in (OLD, NEW):
            restore(host, moment.tree)
            turn_off(host)
            dry = rescue(host, "driver", "set-default", wanted, "--dry-run")
            if not moment.ended and "was interrupted" not in dry.stderr:
                wrong.append(f"{moment.name}: a dry run does not report the interruption: {dry.stderr}")
            done = rescue(host, "driver", "set-default", wanted)
            outcome = host.journal(SWAP)[-1].get("outcome")
            right = "committed" if forward else "cancelled" if moment.where.startswith("preflight") else "rolled-back"
            if done.returncode or outcome != right:
                wrong.append(f"{moment.name}, select {wanted}: {done.returncode}, swap {outcome}: {done.stdout}{done.stderr}")
            if (found := boot(host)) != wanted:
                wrong.append(f"{moment.name}, select {wanted}: the system boots {found}")
    t.equal(wrong, [], f"a rescue finishes swaps interrupted at {len(swap.moments)} moments")


def check_interrupted_rescue(t, host, swap):
    """A rescue is interrupted at each gate by killing gpuhostd and its workers."""
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
    rescue(host, "driver", "set-default", NEW, check=0)
    watching.close()
    t.ok(("undo driver.select before", 1) in gates and ("apply driver.select before", 1) in gates and not any("modules.converge" in where for where, _ in gates),
         "a rescue undoes and selects files without kernel steps", gates)
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
        if rescue(host, "driver", "set-default", NEW).returncode == 0:
            wrong.append(f"{point}: the rescue was not interrupted")
        install_daemon(host)
        killing.close()
        subprocess.run(["rm", "-rf", cut_off], check=True)
        subprocess.run(["cp", "-a", host.root, cut_off], check=True)
        if (found := boot(host)) not in (OLD, NEW):
            wrong.append(f"{point}: the system boots {found}")
        restore(host, cut_off)
        if rescue(host, "driver", "set-default", NEW).returncode or (found := boot(host)) != NEW:
            wrong.append(f"{point}: after a second rescue the system boots {found}")
    t.equal(wrong, [], f"after a rescue killed at {len(gates)} gates the system boots")


def daemon_that_says_its_group(host):
    tests = os.path.join(tap.TOP_BUILDDIR, "tests/host")
    return f'#!/bin/sh\necho $$ >{host.root}/fake-worker/rescuer\nexec {tests}/fake-daemon --worker={tests}/fake-worker "$@"\n'


def check_killed_daemon(t, host, start):
    """A worker of a rescue ends with its gpuhostd, because no later daemon finds it."""
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
    ctl = host.start_ctl("driver", "set-default", NEW, f"--root={host.root}")
    ctl.wait(20)
    install_daemon(host)
    gates.close()
    t.ok(ctl.returncode != 0, "a rescue whose gpuhostd is killed fails", ctl.returncode)
    t.equal(left, [], "a killed gpuhostd of a rescue leaves no worker")
    t.ok(rescue(host, "driver", "set-default", NEW).returncode == 0 and boot(host) == NEW,
         "the next rescue completes the selection")


def workers_of_rescues():
    """Returns the commands of workers that run in a rescue's mount."""
    commands = (read(f"/proc/{pid}/cmdline") for pid in os.listdir("/proc") if pid.isdigit())
    return [command for command in commands if "fake-worker\0--root=/run/gpuhost-rescue" in command]


def check_hostile(t, host, start):
    """Hostile files that would block a rescue or redirect it out of the system."""
    restore(host, start)
    turn_off(host)
    os.unlink(host.path("/var/lib/gpuhost/reserve"))
    os.mkfifo(host.path("/var/lib/gpuhost/reserve"))
    t.equal(rescue(host, "driver", "set-default", NEW, timeout=30).returncode, 0,
            "a pipe as reserve file does not hang a rescue")
    t.equal(boot(host), NEW, "the system boots the selected driver despite the pipe")
    os.rename(host.path("/run"), host.path("/elsewhere"))
    os.symlink("/elsewhere", host.path("/run"))
    refused = rescue(host, "driver", "list")
    t.ok(refused.returncode == 4 and "has no /run" in refused.stderr,
         "a rescue refuses a link as /run", refused.stderr)


def check_interrupt(t, host, start):
    """Ctrl-C ends gpuhostctl, but not the rescue that it has begun."""
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
    ctl = host.start_ctl("driver", "set-default", NEW, f"--root={host.root}")
    deadline = time.monotonic() + 20
    while host.journal(SWAP)[-1:] == [] or host.journal(SWAP)[-1]["type"] != "end":
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    gates.close()
    end(ctl, signal.SIGKILL)
    t.equal(reached, ["apply driver.select before"], "Ctrl-C ends gpuhostctl during a rescue")
    t.equal(host.journal(SWAP)[-1].get("outcome"), "committed",
            "an interrupted gpuhostctl's rescue is committed")
    t.equal(boot(host), NEW, "the system boots the selected driver after Ctrl-C")


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
        for check in (check_look, check_set_default, check_release, check_refusals, check_without_daemon, check_read_only, check_images, check_mounts, check_hostile, check_killed_daemon, check_interrupt):
            check(t, host, case.start)
        check_interrupted_swaps(t, host, swap)
        check_interrupted_rescue(t, host, swap)
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
