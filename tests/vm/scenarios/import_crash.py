# SPDX-License-Identifier: Apache-2.0
"""Power cuts at any moment of an import: the bundle is complete or absent after it, and the next import
completes."""

import random
import subprocess

from rig import case as cases
from rig import disklog
from rig.case import case

from .bundle import STORE, create
from .crash import SEED, cut_at, record, sample

CUTS = 3  # without FULL=1


def generations(host):
    return [bundle["generation"] for bundle in host.ctl_json("bundle", "list")["bundles"]]


def damaged(host):
    """Returns blobs whose content does not match the digest in their names."""
    return host.check(f"find {STORE}/sha256 -type f | while read f; do [ \"$(sha256sum <$f)\" = \"${{f##*/}}  -\" ] || echo $f; done")


def check_disk(host):
    """Shuts the guest down and checks its file system."""
    host.power_off()
    raw = host.work / "checked.raw"
    subprocess.run(["qemu-img", "convert", "-O", "raw", host.disk, raw], check=True)
    done = subprocess.run(["e2fsck", "-fn", raw], capture_output=True, text=True)
    raw.unlink()
    assert done.returncode == 0, done.stdout


def judge(host):
    host.settle()
    before = generations(host)
    assert before in ([], [3]), f"{before}"
    assert damaged(host) == "", "an incomplete blob has its final name"
    if before:
        listed = host.ctl_json("bundle", "list")["bundles"][0]
        assert listed["blobs"] == len(host.check(f"ls {STORE}/sha256").split()), f"{listed}"
    host.ctl_ok("bundle", "import", "/root/3.bundle")
    assert generations(host) == [3] and damaged(host) == "" and host.check(f"ls {STORE}/incoming") == ""
    check_disk(host)


@case("an import writes its disk more than four times, for power cuts", start="bundled")
def record_import(host):
    host.ctl_ok("bundle", "remove", "site-images")
    create(host, 3)
    here = []

    def operate(recorded, log):
        recorded.check("sync")
        here.append(len(disklog.DiskLog(log).entries))
        recorded.ctl_ok("bundle", "import", "/root/3.bundle")

    base, log = record(host, host.work / "recorded-import", operate)
    last = len(disklog.DiskLog(log).entries)
    assert last > here[0] + 4, f"only {last - here[0]} writes in the log"
    rng = random.Random(SEED)
    for position in sample(list(range(here[0] + 1, last + 1)), CUTS, rng):
        cases.add(f"an import with a power cut at write {position - here[0]} of {last - here[0]} is complete or absent",
                  cut_at(base, log, position, rng.randrange(1 << 30), judge), "bundled")
