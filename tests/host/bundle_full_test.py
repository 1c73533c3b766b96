# SPDX-License-Identifier: Apache-2.0
"""A full disk before or during the import of images and drivers, of packages, or of unsigned images.

gpuhost's state is on a separate file system, in a mount namespace. The test fills it completely when a worker
begins a step. After any failure the bundle is visible completely or not at all. With free space the next
import is complete.
"""
import os
import shutil

import bundle_crash_test
import own_mounts
import tap
from archive_files import docker_24, layer_of
from bundle_driver_test import Maker
from bundle_unsigned_test import MACHINE, NAME
from crash import listing
from fake_host import NEW, OLD, FakeHost, write
from gates import Gates

STATE = "/var/lib/gpuhost"
SIZE = 160 << 20  # the daemon keeps 64 MiB of it free
NO_SPACE = 11
PACKAGES = """[Bundle]
Name=packages
Generation={generation}

[Packages debian-12]
Repository=repository
"""


def seen(host):
    """Adds the packages and apt's source files to bundle_crash_test.seen()."""
    tree = sorted(os.path.join(directory, name) for directory, _, names in os.walk(host.path(STATE + "/catalogue"))
                  for name in names if "/packages/debian-12" in directory)
    return (*bundle_crash_test.seen(host), tree, listing(host, "/etc/apt/sources.list.d"))


class Way:
    """One kind of import: its command, and its removal."""
    def __init__(self, host, words, bundle, drivers=()):
        self.host, self.words, self.bundle, self.drivers = host, words, bundle, drivers

    def ask(self, **more):
        return self.host.ctl(*self.words, timeout=120, **more)

    def forget(self):
        self.host.ctl("bundle", "remove", self.bundle)
        for version in self.drivers:
            self.host.ctl("driver", "remove", version)


def fill(host, left=0):
    own_mounts.fill(host.path(STATE), left)


def free(host):
    own_mounts.free(host.path(STATE))


def check_refused(t, host, way):
    before = seen(host)
    fill(host, left=40 << 20)
    run = way.ask()
    t.ok(run.returncode == NO_SPACE and "are free" in run.stderr and seen(host) == before and not listing(host, STATE + "/store/incoming"),
         f"{way.bundle}: an import that needs the reserve is refused", run.returncode, run.stderr)
    free(host)


def check_removal(t, host, way):
    way.ask(check=0)
    fill(host)
    run = host.ctl("bundle", "remove", way.bundle)
    t.ok(run.returncode == 0 and listing(host, STATE + "/store/sha256") == [] and listing(host, STATE + "/catalogue") in ([], [".generations"]),
         f"{way.bundle}: removal succeeds on a full disk", run.stderr, listing(host, STATE + "/catalogue"))
    free(host)
    way.forget()


def steps_of(host, way):
    """Returns the gates that an import passes, and the state after it. Removes the bundle again."""
    found = []
    gates = Gates(host, lambda where, _: found.append(where) or "go")
    way.ask(check=0)
    gates.close()
    whole = seen(host)
    way.forget()
    return found, whole


def check_step(t, host, way, where, before, whole):
    def decide(at, _):
        if at == where:
            fill(host)
        return "go"

    gates = Gates(host, decide)
    run = way.ask()
    gates.close()
    free(host)
    wrong = []
    now = seen(host)
    if run.returncode == 0 and now != whole:
        wrong.append(f"the import succeeded, but the state is {now}")
    if run.returncode != 0 and now[:2] not in (before[:2], whole[:2]):
        wrong.append(f"exit status {run.returncode}: the state is {now}")
    if run.returncode != 0 and not any(words in run.stderr for words in ("No space left", "are free")):
        wrong.append(f"the error gives no reason: {run.stdout}{run.stderr}")
    if run.returncode != 0 and host.ctl("status").returncode not in (0, 3):
        wrong.append("the daemon does not respond")
    run = way.ask()
    if run.returncode != 0 or seen(host) != whole:
        wrong.append(f"the next import: {run.returncode} {run.stdout}{run.stderr}, the state is {seen(host)}, not {whole}")
    way.forget()
    t.ok(not wrong, f"{way.bundle}: consistent after a full disk at {where}", *wrong, host.tail())


def check_way(t, host, way):
    check_refused(t, host, way)
    check_removal(t, host, way)
    steps, whole = steps_of(host, way)
    before = seen(host)
    t.ok(whole != before and len(steps) > 8,
         f"{way.bundle}: an import changes the state in steps", steps, before)
    for where in dict.fromkeys(steps):
        check_step(t, host, way, where, before, whole)


def make_packages(maker):
    """Creates a bundle with a repository for apt. Its package is never read here."""
    write(maker.path("repository/Packages"), "Package: hello\nFilename: ./hello.deb\n")
    write(maker.path("repository/hello.deb"), "hello" * 100_000)
    os.rename(maker.path("site.bundle"), maker.path("drivers.bundle"))
    maker.create(PACKAGES)
    os.rename(maker.path("site.bundle"), maker.path("packages.bundle"))


def make_archive(path):
    with open(path, "wb") as file:
        file.write(docker_24({NAME: [layer_of({"etc/motd": b"hello"}), layer_of({"data": bytes(300_000)})]}, MACHINE).bytes())


def main():
    own_mounts.enter()
    t = tap.Tap()
    host = FakeHost()
    try:
        maker = Maker(os.path.join(host.scratch, "maker"))
        maker.create()
        make_packages(maker)
        make_archive(maker.path("airgap.tar"))
        host.install()
        own_mounts.mount("tmpfs", host.path(STATE), "tmpfs", f"size={SIZE},mode=755")
        for directory in ("/etc/gpuhost/trust.d", "/etc/containerd", "/etc/apt/sources.list.d"):
            os.makedirs(host.path(directory))
        write(host.path("/etc/os-release"), 'ID=debian\nVERSION_ID="12"\n')
        write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Images]\nAllowUnsigned=yes\n")
        shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
        host.start_daemon()
        host.settle()
        check_way(t, host, Way(host, ("bundle", "import", maker.path("drivers.bundle")), "drivers", (OLD, NEW)))
        check_way(t, host, Way(host, ("bundle", "import", maker.path("packages.bundle")), "packages"))
        check_way(t, host, Way(host, ("bundle", "import", "--unsigned", maker.path("airgap.tar")), "airgap"))
    finally:
        own_mounts.detach(host.path(STATE))
        host.close()
    t.done()


main()
