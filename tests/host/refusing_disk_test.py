# SPDX-License-Identifier: Apache-2.0
"""A disk that refuses some bytes of a blob, as a full thin pool or a lost path does (recorded_disk.py).

The import fails and the bundle is not listed. After the next import each blob matches its digest. The file
system is mounted again before the blobs are read, so that they come from the disk and not from the page
cache.
"""
import contextlib
import os
import random
import shutil
import sys

import own_mounts
import recorded_disk
import tap
from fake_host import FakeHost, scratch, write
from image_files import Layout, Site
from power_faults import state_faults
import programs

MIB = 1 << 20
PAGE = 4096
SPEC = "[Bundle]\nName={name}\nGeneration=1\n\n[Image registry.example/{name}:v1]\nLayout={name}\nReference=v1\n"
# {bundle: (MiB of its layer, first and last MiB that the disk refuses, number of other layers)}. The first is
# flushed while it is written, the second is synced at its end, the third syncs the whole file system.
BUNDLES = {"large": (40, 1, 5, 0), "small": (6, 1, 3, 0), "many": (6, 1, 3, 300)}


def layer_of(size, first, last):
    data = bytearray(random.Random(size).randbytes(size * MIB))
    for at in range(first * MIB, last * MIB, PAGE):
        data[at:at + len(recorded_disk.REFUSED)] = recorded_disk.REFUSED
    return bytes(data)


class Bundles:
    def __init__(self, directory):
        self.directory = directory
        self.site = Site(self.path("site"))
        for name, (size, first, last, others) in BUNDLES.items():
            layout = Layout(self.path(name))
            layers = [layer_of(size, first, last), *(b"%d" % number for number in range(others))]
            for number, at in enumerate(range(0, len(layers), 90)):  # a manifest has a limited size
                layout.tag(layout.add_manifest(layers[at:at + 90]), f"v{number + 1}")
            images = "".join(f"\n[Image registry.example/{name}:v{number + 1}]\nLayout={name}\nReference=v{number + 1}\n"
                             for number in range(1, -(-len(layers) // 90)))
            write(self.path(f"{name}.spec"), SPEC.format(name=name) + images)
            programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "create", self.path(f"{name}.spec"),
                          "-o", self.path(f"{name}.bundle"), *self.site.signing()], check=True,
                         env=programs.environment(NO_COLOR="1", LC_ALL="C", SOURCE_DATE_EPOCH="1700000000"))

    def path(self, name):
        return os.path.join(self.directory, name)


@contextlib.contextmanager
def running(host, kind, disk):
    with recorded_disk.disk_of(host, kind, disk):
        host.boot()
        host.start_daemon()
        host.settle()
        yield
        host.kill_daemon()


def check_bundle(t, host, bundles, kind, name, disk, flag):
    """Imports on a refusing disk, then again. The page cache still has data of the failed import."""
    words = "bundle", "import", bundles.path(f"{name}.bundle")
    with running(host, kind, disk):
        write(flag, "")
        refused = host.ctl(*words)
        listed = host.json("bundle", "list")["bundles"]
        os.unlink(flag)
        again = host.ctl(*words)
    t.ok(refused.returncode != 0,
         f"{kind}: importing {name} fails when the disk refuses bytes", refused.stdout, refused.stderr)
    t.equal(listed, [], f"{kind}: the failed import of {name} lists no bundle")
    t.ok(again.returncode == 0, f"{kind}: the next import of {name} completes", again.stdout, again.stderr)
    with recorded_disk.disk_of(host, kind, disk):
        wrong, here = state_faults(host.path("/var/lib/gpuhost"))
    t.equal([bundle for bundle, _ in here], [name], f"{kind}: {name} is on the disk after the next import")
    t.ok(not wrong, f"{kind}: each blob of {name} matches its digest", *wrong)
    with running(host, kind, disk):
        host.ctl("bundle", "remove", name, check=0)


def check_file_system(t, kind, directory, bundles):
    os.makedirs(directory)
    base, log, disk, flag = (os.path.join(directory, name) for name in ("base", "log", "disk", "refuses"))
    host = FakeHost()
    try:
        recorded_disk.make_image(kind, base)
        with recorded_disk.disk_of(host, kind, base):
            host.install()
            os.makedirs(host.path("/etc/gpuhost/trust.d"))
            shutil.copy(bundles.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
        with recorded_disk.recorded(base, log, disk, flag):
            for name in BUNDLES:
                check_bundle(t, host, bundles, kind, name, disk, flag)
    finally:
        host.close()


def main():
    if reason := recorded_disk.missing():
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    own_mounts.enter()
    t = tap.Tap()
    directory = scratch()
    try:
        bundles = Bundles(os.path.join(directory, "bundles"))
        for kind in recorded_disk.OPTIONS:
            if reason := recorded_disk.unknown(kind, directory):
                t.skip(f"{kind}: an import fails when the disk refuses bytes", reason)
            else:
                check_file_system(t, kind, os.path.join(directory, kind), bundles)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    t.done()


main()
