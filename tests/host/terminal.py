# SPDX-License-Identifier: Apache-2.0
"""Runs a program on its own terminal."""
import codecs
import fcntl
import os
import select
import signal
import subprocess
import termios
import time

import programs
from programs import PATIENCE


class Terminal:
    def __init__(self, command, environment, rows=None):
        """Without `rows` the terminal reports no size."""
        self.fd, other = os.openpty()
        if rows:
            termios.tcsetwinsize(other, (rows, 80))

        def reachable():
            """Makes Ctrl-C reach the program: sets its controlling terminal, resets an inherited SIG_IGN."""
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=environment,
                                        start_new_session=True, preexec_fn=reachable)
        os.close(other)
        self.decoder = codecs.getincrementaldecoder("utf-8")()  # a character may arrive in two reads
        self.text = ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, wanted):
        deadline = time.monotonic() + PATIENCE
        while wanted not in self.text:
            if not self.read_some(deadline):
                raise RuntimeError(f"'{wanted}' was not printed, but: {self.text!r}")

    def read_some(self, deadline):
        if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self.fd, 4096)
        except OSError:  # EIO at the end of a terminal
            return False
        self.text += self.decoder.decode(data)
        return bool(data)

    def end(self):
        deadline = time.monotonic() + PATIENCE
        while self.read_some(deadline):
            pass
        status = programs.wait(self.process)
        os.close(self.fd)
        return status
