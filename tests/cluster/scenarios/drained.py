# SPDX-License-Identifier: Apache-2.0
"""A driver upgrade moves real pods: Kubernetes' own controllers make them, its scheduler places them, a kubelet and containerd run
them, and gpuhost-cluster asks them to leave. Only the kernel under gpuhostd is played."""

from node import binaries
from node.controlplane import manifests
from node.kubelet import MemberKubelet
from node.waiting import eventually
from rig.case import case
from scenarios.upgrades import CRD, Machine, want

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
    """`made` is the pod's template."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": made or template(name), **spec}}


class Pods:
    """Those of the cluster, by the label that says whose they are."""
    def __init__(self, plane):
        self.plane = plane

    def of(self, name):
        return [pod for pod in self.plane.get("pods", "-n", "default", "-l", f"app={name}")["items"]]

    def running(self, name):
        """Their uids."""
        return {pod["metadata"]["uid"] for pod in self.of(name) if pod["status"].get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")}

    def are(self):
        return [(pod["metadata"]["name"], pod["status"].get("phase"), pod["status"].get("conditions", [{}])[0].get("message", ""))
                for pod in self.plane.get("pods", "-n", "default")["items"]]


@case("real pods: a Deployment's wait for the startup taint, and run once the host is ready", start="kubernetes", makes="serving")
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
    node.kubelet.end()  # on the same containerd it removes what it does not know
    member = MemberKubelet(binaries.built(binaries.KUBERNETES) / "kubelet", node.containerd, node.place, node.cgroup, node=HOST,
                           kubeconfig=machine.kubelet, taint=TAINT)
    node.run_too(member)
    eventually(lambda: f"the kubelet makes its Node: {member.tail()}", lambda: plane.ask("get", "node", HOST).returncode == 0)
    plane.kubectl("patch", "node", HOST, "--subresource=status", "-p", '{"status":{"capacity":{"nvidia.com/gpu":"8"}}}')
    plane.kubectl("create", "rolebinding", "-n", "gpuhost", "candidate-drained", "--role=gpuhost-candidate", f"--user=gpuhost:host:{HOST}")
    plane.apply({"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"},
                 "spec": {"driver": {"version": machine.versions[0], "upgradePolicy": {"autoUpgrade": True}}}},
                workload("Deployment", "train", replicas=2))
    pods = Pods(plane)
    eventually("but for the taint the node is ready", lambda: [taint["key"] for taint in machine.node()["spec"].get("taints", [])] == [TAINT])
    eventually(lambda: f"the scheduler names what keeps them: {pods.are()}", lambda: any("untolerated taint" in message for _, _, message in pods.are()))
    assert not pods.running("train")
    node.run_too(machine)
    eventually(lambda: f"they run: {pods.are()} {member.tail()} {machine.tail()}", lambda: len(pods.running("train")) == 2)
    machine.reaches("upgrade-done")


@case("real pods: of every kind of owner leave within their budgets, and come back when the other driver serves", start="serving")
def whole_way(node):
    machine, plane, pods = node.machine, node.controlplane, Pods(node.controlplane)
    new = machine.versions[1]
    plane.apply(
        workload("DaemonSet", "agent", made=template("agent", gpu=False)),
        workload("StatefulSet", "db", serviceName="db", made=template("db", volumes=[{"name": "scratch", "emptyDir": {}}])),
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "batch", "namespace": "default"},
         "spec": {"template": template("batch", restartPolicy="Never")}},
        {"apiVersion": "v1", "kind": "Pod", **template("bare"), "metadata": {"name": "bare", "namespace": "default", "labels": {"app": "bare"}}},
        workload("Deployment", "web", made=template("web", gpu=False)),
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "train-budget", "namespace": "default"},
         "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "train"}}}})
    everybody = ("agent", "db", "batch", "bare", "web")
    eventually(lambda: f"all run: {pods.are()}", lambda: all(pods.running(name) for name in everybody))
    eventually("the budget is known", lambda: plane.get("pdb", "train-budget", "-n", "default").get("status", {}).get("disruptionsAllowed") == 1)
    before = {name: pods.running(name) for name in (*everybody, "train")}

    want(plane, new, podDeletion={"timeoutSeconds": 120})
    eventually(lambda: f"it refuses to lose anything: {machine.why()}", lambda: "default/bare" in machine.reason() and "default/db" in machine.reason())
    eventually(lambda: f"and serves meanwhile: {machine.why()}", lambda: not machine.node()["spec"].get("unschedulable"))
    assert all(pods.running(name) == before[name] for name in before), "nobody has left"

    want(plane, new, podDeletion={"timeoutSeconds": 120, "force": True, "deleteEmptyDir": True})
    plane.kubectl("annotate", "node", HOST, "nvidia.com/gpu-driver-upgrade-requested=true", "--overwrite")
    eventually(lambda: f"the budget is named: {machine.why()}", lambda: "train-budget" in machine.reason())
    eventually(lambda: f"one of two has left: {pods.are()} {machine.why()}", lambda: len(pods.running("train") & before["train"]) == 1)
    assert machine.host.loaded()["nvidia"] == machine.versions[0], machine.why()
    eventually(lambda: f"the others have left: {pods.are()}", lambda: not any(pods.running(name) & before[name] for name in ("db", "batch", "bare")))
    plane.kubectl("delete", "pdb", "train-budget")
    machine.reaches("upgrade-done", new)
    assert machine.host.loaded()["nvidia"] == new
    assert pods.running("agent") == before["agent"] and pods.running("web") == before["web"], "who has no GPU stays"
    eventually(lambda: f"controllers have made them again: {pods.are()}",
               lambda: len(pods.running("train")) == 2 and pods.running("db"))
    eventually("but the Job's, whose program ended well when it was asked to",
               lambda: plane.get("job", "batch", "-n", "default").get("status", {}).get("succeeded") == 1)
    assert not pods.running("train") & before["train"] and not pods.of("bare"), "a bare pod comes back with nobody"
    spread = [call for call in plane.calls(f"system:node:{HOST}") if call[1] == "pods/eviction"]
    assert len(spread) < 30, f"unhurried: {spread}"


@case("real pods: they end with the tests", start="serving")
def end(node):
    plane = node.controlplane
    for kind in ("deployments", "daemonsets", "statefulsets", "jobs", "pods"):
        plane.kubectl("delete", kind, "-n", "default", "--all", "--wait=false")
    eventually(lambda: f"they are gone: {Pods(plane).are()}", lambda: not plane.get("pods", "-n", "default")["items"])
    plane.kubectl("delete", "clusterpolicy", "--all")
    node.machine.end()
    plane.scheduler.end()
    plane.kubectl("delete", "node", "--all", "--wait=false")
    plane.kubectl("delete", "lease", "-n", "gpuhost", "--all")
