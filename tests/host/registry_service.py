# SPDX-License-Identifier: Apache-2.0
"""gpuhost-registry on a socket that the test listens on, as gpuhost-registry.socket would."""
import http.client
import os
import signal
import socket
import sys
import time

import programs
import tap

# Not a shell: not every one takes a descriptor of two digits.
HAND_OVER = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])
"""


def hand_over(listener, command):
    """The command of a program that gets the socket, as systemd would hand it over."""
    return [sys.executable, "-c", HAND_OVER, str(listener.fileno()), *command]


def listening(listener, command, **options):
    return programs.start(hand_over(listener, command), pass_fds=[listener.fileno()], **options)


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
        """Its exit status if it ends by itself, else None."""
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
        """Header names with "_" for "-"."""
        connection = self.connect()
        try:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def raw(self, request, patience=60):
        """What comes back for these bytes until the server closes."""
        with socket.create_connection(self.socket.getsockname(), timeout=patience) as connection:
            received = b""
            try:
                connection.sendall(request)
                while data := connection.recv(65536):
                    received += data
            except ConnectionError:
                pass  # closed before all was read, or sent
            return received
