# SPDX-License-Identifier: Apache-2.0
"""driver export: modules built on one host are imported on another through a bundle."""
import json
import os
import shutil

import programs
import tap
from driver_files import KERNEL, write_driver
from fake_host import NEW, OLD, FakeHost, write
from image_files import Site

BAD_ARGUMENT, NOT_FOUND, BAD_CONTENT = 2, 4, 9
OTHER_KERNEL = "6.1.0-99-other"


def ctl(*arguments):
    """Runs gpuhostctl without a bus, so that it cannot call a daemon."""
    return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), *arguments],
                        env=programs.environment(NO_COLOR="1", LC_ALL="C", DBUS_SYSTEM_BUS_ADDRESS="unix:path=/nonexistent"))


def start(host, trust):
    host.install()
    os.makedirs(host.path("/etc/gpuhost/trust.d"))
    shutil.copy(trust, host.path("/etc/gpuhost/trust.d/site.pem"))
    host.start_daemon()
    host.settle()


def sets(host):
    """Returns {"userland" or kernel: digest} of the exported version."""
    for version in host.json("driver", "list")["versions"]:
        if version["version"] == NEW:
            return {**{"userland": one["digest"] for one in version["userland"]},
                    **{one["kernel"]: one["digest"] for one in version["modules"]}}
    return {}


def fill(t, host):
    for version, kernel in ((NEW, KERNEL), (NEW, OTHER_KERNEL)):
        modules, packages = write_driver(os.path.join(host.scratch, kernel), version, kernel)
        run = host.ctl("driver", "import", *modules)
        note = f"\nNote: modules for kernel {kernel}, which is not installed here (installed: {KERNEL}; running: {KERNEL})\n"
        t.ok(run.returncode == 0 and (note in run.stdout) == (kernel == OTHER_KERNEL) == ("Note:" in run.stdout),
             f"an import of modules for {kernel} notes whether the kernel is missing", run.stdout, run.stderr)
    host.ctl("driver", "import", *packages, check=0)
    modules, packages = write_driver(os.path.join(host.scratch, "old"), OLD)
    host.ctl("driver", "import", *packages, check=0)


def check_mistakes(t, host, out):
    for words, status, message in (
            (("1.2.3", "-o", out), NOT_FOUND, f"driver 1.2.3 is not in the store\nHint: Use one of: {NEW}, {OLD}."),
            ((NEW, "-o", out, "--kernel", "5.4.0"), NOT_FOUND, f"for kernel 5.4.0\nHint: Use one of: {KERNEL}, {OTHER_KERNEL}."),
            ((OLD, "-o", out), NOT_FOUND, f"no modules of driver {OLD}\nHint: Build them: gpuhostctl driver build {OLD}."),
            ((NEW,), BAD_ARGUMENT, "--output is missing"),
            ((NEW, "-o", os.path.join(host.scratch, "log")), NOT_FOUND, "Not a directory")):
        run = ctl("driver", "export", *words, "--root", host.root)
        t.ok(run.returncode == status and message in run.stderr and run.stdout == "",
             "driver export fails: " + message.partition("\n")[0], run.returncode,
             run.stdout, run.stderr)
    t.ok(not os.path.exists(out), "a failed driver export writes nothing")


def check_damage(t, host, out):
    out += "-damaged"
    path = host.json("driver", "list")["versions"][0]["modules"][0]["path"] + "/nvidia-uvm.ko"
    with open(host.path(path), "rb") as file:
        content = file.read()
    os.chmod(host.path(path), 0o644)
    with open(host.path(path), "wb") as file:
        file.write(content[:-1] + b"x")
    run = ctl("driver", "export", NEW, "-o", out, "--root", host.root)
    t.ok(run.returncode == BAD_CONTENT and f"{path}: digest mismatch\nHint: " in run.stderr,
         "driver export fails on a damaged module", run.stderr)
    t.ok(not os.path.exists(f"{out}/{NEW}.spec"), "a failed driver export writes no specification")
    with open(host.path(path), "wb") as file:
        file.write(content)


