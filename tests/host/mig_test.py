# SPDX-License-Identifier: Apache-2.0
"""MIG instances in a driver swap: destroyed with the old driver, re-created with the new one, or with the old one
if the swap is undone."""
import glob
import os
import shutil
import threading

from fake_host import NEW, OLD, read, run_checks, write
from gates import Gates
from mig_files import GPU, NVML, SPLIT, STUB, MigHost, geometry, instance, nvml, prepare_split, split
from programs import PATIENCE

STATE = "/proc/driver/nvidia/stub-mig"


def uuids(gpus):
    return [inner["uuid"] for gpu in gpus.values() for outer in gpu["instances"] for inner in outer["compute_instances"]]


def published(host):
    return [uuid for uuid in uuids(geometry(host)) if uuid not in read(host.path("/run/cdi/nvidia.yaml"))] == []


def unchanged(t, host, before, version, what, *details):
    """Checks that the GPUs are split as before, and that containers get their instances."""
    now = geometry(host)
    t.ok((now, host.loaded().get("nvidia"), host.told()) == (before, version, version) and published(host), what,
         f"before: {before}", f"now: {now}", host.loaded(), host.told(), *details, host.tail())


def reboot(host):
    host.kill_daemon()
    host.boot()
    host.start_daemon()
    host.settle()


def check_split(t, host):
    t.equal([len(uuids({0: gpu})) for gpu in geometry(host).values()], [1, 4], "the stub has the instances")
    t.equal(split(host)["gpus"][0]["kept"], 4, "instances that exist stay")
    host.ctl("apply", check=0)
    t.ok(published(host), "containers get the MIG instances", read(host.path("/run/cdi/nvidia.yaml")), host.tail())


def check_dry_run(t, host):
    before = geometry(host)
    run = host.ctl("driver", "swap", NEW, "--dry-run")
    t.ok(run.returncode == 0 and "GPU 0000:11:00.0 is split: the swap destroys and re-creates its 4 MIG devices" in run.stdout + run.stderr,
         "a dry run says which instances are destroyed", run.stdout, run.stderr)
    kinds = [step["kind"] for step in host.json("driver", "swap", NEW, "--dry-run")["steps"]]
    order = [kinds.index(kind) for kind in ("units.stop", "mig.save", "modules.converge", "driver.validate", "mig.restore", "autoload.unblock", "cdi.publish")]
    t.equal(order, sorted(order), "instances are saved and re-created between withdrawal and publication")
    unchanged(t, host, before, OLD, "a dry run changes nothing")


def check_swap(t, host):
    before = geometry(host)
    nodes = sorted(os.listdir(host.path("/dev/nvidia-caps")))
    for node in nodes:
        os.unlink(host.path("/dev/nvidia-caps/" + node))
    run = host.ctl("driver", "swap", NEW)
    unchanged(t, host, before, NEW, "a swap keeps MIG instances and their UUIDs", run.stdout, run.stderr)
    t.ok("nvidia-cap81" in nodes and sorted(os.listdir(host.path("/dev/nvidia-caps"))) == nodes, "a swap creates the nodes of the instances", nodes)


def check_undone(t, host):
    before = geometry(host)
    write(host.path("/fake-kernel/control"), f"load nvidia_uvm@{OLD} errno 22\n")
    run = host.ctl("driver", "swap", OLD)
    os.unlink(host.path("/fake-kernel/control"))
    t.ok(run.returncode != 0, "the swap fails", run.stderr)
    unchanged(t, host, before, NEW, "an undone swap keeps MIG instances", run.stderr)
    os.makedirs(host.path("/proc/4242/fd"))
    os.symlink("../../../dev/nvidiactl", host.path("/proc/4242/fd/3"))
    write(host.path("/proc/4242/comm"), "trainer\n")
    run = host.ctl("driver", "swap", OLD)
    shutil.rmtree(host.path("/proc/4242"))
    t.ok(run.returncode == 7, "a swap with a holder is refused", run.returncode, run.stderr)
    unchanged(t, host, before, NEW, "a refused swap keeps MIG instances", run.stderr)


