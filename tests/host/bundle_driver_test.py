# SPDX-License-Identifier: Apache-2.0
"""Drivers in a bundle: created from packages and built modules, imported, then used by a swap."""
import os
import shutil

import programs
import tap
from driver_files import KERNEL, write_driver
from fake_host import GPUS, NEW, OLD, FakeHost, write
from image_files import Layout, Site
from run_files import MACHINE, nvidias, write_tree
from toolkit_files import write_bytes

BAD_ARGUMENT, NOT_FOUND, BAD_CONTENT = 2, 4, 9
OTHER_KERNEL = "6.1.0-99-other"
OTHER_MACHINE = {"x86_64": "aarch64", "aarch64": "x86_64"}[MACHINE]
SPEC = f"""[Bundle]
Name=drivers
Generation={{generation}}

[Image registry.example/app:v1]
Layout=layout

[Driver {OLD}]
Packages={OLD}/*.deb

[Modules {OLD} {KERNEL}]
Files={OLD}/*.ko

[Driver {NEW}]
Packages={NEW}/nvidia-smi.deb {NEW}/lib*.deb
Packages={NEW}/firmware*.deb

[Modules {NEW} {KERNEL}]
Files={NEW}/*.ko

[Modules {NEW} {OTHER_KERNEL}]
Files=other/*.ko
"""


class Maker:
    def __init__(self, directory):
        self.directory = directory
        self.site = Site(self.path("site"))
        for version in (OLD, NEW):
            write_driver(self.path(version), version)
        write_driver(self.path("other"), NEW, OTHER_KERNEL)
        write_driver(self.path("closed"), NEW, flavour="proprietary")
        layout = Layout(self.path("layout"))
        layout.tag(layout.add_manifest([b"layer"]), "v1")

    def path(self, name):
        return os.path.join(self.directory, name)

    def create(self, spec=SPEC, generation=1):
        write(self.path("site.spec"), spec.format(generation=generation))
        return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "create", self.path("site.spec"),
                             "-o", self.path("site.bundle"), *self.site.signing()],
                            env=programs.environment(NO_COLOR="1", LC_ALL="C", SOURCE_DATE_EPOCH="1700000000"))


def drivers(host):
    """Returns (version, number of userlands, kernels with modules) of each driver in the store."""
    return [(v["version"], len(v["userland"]), sorted(m["kernel"] for m in v["modules"])) for v in host.json("driver", "list")["versions"]]


BOTH = [(NEW, 1, [KERNEL]), (OLD, 1, [KERNEL])]


def check_mistakes(t, maker):
    for spec, status, words in (
            (SPEC.replace(f"{OLD}/*.deb", "none/*.deb"), NOT_FOUND, "no file matches 'none/*.deb'"),
            (SPEC.replace(f"[Driver {OLD}]", "[Driver newest]"), BAD_ARGUMENT, "is invalid"),
            (SPEC.replace(f"[Modules {OLD} {KERNEL}]", f"[Modules {OLD}]"), BAD_ARGUMENT, "is invalid"),
            (SPEC.replace(f"[Modules {OLD} {KERNEL}]", f"[Modules {OLD} {KERNEL} arm64]"), BAD_ARGUMENT, "is invalid"),
            (SPEC + f"\n[Modules {NEW} {KERNEL} linux/amd64]\nFiles=other/*.ko\n", BAD_ARGUMENT, "to the same host"),
            (SPEC + f"\n[Modules {NEW} {KERNEL}]\nFlavour=open\nFiles=closed/*.ko\n", BAD_ARGUMENT, "to the same host"),
            (SPEC + f"\n[Modules {NEW} 6.6.6]\nFlavour=any\nFiles=closed/*.ko\n", BAD_ARGUMENT, "'any' is not a flavour"),
            (SPEC + "\n[Driver 1.2.3]\nGPUs=H100\nPackages=x.deb\n", BAD_ARGUMENT, "'H100' is not a GPU"),
            (SPEC.replace("Packages=", "Files="), BAD_ARGUMENT, "unknown key 'Files'"),
            (SPEC.replace(f"Files={OLD}/*.ko", f"Files={OLD}/*.ko {NEW}/nvidia.ko"), BAD_ARGUMENT, "have the same name")):
        run = maker.create(spec)
        t.ok(run.returncode == status and words in run.stderr,
             f"bundle create refuses a bad specification: {words}", run.returncode, run.stderr)


