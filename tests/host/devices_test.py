# SPDX-License-Identifier: Apache-2.0
"""The offer to the kubelet: served, withdrawn in swaps, returned after them, removed. A thread answers in place of
gpuhost-devices."""
import contextlib
import json
import os
import shutil
import socket
import threading
import time

import tap
from devices_files import OFFER, configure, offer, prepare_with_nvml
from fake_host import NEW, OLD, read, run_checks, write
from fake_kubelet import Kubelet
from gates import Gates
from programs import end, environment, start

ANSWER, REGISTRY = "/run/gpuhost-devices/answer.json", "/run/gpuhost/devices/registry"
MIG = "MIG-00000000-0000-0000-0000-0000000000a0"


class Server:
    """Answers each offer as gpuhost-devices does, and records why GPUs were withdrawn."""

    def __init__(self, host):
        self.host, self.withdrawn, self.ending = host, [], False
        os.makedirs(os.path.dirname(host.path(ANSWER)), exist_ok=True)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        last = None
        while not self.ending:
            current = offer(self.host)
            if current and current["id"] != last:
                last = current["id"]
                self.withdrawn.append(current["withdrawn"])
                resources = [{"name": current["resource"], "devices": len(current["gpus"]), "connected": True, "error": ""}]
                write(self.host.path(ANSWER) + ".new", json.dumps({"id": last, "resources": resources}))
                os.rename(self.host.path(ANSWER) + ".new", self.host.path(ANSWER))
            time.sleep(0.01)

    def close(self):
        self.ending = True
        self.thread.join()
        shutil.rmtree(os.path.dirname(self.host.path(ANSWER)))


@contextlib.contextmanager
def listening(directory):
    """Listens as NVIDIA's device plugin does, and leaves the socket."""
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as nvidia:
        os.chdir(directory)  # the path of a socket is short
        with contextlib.suppress(FileNotFoundError):
            os.unlink("nvidia-gpu.sock")
        nvidia.bind("nvidia-gpu.sock")
        os.chdir(here)
        nvidia.listen()
        yield


def check_other_server(t, host):
    directory = host.path("/var/lib/kubelet/device-plugins")
    os.makedirs(directory)
    with listening(directory):
        configure(host, "[Devices]\nServe=plugin\n")
        run = host.ctl("apply")
        t.ok(run.returncode == 8 and "device-plugins/nvidia-gpu.sock'" in run.stdout + run.stderr and "gpu.deploy.device-plugin=false" in run.stdout + run.stderr and not offer(host),
             "apply does not join another device plugin", run.returncode, run.stdout, run.stderr)
        t.ok("nvidia-gpu.sock" in host.ctl("apply", "--dry-run").stdout, "the plan names the other plugin's socket")
    plan = host.plan()
    t.equal([step["kind"] for step in plan["steps"]], ["devices.publish"],
            "a socket without a listener prevents nothing")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and len(offer(host)["gpus"]) == 2, "apply offers the GPUs", run.stderr)


def check_offer(t, host):
    gpu = offer(host)["gpus"][0]
    t.equal((gpu["address"], gpu["model"], gpu["memory_mib"], gpu["compute_capability"], gpu["split"]),
            ("0000:01:00.0", "NVIDIA H100 80GB HBM3", 81559, "9.0", False), "the offer describes a GPU")
    t.equal(os.readlink(host.path(REGISTRY)), "/var/lib/kubelet/plugins_registry/gpuhost",
            "the registry link leads to the kubelet")
    mode = os.stat(host.path("/var/lib/kubelet/plugins_registry/gpuhost")).st_mode & 0o7777
    t.equal(mode, 0o700, "only its owner may enter the registry")
    t.equal(host.plan()["steps"], [], "the plan is empty after the offer")
    text = host.ctl("gpu", "list", "--root", host.root).stdout
    t.ok(gpu["uuid"] in text and "80 GiB" in text and "nvidia.com/gpu, kubelet not connected" in text,
         "gpu list shows that no kubelet is connected", text)
    t.ok("gpuhost-devices does not run" in host.ctl("status").stdout, "status shows that nobody serves", host.ctl("status").stdout)


