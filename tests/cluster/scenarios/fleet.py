# SPDX-License-Identifier: Apache-2.0
"""A fleet upgrades its driver with a real API server: agents of gpuhost-cluster for many hosts with
simulated drivers."""

import collections
import contextlib
import http.server
import json
import os
import random
import shutil
import threading
import time

import programs
from node.controlplane import Session
from node.gpuhost import find
from node.service import Service
from node.waiting import eventually
from rig.case import case

OLD, NEW = "535.216.01", "550.163.01"
STATE = "nvidia.com/gpu-driver-upgrade-state"
SKIP = "nvidia.com/gpu-driver-upgrade.skip"
RECORD = "gpuhost.io/upgrade"
REASON = "gpuhost.io/upgrade-reason"
UNDER_WAY = {"cordon-required", "wait-for-jobs-required", "pod-deletion-required", "drain-required", "pod-restart-required",
             "validation-required", "uncordon-required"}
FULL = os.environ.get("FULL") == "1"
MOST_CALLS = 25  # for each host and upgrade
NODES = "/api/v1/nodes"


class Hosts(Service):
    """Several hosts of the fleet in one process."""
    def __init__(self, node, name, *options):
        super().__init__(name, node.place.logs)
        self.command = [node.tests / "tests/cluster/fleet/fleet", f"--kubeconfig={node.controlplane.admin}", *options]

    def run(self):
        self.start(self.command)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None


class Prometheus(http.server.ThreadingHTTPServer):
    """A server with `firing` alerts. The timestamps in its answers differ each time."""
    daemon_threads = True

    def __init__(self):
        self.firing, self.asked = [], 0
        super().__init__(("127.0.0.1", 0), PrometheusHandler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class PrometheusHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.asked += 1
        result = [{"metric": {"alertname": name, "alertstate": "firing"}, "value": [time.time(), "1"]} for name in self.server.firing]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode())


class Fleet:
    """`count` hosts whose Nodes exist and are ready. The controller manager is stopped: without a kubelet
    it would mark the Nodes as not ready."""
    def __init__(self, node, count):
        self.plane = node.controlplane
        self.node = node
        self.admin = Session(self.plane, "admin")
        self.names = [f"sim{number:04}" for number in range(1, count + 1)]
        self.services = []

    def __enter__(self):
        self.plane.manager.end()
        self.delete_all()
        self.plane.apply(*[{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"nvidia.com/gpu.present": "true"}}}
                           for name in self.names])
        for name in self.names:
            self.ready(name)
        return self

    def __exit__(self, *_):
        for service in self.services:
            service.end()
        self.delete_all()
        self.plane.start_manager()

    def delete_all(self):
        self.plane.kubectl("delete", "nodes", "--all", "--wait=false")
        for kind in ("leases", "configmaps"):
            self.plane.kubectl("delete", kind, "-n", "gpuhost", "--all", "--wait=false")
        self.plane.kubectl("delete", "events", "-n", "default", "--all", "--wait=false")

    def patch(self, name, body, sub=""):
        status, answer = self.admin.ask("PATCH", f"{NODES}/{name}{sub}", body, "strategic-merge-patch+json")
        assert status == 200, answer

    def ready(self, name, status="True"):
        self.patch(name, {"status": {"conditions": [{"type": "Ready", "status": status, "reason": "Tested", "message": "it is"}]}}, "/status")
        self.admin.ask("PATCH", f"{NODES}/{name}", {"spec": {"taints": None}}, "merge-patch+json")

    def hosts(self, *options, name="fleet"):
        service = Hosts(self.node, name, f"--hosts={len(self.names)}", *options)
        self.services.append(service)
        service.run()
        return service

    def set_policy(self, version, rollout=None, auto=True, **upgrade):
        policy = {"driver": {"version": version, "upgradePolicy": {"autoUpgrade": auto, "maxUnavailable": "100%", **upgrade}}, "rollout": rollout or {}}
        self.plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gpuhost-policy", "namespace": "gpuhost"},
                          "data": {"policy.yaml": json.dumps(policy)}})

    def nodes(self):
        status, answer = self.admin.ask("GET", NODES)
        assert status == 200, answer
        return {one["metadata"]["name"]: one for one in answer["items"] if one["metadata"]["name"] in self.names}

    def states(self):
        return {name: one["metadata"].get("labels", {}).get(STATE, "") for name, one in self.nodes().items()}

    def record(self, name):
        return json.loads(self.nodes()[name]["metadata"].get("annotations", {}).get(RECORD, "{}"))

    def reason(self, name):
        return self.nodes()[name]["metadata"].get("annotations", {}).get(REASON, "")

    def done(self, version):
        """Returns the names of the hosts with this version that are done and schedulable."""
        return {name for name, one in self.nodes().items() if one["metadata"].get("labels", {}).get(STATE) == "upgrade-done"
                and json.loads(one["metadata"]["annotations"][RECORD])["version"] == version and not one["spec"].get("unschedulable")}

    def eventually_done(self, version, names=None, seconds=90):
        wanted = set(names or self.names)
        eventually(lambda: f"all run {version}: {collections.Counter(self.states().values())} {self.tail()}", lambda: self.done(version) >= wanted, seconds)

    def grants(self):
        leases = self.admin.ask("GET", "/apis/coordination.k8s.io/v1/namespaces/gpuhost/leases")[1].get("items", [])
        return {one["metadata"]["name"].removeprefix("gpuhost-upgrade-") for one in leases if one["metadata"]["name"].startswith("gpuhost-upgrade-")}

    def tail(self):
        return "\n".join(service.tail() for service in self.services)

    def busy(self):
        """Returns the hosts that upgrade at this moment. They must never exceed the limit."""
        return {name for name, one in self.nodes().items() if one["metadata"].get("labels", {}).get(STATE) in UNDER_WAY or one["spec"].get("unschedulable")}


