# SPDX-License-Identifier: Apache-2.0
"""From the last release to this package, and back (check-vm --from FILE --back), also with an interrupted swap.

/payload/gpuhostd.deb is the last release, /payload/gpuhostd-next.deb this package."""

import random

from rig import case as cases
from rig.case import case

from . import crash, expect
from .install import NEW, OLD, import_modules, import_packages
from .package import LOADS
from .upgrade import finished_by

STOPS = 3  # records of a swap's journal at which one daemon ends and the other continues, for each direction


def install(host, deb):
    """Also installs an older package than the present one."""
    host.check(f"dpkg -i /payload/{deb} 2>&1", 300)
    host.settle()


def kinds(host):
    """Returns the operations by number: versions list them in another order."""
    return sorted((one["id"], one["kind"], one["state"]) for one in host.operations() if one["kind"] != "apply")


def keeps(host, deb):
    """Expects that another package changes neither the driver nor the operations."""
    facts, loads, before = host.facts(), host.check(LOADS), kinds(host)
    install(host, deb)
    expect.untouched(facts, host.facts())
    assert host.check(LOADS) == loads, "the driver was loaded again"
    assert kinds(host) == before, f"operations: {before} became {kinds(host)}"
    host.ctl_ok("driver", "verify")


@case("the last release loads a driver", start="fresh", makes="release")
def release(host):
    host.check("apt-get -qq -o Dpkg::Use-Pty=0 install /payload/gpuhostd.deb </dev/null && systemctl enable --now gpuhostd", 240)
    host.settle()
    for version in (OLD, NEW):
        import_packages(host, version)
        import_modules(host, version)
    host.swap(NEW)
    host.swap(OLD)


@case("this package keeps the driver of the last release", start="release", makes="this")
def upgraded(host):
    keeps(host, "gpuhostd-next.deb")
    host.swap(NEW)
    host.swap(OLD)
    expect.driver(host, OLD, host.srcversions(OLD))


@case("the last release returns, swaps, and is upgraded again", start="this")
def returned(host):
    keeps(host, "gpuhostd.deb")
    host.swap(NEW)
    expect.driver(host, NEW, host.srcversions(NEW))
    keeps(host, "gpuhostd-next.deb")
    host.ctl_ok("driver", "rollback")
    expect.driver(host, OLD, host.srcversions(OLD))


def learn(state, deb, name):
    def run(host):
        host.swap(NEW)
        count = len(crash.journal(host))
        for record in sorted(random.Random(crash.SEED).sample(range(1, count), STOPS)):
            cases.add(f"{name} ends a swap that the other package left at record {record} of {count}", finished_by(record, deb), state)
    return run


for state, deb, name in (("release", "gpuhostd-next.deb", "this package"), ("this", "gpuhostd.deb", "the last release")):
    case(f"a swap's journal has records at which {name} can continue", start=state)(learn(state, deb, name))
