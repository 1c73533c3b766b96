# SPDX-License-Identifier: Apache-2.0
"""A watch of the API server, for the bench itself."""

import contextlib
import json
import socket
import threading
from http.client import HTTPException

from node.controlplane import Session


class Watching(threading.Thread):
    """Hands each event's type and object to `take`, in a thread of its own, from those that there are on until it is closed."""
    def __init__(self, plane, path, take):
        super().__init__(daemon=True)
        self.path, self.take, self.closed = path, take, False
        self.connection = Session(plane, "admin").connection
        self.connection.timeout = None  # there may be nothing to tell
        self.answer = self.ask("")
        self.start()

    def ask(self, version):
        self.connection.request("GET", f"{self.path}?watch=1&timeoutSeconds=7200&resourceVersion={version}")
        return self.connection.getresponse()

    def run(self):
        version = ""
        try:
            while not self.closed:
                for line in self.answer:
                    event = json.loads(line)
                    assert event["type"] != "ERROR", event
                    version = event["object"]["metadata"]["resourceVersion"]
                    self.take(event["type"], event["object"])
                self.answer = self.ask(version)  # the server ends a watch whose reader is too slow
        except (OSError, HTTPException):
            if not self.closed:
                raise

    def close(self):
        self.closed = True
        if self.connection.sock:
            with contextlib.suppress(OSError):  # the server was first
                self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.join()
