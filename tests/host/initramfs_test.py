# SPDX-License-Identifier: Apache-2.0
"""Initramfs images: a swap regenerates them once without the driver. The installed hooks for initramfs-tools
and dracut leave the driver out as configured."""
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
    t.equal(doctor(host)[0], "error", "doctor reports an image with another driver")
    swap = host.ctl("driver", "swap", NEW)
    t.equal((swap.returncode, host.loaded()["nvidia"]), (ROLLED_BACK, OLD),
            "a swap without an initramfs tool is undone")
    t.ok("neither update-initramfs nor dracut" in swap.stderr and "Initramfs=ignore" in swap.stderr,
         "the undone swap names tools and Initramfs=ignore", swap.stderr)
    configure(host, "Initramfs=ignore")
    t.ok("initramfs.clear" not in steps(host, NEW), "Initramfs=ignore plans no initramfs.clear")
    t.equal(doctor(host)[0], "skipped", "Initramfs=ignore skips doctor's check initramfs")
    os.unlink(host.path(CONFIG))
    host.ctl("reload", check=0)


def check_failure(t, host):
    tool(host, "#!/bin/sh\necho 'cp: no space left'\nexit 1\n")
    swap = host.ctl("driver", "swap", NEW)
    t.equal(swap.returncode, ROLLED_BACK, "a failing initramfs tool undoes the swap")
    t.ok("no space left" in swap.stderr and LOG in swap.stderr,
         "the undone swap shows the tool's output and log", swap.stderr)
    tool(host, "#!/bin/sh\nexit 0\n")
    swap = host.ctl("driver", "swap", NEW)
    t.equal(swap.returncode, ROLLED_BACK, "a tool that keeps the driver undoes the swap")
    t.ok("nvidia-current.ko" in swap.stderr, "the undone swap names the remaining module", swap.stderr)
    t.equal((host.loaded()["nvidia"], held(host)), (OLD, STALE), "the undone swap keeps old driver and image")


def check_cancel(t, host):
    """Cancels a swap while the tool runs. The tool ends when nothing reads its output."""
    tool(host, "#!/bin/sh\ntouch ${0%/usr/sbin/*}/running\nwhile echo waiting; do sleep 0.1; done\n")
    swap = host.start_ctl("driver", "swap", NEW)
    deadline = time.monotonic() + PATIENCE
    while not os.path.exists(host.path("/running")) and time.monotonic() < deadline:
        time.sleep(0.05)
    running = [one["id"] for one in host.json("operation", "list") if one["state"] == "running"]
    host.ctl("operation", "cancel", str(running[0]), check=0)
    t.equal(wait(swap), CANCELLED, "a swap can be cancelled while the tool runs")
    t.equal((host.loaded()["nvidia"], held(host)), (OLD, STALE),
            "the cancelled swap keeps old driver and image")


def check_made_anew(t, host):
    tool(host, MAKE)
    put(host, "/next", CLEAN)
    t.equal(steps(host, NEW)[:2], ["initramfs.clear", "driver.prepare"],
            "a swap regenerates the image before it prepares the driver")
    host.ctl("driver", "swap", NEW, check=0)
    t.equal((host.loaded()["nvidia"], held(host)), (NEW, CLEAN),
            "a swap regenerates the image without the driver")
    t.equal(host.read(LOG), f"exclude -u -k {KERNEL}", "the tool runs with GPUHOST_INITRAMFS=exclude")
    t.equal(doctor(host), ("ok", "no initramfs has a driver of a GPU"),
            "doctor accepts an image without a driver")
    t.ok("initramfs.clear" not in steps(host, OLD), "a swap skips an image known to be clean")
    put(host, IMAGE, image("etc/changed"))
    t.ok("initramfs.clear" in steps(host, OLD), "a swap checks an image that was regenerated")
    os.unlink(host.path(TOOL))
    tool(host, "#!/bin/sh\nexit 1\n")
    host.ctl("driver", "swap", OLD, check=0)
    t.equal(held(host), image("etc/changed"), "a swap keeps a regenerated image without a driver")


def check_other_places(t, host):
    """Images in a boot loader's directory for the kernel, and unified kernel images."""
    put(host, ENTRY, STALE)
    put(host, UNIFIED, unified(STALE))
    t.equal(doctor(host)[0], "error", "doctor reports images outside /boot")
    tool(host, MAKE_ENTRY, DRACUT)
    swap = host.ctl("driver", "swap", NEW)
    t.equal((swap.returncode, host.loaded()["nvidia"]), (ROLLED_BACK, OLD),
            "a unified image with a driver undoes the swap")
    t.ok(UNIFIED in swap.stderr and f"GPUHOST_INITRAMFS=exclude kernel-install add {KERNEL}" in swap.stderr,
         "the undone swap prints the command to regenerate it", swap.stderr)
    t.equal((held(host, ENTRY), os.listdir(os.path.dirname(host.path(ENTRY)))), (CLEAN, ["initrd"]),
            "the undone swap has regenerated the other images")
    put(host, UNIFIED, unified(CLEAN))
    host.ctl("driver", "swap", NEW, check=0)
    t.equal(held(host, UNIFIED), unified(CLEAN), "a swap keeps a unified image without a driver")
    t.equal(doctor(host)[0], "ok", "doctor accepts images outside /boot without a driver")
    t.ok("initramfs.clear" not in steps(host, OLD), "a swap skips images outside /boot known to be clean")
    os.unlink(host.path(UNIFIED))
    os.unlink(host.path(ENTRY))


