# SPDX-License-Identifier: Apache-2.0
"""A driver upgrade moves real pods: Kubernetes' controllers create them, its scheduler places them, a
kubelet and containerd run them, and gpuhost-cluster evicts them. Only the kernel below gpuhostd is
simulated."""

from node import binaries
from node.controlplane import manifests, want
from node.kubelet import MemberKubelet
from node.waiting import eventually
from rig.case import case
from scenarios.upgrades import CRD, Machine

HOST = "kube01"
TAINT = "gpuhost.io/not-ready"
IMAGE = "registry.example/rig/worker:1"
GPU = {"limits": {"nvidia.com/gpu": "1"}}


def template(name, *, gpu=True, **spec):
    container = {"name": "main", "image": IMAGE, "imagePullPolicy": "Never", **({"resources": GPU} if gpu else {})}
    return {"metadata": {"labels": {"app": name}},
            "spec": {"hostNetwork": True, "terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False, "enableServiceLinks": False,
                     "containers": [container], **spec}}


def workload(kind, name, *, version="apps/v1", made=None, **spec):
    """Returns a workload; `made` is its pod template."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": made or template(name), **spec}}


class Pods:
    """The pods of the cluster, found by the label of their workload."""
    def __init__(self, plane):
        self.plane = plane

    def of(self, name):
        return [pod for pod in self.plane.get("pods", "-n", "default", "-l", f"app={name}")["items"]]

    def running(self, name):
        """Returns the UIDs of the workload's running pods."""
        return {pod["metadata"]["uid"] for pod in self.of(name) if pod["status"].get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")}

    def are(self):
        return [(pod["metadata"]["name"], pod["status"].get("phase"), pod["status"].get("conditions", [{}])[0].get("message", ""))
                for pod in self.plane.get("pods", "-n", "default")["items"]]


@case("real pods: a Deployment's pods start once the startup taint is removed", start="kubernetes", makes="serving")
def serving(node):
    plane = node.controlplane
    node.containerd.ctr("images", "import", node.site.bundle("worker", 1, {IMAGE: "1"}))
    plane.kubectl("apply", "-f", manifests() / CRD)
    plane.kubectl("wait", "--for=condition=Established", "crd/clusterpolicies.nvidia.com")
    plane.kubectl("delete", "node", "--all", "--wait=false")
    if not plane.manager.process:
        plane.start_manager()
    plane.start_scheduler()
    eventually("the controllers run", lambda: plane.ask("get", "serviceaccount", "default", "-n", "default").returncode == 0)
    machine = node.machine = Machine(node, HOST)
    machine.configure()
    node.kubelet.end()  # it would remove pods of another kubelet on the same containerd
    member = MemberKubelet(binaries.built(binaries.KUBERNETES) / "kubelet", node.containerd, node.place, node.cgroup, node=HOST,
                           kubeconfig=machine.kubelet, taint=TAINT)
    node.run_too(member)
    eventually(lambda: f"the kubelet creates its Node: {member.tail()}", lambda: plane.ask("get", "node", HOST).returncode == 0)
    plane.kubectl("patch", "node", HOST, "--subresource=status", "-p", '{"status":{"capacity":{"nvidia.com/gpu":"8"}}}')
    plane.kubectl("create", "rolebinding", "-n", "gpuhost", "candidate-drained", "--role=gpuhost-candidate", f"--user=gpuhost:host:{HOST}")
    plane.apply({"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"},
                 "spec": {"driver": {"version": machine.versions[0], "upgradePolicy": {"autoUpgrade": True}}}},
                workload("Deployment", "train", replicas=2))
    pods = Pods(plane)
    eventually("the startup taint is the node's only taint", lambda: [taint["key"] for taint in machine.node()["spec"].get("taints", [])] == [TAINT])
    eventually(lambda: f"the scheduler names the taint: {pods.are()}", lambda: any("untolerated taint" in message for _, _, message in pods.are()))
    assert not pods.running("train")
    node.run_too(machine)
    eventually(lambda: f"both pods run: {pods.are()} {member.tail()} {machine.tail()}", lambda: len(pods.running("train")) == 2)
    machine.reaches("upgrade-done")


