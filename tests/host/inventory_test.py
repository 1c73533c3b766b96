# SPDX-License-Identifier: Apache-2.0
"""inventory export, and bundles that bundle create --for reduces to what a host needs."""
import json
import os
import shutil

import programs
import tap
from driver_files import KERNEL, write_driver
from fake_host import GPUS, NEW, OLD, FakeHost, write
from image_files import Layout, Site

NOT_FOUND, BAD_CONTENT, UNSUPPORTED = 4, 9, 10
HERE = "linux/amd64" if os.uname().machine == "x86_64" else "linux/arm64"
OTHER = "linux/arm64" if HERE == "linux/amd64" else "linux/amd64"
DPKG = """Package: containerd
Status: install ok installed
Version: 1.6.20~ds1-1

Package: podman
Status: deinstall ok config-files
Version: 4.3.1
"""
PCI_IDS = "10dd  Another\n\t2330  nothing\n10de  NVIDIA Corporation\n\t2330  GH100 [H100 SXM5 80GB]\n\t\t10de 16c1  a board\n10df  Third\n\t2330  no\n"
SPEC = f"""[Bundle]
Name=site
Generation={{generation}}

[Image registry.example/app:v1]
Layout=layout
Reference=v{{generation}}

[Driver {NEW} {HERE}]
Packages=here/*.deb

[Driver {NEW} {OTHER}]
Packages=other/*.deb

[Modules {NEW} {KERNEL} {HERE}]
Files=here/*.ko

[Modules {NEW} {KERNEL} {OTHER}]
Files=other/*.ko

[Modules {NEW} 6.6.6]
Files=elsewhere/*.ko
"""


class Maker:
    """Creates the bundles."""
    def __init__(self, directory):
        self.directory = directory
        self.site = Site(self.path("site"))
        for name, kernel in (("here", KERNEL), ("other", KERNEL), ("elsewhere", "6.6.6")):
            write_driver(self.path(name), NEW, kernel)
        layout = Layout(self.path("layout"))
        layout.tag(layout.add_index({"amd64": [b"base", b"amd64"], "arm64": [b"base", b"arm64"]}), "v1")
        layout.tag(layout.add_index({"amd64": [b"base", b"amd64", b"new"], "arm64": [b"base", b"arm64", b"new"]}), "v2")
        with open(self.path("other/nvidia.ko"), "ab") as file:
            file.write(b"of another platform")

    def path(self, name):
        return os.path.join(self.directory, name)

    def ctl(self, *arguments):
        return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), *arguments],
                            env=programs.environment(NO_COLOR="1", LC_ALL="C", SOURCE_DATE_EPOCH="1700000000"))

    def create(self, *options, spec=SPEC, generation=1, name="site.bundle"):
        write(self.path("site.spec"), spec.format(generation=generation))
        return self.ctl("bundle", "create", self.path("site.spec"), "-o", self.path(name), *self.site.signing(), *options)

    def inventory(self, host, name="inventory"):
        host.ctl("inventory", "export", "--root", host.root, "-o", self.path(name), check=0)
        return self.path(name)

    def changed(self, inventory, name, **keys):
        with open(inventory, encoding="utf-8") as file:
            write(self.path(name), json.dumps({**json.load(file), **keys}))
        return self.path(name)


def dress(host):
    """Writes the files that an inventory is read from."""
    write(host.path("/etc/hostname"), "gpu1\n")
    write(host.path("/etc/os-release"), 'NAME="Debian"\nID=debian\nVERSION_ID="12"\nBUILD_ID=secret\n')
    write(host.path("/var/lib/dpkg/status"), DPKG)
    for program in ("/usr/bin/containerd", "/usr/local/bin/k3s"):
        write(host.path(program), "")
    write(host.path("/usr/share/misc/pci.ids"), PCI_IDS)
    write(host.path(f"/proc/driver/nvidia/gpus/{GPUS[0]}/information"), "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ: 1\n")
    write(host.path("/etc/gpuhost/gpuhostd.conf"), f"[Driver]\nVersion={NEW}\n")
    os.makedirs(host.path("/lib/modules/5.10.0-gone/updates"))


