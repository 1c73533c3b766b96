# SPDX-License-Identifier: Apache-2.0
"""gpuhost-devices beside a kubelet, with offers as gpuhostd writes them."""

import itertools
import json

import programs

from .gpuhost import find
from .service import Service
from .waiting import eventually


class Devices(Service):
    def __init__(self, tree, place, kubelet):
        super().__init__("gpuhost-devices", place.logs)
        self.tree = tree
        self.root = place.state / "devices"
        self.offer_file = self.root / "run/gpuhost/devices/offer.json"
        self.sockets = self.root / "run/gpuhost-devices"
        self.answer_file = self.sockets / "answer.json"
        self.registry = kubelet.root / "plugins_registry/gpuhost"
        self.ids = (f"offer{number}" for number in itertools.count(1))
        self.offer_file.parent.mkdir(parents=True)
        self.sockets.mkdir(parents=True)
        self.registry.mkdir(parents=True)
        for link in self.sockets / "registry", self.offer_file.parent / "registry":  # of the unit, and of gpuhostd
            link.symlink_to(self.registry)
        inside = self.root / str(kubelet.root).lstrip("/")  # gpuhostctl looks for the kubelet below --root
        inside.parent.mkdir(parents=True)
        inside.symlink_to(kubelet.root)

    def run(self):
        self.start([find(self.tree, "gpuhost-devices"), f"--root={self.root}"])
        return self

    def offer(self, gpus, *, resource="nvidia.com/gpu", mig="none", withdrawn="", sharing=None, strategies=None):
        """Replaces the offer; waits until it has an answer, if the program runs."""
        identifier = next(self.ids)
        new = self.offer_file.with_suffix(".new")
        new.write_text(json.dumps({"version": 1, "id": identifier, "resource": resource, "mig_strategy": mig, "withdrawn": withdrawn, "gpus": gpus,
                                   "sharing": sharing, "device_list_strategy": strategies}))
        new.rename(self.offer_file)
        if self.is_running():
            eventually(lambda: f"an answer to {identifier}: {self.answer()}", lambda: self.answer()["id"] == identifier)

    def answer(self):
        return json.loads(self.answer_file.read_text()) if self.answer_file.exists() else {"id": "", "resources": []}

    def pods(self):
        """Returns the names of the pods that have each device, as gpuhostctl shows them: {UUID: [name]}."""
        done = programs.run([find(self.tree, "gpuhostctl"), "gpu", "list", "--json", f"--root={self.root}"])
        assert done.returncode == 0, done.stderr
        gpus = json.loads(done.stdout)["gpus"]
        devices = [*gpus, *(part for one in gpus for part in one["instances"])]
        return {one["uuid"]: sorted(pod["pod"] for pod in one["pods"]) for one in devices}

    def connected(self):
        """Waits until a kubelet watches all resources."""
        def all_connected():
            self.check_alive()
            resources = self.answer()["resources"]
            return resources and all(one["connected"] for one in resources)
        eventually(lambda: f"the kubelet watches: {self.answer()}", all_connected)
