# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl with the real daemon on a fake host: first driver, swap, rollback and failures."""
import os
import re
import shutil
import signal
import subprocess
import time

import programs
import tap
from driver_files import KERNEL, write_driver
from fake_host import CLIENT, FakeHost, write

OLD, NEW = "535.261.03", "550.163.01"
T = tap.Tap()


def expect(host, name, arguments, status=0, out="", err=""):
    """Checks the command's status and output. Patterns match the whole stream."""
    result = host.ctl(*arguments)
    good = result.returncode == status and re.fullmatch(out, result.stdout, re.S) and re.fullmatch(err, result.stderr, re.S)
    return T.ok(good, name, f"status {result.returncode}, not {status}", "stdout:", result.stdout, f"not {out}",
                "stderr:", result.stderr, f"not {err}", host.tail())


def misbehave(host, *lines):
    write(host.path("/fake-kernel/control"), "".join(line + "\n" for line in lines))


def bring_in(host):
    expect(host, "status reports GPUs without a driver", ["status"], 3, out=r"NOT OK: no driver is chosen for 2 GPUs.*Driver: none loaded\n.*")
    expect(host, "driver list on an empty store prints one note", ["driver", "list"], err=r"No drivers in the store.\n")
    expect(host, "driver rollback without an earlier driver fails", ["driver", "rollback"], 4,
           err=r"gpuhostctl: no driver was selected .*\nHint: .*\n")
    expect(host, "driver swap to an unknown version fails", ["driver", "swap", NEW], 4, err=r".*not in the driver store\nHint: .*\n")
    directories = {}
    for version in (OLD, NEW):
        directories[version] = os.path.join(host.scratch, version)
        modules, packages = write_driver(directories[version], version)
        expect(host, f"driver import accepts packages of {version}", ["driver", "import", *packages], err=r"1/2 .*\n2/2 .*\n",
               out=rf"import .*: done.*\n  {version}/userland\n")
        expect(host, f"driver import accepts modules of {version}", ["driver", "import", *modules], err=".*",
               out=rf"import .*: done.*\n  {version}/modules/{KERNEL}-open\nNext: gpuhostctl upgrade {version}\n")
    expect(host, "driver import accepts a directory of packages and modules", ["driver", "import", directories[NEW]], err=".*",
           out=rf"import .*: done.*\n  {NEW}/userland\nimport .*: done.*\n  {NEW}/modules/{KERNEL}-open\nNext: .*\n")
    junk = os.path.join(host.scratch, "junk.deb")
    write(junk, "junk")
    expect(host, "importing an invalid package fails", ["driver", "import", junk], 9, err=r".*: failed, nothing was changed\n.*junk\.deb.*")
    expect(host, "driver list has both versions", ["driver", "list"], out=rf"VERSION .*\n{NEW} +{KERNEL} .*\n{OLD} +{KERNEL} .*\n")
    expect(host, "driver show prints userland and modules", ["driver", "show", NEW], out=rf"  Driver: {NEW}\nUserland: .*Modules: for {KERNEL}.*")
    expect(host, "driver build without source fails", ["driver", "build", NEW], 4, err=r"gpuhostctl: .*has no source.*\nHint: .*\n")


