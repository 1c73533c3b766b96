# SPDX-License-Identifier: Apache-2.0
"""An upgrade from a former package (check-vm --from): the host keeps its driver, its state and its settings.

No other scenario runs with --from, and /payload/gpuhostd.deb is the former package."""

import random

from rig import case as cases
from rig.case import case
from rig.runner import TOOLKITS

from . import bundle, crash, expect, runtimes
from .install import NEW, OLD, import_modules, import_packages
from .package import LOADS

STOPS = 4  # records of a swap's journal at which the former daemon ends
CHOSEN_TOOLKIT = TOOLKITS[0]  # an older one, which the host uses only because the cluster's policy says so
RENAMED = {"wants_driver": "driver_wanted"}  # members of documents
# Written again at the first start, because the text of gpuhostd's comments in them differs.
REWRITTEN = {f"/{path}" for path in ("run/cdi/nvidia.yaml", "var/lib/gpuhost/cdi.json", "var/lib/gpuhost/runtime.json",
                                     runtimes.DROP_IN.lstrip("/"))}
FORMER_POLICY, POLICY = "/var/lib/gpuhost/cluster-wish.conf", "/var/lib/gpuhost/cluster-desired.conf"
# Keys of the former package that have another name now, each with the value that is not the default.
SETTINGS = """[Runtime]
Classes=nvidia
[Mirrors]
Enable=no
[Packages]
Repositories=no
[Cluster]
Validations=no
Upgrades=no
"""
PLACES = """/var/lib/gpuhost /run/cdi /run/modprobe.d /etc/gpuhost /etc/containerd /etc/cdi /etc/modprobe.d
/etc/ld.so.conf.d /etc/nvidia-container-runtime /usr/bin /lib/firmware/nvidia"""
# A big file is compared by size and time, because a digest takes long under emulation.
FILES = f"""cd /; places=$(ls -d {PLACES.replace(chr(10), ' ')} 2>/dev/null)
find $places -type f -size -1024k ! -path '/usr/*' -print0 | xargs -0r sha256sum | sed -E 's/^(\\S+) +(.*)/\\2 \\1/'
find $places -type f -size +1023k ! -path '/usr/*' -printf '%p %s/%T@\\n'
find $places -type l -lname '*gpuhost*' -printf '%p %l\\n'"""
UNITS = "systemctl list-units --no-legend --plain --state=active 'gpuhost*' | cut -d' ' -f1 | grep -vE '^gpuhost-(worker-|.*\\.service)'"
IDLE = "! systemctl list-units --no-legend --plain --state=activating 'gpuhost*' | grep -q ."


def files(host):
    return dict(row.rsplit(" ", 1) for row in host.check(FILES, 300).splitlines())


def documents(host):
    return {" ".join(words): host.ctl_json(*words) for words in
            (("operation", "list"), ("driver", "list"), ("driver", "history"), ("toolkit", "list"), ("toolkit", "show"), ("bundle", "list"))}


