# SPDX-License-Identifier: Apache-2.0
"""Published CDI specifications after swaps, boots, writes of other programs and changed settings."""
import glob
import json
import os
import shutil

import tap
from driver_files import KERNEL
from fake_host import NEW, OLD, read, run_checks, write
from gates import Gates

SPEC, MANAGEMENT = "/run/cdi/nvidia.yaml", "/run/cdi/management.nvidia.com-gpu.yaml"
FOREIGN = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: theirs\n  containerEdits: {env: [A=B]}\n"


def devices(host):
    return [device["name"] for device in json.loads(read(host.path(SPEC)))["devices"]]


def status(host):
    return host.ctl("status").stdout


def check_swap(t, host):
    t.equal((host.told(), host.told(MANAGEMENT)), (OLD, OLD), "the specifications have the loaded driver")
    t.equal(devices(host)[-1], "all", "the specification's last device is 'all'")
    t.ok("nvidia.com/gpu=0" in status(host) and f"of driver {OLD}" in status(host),
         "status prints devices and driver of the specification", status(host))
    seen = {}

    def decide(where, _count):
        seen[where] = (host.loaded().get("nvidia"), host.told())
        return "go"

    gates = Gates(host, decide)
    run = host.ctl("driver", "swap", NEW)
    gates.close()
    t.ok(run.returncode == 0 and host.told() == NEW and host.told(MANAGEMENT) == NEW,
         "a swap publishes the new driver", run.stderr)
    wrong = {where: both for where, both in seen.items() if None not in both and both[0] != both[1]}
    t.ok(not wrong and any(both[1] is None for both in seen.values()),
         "no step of a swap publishes another driver than loaded", wrong, sorted(seen))
    nodes = json.loads(read(host.path(SPEC)))["devices"][0]["containerEdits"]["deviceNodes"]
    t.ok(nodes[0]["path"] == "/dev/nvidia0" and nodes[0]["major"] == 195,
         "device nodes have their major numbers", nodes)


def check_rollback(t, host):
    write(host.path("/fake-kernel/control"), f"load nvidia_uvm@{OLD} errno 22\n")
    run = host.ctl("driver", "swap", OLD)
    t.ok(run.returncode != 0 and host.told() == NEW and host.loaded()["nvidia"] == NEW,
         "an undone swap publishes the old driver",
         run.stderr)
    os.unlink(host.path("/fake-kernel/control"))
    t.equal(host.plan()["steps"], [], "the plan is empty after an undone swap")


def check_foreign(t, host):
    write(host.path(SPEC), FOREIGN)
    text = status(host)
    t.ok(f"{SPEC} was changed by another program" in text and "write the CDI specifications for driver" in text,
         "status reports a specification that another program changed", text)
    plan = host.plan("--only", "cdi")
    t.equal([step["kind"] for step in plan["steps"]], ["driver.devices", "cdi.publish"],
            "plan publishes a changed specification again")
    t.equal(host.plan("--only", "images")["steps"], [],
            "--only=images ignores a changed specification")
    run = host.ctl("apply", "--only", "cdi")
    t.ok(run.returncode == 0 and host.told() == NEW,
         "apply --only=cdi restores a changed specification", run.stderr)
    run = host.ctl("apply", "--only", "nothing")
    t.ok(run.returncode == 2 and "driver" in run.stderr,
         "--only with an unknown component is refused", run.stderr)
    write(host.path("/run/cdi/other.yaml"), FOREIGN)
    os.unlink(host.path(SPEC))
    run = host.ctl("apply", "--only", "cdi")
    t.ok(run.returncode == 0 and host.told() == NEW and "other.yaml also has devices of nvidia.com/gpu" in run.stderr + run.stdout,
         "apply warns of a file with the same device names", run.stdout, run.stderr)
    os.unlink(host.path("/run/cdi/other.yaml"))


def configure(host, text):
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/cdi.conf"), text)
    assert host.ctl("reload").returncode == 0