def check_mark(t, host):
    server = Server(host)
    uuid = offer(host)["gpus"][1]["uuid"]
    run = host.ctl("gpu", "mark", "02:00.0", "--reason=fails the burn-in test")
    marks = offer(host)["health"]["marks"]
    t.ok(run.returncode == 0 and [(mark["uuid"], mark["reason"]) for mark in marks] == [(uuid, "fails the burn-in test")],
         "gpu mark is offered", run.stdout, run.stderr, marks)
    for words in ("1",), ("1", "--reason="), ("1", "--reason=a\nb"):
        run = host.ctl("gpu", "mark", *words)
        t.ok(run.returncode == 2 and "reason" in run.stderr, f"gpu mark {words} is refused", run.returncode, run.stderr)
    t.equal(host.ctl("gpu", "mark", "9", "--reason=a").returncode, 4, "gpu mark of an unknown GPU is refused")
    t.equal(host.plan()["steps"], [], "the plan is empty after a mark")
    server.close()


def check_clear(t, host):
    server = Server(host)
    uuid = offer(host)["gpus"][1]["uuid"]
    t.equal([mark["uuid"] for mark in offer(host)["health"]["marks"]], [uuid], "a mark lasts over swaps")
    run = host.ctl("gpu", "clear", uuid, "--dry-run")
    t.ok(run.returncode == 0 and offer(host)["health"]["marks"], "a dry run clears nothing", run.stderr)
    run = host.ctl("gpu", "clear", uuid)
    health = offer(host)["health"]
    t.ok(run.returncode == 0 and not health["marks"] and health["clears"][0]["uuid"] == uuid, "gpu clear removes the mark", run.stderr, health)
    t.equal(host.plan()["steps"], [], "the plan is empty after a clear")
    server.close()


