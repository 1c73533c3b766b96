# SPDX-License-Identifier: Apache-2.0
"""Podman's API service, with its own storage."""

import json

import programs

from .service import Service
from .waiting import eventually


class Podman(Service):
    def __init__(self, place, cgroup):
        super().__init__("podman", place.logs)
        self.cgroup = cgroup
        self.state = place.state / "podman-service"
        self.state.mkdir()
        self.socket = self.state / "podman.sock"
        self.client = "/usr/bin/podman"
        self.home = self.state / "home"
        policy = self.home / ".config/containers/policy.json"  # replaces this machine's file
        policy.parent.mkdir(parents=True)
        policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}')

    def run(self):
        storage = ["--root", self.state / "root", "--runroot", self.state / "run", "--tmpdir", self.state / "tmp",
                   "--storage-driver=overlay"]
        self.start([self.client, *storage, "--cgroup-manager=cgroupfs", "--events-backend=none", "--runtime=runc",
                    "system", "service", "--time=0", f"unix://{self.socket}"], HOME=str(self.home), TMPDIR=str(self.state))
        eventually("podman answers", lambda: self.check_alive() or self.ask("version").returncode == 0)
        return self

    def ask(self, *words):
        return programs.run([self.client, "--remote", "--url", f"unix://{self.socket}", *words])

    def call(self, *words):
        done = self.ask(*words)
        assert done.returncode == 0, f"podman {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def image(self, name):
        """Returns the image with that name; None if it does not exist."""
        done = self.ask("image", "inspect", name)
        return json.loads(done.stdout)[0] if done.returncode == 0 else None
