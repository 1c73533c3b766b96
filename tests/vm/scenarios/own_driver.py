# SPDX-License-Identifier: Apache-2.0
"""Debian 13 with the driver of its own archive, whose modules are compiled from the corrected source."""

from rig.case import case
from rig.system import DEBIAN_13

from . import boot, expect, package
from .containers import sees
from .failures import REJECT
from .install import NEW, import_modules, import_packages

HERE = (DEBIAN_13,)


@case("550.163.01 is imported from Debian 13's packages", start="installed", makes="new-imported", systems=HERE)
def import_new(host):
    import_packages(host, NEW)
    import_modules(host, NEW)
    versions = host.ctl_json("driver", "list")["versions"]
    assert [entry["version"] for entry in versions] == [NEW], f"list: {versions}"
    host.ctl_ok("driver", "verify", NEW)
    expect.no_driver(host)


@case("a host without a driver swaps to 550.163.01", start="new-imported", makes="new", systems=HERE)
def first_driver(host):
    host.swap(NEW)
    expect.driver(host, NEW, host.srcversions(NEW))


@case("a first driver that finds no GPU is unloaded", start="new-imported", systems=HERE)
def no_gpu(host):
    host.check(REJECT)
    expect.refused(host, host.ctl("driver", "swap", NEW))
    expect.no_driver(host)
    assert host.last_operation()["state"] == "rolled-back", f"operation: {host.last_operation()}"


@case("containers get the only driver", start="new", systems=HERE)
def container(host):
    sees(host, NEW)


case("a reboot loads 550.163.01 before the kubelet starts", start="new", systems=HERE)(boot.reboot)
case("removal and purge leave a loaded 550.163.01", start="new", systems=HERE)(package.removal)
case("a purge with 550.163.01 unloaded removes all files", start="new", systems=HERE)(package.purge)
