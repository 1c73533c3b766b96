# SPDX-License-Identifier: Apache-2.0
"""Kernels beside the one that runs: made ready before they boot, built for when they boot, let go of; a driver that is the
host's own; versions that are pinned and cleaned out."""
import os
import shutil
import threading

from driver_files import DEPENDS, KERNEL, deb, write_driver
from fake_host import NEW, OLD, run_checks, write
from gates import Gates

NEXT, BARE, FRESH = "6.1.0-51-amd64", "6.1.0-52-amd64", "6.1.0-53-amd64"
CURRENT = f"boot/{KERNEL}/userland"
CONFIG = "/etc/gpuhost/gpuhostd.conf.d/90-test.conf"

# What matters of a module here is its .modinfo.
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
    lacking = host.ctl("driver", "select", "--kernel", NEXT)
    t.equal(lacking.returncode, 10, "a kernel without modules of the version is not selected for")
    t.ok(f"no modules for kernel {NEXT}" in lacking.stderr, "and that is said", lacking.stderr)
    modules, _ = write_driver(os.path.join(host.scratch, "next"), OLD, NEXT)
    host.ctl("driver", "import", *modules, check=0)
    tools = os.readlink(host.path("/usr/bin/nvidia-smi"))
    host.ctl("driver", "select", "--kernel", NEXT, check=0)
    t.equal(selected(host), {KERNEL: OLD, NEXT: OLD}, "the next kernel boots what this one runs")
    t.equal(os.readlink(host.path("/var/lib/gpuhost/driver/current")), CURRENT, "libraries stay where they lead")
    t.equal(os.readlink(host.path("/usr/bin/nvidia-smi")), tools, "so do programs")
    t.ok("nvidia" in host.read(f"/lib/modules/{NEXT}/modules.dep"), "modprobe's index of that kernel has the driver")
    t.equal(host.ctl("driver", "select", "--no-wait").stdout.strip(), "0", "a second time nothing is to be done")
    t.equal(host.ctl("driver", "select", "--kernel", KERNEL).returncode, 2, "the kernel that runs takes a swap")
    t.equal(host.ctl("driver", "select", "--kernel", "6.6.6").returncode, 4, "one that is not installed is not found")


def check_boot_of_the_next(t, host):
    t.ok(reboot(host, NEXT), "the host gets ready on the next kernel", host.tail())
    t.equal(host.loaded().get("nvidia"), OLD, "with the driver")
    t.equal(os.readlink(host.path("/var/lib/gpuhost/driver/current")), f"boot/{NEXT}/userland", "libraries are this kernel's now")
    t.equal(host.json("plan")["steps"], [], "nothing is left to do")


def check_boot_of_a_bare_one(t, host):
    host.install_kernel(BARE)
    t.ok(reboot(host, BARE), "a host whose kernel has no driver gets ready all the same", host.tail())
    t.ok("nvidia" not in host.loaded(), "without one")
    status = host.json("status")
    t.equal(status["state"], "degraded", "which its state says")
    t.ok(f"driver {OLD} has no modules for kernel {BARE}" in problem(host), "with the reason", problem(host))
    t.ok("driver build" in host.ctl("status").stdout, "and the way out")


def check_build_at_boot(t, host):
    import_source(host)
    host.install_kernel(FRESH)
    install_headers(host, FRESH)
    configure(host, "BuildAtBoot=no")
    reboot(host, FRESH)
    t.ok("nvidia" not in host.loaded(), "BuildAtBoot=no builds nothing")
    os.unlink(host.path(CONFIG))
    t.ok(reboot(host, FRESH), "a kernel that has its headers gets modules when it boots", host.tail())
    t.equal(host.loaded().get("nvidia"), OLD, "and then the driver")
    kinds = [one["kind"] for one in host.json("operation", "list")][-2:]
    t.equal(sorted(kinds), ["apply", "driver.build"], "by two operations")
    builds = len([one for one in host.json("operation", "list") if one["kind"] == "driver.build"])
    reboot(host, FRESH)
    t.equal(len([one for one in host.json("operation", "list") if one["kind"] == "driver.build"]), builds, "which the next boot does not repeat")
    t.equal(host.loaded().get("nvidia"), OLD, "since the driver is there")