def start_on_old(fleet, *options, seconds=90):
    fleet.set_policy(OLD)
    made = fleet.hosts(*options)
    fleet.eventually_done(OLD, seconds=seconds)
    return made


@case("fleet: ten hosts upgrade one by one within 60 seconds", start="kubernetes", independent=True)
def rollout(node):
    with Fleet(node, 10) as fleet:
        start_on_old(fleet)
        before, began = len(fleet.plane.calls("admin")), time.monotonic()
        fleet.set_policy(NEW, maxParallelUpgrades=1)
        most = 0
        while fleet.done(NEW) != set(fleet.names):
            most = max(most, len(fleet.busy()))
            assert time.monotonic() < began + 60, fleet.tail()
        took = time.monotonic() - began
        assert most <= 1, most
        eventually("all grants are released", lambda: not fleet.grants())
        calls = [call for call in fleet.plane.calls("admin")[before:] if call[1] in ("nodes", "leases", "events") and call[0] not in ("list",)]
        print(f"# 10 hosts one by one: {took:.1f} s, {len(calls) / 10:.1f} calls a host")
        assert len(calls) <= MOST_CALLS * 10, collections.Counter(call[:2] for call in calls)
        shown = fleet.plane.kubectl("get", "node", "-l", "nvidia.com/gpu.present",
                                    r'-ojsonpath={range .items[*]}{.metadata.name}{"\t"}{.metadata.labels.nvidia\.com/gpu-driver-upgrade-state}{"\n"}{end}')
        assert shown.count("upgrade-done") == 10, shown
        events = fleet.plane.kubectl("get", "events", "-n", "default", "--sort-by=.lastTimestamp")
        for state in ("upgrade-required", "cordon-required", "pod-restart-required", "upgrade-done"):
            assert f"Successfully updated node state label to {state}" in events and "GPUDriverUpgrade" in events, events


@case("fleet: a thousand hosts upgrade fifty at a time with bounded calls", start="kubernetes", full=True, independent=True)
def thousand(node):
    with Fleet(node, 1000) as fleet:
        start_on_old(fleet, seconds=300)
        before = len(fleet.plane.calls("admin"))
        fleet.set_policy(NEW, maxParallelUpgrades=50)
        most, end = 0, time.monotonic() + 600
        while fleet.done(NEW) != set(fleet.names):
            most = max(most, len(fleet.busy()))
            assert time.monotonic() < end, fleet.tail()
            time.sleep(2)
        assert 10 < most <= 50, most
        calls = [call for call in fleet.plane.calls("admin")[before:] if call[1] in ("nodes", "leases", "events") and call[0] not in ("list",)]
        assert len(calls) <= MOST_CALLS * 1000, collections.Counter(call[:2] for call in calls)


