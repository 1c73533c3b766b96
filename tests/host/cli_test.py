# SPDX-License-Identifier: Apache-2.0
"""A person at gpuhostctl, and the real daemon on a fake host: from no driver to one, to the next, and back."""
import os
import re
import shutil
import subprocess
import time

import programs
import tap
from driver_files import KERNEL, write_driver
from fake_host import CLIENT, FakeHost, write

OLD, NEW = "535.261.03", "550.163.01"
T = tap.Tap()


def expect(host, name, arguments, status=0, out="", err=""):
    """Patterns match all of the stream."""
    result = host.ctl(*arguments)
    good = result.returncode == status and re.fullmatch(out, result.stdout, re.S) and re.fullmatch(err, result.stderr, re.S)
    return T.ok(good, name, f"status {result.returncode}, not {status}", "stdout:", result.stdout, f"not {out}",
                "stderr:", result.stderr, f"not {err}", host.tail())


def misbehave(host, *lines):
    write(host.path("/fake-kernel/control"), "".join(line + "\n" for line in lines))


def bring_in(host):
    expect(host, "a host without a driver", ["status"], 3, out=r"NOT OK: no driver is chosen for 2 GPUs.*Driver: none loaded\n.*")
    expect(host, "an empty store says how to fill it", ["driver", "list"], out=r".*gpuhostctl driver import.*")
    expect(host, "there is nothing to roll back to", ["driver", "rollback"], 4,
           err=r"gpuhostctl: no driver was selected .*\nHint: .*\n")
    expect(host, "a version that is not there", ["driver", "swap", NEW], 4, err=r".*not in the driver store\nHint: .*\n")
    directories = {}
    for version in (OLD, NEW):
        directories[version] = os.path.join(host.scratch, version)
        modules, packages = write_driver(directories[version], version)
        expect(host, f"packages of {version}", ["driver", "import", *packages], err=r"1/2 .*\n2/2 .*\n",
               out=rf"import .*: done.*\n  {version}/userland\n")
        expect(host, f"modules of {version}", ["driver", "import", *modules], err=".*",
               out=rf"import .*: done.*\n  {version}/modules/{KERNEL}-open\nNext: gpuhostctl driver swap {version}\n")
    expect(host, "a directory with both kinds", ["driver", "import", directories[NEW]], 2,
           err=r"gpuhostctl: .* has both packages and modules\nHint: .*\n")
    junk = os.path.join(host.scratch, "junk.deb")
    write(junk, "junk")
    expect(host, "a package that is none", ["driver", "import", junk], 9, err=r".*: failed, nothing was changed\n.*junk\.deb.*")
    expect(host, "both are in the list", ["driver", "list"], out=rf"VERSION .*\n{NEW} +{KERNEL} .*\n{OLD} +{KERNEL} .*\n")
    expect(host, "one of them in full", ["driver", "show", NEW], out=rf"  Driver: {NEW}\nUserland: .*Modules: for {KERNEL}.*")
    expect(host, "no source, no build", ["driver", "build", NEW], 4, err=r"gpuhostctl: .*has no source.*\nHint: .*\n")


def swap(host):
    expect(host, "what a swap would do", ["driver", "swap", OLD, "--dry-run"], out=rf"load driver {OLD}\n.*steps:\n.*no problems found\.\n")
    T.equal(host.loaded(), {}, "a dry run loads nothing")
    expect(host, "the first driver", ["driver", "swap", OLD], out=rf"load driver {OLD}: done.*", err=r"(\d+/\d+ .*\n)+")
    expect(host, "the next", ["driver", "swap", NEW], out=rf"swap driver {OLD} → {NEW}: done.*", err=r"(\d+/\d+ .*\n)+")
    T.equal(host.loaded()["nvidia"], NEW, "is what the kernel has")
    expect(host, "once more is nothing", ["driver", "swap", NEW], out=r"Nothing to do: .*")
    T.equal(host.json("driver", "swap", NEW), {"id": 0}, "nothing as JSON")
    expect(host, "the list says what it is", ["driver", "list"], out=rf".*{NEW} .*  loaded, selected\n{OLD} .*  previous\n")
    expect(host, "status", ["status"],
           out=rf".*Host: idle, kernel.*Driver: {NEW} loaded: .*Selected: {NEW}, previous {OLD}\n.*Pending: nothing\n.*committed.*")
    expect(host, "what runs is not removed", ["driver", "remove", NEW], 7, err=r".*refused, nothing was changed; 2 problems:\n.*")
    expect(host, "back", ["driver", "rollback"], out=rf"swap driver {NEW} → {OLD}: done.*", err=".*")
    expect(host, "the store is whole", ["driver", "verify"], out=r"verify .*: done.*", err=".*")


