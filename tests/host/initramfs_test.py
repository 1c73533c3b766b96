# SPDX-License-Identifier: Apache-2.0
"""Images that kernels boot with: a swap has them made anew without the driver, once; what is installed for the programs that
make them leaves it out, where it is to."""
import json
import os
import re
import time

import tap
from driver_files import KERNEL
from fake_host import NEW, OLD, run_checks, write
from initramfs_files import CLEAN, DRACUT, ENTRY, IMAGE, MAKE, MAKE_ENTRY, STALE, UNIFIED, image, put, tool, TOOL, unified
from programs import PATIENCE, run, wait

LOG = f"/var/lib/gpuhost/driver/initramfs/{KERNEL}.log"
CONFIG = "/etc/gpuhost/gpuhostd.conf.d/90-test.conf"
ROLLED_BACK, CANCELLED = 15, 16


def held(host, path=IMAGE):
    with open(host.path(path), "rb") as file:
        return file.read()


def configure(host, text):
    write(host.path(CONFIG), f"[Driver]\n{text}\n")
    host.ctl("reload", check=0)


def steps(host, version):
    return [step["kind"] for step in host.json("driver", "swap", version, "--dry-run")["steps"]]


def doctor(host):
    found = json.loads(host.ctl("doctor", f"--root={host.root}", "--json").stdout)["checks"]
    return next((check["result"], check["text"]) for check in found if check["check"] == "initramfs")


def check_nothing_to_make_it(t, host):
    put(host, IMAGE, STALE)
    t.equal(doctor(host)[0], "error", "doctor finds an image that would load another driver")
    swap = host.ctl("driver", "swap", NEW)
    t.equal((swap.returncode, host.loaded()["nvidia"]), (ROLLED_BACK, OLD), "a host that can't make it anew does not swap")
    t.ok("neither update-initramfs nor dracut" in swap.stderr and "Initramfs=ignore" in swap.stderr, "with the ways out", swap.stderr)
    configure(host, "Initramfs=ignore")
    t.ok("initramfs.clear" not in steps(host, NEW), "of which one is to leave images as they are")
    t.equal(doctor(host)[0], "skipped", "which doctor does too")
    os.unlink(host.path(CONFIG))
    host.ctl("reload", check=0)


def check_failure(t, host):
    tool(host, "#!/bin/sh\necho 'cp: no space left'\nexit 1\n")
    swap = host.ctl("driver", "swap", NEW)
    t.equal(swap.returncode, ROLLED_BACK, "a program that fails ends the swap")
    t.ok("no space left" in swap.stderr and LOG in swap.stderr, "by what it said", swap.stderr)
    tool(host, "#!/bin/sh\nexit 0\n")
    swap = host.ctl("driver", "swap", NEW)
    t.equal(swap.returncode, ROLLED_BACK, "as does one that leaves the driver in there")
    t.ok("nvidia-current.ko" in swap.stderr, "by its name", swap.stderr)
    t.equal((host.loaded()["nvidia"], held(host)), (OLD, STALE), "the old driver runs, and nothing else has changed")


def check_cancel(t, host):
    """While the program runs, which ends when nobody listens to it any more."""
    tool(host, "#!/bin/sh\ntouch ${0%/usr/sbin/*}/running\nwhile echo waiting; do sleep 0.1; done\n")
    swap = host.start_ctl("driver", "swap", NEW)
    deadline = time.monotonic() + PATIENCE
    while not os.path.exists(host.path("/running")) and time.monotonic() < deadline:
        time.sleep(0.05)
    running = [one["id"] for one in host.json("operation", "list") if one["state"] == "running"]
    host.ctl("operation", "cancel", str(running[0]), check=0)
    t.equal(wait(swap), CANCELLED, "a swap is cancelled while the image is made")
    t.equal((host.loaded()["nvidia"], held(host)), (OLD, STALE), "and leaves all as it was")