@case("fleet: hosts that are not ready, skipped or deleted block no others", start="kubernetes", independent=True)
def away(node):
    with Fleet(node, 10) as fleet:
        start_on_old(fleet)
        for name in fleet.names[:3]:
            fleet.ready(name, "Unknown")
        fleet.patch(fleet.names[3], {"metadata": {"labels": {SKIP: "true"}}})
        fleet.plane.kubectl("delete", "node", fleet.names[4])
        fleet.set_policy(NEW, maxUnavailable="25%", maxParallelUpgrades=0)
        fleet.eventually_done(NEW, fleet.names[5:])
        eventually("the reason is that the node is not ready", lambda: "not ready" in fleet.reason(fleet.names[0]))
        assert "skip" in fleet.reason(fleet.names[3]), fleet.reason(fleet.names[3])
        assert not fleet.done(NEW) & set(fleet.names[:4])
        fleet.ready(fleet.names[0])
        fleet.patch(fleet.names[3], {"metadata": {"labels": {SKIP: None}}})
        fleet.plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": fleet.names[4], "labels": {"nvidia.com/gpu.present": "true"}}})
        fleet.ready(fleet.names[4])
        fleet.eventually_done(NEW, [fleet.names[number] for number in (0, 3, 4)])


@case("fleet: a cordoned host stays cordoned, a failed one retries by label", start="kubernetes", independent=True)
def cordoned_and_failed(node):
    with Fleet(node, 4) as fleet:
        start_on_old(fleet, "--fail=sim0002", "--bad=sim0003")
        fleet.patch("sim0001", {"spec": {"unschedulable": True}})
        fleet.set_policy(NEW, {"retries": 1, "retryDelaySeconds": 1, "validationTimeoutSeconds": 2, "failureBudget": 2}, maxParallelUpgrades=1)
        fleet.eventually_done(NEW, ["sim0004"])
        eventually(lambda: f"two have failed: {fleet.states()}", lambda: list(fleet.states().values()).count("upgrade-failed") == 2)
        eventually("the first has upgraded", lambda: fleet.record("sim0001").get("version") == NEW and fleet.states()["sim0001"] == "upgrade-done")
        nodes = fleet.nodes()
        assert nodes["sim0001"]["spec"].get("unschedulable"), "a Node that was cordoned before was uncordoned"
        assert not nodes["sim0002"]["spec"].get("unschedulable") and not nodes["sim0003"]["spec"].get("unschedulable"), "a Node whose upgrade failed is cordoned"
        assert fleet.record("sim0002")["failure"] == "swap" and fleet.record("sim0002")["attempts"] == 2, fleet.record("sim0002")
        assert "535.216.01 runs again" in fleet.reason("sim0003"), fleet.reason("sim0003")
        fleet.services[0].kill()
        fleet.services.clear()
        fleet.hosts(name="fleet-2")
        fleet.plane.kubectl("label", "node", "sim0002", f"{STATE}=upgrade-required", "--overwrite")
        fleet.eventually_done(NEW, ["sim0002"])


@case("fleet: toggling autoUpgrade at any time leaves no Node cordoned", start="kubernetes", independent=True)
def toggled(node):
    with Fleet(node, 6) as fleet:
        start_on_old(fleet, "--swap-ms=300")
        chance = random.Random(6)
        for _ in range(8):
            fleet.set_policy(NEW, maxParallelUpgrades=3)
            time.sleep(chance.uniform(0, 0.8))
            fleet.set_policy(NEW, auto=False, maxParallelUpgrades=3)
            time.sleep(chance.uniform(0, 0.5))
        eventually(lambda: f"no upgrade is in progress: {fleet.states()}", lambda: not fleet.busy() and not fleet.grants())
        assert set(fleet.states().values()) == {""}, fleet.states()
        fleet.set_policy(NEW, maxParallelUpgrades=3)
        fleet.eventually_done(NEW)


@case("fleet: the limit holds and all hosts upgrade although processes are killed", start="kubernetes", independent=True)
def killed(node):
    with Fleet(node, 24) as fleet:
        fleet.set_policy(OLD)
        halves = [Hosts(node, f"half{number}", "--hosts=12", f"--first={1 + 12 * number}", "--swap-ms=200") for number in range(2)]
        fleet.services += halves
        for half in halves:
            half.run()
        fleet.eventually_done(OLD)
        fleet.set_policy(NEW, maxParallelUpgrades=4)
        chance, most, next_kill, end = random.Random(24), 0, time.monotonic(), time.monotonic() + (40 if FULL else 20)
        while time.monotonic() < end:
            most = max(most, len(fleet.grants()), len(fleet.busy()))
            assert most <= 4, f"{most}: {fleet.states()} {fleet.tail()}"
            if time.monotonic() > next_kill:
                half = chance.choice(halves)
                half.kill()
                time.sleep(chance.uniform(0, 1))
                half.run()
                next_kill = time.monotonic() + chance.uniform(0.5, 4)
        fleet.eventually_done(NEW, seconds=120)


