# SPDX-License-Identifier: Apache-2.0
"""Other kernels than the running one: selection before they boot, builds at boot, deselection. Preinstalled
drivers; pinned and cleaned versions."""
import os
import shutil
import threading

from driver_files import DEPENDS, KERNEL, deb, write_driver
from fake_host import NEW, OLD, run_checks, write
from gates import Gates

NEXT, BARE, FRESH = "6.1.0-51-amd64", "6.1.0-52-amd64", "6.1.0-53-amd64"
CURRENT = f"boot/{KERNEL}/userland"
CONFIG = "/etc/gpuhost/gpuhostd.conf.d/90-test.conf"

# Modules of this source have only a .modinfo.
MAKEFILE = f"""modules:
	for name in {" ".join(DEPENDS)}; do \\
	    id=$$(echo $$name | tr - _); depends=; case $$name in nvidia) ;; nvidia-drm) depends=nvidia_modeset ;; *) depends=nvidia ;; esac; \\
	    {{ printf '#define M(n,s) __attribute__((used,section(".modinfo"))) static const char n[] = s;\\n'; \\
	       printf 'M(a,"name=%s")M(b,"version={OLD}")M(c,"license=Dual MIT/GPL")M(d,"depends=%s")' $$id "$$depends"; \\
	       printf 'M(e,"vermagic=$(KERNEL_UNAME) SMP preempt mod_unload modversions ")M(f,"srcversion=%s")\\n' $$id$(KERNEL_UNAME); \\
	    }} > $$name.c && cc -c $$name.c -o $$name.ko || exit 1; \\
	done
"""


def configure(host, text):
    write(host.path(CONFIG), f"[Driver]\n{text}\n")
    host.ctl("reload", check=0)


def install_headers(host, kernel):
    build = f"/lib/modules/{kernel}/build"
    for name, text in (("Makefile", ""), ("Module.symvers", ""), (".config", 'CONFIG_CC_VERSION_TEXT="cc (a test) 1"\n'),
                       ("include/generated/utsrelease.h", f'#define UTS_RELEASE "{kernel}"\n')):
        write(host.path(f"{build}/{name}"), text)


def import_source(host):
    source = os.path.join(host.scratch, "nvidia-open-kernel-dkms.deb")
    directory = f"usr/src/nvidia-current-open-{OLD}"
    with open(source, "wb") as file:
        file.write(deb("nvidia-open-kernel-dkms", OLD, {
            f"{directory}/dkms.conf": (b"PACKAGE_NAME=nvidia\n", 0o644),
            f"{directory}/Makefile": (MAKEFILE.encode(), 0o644)}))
    host.ctl("driver", "import", source, check=0)


def selected(host):
    return {kernel: one["version"] for kernel, one in host.json("driver", "list")["selected"].items()}


def reboot(host, kernel):
    host.kill_daemon()
    host.kernel = kernel
    host.boot()
    host.start_daemon()
    return host.settle()


def problem(host):
    plan = host.json("status")["components"]["driver"]["plan"]
    return plan["problems"][0]["text"] if plan["problems"] else ""


def check_select(t, host):
    host.install_kernel(NEXT)
    lacking = host.ctl("driver", "set-default", "--kernel", NEXT)
    t.equal(lacking.returncode, 10, "driver set-default without modules for the kernel fails")
    t.ok(f"no modules for kernel {NEXT}" in lacking.stderr,
         "driver set-default names the kernel without modules", lacking.stderr)
    modules, _ = write_driver(os.path.join(host.scratch, "next"), OLD, NEXT)
    host.ctl("driver", "import", *modules, check=0)
    tools = os.readlink(host.path("/usr/bin/nvidia-smi"))
    host.ctl("driver", "set-default", "--kernel", NEXT, check=0)
    t.equal(selected(host), {KERNEL: OLD, NEXT: OLD},
            "driver set-default --kernel selects the driver for another kernel")
    t.equal(os.readlink(host.path("/var/lib/gpuhost/driver/current")), CURRENT,
            "driver set-default --kernel leaves libraries unchanged")
    t.equal(os.readlink(host.path("/usr/bin/nvidia-smi")), tools,
            "driver set-default --kernel leaves programs unchanged")
    t.ok("nvidia" in host.read(f"/lib/modules/{NEXT}/modules.dep"),
         "driver set-default --kernel updates that kernel's modules.dep")
    t.equal(host.ctl("driver", "set-default", "--no-wait").stdout.strip(), "0",
            "a second driver set-default does nothing")
    t.equal(host.ctl("driver", "set-default", "--kernel", KERNEL).returncode, 2,
            "driver set-default for the running kernel is refused")
    t.equal(host.ctl("driver", "set-default", "--kernel", "6.6.6").returncode, 4,
            "driver set-default for an unknown kernel fails")


