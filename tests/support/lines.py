# SPDX-License-Identifier: Apache-2.0
"""Reads another program's output line by line, with a deadline for each line."""
import os
import select
import time

from programs import PATIENCE


class Lines:
    """Reads the stream's descriptor. No other reader may use it, and data in Python's buffer is lost."""

    def __init__(self, stream):
        self.stream = stream
        self.rest = b""

    def next(self, seconds=PATIENCE):
        """Returns the next line without its newline; None at the end. Raises TimeoutError at the deadline."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self.rest:
            if not select.select([self.stream], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"no line within {seconds:.1f} s, but: {self.rest!r}")
            data = os.read(self.stream.fileno(), 65536)
            if not data:
                last, self.rest = self.rest, b""
                return last.decode() if last else None
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()