def check_sharing(t, host):
    file, devices = "/etc/gpuhost/device-plugin.yaml", "[Devices]\nServe=plugin\nConfigFile=/etc/gpuhost/device-plugin.yaml\n"
    gpu = {"name": "gpu", "replicas": 4}

    def configuration(**slicing):
        write(host.path(file), json.dumps({"version": "v1", "sharing": {"timeSlicing": {"resources": [gpu], **slicing}}}, indent=1))

    configuration(failRequestsGreaterThanOne=True)
    configure(host, devices)
    run = host.ctl("apply")
    shared = offer(host)["sharing"]
    t.equal((run.returncode, shared), (0, {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}], "renamed": False, "one_each": True, "packed": False}),
            "apply shares the GPUs")
    t.equal((host.plan()["steps"], host.ctl("config", "check", "--root", host.root).returncode), ([], 0), "the plan is empty after the sharing")
    listed = host.json("gpu", "list", "--root", host.root)
    t.equal([(one["replicas"], one["resource"]) for one in listed["gpus"]] + [listed["resources"][0]["devices"]],
            [(4, "nvidia.com/gpu"), (4, "nvidia.com/gpu"), 8], "each GPU is four devices")
    for verb in ("list",), ("show", "0"):
        text = host.ctl("gpu", *verb, "--root", host.root).stdout
        t.ok("4 of nvidia.com/gpu" in text, f"gpu {verb[0]} shows the replicas", text)
    for text, why in ('version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - name: gpu\n      replicas: 1\n', ":6: sharing.timeSlicing.resources[0].replicas must"), \
            ('sharing:\n  mps: {resources: [{name: gpu, replicas: 2}]}\n', ":2: sharing.mps is not supported"), \
            ('sharing:\n  mps: [\n', ":"), ('flags:\n  migStrategy: mixed\n', ":2: flags.migStrategy"), \
            ('flags:\n  plugin:\n    deviceListStrategy: [envvar, cdi]\n', ":3: flags.plugin.deviceListStrategy has 'cdi', which is not one of: cdi-cri, "):
        write(host.path(file), text)
        run = host.ctl("config", "check", "--root", host.root)
        t.ok(run.returncode == 9 and file + why in run.stdout, f"config check refuses {text.split()[-1]}", run.returncode, run.stdout)
    mistake = "flags.plugin.deviceListStrategy has 'cdi'"
    cdi = host.path("/run/cdi/nvidia.yaml")
    os.unlink(cdi)
    kinds = {step["kind"].split(".")[0] for step in host.plan()["steps"]}
    t.ok({"cdi", "devices"} <= kinds, "one plan has steps of cdi and devices", kinds)
    run = host.ctl("apply")
    status = host.ctl("status")
    t.ok(run.returncode == 9 and mistake in run.stderr and "NOT OK" in status.stdout and mistake in status.stdout and offer(host)["sharing"] == shared,
         "a refused file keeps the sharing", run.returncode, run.stdout, run.stderr, status.stdout)
    t.ok(os.path.exists(cdi), "a refused file undoes no other component", run.stderr)
    run = host.ctl("apply")
    t.ok(run.returncode == 9 and mistake in run.stdout + run.stderr and host.plan()["steps"] == [],
         "a file that was refused is not tried again", run.returncode, run.stdout, run.stderr)
    run = host.ctl("driver", "swap", NEW)
    t.ok(run.returncode == 0 and (offer(host)["withdrawn"], offer(host)["sharing"]) == ("", shared), "a swap keeps the sharing", run.stderr, offer(host))
    os.unlink(cdi)
    for path in OFFER, "/run/gpuhost/devices.json", "/run/gpuhost/devices-config.json":  # as after a restart of the host
        os.unlink(host.path(path))
    run = host.ctl("apply")
    t.ok(run.returncode == 9 and mistake in run.stderr and not offer(host) and os.path.exists(cdi) and host.plan()["steps"] == [],
         "without an offer, a refused file offers nothing", run.returncode, run.stdout, run.stderr, offer(host))
    configuration(renameByDefault=True)
    gpu["devices"] = 1
    t.equal(host.ctl("apply").returncode, 0, "apply reads the repaired file")
    t.equal([one["name"] for one in host.json("gpu", "list", "--root", host.root)["resources"]], ["nvidia.com/gpu.shared"], "the resource is renamed")
    configuration()
    run = host.ctl("config", "check", "--root", host.root)
    t.ok(run.returncode == 9 and "devices has no effect" in run.stdout and host.ctl("apply").returncode == 0 and not offer(host)["sharing"]["renamed"],
         "a field without effect is named", run.stdout)
    configure(host, "[Devices]\nServe=plugin\n")
    t.ok(host.ctl("apply").returncode == 0 and not offer(host)["sharing"]["resources"], "without ConfigFile= nothing is shared", offer(host))
    t.equal(host.ctl("driver", "swap", OLD).returncode, 0, "the previous driver is loaded again")


def check_strategies(t, host):
    configure(host, "[Devices]\nServe=plugin\nDeviceListStrategy=envvar cdi-annotations\n")
    plan = host.plan("--only", "devices")
    run = host.ctl("apply", "--only", "devices")
    t.equal((plan["reasons"], run.returncode, offer(host)["device_list_strategy"], host.plan()["steps"]),
            (["DeviceListStrategy= has changed"], 0, ["cdi-annotations", "envvar"], []), "apply offers by the strategies")
    configure(host, "[Devices]\nServe=plugin\nDeviceListStrategy=envar\n")
    run, check = host.ctl("apply", "--only", "devices"), host.ctl("config", "check", "--root", host.root)
    t.ok(run.returncode == 2 and check.returncode == 9 and all("did you mean 'envvar'?" in text for text in (run.stdout + run.stderr, check.stdout + check.stderr)),
         "an unknown strategy is refused, with the nearest word", run.stdout, run.stderr, check.stdout, check.stderr)
    t.equal(offer(host)["device_list_strategy"], ["cdi-annotations", "envvar"], "an unknown strategy changes no offer")
    configure(host, "[Devices]\nServe=plugin\n")
    host.ctl("apply", "--only", "devices", check=0)
    t.equal(offer(host)["device_list_strategy"], ["cdi-cri"], "the default names CDI devices")


