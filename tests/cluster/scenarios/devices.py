# SPDX-License-Identifier: Apache-2.0
"""gpuhost-devices gives pods GPUs: a real kubelet finds it, and containerd resolves the CDI devices."""

import json
import signal
from contextlib import contextmanager
from pathlib import Path

import programs
from node import TESTS, binaries
from node.devices import Devices
from node.kubelet import CHECKPOINT, Kubelet
from node.site import PAUSE
from node.waiting import eventually
from rig.case import add, case

from .kubernetes import HOST, conditions, running, taint_keys

NVLIB = TESTS / "host/nvlib.json"
SPEC = Path("/run/cdi/devices.json")
GPU = "nvidia.com/gpu"
SLICE = "nvidia.com/mig-1g.10gb"
VARIABLE = "GPUHOST_TEST_DEVICES"


def gpu(number, **more):
    return {"uuid": f"GPU-00000000-0000-0000-0000-{number:012}", "address": f"0000:1{number}:00.0", "minor": number, "numa": 0,
            "instances": [], "split": False} | more


def instance(number):
    return {"uuid": f"MIG-00000000-0000-0000-0000-{number:012}", "profile": "1g.10gb", "index": number, "gpu_instance": 7 + number,
            "compute_instance": 0}


TWO = [gpu(0), gpu(1)]
SPLIT = [gpu(0), gpu(1, split=True, instances=[instance(0), instance(1)])]


def names(gpus):
    return [one["uuid"] for one in gpus] + [part["uuid"] for one in gpus for part in one["instances"]]


def write_spec(gpus):
    """Each device is a variable, so that a container shows which devices it has."""
    devices = [{"name": name, "containerEdits": {"env": [f"{VARIABLE}_{name[-1]}={name}"]}} for name in names(gpus)]
    SPEC.parent.mkdir(exist_ok=True)
    SPEC.write_text(json.dumps({"cdiVersion": "0.6.0", "kind": GPU, "devices": devices}))


@contextmanager
def serving(host, gpus, **more):
    devices = Devices(host.daemon.tree, host.place, host.kubelet)
    write_spec(SPLIT)
    try:
        devices.offer(gpus, **more)
        devices.run().connected()
        yield devices
    finally:
        devices.end()
        SPEC.unlink()
        programs.run(["rm", "-r", devices.root, devices.registry])


def environment(process):
    """Returns the variables of a container's program; [] while the process is still runc, as at its start."""
    variables = Path("/proc", process, "environ").read_text().split("\0")
    return variables if any(one.startswith("HOSTNAME=") for one in variables) else []


def given(host, pod):
    """Returns the devices of a pod's container."""
    container = pod.runs()["containerID"].rpartition("/")[2]
    row = next(row for row in host.containerd.ctr("tasks", "ls").splitlines() if row.startswith(container))
    variables = eventually("the container's program runs", lambda: environment(row.split()[1]))
    return {variable.partition("=")[2] for variable in variables if variable.startswith(VARIABLE)}


def spec(host, pod):
    """Returns the OCI specification of a pod's container."""
    container = pod.runs()["containerID"].rpartition("/")[2]
    return json.loads(host.containerd.ctr("containers", "info", "--spec", container))


def pod(host, count=1, resource=GPU):
    return host.kubelet.pod(PAUSE, "Never", **{resource: str(count)})


@case("GPUs of tests/host/gpu_labels_test.py are what go-nvlib says", start="node")
def described(_host):
    facts = programs.run([binaries.built(binaries.NVLIB) / "facts"])
    assert facts.stdout == NVLIB.read_text(encoding="utf-8"), f"write {NVLIB} again: {facts.stdout}{facts.stderr}"


@case("the kubelet gives pods the GPUs that gpuhost-devices offers", start="node")
def served(host):
    with serving(host, TWO) as devices, pod(host) as one, pod(host) as two:
        assert sorted([*given(host, one), *given(host, two)]) == names(TWO)
        assert devices.pods() == {given(host, it).pop(): [f"{it.name}-node"] for it in (one, two)}, devices.pods()
        with pod(host) as third:
            assert "Requested: 1, Available: 0" in third.refusal(), third.refusal()


@case("one pod gets all GPUs", start="node")
def together(host):
    with serving(host, TWO), pod(host, 2) as one:
        assert sorted(given(host, one)) == names(TWO)


