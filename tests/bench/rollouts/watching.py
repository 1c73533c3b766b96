# SPDX-License-Identifier: Apache-2.0
"""A watch of the API server, for the bench itself."""

import contextlib
import json
import socket
import threading
from http.client import HTTPException

from node.controlplane import Session


class Watching(threading.Thread):
    """Calls `handle` with the type and object of each event, in a thread of its own, until it is closed.
    Existing objects count as added."""
    def __init__(self, plane, path, handle):
        super().__init__(daemon=True)
        session = Session(plane, "admin")
        status, listed = session.ask("GET", path)
        assert status == 200, listed
        for one in listed["items"]:
            handle("ADDED", one)
        self.path, self.handle, self.closed = path, handle, False
        self.version = listed["metadata"]["resourceVersion"]
        self.connection = session.connection
        self.connection.close()
        self.connection.timeout = None  # there may be no event for a long time
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
                        self.handle(event["type"], event["object"])
                self.answer = self.ask()  # the server has ended the watch: its reader was too slow
        except (OSError, HTTPException):
            if not self.closed:
                raise

    def close(self):
        self.closed = True
        if self.connection.sock:
            with contextlib.suppress(OSError):  # the server closed it first
                self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.join()
