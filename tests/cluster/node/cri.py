# SPDX-License-Identifier: Apache-2.0
"""A container runtime as a kubelet sees it."""

import json

import programs

from .service import Service


class Runtime(Service):
    """It listens at `socket`; `cri` is the program that speaks CRI."""
    def __init__(self, name, place, cri):
        super().__init__(name, place.logs)
        self.cri_program = cri
        self.state = place.state / name
        self.state.mkdir()
        self.socket = self.state / f"{name}.sock"

    def ask_cri(self, *words):
        return programs.run([self.cri_program, self.socket, *words])

    def cri(self, *words):
        done = self.ask_cri(*words)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return json.loads(done.stdout)

    def forget(self, image):
        """As the kubelet's image GC does; what is not there is no error."""
        self.cri("remove", image)
