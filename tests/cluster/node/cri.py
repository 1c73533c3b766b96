# SPDX-License-Identifier: Apache-2.0
"""A container runtime, used over CRI as a kubelet does."""

import json

import programs

from .service import Service


class Runtime(Service):
    """A runtime that listens on `socket`; `cri` is the CRI client."""
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
        """Removes the image as the kubelet's image GC does; an image that does not exist is not an error."""
        self.cri("remove", image)
