# SPDX-License-Identifier: Apache-2.0
"""MIG instances in a driver swap: destroyed with the old driver, re-created with the new one, or with the old one
if the swap is undone. And after a restart of the host: created again before containers get the GPUs."""
import glob
import json
import os
import shutil
import threading

from fake_host import NEW, OLD, read, run_checks, write
from gates import Gates
from mig_files import GPU, KEPT, NVML, SPLIT, STUB, MigHost, destroy, geometry, instance, nvml, prepare_split, split
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
    host.ctl("operation", "wait")  # for the daemon's own, after the failure
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
    host.ctl("operation", "wait")  # for the daemon's own, after the failure
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


def last_kinds(host):
    """Returns the kinds of the last operation's steps."""
    last = host.json("operation", "list")[0]["id"]
    return [step["kind"] for step in host.journal(last)[0]["plan"]["steps"]]


def problem(host):
    """Returns what status says about kept instances that are missing."""
    undecided = host.json("status")["components"]["mig"]["plan"].get("undecided")
    return undecided["text"] if undecided else ""


def check_boot(t, host):
    before = geometry(host)
    reboot(host)
    unchanged(t, host, before, OLD, "a reboot keeps MIG instances and their UUIDs")
    kinds = last_kinds(host)
    t.ok(kinds.index("driver.validate") < kinds.index("mig.recreate") < kinds.index("cdi.publish"),
         "they are created between validation and publication", kinds)
    t.equal((host.json("status")["state"], host.plan()["steps"]), ("idle", []), "nothing is left to do after the reboot")
    last = host.json("operation", "list")[0]["id"]
    host.kill_daemon()
    host.start_daemon()
    host.settle()
    t.equal(host.json("operation", "list")[0]["id"], last, "a restart of the daemon creates nothing")
    reboot(host)
    unchanged(t, host, before, OLD, "a second reboot keeps them as well")


def check_boot_fails(t, host):
    before = geometry(host)
    for line, says in (("fail gpu-instance@{} 23", "nvmlDeviceCreateGpuInstanceWithPlacement"), ("small@{}", "does not have its profile"),
                       ("error 18", "Driver/library version mismatch")):
        write(host.path(STUB), NVML + line.format(OLD) + "\n")
        reboot(host)
        status = host.json("status")
        t.ok(status["ready"] and status["state"] == "degraded" and host.loaded()["nvidia"] == OLD, f"the host gets ready with: {line}", status)
        t.ok(GPU + "1) are missing: " in problem(host) and says in problem(host), f"status says why: {line}", problem(host))
        text = host.ctl("status").stdout
        t.ok("gpuhostctl apply --only mig" in text, f"status says what to do: {line}", text)
        write(host.path(STUB), NVML)
        reboot(host)
        unchanged(t, host, before, OLD, f"the next reboot creates them: {line}")
        t.equal((problem(host), host.plan()["steps"]), ("", []), f"the problem ends: {line}")


def check_lost_gpu(t, host):
    """A GPU is removed, and later another one is in its place."""
    before = geometry(host)
    write(host.path(STUB), "devices 1\n")
    reboot(host)
    t.equal(list(geometry(host)), [GPU + "0"], "the instances of the other GPUs are created")
    t.ok(f"MIG instances of GPU 0000:11:00.0 ({GPU}1) are missing: the GPU is missing" in problem(host) and GPU + "0" not in problem(host),
         "status names the missing GPU", problem(host))
    host.ctl("apply")
    write(host.path(STUB), NVML)
    reboot(host)
    unchanged(t, host, before, OLD, "a GPU that returns gets its instances")


def check_destroyed(t, host):
    before = geometry(host)
    destroy(host)
    for _ in range(2):
        host.ctl("apply")
    t.ok("they were destroyed" in problem(host) and read(host.path(KEPT)), "destroyed instances stay kept", problem(host))
    reboot(host)
    unchanged(t, host, before, OLD, "the next reboot creates destroyed instances")
    destroy(host)
    host.ctl("apply", "--only", "mig", check=0)
    t.ok(not problem(host) and not read(host.path(KEPT)), "apply --only mig forgets them", problem(host))
    host.ctl("apply", check=0)
    reboot(host)
    t.equal((geometry(host), host.json("status")["state"]), ({}, "idle"), "a reboot does not create forgotten instances")
    split(host, {"gpus": SPLIT["gpus"][:1]})
    host.ctl("apply", check=0)
    reboot(host)
    t.equal(list(geometry(host)), [GPU + "1"], "instances that an apply has seen are kept")
    split(host)
    host.ctl("apply", check=0)
    t.equal(sorted(geometry(host)), sorted(before), "another GPU is split")