@case("fleet: all hosts upgrade although the API server restarts twice", start="kubernetes", independent=True)
def server_restarts(node):
    with Fleet(node, 8) as fleet:
        start_on_old(fleet, "--swap-ms=500")
        fleet.set_policy(NEW, maxParallelUpgrades=2)
        for _ in range(2):
            time.sleep(1)
            fleet.plane.stop_api()
            time.sleep(2)
            fleet.plane.start_api()
            fleet.admin = Session(fleet.plane, "admin")
        fleet.eventually_done(NEW, seconds=150)


@contextlib.contextmanager
def labelled(fleet, **labels):
    for name, value in labels.items():
        fleet.patch(name, {"metadata": {"labels": {"tier": value}}})
    yield


@case("fleet: pools, the canary wave and maintenance windows are respected", start="kubernetes", independent=True)
def pools_and_waves(node):
    with Fleet(node, 6) as fleet, labelled(fleet, sim0001="lab", sim0002="canary"):
        start_on_old(fleet)
        closed = time.gmtime(time.time() + 12 * 3600)
        window = {"days": [time.strftime("%a", closed)], "start": time.strftime("%H:00", closed), "end": time.strftime("%H:30", closed)}
        pools = [{"name": "lab", "nodeSelector": {"tier": "lab"}, "driver": {"version": "570.86.15"}, "rollout": {"windows": []}}]
        waves = [{"name": "canary", "nodeSelector": "tier=canary", "soakSeconds": 3}]
        fleet.set_policy(NEW, {"pools": pools, "waves": waves, "windows": [window]}, maxParallelUpgrades=0)
        fleet.eventually_done("570.86.15", ["sim0001"])
        eventually(lambda: f"the others wait for their window: {fleet.reason('sim0003')}", lambda: "window opens" in fleet.reason("sim0003"))
        assert not fleet.done(NEW)
        fleet.set_policy(NEW, {"pools": pools, "waves": waves}, maxParallelUpgrades=0)
        fleet.eventually_done(NEW, ["sim0002"])
        since = fleet.record("sim0002")["since"]
        fleet.eventually_done(NEW, fleet.names[1:])
        assert all(fleet.record(name)["since"] >= since + 3 for name in fleet.names[2:]), "the soak time of the canary wave was ignored"


