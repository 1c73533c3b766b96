# SPDX-License-Identifier: Apache-2.0
"""Imports and removals of bundles are killed at each record of their journals (crash.py).

Afterwards either the whole bundle is available or no part of it. Available means: listed, blobs in the store,
drivers in the driver store, packages in the repositories of apt and dnf. The next import is complete.
"""
import hashlib
import os
import re
import shutil
import typing

import tap
from archive_files import docker_24, layer_of
from bundle_driver_test import SPEC, Maker, drivers
from bundle_unsigned_test import MACHINE, NAME
from crash import Case, Recording, check_crashes, check_deaths, check_errors, listing, restore
from fake_host import FakeHost, write
from image_files import Layout
from package_files import Apt, Dnf, missing_tools, write_deb, write_rpm

HOSTS = "/etc/containerd/certs.d/registry.example/hosts.toml"
CATALOGUE = "/var/lib/gpuhost/catalogue"
INCOMING = "/var/lib/gpuhost/store/incoming"
SAMPLE = 8  # crashes and errors for each operation, unless FULL=1
BOTH_FAMILIES = 'ID=debian\nID_LIKE=rhel\nVERSION_ID=12\n'  # one import then has packages for apt and for dnf
PACKAGES = """
[Packages debian-12]
Files=debs/*.deb

[Packages rhel-12]
Files=rpms/*.rpm
"""


def seen(host):
    """Returns the visible state: bundles with generations, drivers, number of named blobs, leftovers in the
    catalogue, whether containerd uses the mirror, packages."""
    bundles = [(bundle["name"], bundle["generation"]) for bundle in host.json("bundle", "list")["bundles"]]
    rest = [name for name in listing(host, CATALOGUE) if name.startswith(".") and name != ".generations"]
    return (bundles, drivers(host), len(listing(host, "/var/lib/gpuhost/store/sha256")), rest, "gpuhostd" in host.read(HOSTS), packages(host))


def packages(host):
    """Returns packages in the catalogue, digests of its link targets, and repository files of apt and dnf."""
    listed = {bundle["name"]: bundle["packages"] for bundle in host.json("bundle", "list")["bundles"] if bundle["packages"]}
    links = {os.path.relpath(os.path.join(directory, name), host.path(CATALOGUE)): digest(os.path.join(directory, name))
             for directory, _, names in os.walk(host.path(CATALOGUE)) for name in names if os.path.islink(os.path.join(directory, name))}
    told = {path: host.read(path) for directory in ("/etc/apt/sources.list.d", "/etc/yum.repos.d")
            for path in (f"{directory}/{name}" for name in listing(host, directory))}
    return [listed, links, told]


def digest(path):
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def offered(apt):
    """Returns the packages that apt would fetch."""
    return re.findall(r" (\S+\.deb) ", apt("--print-uris", "download", "tool").stdout)


def debs(now):
    return [os.path.basename(link) for link in now[-1][1] if link.endswith(".deb")]


class Check:
    """Checks an operation: the states `before` and `after` it, and `whole` after the import `again`."""

    def __init__(self, operation, kind, again, apt):
        self.operation, self.kind, self.again, self.apt = operation, kind, again, apt
        self.before = self.after = self.whole = None

    def faults(self, host, outcomes):
        end = host.journal(self.operation)[-1]
        outcome = end.get("outcome")
        wrong = []
        if end.get("type") != "end" or outcome not in outcomes:
            wrong.append(f"outcome is {outcome}, not one of {outcomes}: {end.get('error')}")
        now = seen(host)
        if not self.is_right(outcome, now):
            wrong.append(f"{outcome}, but here is {now}")
        if outcome != "incomplete" and self.apt and offered(self.apt) != debs(now):
            wrong.append(f"{outcome}, but apt offers {offered(self.apt)}, and here is {debs(now)}")
        for path in ("/run/gpuhost/jobs", "/var/lib/gpuhost/staging"):
            if listing(host, path):
                wrong.append(f"left in {path}: {listing(host, path)}")
        plan = host.plan()
        if outcome == "committed" and (plan["steps"] or plan["problems"]):
            wrong.append(f"still to do: {plan}")
        if "--unsigned" in self.again and outcome != "incomplete" and listing(host, INCOMING):
            wrong.append("unpacked files are left")  # no import can resume with them
        run = host.ctl(*self.again)
        now = seen(host)
        if run.returncode != 0 or now != self.whole or listing(host, INCOMING) or self.apt and offered(self.apt) != debs(now):
            wrong.append(f"the next import: {run.stderr}, and here is {now}")
        return wrong

    def is_right(self, outcome, now):
        if outcome == "committed":
            return now == self.after
        if outcome == "incomplete":  # after the point of no return: removals and notifications may be pending
            stays = self.kind.may_stay and now[:2] == self.before[:2]
            return stays or now[:2] == self.after[:2] and now[2] >= self.after[2]
        return now[:2] + now[3:] == self.before[:2] + self.before[3:]  # unowned blobs may remain


def import_outcomes(recording, moment, power_cut, _earlier):
    """Returns the outcomes that are right for an import. The bundle's descriptor is lost with the daemon: an
    import that has not received everything is undone. A complete one continues, except after a power cut."""
    if moment.ended:
        return (recording.outcome,)
    if recording.outcome != "committed":
        return (recording.outcome, "cancelled")
    if moment.where.startswith(("apply images.mirrors", "apply packages.repositories")):
        return ("committed",)
    if moment.where.startswith("apply bundle.finalize"):  # one record earlier the step has not begun
        return ("failed", "committed") if moment.begins and power_cut else ("committed",)
    if power_cut or moment.where.startswith(("preflight", "apply bundle.receive", "apply bundle.convert")):
        return ("failed", "refused", "cancelled")
    if moment.where.startswith(("apply driver.unpack before", "apply bundle.commit before")):  # one record earlier the previous step has not ended
        return ("failed", "committed")
    return ("committed",)


