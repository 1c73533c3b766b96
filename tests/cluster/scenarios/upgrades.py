# SPDX-License-Identifier: Apache-2.0
"""One host upgrades its driver with a real API server. gpuhost-cluster has a host's own rights, gpuhostd runs
on a simulated kernel, and pods are moved with a kubelet's credentials."""

import json
import os
import re
import shutil
import time

import fake_host
import tap
from node.controlplane import Session, manifests, want
from node.gpuhost import find
from node.service import Service
from node.waiting import eventually
from rig.case import case

HOST = "upgrade01"
STATE = "nvidia.com/gpu-driver-upgrade-state"
CRD = "crd/cluster-policy-crd.yaml"


class Machine:
    """A host with GPUs that runs an old driver and has a new one in its store. It may be a candidate for
    the lead."""
    def __init__(self, node, name=HOST, candidate=True):
        tap.TOP_BUILDDIR = str(node.tests)
        self.name, self.candidate = name, candidate
        self.versions = fake_host.OLD, fake_host.NEW
        self.plane = node.controlplane
        self.host = fake_host.FakeHost()
        fake_host.prepare(self.host)
        self.agent = Service(f"gpuhost-cluster-{name}", node.place.logs)
        self.program = find(node.daemon.tree, "gpuhost-cluster")
        self.admin = Session(self.plane, "admin")

    def configure(self):
        host, kubelet = f"{self.name}-host", f"{self.name}-kubelet"
        self.copy(self.plane.identity(host, f"gpuhost:host:{self.name}", "gpuhost:hosts"), "/etc/gpuhost/cluster/kubeconfig")
        self.kubelet = self.plane.identity(kubelet, f"system:node:{self.name}", "system:nodes")
        self.copy(self.kubelet, "/etc/kubernetes/kubelet.conf")
        certificates = [str(self.plane.pki / name) for name in ("ca.crt", f"{kubelet}.crt", f"{kubelet}.key")]
        for path in (*certificates, str(self.plane.pki / f"{host}.crt"), str(self.plane.pki / f"{host}.key")):
            self.copy(path, path)
        files = " ".join(["/etc/kubernetes/kubelet.conf", *certificates])
        self.write("/etc/gpuhost/gpuhostd.conf", f"[Cluster]\nNodeName={self.name}\nCandidate={'yes' if self.candidate else 'no'}\nKubeletFiles={files}\n")
        os.makedirs(self.host.path("/run/gpuhost-cluster"), exist_ok=True)

    def copy(self, source, path):
        with open(source, encoding="utf-8") as file:
            self.write(path, file.read())

    def write(self, path, text):
        place = self.host.path(path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(place, 0o600)

    def run(self):
        self.host.start_daemon()
        self.host.settle()
        self.start_agent()

    def start_agent(self):
        self.agent.start([self.program, f"--root={self.host.root}"], DBUS_SYSTEM_BUS_ADDRESS=self.host.address)

    def kill(self):
        """Kills gpuhost-cluster only."""
        self.agent.process.kill()
        self.agent.process.wait()

    def end(self):
        self.agent.end()
        if self.host:
            self.host.close()
            self.host = None

    def tail(self):
        return self.agent.tail()

    def node(self):
        status, answer = self.admin.ask("GET", f"/api/v1/nodes/{self.name}")
        assert status == 200, answer
        return answer

    def state(self):
        return self.node()["metadata"].get("labels", {}).get(STATE, "")

    def why(self):
        return f"{self.state()} {self.node()['metadata'].get('annotations')} {self.agent.tail()}\n{self.host.tail()}"

    def reason(self):
        return self.node()["metadata"].get("annotations", {}).get("gpuhost.io/upgrade-reason", "")

    def reaches(self, state, version=None):
        """Waits for the state, and for a driver of `version` if given."""
        eventually(lambda: f"the state becomes {state}: {self.why()}",
                   lambda: self.state() == state and (not version or self.host.loaded().get("nvidia") == version), 120)

    def pod(self, name, **more):
        metadata = {"name": name, "namespace": "default", "labels": {"app": name}}
        if owner := more.pop("owner", None):
            metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": owner, "name": "x", "uid": "00000000-0000-4000-8000-000000000000", "controller": True}]
        status, answer = self.admin.ask("POST", "/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"nodeName": self.name, "terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False, "containers": [
                {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1"}}}], **more}})
        assert status == 201, answer
        running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": []}}
        self.admin.ask("PATCH", f"/api/v1/namespaces/default/pods/{name}/status", running, "strategic-merge-patch+json")

    def claim(self, name, driver):
        """Creates a ResourceClaim with a device of that driver, allocated as by a scheduler."""
        path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
        status, answer = self.admin.ask("POST", path, {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "namespace": "default"},
            "spec": {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": driver}}]}}})
        assert status == 201, answer
        results = [{"request": "one", "driver": driver, "pool": self.name, "device": "device-0"}]
        status, answer = self.admin.ask("PATCH", f"{path}/{name}/status", {"status": {"allocation": {"devices": {"results": results}}}}, "merge-patch+json")
        assert status == 200, answer

    def hold(self, pid, pod):
        """Adds a process of that pod that has the driver open."""
        process = f"/proc/{pid}"
        os.makedirs(self.host.path(f"{process}/fd"))
        os.symlink("../../../dev/nvidiactl", self.host.path(f"{process}/fd/3"))
        self.write(f"{process}/comm", "python3\n")
        slices = f"kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{pod.replace('-', '_')}.slice"
        self.write(f"{process}/cgroup", f"0::/{slices}/cri-containerd-{'0' * 64}.scope\n")

    def end_process(self, pid):
        shutil.rmtree(self.host.path(f"/proc/{pid}"))

    def pods(self):
        return {one["metadata"]["name"]: one for one in self.admin.ask("GET", "/api/v1/namespaces/default/pods")[1]["items"]}

    def leaving(self):
        return {name for name, pod in self.pods().items() if pod["metadata"].get("deletionTimestamp")}

    def end_pods(self):
        """Deletes the pods that are to terminate, as a kubelet does."""
        for name, one in self.pods().items():
            if one["metadata"].get("deletionTimestamp"):
                self.admin.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}", {"gracePeriodSeconds": 0})


@case("one host: a host with its ClusterPolicy's driver reaches upgrade-done", start="kubernetes", makes="upgrading")
def start(node):
    plane = node.controlplane
    plane.kubectl("apply", "-f", manifests() / CRD)
    plane.kubectl("wait", "--for=condition=Established", "crd/clusterpolicies.nvidia.com")
    eventually("pods can be created", lambda: plane.ask("get", "serviceaccount", "default", "-n", "default").returncode == 0)
    plane.manager.end()  # it would mark a Node without a kubelet as not ready
    machine = node.machine = Machine(node)
    machine.configure()
    plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": HOST}})
    plane.kubectl("create", "rolebinding", "-n", "gpuhost", "candidate-upgrade", "--role=gpuhost-candidate", f"--user=gpuhost:host:{HOST}")
    plane.apply({"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"},
                 "spec": {"driver": {"version": machine.versions[0], "upgradePolicy": {"autoUpgrade": True}}, "dcgm": {"enabled": True}}})
    node.run_too(machine)
    machine.reaches("upgrade-done")
    shown = machine.host.ctl("cluster", "policy", f"--root={machine.host.root}", check=0).stdout
    assert re.search(r"driver\.version +535\.261\.03 +ClusterPolicy cluster-policy", shown), shown
    assert re.search(r"dcgm\S* .*GPU Operator", shown), shown
    shown = machine.host.ctl("cluster", "status", f"--root={machine.host.root}", check=0).stdout
    assert "upgrade-done" in shown and "this host" in shown, shown


@case("one host: a patched version evicts its pods and swaps its driver", start="upgrading")
def whole_way(node):
    machine, plane = node.machine, node.controlplane
    old, new = machine.versions
    machine.pod("train", owner="ReplicaSet")
    machine.pod("plain-daemon", owner="DaemonSet", containers=[{"name": "main", "image": "x"}])
    plane.kubectl("patch", "clusterpolicies.nvidia.com/cluster-policy", "--type=json",
                  "-p", json.dumps([{"op": "replace", "path": "/spec/driver/version", "value": new}]))
    eventually(lambda: f"the pod is evicted: {machine.why()}", lambda: machine.pods()["train"]["metadata"].get("deletionTimestamp"))
    assert machine.state() == "pod-deletion-required" and machine.node()["spec"]["unschedulable"], machine.why()
    assert machine.host.loaded()["nvidia"] == old, "the driver was swapped while the pod was there"
    machine.end_pods()
    machine.reaches("upgrade-done")
    assert machine.host.loaded()["nvidia"] == new and not machine.node()["spec"].get("unschedulable"), machine.why()
    assert "plain-daemon" in machine.pods() and "train" not in machine.pods()
    evictions = [call for call in plane.calls(f"system:node:{HOST}") if call[1] == "pods/eviction"]
    assert [call[3] for call in evictions] == [201], evictions
    assert not [call for call in plane.calls(f"gpuhost:host:{HOST}") if call[3] == 403], "a request was forbidden"
    events = plane.kubectl("get", "events", "-n", "default")
    assert "Deleted workload pods on the node for the driver upgrade" in events, events


@case("one host: with autoUpgrade false it waits despite RollingUpdate", start="upgrading")
def paused(node):
    machine, plane = node.machine, node.controlplane
    runs = machine.host.loaded()["nvidia"]
    chart = {"daemonsets": {"updateStrategy": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "1"}}}
    wanted = next(one for one in machine.versions if one != runs)
    plane.kubectl("patch", "clusterpolicies.nvidia.com/cluster-policy", "--type=merge", "-p",
                  json.dumps({"spec": {**chart, "driver": {"version": wanted, "upgradePolicy": {"autoUpgrade": False}}}}))
    eventually(lambda: f"it reports that autoUpgrade is off: {machine.why()}", lambda: machine.reason() == f"the policy sets version {wanted}; autoUpgrade is off")
    time.sleep(2)
    assert not machine.state() and not machine.node()["spec"].get("unschedulable") and machine.host.loaded()["nvidia"] == runs, machine.why()
    want(plane, wanted)
    machine.reaches("upgrade-done", wanted)


@case("one host: pods with claims or with the driver open are evicted", start="upgrading")
def unasked(node):
    machine, plane = node.machine, node.controlplane
    runs = machine.host.loaded()["nvidia"]
    plain = {"containers": [{"name": "main", "image": "x"}], "owner": "ReplicaSet"}
    for name, driver in (("gpu", "gpu.nvidia.com"), ("nic", "nic.example.com")):
        machine.claim(name, driver)
        claims = {"resourceClaims": [{"name": "one", "resourceClaimName": name}]}
        machine.pod(f"claims-{name}", **plain, **claims)
    machine.pod("holds", **plain)
    machine.pod("idle", **plain)
    machine.pod("agent", **{**plain, "owner": "DaemonSet", "nodeSelector": {"nvidia.com/gpu.deploy.client": "true"}})
    machine.hold(4244, machine.pods()["agent"]["metadata"]["uid"])
    machine.hold(4242, machine.pods()["holds"]["metadata"]["uid"])
    want(plane, next(one for one in machine.versions if one != runs))
    eventually(lambda: f"both are evicted: {machine.leaving()} {machine.why()}", lambda: machine.leaving() >= {"claims-gpu", "holds"})
    machine.pod("late", **plain)
    machine.hold(4243, machine.pods()["late"]["metadata"]["uid"])
    machine.end_process(4242)
    machine.end_pods()
    eventually(lambda: f"so is a pod that was created meanwhile: {machine.leaving()} {machine.why()}", lambda: "late" in machine.leaving())
    assert machine.host.loaded()["nvidia"] == runs, machine.why()
    machine.end_process(4243)
    machine.end_pods()
    machine.reaches("pod-restart-required")
    for _ in range(10):
        time.sleep(0.3)
        assert machine.state() == "pod-restart-required", f"the swap did not wait for a DaemonSet's pod: {machine.why()}"
    machine.end_process(4244)
    machine.reaches("upgrade-done")
    assert machine.host.loaded()["nvidia"] != runs
    assert {"claims-nic", "idle", "agent"} <= set(machine.pods()) and not machine.leaving(), machine.pods().keys()


@case("one host: a DaemonSet pod with the driver blocks it, without evictions", start="upgrading")
def unpaused(node):
    machine, plane = node.machine, node.controlplane
    runs = machine.host.loaded()["nvidia"]
    plain = {"containers": [{"name": "main", "image": "x"}]}
    machine.pod("exporter", **plain, owner="DaemonSet")
    machine.pod("trains", owner="ReplicaSet")
    machine.hold(4245, machine.pods()["exporter"]["metadata"]["uid"])
    want(plane, next(one for one in machine.versions if one != runs))
    eventually(lambda: f"the reason names it: {machine.why()}", lambda: "default/exporter holds the driver" in machine.reason())
    eventually(lambda: f"the host is schedulable: {machine.why()}", lambda: not machine.node()["spec"].get("unschedulable"))
    assert not machine.leaving() and machine.host.loaded()["nvidia"] == runs, machine.why()
    machine.end_process(4245)
    for name in ("exporter", "trains"):
        machine.admin.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}", {"gracePeriodSeconds": 0})
    plane.kubectl("annotate", "node", HOST, "nvidia.com/gpu-driver-upgrade-requested=true")
    machine.reaches("upgrade-done")


@case("one host: a disruption budget is respected and named", start="upgrading")
def budget(node):
    machine, plane = node.machine, node.controlplane
    machine.pod("guarded", owner="ReplicaSet")
    plane.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "default"},
                 "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}})
    machine.admin.ask("PATCH", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web/status", {"status": {
        "observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}}, "merge-patch+json")
    try:
        runs = machine.host.loaded()["nvidia"]
        want(plane, next(one for one in machine.versions if one != runs), podDeletion={"timeoutSeconds": 14})
        eventually(lambda: f"the reason names the budget: {machine.why()}",
                   lambda: "web" in machine.reason())
        eventually(lambda: f"it times out, and is schedulable: {machine.why()}",
                   lambda: not machine.node()["spec"].get("unschedulable") and "did not end" in machine.reason())
        assert "guarded" in machine.pods() and machine.host.loaded()["nvidia"] == runs
        asked = [call for call in plane.calls(f"system:node:{HOST}") if call[1] == "pods/eviction" and call[2] == "guarded"]
        assert 2 <= len(asked) <= 6, f"unexpected number of evictions: {asked}"
    finally:
        plane.kubectl("delete", "pdb", "web")
        machine.admin.ask("DELETE", "/api/v1/namespaces/default/pods/guarded", {"gracePeriodSeconds": 0})
    plane.kubectl("annotate", "node", HOST, "nvidia.com/gpu-driver-upgrade-requested=true")
    machine.reaches("upgrade-done")


@case("one host: a version that is not in the store changes nothing", start="upgrading")
def missing(node):
    machine, plane = node.machine, node.controlplane
    runs = machine.host.loaded()["nvidia"]
    want(plane, "999.99.99")
    eventually(lambda: f"it reports the missing version: {machine.why()}",
               lambda: "999.99.99" in machine.reason())
    time.sleep(2)
    assert machine.state() == "upgrade-required" and not machine.node()["spec"].get("unschedulable"), machine.why()
    assert machine.host.loaded()["nvidia"] == runs
    want(plane, runs)
    machine.reaches("upgrade-done")


@case("one host: without a kubelet's kubeconfig its Node is not cordoned", start="upgrading")
def no_kubelet(node):
    machine, plane = node.machine, node.controlplane
    runs = machine.host.loaded()["nvidia"]
    path = machine.host.path("/etc/kubernetes/kubelet.conf")
    os.rename(path, path + ".away")
    try:
        want(plane, next(one for one in machine.versions if one != runs))
        eventually(lambda: f"it reports the reason: {machine.why()}", lambda: "kubeconfig of the kubelet: not found" in machine.reason())
        time.sleep(2)
        assert machine.state() == "upgrade-required" and not machine.node()["spec"].get("unschedulable"), machine.why()
        assert machine.host.loaded()["nvidia"] == runs
    finally:
        os.rename(path + ".away", path)
    machine.reaches("upgrade-done")
    assert machine.host.loaded()["nvidia"] != runs


@case("one host: it continues its upgrade after it is killed", start="upgrading")
def killed(node):
    machine, plane = node.machine, node.controlplane
    for number in range(4):
        runs = machine.host.loaded()["nvidia"]
        wanted = next(one for one in machine.versions if one != runs)
        want(plane, wanted)
        for _ in range(3):
            time.sleep(0.3 + 0.4 * number)
            machine.kill()
            if number % 2:
                machine.host.kill_daemon()
                machine.host.start_daemon()
            machine.start_agent()
        eventually(lambda: f"it runs {wanted}: {machine.why()}",  # noqa: B023
                   lambda: machine.state() == "upgrade-done" and machine.host.loaded().get("nvidia") == wanted, 120)  # noqa: B023 pylint: disable=cell-var-from-loop
        assert not machine.node()["spec"].get("unschedulable"), machine.why()


@case("one host: its programs end and its objects are deleted", start="upgrading")
def end(node):
    machine, plane = node.machine, node.controlplane
    plane.kubectl("delete", "clusterpolicy", "--all")
    plane.kubectl("delete", "node", HOST)
    plane.kubectl("delete", "lease", "-n", "gpuhost", "--all")
    plane.kubectl("delete", "pods", "-n", "default", "--all", "--force")
    machine.end()
    plane.start_manager()