def check_made_anew(t, host):
    tool(host, MAKE)
    put(host, "/next", CLEAN)
    t.equal(steps(host, NEW)[:2], ["initramfs.clear", "driver.prepare"], "the image comes before the selection")
    host.ctl("driver", "swap", NEW, check=0)
    t.equal((host.loaded()["nvidia"], held(host)), (NEW, CLEAN), "a swap has the image made anew")
    t.equal(host.read(LOG), f"exclude -u -k {KERNEL}", "by the host's program, which is told to leave the driver out")
    t.equal(doctor(host), ("ok", "none has a driver of a GPU in it"), "and nothing is wrong with it")
    t.ok("initramfs.clear" not in steps(host, OLD), "it is not looked at again")
    put(host, IMAGE, image("etc/changed"))
    t.ok("initramfs.clear" in steps(host, OLD), "until somebody has made it anew")
    os.unlink(host.path(TOOL))
    tool(host, "#!/bin/sh\nexit 1\n")
    host.ctl("driver", "swap", OLD, check=0)
    t.equal(held(host), image("etc/changed"), "one that is clean stays")


def check_other_places(t, host):
    """Images for which a boot loader has a directory of the kernel's own, and unified ones."""
    put(host, ENTRY, STALE)
    put(host, UNIFIED, unified(STALE))
    t.equal(doctor(host)[0], "error", "doctor finds images that are not below /boot")
    tool(host, MAKE_ENTRY, DRACUT)
    swap = host.ctl("driver", "swap", NEW)
    t.equal((swap.returncode, host.loaded()["nvidia"]), (ROLLED_BACK, OLD), "a unified image that has a driver ends the swap")
    t.ok(UNIFIED in swap.stderr and f"GPUHOST_INITRAMFS=exclude kernel-install add {KERNEL}" in swap.stderr, "with what makes it anew", swap.stderr)
    t.equal((held(host, ENTRY), os.listdir(os.path.dirname(host.path(ENTRY)))), (CLEAN, ["initrd"]), "all others are clean by then")
    put(host, UNIFIED, unified(CLEAN))
    host.ctl("driver", "swap", NEW, check=0)
    t.equal(held(host, UNIFIED), unified(CLEAN), "one without a driver stays")
    t.equal(doctor(host)[0], "ok", "and doctor finds nothing")
    t.ok("initramfs.clear" not in steps(host, OLD), "none of them is looked at again")
    os.unlink(host.path(UNIFIED))
    os.unlink(host.path(ENTRY))


def installed(host, name):
    """As it is installed, but for this host's paths."""
    with open(os.path.join(tap.TOP_SRCDIR, "packaging/initramfs", name), encoding="utf-8") as file:
        text = file.read()
    ctl = os.path.join(host.scratch, "ctl")
    write(ctl, f"#!/bin/sh\nexec {tap.TOP_BUILDDIR}/gpuhostctl \"$@\" --root={host.root}\n")
    os.chmod(ctl, 0o755)
    for path, there in (("/usr/libexec/gpuhost/gpuhost-initramfs", host.path("/gpuhost-initramfs")), ("/usr/bin/gpuhostctl", ctl),
                        ('"/var/lib/gpuhost/', '"' + host.path("/var/lib/gpuhost/"))):
        text = text.replace(path, there)
    write(host.path(f"/{name}"), text)
    os.chmod(host.path(f"/{name}"), 0o755)
    return host.path(f"/{name}")


def left_out(host, kernel, **more):
    return run([host.path("/gpuhost-initramfs"), kernel], env={**host.environment, **more}).returncode == 0


def check_who_is_asked(t, host):
    installed(host, "gpuhost-initramfs")
    t.ok(left_out(host, KERNEL), "a kernel with a selection has images without a driver")
    t.ok(not left_out(host, "6.6.6"), "one without is left alone")
    t.ok(left_out(host, "6.6.6", GPUHOST_INITRAMFS="exclude"), "unless it is about to get one")
    configure(host, " Initramfs = ignore ")
    t.ok(not left_out(host, KERNEL), "Initramfs=ignore leaves all alone")
    write(host.path(CONFIG), "[Driver]\nInitramfs=ignore\nInitramfs=exclude\n[Images]\nInitramfs=ignore\n")
    t.ok(left_out(host, KERNEL), "what comes last in its section counts")
    os.unlink(host.path(CONFIG))