def check_failures(t, host):
    before = geometry(host)
    for line, says in (("fail gpu-instance@{} 23", "nvmlDeviceCreateGpuInstanceWithPlacement"),
                       ("fail compute-instance@{} 23", "nvmlGpuInstanceCreateComputeInstance"),
                       ("fail mode@{} 4", "nvmlDeviceSetMigMode"),
                       ("fail activate@{} 16", "a reset of the GPU must turn it on"),
                       ("busy@{} 9", "the activation of the MIG mode"),
                       ("salt@{} 1", "had the UUID MIG-"),
                       ("small@{}", "the driver does not have its profile")):
        write(host.path(STUB), NVML + line.format(OLD) + "\n")
        run = host.ctl("driver", "swap", OLD)
        t.ok(run.returncode != 0 and says in run.stderr, f"a swap fails that can't re-create: {line}", run.stderr)
        unchanged(t, host, before, NEW, f"its undo re-creates the instances: {line}", run.stderr)
    write(host.path(STUB), NVML + f"slow@{OLD} 100\nbusy@{OLD} 2\n")
    host.ctl("driver", "swap", OLD, check=0)
    unchanged(t, host, before, OLD, "a driver may be in use for a moment, and create instances slowly")
    write(host.path(STUB), NVML)


def check_wedged(t, host):
    """The undo creates the instances of each GPU that works."""
    before = geometry(host)

    def decide(where, _count):
        if where != "apply mig.restore before":
            return "go"
        write(host.path(STUB), NVML + "lost 1\n")
        return "error failed"

    gates = Gates(host, decide)
    run = host.ctl("driver", "swap", NEW)
    gates.close()
    write(host.path(STUB), NVML)
    t.ok("GPU 0000:11:00.0: " in run.stderr and "GPU 0000:10:00.0" not in run.stderr, "a GPU that is lost in an undo is reported", run.stderr)
    t.equal(geometry(host), {GPU + "0": before[GPU + "0"]}, "an undo creates the instances of the other GPUs")
    host.settle()
    split(host)
    host.ctl("apply", check=0)
    unchanged(t, host, before, OLD, "the lost instances can be created again")


def check_late_modules(t, host):
    """The power fails after the instances were saved. At the next boot udev loads the modules after the undo began."""
    before = geometry(host)
    saved = threading.Event()

    def decide(where, _count):
        if where != "apply holders.clear before":
            return "go"
        host.kill_daemon()
        saved.set()
        return None

    gates = Gates(host, decide)
    host.ctl("driver", "swap", NEW, "--no-wait", check=0)
    saved.wait(PATIENCE)
    gates.close()
    host.start_kernel()
    udev = threading.Timer(3, host.start_udev)
    udev.start()
    host.start_daemon()
    host.settle()
    udev.join()
    swap = next(each for each in host.json("operation", "list") if each["kind"] == "driver.swap")
    t.equal(swap["state"], "rolled-back", "the undo waits for the driver")
    unchanged(t, host, before, OLD, "the undo at boot creates saved instances")


def check_lost(t, host):
    """The instances can be created with neither driver."""
    before = geometry(host)
    write(host.path(STUB), NVML + f"fail compute-instance@{NEW} 23\nfail gpu-instance@{OLD} 23\n")
    run = host.ctl("driver", "swap", NEW)
    t.ok(run.returncode != 0 and "undo failed too: the MIG instances are not as before" in run.stderr and host.loaded()["nvidia"] == OLD,
         "a failed re-creation in the undo is reported", run.returncode, run.stderr)
    t.ok(f"nvidia-smi -i {GPU}0 -mig 1" in run.stderr or f"nvidia-smi mig -i {GPU}0 -cgi 0:0 -C" in run.stderr,
         "commands create the lost instances", run.stderr)
    swap = next(each["id"] for each in host.json("operation", "list") if each["kind"] == "driver.swap")
    outputs = host.json("operation", "show", str(swap))["outputs"]
    saved = next(output["mig"]["gpus"] for output in outputs if output and "mig" in output)
    t.equal({gpu["uuid"]: gpu for gpu in saved}, before, "the operation has the lost instances")
    write(host.path(STUB), NVML)
    host.settle()
    split(host)
    host.ctl("apply", check=0)
    unchanged(t, host, before, OLD, "an administrator can create lost instances again")


