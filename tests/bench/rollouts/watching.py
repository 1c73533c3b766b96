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
        self.connection = Session(plane, "admin").connection
        self.connection.timeout = None  # there may be nothing to tell
        self.connection.request("GET", f"{path}?watch=1&timeoutSeconds=7200")
        self.answer = self.connection.getresponse()
        self.take, self.closed = take, False
        self.start()

    def run(self):
        try:
            for line in self.answer:
                event = json.loads(line)
                if self.closed:
                    return
                self.take(event["type"], event["object"])
        except (OSError, HTTPException):
            if not self.closed:
                raise

    def close(self):
        self.closed = True
        if self.connection.sock:
            with contextlib.suppress(OSError):  # the server was first
                self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.join()
