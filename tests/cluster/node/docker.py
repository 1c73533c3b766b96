# SPDX-License-Identifier: Apache-2.0
"""Docker on a containerd that already runs, with its own directories and socket."""

import programs

from .service import Service
from .waiting import eventually


class Docker(Service):
    def __init__(self, programs_at, containerd, place, cgroup):
        super().__init__("docker", place.logs)
        self.programs_at = programs_at
        self.containerd = containerd
        self.cgroup = cgroup
        self.state = place.state / "docker"
        self.state.mkdir()
        self.socket = self.state / "docker.sock"
        self.client = programs_at / "docker"
        (self.state / "daemon.json").write_text("{}")  # replaces this machine's file

    def run(self):
        self.start([self.programs_at / "dockerd", "--host", f"unix://{self.socket}", "--containerd", self.containerd.socket,
                    "--data-root", self.state / "root", "--exec-root", self.state / "run", "--pidfile", self.state / "pid",
                    "--config-file", self.state / "daemon.json", "--iptables=false", "--bridge=none", "--group=root",
                    "--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", self.cgroup.name])
        eventually("dockerd answers", lambda: self.check_alive() or self.ask("version").returncode == 0)
        return self

    def ask(self, *words):
        return programs.run([self.client, "--host", f"unix://{self.socket}", *words])