def check_settings(t, host):
    configure(host, "[CDI]\nRepair=no\n")
    write(host.path(SPEC), FOREIGN)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and read(host.path(SPEC)) == FOREIGN and "changed by another" in status(host),
         "Repair=no keeps and reports a changed specification",
         run.stderr)
    configure(host, "[CDI]\nDirectory=/etc/cdi\nGroups=no\n")
    write(host.path("/etc/cdi/nvidia.yaml"), FOREIGN)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and "belongs to another program" in status(host) and read(host.path("/etc/cdi/nvidia.yaml")) == FOREIGN,
         "apply keeps and reports another program's file in /etc/cdi", run.returncode, run.stderr)
    t.equal(host.plan()["steps"], [], "the plan is empty while another program's file exists")
    os.unlink(host.path("/etc/cdi/nvidia.yaml"))
    os.unlink(host.path(SPEC))
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and host.told("/etc/cdi/nvidia.yaml") == NEW and not os.path.exists(host.path(MANAGEMENT)),
         "Directory=/etc/cdi moves the specifications from /run/cdi", run.stderr)
    configure(host, "[CDI]\nManage=no\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and os.listdir(host.path("/etc/cdi")) == [],
         "Manage=no removes the specifications", run.stderr)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and "othing" in run.stdout + run.stderr,
         "apply after Manage=no does nothing", run.stdout, run.stderr)
    check_lost_record(t, host)
    run = host.ctl("driver", "swap", OLD)
    t.ok(run.returncode == 0 and not os.path.exists(host.path(SPEC)),
         "a swap with Manage=no publishes nothing", run.stderr)
    configure(host, "")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and host.told() == OLD, "apply publishes again without Manage=no", run.stderr)
    configure(host, "[CDI]\nManage=no\n")
    run = host.ctl("driver", "swap", NEW)
    t.ok(run.returncode == 0 and host.told() is None,
         "a swap after Manage=no removes the specifications", run.stderr)
    configure(host, "")
    host.ctl("apply", check=0)
    host.ctl("driver", "swap", OLD, check=0)


def check_lost_record(t, host):
    configure(host, "")
    host.ctl("apply", check=0)
    configure(host, "[CDI]\nManage=no\n")
    os.unlink(host.path("/var/lib/gpuhost/cdi.json"))
    write(host.path("/etc/cdi/nvidia.yaml"), FOREIGN)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and not os.path.exists(host.path(SPEC)) and read(host.path("/etc/cdi/nvidia.yaml")) == FOREIGN,
         "without a record Manage=no removes only gpuhost's files", run.stderr)
    t.equal(host.plan()["steps"], [], "the plan is empty after Manage=no without a record")
    os.unlink(host.path("/etc/cdi/nvidia.yaml"))
    configure(host, "[CDI]\nDirectory=/etc/cdi\n")
    os.makedirs(host.path("/etc/cdi/nvidia.yaml"))
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and host.told("/etc/cdi/nvidia.yaml"),
         "a specification replaces an empty directory in /etc/cdi", run.stderr)
    configure(host, "[CDI]\nManage=no\n")
    host.ctl("apply", check=0)


MOFED, GDS, IMEX = (f"/run/cdi/nvidia.com-{name}.yaml" for name in ("mofed", "gds", "imex-channel"))


def service(host, path):
    """Returns the document of a specification without hooks, after its comment that names gpuhostd."""
    mark, _, text = read(host.path(path)).partition("\n")
    assert mark.startswith("# Written by gpuhostd"), mark
    return json.loads(text)


def install_podman(host, version):
    write(host.path("/usr/bin/podman"), f"#!/bin/sh\necho podman version {version}\n")
    os.chmod(host.path("/usr/bin/podman"), 0o755)


def check_groups(t, host):
    """Group IDs of device nodes, which older runtimes cannot read."""
    node = host.path("/dev/infiniband/uverbs0")
    write(node, "c 500:0 660 44\n")
    host.ctl("apply", check=0)
    t.equal(service(host, MOFED)["cdiVersion"], "0.7.0", "without a runtime the specification has groups")
    install_podman(host, "4.3.1")
    t.ok("'/usr/bin/podman' has changed" in " ".join(host.plan("--only", "cdi")["reasons"]),
         "plan reports a newly installed runtime")
    host.ctl("apply", check=0)
    t.equal(service(host, MOFED)["cdiVersion"], "0.3.0", "an old runtime gets a specification without groups")
    t.equal(host.plan()["steps"], [], "the plan is empty after leaving out groups")
    configure(host, "[CDI]\nGroups=yes\n")
    host.ctl("apply", check=0)
    runtimes = host.json("status")["components"]["runtime"]["observed"]["runtimes"]
    t.ok(service(host, MOFED)["cdiVersion"] == "0.7.0" and runtimes[0]["state"] == "by-hand" and "Groups=auto" in runtimes[0]["text"],
         "Groups=yes reports the runtime that cannot read it", runtimes)
    configure(host, "")
    install_podman(host, "5.2.0")
    host.ctl("apply", check=0)
    t.equal(service(host, MOFED)["cdiVersion"], "0.7.0", "a new runtime gets a specification with groups")
    for path in (node, host.path("/usr/bin/podman")):
        os.unlink(path)
    host.ctl("apply", check=0)


