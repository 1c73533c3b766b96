# SPDX-License-Identifier: Apache-2.0
"""The test's end of a worker's gates (fake_worker.cpp)."""
import collections
import contextlib
import os
import socket
import threading

from programs import PATIENCE


class Gates:
    """Answers workers at their gates. `decide(where, count)` returns "go", "error CODE", HANG or None to let it die; `count`
    says how often a worker was there. What it raises opens all gates, and comes out of close()."""

    HANG = "hang"  # it stands there until the daemon kills it

    def __init__(self, host, decide):
        self.path = host.path("/fake-worker/gate")
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.decide = decide
        self.error = None
        self.seen = collections.Counter()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        try:
            while True:
                try:
                    worker, _ = self.socket.accept()
                except OSError:
                    return
                with worker:
                    self.answer(worker)
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.error = error
        finally:
            self.socket.close()

    def answer(self, worker):
        worker.settimeout(PATIENCE)
        with worker.makefile() as lines:
            where = lines.readline().rsplit(" ", 1)[0]
        self.seen[where] += 1
        answer = self.decide(where, self.seen[where])
        if answer == self.HANG:
            with contextlib.suppress(OSError):
                worker.recv(1)  # its end
            return
        with contextlib.suppress(OSError):  # it was killed meanwhile
            worker.sendall((answer or "").encode())

    def close(self):
        os.unlink(self.path)
        with contextlib.suppress(OSError):  # an error has closed it
            self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(PATIENCE)
        if self.thread.is_alive():
            raise TimeoutError("a gate is still being decided")
        if self.error:
            raise self.error