def check_indices(t, host):
    """NVML counts against PCI addresses, so only a single GPU has the same index in both."""
    for count, ids in (2, "uuid"), (1, "index"):
        write(host.path("/stub-nvml"), f"devices {count}\n")
        configure(host, f"[Devices]\nServe=plugin\nDeviceIDStrategy=index\nIgnoreXids={count}\n")
        run = host.ctl("apply", "--only", "devices")
        t.equal((offer(host)["device_id_strategy"], "UUIDs of GPUs instead of indices" in run.stdout + run.stderr), (ids, ids == "uuid"),
                f"containers get the {ids} if NVML has {count} of two GPUs")
    write(host.path("/stub-nvml"), "devices 2\n")
    configure(host, "[Devices]\nServe=plugin\n")
    host.ctl("apply", "--only", "devices", check=0)


def check_swap(t, host):
    server = Server(host)
    seen = {}

    def decide(where, _count):
        seen[where] = (offer(host) or {}).get("withdrawn")
        return "go"

    gates = Gates(host, decide)
    run = host.ctl("driver", "swap", NEW)
    gates.close()
    t.ok(run.returncode == 0 and offer(host)["withdrawn"] == "" and host.loaded()["nvidia"] == NEW,
         "a swap returns the GPUs", run.stderr, offer(host))
    clients = {where: why for where, why in seen.items() if where.startswith(("apply units.stop", "apply modules.converge"))}
    early = [where for where, why in clients.items() if not why]
    t.ok("the driver is being replaced" in server.withdrawn and not early and clients, "GPUs are withdrawn before clients end", early, seen)
    t.ok("gets 2 of nvidia.com/gpu" in host.ctl("status").stdout, "status shows what the kubelet gets", host.ctl("status").stdout)
    table = host.ctl("gpu", "list", "--root", host.root).stdout
    t.ok("not connected" not in table and "nvidia.com/gpu" in table, "gpu list shows a connected kubelet", table)
    write(host.path("/fake-kernel/control"), f"load nvidia_uvm@{OLD} errno 22\n")
    server.withdrawn.clear()
    run = host.ctl("driver", "swap", OLD)
    os.unlink(host.path("/fake-kernel/control"))
    t.ok(run.returncode != 0 and "the driver is being replaced" in server.withdrawn and offer(host)["withdrawn"] == "",
         "an undone swap returns the GPUs", run.stderr, offer(host))
    t.equal(host.plan()["steps"], [], "the plan is empty after an undone swap")
    server.close()


def check_refusal(t, host):
    """The wait for a holder ends without a swap."""
    os.makedirs(host.path("/proc/4242/fd"))
    os.symlink("../../../dev/nvidiactl", host.path("/proc/4242/fd/3"))
    write(host.path("/proc/4242/comm"), "trainer\n")
    server = Server(host)
    run = host.ctl("driver", "swap", NEW, "--holders=wait", "--holder-timeout=1s")
    shutil.rmtree(host.path("/proc/4242"))
    t.ok(run.returncode == 7 and "nothing was changed" in run.stderr and "the driver is being replaced" in server.withdrawn,
         "a swap that waited in vain is refused", run.returncode, run.stderr, server.withdrawn)
    t.equal((offer(host)["withdrawn"], host.plan()["steps"]), ("", []), "a refused swap returns the GPUs")
    server.close()


def check_later_server(t, host):
    directory = host.path("/var/lib/kubelet/device-plugins")
    with listening(directory):
        run = host.ctl("apply")
        t.ok(run.returncode == 8 and not offer(host), "apply removes the offer beside another device plugin", run.returncode, run.stdout, run.stderr)
        t.equal(host.plan()["steps"], [], "the plan is empty after the removal")
    host.ctl("apply", check=0)
    t.ok(offer(host), "apply offers the GPUs after the other plugin has ended")


def check_fabric(t, host):
    for state in 1, 2:
        write(host.path("/stub-nvml"), f"devices 2\nfabric 1 7 {state}\n")
        configure(host, f"[Devices]\nServe=plugin\nIgnoreXids={state}\n")
        host.ctl("apply", "--only", "devices", check=0)
        t.equal((host.plan("--only", "devices")["reasons"], offer(host)["gpus"][0]["fabric"]),
                (["GPU 0000:01:00.0: the NVLink fabric is not complete yet"], ""), f"a GPU that joins its fabric is published again: state {state}")
    write(host.path("/stub-nvml"), "devices 2\nfabric 1 7\n")
    host.ctl("apply", "--only", "devices", check=0)
    t.equal((host.plan("--only", "devices")["steps"], offer(host)["gpus"][0]["fabric"][-2:]), ([], ".7"), "the offer has the complete fabric")
    write(host.path("/stub-nvml"), "devices 2\n")
    configure(host, "[Devices]\nServe=plugin\n")
    host.ctl("apply", "--only", "devices", check=0)