def check_services(t, host):
    """Devices other than GPUs are published when they appear, and removed with the driver."""
    t.ok(not [path for path in (MOFED, GDS, IMEX) if os.path.exists(host.path(path))],
         "without device nodes no service is published")
    for number, name in enumerate(("infiniband/uverbs0", "nvidia-fs0", "nvidia-caps-imex-channels/channel3")):
        write(host.path(f"/dev/{name}"), f"c {500 + number}:0 666\n")
    t.ok("device nodes have changed" in status(host),
         "status reports new device nodes of services", status(host))
    run = host.ctl("apply", "--only", "cdi")
    nodes = service(host, MOFED)["devices"][0]["containerEdits"]["deviceNodes"]
    t.ok(run.returncode == 0 and [(node["path"], node["major"]) for node in nodes] == [("/dev/infiniband/uverbs0", 500)],
         "apply --only=cdi publishes new device nodes", run.stderr, nodes)
    t.equal([device["name"] for device in service(host, IMEX)["devices"]], ["3", "all"],
            "IMEX channels are published by number")
    devices = host.ctl("cdi", "list", "--root", host.root).stdout
    t.ok("nvidia.com/gds=all" in devices and "nvidia.com/imex-channel=3" in devices,
         "cdi list prints the services", devices)
    t.equal(host.plan()["steps"], [], "the plan is empty after publishing services")
    write(host.path("/etc/cufile.json"), "{}")
    t.ok("configuration of GPUDirect Storage has changed" in status(host),
         "status reports a new cufile.json", status(host))
    write(host.path("/run/cdi/nvidia.com-gdrcopy.yaml"), read(host.path(GDS)))
    write(host.path(MOFED), "another's")
    os.unlink(host.path(GDS))
    host.ctl("apply", check=0)
    t.ok("/etc/cufile.json" in read(host.path(GDS)) and service(host, MOFED)["kind"] == "nvidia.com/mofed",
         "apply rewrites changed specifications of services")
    t.ok(not os.path.exists(host.path("/run/cdi/nvidia.com-gdrcopy.yaml")),
         "apply removes a specification without a device")
    seen = set()

    def decide(_where, _count):
        seen.add((os.path.exists(host.path(SPEC)), os.path.exists(host.path(MOFED))))
        return "go"

    gates = Gates(host, decide)
    host.ctl("driver", "swap", NEW, check=0)
    gates.close()
    t.equal(seen, {(True, True), (False, False)}, "a swap removes service specifications during the unload")
    for name in ("infiniband/uverbs0", "nvidia-fs0"):
        os.unlink(host.path(f"/dev/{name}"))
    host.ctl("apply", check=0)
    t.ok(not os.path.exists(host.path(MOFED)) and not os.path.exists(host.path(GDS)) and os.path.exists(host.path(IMEX)),
         "apply removes a service whose device nodes are gone")
    host.ctl("driver", "swap", OLD, check=0)


def check_in_the_way(t, host):
    """A specification that cannot be written does not undo a swap."""
    os.unlink(host.path(SPEC))
    os.makedirs(host.path(SPEC) + "/full")
    run = host.ctl("driver", "swap", NEW)
    t.ok(run.returncode == 0 and host.loaded()["nvidia"] == NEW and host.told(MANAGEMENT) == NEW and "do not get all of the driver" in status(host),
         "a swap succeeds and reports an unwritable specification", run.stderr, status(host))
    os.rmdir(host.path(SPEC) + "/full")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and host.told() == NEW and "do not get all" not in status(host),
         "apply publishes after the directory is emptied", run.stderr)
    host.ctl("driver", "swap", OLD, check=0)


def unload(host):
    """Removes the driver's modules, as if none was loaded since the boot."""
    for name in sorted(os.listdir(host.path("/sys/module"))):
        shutil.rmtree(host.path(f"/sys/module/{name}"))
    shutil.rmtree(host.path("/proc/driver"), ignore_errors=True)


