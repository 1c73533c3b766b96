# SPDX-License-Identifier: Apache-2.0
"""A faulty proxy to the API server: HTTPS on loopback that forwards requests as one identity and injects
faults."""

import http.client
import http.server
import random
import ssl
import threading
import time

from .controlplane import PORT

FAULTY_PORT = 16446
PATIENCE = 90  # seconds


class FaultyWay:
    """`harm` is a function of (method, path) that returns the fault of one request: None, or one of
    ("slow", seconds), ("status", code, headers), ("after", code): executed, but answered with this code,
    ("cut",): executed, but the connection is closed without an answer, ("hang",): neither executed nor
    refused."""
    def __init__(self, plane):
        self.plane = plane
        self.harm = lambda method, path: None
        self.away = False
        self.calls = 0
        self.connections = set()
        self.lock = threading.Lock()
        self.upstream = ssl.create_default_context(cafile=str(plane.pki / "ca.crt"))
        self.upstream.load_cert_chain(plane.pki / "admin.crt", plane.pki / "admin.key")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(plane.pki / "server.crt", plane.pki / "server.key")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", FAULTY_PORT), self.handler())
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        self.kubeconfig = self.plane.state / "faulty.kubeconfig"
        self.kubeconfig.write_text(self.plane.admin.read_text().replace(f":{PORT}", f":{FAULTY_PORT}"))
        self.kubeconfig.chmod(0o600)
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.break_all()
        self.server.server_close()

    def break_all(self):
        """Closes all connections, also those of watches."""
        with self.lock:
            broken, self.connections = self.connections, set()
        for one in broken:
            try:
                one.shutdown(2)
            except OSError:
                pass

    def handler(self):
        way = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                with way.lock:
                    way.connections.add(self.connection)

            def handle(self):
                try:
                    super().handle()
                except OSError:
                    pass

            def finish(self):
                with way.lock:
                    way.connections.discard(self.connection)
                try:
                    super().finish()
                except OSError:
                    pass

            def log_message(self, *_):
                pass

            def say(self, status, headers=()):
                body = b'{"kind":"Status","message":"a fault of the test"}'
                self.send_response(status)
                for name, value in (("Content-Length", len(body)), ("Content-Type", "application/json"), *headers):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                way.calls += 1
                if way.away:
                    self.close_connection = True
                    return
                what, *more = way.harm(self.command, self.path) or ("well",)
                if what == "status":
                    self.say(more[0], more[1])
                    return
                if what == "hang":
                    time.sleep(PATIENCE)
                    self.close_connection = True
                    return
                if what == "slow":
                    time.sleep(more[0])
                up = http.client.HTTPSConnection("127.0.0.1", PORT, context=way.upstream, timeout=3600 if "watch=1" in self.path else PATIENCE)
                try:
                    up.request(self.command, self.path, body or None, {name: self.headers[name] for name in ("Content-Type", "Accept") if name in self.headers})
                    answer = up.getresponse()
                    if what == "after":
                        answer.read()
                        self.say(more[0])
                    elif what == "cut":
                        answer.read()
                        self.close_connection = True
                    else:
                        self.bring(answer)
                finally:
                    up.close()

            def bring(self, answer):
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.getheader("Content-Type", "application/json"))
                if "watch=1" not in self.path:
                    content = answer.read()
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                    return
                self.send_header("Connection", "close")
                self.close_connection = True
                self.end_headers()
                self.wfile.flush()
                while line := answer.readline():
                    self.wfile.write(line)
                    self.wfile.flush()

            do_GET = do_POST = do_PATCH = do_DELETE = pass_on  # pylint: disable=invalid-name

        return Handler


def some(share, *faults, methods=("GET", "POST", "PATCH", "DELETE")):
    """Returns a `harm` that injects one of `faults` into this share of the requests, except watches."""
    chance = random.Random(1)

    def harm(method, path):
        if "watch=1" in path or method not in methods or chance.random() > share:
            return None
        return chance.choice(faults)
    return harm