def check_boot_of_the_next(t, host):
    t.ok(reboot(host, NEXT), "a host gets ready on a selected kernel", host.tail())
    t.equal(host.loaded().get("nvidia"), OLD, "a selected kernel boots with the driver")
    t.equal(os.readlink(host.path("/var/lib/gpuhost/driver/current")), f"boot/{NEXT}/userland",
            "a boot links the libraries of its kernel")
    t.equal(host.plan()["steps"], [], "the plan is empty on a selected kernel")


def check_boot_of_a_bare_one(t, host):
    host.install_kernel(BARE)
    t.ok(reboot(host, BARE), "a host gets ready on a kernel without modules", host.tail())
    t.ok("nvidia" not in host.loaded(), "a kernel without modules boots without the driver")
    status = host.json("status")
    t.equal(status["state"], "degraded", "a kernel without modules makes the state degraded")
    t.ok(f"driver {OLD} has no modules for kernel {BARE}" in problem(host),
         "a degraded host's plan names driver and kernel", problem(host))
    t.ok("gpuhostctl driver import FILE" in host.ctl("status").stdout, "a degraded host's status prints the import command")


def check_build_at_boot(t, host):
    import_source(host)
    host.install_kernel(FRESH)
    install_headers(host, FRESH)
    configure(host, "BuildAtBoot=no")
    reboot(host, FRESH)
    t.ok("nvidia" not in host.loaded(), "BuildAtBoot=no builds no modules")
    os.unlink(host.path(CONFIG))
    t.ok(reboot(host, FRESH), "a host gets ready on a kernel with headers", host.tail())
    t.equal(host.loaded().get("nvidia"), OLD, "a kernel with headers loads the built driver")
    kinds = [one["kind"] for one in host.json("operation", "list")][:2]
    t.equal(sorted(kinds), ["apply", "driver.build"], "a boot with a build runs build and apply")
    builds = len([one for one in host.json("operation", "list") if one["kind"] == "driver.build"])
    reboot(host, FRESH)
    t.equal(len([one for one in host.json("operation", "list") if one["kind"] == "driver.build"]), builds,
            "the next boot does not repeat the build")
    t.equal(host.loaded().get("nvidia"), OLD, "the next boot loads the built driver")


def check_failed_build_at_boot(t, host):
    broken = "6.1.0-54-amd64"
    host.install_kernel(broken)
    install_headers(host, broken)
    write(host.path(f"/lib/modules/{broken}/build/include/generated/utsrelease.h"), '#define UTS_RELEASE "another"\n')
    t.ok(reboot(host, broken), "a host gets ready on a kernel with wrong headers", host.tail())
    last = host.json("operation", "list")[1]
    t.equal((last["kind"], last["state"]), ("driver.build", "refused"),
            "a build with wrong headers is refused")
    t.ok(f"no modules for kernel {broken}" in problem(host),
         "a refused build leaves the kernel's problem in the plan", problem(host))
    reboot(host, FRESH)
    shutil.rmtree(host.path(f"/lib/modules/{broken}"))


def check_hook(t, host):
    hooked = "6.1.0-55-amd64"
    host.install_kernel(hooked)
    said = host.ctl("driver", "prepare", "--hook", hooked)
    t.equal(said.returncode, 0, "driver prepare --hook without headers succeeds")
    t.ok("would boot without an NVIDIA driver" in said.stderr and "headers" in said.stderr,
         "driver prepare --hook warns of missing headers", said.stderr)
    configure(host, "NewKernel=require")
    t.equal(host.ctl("driver", "prepare", "--hook", hooked).returncode, 8,
            "NewKernel=require makes driver prepare --hook fail")
    configure(host, "NewKernel=ignore")
    quiet = host.ctl("driver", "prepare", "--hook", hooked)
    t.equal((quiet.returncode, quiet.stderr), (0, ""), "NewKernel=ignore makes driver prepare --hook silent")
    configure(host, "NewKernel=require")
    install_headers(host, hooked)
    host.ctl("driver", "prepare", "--hook", hooked, check=0)
    t.equal(selected(host).get(hooked), OLD, "driver prepare --hook with headers builds and selects")
    configure(host, "Version=off")
    t.equal(host.ctl("driver", "prepare", "--hook", BARE).stderr, "",
            "driver prepare --hook is silent with Version=off")
    os.unlink(host.path(CONFIG))
    host.ctl("reload", check=0)
    host.kill_daemon()
    absent = host.ctl("driver", "prepare", "--hook", BARE)
    t.equal(absent.returncode, 0, "driver prepare --hook without a daemon succeeds")
    host.start_daemon()
    host.settle()


