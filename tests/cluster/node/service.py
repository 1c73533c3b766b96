# SPDX-License-Identifier: Apache-2.0
"""A program that runs beside the tests and writes its output to a log."""

import signal

import programs
from ran_with import ran_program

TAIL = 10


class Service:
    def __init__(self, name, logs):
        self.name = name
        self.log = logs / f"{name}.log"
        self.process = None

    def start(self, command, pass_fds=(), **more):
        """Starts the command; `more` are additional variables of its environment."""
        with open(self.log, "ab") as out:
            self.process = programs.start([str(word) for word in command], stdout=out, stderr=out, pass_fds=pass_fds,
                                          env=programs.environment(**more))
        ran_program(command[0])

    def check_alive(self):
        """Fails if the program has ended, so that a wait for it does not last until its deadline."""
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}:\n{self.tail()}")

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def tail(self):
        rows = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join([f"--- the end of {self.log.name}", *(row[:300] for row in rows[-TAIL:])])

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            programs.wait(self.process)
        self.process = None