@case("real pods: pods leave within their budgets and return after the swap", start="serving")
def whole_way(node):
    machine, plane, pods = node.machine, node.controlplane, Pods(node.controlplane)
    new = machine.versions[1]
    plane.apply(
        workload("DaemonSet", "agent", made=template("agent", gpu=False)),
        workload("StatefulSet", "db", serviceName="db", made=template("db", volumes=[{"name": "scratch", "emptyDir": {}}])),
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "batch", "namespace": "default"},
         # Its program must end by itself after SIGTERM, also on a busy machine.
         "spec": {"template": template("batch", restartPolicy="Never", terminationGracePeriodSeconds=60)}},
        {"apiVersion": "v1", "kind": "Pod", **template("bare"), "metadata": {"name": "bare", "namespace": "default", "labels": {"app": "bare"}}},
        workload("Deployment", "web", made=template("web", gpu=False)),
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "train-budget", "namespace": "default"},
         "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "train"}}}})
    workloads = ("agent", "db", "batch", "bare", "web")
    eventually(lambda: f"all run: {pods.are()}", lambda: all(pods.running(name) for name in workloads))
    eventually("the budget has a status", lambda: plane.get("pdb", "train-budget", "-n", "default").get("status", {}).get("disruptionsAllowed") == 1)
    before = {name: pods.running(name) for name in (*workloads, "train")}

    want(plane, new, podDeletion={"timeoutSeconds": 120})
    eventually(lambda: f"it refuses to delete bare pods and local data: {machine.why()}", lambda: "default/bare" in machine.reason() and "default/db" in machine.reason())
    eventually(lambda: f"the host is schedulable meanwhile: {machine.why()}", lambda: not machine.node()["spec"].get("unschedulable"))
    assert all(pods.running(name) == before[name] for name in before), "a pod has left"

    want(plane, new, podDeletion={"timeoutSeconds": 120, "force": True, "deleteEmptyDir": True})
    plane.kubectl("annotate", "node", HOST, "nvidia.com/gpu-driver-upgrade-requested=true", "--overwrite")
    eventually(lambda: f"the reason names the budget: {machine.why()}", lambda: "train-budget" in machine.reason())
    eventually(lambda: f"one of two has left: {pods.are()} {machine.why()}", lambda: len(pods.running("train") & before["train"]) == 1)
    assert machine.host.loaded()["nvidia"] == machine.versions[0], machine.why()
    eventually(lambda: f"the others have left: {pods.are()}", lambda: not any(pods.running(name) & before[name] for name in ("db", "batch", "bare")))
    plane.kubectl("delete", "pdb", "train-budget")
    machine.reaches("upgrade-done", new)
    assert machine.host.loaded()["nvidia"] == new
    assert pods.running("agent") == before["agent"] and pods.running("web") == before["web"], "a pod without a GPU was moved"
    eventually(lambda: f"controllers have created the pods again: {pods.are()}",
               lambda: len(pods.running("train")) == 2 and pods.running("db"))
    eventually("the Job succeeds, because its program ended with status 0",
               lambda: plane.get("job", "batch", "-n", "default").get("status", {}).get("succeeded") == 1)
    assert not pods.running("train") & before["train"] and not pods.of("bare"), "a bare pod was created again"
    spread = [call for call in plane.calls(f"system:node:{HOST}") if call[1] == "pods/eviction"]
    assert len(spread) < 30, f"too many evictions: {spread}"


@case("real pods: all pods are deleted and their services end", start="serving")
def end(node):
    plane = node.controlplane
    for kind in ("deployments", "daemonsets", "statefulsets", "jobs", "pods"):
        plane.kubectl("delete", kind, "-n", "default", "--all", "--wait=false")
    eventually(lambda: f"all pods are deleted: {Pods(plane).are()}", lambda: not plane.get("pods", "-n", "default")["items"])
    plane.kubectl("delete", "clusterpolicy", "--all")
    node.machine.end()
    plane.scheduler.end()
    plane.kubectl("delete", "node", "--all", "--wait=false")
    plane.kubectl("delete", "lease", "-n", "gpuhost", "--all")
