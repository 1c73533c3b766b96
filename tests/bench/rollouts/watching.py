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
        session = Session(plane, "admin")
        status, listed = session.ask("GET", path)
        assert status == 200, listed
        for one in listed["items"]:
            take("ADDED", one)
        self.path, self.take, self.closed = path, take, False
        self.version = listed["metadata"]["resourceVersion"]
        self.connection = session.connection
        self.connection.close()
        self.connection.timeout = None  # there may be nothing to tell
        self.answer = self.ask()
        self.start()

    def ask(self):
        self.connection.close()
        self.connection.request("GET", f"{self.path}?watch=1&allowWatchBookmarks=true&timeoutSeconds=7200&resourceVersion={self.version}")
        answer = self.connection.getresponse()
        assert answer.status == 200, answer.read()
        return answer

    def run(self):
        try:
            while not self.closed:
                for line in self.answer:
                    event = json.loads(line)
                    assert event["type"] != "ERROR", event
                    self.version = event["object"]["metadata"]["resourceVersion"]
                    if self.closed:
                        return
                    if event["type"] != "BOOKMARK":
                        self.take(event["type"], event["object"])
                self.answer = self.ask()  # the server ends a watch whose reader is too slow
        except (OSError, HTTPException):
            if not self.closed:
                raise

    def close(self):
        self.closed = True
        if self.connection.sock:
            with contextlib.suppress(OSError):  # the server was first
                self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.join()