def modules_left(host, kernel, files=("kernel/nvidiafb.ko", "kernel/nouveau.ko.xz", "updates/dkms/nvidia-current-drm.ko", "updates/nvidia.ko",
                                     "updates/nvidia-uvm.ko.zst")):
    """What the hook leaves of an image's modules."""
    directory = os.path.join(host.scratch, "image", "usr/lib/modules", kernel)
    for name in files:
        write(os.path.join(directory, name), "")
    root = os.path.join(host.scratch, "image")
    write(os.path.join(root, "var/lib/gpuhost/driver/550/nvidia.ko"), "")  # as initramfs-tools copies what a link leads to
    if not os.path.islink(f"{root}/lib"):
        os.symlink("usr/lib", f"{root}/lib")
    done = run([installed(host, "gpuhost")], env={**host.environment, "version": kernel, "DESTDIR": root})
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return sorted(name for _, _, names in os.walk(directory) for name in names)


def check_hook(t, host):
    t.equal(modules_left(host, KERNEL), ["nvidiafb.ko"], "initramfs-tools' hook takes drivers of a GPU out")
    t.ok(not os.path.exists(os.path.join(host.scratch, "image/var/lib/gpuhost/driver")), "with what links to ours led to")
    t.equal(len(modules_left(host, "6.6.6")), 5, "and of other kernels' images none")
    for name, mode in (("off", 0o644), ("also off~", 0o755)):
        write(host.path(f"/{name}"), "#!/bin/sh\nexit 1\n")
        os.chmod(host.path(f"/{name}"), mode)
    before = run([host.path("/gpuhost"), "prereqs"]).stdout.splitlines()
    t.ok("gpuhost-initramfs" in before and "gpuhost" not in before, "it comes after all other hooks", before)
    t.ok("off" not in before and "also off~" not in before, "that initramfs-tools runs: it would run these for this one's sake", before)


def omitted(host, kernel, modules=("nvidia", "nvidia_drm", "nvidia_current_uvm", "nouveau", "nvidiafb", "nvidia_wmi_ec_backlight", "ext4")):
    words = run(["bash", "-c", f"kernel={kernel}; . {installed(host, '50-gpuhost.conf')}; set -f; echo $omit_drivers"], env=host.environment).stdout.split()
    return [name for name in modules if any(re.fullmatch(word, name) for word in words)]


def check_dracut(t, host):
    t.equal(omitted(host, KERNEL), ["nvidia", "nvidia_drm", "nvidia_current_uvm", "nouveau"], "dracut is told to leave them out")
    t.equal(omitted(host, "6.6.6"), [], "for kernels with a selection")


# As files are called: distributions have a suffix for the branch, and more drivers of NVIDIA's are none of a GPU.
DRIVERS = ("nouveau", "nvidia", "nvidia-drm", "nvidia-fs", "nvidia-modeset", "nvidia-peermem", "nvidia-uvm", "nvidia-vgpu-vfio", "nvidia-current",
           "nvidia-current-open-drm", "nvidia-legacy-390xx-modeset", "nvidia-open", "nvidia-tesla-470-uvm")
OTHERS = ("amdgpu", "ext4", "nouveau-fb", "nvidia-cspmu", "nvidia-drmx", "nvidia-wmi-ec-backlight", "nvidiafb", "xnvidia")


def check_names(t, host):
    """The reader, the hook and dracut's list have the names of a driver each in its own language."""
    everything = sorted(DRIVERS + OTHERS)
    found = []
    for name in everything:
        put(host, IMAGE, image(f"usr/lib/modules/{KERNEL}/updates/{name}.ko"))
        found += [name] if doctor(host)[0] != "ok" else []
    t.equal(found, sorted(DRIVERS), "the reader knows a driver of a GPU by its name")
    left = modules_left(host, KERNEL, [f"names/{name}.ko" for name in everything])
    t.equal([name for name in everything if f"{name}.ko" not in left], found, "as the hook does")
    named = omitted(host, KERNEL, [name.replace("-", "_") for name in everything])
    t.equal(named, [name.replace("-", "_") for name in found], "and what dracut is told")


run_checks(check_nothing_to_make_it, check_failure, check_cancel, check_made_anew, check_other_places, check_who_is_asked, check_hook, check_dracut, check_names)
