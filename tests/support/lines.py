# SPDX-License-Identifier: Apache-2.0
"""What another program prints, line by line, each waited for with a deadline."""
import os
import select
import time

from programs import PATIENCE


class Lines:
    """Reads the pipe itself: nobody else may read from it, and what Python buffers is lost."""

    def __init__(self, stream):
        self.stream = stream
        self.rest = b""

    def next(self, seconds=PATIENCE):
        """The next line without its end, None where there is none any more; TimeoutError when none comes in time."""
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
