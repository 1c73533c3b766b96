# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl cdi on the files of a host without a GPU."""
import json
import os
import shutil
import stat

import programs
import tap
from container_files import HOOK, Container, library_file
from fake_host import scratch, write

BAD_ARGUMENT, NOT_FOUND, BAD_CONTENT = 2, 4, 9
VERSION = "550.163.01"
# {mode: (class of the kind, device nodes)}
SERVICES = {"imex": ("imex-channel", ["nvidia-caps-imex-channels/channel0", "nvidia-caps-imex-channels/channel7"]),
            "gds": ("gds", ["nvidia-fs0", "nvidia-fs1"]), "gdrcopy": ("gdrcopy", ["gdrdrv"]),
            "mofed": ("mofed", ["infiniband/rdma_cm", "infiniband/uverbs0"]),
            "nvswitch": ("nvswitch", ["nvidia-nvswitch0", "nvidia-nvswitchctl"])}
YAML = f"""---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    env: [GPU=0]
containerEdits:
  mounts:
  - hostPath: /usr/lib64/libcuda.so.{VERSION}
    containerPath: /usr/lib64/libcuda.so.{VERSION}
    options: [ro]
"""


class Host:
    def __init__(self, root):
        self.root = root
        os.makedirs(self.path("/usr/lib64"))
        shutil.copy(library_file(), self.path(f"/usr/lib64/libcuda.so.{VERSION}"))

    def path(self, name):
        return os.path.join(self.root, name.lstrip("/"))

    def cdi(self, *words):
        return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "cdi", *words, "--root", self.root],
                            env=programs.environment(NO_COLOR="1", LC_ALL="C"))


def check_nothing(t, host):
    run = host.cdi("list")
    t.ok(run.returncode == 0 and run.stdout == "" and "gpuhostctl apply --only cdi" in run.stderr,
         "cdi list without specifications prints the command to publish",
         run.stdout, run.stderr)
    run = host.cdi("validate")
    t.ok(run.returncode == 0, "cdi validate succeeds without specifications", run.stdout, run.stderr)
    run = host.cdi("show", "nvidia.com/gpu=0")
    t.ok(run.returncode == NOT_FOUND and run.stdout == "" and "gpuhostctl cdi list" in run.stderr,
         "cdi show fails on an unknown device", run.stderr)


def check_refusals(t, host):
    for words, status, message in (
            (["generate"], NOT_FOUND, "the driver serves no GPU"),
            (["generate", "--mode", "management"], NOT_FOUND, "the driver's device nodes are missing"),
            *((["generate", "--mode", mode], NOT_FOUND, f"no device node found for {mode}") for mode in SERVICES),
            (["generate", "--driver-root", "/usr/share"], NOT_FOUND, "No such file"),
            (["generate", "--driver-root", "relative"], BAD_ARGUMENT, "--driver-root is not an absolute path"),
            (["generate", "--mode", "mig"], BAD_ARGUMENT, "mig")):
        output = host.path("/out/out.json")
        run = host.cdi(*words, "--output", output)
        t.ok(run.returncode == status and message in run.stderr and not os.path.exists(host.path("/out")),
             f"cdi {' '.join(words)} fails and writes nothing", run.returncode, run.stderr)


def check_files(t, host):
    write(host.path("/run/cdi/nvidia.yaml"), YAML)
    run = host.cdi("list", "--json=short")
    device, = json.loads(run.stdout)["devices"]
    t.equal((device["name"], device["file"], device["driver"], device["state"], device["ours"]),
            ("nvidia.com/gpu=0", "/run/cdi/nvidia.yaml", VERSION, "used", False),
            "cdi list reads YAML of another tool")
    run = host.cdi("show", "nvidia.com/gpu=0")
    t.ok(run.returncode == 0 and "Variable: GPU=0" in run.stdout and f"/usr/lib64/libcuda.so.{VERSION}" in run.stdout,
         "cdi show prints variables and mounts of a device", run.stdout, run.stderr)
    run = host.cdi("validate")
    t.ok(run.returncode == 0 and run.stdout == "/run/cdi/nvidia.yaml: good, 1 device of nvidia.com/gpu\n",
         "cdi validate accepts a valid file",
         run.stdout, run.stderr)