def check_hook_with_a_build_that_hangs(t, host):
    slow = "6.1.0-56-amd64"
    host.install_kernel(slow)
    install_headers(host, slow)
    hung = threading.Event()

    def decide(where, _count):
        if not where.startswith("apply build.compile"):
            return "go"
        hung.set()
        return Gates.HANG

    gates = Gates(host, decide)
    said = host.ctl("driver", "prepare", "--hook", "--timeout=2s", slow)
    t.ok(hung.is_set() and said.returncode == 0 and "the operation continues" in said.stderr,
         "driver prepare --hook times out on a hung build", said.stderr)
    running = [one["id"] for one in host.json("operation", "list") if one["state"] == "running"]
    t.equal(len(running), 1, "the build continues after the hook timed out")
    host.ctl("operation", "cancel", str(running[0]))
    gates.close()
    shutil.rmtree(host.path(f"/lib/modules/{slow}"))


def check_all_kernels(t, host):
    made = host.ctl("driver", "build", "--all-kernels", "--dry-run")
    t.equal(made.returncode, 0, "driver build --all-kernels --dry-run succeeds despite missing headers")
    t.ok(f"kernel {BARE} is left out" in made.stdout + made.stderr,
         "driver build --all-kernels names kernels without headers", made.stdout + made.stderr)


def check_deselect(t, host):
    configure(host, f"Version={OLD}")
    refused = host.ctl("driver", "release")
    t.equal(refused.returncode, 8, "driver release with a configured version is refused")
    t.ok("Set Version= to preinstalled or off first" in refused.stderr,
         "the refused driver release names the setting", refused.stderr)
    configure(host, "Version=preinstalled")
    t.ok("is still selected for this kernel" in problem(host),
         "Version=preinstalled with a selected driver is a problem", problem(host))
    host.ctl("driver", "release", check=0)
    t.equal(selected(host), {}, "driver release removes all selections")
    left = [path for path in ("/usr/bin/nvidia-smi", "/var/lib/gpuhost/driver/current", "/etc/ld.so.conf.d/gpuhost.conf",
                              "/etc/modprobe.d/gpuhost.conf", f"/lib/modules/{FRESH}/updates/gpuhost") if os.path.lexists(host.path(path))]
    t.equal(left, [], "driver release removes all links to the store")
    t.equal(host.loaded().get("nvidia"), OLD, "driver release keeps the loaded driver")


def check_preinstalled(t, host):
    t.equal(problem(host), "", "Version=preinstalled accepts the loaded driver")
    t.equal(host.plan()["steps"], [], "Version=preinstalled with a loaded driver plans nothing")
    swap = host.ctl("driver", "swap", NEW)
    t.equal(swap.returncode, 8, "a swap with Version=preinstalled is refused")
    t.ok("Version=preinstalled" in swap.stderr, "the refused swap names Version=preinstalled", swap.stderr)
    t.ok("gpuhostd does not manage the driver (Version=preinstalled)" in host.ctl("status").stdout,
         "status reports a driver not managed by gpuhostd")
    reboot(host, FRESH)
    t.ok("nvidia" not in host.loaded(), "Version=preinstalled loads no driver at boot")
    t.ok("no NVIDIA driver is loaded" in problem(host),
         "Version=preinstalled without a loaded driver is a problem", problem(host))
    configure(host, "Version=off")
    t.equal(problem(host), "", "Version=off accepts a host without a driver")
    os.unlink(host.path(CONFIG))
    host.ctl("reload", check=0)
    host.ctl("driver", "swap", OLD, check=0)
    t.equal(host.loaded().get("nvidia"), OLD, "a swap after Version=off loads the driver")


def pin(host, verb, version):
    done = host.ctl("driver", verb, version, "--root", host.root)
    host.ctl("reload", check=0)
    return done.returncode


def check_clean(t, host):
    old = "525.147.05"
    _, packages = write_driver(os.path.join(host.scratch, old), old)
    host.ctl("driver", "import", *packages, check=0)
    t.equal(pin(host, "pin", "five"), 2, "driver pin refuses an invalid version")
    t.equal(pin(host, "pin", old), 0, "driver pin succeeds")
    t.equal(host.ctl("driver", "remove", old).returncode, 8, "removing a pinned version is refused")
    t.equal(host.ctl("driver", "clean", "--no-wait").stdout.strip(), "0",
            "driver clean keeps a pinned version")
    t.equal((pin(host, "unpin", old), pin(host, "unpin", old)), (0, 4), "a second driver unpin fails")
    said = host.ctl("driver", "clean", "--dry-run")
    t.ok(f"{old} is no longer needed" in said.stdout + said.stderr,
         "driver clean --dry-run names the unused version", said.stdout + said.stderr)
    host.ctl("driver", "clean", check=0)
    versions = [one["version"] for one in host.json("driver", "list")["versions"]]
    t.equal(versions, [NEW, OLD], "driver clean removes only older versions")