def check_unnamed(t, host):
    os.rename(host.path("/etc/hostname"), host.path("/etc/hostname.away"))
    run = host.ctl("inventory", "export", "--root", host.root, "-o", os.path.join(host.scratch, "unnamed.json"))
    os.rename(host.path("/etc/hostname.away"), host.path("/etc/hostname"))
    t.ok(run.returncode == 0 and "Wrote the inventory of this host, with " in run.stderr, "an inventory of a host without a name is written", run.stderr)


def check_export(t, host):
    run = host.ctl("inventory", "export", "--root", host.root)
    said = json.loads(run.stdout)
    expected = {
        "format": "gpuhost-inventory", "version": 1, "hostname": "gpu1", "platform": HERE,
        "distribution": {"id": "debian", "id_like": "", "version_id": "12"},
        "kernels": [{"release": KERNEL, "running": True, "headers": False, "compiler": False}],
        "gpus": [{"address": GPUS[0], "vendor": "10de", "device": "2330", "name": "NVIDIA H100 80GB HBM3"},
                 {"address": GPUS[1], "vendor": "10de", "device": "2330", "name": "GH100 [H100 SXM5 80GB]"}],
        "runtimes": [{"name": "containerd", "path": "/usr/bin/containerd", "version": "1.6.20~ds1-1"},
                     {"name": "k3s", "path": "/usr/local/bin/k3s"}],
        "takes_drivers": True, "wanted_driver": NEW, "wanted_flavour": "", "bundles": [], "removed_bundles": [], "images": [], "blobs": [],
        "drivers": [{"version": OLD, "userland": True, "source": False, "modules": [KERNEL]}]}
    for key, value in expected.items():
        t.equal(said.get(key), value, f"an inventory has the expected {key}")
    t.ok(set(said) - set(expected) == {"gpuhost"} and run.stderr == "",
         "an inventory has no other keys than 'gpuhost'", said.keys(), run.stderr)


def check_mistakes(t, maker, inventory):
    for name, keys, status, words in (
            ("format", {"format": "gpuhost-bundle"}, BAD_CONTENT, "is not an inventory"),
            ("version", {"version": 2}, UNSUPPORTED, "format version not supported"),
            ("platform", {"platform": "toaster"}, BAD_CONTENT, "'toaster' is not a platform"),
            ("digest", {"blobs": ["../../etc/passwd"]}, BAD_CONTENT, "not a sha256 digest"),
            ("kernel", {"kernels": [{"release": "../x"}]}, BAD_CONTENT, "is not a kernel release"),
            ("flavour", {"wanted_flavour": "any"}, BAD_CONTENT, "'any' is not a flavour"),
            ("escape", {"hostname": "\x1b[2J"}, BAD_CONTENT, "key 'hostname'")):
        run = maker.create("--for", maker.changed(inventory, name, **keys))
        t.ok(run.returncode == status and words in run.stderr,
             f"bundle create refuses a bad inventory: {words}", run.returncode, run.stderr)
    write(maker.path("cut"), '{"format":')
    run = maker.create("--for", maker.path("cut"))
    t.ok(run.returncode == BAD_CONTENT and not os.path.exists(maker.path("site.bundle")),
         "an inventory that is not JSON is refused",
         run.stderr)


def check_one_host(t, host, maker):
    inventory = maker.inventory(host)
    check_mistakes(t, maker, inventory)
    dry = maker.create("--for", inventory, "--dry-run", "--json=short")
    said = json.loads(dry.stdout)
    t.ok(dry.returncode == 0 and not os.path.exists(maker.path("site.bundle")),
         "bundle create --for --dry-run writes nothing", dry.stderr)
    t.equal(said["content"], ["image registry.example/app:v1", f"driver-packages {NEW}", f"driver-modules {NEW} for {KERNEL}"],
            "bundle create --for --dry-run lists the content")
    t.equal([one["why"] for one in said["omitted"]],
            [f"for {what}: no such host" for what in (
                f"kernel {KERNEL} on {OTHER} with an NVIDIA GPU", "kernel 6.6.6 with an NVIDIA GPU", OTHER)],
            "bundle create --for --dry-run gives reasons for omissions")
    whole = maker.create(name="whole.bundle")
    run = maker.create("--for", inventory)
    small, large = (os.path.getsize(maker.path(name)) for name in ("site.bundle", "whole.bundle"))
    t.ok(whole.returncode == run.returncode == 0 and small < large and run.stdout.count("Left out: ") == 3,
         "a bundle for one host omits unneeded content", small, large, run.stdout, run.stderr)
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0, "the host imports its reduced bundle", run.stdout, run.stderr)
    modules = [m["kernel"] for v in host.json("driver", "list")["versions"] if v["version"] == NEW for m in v["modules"]]
    t.equal(modules, [KERNEL], "the reduced bundle has the modules for its platform")
    before = host.json("bundle", "list")
    run = host.ctl("bundle", "import", maker.path("whole.bundle"))
    t.ok(run.returncode == 0 and host.json("bundle", "list")["bundles"][0]["manifest"] == before["bundles"][0]["manifest"],
         "the complete bundle has the same manifest", run.stderr)