def check_failed_build_at_boot(t, host):
    broken = "6.1.0-54-amd64"
    host.install_kernel(broken)
    install_headers(host, broken)
    write(host.path(f"/lib/modules/{broken}/build/include/generated/utsrelease.h"), '#define UTS_RELEASE "another"\n')
    t.ok(reboot(host, broken), "headers that don't fit keep no host from getting ready", host.tail())
    last = host.json("operation", "list")[-2]
    t.equal((last["kind"], last["state"]), ("driver.build", "refused"), "the build says so")
    t.ok(f"no modules for kernel {broken}" in problem(host), "and so does the host", problem(host))
    reboot(host, FRESH)
    shutil.rmtree(host.path(f"/lib/modules/{broken}"))


def check_hook(t, host):
    hooked = "6.1.0-55-amd64"
    host.install_kernel(hooked)
    said = host.ctl("driver", "prepare", "--hook", hooked)
    t.equal(said.returncode, 0, "a kernel's package does not fail over a driver")
    t.ok("would boot without an NVIDIA driver" in said.stderr and "headers" in said.stderr, "but says what is missing", said.stderr)
    configure(host, "NewKernel=require")
    t.equal(host.ctl("driver", "prepare", "--hook", hooked).returncode, 8, "NewKernel=require fails it")
    configure(host, "NewKernel=ignore")
    quiet = host.ctl("driver", "prepare", "--hook", hooked)
    t.equal((quiet.returncode, quiet.stderr), (0, ""), "NewKernel=ignore says nothing")
    configure(host, "NewKernel=require")
    install_headers(host, hooked)
    host.ctl("driver", "prepare", "--hook", hooked, check=0)
    t.equal(selected(host).get(hooked), OLD, "with its headers it is built for, and selected")
    configure(host, "Version=off")
    t.equal(host.ctl("driver", "prepare", "--hook", BARE).stderr, "", "a host that has no driver of ours is not concerned")
    os.unlink(host.path(CONFIG))
    host.ctl("reload", check=0)
    host.kill_daemon()
    absent = host.ctl("driver", "prepare", "--hook", BARE)
    t.equal(absent.returncode, 0, "nor is an image that is being made, where no daemon runs")
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
    t.ok(hung.is_set() and said.returncode == 0 and "the operation continues" in said.stderr, "the hook leaves a build that hangs to gpuhostd", said.stderr)
    running = [one["id"] for one in host.json("operation", "list") if one["state"] == "running"]
    t.equal(len(running), 1, "which goes on")
    host.ctl("operation", "cancel", str(running[0]))
    gates.close()
    shutil.rmtree(host.path(f"/lib/modules/{slow}"))


def check_all_kernels(t, host):
    made = host.ctl("driver", "build", "--all-kernels", "--dry-run")
    t.equal(made.returncode, 0, "builds for all kernels leave out those without headers")
    t.ok(f"kernel {BARE} is left out" in made.stdout + made.stderr, "by name", made.stdout + made.stderr)


def check_deselect(t, host):
    configure(host, f"Version={OLD}")
    refused = host.ctl("driver", "deselect")
    t.equal(refused.returncode, 8, "what a file wants is not let go of")
    t.ok("Set Version= to preinstalled or off first" in refused.stderr, "before that is changed", refused.stderr)
    configure(host, "Version=preinstalled")
    t.ok("is still selected for this kernel" in problem(host), "a driver of others can't boot while ours is selected", problem(host))
    host.ctl("driver", "deselect", check=0)
    t.equal(selected(host), {}, "nothing is selected for any kernel")
    left = [path for path in ("/usr/bin/nvidia-smi", "/var/lib/gpuhost/driver/current", "/etc/ld.so.conf.d/gpuhost.conf",
                              "/etc/modprobe.d/gpuhost.conf", f"/lib/modules/{FRESH}/updates/gpuhost") if os.path.lexists(host.path(path))]
    t.equal(left, [], "nothing leads to the store")
    t.equal(host.loaded().get("nvidia"), OLD, "what runs goes on")


