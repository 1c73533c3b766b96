# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's container toolkit in a bundle with a driver: creation, import, selection, wrong manifests."""
import os
import shutil

import programs
import tap
from driver_files import write_driver
from fake_host import NEW as DRIVER, FakeHost, write
from image_files import Site
from toolkit_files import CURRENT, DEB, OTHER_DEB, PROGRAM, base_files, deb, write_bytes, write_debs, write_rpms

BAD_ARGUMENT, BAD_CONTENT = 2, 9
OLD, NEW = "1.18.1", "1.20.0"
NO_DRIVER = 8  # exit status of an apply without a selected driver
SPEC = f"""[Bundle]
Name=toolkits
Generation={{generation}}

[Driver {DRIVER}]
Packages=driver/*.deb

[Toolkit {{version}}]
Packages={{packages}}
"""


class Maker:
    def __init__(self, directory):
        self.directory = directory
        self.site = Site(self.path("site"))
        write_driver(self.path("driver"), DRIVER)
        write_debs(self.path("debs"), OLD)
        write_rpms(self.path("rpms"), NEW)
        write_bytes(self.path("tars/toolkit.tar.gz"), b"")
        write_bytes(self.path(f"other/nvidia-container-toolkit-base_{OLD}-1_{OTHER_DEB}.deb"),
                    deb("nvidia-container-toolkit-base", OLD, base_files(OLD), OTHER_DEB))

    def path(self, name):
        return os.path.join(self.directory, name)

    def run(self, *words):
        return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", *words], env=programs.environment(NO_COLOR="1", LC_ALL="C"))

    def create(self, version, packages, generation=1):
        write(self.path("site.spec"), SPEC.format(version=version, packages=packages, generation=generation))
        return self.run("create", self.path("site.spec"), "-o", self.path("site.bundle"), *self.site.signing())


def versions(host):
    return [one["version"] for one in host.json("toolkit", "list")["toolkits"]]


def check_mistakes(t, maker):
    for version, packages, words in (("newest", "debs/*.deb", "is invalid"), (OLD, "tars/*.tar.gz", "do not state a platform"),
                                     (OLD, "debs/*.deb other/*.deb", "several platforms"), (OLD, "none/*.deb", "no file matches")):
        run = maker.create(version, packages)
        t.ok(run.returncode != 0 and words in run.stderr,
             f"bundle create refuses a bad specification: {words}", run.returncode, run.stderr)


def check_import(t, host, maker):
    run = maker.create(OLD, "debs/*.deb")
    t.equal(run.returncode, 0, "a bundle may have a driver and a toolkit")
    shown = maker.run("show", maker.path("site.bundle"), "--trust", maker.site.file("ca.pem"))
    t.ok(f"toolkit {OLD} on linux/{DEB}" in shown.stdout,
         "bundle show prints the toolkit and its platform", shown.stdout, shown.stderr)
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and versions(host) == [OLD],
         "an import stores the bundle's toolkit", run.stdout, run.stderr)
    t.equal([one["version"] for one in host.json("driver", "list")["versions"]], [DRIVER],
            "one import stores toolkit and driver")
    t.equal(len(host.json("toolkit", "list")["toolkits"][0]["packages"]), 2,
            "the stored toolkit lists its packages")
    run = host.ctl("apply")
    t.ok(run.returncode == NO_DRIVER and DRIVER in run.stderr and os.path.exists(host.path(f"{CURRENT}/{PROGRAM}")),
         "apply selects the toolkit and requests a driver choice", run.stdout, run.stderr)


def check_again(t, host, maker):
    place = host.json("toolkit", "list")["toolkits"][0]["path"]
    before = os.stat(host.path(f"{place}/{PROGRAM}")).st_ino
    host.ctl("bundle", "import", maker.path("site.bundle"), check=0)
    t.equal((versions(host), os.stat(host.path(f"{place}/{PROGRAM}")).st_ino), ([OLD], before),
            "a repeated import leaves the toolkit unchanged")
    maker.create(NEW, "rpms/*.rpm", 2)
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and versions(host) == [NEW, OLD],
         "the next generation adds its toolkit to the store", run.stderr)
    host.ctl("apply", "--only", "toolkit", check=0)
    t.ok(host.json("toolkit", "show", "--root", host.root)["selected"] == NEW,
         "apply --only=toolkit selects the newest toolkit")
    host.ctl("bundle", "remove", "toolkits", check=0)
    t.equal(versions(host), [NEW, OLD], "removing the bundle keeps its toolkits")


def check_others(t, host, maker):
    """Toolkits for other hosts, and files that differ from the manifest."""
    maker.create(OLD, "other/*.deb", 3)
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and versions(host) == [NEW, OLD],
         "an import omits a toolkit for another platform", run.stderr)
    maker.create("1.19.0", "debs/*.deb", 4)
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == BAD_CONTENT and f"its files are of version {OLD}" in run.stderr and versions(host) == [NEW, OLD],
         "an import refuses toolkit files of another version", run.returncode, run.stderr)
    t.equal([one["generation"] for one in host.json("bundle", "list")["bundles"]], [3],
            "a refused import keeps the earlier bundle")


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        maker = Maker(os.path.join(host.scratch, "made"))
        host.install()
        os.makedirs(host.path("/etc/gpuhost/trust.d"))
        shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
        host.start_daemon()
        host.settle()
        check_mistakes(t, maker)
        for check in (check_import, check_again, check_others):
            check(t, host, maker)
        if t.failed:
            print("\n".join("# " + line for line in host.tail().splitlines()))
    finally:
        host.close()
    t.done()


main()