@case("two pods share one GPU in time slices", start="node")
def shared(host):
    slices = {"resources": [{"name": GPU, "replicas": 2}], "renamed": False, "one_each": True, "packed": False}
    with serving(host, TWO[:1], sharing=slices) as devices, pod(host) as one, pod(host) as two:
        assert given(host, one) == given(host, two) == {TWO[0]["uuid"]}
        assert devices.pods() == {TWO[0]["uuid"]: [f"{it.name}-node" for it in (one, two)]}, devices.pods()
        with pod(host) as third:
            assert "Requested: 1, Available: 0" in third.refusal(), third.refusal()
    with serving(host, TWO, sharing=slices), pod(host, 2) as many:
        assert "maximum request size for shared resources is 1; found 2" in many.refusal(), many.refusal()


@case("a container gets GPUs as DeviceListStrategy= says", start="node")
def listed(host):
    root = "/var/run/nvidia-container-devices"
    with serving(host, TWO, strategies=["envvar"]) as devices:
        connected = devices.process.pid, [one["connected"] for one in devices.answer()["resources"]]
        with pod(host, 2) as one:
            variables = dict(each.split("=", 1) for each in spec(host, one)["process"]["env"])
            assert sorted(variables["NVIDIA_VISIBLE_DEVICES"].split(",")) == names(TWO) and not given(host, one), variables
        devices.offer(TWO, strategies=["cdi-annotations", "volume-mounts"])
        assert (devices.process.pid, [one["connected"] for one in devices.answer()["resources"]]) == connected
        with pod(host, 2) as one:
            found = spec(host, one)
            mounts = {mount["destination"]: mount["source"] for mount in found["mounts"] if mount["destination"].startswith(root)}
            assert mounts == {f"{root}/{name}": "/dev/null" for name in names(TWO)}, mounts
            assert f"NVIDIA_VISIBLE_DEVICES={root}" in found["process"]["env"] and sorted(given(host, one)) == names(TWO), found


@case("withdrawn GPUs refuse pods, and running pods keep theirs", start="node")
def withdrawn(host):
    with serving(host, TWO) as devices, pod(host) as one:
        before = given(host, one)
        devices.offer(TWO, withdrawn="the driver is being replaced")
        with pod(host) as refused:
            assert "no healthy devices present" in refused.refusal(), refused.refusal()
        devices.offer(TWO)
        with pod(host) as two:
            assert sorted([*before, *given(host, two)]) == names(TWO)
        assert given(host, one) == before


@case("pods keep their GPUs when the kubelet restarts", start="node")
def kubelet_restart(host):
    with serving(host, TWO) as devices, pod(host) as one:
        before = given(host, one)
        host.kubelet.restart()
        devices.connected()
        with pod(host) as two:
            assert sorted([*before, *given(host, two)]) == names(TWO)
        assert one.runs()["restartCount"] == 0 and given(host, one) == before


@case("the kubelet finds gpuhost-devices again after it was killed", start="node")
def plugin_restart(host):
    with serving(host, TWO) as devices, pod(host) as one:
        before = given(host, one)
        devices.process.send_signal(signal.SIGKILL)
        programs.wait(devices.process)
        devices.answer_file.unlink()
        devices.run().connected()
        with pod(host) as two:
            assert sorted([*before, *given(host, two)]) == names(TWO)


@case("MIG instances are a resource of their profile", start="node")
def mixed(host):
    with serving(host, SPLIT, mig="mixed") as devices, pod(host) as whole, pod(host, 2, SLICE) as parts:
        assert given(host, whole) == {SPLIT[0]["uuid"]}
        assert sorted(given(host, parts)) == [part["uuid"] for part in SPLIT[1]["instances"]]
        assert devices.pods() == {SPLIT[0]["uuid"]: [f"{whole.name}-node"], SPLIT[1]["uuid"]: []} | dict.fromkeys(given(host, parts), [f"{parts.name}-node"])


@case("gpuhost-devices ends without an offer, and the GPUs are gone", start="node")
def ended(host):
    with serving(host, TWO) as devices:
        devices.offer_file.unlink()
        eventually("it ends", lambda: not devices.is_running())
        assert not list(devices.registry.iterdir()) and not devices.answer_file.exists()
        with pod(host) as refused:
            assert GPU in refused.refusal(), refused.refusal()