def check_etc(t, host):
    """Specifications in /etc/cdi persist across a boot."""
    configure(host, "[CDI]\nDirectory=/etc/cdi\n")
    host.ctl("apply", check=0)
    host.kill_daemon()
    host.boot()
    modules = host.path(f"/lib/modules/{KERNEL}/updates/gpuhost")
    shutil.rmtree(host.path("/sys/bus/pci/devices"))
    t.ok(host.told("/etc/cdi/nvidia.yaml") == OLD and os.path.islink(modules),
         "specifications in /etc/cdi persist across a boot")
    unload(host)
    host.start_daemon()
    host.settle()
    t.equal(host.told("/etc/cdi/nvidia.yaml"), None, "a boot without a GPU removes them from /etc/cdi")
    host.kill_daemon()
    host.boot()
    host.start_daemon()
    host.settle()
    t.equal(host.told("/etc/cdi/nvidia.yaml"), OLD, "the next boot with a GPU publishes in /etc/cdi")
    configure(host, "")
    host.ctl("apply", check=0)


def check_late(t, host):
    """udev loads no module, as after an unload that hung. One operation then loads the driver, planned
    without one."""
    host.kill_daemon()
    host.boot()
    unload(host)
    host.start_daemon()
    host.settle()
    run = host.ctl("apply")
    t.equal((run.returncode, host.loaded().get("nvidia"), host.told()), (0, OLD, OLD),
            "an apply that loads the driver also publishes it")
    t.equal(host.plan()["steps"], [], "the plan is empty after loading the driver")


def check_boot(t, host):
    host.kill_daemon()
    host.boot()
    t.equal(host.told(), None, "a boot clears the specifications in /run/cdi")
    host.start_daemon()
    host.settle()
    t.equal((host.told(), host.json("status")["ready"]), (OLD, True),
            "the specification is published before the host is ready")
    write(host.path("/run/nvidia-persistenced/socket"), "")
    t.ok("sockets of the driver's daemons have changed" in status(host),
         "status reports a new socket of nvidia-persistenced", status(host))
    host.ctl("apply", check=0)
    t.ok("/run/nvidia-persistenced/socket" in read(host.path(SPEC)),
         "apply publishes the socket of nvidia-persistenced")
    shutil.rmtree(host.path("/proc/driver/nvidia/gpus"))
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and host.told() is None and "the driver serves no GPU" in status(host),
         "apply removes the specification when no GPU is served", run.stderr,
         status(host))
    t.equal(host.plan()["steps"], [], "the plan is empty when no GPU is served")


CAPABILITIES, MINORS = "/proc/driver/nvidia/capabilities", "/proc/driver/nvidia-caps/mig-minors"
UUIDS = [f"MIG-00000000-0000-0000-0000-0000000000a{n}" for n in (0, 3)]


def install_nvml(host):
    """Installs gpuhost-nvml in the worker's directory, and an NVML stub with answers from a file."""
    place = os.path.dirname(json.loads(read(host.path(SPEC)))["containerEdits"]["hooks"][0]["path"])
    os.makedirs(host.path(place))
    os.symlink(os.path.join(tap.TOP_BUILDDIR, "gpuhost-nvml"), host.path(place + "/gpuhost-nvml"))
    library, = glob.glob(host.path(f"/var/lib/gpuhost/driver/{OLD}/userland/*/lib/libnvidia-ml.so.{OLD}"))
    os.unlink(library)
    shutil.copy(os.path.join(tap.TOP_BUILDDIR, "tests/unit/stub-nvml.so"), library)