def removal_outcomes(recording, moment, power_cut, _earlier):
    """Returns the outcomes that are right for a removal. It needs nothing that a restart discards. A power
    cut undoes it while only references are removed."""
    if moment.ended:
        return (recording.outcome,)
    if recording.outcome != "committed":
        return (recording.outcome, "cancelled")
    begins = moment.where.startswith("preflight") or moment.where.startswith("apply packages.repositories") and moment.count == 1
    if power_cut and begins:
        return ("failed", "cancelled")
    if power_cut and moment.where == "apply bundle.remove before":  # one record earlier the step has not begun
        return ("failed", "committed")
    return ("committed",)


class Kind(typing.NamedTuple):
    """Describes a kind of operation: the step of no return, whether that step may fail without a change, the
    moment whose error causes an undo, and the outcomes that are right after a crash."""
    no_return: str
    may_stay: bool
    back: str
    outcomes: typing.Callable


IMPORT = Kind("bundle.finalize", False, "apply bundle.commit after", import_outcomes)
REMOVAL = Kind("bundle.remove", True, "apply packages.repositories after", removal_outcomes)


def crash(t, host, apt, kind, number, words, label, again=None):
    """Runs one operation on the host and kills it at each record. `again` is the import that restores the
    earlier state, if it differs from `words`."""
    check = Check(number, kind, again or words, apt)
    host.start_daemon()
    host.settle()
    check.before = seen(host)
    host.kill_daemon()
    case = Case(host, number, words, check.faults, kind.outcomes, kind.no_return, SAMPLE)
    forward = Recording(case, label)
    t.equal(forward.outcome, "committed", f"{label}: the recorded operation is committed")
    host.start_daemon()
    host.settle()
    check.after = seen(host)
    check.whole = check.before if again else check.after
    host.kill_daemon()
    at = next(moment for moment in forward.moments if moment.where == kind.back)
    back = Recording(case, label + "-back", failing=at)
    t.equal(back.outcome, "failed", f"{label}: the recorded failure is undone")
    back.moments = [moment for moment in back.moments if moment.where.startswith(("undo", "end"))]
    check_crashes(t, case, forward, label)
    check_crashes(t, case, back, label + ", undone")
    check_errors(t, case, forward, label)
    check_deaths(t, case, "worker")
    restore(host, forward.moments[-1].tree)
    return check.after


class Bundles:
    """Creates the bundles, with packages where the tools for packages are installed."""

    def __init__(self, host):
        self.host = host
        self.maker = Maker(os.path.join(host.scratch, "maker"))
        self.spec = SPEC + ("" if missing_tools() else PACKAGES)
        self.path = self.maker.path("site.bundle")
        self.words = ("bundle", "import", self.path)

    def make(self, generation, image):
        if PACKAGES in self.spec:
            for directory in ("debs", "rpms"):
                shutil.rmtree(self.maker.path(directory), ignore_errors=True)
            version = f"{generation}.0"
            write_deb(self.maker.path(f"debs/tool_{version}_all.deb"), "tool", version)
            write_rpm(self.maker.path("rpms"), "tool", version)
        made = self.maker.create(self.spec.replace("app:v1", image), generation)
        if made.returncode != 0:
            raise RuntimeError(made.stderr)

    def archive(self):
        path = os.path.join(self.host.scratch, "airgap.tar")
        with open(path, "wb") as file:
            file.write(docker_24({NAME: [layer_of({"etc/motd": b"hello"}), layer_of({"data": bytes(300_000)})]}, MACHINE).bytes())
        return path

    def layout(self):
        layout = Layout(os.path.join(self.host.scratch, "layout"))
        layout.tag(layout.add_manifest([layer_of({"etc/motd": b"hello again"})], MACHINE), NAME)
        return layout.path + "/"


def prepare(host, bundles):
    host.install()
    for directory in ("/etc/gpuhost/trust.d", "/etc/containerd"):
        os.makedirs(host.path(directory))
    shutil.copy(bundles.maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
    write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Images]\nAllowUnsigned=yes\n")
    write(host.path("/etc/os-release"), BOTH_FAMILIES)


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        bundles = Bundles(host)
        prepare(host, bundles)
        apt = None
        if missing := missing_tools():
            t.skip("packages in bundles", "not installed: " + " ".join(missing))
        else:
            apt = Apt(host)
            Dnf(host)
        bundles.make(1, "app:v1")
        here = crash(t, host, apt, IMPORT, 1, bundles.words, "first import")
        kinds = {link.rpartition(".")[-1] for link in here[-1][1]}
        t.ok(not apt or {"deb", "rpm", "xml"} < kinds and len(here[-1][2]) == 2,
             "an import publishes packages for apt and dnf", here)
        bundles.make(2, "app:v2")
        crash(t, host, apt, IMPORT, 2, bundles.words, "second import")
        crash(t, host, apt, IMPORT, 3, ("bundle", "import", "--unsigned", bundles.archive()), "unsigned archive")
        crash(t, host, apt, IMPORT, 4, ("bundle", "import", "--unsigned", "--allow-downgrade", "--name=airgap", bundles.layout()),
              "unsigned layout replaces archive")
        here = crash(t, host, apt, REMOVAL, 5, ("bundle", "remove", "drivers"), "removal", bundles.words)
        t.equal(here[-1], [{}, {}, {}], "a removal leaves no package")
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