class Viewer(Service):
    """An administrator on a joined host, of which only the credentials exist."""
    def __init__(self, node):
        super().__init__("viewer", node.place.logs)
        self.node = node
        plane, self.root = node.controlplane, node.place.state / "viewer"
        config = json.loads(plane.identity("viewer", "gpuhost:host:viewer", "gpuhost:hosts").read_text())
        etc = self.root / "etc/gpuhost/cluster"
        etc.mkdir(parents=True)
        (self.root / "proc/sys/kernel").mkdir(parents=True)
        (self.root / "proc/sys/kernel/hostname").write_text("viewer\n")
        for name in ("ca.crt", "viewer.crt", "viewer.key"):
            shutil.copy(plane.pki / name, etc)
        config["clusters"][0]["cluster"]["certificate-authority"] = "ca.crt"
        config["users"][0]["user"] = {"client-certificate": "viewer.crt", "client-key": "viewer.key"}
        (etc / "kubeconfig").write_text(json.dumps(config))
        self.command = [find(node.daemon.tree, "gpuhostctl"), "fleet", "status", f"--root={self.root}"]
        self.more = {"PATH": f"{find(node.daemon.tree, 'gpuhost-cluster').parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}

    def is_plugin(self):
        """'kubectl gpuhost' shows the same with an administrator's kubeconfig and the context that is named."""
        node = self.node
        config = node.place.logs / "contexts"
        admin = programs.run([node.controlplane.tools / "kubectl", f"--kubeconfig={node.controlplane.admin}", "config", "view", "--raw", "--flatten", "-o", "json"]).stdout
        document = json.loads(admin)
        context = document["current-context"]
        config.write_text(json.dumps({**document, "current-context": "none"}))
        config.chmod(0o600)
        path = f"{node.controlplane.tools}:{find(node.daemon.tree, 'kubectl-gpuhost').parent}:{self.more['PATH']}"
        more = programs.environment(PATH=path, LC_ALL="C.UTF-8", KUBECONFIG=str(config))
        done = programs.run(["kubectl", "gpuhost", "status", "--context", context, "--json"], env=more)
        assert done.returncode == 0 and len(json.loads(done.stdout)["nodes"]) == 40, done.stdout + done.stderr
        done = programs.run(["kubectl", "gpuhost"], env=more)
        assert done.returncode != 0 and "context none" in done.stderr, done.stdout + done.stderr

    def follow(self):
        self.start([*self.command, "--watch"], **self.more)

    def shows(self, *more):
        done = programs.run([*self.command, *more], env=programs.environment(**self.more))
        assert done.returncode == 0, done.stderr
        return done.stdout


@case("fleet status shows progress and reasons during an upgrade", start="kubernetes", independent=True)
def shown(node):
    with Fleet(node, 40) as fleet:
        start_on_old(fleet, "--swap-ms=2000", "--fail=sim0002")
        viewer = Viewer(node)
        fleet.services.append(viewer)
        viewer.follow()
        fleet.ready("sim0040", "Unknown")
        fleet.set_policy(NEW, {"retries": 0, "failureBudget": "100%"}, maxParallelUpgrades=4)
        text = ""

        def in_the_middle():
            nonlocal text
            text = viewer.shows()
            return all(part in text for part in (" done\n", "1 failed", "4 under way", "sim0002  ", "maxParallelUpgrades is 4", "the node is not ready"))
        eventually(lambda: f"the table has rows of every kind: {text}", in_the_middle)
        print("".join(f"# {line}\n" for line in text.splitlines()), end="")
        document = json.loads(viewer.shows("--json"))
        assert [one["name"] for one in document["nodes"]] == fleet.names, document
        fleet.eventually_done(NEW, set(fleet.names) - {"sim0002", "sim0040"})
        text = viewer.shows()
        assert "38 of 40 done" in text and "1 failed, 1 waiting" in text and "the kernel refused the module" in text, text
        viewer.is_plugin()
        eventually(lambda: f"--follow has shown each host: {viewer.tail()}", lambda: "38 of 40 done" in viewer.log.read_text())
        log = viewer.log.read_text()
        assert all(f"{name} upgrade-done {NEW}" in log for name in fleet.names if name not in ("sim0002", "sim0040")), log


@case("fleet: a firing alert blocks new upgrades, running ones finish", start="kubernetes", independent=True)
def gates(node):
    prometheus = Prometheus()
    prometheus.firing = ["NodeDown"]
    gate = {"name": "quiet", "url": prometheus.url, "alerts": [".*"], "intervalSeconds": 1}
    with Fleet(node, 6) as fleet:
        start_on_old(fleet, "--swap-ms=1500")
        fleet.set_policy(OLD, {"gates": [gate]})
        time.sleep(2)
        assert prometheus.asked == 0, "Prometheus was queried although no host could begin"
        fleet.set_policy(NEW, {"gates": [gate]}, maxParallelUpgrades=2)
        shut = "gate 'quiet': alert 'NodeDown' is firing"
        eventually(lambda: f"each host reports why it waits: {fleet.reason('sim0001')} {fleet.tail()}",
                   lambda: {fleet.reason(name) for name in fleet.names} == {shut})
        before, asked = {name: one["metadata"]["resourceVersion"] for name, one in fleet.nodes().items()}, prometheus.asked
        prometheus.firing = ["Another", "NodeDown"]
        time.sleep(4)
        assert 2 <= prometheus.asked - asked <= 5, prometheus.asked - asked
        assert before == {name: one["metadata"]["resourceVersion"] for name, one in fleet.nodes().items()}, "a Node was written although its reason is unchanged"
        assert not fleet.busy() and not fleet.grants()
        prometheus.firing = []
        eventually("two have begun", lambda: len(fleet.busy()) == 2)
        first = fleet.busy()
        prometheus.firing = ["DiskFull"]
        fleet.eventually_done(NEW, first)
        eventually(lambda: f"the others wait: {fleet.reason('sim0006')}", lambda: "DiskFull" in fleet.reason("sim0006"))
        assert fleet.done(NEW) == first, fleet.states()
        prometheus.shutdown()
        prometheus.server_close()
        eventually(lambda: f"the reason is that Prometheus does not answer: {fleet.reason('sim0006')}", lambda: "Connection refused" in fleet.reason("sim0006"))
        assert fleet.done(NEW) == first, fleet.states()
        fleet.set_policy(NEW, {"gates": []}, maxParallelUpgrades=2)
        fleet.eventually_done(NEW)