def sets_for(host, kernel):
    return [one["version"] for one in host.json("driver", "list")["versions"] if any(each["kernel"] == kernel for each in one["modules"])]


def check_clean_of_a_gone_kernel(t, host):
    host.ctl("driver", "set-default", "--kernel", NEXT, check=0)
    shutil.rmtree(host.path(f"/lib/modules/{NEXT}/kernel"), ignore_errors=True)
    for name in os.listdir(host.path(f"/lib/modules/{NEXT}")):
        if name.startswith("modules."):
            os.unlink(host.path(f"/lib/modules/{NEXT}/{name}"))
    left = (f"/lib/modules/{NEXT}/updates/gpuhost", f"/var/lib/gpuhost/driver/boot/{NEXT}", f"/var/lib/gpuhost/driver/selected/{NEXT}")
    there = lambda: [path for path in left if os.path.lexists(host.path(path))]
    t.equal(there(), list(left), "a removed kernel leaves its selection")
    before = {kernel: sets_for(host, kernel) for kernel in (KERNEL, FRESH)}
    pin(host, "pin", OLD)
    host.ctl("driver", "clean", check=0)
    t.equal((sets_for(host, NEXT), there()), ([OLD], []),
            "driver clean keeps pinned modules of a removed kernel")
    pin(host, "unpin", OLD)
    said = host.ctl("driver", "clean", "--dry-run")
    t.ok(f"the open modules of {OLD} for {NEXT} are no longer needed" in said.stdout + said.stderr,
         "driver clean --dry-run names modules of a removed kernel",
         said.stdout + said.stderr)
    t.equal(sets_for(host, NEXT), [OLD], "driver clean --dry-run removes nothing")
    host.ctl("driver", "clean", check=0)
    t.equal(sets_for(host, NEXT), [], "driver clean removes modules of a removed kernel")
    t.equal({kernel: sets_for(host, kernel) for kernel in (KERNEL, FRESH)}, before,
            "driver clean keeps modules of installed kernels")
    t.equal(host.ctl("driver", "clean", "--no-wait").stdout.strip(), "0",
            "a second driver clean does nothing")


def check_clean_of_superseded_modules(t, host):
    """NEW is imported three times for the running kernel: the second modules differ, the third are the first."""
    modules, _ = write_driver(os.path.join(host.scratch, "again"), NEW, host.kernel)
    host.ctl("driver", "import", *modules, check=0)
    sets = lambda: [(one["digest"], one["superseded"]) for version in host.json("driver", "list")["versions"] if version["version"] == NEW  # noqa: E731
                    for one in version["modules"] if one["kernel"] == host.kernel]
    first = sets()[0][0]
    with open(modules[-1], "ab") as last:
        last.write(b"another build")
    host.ctl("driver", "import", *modules, check=0)
    second = sets()[0][0]
    t.equal(sets(), [(second, False), (first, True)], "an import supersedes the modules of an earlier one")
    name = f"the superseded open modules of {NEW} for {host.kernel}"
    said = host.ctl("driver", "clean", "--dry-run").stdout
    t.ok(f"{name} are no longer needed" in said, "driver clean --dry-run names superseded modules", said)
    host.ctl("driver", "swap", NEW, check=0)
    with open(modules[-1], "rb+") as last:
        last.truncate(os.path.getsize(modules[-1]) - len(b"another build"))
    host.ctl("driver", "import", *modules, check=0)
    t.equal(sets(), [(first, False), (second, True)], "modules that are imported again are the newest")
    listed = host.ctl("driver", "list").stdout
    t.ok("loaded, selected, superseded" in listed and "available" in listed, "driver list distinguishes the sets", listed)
    said = host.ctl("driver", "clean", "--dry-run").stdout
    t.ok(f"{name} are kept" in said, "driver clean keeps superseded modules that are selected", said)
    host.ctl("driver", "swap", NEW, check=0)
    host.ctl("driver", "clean", check=0)
    t.equal(sets(), [(first, False)], "driver clean removes superseded modules that nothing uses")


run_checks(check_select, check_boot_of_the_next, check_boot_of_a_bare_one, check_build_at_boot, check_failed_build_at_boot,
           check_hook, check_hook_with_a_build_that_hangs, check_all_kernels, check_deselect, check_preinstalled, check_clean,
           check_clean_of_a_gone_kernel, check_clean_of_superseded_modules)
