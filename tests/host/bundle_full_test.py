# SPDX-License-Identifier: Apache-2.0
"""A disk that is full, or becomes so at any step of an import of images and drivers.

gpuhost's own state is on a file system of its own, in a mount namespace: it is filled to its last byte when a worker begins a
step. Whatever then fails, nothing of the bundle can be seen or all of it is there; and once there is room the next import
brings all of it.
"""
import os
import shutil

import own_mounts
import tap
from bundle_crash_test import seen
from bundle_driver_test import Maker
from crash import listing
from fake_host import FakeHost
from gates import Gates

STATE = "/var/lib/gpuhost"
SIZE = 160 << 20  # a reserve of 64 MiB stays free
NO_SPACE = 11
FILLER = "filler"


def fill(host, left=0):
    """All but `left` bytes, for root as for everybody."""
    state = os.statvfs(host.path(STATE))
    most = state.f_bavail * state.f_frsize - left
    with open(host.path(f"{STATE}/{FILLER}"), "ab") as file:
        at = file.tell()
        while most > 0:
            try:
                os.posix_fallocate(file.fileno(), at, most)
                at += most
                state = os.statvfs(host.path(STATE))
                most = state.f_bavail * state.f_frsize - left
            except OSError:
                most //= 2


def free(host):
    if os.path.exists(host.path(f"{STATE}/{FILLER}")):
        os.unlink(host.path(f"{STATE}/{FILLER}"))


def check_refused(t, host, bundle):
    before = seen(host)
    fill(host, left=40 << 20)
    run = host.ctl("bundle", "import", bundle)
    t.ok(run.returncode == NO_SPACE and "are free" in run.stderr and seen(host) == before and not listing(host, STATE + "/store/incoming"),
         "what would eat the reserve is refused before a byte is written", run.returncode, run.stderr)
    free(host)


def check_removal(t, host, bundle):
    host.ctl("bundle", "import", bundle, check=0)
    fill(host)
    run = host.ctl("bundle", "remove", "drivers")
    t.ok(run.returncode == 0 and listing(host, STATE + "/store/sha256") == [] and listing(host, STATE + "/catalogue") == [".generations"],
         "a bundle can be removed from a full disk", run.stderr, listing(host, STATE + "/catalogue"))
    free(host)
    forget(host)


def steps_of(host, bundle):
    """At which gates its workers stand; it is removed again."""
    found = []
    gates = Gates(host, lambda where, _: found.append(where) or "go")
    host.ctl("bundle", "import", bundle, check=0)
    gates.close()
    whole = seen(host)
    forget(host)
    return found, whole


def forget(host):
    host.ctl("bundle", "remove", "drivers")
    for version in ("535.261.03", "550.163.01"):
        host.ctl("driver", "remove", version)


def check_step(t, host, bundle, where, before, whole):
    def decide(at, _):
        if at == where:
            fill(host)
        return "go"

    gates = Gates(host, decide)
    run = host.ctl("bundle", "import", bundle, timeout=120)
    gates.close()
    free(host)
    wrong = []
    now = seen(host)
    if run.returncode == 0 and now != whole:
        wrong.append(f"it said that all went well, and here is {now}")
    if run.returncode != 0 and now[:2] not in (before[:2], whole[:2]):
        wrong.append(f"{run.returncode}: here is {now}")
    if run.returncode != 0 and not any(words in run.stderr for words in ("No space left", "are free")):
        wrong.append(f"it does not say why: {run.stdout}{run.stderr}")
    if run.returncode != 0 and host.ctl("status").returncode != 0:
        wrong.append("the daemon is gone")
    run = host.ctl("bundle", "import", bundle, timeout=120)
    if run.returncode != 0 or seen(host) != whole:
        wrong.append(f"the next import: {run.returncode} {run.stdout}{run.stderr}, and here is {seen(host)}, not {whole}")
    forget(host)
    t.ok(not wrong, f"the disk is full: {where}", *wrong, host.tail())


def main():
    own_mounts.enter()
    t = tap.Tap()
    host = FakeHost()
    try:
        maker = Maker(os.path.join(host.scratch, "maker"))
        maker.create()
        host.install()
        own_mounts.mount("tmpfs", host.path(STATE), "tmpfs", f"size={SIZE},mode=755")
        for directory in ("/etc/gpuhost/trust.d", "/etc/containerd"):
            os.makedirs(host.path(directory))
        shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
        host.start_daemon()
        host.settle()
        bundle = maker.path("site.bundle")
        check_refused(t, host, bundle)
        check_removal(t, host, bundle)
        steps, whole = steps_of(host, bundle)
        before = seen(host)
        t.ok(whole != before and len(steps) > 10, "an import has its steps", steps, before)
        for where in dict.fromkeys(steps):
            check_step(t, host, bundle, where, before, whole)
    finally:
        own_mounts.detach(host.path(STATE))
        host.close()
    t.done()


main()
