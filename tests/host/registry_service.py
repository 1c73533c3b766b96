# SPDX-License-Identifier: Apache-2.0
"""gpuhost-registry on a listening socket of the test, as with gpuhost-registry.socket."""
import http.client
import os
import signal
import socket
import sys
import time

import programs
import tap

# Not a shell script: some shells do not support descriptors with two digits.
HAND_OVER = """import os, sys
listeners = sorted(map(int, sys.argv[1].split(",")))  # sorted: no dup2() replaces one that a later dup2() needs
for number, listener in enumerate(listeners, 3):
    os.dup2(listener, number)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(listeners)))
os.execv(sys.argv[2], sys.argv[2:])
"""


def hand_over(listener, command, *more):
    """Returns a command that passes the socket, and more listeners, to the program, as systemd does."""
    return [sys.executable, "-c", HAND_OVER, ",".join(str(each.fileno()) for each in (listener, *more)), *command]


def listening(listener, command, *more, **options):
    return programs.start(hand_over(listener, command, *more), pass_fds=[each.fileno() for each in (listener, *more)], **options)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()


class RegistryService:
    def __init__(self, root, log, *arguments, environment=None):
        self.arguments = arguments
        self.environment = programs.environment(**(environment or {}))
        self.root = root
        self.log = log
        self.process = None
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]

    def start(self):
        program = os.path.join(tap.TOP_BUILDDIR, "gpuhost-registry")
        self.process = listening(self.socket, [program, f"--root={self.root}", *self.arguments], env=self.environment,
                                 stdout=self.log, stderr=self.log)

    def ended(self, patience=30):
        """Returns the exit status if the service ends in time, else None."""
        deadline = time.monotonic() + patience
        while self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.process.poll()

    def stop(self):
        if self.process and self.process.poll() is None:
            programs.end(self.process, signal.SIGTERM)

    def close(self):
        if self.process and self.process.poll() is None:
            programs.end(self.process)
        self.socket.close()

    def connect(self):
        return http.client.HTTPConnection(self.address, timeout=30)

    def ask(self, path, method="GET", **headers):
        """Sends a request. Header names have "_" for "-"."""
        connection = self.connect()
        try:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def raw(self, request, patience=60):
        """Sends these bytes. Returns the data until the server closes the connection."""
        with socket.create_connection(self.socket.getsockname(), timeout=patience) as connection:
            received = b""
            try:
                connection.sendall(request)
                while data := connection.recv(65536):
                    received += data
            except ConnectionError:
                pass  # closed before everything was read or sent
            return received
