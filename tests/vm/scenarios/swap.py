# SPDX-License-Identifier: Apache-2.0
"""Swaps that work."""

from rig.case import case

from . import expect
from .install import NEW, OLD


@case("535.261.03 to 550.163.01 and back", start="both")
def there_and_back(host):
    host.swap(NEW)
    expect.driver(host, NEW, host.srcversions(NEW))
    host.swap(OLD)
    expect.driver(host, OLD, host.srcversions(OLD))


@case("rollback goes to the generation before", start="both")
def rollback(host):
    host.swap(NEW)
    host.ctl_ok("driver", "rollback")
    expect.driver(host, OLD, host.srcversions(OLD))


@case("loaded equals wanted: no step, no operation", start="both")
def no_op(host):
    before, operations = host.facts(), host.operations()
    count = int(host.check("dmesg | grep -c 'NVRM: loading'"))
    host.swap(OLD)
    assert host.operations() == operations, f"an operation was started: {host.operations()}"
    assert host.ctl_json("plan")["steps"] == [], "plan has steps"
    assert int(host.check("dmesg | grep -c 'NVRM: loading'")) == count, "the module was loaded again"
    expect.untouched(before, host.facts())


@case("--dry-run prints the steps and touches nothing", start="both")
def dry_run(host):
    before = host.facts()
    result = host.ctl_ok("driver", "swap", NEW, "--dry-run")
    assert NEW in result.out, f"printed: {result}"
    expect.untouched(before, host.facts())


@case("a process that has the old library mapped keeps that generation", start="both", full=True)
def mapped_generation(host):
    library = host.facts().library
    host.check(f"systemd-run -q --unit=mapper --setenv=LD_PRELOAD={library} -- sleep 1000")
    pid = host.check("systemctl show -P MainPID mapper")
    host.wait_until(f"grep -qF {library} /proc/{pid}/maps", 20)
    host.swap(NEW)
    expect.refused(host, host.ctl("driver", "remove", OLD), f"process {pid} (sleep)", "uses", library)
    assert host.run(f"test -e {library}").rc == 0, "the mapped library is gone"