def check_import(t, host, maker):
    run = maker.create()
    first = open(maker.path("site.bundle"), "rb").read()
    again = maker.create()
    t.ok(run.returncode == again.returncode == 0 and open(maker.path("site.bundle"), "rb").read()[4096 * 8:] == first[4096 * 8:],
         "two bundles of the same drivers differ only in signature", run.stderr)
    shown = programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "show", maker.path("site.bundle"), "--trust",
                          maker.site.file("ca.pem")], env=programs.environment(NO_COLOR="1", LC_ALL="C"))
    t.ok(shown.returncode == 0 and f"driver packages {NEW}" in shown.stdout and f"modules {NEW} for {OTHER_KERNEL}" in shown.stdout,
         "bundle show lists drivers and modules", shown.stdout, shown.stderr)
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and drivers(host) == BOTH, "an import stores the drivers for this kernel",
         run.stdout, run.stderr, drivers(host))
    t.ok(f"Next: gpuhostctl upgrade {NEW}\n" in run.stdout,
         "an import prints the command for its driver", run.stdout)
    run = host.ctl("apply")
    t.ok(run.returncode == 8 and f"the store has {NEW}, {OLD}" in run.stdout and f"gpuhostctl upgrade {NEW}, or set Version= in gpuhostd.conf" in run.stdout,
         "apply without a chosen driver prints how to choose", run.returncode, run.stdout, run.stderr)
    run = host.ctl("driver", "swap", OLD)
    t.ok(run.returncode == 0 and host.loaded().get("nvidia") == OLD,
         "a swap loads an imported driver", run.stdout, run.stderr)
    write(host.path("/etc/gpuhost/gpuhostd.conf"), f"[Driver]\nVersion={NEW}\n")
    host.ctl("reload", check=0)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and host.loaded().get("nvidia") == NEW,
         "apply swaps to the configured version", run.stdout, run.stderr)


def check_again(t, host, maker):
    host.ctl("bundle", "import", maker.path("site.bundle"), check=0)
    t.equal(drivers(host), BOTH, "a repeated import leaves the driver store unchanged")
    host.ctl("driver", "swap", NEW)
    host.ctl("driver", "remove", OLD, check=0)
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and drivers(host) == BOTH,
         "a repeated import restores a removed driver", run.stderr, drivers(host))
    run = host.ctl("bundle", "remove", "drivers")
    t.ok(run.returncode == 0 and drivers(host) == BOTH,
         "removing the bundle keeps its drivers", run.stderr, drivers(host))


def check_lies(t, host, maker):
    """A bundle is not imported when its module files differ from its manifest."""
    host.ctl("driver", "remove", OLD, check=0)
    shutil.copytree(maker.path(OLD), maker.path("kept"))
    seen = drivers(host)
    for what, spec in (("version", SPEC.replace(f"Files={OLD}/*.ko", f"Files={NEW}/*.ko")),
                       ("kernel", SPEC.replace("Files=other/*.ko", f"Files={OLD}/*.ko").replace(OTHER_KERNEL, KERNEL + "x"))):
        if what == "kernel":  # only modules for this host's kernels are checked
            os.makedirs(host.path(f"/lib/modules/{KERNEL}x/kernel"))
            spec = spec.replace(f"[Modules {NEW} {KERNEL}x]", f"[Modules {OLD} {KERNEL}x]")
        maker.create(spec, generation=5)
        run = host.ctl("bundle", "import", maker.path("site.bundle"))
        t.ok(run.returncode == BAD_CONTENT and f"{what} mismatch (bundle: " in run.stderr,
             f"an import refuses modules of another {what}",
             run.returncode, run.stderr)
        t.ok(drivers(host) == seen and host.json("bundle", "list")["bundles"] == [],
             f"an import refused for its {what} stores nothing",
             drivers(host), host.json("bundle", "list"))
    maker.create(generation=6)
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and drivers(host) == BOTH,
         "a correct bundle is imported after a refused one", run.stderr, drivers(host))


def flavours(host):
    """Returns (version, flavour) of each module set in the driver store."""
    return sorted((v["version"], m["flavour"]) for v in host.json("driver", "list")["versions"] for m in v["modules"])


BOTH_FLAVOURS = f"""[Bundle]
Name=flavours
Generation={{generation}}

[Driver {NEW}]
Packages={NEW}/*.deb

[Modules {NEW} {KERNEL}]
Flavour=proprietary
Files=closed/*.ko

[Modules {NEW} {KERNEL}]
Flavour=open
Files={NEW}/*.ko

[Driver {OLD}]
GPUs=10de:1eb8 10DE:1EB9
Packages={OLD}/*.deb
"""


def configure(host, text):
    write(host.path("/etc/gpuhost/gpuhostd.conf"), text)
    host.ctl("reload", check=0)


