# SPDX-License-Identifier: Apache-2.0
"""Ten hosts upgrade their driver with a real API server. Each has its own gpuhostd, on a simulated kernel,
and its own gpuhost-cluster with the rights of a host. Three of them are candidates for the lead."""

import json
import time

from node.controlplane import manifests, want
from node.waiting import eventually
from rig.case import case
from scenarios.fleet import RECORD, STATE, UNDER_WAY
from scenarios.kubernetes import MOST_KIB, own_kib
from scenarios.upgrades import CRD, Machine

NAMES = [f"host{number:02}" for number in range(1, 11)]
CANDIDATES = NAMES[:3]
AT_A_TIME = 3


class Hosts:
    def __init__(self, node):
        self.plane = node.controlplane
        self.machines = [Machine(node, name, candidate=name in CANDIDATES) for name in NAMES]
        self.admin = self.machines[0].admin

    def run(self):
        for machine in self.machines:
            machine.configure()
            machine.run()

    def end(self):
        for machine in self.machines:
            machine.end()

    def tail(self):
        return "\n".join(machine.tail() for machine in self.machines)

    def nodes(self):
        status, answer = self.admin.ask("GET", "/api/v1/nodes")
        assert status == 200, answer
        return {one["metadata"]["name"]: one for one in answer["items"]}

    def busy(self):
        return {name for name, one in self.nodes().items() if one["metadata"]["labels"].get(STATE) in UNDER_WAY or one["spec"].get("unschedulable")}

    def done(self, version):
        return {name for name, one in self.nodes().items() if one["metadata"]["labels"].get(STATE) == "upgrade-done"
                and json.loads(one["metadata"]["annotations"][RECORD])["version"] == version}

    def leader(self):
        status, lease = self.admin.ask("GET", "/apis/coordination.k8s.io/v1/namespaces/gpuhost/leases/gpuhost-leader")
        name = lease["spec"]["holderIdentity"] if status == 200 else ""
        return next((machine for machine in self.machines if machine.name == name), None)


@case("ten hosts upgrade at most three at a time, even after kills", start="kubernetes", independent=True)
def ten(node):
    plane = node.controlplane
    plane.kubectl("apply", "-f", manifests() / CRD)
    plane.kubectl("wait", "--for=condition=Established", "crd/clusterpolicies.nvidia.com")
    plane.manager.end()  # it would mark Nodes without a kubelet as not ready
    plane.kubectl("delete", "nodes", "--all", "--wait=false")
    plane.apply(*[{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"rack": name[-1]}}} for name in NAMES])
    for name in CANDIDATES:
        plane.kubectl("create", "rolebinding", "-n", "gpuhost", f"candidate-{name}", "--role=gpuhost-candidate", f"--user=gpuhost:host:{name}")
    hosts = Hosts(node)
    old, new = hosts.machines[0].versions
    plane.apply({"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"},
                 "spec": {"driver": {"version": old, "upgradePolicy": {"autoUpgrade": True}}}})
    try:
        hosts.run()
        eventually(lambda: f"all run {old}: {hosts.done(old)} {hosts.tail()}", lambda: hosts.done(old) == set(NAMES), 180)
        want(plane, new, maxParallelUpgrades=AT_A_TIME, maxUnavailable="100%")
        most, killed, end = 0, False, time.monotonic() + 300
        while hosts.done(new) != set(NAMES):
            most = max(most, len(hosts.busy()))
            assert most <= AT_A_TIME, f"{hosts.busy()} {hosts.tail()}"
            assert time.monotonic() < end, f"{hosts.done(new)} {hosts.tail()}"
            if not killed and len(hosts.done(new)) >= AT_A_TIME and (leader := hosts.leader()):
                leader.kill()
                leader.start_agent()
                killed = True
            time.sleep(0.1)
        assert killed
        assert all(machine.host.loaded()["nvidia"] == new for machine in hosts.machines)
        for machine in hosts.machines:
            refused = [call for call in plane.calls(f"gpuhost:host:{machine.name}") if call[3] == 403]
            assert not refused, f"{machine.name}: requests were forbidden: {refused}"
            assert own_kib(machine.agent.process.pid) < MOST_KIB, own_kib(machine.agent.process.pid)
    finally:
        hosts.end()
        plane.kubectl("delete", "clusterpolicy", "--all")
        plane.kubectl("delete", "nodes", "--all", "--wait=false")
        plane.kubectl("delete", "lease", "-n", "gpuhost", "--all")
        plane.start_manager()
