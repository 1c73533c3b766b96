# SPDX-License-Identifier: Apache-2.0
"""Imports and the removal of bundles with images, drivers and packages, ended at every record of their journals (crash.py).

Whatever happens, either all of a bundle is here (listed, blobs in the store, drivers in the driver store, packages where apt and dnf
look for them) or nothing of it can be seen; and the next import brings all of it.
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
SAMPLE = 8  # of the crashes and of the errors of an operation, unless FULL=1
BOTH_FAMILIES = 'ID=debian\nID_LIKE=rhel\nVERSION_ID=12\n'  # so that one import has something for apt and something for dnf
PACKAGES = """
[Packages debian-12]
Files=debs/*.deb

[Packages rhel-12]
Files=rpms/*.rpm
"""


def seen(host):
    """What a person sees: bundles with their generations, drivers, blobs that have names, what else lies in the catalogue, whom
    containerd asks, and packages."""
    bundles = [(bundle["name"], bundle["generation"]) for bundle in host.json("bundle", "list")["bundles"]]
    rest = [name for name in listing(host, CATALOGUE) if name.startswith(".") and name != ".generations"]
    return (bundles, drivers(host), len(listing(host, "/var/lib/gpuhost/store/sha256")), rest, "gpuhostd" in host.read(HOSTS), packages(host))


def packages(host):
    """What the catalogue says of them, what its links lead to, and what apt and dnf are told."""
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
    """The packages that apt would fetch."""
    return re.findall(r" (\S+\.deb) ", apt("--print-uris", "download", "tool").stdout)


def debs(now):
    return [os.path.basename(link) for link in now[-1][1] if link.endswith(".deb")]


class Check:
    """Of an operation: what was here `before` it, what is `after` it, and the `whole` that the import `again` brings."""

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
        if outcome != "failed" and self.apt and offered(self.apt) != debs(now):
            wrong.append(f"{outcome}, but apt offers {offered(self.apt)}, and here is {debs(now)}")
        for path in ("/run/gpuhost/jobs", "/var/lib/gpuhost/staging"):
            if listing(host, path):
                wrong.append(f"left in {path}: {listing(host, path)}")
        plan = host.json("plan")
        if outcome == "committed" and (plan["steps"] or plan["problems"]):
            wrong.append(f"still to do: {plan}")
        if "--unsigned" in self.again and outcome != "failed" and listing(host, INCOMING):
            wrong.append("what was unpacked is left")  # nothing of it could be gone on with
        run = host.ctl(*self.again)
        now = seen(host)
        if run.returncode != 0 or now != self.whole or listing(host, INCOMING) or self.apt and offered(self.apt) != debs(now):
            wrong.append(f"the next import: {run.stderr}, and here is {now}")
        return wrong

    def is_right(self, outcome, now):
        if outcome == "committed":
            return now == self.after
        if outcome == "failed":  # behind the point of no return: something may be left to remove, and to tell others
            stays = self.kind.may_stay and now[:2] == self.before[:2]
            return stays or now[:2] == self.after[:2] and now[2] >= self.after[2]
        return now[:2] + now[3:] == self.before[:2] + self.before[3:]  # blobs that nobody owns may lie there


def import_outcomes(recording, moment, power_cut, _earlier):
    """The bundle is open only as long as the daemon that got it lives, so what is not received goes back; what is goes on, but for
    a power cut."""
    if moment.ended:
        return (recording.outcome,)
    if recording.outcome != "committed":
        return (recording.outcome, "cancelled")
    if moment.where.startswith(("apply images.mirrors", "apply packages.repositories")):
        return ("committed",)
    if moment.where.startswith("apply bundle.finalize"):  # one record before, it was not begun
        return ("rolled-back", "committed") if moment.begins and power_cut else ("committed",)
    if power_cut or moment.where.startswith(("preflight", "apply bundle.receive", "apply bundle.convert")):
        return ("rolled-back", "refused", "cancelled")
    if moment.where.startswith(("apply driver.unpack before", "apply bundle.commit before")):  # one record before, the one before it had not ended
        return ("rolled-back", "committed")
    return ("committed",)


def removal_outcomes(recording, moment, power_cut, _earlier):
    """It needs nothing that a restart takes away. A power cut has it go back as long as nothing is removed but what leads there."""
    if moment.ended:
        return (recording.outcome,)
    if recording.outcome != "committed":
        return (recording.outcome, "cancelled")
    begins = moment.where.startswith("preflight") or moment.where.startswith("apply packages.repositories") and moment.count == 1
    if power_cut and begins:
        return ("rolled-back", "cancelled")
    if power_cut and moment.where == "apply bundle.remove before":  # one record before, it was not begun
        return ("rolled-back", "committed")
    return ("committed",)


class Kind(typing.NamedTuple):
    """Of operations: from which step on there is no way back, whether that may leave all as it was where it fails, where an error
    has it go back, and which ends are right after a crash."""
    no_return: str
    may_stay: bool
    back: str
    outcomes: typing.Callable


IMPORT = Kind("bundle.finalize", False, "apply bundle.commit after", import_outcomes)
REMOVAL = Kind("bundle.remove", True, "apply packages.repositories after", removal_outcomes)


def crash(t, host, apt, kind, number, words, label, again=None):
    """One operation on the host as it is, ended everywhere. `again` is the import that follows, if not the same words; it brings
    what was here before."""
    check = Check(number, kind, again or words, apt)
    host.start_daemon()
    host.settle()
    check.before = seen(host)
    host.kill_daemon()
    case = Case(host, number, words, check.faults, kind.outcomes, kind.no_return, SAMPLE)
    forward = Recording(case, label)
    t.equal(forward.outcome, "committed", f"{label}: what is recorded is committed")
    host.start_daemon()
    host.settle()
    check.after = seen(host)
    check.whole = check.before if again else check.after
    host.kill_daemon()
    at = next(moment for moment in forward.moments if moment.where == kind.back)
    back = Recording(case, label + "-back", failing=at)
    t.equal(back.outcome, "rolled-back", f"{label}: the recorded failure is rolled back")
    back.moments = [moment for moment in back.moments if moment.where.startswith(("undo", "end"))]
    check_crashes(t, case, forward, label)
    check_crashes(t, case, back, label + ", going back")
    check_errors(t, case, forward, label)
    check_deaths(t, case, "worker")
    restore(host, forward.moments[-1].tree)
    return check.after


class Bundles:
    """What is imported; with packages where the tools for these are."""

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
        here = crash(t, host, apt, IMPORT, 1, bundles.words, "first")
        kinds = {link.rpartition(".")[-1] for link in here[-1][1]}
        t.ok(not apt or {"deb", "rpm", "xml"} < kinds and len(here[-1][2]) == 2, "its packages are where apt and dnf look", here)
        bundles.make(2, "app:v2")
        crash(t, host, apt, IMPORT, 2, bundles.words, "next")
        crash(t, host, apt, IMPORT, 3, ("bundle", "import", "--unsigned", bundles.archive()), "an unsigned archive")
        crash(t, host, apt, IMPORT, 4, ("bundle", "import", "--unsigned", "--allow-downgrade", "--name=airgap", bundles.layout()),
              "an unsigned layout in its place")
        here = crash(t, host, apt, REMOVAL, 5, ("bundle", "remove", "drivers"), "removal", bundles.words)
        t.equal(here[-1], [{}, {}, {}], "and no package is left")
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
