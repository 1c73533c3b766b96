# SPDX-License-Identifier: Apache-2.0
"""The new driver does not work, or the old one does not unload."""

from rig.case import case
from rig.system import ALL

from . import expect
from .install import NEW, OLD

REJECT = f"echo {NEW} >/sys/module/fakegpu/parameters/reject"


def rolls_back(host):
    result = host.ctl("driver", "swap", NEW)
    expect.refused(host, result)
    expect.driver(host, OLD, host.srcversions(OLD))
    operation = host.last_operation()
    assert operation["state"] == "rolled-back" and operation["error"], f"operation: {operation}"
    return operation, result


@case("a swap whose new driver finds no GPU is rolled back", start="both", systems=ALL)
def no_gpu(host):
    host.check(REJECT)
    rolls_back(host)
    assert "None of the NVIDIA devices were initialized" in host.check("dmesg"), "the driver found a GPU"


@case("a swap whose new driver misses a GPU is rolled back", start="both")
def one_gpu_missing(host):
    host.check(REJECT + "; echo 2 >/sys/module/fakegpu/parameters/reject_mask")
    _, result = rolls_back(host)
    assert "0010:00:01.0" in result.out + result.err, f"the GPU is not named: {result}"


@case("an unload that hangs times out, a reboot restores the driver", start="both")
def unload_hangs(host):
    host.write("/etc/gpuhost/gpuhostd.conf.d/vm.conf", "[Driver]\nModuleDeadline=5s\n")
    host.ctl_ok("reload")
    host.check(f"insmod /payload/stuckexit/{OLD}.ko stuck=1")
    # A module of another origin is a holder, too. By default it stops a swap before the first change.
    before = host.facts()
    expect.refused(host, host.ctl("driver", "swap", NEW), "stuckexit")
    expect.untouched(before, host.facts())
    result = host.ctl("driver", "swap", NEW, "--holders=terminate", timeout=300)
    expect.refused(host, result, "stuckexit", "reboot")
    assert host.run("systemctl is-active gpuhostd").rc == 0, "the daemon is not active"
    assert host.last_operation()["state"] == "reboot-required", f"operation: {host.last_operation()}"
    assert host.ctl_json("status")["state"] == "reboot-required", "status does not request a reboot"
    host.check("sync")
    host.reset()
    host.settle()
    expect.driver(host, OLD, host.srcversions(OLD))