def check_ampere(t, host):
    """The MIG mode of an A100 lasts over reboots, so one that is off was switched off."""
    before = geometry(host)
    try:
        inforom = host.path("/stub-inforom")
        write(host.path(STUB), NVML + "ampere 1\n")
        write(inforom, "split 1\n")
        reboot(host)
        unchanged(t, host, before, OLD, "a reboot keeps the instances of an A100")
        write(inforom, "")
        reboot(host)
        t.equal((list(geometry(host)), read(inforom)), ([GPU + "0"], ""), "a boot does not switch on the MIG mode of an A100")
        t.ok(f"({GPU}1) are missing: the MIG mode was switched off" in problem(host), "status says that the mode is off", problem(host))
        write(host.path(STUB), NVML + "ampere 1\nfail activate 16\n")
        said = next(gpu["problems"] for gpu in split(host)["gpus"] if gpu["uuid"] == GPU + "1")
        t.ok("a reset of the GPU must turn it on" in str(said) and read(inforom) == "", "a failed activation leaves no pending mode", said, read(inforom))
    finally:
        write(host.path(STUB), NVML)
        os.unlink(inforom)
    split(host)
    host.ctl("apply", check=0)
    unchanged(t, host, before, OLD, "an administrator creates the instances of the A100")
    t.equal(problem(host), "", "the problem of the A100 ends")


def check_partly(t, host):
    """Some instances of a GPU are created. What it got does not replace what is kept."""
    before = geometry(host)
    kept = json.loads(read(host.path(KEPT)))["gpus"]
    write(host.path(STUB), NVML + "fail compute-instance 23\n")
    reboot(host)
    write(host.path(STUB), NVML)
    t.ok("nvmlGpuInstanceCreateComputeInstance" in problem(host), "a boot creates a part of the instances", problem(host))
    split(host, {"gpus": SPLIT["gpus"][1:]})
    host.ctl("apply")
    kept_now = json.loads(read(host.path(KEPT)))["gpus"]
    t.equal(({gpu["uuid"]: gpu for gpu in kept_now}, GPU + "1" in problem(host)), ({gpu["uuid"]: gpu for gpu in kept}, True),
            "a change of another GPU does not replace them")
    run = host.ctl("driver", "swap", NEW)
    t.ok(run.returncode == 0 and GPU + "1" in problem(host), "a swap does not replace them", run.stderr, problem(host))
    host.ctl("driver", "swap", OLD, check=0)
    reboot(host)
    unchanged(t, host, before, OLD, "the next boot creates all of them")
    t.equal(problem(host), "", "a complete GPU has no problem")
    write(host.path(STUB), NVML + f"fail compute-instance@{NEW} 23\nfail compute-instance@{OLD} 23\n")
    run = host.ctl("driver", "swap", NEW)
    write(host.path(STUB), NVML)
    host.ctl("operation", "wait")
    host.ctl("apply")
    t.ok(run.returncode != 0 and GPU + "1" in problem(host), "the undo of a swap does not replace them", run.stderr, problem(host))
    reboot(host)
    unchanged(t, host, before, OLD, "the boot after a failed undo creates all of them")


def check_unreadable(t, host):
    before = geometry(host)
    write(host.path(KEPT), "{")
    reboot(host)
    t.ok(host.json("status")["ready"] and "can't be read" in problem(host), "a damaged file is a problem, not a failure", problem(host))
    split(host)
    host.ctl("apply", "--only", "mig", check=0)
    host.ctl("apply", check=0)
    reboot(host)
    unchanged(t, host, before, OLD, "apply --only mig replaces a damaged file")


def configure(host, value):
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/mig.conf"), f"[Devices]\nKeepMig={value}\n")
    host.ctl("reload", check=0)


def check_off(t, host):
    configure(host, "no")
    host.ctl("apply", check=0)
    t.ok(not read(host.path(KEPT)), "KeepMig=no forgets what was kept")
    reboot(host)
    t.equal((geometry(host), "mig.recreate" in last_kinds(host)), ({}, False), "KeepMig=no creates nothing after a reboot")


def check_whole(t, host):
    """A GPU without instances stays whole, and without any instance the plan has no steps for MIG."""
    split(host, {"gpus": SPLIT["gpus"][:1]})
    write(host.path(STUB), NVML + "lost 0\n")
    run = host.ctl("driver", "swap", NEW, "--dry-run", check=0)
    write(host.path(STUB), NVML)
    t.ok("the MIG mode of a GPU is unknown" in run.stdout + run.stderr, "a swap may proceed with a lost GPU that is whole",
         run.stdout, run.stderr)
    host.ctl("driver", "swap", NEW, check=0)
    t.ok(not read(host.path(KEPT)), "KeepMig=no keeps nothing of a swap")
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


if __name__ == "__main__":
    run_checks(check_split, check_dry_run, check_swap, check_undone, check_failures, check_wedged,
               check_late_modules, check_lost, check_refusals, check_mismatch, check_other_instances, check_boot, check_boot_fails, check_ampere, check_partly, check_lost_gpu, check_destroyed, check_unreadable, check_off,
               check_whole, make=prepare_split, kind=MigHost)
