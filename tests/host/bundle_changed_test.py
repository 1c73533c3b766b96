# SPDX-License-Identifier: Apache-2.0
"""A bundle's file changes during its import; one bundle has a creation time in the future.

After each change the store has the whole bundle or is unchanged. The next import is complete.
"""
import hashlib
import os
import random
import shutil
import signal
import threading
import time

import programs
import tap
from archive_files import docker_24, layer_of
from bundle_unsigned_test import MACHINE, NAME
from fake_host import FakeHost, read, write
from gates import Gates
from image_files import Layout, Site

BAD_CONTENT = 9
LARGE = 48 << 20  # large enough to stop the worker during the read
SPEC = """[Bundle]
Name=site-images
Generation={generation}

[Image registry.example/team/app:v1]
Layout=layouts/{generation}
"""
STATE = "/var/lib/gpuhost"


class Maker:
    def __init__(self, directory):
        self.directory = directory
        self.site = Site(self.path("site"))
        self.noise = random.Random(535)

    def path(self, name):
        return os.path.join(self.directory, name)

    def create(self, generation, sizes, created=1_700_000_000):
        layout = Layout(self.path(f"layouts/{generation}"))
        layout.tag(layout.add_manifest([self.noise.randbytes(size) for size in sizes], MACHINE), "v1")
        write(self.path("site.spec"), SPEC.format(generation=generation))
        bundle = self.path(f"{generation}.bundle")
        programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "create", self.path("site.spec"), "-o", bundle,
                      *self.site.signing()], env=programs.environment(SOURCE_DATE_EPOCH=str(created)), check=True)
        return bundle


def seen(host):
    """Returns {path: SHA-256} of the store's and the catalogue's files; "" for records, which have a time."""
    files = {}
    for top in ("store/sha256", "catalogue"):
        for directory, _, names in os.walk(host.path(f"{STATE}/{top}")):
            for name in names:
                with open(os.path.join(directory, name), "rb") as file:
                    digest = hashlib.sha256(file.read()).hexdigest()
                files[os.path.relpath(os.path.join(directory, name), host.path(STATE))] = "" if name == "record.json" else digest
    return files


def damaged(files):
    return [name for name, digest in files.items() if name.startswith("store/") and os.path.basename(name) != digest]


def bundles(host):
    return [(bundle["name"], bundle["generation"]) for bundle in host.json("bundle", "list")["bundles"]]


# Changes of the file. The last two keep the content of the open file.

