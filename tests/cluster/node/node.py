# SPDX-License-Identifier: Apache-2.0
"""All parts of a node together."""

from dataclasses import dataclass
from pathlib import Path

from . import binaries, sandbox
from .containerd import Containerd
from .crio import Crio
from .docker import Docker
from .gpuhost import Daemon, Registry, find
from .kubelet import Kubelet
from .podman import Podman
from .site import PAUSE, Site


@dataclass(frozen=True)
class Place:
    state: Path  # removed after the run
    logs: Path   # kept if a case failed


class Node:
    """`tree` is the directory with our own programs."""
    def __init__(self, tree, work):
        self.work = work
        self.place = Place(sandbox.STATE, work / "logs")
        self.place.logs.mkdir()
        self.tools = binaries.built(binaries.TOOLS)
        self.cgroup = sandbox.Cgroup()
        self.site = Site(work / "site", find(tree, "gpuhostctl"), self.tools / "hold")
        self.daemon = Daemon(tree, self.place, self.site.trust.file("ca.pem"))
        common = {"registries": self.daemon.certs, "pause": PAUSE, "cri": self.tools / "cri", "cgroup": self.cgroup}
        self.containerd = Containerd("containerd", 2, binaries.built(binaries.CONTAINERD), self.place, **common)
        self.containerd16 = Containerd("containerd-1.6", 1, binaries.debian_containerd(), self.place, **common)
        self.containerd17 = Containerd("containerd-1.7", 1, binaries.debian_13_containerd(), self.place, **common)
        # Not started here; cases run them as a service.
        self.containerd22 = Containerd("containerd-2.2", 2, binaries.built(binaries.CONTAINERD_22), self.place, **common)
        self.containerd23 = Containerd("containerd-2.3", 2, binaries.built(binaries.CONTAINERD_23), self.place, **common)
        self.docker = Docker(binaries.debian_docker(), self.containerd16, self.place, self.cgroup)
        self.podman = Podman(self.place, self.cgroup)
        self.crio = Crio(binaries.built(binaries.CRIO), self.podman, self.place, self.daemon.root / "etc/crio/crio.conf.d",
                         self.daemon.root / "etc/containers", pause=PAUSE, cri=self.tools / "cri")
        self.runtimes = [self.containerd, self.containerd17, self.containerd16]
        self.kubelet = Kubelet(binaries.built(binaries.KUBERNETES) / "kubelet", self.containerd, self.place, self.cgroup)
        self.registry = Registry(tree, self.place, self.daemon.root)
        self.services = [self.daemon, self.registry, self.containerd16, self.containerd17, self.docker, self.podman,
                         self.containerd, self.kubelet]

    def run(self):
        for service in self.services:
            service.run()
        for containerd in self.runtimes:
            containerd.ctr("images", "import", self.site.bundle("base", 1, {}))

    def run_too(self, service):
        """Starts a service that only some cases need; it ends with the others."""
        service.run()
        self.services.append(service)

    def end(self):
        for service in reversed(self.services):
            service.end()

    def diagnose(self):
        return "\n".join(service.tail() for service in self.services)