def swap(host):
    expect(host, "driver swap --dry-run prints the plan", ["driver", "swap", OLD, "--dry-run"], out=rf"load driver {OLD}\n.*steps:\n.*no problems found\.\nNote: symbol versions are not checked: .*\n")
    T.equal(host.loaded(), {}, "driver swap --dry-run loads nothing")
    expect(host, "driver swap loads the first driver", ["driver", "swap", OLD], out=rf"load driver {OLD}: done.*\nOK: driver {OLD} serves 2 GPUs\n", err=r"(\d+/\d+ .*\n)+")
    expect(host, "driver swap replaces the loaded driver", ["driver", "swap", NEW], out=rf"swap driver {OLD} → {NEW}: done.*\nOK: driver {NEW} serves 2 GPUs\n", err=r"(\d+/\d+ .*\n)+")
    expect(host, "operation show names steps that were not needed", ["operation", "show"], out=r".* not needed  stop client units if the swap is undone\n.*")
    T.equal([step["state"] for step in host.json("operation", "show")["steps"] if step.get("undo_only")], ["done"] * 2,
            "operation show --json has the state of these steps")
    T.equal(host.loaded()["nvidia"], NEW, "the new driver is loaded after a swap")
    expect(host, "driver swap to the loaded version does nothing", ["driver", "swap", NEW], out=r"Nothing to do: .*")
    T.equal(host.json("driver", "swap", NEW), {"id": 0}, "driver swap --json returns id 0 for nothing")
    expect(host, "driver list marks loaded and previous versions", ["driver", "list"], out=rf".*{NEW} .*  loaded, selected\n{OLD} .*  previous\n")
    expect(host, "status prints the loaded and selected driver", ["status"],
           out=rf".*Host: idle, kernel.*Driver: {NEW} loaded: .*Selected: {NEW}, previous {OLD}\n.*Pending: nothing\n.*committed.*")
    expect(host, "removing the loaded driver is refused", ["driver", "remove", NEW], 7, err=r".*refused, nothing was changed; 2 problems:\n.*")
    expect(host, "driver rollback swaps to the previous driver", ["driver", "rollback"], out=rf"swap driver {NEW} → {OLD}: done.*\nOK: driver {OLD} serves 2 GPUs\n", err=".*")
    expect(host, "driver verify finds an intact store", ["driver", "verify"], out=r"verify .*: done.*", err=".*")


def holders(host):
    process = host.path("/proc/4242")
    write(f"{process}/comm", "python3\n")
    write(f"{process}/cgroup", "0::/system.slice/train.service\n")
    os.makedirs(f"{process}/fd")
    os.symlink(host.path("/dev/nvidiactl"), f"{process}/fd/3")
    expect(host, "a swap is refused and names the holder", ["driver", "swap", NEW], 7,
           err=r"gpuhostctl: .*refused, nothing was changed\n.*4242 \(python3\) of train\.service.*\n +Hint: .*--holders=.*\n")
    expect(host, "a dry run names what --holders=terminate would end", ["driver", "swap", NEW, "--dry-run", "--holders=terminate"],
           out=r".*4242 \(python3\) of train\.service holds the driver and is terminated\n.*", err=".*")
    expect(host, "--holders=wait times out and refuses the swap", ["driver", "swap", NEW, "--holders=wait", "--holder-timeout=1s"], 7,
           err=r".*refused, nothing was changed\n +Cause: the driver is still held after 1 s by .*4242 .*\nHint: .*--holders=terminate\.\n")
    shutil.rmtree(process)


def failure(host):
    misbehave(host, f"load nvidia@{NEW} no-gpu")
    expect(host, "a swap whose driver finds no GPU is undone", ["driver", "swap", NEW], 15,
           err=rf".*undoing: load nvidia {NEW}.*failed and was rolled back.*Failed: in step .*load nvidia {NEW}.*"
               rf"Runs now: driver {OLD}\nHint: .*journalctl -k --until @\d+ -g .*")
    T.equal(host.loaded()["nvidia"], OLD, "the old driver is loaded after an undone swap")
    expect(host, "status reports the rolled-back operation", ["status"], out=r".*Last: operation \d+, swap .*: rolled-back, .*GPU.*")
    expect(host, "operation show prints the undone steps", ["operation", "show"], out=r".*State: rolled-back\n.*failed, undone .*not run  .*")


def interrupted(host):
    misbehave(host, "load nvidia delay 1500")
    number = host.ctl("driver", "swap", NEW, "--no-wait", check=0).stdout.strip()
    expect(host, "a second operation is refused while one runs", ["driver", "rollback"], 6, err=rf"gpuhostctl: operation {number} .*\nHint: .*\n")
    expect(host, "a cancelled swap is undone", ["operation", "cancel", number], out=rf"operation {number} cancelled, .*\n", err=".*")
    expect(host, "cancelling an ended operation fails", ["operation", "cancel", number], 2, err=r"gpuhostctl: .*\n")
    T.equal(host.loaded()["nvidia"], OLD, "the old driver is loaded after a cancelled swap")
    number = host.ctl("driver", "swap", NEW, "--no-wait", check=0).stdout.strip()
    waiting = programs.start([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "operation", "wait", number],
                             env=host.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.5)
    host.kill_daemon()
    host.start_daemon()
    out, err = programs.outputs(waiting)
    T.ok(waiting.returncode == 0 and "done" in out and "gpuhostd stopped" in err,
         "operation wait survives a restart of the daemon", out, err,
         host.tail())
    T.equal(host.loaded()["nvidia"], NEW, "a swap completes after the daemon was killed")
    misbehave(host)