def lost(before, after, path=""):
    """Returns what a later document lacks or changed of an earlier one. New keys do not count."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [row for key in before for row in lost(before[key], after.get(RENAMED.get(key, key)), f"{path}/{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [row for n, pair in enumerate(zip(before, after)) for row in lost(*pair, f"{path}/{n}")]
    return [] if before == after else [f"{path}: {before} became {after}"]


def upgrade(host):
    host.check("dpkg -i /payload/gpuhostd-next.deb 2>&1", 300)


def wait_idle(host):
    host.settle()
    host.wait_until(IDLE, 120)  # units that observe runtimes and images


@case("the former package gets a driver, a bundle, a toolkit and containerd", start="fresh", makes="former")
def former(host):
    host.check("apt-get -qq -o Dpkg::Use-Pty=0 install /payload/gpuhostd.deb </dev/null", 240)
    host.write("/etc/gpuhost/gpuhostd.conf.d/site.conf", SETTINGS)
    host.write(FORMER_POLICY, f"[Toolkit]\nVersion={CHOSEN_TOOLKIT}\n")
    host.check("systemctl enable gpuhostd gpuhost-ready 2>&1 && systemctl restart gpuhostd", 60)
    host.settle()
    for version in (OLD, NEW):
        import_packages(host, version)
        import_modules(host, version)
    bundle.create(host, 1)
    host.check(f"cp {bundle.KEYS}/ca.pem /etc/gpuhost/trust.d/site.pem")
    host.ctl_ok("bundle", "import", "/root/1.bundle")
    for version in TOOLKITS:
        host.check(f"gpuhostctl toolkit import /payload/toolkit/{version}/*.deb")
    host.swap(NEW)
    host.swap(OLD)
    runtimes.install(host)
    host.ctl_ok("apply")
    wait_idle(host)
    expect.driver(host, OLD, host.srcversions(OLD))
    assert host.ctl_json("apply", "--dry-run")["steps"] == [], f"plan: {host.ctl('apply', '--dry-run')}"
    assert host.ctl_json("toolkit", "show")["selected"] == CHOSEN_TOOLKIT, f"{host.ctl('toolkit', 'show')}"
    host.check(f"test -s {runtimes.DROP_IN} && test -e {FORMER_POLICY} && test ! -e {POLICY} && test ! -e /run/nvidia/validations")


@case("an upgrade keeps driver, selection, operations, bundles, runtimes and settings", start="former", makes="upgraded")
def keeps_state(host):
    facts, loads, before, found = host.facts(), host.check(LOADS), documents(host), files(host)
    units, containerd = host.check(UNITS), runtimes.pid(host)
    started, policy = int(runtimes.starts(host, "gpuhostd")), host.read(FORMER_POLICY)

    upgrade(host)
    wait_idle(host)
    assert host.check("readlink /proc/$(systemctl show -P MainPID gpuhostd)/exe") == "/usr/sbin/gpuhostd", "the former daemon still runs"
    assert int(runtimes.starts(host, "gpuhostd")) == started + 1, "not one restart"
    expect.untouched(facts, host.facts())
    assert host.check(LOADS) == loads, "the driver was loaded again"
    assert host.read(POLICY) == policy, "the cluster's settings are lost"
    found[POLICY] = found.pop(FORMER_POLICY)
    after = documents(host)
    for documents_of in (before, after):  # former versions list the newest operation last
        documents_of["operation list"].sort(key=lambda one: one["id"])
    new = after["operation list"][len(before["operation list"]):]  # of the daemon's start
    assert [one["kind"] for one in new] in ([], ["apply"]), f"operations: {new}"
    changed = lost(before, after | {"operation list": after["operation list"][:len(before["operation list"])]})
    assert not changed, "\n".join(changed)
    now = files(host)
    assert now.keys() - found.keys() <= {f"/var/lib/gpuhost/journal/{one['id']}.jsonl" for one in new}, "new: " + " ".join(now.keys() - found.keys())
    changed = lost({path: digest for path, digest in found.items() if path not in REWRITTEN}, now)
    assert not changed, "\n".join(changed)
    assert runtimes.pid(host) == containerd, "containerd was restarted"
    assert set(units.split()) <= set(host.check(UNITS).split()), f"active units: {units} became {host.check(UNITS)}"
    failed = host.check("systemctl --failed --no-legend --plain | cut -d' ' -f1")
    assert not failed, f"units failed: {failed}"
    warned = host.check("journalctl -b -o cat -p warning _SYSTEMD_INVOCATION_ID=$(systemctl show -P InvocationID gpuhostd)")
    assert not warned, f"the daemon warns: {warned}"

    host.ctl_ok("reload")  # fails for an unknown setting
    host.ctl_ok("status")
    expect.driver(host, OLD, host.srcversions(OLD))
    assert host.ctl_json("apply", "--dry-run")["steps"] == [], f"plan: {host.ctl('apply', '--dry-run')}"
    assert host.run("test -e /run/nvidia/validations").rc != 0, "[Cluster] Validations=no is lost"
    for operation in host.operations():
        host.ctl_ok("operation", "show", operation["id"])
    host.ctl_ok("driver", "verify")


@case("an upgraded host imports a bundle, swaps and rolls back", start="upgraded")
def works(host):
    containerd, operations = runtimes.pid(host), len(host.operations())
    bundle.create(host, 2)
    host.ctl_ok("bundle", "import", "/root/2.bundle")
    assert [one["generation"] for one in host.ctl_json("bundle", "list")["bundles"]] == [2]
    host.swap(NEW)
    expect.driver(host, NEW, host.srcversions(NEW))
    host.ctl_ok("driver", "rollback")
    expect.driver(host, OLD, host.srcversions(OLD))
    assert len(host.operations()) == operations + 3, f"{host.operations()}"
    assert runtimes.pid(host) == containerd, "containerd was restarted"


@case("an upgraded host reboots to the same driver, toolkit and runtime", start="upgraded")
def reboot(host):
    before = documents(host)
    host.check("sync")
    host.reboot()
    wait_idle(host)
    expect.driver(host, OLD, host.srcversions(OLD))
    assert host.run("systemctl is-active gpuhost-ready").rc == 0, "the host is not ready"
    for document in ("driver list", "toolkit list", "toolkit show", "bundle list"):
        changed = lost(before[document], host.ctl_json(*document.split()))
        assert not changed, "\n".join(changed)
    host.wait_until("systemctl is-active -q containerd", 120)
    assert "enable_cdi = true" in host.check("containerd config dump")
    assert host.ctl_json("apply", "--dry-run")["steps"] == [], f"plan: {host.ctl('apply', '--dry-run')}"


def finished_by(record, deb):
    """Ends the daemon at a record of a swap, and installs another package before it starts again."""
    def run(host):
        crash.start_killer(host, record, "package")
        host.run(f"gpuhostctl driver swap {NEW} --no-wait; sleep 1", 60)
        host.wait_until("test -e /run/killer-done", 150)
        assert crash.parse(crash.journal(host)[-1])["type"] != "end", "the first daemon ended the swap"
        host.check(f"dpkg -i /payload/{deb} 2>&1", 300)
        host.check("systemctl unmask -q --runtime gpuhostd && systemctl start gpuhostd", 120)
        crash.consistent(host)
        assert not host.check("ls /run/modprobe.d").split(), "autoload is still blocked"
        host.ctl_ok("operation", "show", host.last_operation("driver.swap")["id"])
    return run


@case("a swap's journal has records at which an upgrade can interrupt it", start="former")
def learn(host):
    host.swap(NEW)
    count = len(crash.journal(host))
    for record in sorted(random.Random(crash.SEED).sample(range(1, count), STOPS)):
        cases.add(f"the new daemon ends a swap that the former one left at record {record} of {count}",
                  finished_by(record, "gpuhostd-next.deb"), "former")
