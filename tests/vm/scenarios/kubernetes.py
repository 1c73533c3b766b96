# SPDX-License-Identifier: Apache-2.0
"""A cluster upgrades a host with NVIDIA's real modules. The installed package joins a real API server, and
one patch of the policy changes the driver."""

import time

from rig import control_plane
from rig.case import case
from rig.guest import SERVER
from rig.tap import Skip

from . import expect
from .install import NEW, OLD

NODE = "gpuhost-vm"
STATE = "nvidia.com/gpu-driver-upgrade-state"
REASON = "gpuhost.io/upgrade-reason"
PATIENCE = 240  # under emulation a swap lasts half a minute
KUBELET = "/etc/kubernetes/kubelet.conf"
NETWORK = """[Unit]
DefaultDependencies=no
After=systemd-udevd.service
Before=gpuhost-cluster.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'modprobe virtio_net; i=$(ls /sys/class/net | grep -v lo); busybox ip link set $i up; busybox ip addr add 10.0.2.15/24 dev $i || true'
[Install]
WantedBy=multi-user.target
"""


def eventually(what, ask, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what()}"
        time.sleep(0.5)
    return answer


class Cluster:
    """The guest as the API server shows it."""
    def __init__(self, host):
        self.host, self.plane = host, host.control_plane

    def node(self):
        return self.plane.get("node", NODE)

    def state(self):
        return self.node()["metadata"].get("labels", {}).get(STATE, "")

    def why(self):
        annotations = self.node()["metadata"].get("annotations", {})
        return f"{self.state()}: {annotations} {self.host.check('journalctl -b -u gpuhost-cluster -o cat -n 20')}"

    def wants(self, version):
        self.plane.kubectl("patch", "clusterpolicies.nvidia.com/cluster-policy", "--type=json",
                           f'-p=[{{"op":"replace","path":"/spec/driver/version","value":"{version}"}}]')

    def reaches(self, version):
        """Waits for upgrade-done with this version and a schedulable Node."""
        def there():
            node = self.node()
            upgrade = node["metadata"].get("annotations", {}).get("gpuhost.io/upgrade", "")
            return self.state() == "upgrade-done" and f'"version":"{version}"' in upgrade and not node["spec"].get("unschedulable")
        eventually(self.why, there)

    def pod(self, name):
        """Creates a pod with a GPU, owned by a controller."""
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "00000000-0000-4000-8000-000000000000", "controller": True}
        status, answer = self.plane.admin_session.ask("POST", "/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {"nodeName": NODE, "automountServiceAccountToken": False, "containers": [
                {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})
        assert status == 201, answer

    def leaves(self, name):
        """Waits for the pod's eviction and deletes the pod, as its kubelet does."""
        path = f"/api/v1/namespaces/default/pods/{name}"
        eventually(self.why, lambda: self.plane.admin_session.ask("GET", path)[1]["metadata"].get("deletionTimestamp"))
        assert self.node()["spec"].get("unschedulable") and self.host.facts().proc == OLD, "the driver was swapped while the pod was there"
        self.plane.admin_session.ask("DELETE", path, {"gracePeriodSeconds": 0})


def connect(host):
    """Configures an interface, and sets the clock, which is late by the age of the snapshot."""
    host.check(f"date -s @{int(time.time())}")
    host.write("/etc/systemd/system/test-network.service", NETWORK)
    host.check("systemctl daemon-reload && systemctl enable -q --now test-network")


def provide(host, plane, node):
    """Creates the host's Node and writes the files that a host has before it joins. Hides Podman, the only
    runtime of the guest: kubelets can't use it, and gpuhost-cluster would report that."""
    host.check("mv /usr/bin/podman /usr/bin/podman-hidden && gpuhostctl apply --only runtime && gpuhostctl apply --only cdi")
    plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}, "spec": {"taints": [{"key": "gpuhost.io/not-ready", "effect": "NoSchedule"}]}})
    host.write(KUBELET, plane.guest_kubeconfig(plane.identity("kubelet", f"system:node:{node}", "system:nodes")), "0600")
    host.write("/root/ca.pem", (plane.pki / "ca.crt").read_text())
    host.write("/root/token", control_plane.TOKEN + "\n", "0600")


@case("a cluster upgrades the driver of a host, also after a reset", start="both", full=True)
def whole_way(host):
    cluster, plane = Cluster(host), host.control_plane
    if not plane:
        raise Skip("no API server: --control-plane was not given")
    plane.up()
    try:
        upgrade(host, cluster, plane)
    finally:
        plane.end()


def upgrade(host, cluster, plane):
    connect(host)
    plane.apply({"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"},
                 "spec": {"driver": {"version": OLD, "upgradePolicy": {"autoUpgrade": True}}}})
    plane.kubectl("create", "rolebinding", "-n", "gpuhost", "candidate", "--role=gpuhost-candidate", f"--user=gpuhost:host:{NODE}")
    host.write("/etc/gpuhost/gpuhostd.conf", "[Cluster]\nCandidate=yes\n")
    provide(host, plane, NODE)
    host.check("gpuhostctl reload")
    host.ctl_ok("cluster", "join", f"https://{SERVER}", "--ca=/root/ca.pem", "--token-file=/root/token", "--no-wait")
    request = eventually(lambda: host.check("journalctl -b -u gpuhost-cluster -o cat -n 20"), lambda: plane.get("csr")["items"])[0]
    plane.kubectl("certificate", "approve", request["metadata"]["name"])
    cluster.reaches(OLD)
    assert not [taint for taint in cluster.node()["spec"].get("taints", []) if taint["key"] == "gpuhost.io/not-ready"], "the taint of a ready host is still set"

    plane.manager.end()  # it would delete a pod whose owner it can't find, and pods of a Node without a kubelet
    cluster.pod("train")
    cluster.wants(NEW)
    cluster.leaves("train")
    cluster.reaches(NEW)
    expect.driver(host, NEW, host.srcversions(NEW))
    events = plane.kubectl("get", "events", "-n", "default", "--sort-by=.lastTimestamp")
    for state in ("upgrade-required", "cordon-required", "pod-restart-required", "validation-required", "upgrade-done"):
        assert f"Successfully updated node state label to {state}" in events and "GPUDriverUpgrade" in events, events
    shown = host.ctl_ok("cluster", "status").out
    assert "upgrade-done" in shown and "this host" in shown, shown
    assert host.check("ps -o user= -C gpuhost-cluster").strip() == "gpuhost"
    refused = [call for call in plane.calls(f"gpuhost:host:{NODE}") if call[3] == 403]
    assert not refused, f"requests were forbidden: {refused}"

    cluster.wants(OLD)
    eventually(cluster.why, lambda: cluster.state() == "pod-restart-required")
    time.sleep(2)
    host.reset()
    host.check(f"date -s @{int(time.time())} && mountpoint -q /payload || mount -o ro /dev/vdb /payload")
    cluster.reaches(OLD)
    expect.driver(host, OLD, host.srcversions(OLD))
