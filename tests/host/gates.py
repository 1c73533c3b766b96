# SPDX-License-Identifier: Apache-2.0
"""The test's end of a worker's gates (fake_worker.cpp)."""
import collections
import os
import socket
import threading


class Gates:
    """Answers workers at their gates. `decide(where, count)` returns "go", "error CODE" or None to let it die; `count`
    says how often a worker was there."""

    def __init__(self, host, decide):
        self.path = host.path("/fake-worker/gate")
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.decide = decide
        self.seen = collections.Counter()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                worker, _ = self.socket.accept()
            except OSError:
                return
            with worker:
                where = worker.makefile().readline().rsplit(" ", 1)[0]
                self.seen[where] += 1
                answer = self.decide(where, self.seen[where])
                try:
                    worker.sendall((answer or "").encode())
                except OSError:
                    pass  # it was killed meanwhile

    def close(self):
        os.unlink(self.path)
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()