def check_flavours(t, host, maker):
    """Each host imports the configured flavour, and only drivers for its GPUs."""
    configure(host, "[Driver]\nFlavour=proprietary\n")
    run = maker.create(BOTH_FLAVOURS)
    t.equal(run.returncode, 0, "a bundle may have both flavours of one version")
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and flavours(host) == [(NEW, "proprietary")],
         "an import stores only the configured flavour", run.stderr, flavours(host))
    t.ok(drivers(host) == [(NEW, 1, [KERNEL])], "an import omits drivers for other GPUs", drivers(host))
    host.ctl("driver", "remove", NEW, check=0)
    configure(host, "")
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and flavours(host) == [(NEW, "open"), (NEW, "proprietary")],
         "without a configured flavour an import stores both", run.stderr, flavours(host))
    host.ctl("driver", "swap", NEW, check=0)
    said = host.json("driver", "list")
    chosen = [m["flavour"] for v in said["versions"] for m in v["modules"] if m["digest"] == said["selected"][KERNEL]["modules"]]
    t.equal(chosen, ["open"], "a swap without a configured flavour selects open modules")
    shutil.copy(maker.path("site.bundle"), maker.path("first.bundle"))
    first = next(bundle["generation"] for bundle in host.json("bundle", "list")["bundles"] if bundle["name"] == "flavours")
    maker.create(BOTH_FLAVOURS.replace(f"Files={NEW}/*.ko", "Files=closed/*.ko"), generation=2)
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == BAD_CONTENT and "flavour mismatch of the modules (bundle: open, files: proprietary)" in run.stderr,
         "an import refuses modules of another flavour",
         run.returncode, run.stderr)
    run = host.ctl("bundle", "import", maker.path("first.bundle"))
    listed = [(bundle["name"], bundle["generation"]) for bundle in host.json("bundle", "list")["bundles"]]
    t.ok(run.returncode == 0 and ("flavours", first) in listed and ("flavours", 2) not in listed,
         "importing the installed generation again ignores the refused one", run.stderr, listed)


INSTALLERS = f"""[Bundle]
Name=installers
Generation={{generation}}

[Driver 570.86.10]
Packages=NVIDIA-Linux-{MACHINE}-570.86.10.run

[Driver 570.86.11]
Packages=NVIDIA-Linux-{OTHER_MACHINE}-570.86.11.run
"""


def check_installers(t, host, maker):
    """NVIDIA's .run in a bundle is imported on hosts of the platform in its name."""
    for version, machine in (("570.86.10", MACHINE), ("570.86.11", OTHER_MACHINE)):
        write_bytes(maker.path(f"NVIDIA-Linux-{machine}-{version}.run"), nvidias(write_tree(maker.path("tree"), version), version, "gzip"))
    run = maker.create(INSTALLERS)
    t.equal(run.returncode, 0, "a bundle may have NVIDIA's .run installers")
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    found = next((v for v in host.json("driver", "list")["versions"] if v["version"] == "570.86.10"), {"sources": []})
    t.ok(run.returncode == 0 and sorted(one["flavour"] for one in found["sources"]) == ["open", "proprietary"],
         "an import stores both sources of the platform's installer", run.stderr, found)
    t.ok("570.86.11" not in [v["version"] for v in host.json("driver", "list")["versions"]],
         "an import omits installers for other platforms")
    host.ctl("driver", "remove", "570.86.10", check=0)
    host.ctl("bundle", "remove", "installers", check=0)


def check_no_gpu(t, host, maker):
    for gpu in GPUS:
        shutil.rmtree(host.path(f"/sys/bus/pci/devices/{gpu}"))
    maker.create()
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and drivers(host) == [] and len(host.json("image", "list", "--root", host.root)["images"]) == 1,
         "a host without a GPU imports images, no driver", run.stderr, drivers(host))
    configure(host, f"[Driver]\nVersion={NEW}\n")
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and drivers(host) == BOTH,
         "a host without a GPU imports configured drivers", run.stderr, drivers(host))


def start(host, maker):
    host.install()
    os.makedirs(host.path("/etc/gpuhost/trust.d"))
    shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
    host.start_daemon()
    host.settle()


def main():
    t = tap.Tap()
    host, closed, bare = FakeHost(), FakeHost(), FakeHost()
    try:
        maker = Maker(os.path.join(host.scratch, "maker"))
        check_mistakes(t, maker)
        for one in (host, closed, bare):
            start(one, maker)
        for check in (check_import, check_again, check_lies):
            check(t, host, maker)
        check_flavours(t, closed, maker)
        check_installers(t, closed, maker)
        check_no_gpu(t, bare, maker)
    finally:
        for one in (host, closed, bare):
            one.close()
    t.done()


if __name__ == "__main__":
    main()
