# SPDX-License-Identifier: Apache-2.0
"""A control plane that all parts share. It has no controller manager, which would mark Nodes without a
kubelet as not ready."""

import json
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from node import binaries, sandbox
from node.controlplane import ControlPlane, Session, manifests
from node.node import Place

from .audit import Audit

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/gpuhost/leases"
POLICY = "/api/v1/namespaces/gpuhost/configmaps"
OURS, THEIRS = "hosts", "library"  # users whose calls are counted
GPU = {"nvidia.com/gpu.present": "true"}
AT_ONCE = 4


class Stage:
    def __init__(self, build, work):
        self.build = build
        self.place = Place(sandbox.STATE, work / "logs")
        self.place.logs.mkdir()
        self.plane = ControlPlane(binaries.built(binaries.CONTROL_PLANE), self.place)
        self.local = threading.local()

    def run(self):
        self.plane.run()
        self.plane.manager.end()
        for name in ("host.yaml", "crd/cluster-policy-crd.yaml"):
            self.plane.kubectl("apply", "-f", manifests() / name)
        self.plane.kubectl("wait", "--for=condition=Established", "crd/clusterpolicies.nvidia.com")
        self.kubeconfigs = {name: self.plane.identity(name, name, "system:masters") for name in (OURS, THEIRS)}
        self.audit = Audit(self.plane.audit_log)

    def end(self):
        self.plane.end()

    @property
    def admin(self):
        """Returns a session of this thread."""
        if not hasattr(self.local, "session"):
            self.local.session = Session(self.plane, "admin")
        return self.local.session

    def ask(self, method, path, body=None, kind="merge-patch+json", good=(200, 201)):
        kind = kind if method == "PATCH" else "json"
        try:
            status, answer = self.admin.ask(method, path, body, kind)
        except (ConnectionError, ssl.SSLError):  # the server ends an idle connection
            self.admin.connection.close()
            status, answer = self.admin.ask(method, path, body, kind)
        assert status in good, f"{method} {path}: {status} {str(answer)[:300]}"
        return answer

    def spread(self, call, items):
        """Calls a function for each item, some in parallel; returns the results."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(call, items))

    # The cluster's objects

    def make_nodes(self, names, away=(), more=lambda name: {}):
        """Creates Nodes; those in `away` are not ready. `more(name)` returns additional parts of a Node."""
        def make(name):
            has = more(name)
            ready = {"type": "Ready", "status": "Unknown" if name in away else "True", "reason": "Bench", "message": "as the bench has it"}
            self.ask("POST", NODES, {
                "metadata": {"name": name, "labels": {**GPU, **has.get("labels", {})}, "annotations": has.get("annotations", {})},
                "status": {"conditions": [ready], **has.get("status", {})}})
        self.spread(make, names)

    def delete_all(self):
        for path in (NODES, LEASES, POLICY):
            self.ask("DELETE", path)

    def set_policy(self, version, **upgrade):
        """Sets the policy of our hosts. Returns the time before the request."""
        policy = {"driver": {"version": version, "upgradePolicy": {"autoUpgrade": True, **upgrade}}}
        body = {"metadata": {"name": "gpuhost-policy"}, "data": {"policy.yaml": json.dumps(policy)}}
        began = time.monotonic()
        if self.ask("POST", POLICY, body, good=(201, 409)).get("code") == 409:
            self.ask("PATCH", f"{POLICY}/gpuhost-policy", body)
        return began

    def grants(self):
        return [one["metadata"]["name"] for one in self.ask("GET", LEASES)["items"] if one["metadata"]["name"].startswith("gpuhost-upgrade-")]
