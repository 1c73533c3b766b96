# SPDX-License-Identifier: Apache-2.0
"""A driver's DaemonSet as NVIDIA's library reads it: one pod per node. A fake of the kubelets and of the
DaemonSet controller replaces each pod immediately."""

from .watching import Watching

NAMESPACE, NAME = "gpu-operator", "nvidia-driver-daemonset"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
SETS = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"
REVISIONS = f"/apis/apps/v1/namespaces/{NAMESPACE}/controllerrevisions"
LABELS = {"app": NAME}
VALIDATOR = "nvidia-operator-validator"
HASHES = ("5bd6f5c6b9", "7c9d8b7f4d")  # of the revisions
AT_ONCE = {"gracePeriodSeconds": 0}


def template(image):
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "main", "image": image}]}}


class DriverPods:
    """Nodes in `away` have no kubelet that ends pods."""
    def __init__(self, stage, names, away=()):
        self.stage, self.away = stage, away
        self.replaced = set()  # nodes
        stage.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}, good=(201, 409))
        stage.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}}, good=(201, 409))
        made = stage.ask("POST", SETS, {"metadata": {"name": NAME, "labels": LABELS}, "spec": {
            "selector": {"matchLabels": LABELS}, "updateStrategy": {"type": "OnDelete"}, "template": template("driver:old")}})
        self.owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": NAME, "uid": made["metadata"]["uid"], "controller": True}
        stage.ask("PATCH", f"{SETS}/{NAME}/status", {"status": {"desiredNumberScheduled": len(names)}})
        self.revise(0)
        stage.spread(lambda name: self.make(f"{NAME}-{name}", name, {**LABELS, "controller-revision-hash": HASHES[0]}, self.owner), names)
        stage.spread(lambda name: self.make(f"{VALIDATOR}-{name}", name, {"app": VALIDATOR}), names)
        self.watching = Watching(stage.plane, PODS, self.replace)

    def revise(self, number):
        self.stage.ask("POST", REVISIONS, {"metadata": {"name": f"{NAME}-{HASHES[number]}", "labels": LABELS, "ownerReferences": [self.owner]},
                                           "revision": number + 1, "data": {}})

    def upgrade(self):
        self.revise(1)
        self.stage.ask("PATCH", f"{SETS}/{NAME}", {"spec": {"template": template("driver:new")}})

    def make(self, name, node, labels, *owners):
        """Creates a ready pod."""
        self.stage.ask("POST", PODS, {"metadata": {"name": name, "labels": labels, "ownerReferences": list(owners)}, "spec": {
            "nodeName": node, "automountServiceAccountToken": False, "containers": [{"name": "main", "image": "driver"}]}})
        self.stage.ask("PATCH", f"{PODS}/{name}/status", {"status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
                {"name": "main", "image": "driver", "imageID": "driver", "ready": True, "restartCount": 0}]}}, "strategic-merge-patch+json")

    def replace(self, _, pod):
        node = pod["spec"]["nodeName"]
        if "deletionTimestamp" not in pod["metadata"] or node in self.away or node in self.replaced:
            return
        self.replaced.add(node)
        self.stage.ask("DELETE", f"{PODS}/{pod['metadata']['name']}", AT_ONCE)
        self.make(f"{NAME}-{node}-new", node, {**LABELS, "controller-revision-hash": HASHES[1]}, self.owner)

    def remove(self):
        self.watching.close()
        for path in (PODS, REVISIONS, SETS):
            self.stage.ask("DELETE", path, AT_ONCE)