def add_instances(host, instances):
    """Writes /proc files for {(GPU's minor, GPU instance, compute instance): minors of the two nodes}."""
    lines = ["config 1", "monitor 2"]
    for (gpu, outer, inner), minors in instances.items():
        for below, minor in zip((f"gi{outer}", f"gi{outer}/ci{inner}"), minors):
            write(host.path(f"{CAPABILITIES}/gpu{gpu}/mig/{below}/access"), f"DeviceFileMinor: {minor}\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
            lines.append(f"gpu{gpu}/{below}/access {minor}")
    write(host.path(MINORS), "\n".join(lines) + "\n")


def check_mig(t, host):
    host.boot()
    host.ctl("apply", check=0)
    install_nvml(host)
    whole = devices(host)
    add_instances(host, {(0, 1, 0): (12, 13), (0, 5, 0): (30, 31)})
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/mig.conf"), "[Devices]\nKeepMig=no\n")  # instances come and go here
    host.ctl("reload", check=0)
    write(host.path("/stub-nvml"), "print hello\ndevices 2\nsplit 1\n"
          f"instance 1 0 1 0 0 {UUIDS[0]}\ninstance 1 3 5 0 0 {UUIDS[1]}\n")
    t.ok("MIG instances have changed" in status(host), "status reports new MIG instances", status(host))
    run = host.ctl("apply")
    names = devices(host)
    t.equal((run.returncode, names), (0, ["0:0", "0:3", "1", *UUIDS, "all"]),
            "MIG instances replace their GPU, by index and UUID")
    given = {device["name"]: [node["path"] for node in device["containerEdits"]["deviceNodes"]] for device in json.loads(read(host.path(SPEC)))["devices"]}
    t.equal(given["0:3"], ["/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap30", "/dev/nvidia-caps/nvidia-cap31"],
            "a MIG instance has its GPU's and its own nodes")
    t.equal(host.plan()["steps"], [], "the plan is empty after publishing MIG instances")
    check_nvml_problems(t, host)
    check_all_split(t, host)
    shutil.rmtree(host.path(CAPABILITIES + "/gpu0/mig"))
    write(host.path("/stub-nvml"), "devices 2\n")
    t.ok("MIG instances have changed" in status(host),
         "status reports removed MIG instances", status(host))
    host.ctl("apply", check=0)
    t.equal(devices(host), whole, "apply publishes the whole GPU again without MIG")


def check_all_split(t, host):
    """A failing or incomplete answer of NVML removes no published device."""
    add_instances(host, {(0, 1, 0): (12, 13), (1, 1, 0): (40, 41)})
    answer = f"devices 2\nsplit 0\nsplit 1\ninstance 1 0 1 0 0 {UUIDS[0]}\ninstance 0 0 1 0 0 {UUIDS[1]}\n"
    write(host.path("/stub-nvml"), answer)
    host.ctl("apply", check=0)
    names = devices(host)
    t.equal(names, ["0:0", "1:0", *UUIDS, "all"], "two split GPUs are published as MIG instances")
    for number, (trouble, says) in enumerate((("error 18\n", "Driver/library version mismatch"), (answer + "broken 1 999\n", "Unknown Error"))):
        write(host.path("/stub-nvml"), trouble)
        write(host.path(f"/run/nvidia-persistenced/{number}/socket"), "")
        write(host.path("/run/nvidia-fabricmanager/socket") if number else host.path("/run/nvidia-persistenced/socket"), "")
        run = host.ctl("apply")
        t.ok(run.returncode == 0 and says in status(host) and devices(host) == names,
             f"apply keeps published MIG instances after: {says}", status(host), devices(host))
    write(host.path("/stub-nvml"), trouble)
    os.unlink(host.path(SPEC))
    host.ctl("apply", check=0)
    t.equal([name for name in devices(host) if name[0].isdigit()], ["1:0"],
            "a failing GPU does not affect another GPU")
    write(host.path("/stub-nvml"), "error 18\n")
    os.unlink(host.path(SPEC))
    host.ctl("apply", check=0)
    t.equal(host.told(), None, "without an answer of NVML nothing is published")
    write(host.path("/stub-nvml"), answer)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and devices(host) == names and "do not get all" not in status(host),
         "apply publishes after NVML answers again", status(host))


def check_nvml_problems(t, host):
    answer = read(host.path("/stub-nvml"))
    for trouble, says in (("error 18\n", "Driver/library version mismatch"), ("die\n", "NVML gave no answer"),
                          (answer + "instance 1 4 5 0 0 MIG-../../x\n", "an invalid MIG UUID"),
                          (answer + "instance 1 4 9 0 0 MIG-9\n", "instance MIG-9 of GPU 0000:01:00.0 is left out")):
        write(host.path("/stub-nvml"), trouble)
        os.unlink(host.path(SPEC))
        run = host.ctl("apply")
        left = ["0:0", "0:3", "1"] if "MIG-9" in trouble else ["1"]
        t.ok(run.returncode == 0 and says in status(host) and [name for name in devices(host) if name[0].isdigit()] == left,
             f"only the affected devices are left out: {says}", status(host), devices(host))
    write(host.path("/stub-nvml"), answer)
    minors = read(host.path(MINORS))
    write(host.path(MINORS), "gpu0/gi1/access 12\n\0rubbish")
    host.ctl("apply", check=0)
    t.ok("line 2 of /proc/driver/nvidia-caps/mig-minors is not a capability" in status(host),
         "status reports an invalid mig-minors", status(host))
    write(host.path(MINORS), minors)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and "do not get all" not in status(host) and "0:3" in devices(host),
         "apply publishes all MIG instances after NVML recovers", status(host))


run_checks(check_swap, check_rollback, check_foreign, check_settings, check_groups, check_services, check_in_the_way, check_etc, check_late, check_boot, check_mig)
