# SPDX-License-Identifier: Apache-2.0
"""gpuhost-cluster with a real API server: a host joins, says what it is, and may do nothing else."""

import json
import os
import re
import ssl
import time
from contextlib import contextmanager
from http.client import HTTPSConnection

from node import binaries
from node.controlplane import ControlPlane, manifests
from node.gpuhost import find
from node.kubelet import MemberKubelet
from node.service import Service
from node.waiting import eventually
from rig.case import case

HOST = "gpu01"
USER, GROUP = f"gpuhost:host:{HOST}", "gpuhost:hosts"
TAINT = "gpuhost.io/not-ready"
TOKEN = "abcdef.0123456789abcdef"
IDLE_SECONDS = 300 if os.environ.get("FULL") == "1" else 30
MOST_KIB = 16 << 10  # of memory that is gpuhost-cluster's own


def node_object(name, *taints):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"site": "a"}, "annotations": {"site": "a"}},
            "spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]}}


def bootstrap_secret():
    ident, _, secret = TOKEN.partition(".")
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"bootstrap-token-{ident}", "namespace": "kube-system"},
            "type": "bootstrap.kubernetes.io/token",
            "stringData": {"token-id": ident, "token-secret": secret, "usage-bootstrap-authentication": "true",
                           "auth-extra-groups": "system:bootstrappers:gpuhost"}}


@case("a control plane, with the rights of hosts", start="node", makes="kubernetes")
def start(node):
    node.controlplane = ControlPlane(binaries.built(binaries.CONTROL_PLANE), node.place)
    node.run_too(node.controlplane)
    plane = node.controlplane
    for name in ("host.yaml", "host-policy.yaml"):
        plane.kubectl("apply", "-f", manifests() / name)
    checked = eventually("the policy is looked at", lambda: plane.get("validatingadmissionpolicy", "gpuhost-host").get("status", {}).get("observedGeneration"))
    assert checked and not plane.get("validatingadmissionpolicy", "gpuhost-host")["status"].get("typeChecking", {}).get("expressionWarnings"), "it has no warnings"
    plane.apply(bootstrap_secret())
    node.agent = Agent(node)


# What a host may do


class Rights:
    """A host's own requests, by HTTPS."""
    def __init__(self, plane):
        plane.identity("rights", USER, GROUP)
        context = ssl.create_default_context(cafile=str(plane.pki / "ca.crt"))
        context.load_cert_chain(plane.pki / "rights.crt", plane.pki / "rights.key")
        self.connection = HTTPSConnection("127.0.0.1", int(plane.url.rpartition(":")[2]), context=context)

    def ask(self, method, path, body=None, kind="application/json"):
        """(status, message)"""
        self.connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": kind, "Accept": "application/json"})
        answer = self.connection.getresponse()
        data = answer.read()
        try:
            return answer.status, json.loads(data).get("message", "")
        except ValueError:
            return answer.status, data.decode(errors="replace")

    def patch(self, path, body, kind="merge"):
        return self.ask("PATCH", path, body, f"application/{kind}-patch+json")


OWN, OWN_STATUS, OTHER = f"/api/v1/nodes/{HOST}", f"/api/v1/nodes/{HOST}/status", "/api/v1/nodes/gpu02"


def condition(kind):
    return {"status": {"conditions": [{"type": kind, "status": "True", "reason": "R", "message": "m"}]}}


