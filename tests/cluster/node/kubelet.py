# SPDX-License-Identifier: Apache-2.0
"""A standalone kubelet: it runs the pods of a directory without an API server."""

import itertools
import json
import signal
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from . import sandbox
from .service import Service
from .waiting import eventually

PORT = 10255  # always free, because the run has its own network
# Which pods have which devices. The path does not depend on --root-dir.
CHECKPOINT = Path("/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint")
POLICIES = ("Always", "IfNotPresent", "Never")


class Pod:
    """A pod of one container."""
    def __init__(self, kubelet, name):
        self.kubelet = kubelet
        self.name = name

    def document(self):
        """Returns the pod as the kubelet reports it; None if it does not."""
        return next((pod for pod in self.kubelet.pods() if pod["metadata"]["name"].startswith(self.name + "-")), None)

    def is_gone(self):
        """Returns whether the pod and its tasks have ended: the kubelet drops a pod before its processes
        end."""
        return not self.document() and not self.kubelet.containerd.tasks(f'labels."io.kubernetes.pod.name"~={self.name}-')

    def container(self):
        """Returns the container's status; {} until it exists."""
        pod = self.document() or {}
        return next(iter(pod.get("status", {}).get("containerStatuses", [])), {})

    def waits_for(self, *reasons):
        """Waits until the container waits for one of these reasons; returns the reason's message."""
        def waiting_status():
            waiting = self.container().get("state", {}).get("waiting", {})
            return waiting if waiting.get("reason") in reasons else None
        return eventually(lambda: f"{self.name} waits for {reasons}: {self.container()}", waiting_status).get("message", "")

    def runs(self):
        """Waits until the container runs; returns its status."""
        return eventually(lambda: f"{self.name} runs: {self.container()}",
                          lambda: self.container() if self.container().get("state", {}).get("running") else None)

    def refusal(self):
        """Waits until the kubelet has refused the pod; returns its reason and message."""
        def refused():
            status = (self.document() or {}).get("status", {})
            return status if status.get("phase") == "Failed" else None
        status = eventually(lambda: f"{self.name} is refused: {self.document()}", refused)
        return f"{status['reason']}: {status['message']}"

    def output(self):
        """Waits for the container's first line of output; returns it."""
        def read():
            logs = self.kubelet.pod_logs.glob(f"*_{self.name}-*/main/*.log")
            rows = [row for path in logs for row in path.read_text().splitlines()]
            return rows[0].split(" ", 3)[3] if rows else None
        return eventually(lambda: f"{self.name} prints a line: {self.container()}", read)


class Kubelet(Service):
    def __init__(self, program, containerd, place, cgroup, name="kubelet"):
        super().__init__(name, place.logs)
        self.program = program
        self.containerd = containerd
        self.names = (f"pod{number}" for number in itertools.count(1))
        state = place.state / name
        self.manifests = state / "manifests"
        self.pod_logs = state / "pods"
        self.manifests.mkdir(parents=True)
        self.pod_logs.mkdir()
        self.configuration = state / "config.json"
        self.root = state / "root"
        self.settings = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": f"unix://{containerd.socket}",
            "staticPodPath": str(self.manifests),
            "podLogsDir": str(self.pod_logs),
            "address": "127.0.0.1",
            "readOnlyPort": PORT,
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": cgroup.name,
            "failCgroupV1": False,
            "failSwapOn": False,
            "protectKernelDefaults": True,
            "localStorageCapacityIsolation": False,
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {"memory.available": "1Mi"},
            "registryPullQPS": 0,
            "fileCheckFrequency": "1s",
            "syncFrequency": "1s",
            "makeIPTablesUtilChains": False,
        }
        self.configuration.write_text(json.dumps(self.settings))

    def run(self):
        self.start([self.program, "--config", self.configuration, "--root-dir", self.root, "--hostname-override", "node"])
        eventually("the kubelet answers", self.answers)
        return self

    @contextmanager
    def collecting(self):
        """Restarts the kubelet, which begins with a pass of its image GC. With an age the pass does not
        depend on disk usage. An age of 0 would mean the default of two minutes. The next pass follows
        after five minutes."""
        aged = {"imageMinimumGCAge": "1ns", "imageMaximumGCAge": "2ns"}
        try:
            self._run_again(self.settings | aged)
            yield
        finally:
            self._run_again(self.settings)

    def _run_again(self, settings):
        self.end()
        self.configuration.write_text(json.dumps(settings))
        self.run()

    def answers(self):
        self.check_alive()
        try:
            return self.get("/healthz") == "ok"
        except OSError:
            return False

    @staticmethod
    def get(path):
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=10) as answer:
            return answer.read().decode()

    def restart(self):
        self.end()
        self.run()

    @contextmanager
    def suspended(self):
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def pods(self):
        return json.loads(self.get("/pods")).get("items") or []

    @contextmanager
    def pod(self, image, policy, **limits):
        """Runs a pod of this image with limits of resources; waits at the end until it has ended."""
        pod = Pod(self, next(self.names))
        manifest = self.manifests / f"{pod.name}.json"
        manifest.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": pod.name, "namespace": "default"},
            "spec": {"hostNetwork": True, "terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False,
                     "enableServiceLinks": False,
                     "containers": [{"name": "main", "image": image, "imagePullPolicy": policy, "resources": {"limits": limits}}]}}))
        try:
            yield pod
        finally:
            manifest.unlink()
            eventually(f"{pod.name} is gone", pod.is_gone)


class MemberKubelet(Kubelet):
    """A kubelet of a cluster, which creates and updates its Node, with a taint from the start."""
    ports = itertools.count(PORT + 2)

    def __init__(self, program, containerd, place, cgroup, *, node, kubeconfig, taint):
        super().__init__(program, containerd, place, cgroup, f"kubelet-{node}")
        self.node = node
        self.kubeconfig = kubeconfig
        del self.settings["staticPodPath"]
        self.settings |= {
            "port": next(self.ports), "readOnlyPort": 0, "healthzPort": next(self.ports), "nodeStatusUpdateFrequency": "2s", "nodeStatusReportFrequency": "4s",
            "registerWithTaints": [{"key": taint, "effect": "NoSchedule"}]}
        self.configuration.write_text(json.dumps(self.settings))

    def run(self):
        CHECKPOINT.unlink(missing_ok=True)  # of another node
        self.start([self.program, "--config", self.configuration, "--root-dir", self.root, "--hostname-override", self.node,
                    "--node-ip", sandbox.ADDRESS, "--kubeconfig", self.kubeconfig])
        return self