def check_export(t, host, out):
    run = ctl("driver", "export", NEW, "-o", out, "--kernel", OTHER_KERNEL, "--root", host.root)
    t.ok(run.returncode == 0 and os.listdir(f"{out}/{NEW}") == [OTHER_KERNEL + "-open"] and KERNEL not in open(f"{out}/{NEW}.spec").read(),
         "driver export --kernel writes that kernel's modules", run.stderr)
    run = ctl("driver", "export", NEW, "-o", out, "--root", host.root, "--json=short")
    said = json.loads(run.stdout)
    t.ok(run.returncode == 0 and said["spec"] == f"{out}/{NEW}.spec" and
         {one["kernel"]: one["digest"] for one in said["modules"]} == {k: d for k, d in sets(host).items() if k != "userland"},
         "driver export --json lists the sets of all kernels", run.stdout, run.stderr)
    files = [f"{out}/{file}" for one in said["modules"] for file in one["files"]]
    t.ok(len(files) == 8 and all(os.path.isfile(file) for file in files),
         "driver export writes every listed file", files)


def check_flavours(t, host, out):
    modules, _ = write_driver(os.path.join(host.scratch, "closed"), NEW, flavour="proprietary")
    host.ctl("driver", "import", *modules, check=0)
    run = ctl("driver", "export", NEW, "-o", out + "-both", "--kernel", KERNEL, "--root", host.root)
    spec = open(f"{out}-both/{NEW}.spec").read()
    t.ok(run.returncode == 0 and sorted(os.listdir(f"{out}-both/{NEW}")) == [f"{KERNEL}-open", f"{KERNEL}-proprietary"]
         and spec.count(f"[Modules {NEW} {KERNEL} ") == spec.count("Flavour=open\n") + spec.count("Flavour=proprietary\n") == 2,
         "driver export writes both flavours of a kernel", run.stderr, spec)


def check_round_trip(t, host, other, out, site):
    shutil.copytree(os.path.join(host.scratch, KERNEL), f"{out}/debs")
    write(f"{out}/site.spec", f"[Bundle]\nName=site\n\n[Driver {NEW}]\nPackages=debs/*.deb\n\n" + open(f"{out}/{NEW}.spec").read())
    run = ctl("bundle", "create", f"{out}/site.spec", "-o", f"{out}/site.bundle", *site.signing())
    t.ok(run.returncode == 0, "bundle create accepts an exported specification", run.stderr)
    os.makedirs(other.path(f"/lib/modules/{OTHER_KERNEL}/kernel"))
    run = other.ctl("bundle", "import", f"{out}/site.bundle")
    t.ok(run.returncode == 0 and len(sets(other)) == 3 and sets(other) == sets(host),
         "a host that imports the bundle has equal sets",
         run.stderr, sets(other), sets(host))
    chosen = []
    for one in (host, other):
        one.ctl("driver", "swap", NEW, check=0)
        chosen.append(one.json("driver", "list")["selected"][KERNEL])
    t.ok(chosen[0]["modules"] and chosen[0] == chosen[1], "both hosts select the same module set", chosen)


def main():
    t = tap.Tap()
    host, other = FakeHost(), FakeHost()
    try:
        site = Site(os.path.join(host.scratch, "site"))
        out = os.path.join(host.scratch, "out")
        run = ctl("driver", "export", NEW, "-o", out, "--root", host.scratch)
        t.ok(run.returncode == NOT_FOUND and "Hint: Import it: gpuhostctl driver import FILE…." in run.stderr,
             "driver export on an empty store prints the import command", run.stderr)
        for one in (host, other):
            start(one, site.file("ca.pem"))
        fill(t, host)
        for check in (check_mistakes, check_damage, check_export):
            check(t, host, out)
        check_round_trip(t, host, other, out, site)
        check_flavours(t, host, out)
    finally:
        host.close()
        other.close()
    t.done()


if __name__ == "__main__":
    main()
