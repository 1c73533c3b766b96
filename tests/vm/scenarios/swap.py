# SPDX-License-Identifier: Apache-2.0
"""Swaps that succeed."""

import os

from rig.case import case

from . import expect
from .install import NEW, OLD

KEPT_JOURNALS = 50
SWAPS = 100 if os.environ.get("FULL") == "1" else 4
# The newest operations and journals are kept; the driver's history is written when older ones are removed.
SWAPS_BEFORE = KEPT_JOURNALS if SWAPS > KEPT_JOURNALS else 2
# Resources that a swap could leak.
LEFT = r"""pid=$(systemctl show -P MainPID gpuhostd)
awk '/^VmRSS/ { print "memory", $2 }' /proc/$pid/status
echo "descriptors $(ls /proc/$pid/fd | wc -l)"
echo "journals $(ls /var/lib/gpuhost/journal | wc -l)"
echo "units $(systemctl list-units --all --no-legend 'gpuhost-worker-*' | wc -l)"
"""
FILES = ("find /var/lib/gpuhost /run/gpuhost /etc /usr/bin /usr/lib /lib/modules /lib/firmware /run/modprobe.d -xdev "
         "! -path '*/journal/*' ! -path /run/gpuhost/placement.json")  # which a timer writes


@case("a swap from 535.261.03 to 550.163.01 and back succeeds", start="both")
def there_and_back(host):
    host.swap(NEW)
    expect.driver(host, NEW, host.srcversions(NEW))
    host.swap(OLD)
    expect.driver(host, OLD, host.srcversions(OLD))


@case("concurrent modprobe calls with a softdep never load the driver", start="both", full=True)
def concurrent_modprobe(host):
    host.write("/etc/modprobe.d/50-others.conf", "softdep nvidia pre: vfio-pci post: nvidia-uvm\n")
    count = int(host.check("dmesg | grep -c 'NVRM: loading'"))
    host.check("systemd-run -q --unit=asker -- sh -c 'while :; do modprobe -q nvidia; done'")
    host.swap(NEW)
    host.check("systemctl stop asker")
    expect.driver(host, NEW, host.srcversions(NEW))
    assert int(host.check("dmesg | grep -c 'NVRM: loading'")) == count + 1, "nvidia was loaded more than once"


@case("rollback swaps to the previous generation", start="both")
def rollback(host):
    host.swap(NEW)
    host.ctl_ok("driver", "rollback")
    expect.driver(host, OLD, host.srcversions(OLD))


@case("a swap to the loaded driver starts no operation", start="both")
def no_op(host):
    host.ctl_ok("apply")  # inspects the container runtimes
    host.quiet()
    before, operations = host.facts(), host.operations()
    count = int(host.check("dmesg | grep -c 'NVRM: loading'"))
    host.swap(OLD)
    assert host.operations() == operations, f"an operation was started: {host.operations()}"
    plan = host.ctl_json("apply", "--dry-run")["steps"]
    assert plan == [], f"plan has steps: {plan}"
    assert int(host.check("dmesg | grep -c 'NVRM: loading'")) == count, "the module was loaded again"
    expect.untouched(before, host.facts())


@case("--dry-run prints the steps, nothing changes", start="both")
def dry_run(host):
    before = host.facts()
    result = host.ctl_ok("driver", "swap", NEW, "--dry-run")
    assert NEW in result.out, f"printed: {result}"
    expect.untouched(before, host.facts())


@case("a generation whose library a process has mapped is not removed", start="both", full=True)
def mapped_generation(host):
    library = host.facts().library
    host.check(f"systemd-run -q --unit=mapper --setenv=LD_PRELOAD={library} -- sleep 1000")
    pid = host.check("systemctl show -P MainPID mapper")
    host.wait_until(f"grep -qF {library} /proc/{pid}/maps", 20)
    host.swap(NEW)
    expect.refused(host, host.ctl("driver", "remove", OLD), f"process {pid} (sleep)", "uses", library)
    assert host.run(f"test -e {library}").rc == 0, "the mapped library was removed"


@case(f"{SWAPS} swaps in a row leak no file, memory or journal", start="both")
def endurance(host):
    def left():
        host.settle()
        rows = (row.split() for row in host.check(LEFT).splitlines())
        return {name: int(number) for name, number in rows}, set(host.check(FILES).splitlines())

    for version in (NEW, OLD) * (SWAPS_BEFORE // 2):  # files that only the first swaps add, as both generations
        host.swap(version)
    before, files_before = left()
    for _ in range(SWAPS // 2):
        host.swap(NEW)
        host.swap(OLD)
    after, files = left()
    print(f"# before {before}, after {SWAPS} swaps {after}")
    expect.driver(host, OLD, host.srcversions(OLD))
    assert files == files_before, f"added: {sorted(files - files_before)[:9]}, removed: {sorted(files_before - files)[:9]}"
    for name in ("descriptors", "units"):
        assert after[name] == before[name], f"{name}: {before} became {after}"
    assert after["memory"] <= before["memory"] + 1024, f"KiB of memory: {before} became {after}"
    assert after["journals"] <= KEPT_JOURNALS, f"journals: {after}"
