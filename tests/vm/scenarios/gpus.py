# SPDX-License-Identifier: Apache-2.0
"""More GPUs than one, and GPUs that come and go while the driver runs."""

from rig.case import case

from . import expect
from .install import NEW, OLD


@case("a GPU is taken off the bus and comes back: the host goes on with what it has, and swaps with each", start="both")
def comes_and_goes(host):
    first, second = sorted(host.facts().pci)
    host.check(f"echo 1 >/sys/bus/pci/devices/{second}/remove", 60)
    assert host.facts().pci == {first}, f"it is still there: {host.facts().pci}"
    host.swap(NEW)
    expect.driver(host, NEW, host.srcversions(NEW))
    host.check("echo 1 >/sys/module/fakegpu/parameters/plug", 60)
    host.wait_until(f"test -e /proc/driver/nvidia/gpus/{second}", 30)
    host.ctl_ok("apply")
    facts = expect.driver(host, NEW, host.srcversions(NEW))
    assert facts.gpus == {first, second}, f"the driver serves {facts.gpus}"
    host.swap(OLD)
    expect.driver(host, OLD, host.srcversions(OLD))


@case("one GPU of eight that the new driver does not start: rolled back by itself, with the GPU named; else all eight go over", start="both")
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