def cut_in_the_middle(path, _):
    os.truncate(path, os.path.getsize(path) // 2)


def cut_to_nothing(path, _):
    os.truncate(path, 0)


def alter(path, _):
    with open(path, "r+b") as file:
        file.seek(-1_000_000, os.SEEK_END)
        file.write(b"altered")


def overwrite(path, other):
    """Overwrites the file with another valid, signed bundle."""
    with open(other, "rb") as file, open(path, "r+b") as target:
        shutil.copyfileobj(file, target)
        target.truncate()


def rename(path, other):
    shutil.copy(other, path + ".new")
    os.rename(path + ".new", path)


def unlink(path, _):
    os.unlink(path)


CHANGES = (cut_in_the_middle, cut_to_nothing, alter, overwrite, rename, unlink)


class Case:
    """Imports a copy of `bundle` on a host in its earlier state. `words` precede the file's path."""
    def __init__(self, host, words, bundle, other, forget):
        self.host, self.words, self.bundle, self.other, self.forget = host, words, bundle, other, forget
        self.before = seen(host)
        self.wholes = []
        for file in (bundle, other):
            host.ctl(*words, file, check=0)
            self.wholes.append(seen(host))
            forget()
        assert seen(host) == self.before, "forget() did not restore the earlier state"

    def run(self, t, what, change, run_import):
        path = self.bundle + ".open"
        shutil.copy(self.bundle, path)
        run = run_import(path, lambda: change(path, self.other))
        now, wrong = seen(self.host), []
        keeps = change in (rename, unlink)
        if run.returncode == 0 and now != self.wholes[0] and (keeps or now != self.wholes[1]):
            wrong.append("the import succeeded, but the store has other content")
        if run.returncode != 0 and (keeps or now != self.before):
            wrong.append("the import failed, but the store has changed")
        if run.returncode not in (0, BAD_CONTENT) or run.returncode and os.path.basename(path) not in run.stderr:
            wrong.append("the error does not name the file")
        if damaged(now):
            wrong.append(f"damaged: {damaged(now)}")
        again = self.host.ctl(*self.words, self.bundle, "--allow-downgrade")
        if again.returncode != 0 or seen(self.host) != self.wholes[0]:
            wrong.append(f"the next import: {again.stderr}")
        self.forget()
        t.ok(not wrong,
             f"the store is consistent after '{change.__name__.replace('_', ' ')}' {what}", *wrong, run.returncode, run.stdout, run.stderr)
        return run.returncode

    def at_gate(self, where):
        def run_import(path, change):
            gates = Gates(self.host, lambda at, _: change() or "go" if at == where else "go")
            run = self.host.ctl(*self.words, path, timeout=120)
            gates.close()
            assert gates.seen[where] == 1, f"the import did not reach {where}"
            return run
        return run_import


def in_the_middle(host, words):
    """Changes the file during the read: stops the worker after the first MiB of a blob."""
    incoming = host.path(f"{STATE}/store/incoming")

    def worker():
        jobs = host.path("/run/gpuhost/jobs")
        for job in os.listdir(jobs) if os.path.isdir(jobs) else []:
            if pid := read(f"{jobs}/{job}/pid").split():
                return int(pid[0])
        return None

    def some_is_written():
        return any(os.path.getsize(os.path.join(directory, name)) > 1 << 20
                   for directory, _, names in os.walk(incoming) for name in names if len(name) == 64)

    def run_import(path, change):
        over = threading.Event()
        changed = threading.Event()

        def stop_and_change():
            while not over.is_set():
                try:
                    if some_is_written() and (pid := worker()):
                        os.kill(pid, signal.SIGSTOP)
                        change()
                        changed.set()
                        os.kill(pid, signal.SIGCONT)
                        return
                except (FileNotFoundError, ProcessLookupError):
                    pass
                time.sleep(0.0005)

        thread = threading.Thread(target=stop_and_change)
        thread.start()
        run = host.ctl(*words, path, timeout=120)
        over.set()
        thread.join()
        assert changed.is_set(), "the import ended before the file was changed"
        return run
    return run_import


def check_signed(t, host, maker):
    first = maker.create(1, (5000,))
    bundle, other = maker.create(2, (100, 2_000_000, LARGE)), maker.create(3, (100, 2_000_000, LARGE // 2))
    words = ("bundle", "import")

    def forget():
        for directory in ("store", "catalogue"):
            shutil.rmtree(host.path(f"{STATE}/{directory}"), ignore_errors=True)
        host.ctl(*words, first, check=0)

    forget()
    case = Case(host, words, bundle, other, forget)
    for change in CHANGES:
        status = case.run(t, "before the read", change, case.at_gate("apply bundle.receive before"))
        t.equal(status, 0 if change in (overwrite, rename, unlink) else BAD_CONTENT,
                f"exit status after '{change.__name__.replace('_', ' ')}' before the read")
    for change in CHANGES:
        case.run(t, "during the read", change, in_the_middle(host, words))
    for change in CHANGES:
        status = case.run(t, "after the read", change, case.at_gate("apply bundle.receive after"))
        t.equal(status, 0, f"after the read '{change.__name__.replace('_', ' ')}' has no effect")


def check_unsigned(t, host):
    write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Images]\nAllowUnsigned=yes\n")
    host.ctl("reload", check=0)
    noise = random.Random(470)
    paths = [os.path.join(host.scratch, name) for name in ("airgap.tar", "other.tar")]
    for path, size in zip(paths, (4_000_000, 3_000_000)):
        with open(path, "wb") as file:
            file.write(docker_24({NAME: [layer_of({"etc/motd": b"hello"}), layer_of({"data": noise.randbytes(size)})]}, MACHINE).bytes())
    words = ("bundle", "import", "--unsigned", "--name=airgap")
    case = Case(host, words, *paths, lambda: host.ctl("bundle", "remove", "airgap", check=0))
    for change in CHANGES:
        status = case.run(t, "before the read (unsigned)", change, case.at_gate("apply bundle.convert before"))
        t.equal(status, 0 if change in (overwrite, rename, unlink) else BAD_CONTENT,
                f"exit status after '{change.__name__.replace('_', ' ')}' before the read (unsigned)")


def check_clock(t, host, maker):
    """A bundle that was created on a host whose clock is ahead."""
    bundle = maker.create(4, (1000,), created=4_102_444_800)
    run = host.ctl("bundle", "import", bundle)
    t.ok(run.returncode == 0 and bundles(host) == [("site-images", 4)],
         "a bundle with a future creation time is imported", run.stderr)
    t.ok("2100-01-01 00:00 UTC" in run.stdout and "this host's clock says" in run.stdout,
         "the import warns of a future creation time", run.stdout, run.stderr)
    t.ok("2100" not in host.ctl("bundle", "import", maker.path("1.bundle"), "--allow-downgrade", check=0).stdout,
         "a bundle with a past creation time gets no warning")


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        maker = Maker(os.path.join(host.scratch, "maker"))
        host.install()
        os.makedirs(host.path("/etc/gpuhost/trust.d"))
        shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
        host.start_daemon()
        host.settle()
        check_signed(t, host, maker)
        check_unsigned(t, host)
        check_clock(t, host, maker)
    finally:
        host.close()
    t.done()


main()