@contextmanager
def instead(host, module):
    """Runs another kubelet on the host's containerd. Two at once would end each other's pods."""
    usual = host.kubelet
    chosen = Kubelet(binaries.built(module) / "kubelet", host.containerd, host.place, host.cgroup, module.name)
    try:
        usual.end()
        CHECKPOINT.unlink(missing_ok=True)
        host.kubelet = chosen
        chosen.run()
        yield
    finally:
        chosen.end()
        CHECKPOINT.unlink(missing_ok=True)
        host.kubelet = usual
        usual.run()


def other_kubelet(module):
    def serves(host):
        with instead(host, module):
            for same in served, shared, withdrawn, kubelet_restart, plugin_restart, mixed:
                same(host)
    add(f"kubelet {module.version()} gives pods GPUs in the same ways", serves, "node", full=True)


for other in binaries.OTHER_KUBELETS:
    other_kubelet(other)


def replace(file, document):
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(document))
    new.rename(file)


MODEL = {"model": "NVIDIA H100 80GB HBM3", "memory_mib": 81559, "compute_capability": "9.0", "pci_class": "0x030200", "mig_capable": True}
OFFER = {"version": 1, "id": "1", "resource": GPU, "mig_strategy": "mixed", "withdrawn": "", "labels": "node", "taint_unhealthy": True,
         "host": {"driver": "550.163.01", "cuda_version": 12040, "machine": "DGXH100"},
         "gpus": [gpu(0, **MODEL), gpu(1, **MODEL, split=True, instances=[instance(0), instance(1)])]}
LABELS = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "2", "nvidia.com/gpu.family": "hopper",
          "nvidia.com/gpu.machine": "DGXH100", "nvidia.com/cuda.driver-version.full": "550.163.01", "nvidia.com/mig.strategy": "mixed",
          f"{SLICE}.count": "2", f"{SLICE}.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "nvidia.com/vgpu.present": "false"}
WISH, UNHEALTHY = "nvidia.com/mig.config", "gpuhost.io/gpu-unhealthy"


@case("a Node has labels and health of the offered GPUs, then none", start="joined")
def labelled(host):
    plane, run = host.controlplane, host.agent.root / "run"
    offer, answer = run / "gpuhost/devices/offer.json", run / "gpuhost-devices/answer.json"
    sick = {"uuid": OFFER["gpus"][0]["uuid"], "state": "unhealthy", "recovery": "reboot", "reason": "Xid 79", "xid": 79, "since_us": 1}

    def metadata():
        return plane.get("node", HOST)["metadata"]

    plane.kubectl("label", "node", HOST, f"{WISH}=all-disabled", "--overwrite")
    with running(host) as agent:
        eventually(lambda: f"it is connected: {agent.tail()}", agent.is_connected)
        replace(offer, OFFER)
        replace(answer, {"id": "1", "resources": [], "health": []})
        eventually(lambda: f"the Node has the labels: {metadata()} {agent.tail()}", lambda: LABELS.items() <= metadata()["labels"].items())
        assert set(LABELS) <= set(metadata()["annotations"]["gpuhost.io/gpu-labels"].split(",")), metadata()
        eventually("the GPUs are healthy", lambda: conditions(host).get("gpuhost.io/GPUsHealthy") == "True")
        replace(answer, {"id": "1", "resources": [], "health": [sick]})
        eventually("a GPU is unhealthy", lambda: conditions(host).get("gpuhost.io/GPUsHealthy") == "False" and UNHEALTHY in taint_keys(host))
        eventually("an event names the GPU", lambda: any(one["reason"] == "GPUHealth" and sick["uuid"] in one["message"] for one in plane.get("events", "-n", "default")["items"]))
        answer.unlink()
        offer.unlink()
        eventually(lambda: f"labels, condition and taint are removed: {metadata()} {agent.tail()}",
                   lambda: not set(LABELS) & set(metadata()["labels"]) and "gpuhost.io/GPUsHealthy" not in conditions(host) and UNHEALTHY not in taint_keys(host))
        assert metadata()["labels"][WISH] == "all-disabled" and "gpuhost.io/gpu-labels" not in metadata()["annotations"], metadata()