def check_preinstalled(t, host):
    t.equal(problem(host), "", "a driver that runs is the host's own")
    t.equal(host.json("plan")["steps"], [], "nothing is to be done about it")
    swap = host.ctl("driver", "swap", NEW)
    t.equal(swap.returncode, 8, "a swap is refused")
    t.ok("Version=preinstalled" in swap.stderr, "by the setting's name", swap.stderr)
    t.ok("not gpuhostd's (Version=preinstalled)" in host.ctl("status").stdout, "status says whose it is")
    reboot(host, FRESH)
    t.ok("nvidia" not in host.loaded(), "a host that loads none by itself")
    t.ok("no NVIDIA driver is loaded" in problem(host), "is told so", problem(host))
    configure(host, "Version=off")
    t.equal(problem(host), "", "Version=off asks for none")
    os.unlink(host.path(CONFIG))
    host.ctl("reload", check=0)
    host.ctl("driver", "swap", OLD, check=0)
    t.equal(host.loaded().get("nvidia"), OLD, "and gpuhostd takes over again by a swap")


def pin(host, verb, version):
    done = host.ctl("driver", verb, version, "--root", host.root)
    host.ctl("reload", check=0)
    return done.returncode


def check_clean(t, host):
    old = "525.147.05"
    _, packages = write_driver(os.path.join(host.scratch, old), old)
    host.ctl("driver", "import", *packages, check=0)
    t.equal(pin(host, "pin", "five"), 2, "only versions are pinned")
    t.equal(pin(host, "pin", old), 0, "a version is pinned")
    t.equal(host.ctl("driver", "remove", old).returncode, 8, "a pinned version is not removed")
    t.equal(host.ctl("driver", "clean", "--no-wait").stdout.strip(), "0", "nor cleaned out")
    t.equal((pin(host, "unpin", old), pin(host, "unpin", old)), (0, 4), "it can be let go of once")
    said = host.ctl("driver", "clean", "--dry-run")
    t.ok(f"{old} is no longer needed" in said.stdout + said.stderr, "a trial says what goes", said.stdout + said.stderr)
    host.ctl("driver", "clean", check=0)
    versions = [one["version"] for one in host.json("driver", "list")["versions"]]
    t.equal(versions, [NEW, OLD], "the old one is gone, the newer one stays")


def sets_for(host, kernel):
    return [one["version"] for one in host.json("driver", "list")["versions"] if any(each["kernel"] == kernel for each in one["modules"])]


def check_clean_of_a_gone_kernel(t, host):
    host.ctl("driver", "select", "--kernel", NEXT, check=0)
    shutil.rmtree(host.path(f"/lib/modules/{NEXT}/kernel"), ignore_errors=True)
    for name in os.listdir(host.path(f"/lib/modules/{NEXT}")):
        if name.startswith("modules."):
            os.unlink(host.path(f"/lib/modules/{NEXT}/{name}"))
    left = (f"/lib/modules/{NEXT}/updates/gpuhost", f"/var/lib/gpuhost/driver/boot/{NEXT}", f"/var/lib/gpuhost/driver/selected/{NEXT}")
    there = lambda: [path for path in left if os.path.lexists(host.path(path))]
    t.equal(there(), list(left), "a kernel's removal leaves what it would boot")
    before = {kernel: sets_for(host, kernel) for kernel in (KERNEL, FRESH)}
    pin(host, "pin", OLD)
    host.ctl("driver", "clean", check=0)
    t.equal((sets_for(host, NEXT), there()), ([OLD], []), "modules of a pinned version stay, and nothing boots them")
    pin(host, "unpin", OLD)
    said = host.ctl("driver", "clean", "--dry-run")
    t.ok(f"the open modules of {OLD} for {NEXT} are no longer needed" in said.stdout + said.stderr, "a trial names them",
         said.stdout + said.stderr)
    t.equal(sets_for(host, NEXT), [OLD], "and takes nothing")
    host.ctl("driver", "clean", check=0)
    t.equal(sets_for(host, NEXT), [], "the modules of a kernel that is gone go")
    t.equal({kernel: sets_for(host, kernel) for kernel in (KERNEL, FRESH)}, before, "those of the others stay")
    t.equal(host.ctl("driver", "clean", "--no-wait").stdout.strip(), "0", "a second time nothing is to be done")


run_checks(check_select, check_boot_of_the_next, check_boot_of_a_bare_one, check_build_at_boot, check_failed_build_at_boot,
           check_hook, check_hook_with_a_build_that_hangs, check_all_kernels, check_deselect, check_preinstalled, check_clean,
           check_clean_of_a_gone_kernel)