@contextlib.contextmanager
def served(host):
    """Starts gpuhost-devices with messages of a kernel that are empty; yields the kubelet."""
    for directory in "/run/gpuhost/gpu-faults", "/run/gpuhost-devices/registry":
        os.makedirs(host.path(directory), exist_ok=True)
    kernel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with open(host.path("/gpuhost-devices.log"), "w") as log:
        process = start([os.path.join(tap.TOP_BUILDDIR, "gpuhost-devices"), f"--root={host.root}"], stdin=theirs, stdout=log, stderr=log, env=environment())
    theirs.close()
    kubelet = Kubelet(host.path("/run/gpuhost-devices/registry/nvidia.com_gpu.sock"))
    yield kubelet
    kubelet.close()
    kernel.close()
    end(process, 15)
    shutil.rmtree(host.path("/run/gpuhost-devices"))


def check_memory(t, host):
    """NVML counts minor numbers down."""
    a, b = (f"GPU-00000000-0000-0000-0000-{1 - minor:012}" for minor in range(2))
    for number, (line, state) in enumerate({"memory 1 failed": "unhealthy", "memory 1 pending": "noted", "memory 1 retiring": "noted"}.items(), 1):
        write(host.path("/stub-nvml"), f"devices 2\n{line}\n")
        configure(host, f"[Devices]\nServe=plugin\nFatalXids={number}\n")
        host.ctl("apply", "--only", "devices", check=0)
        with served(host) as kubelet:
            t.equal(kubelet.devices, {a: "Unhealthy" if state == "unhealthy" else "Healthy", b: "Healthy"}, f"the kubelet learns of '{line}'")
            health = host.json("gpu", "list", "--root", host.root)["gpus"][0]["health"]
            t.equal((health["state"], health["recovery"], health["since_us"]), (state, "replacement" if state == "unhealthy" else "none", 0), f"gpu list has '{line}'")
            text = host.ctl("gpu", "show", a, "--root", host.root).stdout
            if state == "noted":
                host.ctl("gpu", "clear", a, check=0)
                t.equal(host.json("gpu", "list", "--root", host.root)["gpus"][0]["health"]["state"], "healthy", f"a clear ends '{line}'")
            t.ok("faulty memory" in text and "Since" not in text and ("a replacement" in text) == (state == "unhealthy"), f"gpu show has '{line}'", text)
    write(host.path("/stub-nvml"), "devices 2\n")


def check_nvlink(t, host):
    """Four GPUs, bridged in pairs. NVML counts minor numbers down. A link to a switch connects no two GPUs."""
    gpus = host.path("/proc/driver/nvidia/gpus")
    for minor in 2, 3:
        write(f"{gpus}/0000:0{minor + 1}:00.0/information", f"Device Minor: {minor}\n")
    a, b, c, d = (f"GPU-00000000-0000-0000-0000-{3 - minor:012}" for minor in range(4))
    for lines, links in ("nvlink 0 3 2\nnvlink 1 2 4\nnvlink 1 15 6\n", {a: [(d, 2)], b: [(c, 4)], c: [(b, 4)], d: [(a, 2)]}), \
            ("nvlink 0 15 18\nnvlink 1 15 18\n", {a: [], b: [], c: [], d: []}):
        write(host.path("/stub-nvml"), "devices 4\n" + lines)
        configure(host, f"[Devices]\nServe=plugin\nIgnoreXids={len(lines)}\n")
        host.ctl("apply", "--only", "devices", check=0)
        t.equal({gpu["uuid"]: [(one["gpu"], one["count"]) for one in gpu["nvlinks"]] for gpu in offer(host)["gpus"]}, links,
                f"the offer has the NVLinks of {len(lines.splitlines())} lines")
        text = host.ctl("gpu", "show", "1", "--root", host.root).stdout
        t.ok((f"4 to {c}" in text) == ("NVLink" in text) == bool(links[b]), "gpu show has NVLinks if there are any", text)
        shown = host.json("gpu", "list", "--root", host.root)["gpus"][1]["nvlinks"]
        t.equal(shown, offer(host)["gpus"][1]["nvlinks"], "gpu list has the NVLinks for programs")
        with served(host) as kubelet:
            t.equal((kubelet.prefer(2, [a, b, c, d]), kubelet.prefer(2, [a, b, d]), kubelet.prefer(2, [a, b, c, d], [d])),
                    ([b, c], [a, d], [d, a]) if links[a] else ([a, b], [a, b], [d, a]), "the kubelet's preferred GPUs have NVLinks")
    shutil.rmtree(f"{gpus}/0000:03:00.0")
    shutil.rmtree(f"{gpus}/0000:04:00.0")
    write(host.path("/stub-nvml"), "devices 2\n")
    configure(host, "[Devices]\nServe=plugin\n")
    host.ctl("apply", "--only", "devices", check=0)