def holders(host):
    process = host.path("/proc/4242")
    write(f"{process}/comm", "python3\n")
    write(f"{process}/cgroup", "0::/system.slice/train.service\n")
    os.makedirs(f"{process}/fd")
    os.symlink(host.path("/dev/nvidiactl"), f"{process}/fd/3")
    expect(host, "a holder is named", ["driver", "swap", NEW], 7,
           err=r"gpuhostctl: .*refused, nothing was changed\n.*4242 \(python3\) of train\.service.*\n +Hint: .*--holders=.*\n")
    expect(host, "and waited for", ["driver", "swap", NEW, "--holders=wait", "--holder-timeout=1s"], 15,
           err=rf".*rolled back.*Cause: .*4242 .*Runs now: driver {OLD}\nHint: .*--holders=terminate\.\n")
    shutil.rmtree(process)


def failure(host):
    misbehave(host, f"load nvidia@{NEW} no-gpu")
    expect(host, "a driver that finds no GPU", ["driver", "swap", NEW], 15,
           err=rf".*undoing: load nvidia {NEW}.*failed and was rolled back.*Failed: in step .*load nvidia {NEW}.*"
               rf"Runs now: driver {OLD}\nHint: .*journalctl.*")
    T.equal(host.loaded()["nvidia"], OLD, "is not what the kernel has afterwards")
    expect(host, "status says so", ["status"], out=r".*Last: operation \d+, swap .*: rolled-back, .*GPU.*")
    expect(host, "and the operation in full", ["operation", "show"], out=r".*State: rolled-back\n.*undone  .*pending  .*")


def interrupted(host):
    misbehave(host, "load nvidia delay 1500")
    number = host.ctl("driver", "swap", NEW, "--no-wait", check=0).stdout.strip()
    expect(host, "one operation at a time", ["driver", "rollback"], 6, err=rf"gpuhostctl: operation {number} .*\nHint: .*\n")
    expect(host, "a cancelled one is undone", ["operation", "cancel", number], out=rf"operation {number} cancelled, .*\n", err=".*")
    expect(host, "and ended", ["operation", "cancel", number], 2, err=r"gpuhostctl: .*\n")
    T.equal(host.loaded()["nvidia"], OLD, "the driver from before is loaded")
    number = host.ctl("driver", "swap", NEW, "--no-wait", check=0).stdout.strip()
    waiting = programs.start([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "operation", "wait", number],
                             env=host.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.5)
    host.kill_daemon()
    host.start_daemon()
    out, err = programs.outputs(waiting)
    T.ok(waiting.returncode == 0 and "done" in out and "gpuhostd stopped" in err, "a killed daemon's work is waited for", out, err,
         host.tail())
    T.equal(host.loaded()["nvidia"], NEW, "and done")
    misbehave(host)


def configuration(host):
    write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Driver]\nHolderPolicy=maybe\nFoo=1\n")
    expect(host, "a wrong configuration is told at reload", ["reload"], 9,
           err=r".*2 problems; .*gpuhostd\.conf:2: HolderPolicy='maybe'.*gpuhostd\.conf:3: unknown key 'Foo'.*")
    expect(host, "and printed", ["cat-config", f"--root={host.root}"],
           out=r"# /etc/gpuhost/gpuhostd\.conf\n\[Driver\]\nHolderPolicy=maybe\nFoo=1\n")
    os.unlink(host.path("/etc/gpuhost/gpuhostd.conf"))
    expect(host, "a right one says nothing", ["reload"])


def console(host):
    """On nvidia_drm's framebuffer, as a driver with fbdev=1 has it."""
    bound = lambda: host.read("/sys/class/vtconsole/vtcon1/bind").strip()
    write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Driver]\nModuleParameters=nvidia-drm.fbdev=1\n")
    host.ctl("reload", check=0)
    host.ctl("driver", "swap", OLD, check=0)
    T.equal(bound(), "1", "the text console is on the driver")
    expect(host, "a swap says what becomes of it", ["driver", "swap", NEW, "--dry-run"],
           out=r".*text console \(vtcon1\) uses the driver.*no problems found\.\n")
    expect(host, "which it does not keep from it", ["driver", "swap", NEW], out=rf"swap driver {OLD} → {NEW}: done.*", err=".*")
    T.equal(bound(), "1", "and it is on the new one")
    misbehave(host, f"load nvidia@{OLD} no-gpu")
    expect(host, "one that fails", ["driver", "swap", OLD], 15, err=rf".*Runs now: driver {NEW}\n.*")
    T.equal(bound(), "1", "leaves it as it was")
    misbehave(host, "unbind vtcon1 errno 16")
    expect(host, "where it can't be taken off it is named", ["driver", "swap", OLD], 15,
           err=rf".*in use by the kernel's text console \(vtcon1\).*Runs now: driver {NEW}\n.*")
    misbehave(host)
    os.unlink(host.path("/etc/gpuhost/gpuhostd.conf"))
    host.ctl("reload", check=0)


def main():
    host = FakeHost()
    try:
        host.install()
        host.start_daemon()
        expect(host, "the host gets ready", ["wait-ready", "--converged", "--timeout=30s"])
        T.ok(CLIENT in host.ctl("status").stdout, "status names the driver's clients")
        for part in (bring_in, swap, holders, failure, interrupted, configuration, console):
            part(host)
    finally:
        host.close()
    T.done()


main()
