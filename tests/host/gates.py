# SPDX-License-Identifier: Apache-2.0
"""The test's side of a worker's gates (fake_worker.cpp)."""
import collections
import contextlib
import os
import socket
import threading

from programs import PATIENCE


class Gates:
    """Answers workers at their gates. `decide(where, count)` returns "go", "error CODE", HANG, or None to end
    the worker; `count` is the number of arrivals at this gate. close() raises its exception."""

    HANG = "hang"  # the worker waits until the daemon kills it

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
                worker.recv(1)  # returns when the worker ends
            return
        with contextlib.suppress(OSError):  # the worker was killed
            worker.sendall((answer or "").encode())

    def close(self):
        os.unlink(self.path)
        with contextlib.suppress(OSError):  # already closed after an error
            self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(PATIENCE)
        if self.thread.is_alive():
            raise TimeoutError("a gate is still being decided")
        if self.error:
            raise self.error
