# SPDX-License-Identifier: Apache-2.0
"""containerd with its own root, state, socket, configuration and registries."""

import json
import os
import uuid

import programs

from .cri import Runtime
from .waiting import eventually

# {major version: its configuration}. The sandbox's image comes from a bundle, too. restrict_oom_score_adj:
# this machine may not permit a lower OOM score than its own, which containers set.
CONFIGURATION = {
    1: """version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
{cdi}
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{registries}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{state}/opt"
""",
    2: """version = 3
imports = []
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{pause}"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "{registries}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{state}/cni/bin"]
    conf_dir = "{state}/cni/net.d"
[plugins."io.containerd.internal.v1.opt"]
  path = "{state}/opt"
""",
}

# A CNI plug-in, because a node without a network is not ready.
NETWORK = """#!/bin/sh
case $CNI_COMMAND in
    VERSION) echo '{"cniVersion": "1.0.0", "supportedVersions": ["1.0.0"]}' ;;
    ADD) echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.2/24"}]}' ;;
esac
"""


def write_network(directory):
    (directory / "bin").mkdir(parents=True)
    (directory / "net.d").mkdir()
    (directory / "bin/none").write_text(NETWORK)
    (directory / "bin/none").chmod(0o755)
    (directory / "net.d/10-none.conflist").write_text(json.dumps({"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "none"}]}))


class Containerd(Runtime):
    """`programs_at` has containerd, ctr and the shim; `registries` is its certs.d; `cri` is the CRI
    client."""
    def __init__(self, name, major, programs_at, place, *, registries, pause, cri, cgroup):
        super().__init__(name, place, cri)
        self.programs_at = programs_at
        self.client = programs_at / "ctr"
        self.cgroup = cgroup
        self.configuration = self.state / "config.toml"
        cdi = "  enable_cdi = true" if name.endswith("1.7") else ""  # 1.6 does not support it, 2 enables it by default
        self.configuration.write_text(CONFIGURATION[major].format(pause=pause, registries=registries, state=self.state, cdi=cdi))
        write_network(self.state / "cni")

    def run(self):
        self.start([self.programs_at / "containerd", "--config", self.configuration, "--root", self.state / "root",
                    "--state", self.state / "run", "--address", self.socket],
                   PATH=f"{self.programs_at}:{os.environ['PATH']}")
        eventually(f"{self.name} answers", self.answers)
        return self

    def answers(self):
        self.check_alive()
        return self.ask("version").returncode == 0 and self.ask_cri("list").returncode == 0

    def ask(self, *words):
        return programs.run([self.programs_at / "ctr", "-a", self.socket, "-n", "k8s.io", *words])

    def ctr(self, *words):
        done = self.ask(*words)
        assert done.returncode == 0, f"ctr {' '.join(map(str, words))}: {done.stdout}{done.stderr}"
        return done.stdout

    def images(self):
        return self.ctr("images", "ls", "-q").split()

    def tasks(self, *filters):
        """Returns the running containers that match the filters."""
        running = {row.split()[0] for row in self.ctr("tasks", "ls").splitlines()[1:] if " RUNNING" in row}
        return running & set(self.ctr("containers", "ls", "-q", *filters).split())

    def output_of(self, image):
        """Runs a container of the image; returns its output once it has printed a line."""
        name = f"once-{uuid.uuid4().hex[:8]}"
        log = self.state / f"{name}.log"
        self.ctr("run", "--detach", "--cgroup", f"{self.cgroup.name}/{name}", "--log-uri", f"file://{log}", image, name)
        try:
            return eventually(lambda: f"{image} prints a line; {self.ctr('tasks', 'ls')}",
                              lambda: log.exists() and log.read_text().endswith("\n") and log.read_text())
        finally:
            self.ctr("tasks", "kill", "--signal", "KILL", name)
            eventually(f"{name} ends", lambda: self.ask("tasks", "rm", name).returncode == 0)
            self.ctr("containers", "rm", name)
