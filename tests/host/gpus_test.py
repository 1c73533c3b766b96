# SPDX-License-Identifier: Apache-2.0
"""One GPU that the driver does not probe: the others serve, at boot and through swaps, and it is named."""
import os
import shutil

from fake_host import GPUS, NEW, OLD, run_checks, write

GOOD, DEAD = GPUS


def reboot(host, *unloaded):
    """Boots; udev has loaded the driver but for `unloaded`."""
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
    """The GPU that works is served, and containers get it."""
    gpus = os.listdir(host.path("/proc/driver/nvidia/gpus")) if host.loaded() else []
    t.equal((set(host.loaded().values()), gpus, host.told(), os.path.exists(host.path("/dev/nvidia0"))),
            ({version}, [GOOD], version, True), what)


def last(host):
    """The newest operation."""
    return host.json("operation", "show")


def check_boot(t, host):
    write(host.path("/fake-kernel/control"), f"probe {DEAD} errno 1\n")
    for unloaded, what in ((("nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia"), "nothing"), (("nvidia_uvm",), "all but nvidia_uvm")):
        t.ok(reboot(host, *unloaded), f"a boot where udev loaded {what} is ready", host.tail())
        serves(t, host, OLD, "and the GPU that probes serves")
        warnings = [warning for output in last(host)["outputs"] for warning in (output or {}).get("warnings", [])]
        t.ok(any(DEAD in warning for warning in warnings), "the other one is a warning of the operation", last(host))


def check_status(t, host):
    t.ok(f"1 of 2 bound to nvidia; not bound: {DEAD}" in host.ctl("status").stdout, "status names it", host.ctl("status").stdout)


def check_swap(t, host):
    host.ctl("driver", "swap", NEW, check=0)
    serves(t, host, NEW, "a swap is kept where the old driver did not serve it either")
    write(host.path("/fake-kernel/control"), f"probe {DEAD} errno 1\nprobe {GOOD}@{OLD} errno 1\n")
    run = host.ctl("driver", "swap", OLD)
    t.ok(run.returncode != 0 and GOOD in run.stderr, "a GPU that was served and is not any more is a failure", run.stderr)
    serves(t, host, NEW, "which goes back")


run_checks(check_boot, check_status, check_swap)