def taints(*keys):
    return {"spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in keys]}}


# Each leaves the Node so that the next one changes something.
ALLOWED = (
    (OWN, {"metadata": {"labels": {"nvidia.com/gpu.present": "true", "gpuhost.io/x": "1"}}}, "merge"),
    (OWN, {"metadata": {"labels": {"nvidia.com/gpu.present": None, "gpuhost.io/x": "2"}}}, "merge"),
    (OWN, {"metadata": {"annotations": {"gpuhost.io/x": "1"}}}, "strategic-merge"),
    (OWN, taints("other", TAINT, "readiness.k8s.io/gpu", "startup-taint.cluster-autoscaler.kubernetes.io/gpu"), "merge"),
    (OWN, taints("other"), "merge"),
    (OWN_STATUS, condition("gpuhost.io/DriverReady"), "strategic-merge"),
    (OWN, [{"op": "add", "path": "/metadata/labels/gpuhost.io~1x", "value": "3"}], "json"),
)
# (what of it the policy names, the request)
FORBIDDEN = (
    ("is not the host of node", (OTHER, {"metadata": {"labels": {"gpuhost.io/x": "1"}}}, "merge")),
    ("is not the host of node", (OTHER + "/status", condition("gpuhost.io/DriverReady"), "strategic-merge")),
    ("of labels", (OWN, {"metadata": {"labels": {"site": "b"}}}, "merge")),
    ("of labels", (OWN, {"metadata": {"labels": {"site": None}}}, "merge")),
    ("of labels", (OWN, {"metadata": {"labels": {"nvidia.com/gpu.product": "x"}}}, "merge")),
    ("of labels", (OWN, {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}, "merge")),
    ("of labels", (OWN, {"metadata": {"labels": None}}, "merge")),
    ("of labels", (OWN_STATUS, {"metadata": {"labels": {"site": "b"}}}, "merge")),
    ("of annotations", (OWN, {"metadata": {"annotations": {"site": "b"}}}, "merge")),
    ("of annotations", (OWN, {"metadata": {"annotations": None}}, "merge")),
    ("finalizers", (OWN, {"metadata": {"finalizers": ["site/x"]}}, "merge")),
    ("finalizers", (OWN, {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "b"}]}}, "merge")),
    ("of taints", (OWN, taints(), "merge")),
    ("of taints", (OWN, taints("other", "node.kubernetes.io/unschedulable"), "merge")),
    ("of taints", (OWN, {"spec": {"taints": [{"key": "other", "effect": "NoExecute"}]}}, "merge")),
    ("of taints", (OWN, [{"op": "remove", "path": "/spec/taints"}], "json")),
    ("of the spec", (OWN, {"spec": {"unschedulable": True}}, "merge")),
    ("of the spec", (OWN, {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}}, "merge")),
    ("of the spec", (OWN, {"spec": {"providerID": "x://y"}}, "merge")),
    ("of conditions", (OWN_STATUS, condition("Ready"), "strategic-merge")),
    ("of conditions", (OWN_STATUS, condition("gpuhost.iox/DriverReady"), "strategic-merge")),
    ("of the status", (OWN_STATUS, {"status": {"capacity": {"nvidia.com/gpu": "8"}}}, "merge")),
    ("of the status", (OWN_STATUS, {"status": {"allocatable": {"nvidia.com/gpu": "8"}}}, "merge")),
    ("of the status", (OWN_STATUS, {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}}, "merge")),
    ("of the status", (OWN_STATUS, {"status": {"nodeInfo": {"kernelVersion": "x"}}}, "merge")),
    ("of the status", (OWN_STATUS, {"status": {"images": [{"names": ["a"]}]}}, "merge")),
    ("of the status", (OWN_STATUS, {"status": {"volumesInUse": ["a"]}}, "merge")),
    ("of the status", (OWN_STATUS, {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}}, "merge")),
)
MAY = {("nodes", "get"), ("nodes", "list"), ("nodes", "watch"), ("nodes", "patch"), ("nodes/status", "patch"),
       *(("certificatesigningrequests", verb) for verb in ("create", "get", "list", "watch")),
       # What everybody may ask about himself (system:basic-user).
       *((name, "create") for name in ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"))}
VERBS = ("create", "get", "list", "watch", "update", "patch", "delete", "deletecollection")


@case("a host may change what is its own to say, on its own Node", start="kubernetes")
def own_node(node):
    plane = node.controlplane
    plane.apply(node_object(HOST, "other"), node_object("gpu02"))
    plane.manager.end()  # it has taints of its own for a Node without a kubelet
    plane.kubectl("patch", "node", HOST, "--type=merge", "-p", json.dumps(taints("other")))
    rights = Rights(plane)
    for path, body, kind in ALLOWED:
        status, message = rights.patch(path, body, kind)
        assert status == 200, f"{path} {body}: {status} {message}"
    before = plane.get("nodes")
    for words, (path, body, kind) in FORBIDDEN:
        status, message = rights.patch(path, body, kind)
        assert status == 422 and words in message, f"{path} {body}: {status} {message}"
    kept = [{key: one[key] for key in ("metadata", "spec")} for one in before["items"]]
    assert kept == [{key: one[key] for key in ("metadata", "spec")} for one in plane.get("nodes")["items"]], "nothing of it was done"
    plane.start_manager()


@case("a host may do nothing else", start="kubernetes")
def nothing_else(node):
    """Each verb on each resource, by what the server itself answers to the question whether it may."""
    plane = node.controlplane
    rights = Rights(plane)
    groups = [("", "v1")]
    groups += [(one["name"], one["preferredVersion"]["version"]) for one in json.loads(plane.kubectl("get", "--raw", "/apis"))["groups"]]
    asked = 0
    for group, version in groups:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        for resource in json.loads(plane.kubectl("get", "--raw", path))["resources"]:
            name, _, sub = resource["name"].partition("/")
            for verb in VERBS:
                status, answer = review(rights, group, name, sub, verb)
                assert status == 201, answer
                allowed = (resource["name"], verb) in MAY
                assert answer == allowed, f"{verb} {resource['name']} of '{group}': {answer}"
                asked += 1
    assert asked > 500, asked
    for method, path in (("POST", "/api/v1/nodes"), ("PUT", OWN), ("DELETE", OWN), ("DELETE", "/api/v1/nodes"), ("GET", "/api/v1/pods"),
                         ("GET", "/api/v1/namespaces/kube-system/secrets"), ("POST", "/api/v1/namespaces/default/pods"), ("GET", OWN + "/proxy/"),
                         ("PUT", "/apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval")):
        status, message = rights.ask(method, path, node_object("x") if method in ("POST", "PUT") else None)
        assert status == 403 and USER in message, f"{method} {path}: {status} {message}"


def review(rights, group, name, sub, verb):
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"group": group, "resource": name, "subresource": sub, "verb": verb}}}
    rights.connection.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json.dumps(body), {"Content-Type": "application/json"})
    answer = rights.connection.getresponse()
    document = json.loads(answer.read())
    return answer.status, document.get("status", {}).get("allowed", document)