def check_wrong(t, host):
    write(host.path("/sys/module/nvidia/version"), "580.65.06\n")
    run = host.cdi("validate")
    t.ok(run.returncode == BAD_CONTENT and f"it is for driver {VERSION}, but 580.65.06 is loaded" in run.stdout,
         "cdi validate reports a file for another driver version", run.stdout, run.stderr)
    t.ok("stale" in host.cdi("list").stdout, "cdi list marks a file for another driver as stale")
    write(host.path("/run/cdi/second.yaml"), YAML.replace("env:", "unknown: x\n    env:"))
    run = host.cdi("validate")
    t.ok("devices[0].containerEdits.unknown: unknown key" in run.stdout,
         "cdi validate names a member unknown to CDI", run.stdout)
    write(host.path("/run/cdi/second.yaml"), YAML)
    lines = host.cdi("list").stdout.splitlines()
    t.ok(sum("conflict with /run/cdi/" in line for line in lines) == 2,
         "cdi list reports conflicting devices of two files", *lines)
    write(host.path("/etc/cdi/third.json"), "[" * 100000)
    run = host.cdi("validate", "--json=short")
    bad = [file["path"] for file in json.loads(run.stdout)["files"] if file["problems"]]
    t.ok(run.returncode == BAD_CONTENT and len(bad) == 3,
         "cdi validate reports every invalid file", run.stdout, run.stderr)
    named = host.path("/named.yaml")
    write(named, YAML.replace("0.5.0", "0.3.0"))
    run = host.cdi("validate", named, host.path("/absent.json"))
    t.ok(run.returncode == BAD_CONTENT and "it needs CDI 0.5.0" in run.stdout and "absent.json: " in run.stdout and
         "/run/cdi" not in run.stdout,
         "cdi validate FILE checks only the named files", run.stdout, run.stderr)


def check_made(t, host):
    """Generates a specification. Creating device nodes needs root."""
    os.makedirs(host.path("/dev"))
    try:
        for name, minor in ("nvidia0", 0), ("nvidiactl", 255), ("nvidia-uvm", 253):
            os.mknod(host.path(f"/dev/{name}"), stat.S_IFCHR | 0o666, os.makedev(195, minor))
    except PermissionError:
        t.skip("cdi generate writes a specification", "creating device nodes needs root")
        return
    write(host.path("/proc/driver/nvidia/gpus/0000:06:00.0/information"), "GPU UUID: GPU-a\nDevice Minor: 0\n")
    made = host.path("/out/cdi/made.json")
    os.rename(host.path("/dev/nvidia-uvm"), host.path("/dev/away"))
    run = host.cdi("generate", "-o", made)
    t.ok(run.returncode == NOT_FOUND and "/dev/nvidia-uvm is missing" in run.stderr and not os.path.exists(made),
         "cdi generate fails without /dev/nvidia-uvm", run.returncode, run.stderr)
    os.rename(host.path("/dev/away"), host.path("/dev/nvidia-uvm"))
    mask = os.umask(0o077)
    run = host.cdi("generate", "-o", made)
    os.umask(mask)
    t.equal([stat.S_IMODE(os.stat(path).st_mode) for path in (made, os.path.dirname(made))], [0o644, 0o755],
            "a generated file is world-readable with umask 077")
    t.ok(run.returncode == 0 and run.stdout == "" and "Wrote 3 devices of nvidia.com/gpu" in run.stderr,
         "cdi generate writes a specification",
         run.stdout, run.stderr)
    with open(made, encoding="utf-8") as file:
        text = file.read()
    run = host.cdi("generate", "-o", host.path("/run/cdi/gpuhost.json"))
    t.ok(run.returncode == 0 and "Warning: /run/cdi/nvidia.yaml has nvidia.com/gpu=0 too" in run.stderr,
         "cdi generate warns of a device in another file", run.stderr)
    t.equal(host.cdi("generate").stdout, text, "cdi generate prints the same to stdout")
    check_warnings(t, host)
    spec = json.loads(text)
    t.equal([device["name"] for device in spec["devices"]], ["0", "GPU-a", "all"],
            "a specification has devices by index, UUID and 'all'")
    mounts = [mount["hostPath"] for mount in spec["containerEdits"]["mounts"]]
    t.equal(mounts, [f"/usr/lib64/libcuda.so.{VERSION}"], "a specification has host paths without --root")
    check_hooks(t, host, spec["containerEdits"]["hooks"])


def check_services(t, host):
    """Specifications of other devices: only device nodes, no driver libraries."""
    for count, (mode, (_class, nodes)) in enumerate(SERVICES.items()):
        for minor, name in enumerate(nodes):
            path = host.path(f"/dev/{name}")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(500 + count, minor))
    os.mknod(host.path("/dev/nvidia-caps-imex-channels/channelX"), stat.S_IFCHR | 0o666, os.makedev(500, 9))
    write(host.path("/etc/cufile.json"), "{}")
    os.makedirs(host.path("/run/udev"))
    for mode, (name, nodes) in SERVICES.items():
        spec = json.loads(host.cdi("generate", "--mode", mode).stdout)
        every = spec["devices"][-1]
        t.equal((spec["kind"], every["name"], [node["path"] for node in every["containerEdits"]["deviceNodes"]]),
                (f"nvidia.com/{name}", "all", [f"/dev/{node}" for node in nodes]),
                f"--mode={mode} has the device nodes")
        t.equal(spec["containerEdits"], {"env": ["NVIDIA_VISIBLE_DEVICES=void"]},
                f"--mode={mode} has nothing of the driver")
        mounts = [mount["hostPath"] for mount in every["containerEdits"].get("mounts", [])]
        t.equal(mounts, ["/etc/cufile.json", "/run/udev"] if mode == "gds" else [],
                f"--mode={mode} mounts only the required files")
    spec = json.loads(host.cdi("generate", "--mode", "imex").stdout)
    t.equal([device["name"] for device in spec["devices"]], ["0", "7", "all"],
            "--mode=imex names channels by number")
    run = host.cdi("generate", "--mode", "mofed", "-o", host.path("/run/cdi/mofed.json"))
    shown = host.cdi("show", "nvidia.com/mofed=all").stdout
    t.ok(run.returncode == 0 and "/dev/infiniband/uverbs0" in shown,
         "cdi show prints nvidia.com/mofed=all", run.stderr, shown)
    paths = [node["path"] for node in json.loads(host.cdi("generate", "--mode", "management").stdout)["devices"][0]["containerEdits"]["deviceNodes"]]
    t.ok(not [path for path in paths if "nvidia-fs" in path or "nvswitch" in path],
         "--mode=management has no nodes of other kinds", paths)