def check_delta(t, host, maker):
    inventory = maker.inventory(host)
    with open(inventory, encoding="utf-8") as file:
        said = json.load(file)
    t.ok(said["bundles"][0]["name"] == "site" and said["images"][0]["name"] == "registry.example/app:v1" and
         sorted(os.listdir(host.path("/var/lib/gpuhost/store/sha256"))) == said["blobs"],
         "an inventory lists imported bundles, images and blobs", said)
    run = maker.create("--for", inventory, "--json=short", generation=2)
    made = json.loads(run.stdout)
    t.ok(run.returncode == 0 and made["content"] == ["image registry.example/app:v1"] and made["blobs"] == 4,
         "the next generation has only the four new blobs", made, run.stderr)
    fresh = maker.changed(inventory, "fresh", hostname="gpu2", blobs=[], bundles=[])
    run = maker.create("--for", inventory, "--for", fresh, "--json=short", generation=2, name="both.bundle")
    t.ok(run.returncode == 0 and json.loads(run.stdout)["hosts"] == ["gpu1", "gpu2"] and len(json.loads(run.stdout)["content"]) == 3,
         "a bundle for two hosts has what either lacks", run.stdout, run.stderr)
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and host.json("bundle", "list")["bundles"][0]["generation"] == 2,
         "the host imports the reduced next generation", run.stderr)


def check_unserved(t, host, maker):
    inventory = maker.inventory(host)
    arm = maker.changed(inventory, "arm", hostname="arm1", platform=OTHER, blobs=[], bundles=[], drivers=[], wanted_driver="1.2.3",
                        kernels=[{"release": "7.0.0", "headers": True, "compiler": True}])
    one_platform = SPEC.replace("Reference=v{generation}", f"Reference=v{{generation}}\nPlatforms={HERE}")
    run = maker.create("--for", inventory, "--for", arm, "--json=short", spec=one_platform, generation=2)
    said = json.loads(run.stdout)
    t.equal(said["unmet"], [
        {"host": "gpu1", "what": "has generation 2 of the bundle with other content: this one needs a higher generation"},
        {"host": "arm1", "what": f"image registry.example/app:v1 has no content for {OTHER}"},
        {"host": "arm1", "what": f"kernel 7.0.0: no modules of driver {NEW}, and no source to build them"},
        {"host": "arm1", "what": "wants driver 1.2.3, which is neither in the specification for this host nor on it"}],
        "bundle create --for lists unmet needs of each host")
    t.ok(run.returncode == NOT_FOUND and os.path.exists(said["file"]),
         "unmet needs exit with 4, but write the bundle", run.returncode, run.stderr)
    shutil.copy(maker.path("other/nvidia-smi.deb"), maker.path("other/nvidia-open-kernel-dkms.deb"))
    run = maker.create("--for", arm, "--dry-run", spec=one_platform.replace(f"[Driver {NEW} {HERE}]\nPackages=here/*.deb\n", ""), generation=1)
    t.ok(run.returncode == NOT_FOUND and "kernel 7.0.0" not in run.stdout and "Not served: arm1: wants driver 1.2.3" in run.stdout,
         "source, headers and a compiler satisfy a kernel", run.stdout, run.stderr)
    bare = maker.changed(inventory, "bare", hostname="bare1", blobs=[], bundles=[], wanted_driver=OLD,
                         removed_bundles=[{"name": "site", "generation": 7}], kernels=[{"release": "7.0.0", "headers": True, "compiler": False}],
                         drivers=[{"version": OLD, "userland": True, "source": True, "modules": []}])
    run = maker.create("--for", bare, "--dry-run", "--json=short", generation=2)
    t.equal([row["what"] for row in json.loads(run.stdout)["unmet"] if NEW not in row["what"]], [
        "had generation 7 of the bundle until it was removed, and accepts no older one",
        f"kernel 7.0.0: no modules of driver {OLD}, and no compiler to build its source"],
        "unbuildable drivers and removed newer generations are unmet")
    check_flavours(t, maker, inventory)
    images = SPEC[:SPEC.index("[Driver")]
    only_here = images + f"[Driver {NEW} {HERE}]\nPackages=here/*.deb\n"
    run = maker.create("--for", arm, "--dry-run", spec=only_here)
    t.ok("Not served: arm1: has GPUs (GH100 [H100 SXM5 80GB], NVIDIA H100 80GB HBM3), but there is no driver for " + OTHER in run.stdout,
         "a host with GPUs but no driver is unmet", run.stdout, run.stderr)
    run = maker.create("--for", inventory, "--dry-run", generation=1)
    t.ok(run.returncode == NOT_FOUND and "Not served: gpu1: has generation 2 of the bundle, and accepts no older one" in run.stdout,
         "a host with a newer generation is unmet", run.stdout, run.stderr)