def check_refusals(t, host):
    before = geometry(host)
    write(host.path(STUB), NVML + "error 999\n")
    run = host.ctl("driver", "swap", NEW)
    t.ok(run.returncode == 8 and "NVML can't describe them: NVML: nvmlInit_v2: Unknown Error" in run.stderr and "nvidia-smi mig" not in run.stderr,
         "a swap is refused if NVML fails", run.returncode, run.stderr)
    for line, says in (("broken 1 999", "the MIG mode of GPU 0000:11:00.0 is unknown: nvmlDeviceGetMigMode"),
                       ("lost 1", "the MIG mode of a GPU is unknown: nvmlDeviceGetUUID"),
                       ("gone 1", "the MIG mode of a GPU is unknown: nvmlDeviceGetHandleByIndex_v2"),
                       ("devices 1", "NVML does not describe all GPUs with MIG instances")):
        write(host.path(STUB), NVML + line + "\n")
        run = host.ctl("driver", "swap", NEW)
        t.ok(run.returncode == 8 and says in run.stderr, f"a swap is refused if a GPU with instances is unknown: {line}",
             run.returncode, run.stderr)
    write(host.path(STUB), NVML)
    state = read(host.path(STATE))
    write(host.path(STATE), "".join(line for line in state.splitlines(True) if line != "inner 1 2 0 0 0 1\n"))
    run = host.ctl("driver", "swap", NEW)
    t.ok(run.returncode == 8 and "compute instance 1 of GPU instance 2 would get another id" in run.stderr,
         "a swap is refused if ids have a gap", run.returncode, run.stderr)
    write(host.path(STATE), state)
    unchanged(t, host, before, OLD, "refused swaps keep MIG instances")


def check_mismatch(t, host):
    """The files of another driver than the loaded one are selected."""
    before = geometry(host)
    current, store = host.path("/var/lib/gpuhost/driver/current"), host.path("/var/lib/gpuhost/driver")
    os.unlink(current)
    os.symlink(f"{NEW}/userland/{os.listdir(f'{store}/{NEW}/userland')[0]}", current)
    library = glob.glob(f"{store}/{OLD}/userland/*/lib/libnvidia-ml.so.{OLD}")[0]
    os.rename(library, host.path("/library"))
    run = host.ctl("driver", "swap", NEW, "--dry-run")
    os.rename(host.path("/library"), library)
    t.ok(run.returncode == 8 and f"the NVML library of the loaded driver {OLD} is missing" in run.stdout and "gpuhostctl driver import" in run.stdout,
         "a swap is refused without the loaded driver's NVML", run.returncode, run.stdout)
    run = host.ctl("driver", "swap", NEW)
    unchanged(t, host, before, NEW, "a swap that repairs a version mismatch keeps instances", run.stderr)
    host.ctl("driver", "swap", OLD, check=0)


def check_other_instances(t, host):
    """A GPU with other instances is left alone."""
    before = geometry(host)
    other = {"gpus": [{**SPLIT["gpus"][0], "instances": [instance(8, 0, 1, 1, (0, 0, 1))]}]}
    answer = split(host, other)["gpus"][0]
    t.ok(answer["created"] == 0 and "GPU instance 2 exists, and did not before" in answer["problems"] and geometry(host) == before,
         "a GPU with other instances is left alone", answer)
    t.ok("NVML" not in nvml(host, "mig") and "error" in nvml(host, "mig-restore", host.path("/absent")),
         "a missing file is an error")
    write(host.path("/wanted"), '{"gpus": [{"uuid": "GPU-1", "address": "", "instances": 7}]}')
    t.ok("'instances' is not a valid list" in nvml(host, "mig-restore", host.path("/wanted"))["error"], "a wrong geometry is an error")


def check_whole(t, host):
    """A GPU without instances stays whole, and without any instance the plan has no steps for MIG."""
    reboot(host)
    split(host, {"gpus": SPLIT["gpus"][:1]})
    write(host.path(STUB), NVML + "lost 0\n")
    run = host.ctl("driver", "swap", NEW, "--dry-run", check=0)
    write(host.path(STUB), NVML)
    t.ok("the MIG mode of a GPU is unknown" in run.stdout + run.stderr, "a swap may proceed with a lost GPU that is whole",
         run.stdout, run.stderr)
    host.ctl("driver", "swap", NEW, check=0)
    t.equal(list(geometry(host)), [GPU + "1"], "a swap splits no GPU that was whole")
    reboot(host)

    def decide(where, _count):
        if where == "apply holders.clear before":
            split(host)
        return "go"

    gates = Gates(host, decide)
    run = host.ctl("driver", "swap", OLD)
    gates.close()
    t.ok("MIG instances were created after the swap was planned" in run.stderr and len(geometry(host)) == 2,
         "a swap destroys no instances that its plan does not have", run.stderr)
    reboot(host)
    kinds = {step["kind"] for step in host.json("driver", "swap", OLD, "--dry-run")["steps"]}
    t.ok("modules.converge" in kinds and not any(kind.startswith("mig.") for kind in kinds), "without MIG instances a plan has no steps for them", kinds)


run_checks(check_split, check_dry_run, check_swap, check_undone, check_failures, check_wedged, check_late_modules, check_lost, check_refusals, check_mismatch, check_other_instances,
           check_whole, make=prepare_split, kind=MigHost)
