# SPDX-License-Identifier: Apache-2.0
"""gpuhost-cluster with a real API server: a host joins and reports its state. rights.py tests its rights."""

import json
import os
import re
import time
from contextlib import contextmanager
from pathlib import Path

from node import binaries
from node.controlplane import ControlPlane, manifests
from node.gpuhost import find
from node.kubelet import MemberKubelet
from node.service import Service
from node.waiting import eventually
from rig.case import case

HOST = "gpu01"
USER = f"gpuhost:host:{HOST}"
TAINT = "gpuhost.io/not-ready"
TOKEN = "abcdef.0123456789abcdef"
IDLE_SECONDS = 300 if os.environ.get("FULL") == "1" else 30
MOST_KIB = 16 << 10  # private memory of gpuhost-cluster


def node_object(name, *taints):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"site": "a"}, "annotations": {"site": "a"}},
            "spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]}}


def bootstrap_secret():
    ident, _, secret = TOKEN.partition(".")
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"bootstrap-token-{ident}", "namespace": "kube-system"},
            "type": "bootstrap.kubernetes.io/token",
            "stringData": {"token-id": ident, "token-secret": secret, "usage-bootstrap-authentication": "true",
                           "auth-extra-groups": "system:bootstrappers:gpuhost"}}


@case("a control plane starts with the rights of hosts", start="node", makes="kubernetes")
def start(node):
    node.controlplane = ControlPlane(binaries.built(binaries.CONTROL_PLANE), node.place)
    node.run_too(node.controlplane)
    plane = node.controlplane
    for name in ("host.yaml", "host-policy.yaml"):
        plane.kubectl("apply", "-f", manifests() / name)
    plane.apply(bootstrap_secret())
    node.agent = Agent(node)


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


def own_kib(pid):
    """Returns the process's private memory in KiB."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
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


@case("a host joins with a bootstrap token and an approved certificate", start="kubernetes", makes="joined")
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
        eventually(lambda: f"it is connected: {agent.tail()}", agent.is_connected)
        eventually(lambda: f"its Node has three conditions: {agent.tail()}", lambda: len(conditions(node)) == 3)
        assert oct((agent.root / "var/lib/gpuhost/cluster/client.pem").stat().st_mode & 0o777) == "0o600"
    assert any(call[1] == "nodes" for call in plane.calls(USER)), "no request used its own certificate"


@case("a ready host sets its conditions and removes only its startup taint", start="joined")
def ready(node):
    plane = node.controlplane
    with running(node) as agent:
        eventually(lambda: f"it is ready: {agent.status()}", lambda: conditions(node).get("gpuhost.io/DriverReady") == "True")
        eventually(lambda: f"its taint is removed: {agent.status()}", lambda: TAINT not in taint_keys(node))
        assert "other" in taint_keys(node), "a taint of another owner was removed"
        assert taint_keys(node, "gpu02")[:1] == [TAINT] and not conditions(node, "gpu02"), "another host's Node was changed"
        shown = plane.kubectl("describe", "node", HOST)
        assert "gpuhost.io/DriverReady" in shown and "has no NVIDIA GPU" in shown, shown


@case("a host updates its Node after the API server was unreachable", start="joined")
def away(node):
    plane = node.controlplane
    with running(node) as agent:
        eventually("it is connected", agent.is_connected)
        plane.stop_api()
        eventually("it reports that it is disconnected", lambda: agent.status().get("state") == "disconnected")
        node.daemon.ask("status")
        plane.start_api()
        plane.kubectl("taint", "node", HOST, f"{TAINT}:NoSchedule")
        eventually(lambda: f"the taint is removed: {agent.tail()}", lambda: TAINT not in taint_keys(node))
        plane.kubectl("delete", "node", HOST)
        eventually("it reports that it has no Node", lambda: agent.status().get("state") == "no-node")
        plane.apply(node_object(HOST, TAINT))
        eventually("a new Node gets all conditions and loses its taint", lambda: len(conditions(node)) == 3 and TAINT not in taint_keys(node))


@case("an idle host sends only heartbeats and needs little memory", start="joined")
def idle(node):
    plane = node.controlplane
    with running(node) as agent:
        eventually("it is connected", agent.is_connected)
        eventually("its Node has three conditions", lambda: len(conditions(node)) == 3)
        time.sleep(3)
        before = len(plane.calls(USER))
        time.sleep(IDLE_SECONDS)
        new = plane.calls(USER)[before:]
        heartbeats = [call for call in new if call[0] == "patch" and call[1] == "nodes/status"]
        assert len(new) == len(heartbeats) and len(heartbeats) <= 1 + IDLE_SECONDS // 270, f"in {IDLE_SECONDS} s: {new}"
        print(f"# gpuhost-cluster: {own_kib(agent.process.pid)} KiB of private memory")
        assert own_kib(agent.process.pid) < MOST_KIB, own_kib(agent.process.pid)


@case("a kubelet with a startup taint preserves the host's conditions", start="joined")
def kubelet(node):
    plane = node.controlplane
    plane.kubectl("delete", "node", HOST)
    with running(node) as agent, registering(node):
        eventually(lambda: f"the host has set three conditions: {agent.tail()}", lambda: node_exists(plane) and len(conditions(node)) == 3)
        eventually(lambda: f"the taint is removed: {agent.tail()}", lambda: TAINT not in taint_keys(node))
        beats = heartbeat(plane)
        eventually("the kubelet has written its status again", lambda: heartbeat(plane) > beats)
        assert len(conditions(node)) == 3 and TAINT not in taint_keys(node), conditions(node)
        before = len(plane.calls(USER))
        time.sleep(10)
        assert not plane.calls(USER)[before:], "a kubelet's heartbeats caused calls"


@contextmanager
def registering(node):
    """Starts a kubelet, which creates the host's Node, once the host has reported that it has none. Ends
    the kubelet afterwards, because it would remove the containers of another kubelet on the same
    containerd."""
    member = MemberKubelet(binaries.built(binaries.KUBERNETES) / "kubelet", node.containerd, node.place, node.cgroup, node=HOST,
                           kubeconfig=node.controlplane.identity("kubelet", f"system:node:{HOST}", "system:nodes"), taint=TAINT)
    eventually("it reports that it has no Node", lambda: node.agent.status().get("state") == "no-node")
    member.run()
    try:
        eventually(lambda: f"the Node exists: {member.tail()}", lambda: node_exists(node.controlplane))
        yield
    finally:
        member.end()


def node_exists(plane):
    return plane.ask("get", "node", HOST).returncode == 0


def heartbeat(plane):
    return next(one["lastHeartbeatTime"] for one in plane.get("node", HOST)["status"]["conditions"] if one["type"] == "Ready")