def check_flavours(t, maker, inventory):
    """Flavours for hosts with and without GPUs or a configured flavour."""
    fresh = {"hostname": "gpu3", "blobs": [], "bundles": [], "drivers": []}
    flavours = SPEC[:SPEC.index("[Driver")] + f"[Driver {NEW}]\nPackages=here/*.deb\n" + "".join(
        f"[Modules {NEW} {KERNEL}]\nFlavour={flavour}\nFiles={directory}/*.ko\n" for flavour, directory in (("open", "here"), ("proprietary", "other")))

    def made(name, **keys):
        run = maker.create("--for", maker.changed(inventory, name, **{**fresh, **keys}), "--dry-run", "--json=short", spec=flavours)
        said = json.loads(run.stdout)
        return [line for line in said["content"] if line.startswith("driver")], [row["what"] for row in said["unmet"]]
    packages, modules = f"driver-packages {NEW}", f"driver-modules {NEW} for {KERNEL}"
    t.equal(made("either"), ([packages, modules + ", open", modules + ", proprietary"], []),
            "a host without a configured flavour gets both")
    t.equal(made("closed", wanted_flavour="proprietary"), ([packages, modules + ", proprietary"], []),
            "a host gets only its configured flavour")
    t.equal(made("none", gpus=[], wanted_driver=""), ([], []), "a host without a GPU gets no driver")
    t.equal(made("theirs", takes_drivers=False, wanted_driver=""), ([], []),
            "a host with takes_drivers=false gets no driver")
    t.equal(made("wanted", gpus=[]), ([packages, modules + ", open", modules + ", proprietary"], []),
            "a host without a GPU gets a configured driver")
    only_open = flavours[:flavours.index(f"[Modules {NEW} {KERNEL}]\nFlavour=proprietary")]
    run = maker.create("--for", maker.changed(inventory, "closed", **fresh, wanted_flavour="proprietary"), "--dry-run", "--json=short", spec=only_open)
    t.equal([row["what"] for row in json.loads(run.stdout)["unmet"]],
            [f"kernel {KERNEL}: no proprietary modules of driver {NEW}, and no source to build them"],
            "modules of another flavour leave the need unmet")


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        maker = Maker(os.path.join(host.scratch, "maker"))
        host.install()
        dress(host)
        os.makedirs(host.path("/etc/gpuhost/trust.d"))
        shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
        host.start_daemon()
        host.settle()
        modules, packages = write_driver(os.path.join(host.scratch, OLD), OLD)
        host.ctl("driver", "import", *packages, check=0)
        host.ctl("driver", "import", *modules, check=0)
        check_export(t, host)
        check_unnamed(t, host)
        for check in (check_one_host, check_delta, check_unserved):
            check(t, host, maker)
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
