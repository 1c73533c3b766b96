# SPDX-License-Identifier: Apache-2.0
"""The verdict of a host: the first lines of status, exit statuses, and hints without a selected driver."""
import os
import shutil

import tap
from driver_files import write_driver
from fake_host import GPUS, NEW, OLD, FakeHost, write

NOT_OK, REFUSED = 3, 8
CONF = "/etc/gpuhost/gpuhostd.conf"


def check(t, host, name, status, first, verb="status"):
    run = host.ctl(verb)
    line = (run.stdout or run.stderr).splitlines()[0] if run.stdout or run.stderr else ""
    t.ok(run.returncode == status and line.startswith(first), name, f"exit {run.returncode}: {line}", f"wanted {status}: {first}")


def check_undecided(t, host, what, command):
    """Checks that all verbs report the missing choice, by text and exit status."""
    check(t, host, f"{what}: status is NOT OK", NOT_OK, f"NOT OK: no driver is chosen for {len(GPUS)} GPUs: the store")
    for verb, status in ((["status"], NOT_OK), (["apply", "--dry-run"], REFUSED), (["apply"], REFUSED)):
        run = host.ctl(*verb)
        t.ok(run.returncode == status and command in run.stdout,
             f"{what}: {' '.join(verb)} prints the command", run.returncode, run.stdout, run.stderr)
    t.equal(host.ctl("apply", "--json").returncode, REFUSED, f"{what}: apply --json exits with {REFUSED}")
    check(t, host, f"{what}: wait-ready is NOT OK", NOT_OK, "NOT OK: no driver is chosen", verb="wait-ready")
    t.equal(host.ctl("wait-ready", "--converged").returncode, 0, f"{what}: wait-ready --converged succeeds")
    shown = host.ctl("status").stdout
    t.ok("ready" not in shown and "idle" not in shown,
         f"{what}: status does not print 'ready' or 'idle'", shown)
    verdict = host.json("status")["verdict"]
    t.ok(not verdict["ok"] and command in verdict["hint"],
         f"{what}: status --json has verdict and hint", verdict)


def check_without_driver(t, host):
    check_undecided(t, host, "empty store", "gpuhostctl upgrade FILE")
    for version in (OLD, NEW):
        modules, packages = write_driver(os.path.join(host.scratch, version), version)
        host.ctl("driver", "import", *packages, check=0)
        host.ctl("driver", "import", *modules, check=0)
    check_undecided(t, host, "imported driver", f"gpuhostctl upgrade {NEW}")
    t.ok(f"{NEW}, {OLD}" in host.ctl("apply").stdout, "apply prints the versions in the store")


def check_beside_other_work(t, host):
    """Other components are applied, and the exit status is that of the missing choice."""
    write(host.path("/etc/modprobe.d/none.conf"), "")
    write(host.path(CONF), "[Runtime]\nManage=no\n[CDI]\nManage=no\n")
    host.ctl("reload")
    run = host.ctl("apply")
    t.ok(run.returncode == REFUSED, f"apply of other components exits with {REFUSED}", run.stdout, run.stderr)
    os.unlink(host.path(CONF))
    host.ctl("reload")


def check_driver_serves(t, host):
    host.ctl("driver", "swap", NEW, check=0)
    check(t, host, "a driver that serves all GPUs is OK", 0, f"OK: driver {NEW} serves {len(GPUS)} GPUs")
    t.equal(host.ctl("wait-ready").returncode, 0, "wait-ready exits with 0 when the host is OK")
    t.equal(host.json("status")["verdict"], {"ok": True, "text": f"driver {NEW} serves {len(GPUS)} GPUs", "hint": ""},
            "status --json has the verdict OK")
    os.unlink(host.path(f"/sys/bus/pci/devices/{GPUS[1]}/driver"))
    check(t, host, "a GPU without the driver is not OK", NOT_OK, f"NOT OK: driver {NEW} does not serve 1 GPU of 2: {GPUS[1]}")


def check_wanted_and_missing(t, host):
    write(host.path(CONF), "[Driver]\nVersion=560.35.03\nVersoin=1\n")
    host.ctl("reload")
    check(t, host, "a configured driver that is missing is not OK", NOT_OK, "NOT OK: driver 560.35.03 is not in the driver store")
    t.ok("Config: 1 problem, see: gpuhostctl config check" in host.ctl("status").stdout,
         "status counts problems of the configuration", host.ctl("status").stdout)


def check_no_driver_wanted(t, host):
    write(host.path(CONF), "[Driver]\nVersion=off\n")
    host.ctl("reload")
    check(t, host, "Version=off is OK", 0, "OK: ")
    os.unlink(host.path(CONF))
    host.ctl("reload")
    shutil.rmtree(host.path("/sys/bus/pci/devices"))
    check(t, host, "a host without GPUs is OK", 0, "OK: ")


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        host.install()
        host.start_daemon()
        host.settle()
        for part in (check_without_driver, check_beside_other_work, check_driver_serves, check_wanted_and_missing):
            part(t, host)
        host.kill_daemon()
        shutil.rmtree(host.path("/var/lib/gpuhost"))
        os.unlink(host.path(CONF))
        host.boot()
        host.start_daemon()
        host.settle()
        check_no_driver_wanted(t, host)
        if t.failed:
            print("\n".join("# " + line for line in host.tail().splitlines()))
    finally:
        host.close()
    t.done()


main()