def installed(host, name):
    """Installs a file of packaging/initramfs on the host, with the host's paths."""
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
    t.ok(left_out(host, KERNEL), "gpuhost-initramfs excludes the driver for a selected kernel")
    t.ok(not left_out(host, "6.6.6"), "gpuhost-initramfs ignores a kernel without a selection")
    t.ok(left_out(host, "6.6.6", GPUHOST_INITRAMFS="exclude"),
         "GPUHOST_INITRAMFS=exclude excludes the driver without a selection")
    configure(host, " Initramfs = ignore ")
    t.ok(not left_out(host, KERNEL), "Initramfs=ignore includes the driver")
    write(host.path(CONFIG), "[Driver]\nInitramfs=ignore\nInitramfs=exclude\n[Images]\nInitramfs=ignore\n")
    t.ok(left_out(host, KERNEL), "the last Initramfs= in [Driver] is used")
    os.unlink(host.path(CONFIG))


def modules_left(host, kernel, files=("kernel/nvidiafb.ko", "kernel/nouveau.ko.xz", "updates/dkms/nvidia-current-drm.ko", "updates/nvidia.ko",
                                     "updates/nvidia-uvm.ko.zst")):
    """Runs the hook. Returns the names of modules that it leaves in the image."""
    directory = os.path.join(host.scratch, "image", "usr/lib/modules", kernel)
    for name in files:
        write(os.path.join(directory, name), "")
    root = os.path.join(host.scratch, "image")
    write(os.path.join(root, "var/lib/gpuhost/driver/550/nvidia.ko"), "")  # initramfs-tools copies link targets
    if not os.path.islink(f"{root}/lib"):
        os.symlink("usr/lib", f"{root}/lib")
    done = run([installed(host, "gpuhost")], env={**host.environment, "version": kernel, "DESTDIR": root})
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return sorted(name for _, _, names in os.walk(directory) for name in names)


def check_hook(t, host):
    t.equal(modules_left(host, KERNEL), ["nvidiafb.ko"], "the initramfs-tools hook removes GPU drivers")
    t.ok(not os.path.exists(os.path.join(host.scratch, "image/var/lib/gpuhost/driver")),
         "the initramfs-tools hook removes the copied driver store")
    t.equal(len(modules_left(host, "6.6.6")), 5, "the hook removes nothing from other kernels' images")
    for name, mode in (("off", 0o644), ("also off~", 0o755)):
        write(host.path(f"/{name}"), "#!/bin/sh\nexit 1\n")
        os.chmod(host.path(f"/{name}"), mode)
    before = run([host.path("/gpuhost"), "prereqs"]).stdout.splitlines()
    t.ok("gpuhost-initramfs" in before and "gpuhost" not in before,
         "the hook's prereqs list other hooks, not itself", before)
    t.ok("off" not in before and "also off~" not in before,
         "the hook's prereqs omit hooks that do not run", before)


def omitted(host, kernel, modules=("nvidia", "nvidia_drm", "nvidia_current_uvm", "nouveau", "nvidiafb", "nvidia_wmi_ec_backlight", "ext4")):
    words = run(["bash", "-c", f"kernel={kernel}; . {installed(host, '50-gpuhost.conf')}; set -f; echo $omit_drivers"], env=host.environment).stdout.split()
    return [name for name in modules if any(re.fullmatch(word, name) for word in words)]


def check_dracut(t, host):
    t.equal(omitted(host, KERNEL), ["nvidia", "nvidia_drm", "nvidia_current_uvm", "nouveau"],
            "dracut's omit_drivers has the GPU drivers")
    t.equal(omitted(host, "6.6.6"), [], "dracut omits nothing for a kernel without a selection")


# Module names: distributions add a suffix for the branch, and some NVIDIA modules are not GPU drivers.
DRIVERS = ("nouveau", "nvidia", "nvidia-drm", "nvidia-fs", "nvidia-modeset", "nvidia-peermem", "nvidia-uvm", "nvidia-vgpu-vfio", "nvidia-current",
           "nvidia-current-open-drm", "nvidia-legacy-390xx-modeset", "nvidia-open", "nvidia-tesla-470-uvm")
OTHERS = ("amdgpu", "ext4", "nouveau-fb", "nvidia-cspmu", "nvidia-drmx", "nvidia-wmi-ec-backlight", "nvidiafb", "xnvidia")


def check_names(t, host):
    """The image reader, the hook and dracut's list match the same module names."""
    everything = sorted(DRIVERS + OTHERS)
    found = []
    for name in everything:
        put(host, IMAGE, image(f"usr/lib/modules/{KERNEL}/updates/{name}.ko"))
        found += [name] if doctor(host)[0] != "ok" else []
    t.equal(found, sorted(DRIVERS), "the image reader matches exactly the GPU drivers")
    left = modules_left(host, KERNEL, [f"names/{name}.ko" for name in everything])
    t.equal([name for name in everything if f"{name}.ko" not in left], found,
            "the hook removes exactly the GPU drivers")
    named = omitted(host, KERNEL, [name.replace("-", "_") for name in everything])
    t.equal(named, [name.replace("-", "_") for name in found], "dracut omits exactly the GPU drivers")


run_checks(check_nothing_to_make_it, check_failure, check_cancel, check_made_anew, check_other_places, check_who_is_asked, check_hook, check_dracut, check_names)