@case("without admission policies a host can do what it has to", start="kubernetes")
def no_policy(node):
    plane = node.controlplane
    plane.kubectl("delete", "-f", manifests() / "host-policy.yaml")
    try:
        rights = Rights(plane)
        eventually("the policy is gone", lambda: rights.patch(OTHER, {"metadata": {"labels": {"gpuhost.io/x": str(time.time())[:10]}}})[0] == 200)
        for path, body, kind in ALLOWED:
            status, message = rights.patch(path, body, kind)
            assert status == 200, f"{path} {body}: {status} {message}"
    finally:
        plane.kubectl("apply", "-f", manifests() / "host-policy.yaml")
        eventually("the policy is back", lambda: Rights(plane).patch(OTHER, {"metadata": {"labels": {"gpuhost.io/x": "never"}}})[0] == 422)


# What gpuhost-cluster does


class Agent(Service):
    def __init__(self, node):
        super().__init__("gpuhost-cluster", node.place.logs)
        self.node = node
        self.root = node.daemon.root
        (self.root / "proc/sys/kernel/hostname").write_text(HOST + "\n")
        for directory in ("run/gpuhost-cluster", "var/lib/gpuhost/cluster"):
            (self.root / directory).mkdir(parents=True, exist_ok=True)
        self.program = find(node.daemon.tree, "gpuhost-cluster")

    def run(self):
        self.start([self.program, f"--root={self.root}"], DBUS_SYSTEM_BUS_ADDRESS=self.node.daemon.bus.address)

    def status(self):
        try:
            return json.loads((self.root / "run/gpuhost-cluster/status.json").read_text())
        except (OSError, ValueError):
            return {}

    def is_connected(self):
        self.check_alive()
        return self.status().get("state") == "connected"

    def own_kib(self):
        """Its private memory: what other programs do not share with it."""
        rollup = open(f"/proc/{self.process.pid}/smaps_rollup", encoding="ascii").read()
        return sum(int(size) for size in re.findall(r"^Private_\w+:\s+(\d+) kB", rollup, re.M))


@contextmanager
def running(node):
    node.agent.run()
    try:
        yield node.agent
    finally:
        node.agent.end()


def conditions(node, name=HOST):
    shown = node.controlplane.get("node", name)
    return {one["type"]: one["status"] for one in shown["status"].get("conditions", []) if one["type"].startswith("gpuhost.io/")}


def taint_keys(node, name=HOST):
    return [taint["key"] for taint in node.controlplane.get("node", name)["spec"].get("taints", [])]


