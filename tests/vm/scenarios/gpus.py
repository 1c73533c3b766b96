# SPDX-License-Identifier: Apache-2.0
"""Several GPUs, and GPUs that are removed and added while the driver is loaded."""

from rig.case import case

from . import expect
from .install import NEW, OLD


@case("swaps succeed while a GPU is removed and after its return", start="both")
def removed_and_added(host):
    first, second = sorted(host.facts().pci)
    host.check(f"echo 1 >/sys/bus/pci/devices/{second}/remove", 60)
    assert host.facts().pci == {first}, f"the removed GPU is still on the bus: {host.facts().pci}"
    host.swap(NEW)
    expect.driver(host, NEW, host.srcversions(NEW))
    host.check("echo 1 >/sys/module/fakegpu/parameters/plug", 60)
    host.wait_until(f"test -e /proc/driver/nvidia/gpus/{second}", 30)
    host.ctl_ok("apply")
    facts = expect.driver(host, NEW, host.srcversions(NEW))
    assert facts.gpus == {first, second}, f"the driver serves {facts.gpus}"
    host.swap(OLD)
    expect.driver(host, OLD, host.srcversions(OLD))


@case("a swap is rolled back when one of eight GPUs fails", start="both")
def one_of_eight(host):
    few, host.options = host.options, "fakegpu.gpus=8"
    try:
        host.check("sync")
        host.reboot()
        host.settle()
        assert len(expect.driver(host, OLD, host.srcversions(OLD)).gpus) == 8, f"GPUs: {host.facts().gpus}"
        host.check(f"echo {NEW} >/sys/module/fakegpu/parameters/reject; echo 32 >/sys/module/fakegpu/parameters/reject_mask")
        expect.refused(host, host.ctl("driver", "swap", NEW), "0010:00:05.0")
        assert len(expect.driver(host, OLD, host.srcversions(OLD)).gpus) == 8, f"GPUs: {host.facts().gpus}"
        host.check("echo >/sys/module/fakegpu/parameters/reject")
        host.swap(NEW)
        assert len(expect.driver(host, NEW, host.srcversions(NEW)).gpus) == 8, f"GPUs: {host.facts().gpus}"
    finally:
        host.options = few