def check_split(t, host):
    """With --root, NVML is not queried for the names of MIG instances."""
    write(host.path("/proc/driver/nvidia/capabilities/gpu0/mig/gi1/access"), "DeviceFileMinor: 12\n")
    write(host.path("/proc/driver/nvidia-caps/mig-minors"), "gpu0/gi1/access 12\n")
    run = host.cdi("generate")
    left_out = "the MIG instances of GPU 0000:06:00.0 are left out"
    t.ok(run.returncode != 0 and run.stdout == "" and left_out in run.stderr,
         "cdi generate fails when the only GPU is split", run.stderr)
    os.mknod(host.path("/dev/nvidia1"), stat.S_IFCHR | 0o666, os.makedev(195, 1))
    write(host.path("/proc/driver/nvidia/gpus/0000:07:00.0/information"), "GPU UUID: GPU-b\nDevice Minor: 1\n")
    run = host.cdi("generate")
    t.ok(run.returncode == 0 and f"Warning: {left_out}" in run.stderr,
         "cdi generate warns when one of two GPUs is split", run.stderr)
    t.equal([device["name"] for device in json.loads(run.stdout)["devices"]], ["1", "GPU-b", "all"],
            "a GPU that is not split keeps its index")


def check_warnings(t, host):
    write(host.path("/sys/module/nvidia/version"), "580.65.06\n")
    information = host.path("/proc/driver/nvidia/gpus/0000:06:00.0/information")
    write(information, "GPU UUID: GPU-????????\nDevice Minor: 0\n")
    run = host.cdi("generate")
    t.ok(run.returncode == 0 and f"for driver {VERSION}, but 580.65.06 is loaded" in run.stderr and "does not have the UUID yet of 1 GPU" in run.stderr,
         "cdi generate warns of another driver and missing UUIDs", run.stderr)
    write(information, "GPU UUID: GPU-a\nDevice Minor: 0\n")
    for node in ("nvidia0", "nvidia-uvm"):
        os.chown(host.path("/dev/" + node), 0, 44)
        os.chmod(host.path("/dev/" + node), 0o660)
    spec, older = json.loads(host.cdi("generate").stdout), json.loads(host.cdi("generate", "--without-groups").stdout)
    t.ok(spec["cdiVersion"] == "0.7.0" and "additionalGids" in json.dumps(spec) and older["cdiVersion"] == "0.5.0"
         and "additionalGids" not in json.dumps(older),
         "--without-groups leaves out groups and lowers the version", spec["cdiVersion"],
         older["cdiVersion"])


def check_pipe(t, host):
    """A named pipe in a directory of specifications."""
    os.mkfifo(host.path("/etc/cdi/pipe.json"))
    run = host.cdi("validate", "--json=short")
    problems = [file["problems"] for file in json.loads(run.stdout)["files"] if file["path"] == "/etc/cdi/pipe.json"]
    t.ok(run.returncode == BAD_CONTENT and "is a pipe" in problems[0][0],
         "cdi validate reports a pipe without reading it", run.stdout)
    os.unlink(host.path("/etc/cdi/pipe.json"))


def check_hooks(t, host, hooks):
    """Runs the hooks as runtimes do, in a root with the mounts."""
    container = Container(host.path("/container"))
    shutil.copytree(host.path("/usr/lib64"), container.path("/usr/lib64"))
    own_mounts = ["unshare", "--mount"]
    if programs.run([*own_mounts, "true"]).returncode:
        t.skip("the generated hooks succeed", "mount namespaces are not available")
        return
    for hook in hooks:
        name = hook["args"][1]
        run = programs.run([*own_mounts, HOOK, *hook["args"][1:]], input=json.dumps({"bundle": container.directory}))
        t.ok(run.returncode == 0, f"the generated hook {name} succeeds", run.stderr)
    t.equal(os.readlink(container.path("/usr/lib64/libcuda.so")), "libcuda.so.1",
            "the hooks create libcuda.so in the container")
    t.ok("/usr/lib64/" in " ".join(container.cache().values()),
         "the hooks add the driver's directory to the loader cache", container.cache())


def main():
    t = tap.Tap()
    root = scratch()
    try:
        host = Host(root)
        for check in (check_nothing, check_refusals, check_files, check_wrong, check_pipe, check_made, check_services, check_split):
            check(t, host)
    finally:
        shutil.rmtree(root)
    t.done()


if __name__ == "__main__":
    main()