def followed(host):
    """Begins another operation before the client of a swap sees that the swap ended."""
    misbehave(host, "load nvidia delay 1500")
    swapping = programs.start([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "driver", "swap", OLD],
                              env=host.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (number := host.json("status")["operation"]):
        time.sleep(0.1)
    swapping.send_signal(signal.SIGSTOP)
    host.ctl("operation", "wait", str(number), check=0)
    misbehave(host, "load nvidia delay 6000")
    other = host.ctl("driver", "rollback", "--no-wait", check=0).stdout.strip()
    swapping.send_signal(signal.SIGCONT)
    out, err = programs.outputs(swapping)
    T.ok(swapping.returncode == 0 and "OK:" not in out and f"Operation {other} runs: see gpuhostctl status.\n" in err,
         "swap names another operation instead of a verdict", out, err)
    host.ctl("operation", "wait", other, check=0)
    misbehave(host)


def configuration(host):
    write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Driver]\nHolderPolicy=maybe\nFoo=1\n")
    expect(host, "reload reports configuration errors with file and line", ["reload"], 9,
           err=r".*2 problems; .*gpuhostd\.conf:2: HolderPolicy='maybe'.*gpuhostd\.conf:3: unknown key 'Foo'.*")
    expect(host, "config cat prints an invalid configuration", ["config", "cat", f"--root={host.root}"],
           out=r"# /etc/gpuhost/gpuhostd\.conf\n\[Driver\]\nHolderPolicy=maybe\nFoo=1\n")
    os.unlink(host.path("/etc/gpuhost/gpuhostd.conf"))
    expect(host, "reload of a valid configuration prints nothing", ["reload"])


def console(host):
    """Swaps with the text console on nvidia_drm's framebuffer, as with fbdev=1."""
    bound = lambda: host.read("/sys/class/vtconsole/vtcon1/bind").strip()
    write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Driver]\nModuleParameters=nvidia-drm.fbdev=1\n")
    host.ctl("reload", check=0)
    host.ctl("driver", "swap", OLD, check=0)
    T.equal(bound(), "1", "fbdev=1 binds the text console to the driver")
    expect(host, "driver swap --dry-run reports the text console", ["driver", "swap", NEW, "--dry-run"],
           out=r".*text console \(vtcon1\) uses the driver.*no problems found\.\nNote: symbol versions are not checked: .*\n")
    expect(host, "a swap succeeds with the text console on the driver", ["driver", "swap", NEW], out=rf"swap driver {OLD} → {NEW}: done.*", err=".*")
    T.equal(bound(), "1", "the text console is on the new driver")
    misbehave(host, f"load nvidia@{OLD} no-gpu")
    expect(host, "a failed swap with a text console is undone", ["driver", "swap", OLD], 15, err=rf".*Runs now: driver {NEW}\n.*")
    T.equal(bound(), "1", "an undone swap restores the text console")
    misbehave(host, "unbind vtcon1 errno 16")
    expect(host, "a swap fails when the text console stays bound", ["driver", "swap", OLD], 15,
           err=rf".*in use by the kernel's text console \(vtcon1\).*Runs now: driver {NEW}\n.*")
    misbehave(host)
    os.unlink(host.path("/etc/gpuhost/gpuhostd.conf"))
    host.ctl("reload", check=0)


def main():
    host = FakeHost()
    try:
        host.install()
        host.start_daemon()
        expect(host, "wait-ready returns on a host without a driver", ["wait-ready", "--converged", "--timeout=30s"])
        T.ok(CLIENT in host.ctl("status").stdout, "status lists the units that use the driver")
        for part in (bring_in, swap, holders, failure, interrupted, followed, configuration, console):
            part(host)
    finally:
        host.close()
    T.done()


main()