@case("a host joins by a bootstrap token, and its certificate is approved", start="kubernetes", makes="joined")
def join(node):
    plane, agent = node.controlplane, node.agent
    plane.kubectl("delete", "node", "--all")
    plane.apply(node_object(HOST, "other", TAINT), node_object("gpu02", TAINT))
    token = node.work / "token"
    token.write_text(TOKEN + "\n")
    node.daemon.ctl("cluster", "join", plane.url, f"--ca={plane.pki}/ca.crt", f"--token-file={token}", f"--root={agent.root}")
    with running(node):
        request = eventually(lambda: f"a request for a certificate: {agent.tail()}", lambda: plane.get("csr")["items"])[0]
        spec = request["spec"]
        assert spec["signerName"] == "kubernetes.io/kube-apiserver-client" and spec["username"] == f"system:bootstrap:{TOKEN[:6]}", spec
        plane.kubectl("certificate", "approve", request["metadata"]["name"])
        eventually(lambda: f"it is in the cluster: {agent.tail()}", agent.is_connected)
        eventually(lambda: f"its Node says what it is: {agent.tail()}", lambda: len(conditions(node)) == 3)
        assert oct((agent.root / "var/lib/gpuhost/cluster/client.pem").stat().st_mode & 0o777) == "0o600"
    assert any(call[1] == "nodes" for call in plane.calls(USER)), "by its own certificate"


@case("the Node of a host that is ready says so and loses its startup taint alone", start="joined")
def ready(node):
    plane = node.controlplane
    with running(node) as agent:
        eventually(lambda: f"it is ready: {agent.status()}", lambda: conditions(node).get("gpuhost.io/DriverReady") == "True")
        eventually(lambda: f"its taint is gone: {agent.status()}", lambda: TAINT not in taint_keys(node))
        assert "other" in taint_keys(node), "somebody else's stays"
        assert taint_keys(node, "gpu02")[:1] == [TAINT] and not conditions(node, "gpu02"), "another host's Node is not touched"
        shown = plane.kubectl("describe", "node", HOST)
        assert "gpuhost.io/DriverReady" in shown and "has no NVIDIA GPU" in shown, shown


@case("a server that is away is caught up with", start="joined")
def away(node):
    plane = node.controlplane
    with running(node) as agent:
        eventually("it is connected", agent.is_connected)
        plane.stop_api()
        eventually("it says that it is not", lambda: agent.status().get("state") == "disconnected")
        node.daemon.ask("status")
        plane.start_api()
        plane.kubectl("taint", "node", HOST, f"{TAINT}:NoSchedule")
        eventually(lambda: f"the taint is gone: {agent.tail()}", lambda: TAINT not in taint_keys(node))
        plane.kubectl("delete", "node", HOST)
        eventually("it sees that its Node is gone", lambda: agent.status().get("state") == "no-node")
        plane.apply(node_object(HOST, TAINT))
        eventually("a new one is told all", lambda: len(conditions(node)) == 3 and TAINT not in taint_keys(node))


@case("while nothing changes a host makes no call, and it is small", start="joined")
def idle(node):
    plane = node.controlplane
    with running(node) as agent:
        eventually("it is connected", agent.is_connected)
        eventually("its Node says it", lambda: len(conditions(node)) == 3)
        time.sleep(3)
        before = len(plane.calls(USER))
        time.sleep(IDLE_SECONDS)
        new = plane.calls(USER)[before:]
        assert not new, f"in {IDLE_SECONDS} s: {new}"
        print(f"# gpuhost-cluster: {agent.own_kib()} KiB of its own")
        assert agent.own_kib() < MOST_KIB, agent.own_kib()


@case("a kubelet registers with a startup taint, and keeps what the host says on its Node", start="joined")
def kubelet(node):
    plane = node.controlplane
    plane.kubectl("delete", "node", HOST)
    member = MemberKubelet(binaries.built(binaries.KUBERNETES) / "kubelet", node.containerd, node.place, node.cgroup, node=HOST,
                           kubeconfig=plane.identity("kubelet", f"system:node:{HOST}", "system:nodes"), taint=TAINT)
    with running(node) as agent:
        eventually("it sees that its Node is gone", lambda: agent.status().get("state") == "no-node")
        node.run_too(member)
        eventually(lambda: f"the host says that it is ready: {member.tail()} {agent.tail()}", lambda: node_exists(plane) and len(conditions(node)) == 3)
        eventually(lambda: f"the taint is gone: {agent.tail()}", lambda: TAINT not in taint_keys(node))
        beats = heartbeat(plane)
        eventually("the kubelet has written its status some more", lambda: heartbeat(plane) > beats)
        assert len(conditions(node)) == 3 and TAINT not in taint_keys(node), conditions(node)
        before = len(plane.calls(USER))
        time.sleep(10)
        assert not plane.calls(USER)[before:], "a kubelet's heartbeats are no reason to call"


def node_exists(plane):
    return plane.ask("get", "node", HOST).returncode == 0


def heartbeat(plane):
    return next(one["lastHeartbeatTime"] for one in plane.get("node", HOST)["status"]["conditions"] if one["type"] == "Ready")
