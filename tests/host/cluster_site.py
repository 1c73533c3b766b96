# SPDX-License-Identifier: Apache-2.0
"""A host with gpuhost-cluster, and its API server."""
import base64
import json
import os
import signal
import time

import tap
from fake_api import FakeApi
from fake_host import FakeHost, prepare, read, write
from programs import end, start

READY = {"DriverReady": ("True", "Loaded"), "RuntimeReady": ("True", "AsConfigured"), "ImagesReady": ("True", "Present")}


class Agent:
    def __init__(self, host, *options):
        self.host = host
        self.path = os.path.join(host.scratch, "cluster-log")
        self.options = options
        self.process = None

    def start(self, *options):
        os.makedirs(self.host.path("/run/gpuhost-cluster"), exist_ok=True)
        os.makedirs(self.host.path("/var/lib/gpuhost/cluster"), exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as log:
            self.process = start([os.path.join(tap.TOP_BUILDDIR, "gpuhost-cluster"), f"--root={self.host.root}", *self.options, *options],
                                 env=self.host.environment, stdout=log, stderr=log)

    def stop(self, number=signal.SIGTERM):
        process, self.process = self.process, None
        if process:
            end(process, number)

    def said(self):
        return read(self.path)

    def seconds(self):
        """Returns the CPU time that gpuhost-cluster has used."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def status(self):
        text = self.host.read("/run/gpuhost-cluster/status.json")
        return json.loads(text) if text else {}


class Site:
    """A host, its API server and gpuhost-cluster. Calls `prepared` before the host's daemon starts."""
    def __init__(self, prepared=lambda host: None):
        self.host = FakeHost()
        prepare(self.host)
        prepared(self.host)
        self.host.start_daemon()
        self.host.settle()
        write(self.host.path("/proc/sys/kernel/hostname"), "GPU01\n")
        self.api = FakeApi(os.path.join(self.host.scratch, "api"))
        self.agent = Agent(self.host)

    def close(self):
        self.agent.stop()
        self.api.stop()
        self.host.close()

    def kubeconfig(self, name="gpuhost:host:gpu01"):
        """Writes an administrator's kubeconfig for the user of this name."""
        keys = self.api.authority.keys(name, purposes="clientAuth")
        directory = self.host.path("/etc/gpuhost/cluster")
        os.makedirs(directory, exist_ok=True)
        for name in ("ca.pem", "cert.pem", "key.pem"):
            with open(os.path.join(keys, name), "rb") as source, open(os.path.join(directory, name), "wb") as copy:
                copy.write(source.read())
        write(os.path.join(directory, "kubeconfig"), self.document(
            "host", {"certificate-authority": "ca.pem"}, {"client-certificate": "cert.pem", "client-key": "key.pem"}))

    def document(self, name, cluster, user):
        """Returns a kubeconfig."""
        return json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "site", "cluster": {"server": self.api.url, **cluster}}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "site", "user": name}}]})

    def kubelet(self):
        """Writes the kubelet's kubeconfig, with embedded certificates and key."""
        keys = self.api.authority.keys("system:node:gpu01", purposes="clientAuth")
        data = {}
        for name in ("ca.pem", "cert.pem", "key.pem"):
            with open(os.path.join(keys, name), "rb") as file:
                data[name] = base64.b64encode(file.read()).decode()
        path = self.host.path("/etc/kubernetes/kubelet.conf")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, self.document(
            "kubelet", {"certificate-authority-data": data["ca.pem"]},
            {"client-certificate-data": data["cert.pem"], "client-key-data": data["key.pem"]}))

    def eventually(self, t, condition, what, seconds=30):
        deadline = time.monotonic() + seconds
        while not (good := condition()) and time.monotonic() < deadline:
            time.sleep(0.05)
        t.ok(good, what, self.api.node(), self.agent.status(), "\n".join(self.agent.said().splitlines()[-15:]))
        return good