def check_mig(t, host):
    write(host.path("/stub-nvml"), f"devices 2\nsplit 1\ninstance 1 0 1 0 0 {MIG}\n")
    write(host.path("/proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access"), "")
    configure(host, "[Devices]\nServe=plugin\nMigStrategy=mixed\n")
    plan = host.plan("--only", "devices")
    t.equal(plan["reasons"], ["the MIG instances have changed", "MigStrategy= has changed"], "the plan says what has changed")
    host.ctl("apply", "--only", "cdi", "--only", "devices", check=0)
    instance = host.json("gpu", "list", "--root", host.root)["gpus"][0]["instances"][0]
    t.equal((instance["uuid"], instance["profile"], instance["resource"]), (MIG, "1g.10gb", "nvidia.com/mig-1g.10gb"),
            "a MIG instance is a resource of its profile")
    write(host.path("/stub-nvml"), "error 18\n")
    configure(host, "[Devices]\nServe=plugin\n")
    run = host.ctl("apply", "--only", "devices")
    t.ok(run.returncode == 0 and "version mismatch" in offer(host)["withdrawn"] and "version mismatch" in host.ctl("status").stdout,
         "GPUs are withdrawn if NVML fails", run.stderr, offer(host), host.ctl("status").stdout)
    write(host.path("/stub-nvml"), "devices 2\n")
    shutil.rmtree(host.path("/proc/driver/nvidia/capabilities/gpu0"))
    host.ctl("apply", check=0)
    t.equal((offer(host)["withdrawn"], host.plan()["steps"]), ("", []), "GPUs return when NVML answers again")


def check_off(t, host):
    configure(host, "[Devices]\nServe=yes\nResourceName=gpu\n")
    run = host.ctl("config", "check", "--root", host.root)
    t.ok(run.returncode == 9 and "Serve" in run.stdout + run.stderr and "DOMAIN/NAME" in run.stdout + run.stderr,
         "config check names wrong values", run.stdout, run.stderr)
    configure(host, "[Devices]\nServe=plugin\nResourceName=gpu\n")
    run = host.ctl("apply", "--only", "devices")
    t.ok(run.returncode == 2 and "DOMAIN/NAME" in run.stdout + run.stderr and offer(host),
         "apply with an invalid resource name changes nothing", run.returncode, run.stdout, run.stderr)
    configure(host, "")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and not offer(host) and not os.path.lexists(host.path(REGISTRY)), "Serve=off removes the offer", run.stderr)
    t.equal(host.plan()["steps"], [], "the plan is empty with Serve=off")
    t.ok("No GPUs are offered" in host.ctl("gpu", "list", "--root", host.root).stderr, "gpu list says that nothing is offered")


run_checks(check_other_server, check_offer, check_later_server, check_refusal, check_sharing, check_strategies, check_indices, check_mark, check_swap, check_clear, check_fabric, check_memory, check_nvlink, check_mig, check_off, make=prepare_with_nvml)
