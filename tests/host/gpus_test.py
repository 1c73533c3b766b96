# SPDX-License-Identifier: Apache-2.0
"""One GPU whose probe fails: the others work at boot and after swaps, and the failing GPU is reported."""
import os
import shutil

from fake_host import GPUS, NEW, OLD, run_checks, write

GOOD, DEAD = GPUS


def reboot(host, *unloaded):
    """Boots with the driver loaded by udev, except the modules `unloaded`."""
    host.kill_daemon()
    host.boot()
    for name in unloaded:
        unload(host, name)
    host.start_daemon()
    return host.settle()


def unload(host, name):
    shutil.rmtree(host.path(f"/sys/module/{name}"))
    for used in os.listdir(host.path("/sys/module")):
        shutil.rmtree(host.path(f"/sys/module/{used}/holders/{name}"), ignore_errors=True)
    if name == "nvidia":
        shutil.rmtree(host.path("/proc/driver"))
        os.unlink(host.path(f"/sys/bus/pci/devices/{GOOD}/driver"))


def serves(t, host, version, what):
    """Checks that the working GPU is served and published."""
    gpus = os.listdir(host.path("/proc/driver/nvidia/gpus")) if host.loaded() else []
    t.equal((set(host.loaded().values()), gpus, host.told(), os.path.exists(host.path("/dev/nvidia0"))),
            ({version}, [GOOD], version, True), what)


def last(host):
    """Returns the newest operation."""
    return host.json("operation", "show")


def check_boot(t, host):
    write(host.path("/fake-kernel/control"), f"probe {DEAD} errno 1\n")
    for unloaded, what in ((("nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia"), "nothing"), (("nvidia_uvm",), "all but nvidia_uvm")):
        t.ok(reboot(host, *unloaded),
             f"a boot with a dead GPU, {what} loaded by udev, gets ready", host.tail())
        serves(t, host, OLD, f"the working GPU is served after a boot with {what} loaded")
        warnings = [warning for output in last(host)["outputs"] for warning in (output or {}).get("warnings", [])]
        t.ok(any(DEAD in warning for warning in warnings),
             f"the boot operation warns of the dead GPU, {what} loaded", last(host))


def check_status(t, host):
    t.ok(f"1 of 2 bound to nvidia; not bound: {DEAD}" in host.ctl("status").stdout,
         "status names the GPU that is not bound", host.ctl("status").stdout)


def check_swap(t, host):
    host.ctl("driver", "swap", NEW, check=0)
    serves(t, host, NEW, "a swap succeeds although a GPU stays unbound")
    write(host.path("/fake-kernel/control"), f"probe {DEAD} errno 1\nprobe {GOOD}@{OLD} errno 1\n")
    run = host.ctl("driver", "swap", OLD)
    t.ok(run.returncode != 0 and GOOD in run.stderr, "a swap that loses a GPU fails", run.stderr)
    serves(t, host, NEW, "a swap that loses a GPU is undone")


run_checks(check_boot, check_status, check_swap)
