# SPDX-License-Identifier: Apache-2.0
"""Peers that serve bundles, and faults of peers and connections."""
import http.server
import json
import os
import shutil
import socket
import ssl
import threading
import time

from programs import run
from registry_service import RegistryService

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Authority:
    """A site's certificate authority for peers."""
    def __init__(self, path):
        os.makedirs(path)
        self.path = path
        self._openssl("req", "-x509", *KEY, "-days", "30", "-subj", "/CN=Peers", "-keyout", "ca.key", "-out", "ca.pem")

    def _openssl(self, *words):
        run(["openssl", *words], cwd=self.path, check=True)

    def keys(self, name, *, purposes="serverAuth,clientAuth", address="127.0.0.1", host=None, days=30, ca=None):
        """Returns a credentials directory with a certificate for an address or a host. `ca`: the authority
        that it trusts."""
        directory = os.path.join(self.path, name)
        os.makedirs(directory)
        at = lambda file: os.path.join(directory, file)  # noqa: E731
        with open(at("ext"), "w", encoding="ascii") as file:
            file.write(f"subjectAltName={f'DNS:{host}' if host else f'IP:{address}'}\nextendedKeyUsage={purposes}\n")
        self._openssl("req", *KEY, "-subj", f"/CN={name}", "-keyout", at("key.pem"), "-out", at("csr"))
        self._openssl("x509", "-req", "-in", at("csr"), "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", str(days),
                      "-extfile", at("ext"), "-out", at("cert.pem"))
        shutil.copy(os.path.join((ca or self).path, "ca.pem"), at("ca.pem"))
        return directory


class Peer(RegistryService):
    """gpuhost-peers with a copy of a host's /var/lib/gpuhost."""
    def __init__(self, root, keys, log, source):
        os.makedirs(os.path.join(root, "var/lib"))
        shutil.copytree(source.path("/var/lib/gpuhost"), os.path.join(root, "var/lib/gpuhost"))
        super().__init__(root, log, "--peers", environment={"CREDENTIALS_DIRECTORY": keys})
        self.start()

    def blob(self, hexdigest):
        return os.path.join(self.root, "var/lib/gpuhost/store/sha256", hexdigest)

    def damage(self, hexdigest):
        os.chmod(self.blob(hexdigest), 0o644)
        with open(self.blob(hexdigest), "r+b") as file:
            for at in range(0, os.path.getsize(self.blob(hexdigest)), 1 << 20):  # damages every part that may be requested
                file.seek(at)
                byte = file.read(1)
                file.seek(at)
                file.write(bytes([byte[0] ^ 1]))


class Chatterbox:
    """A server with a valid certificate that sends one byte too many for each requested range."""
    def __init__(self, keys, hexdigest, content, manifest):
        def answer(request):
            path, asked = request.path, request.headers.get("Range")
            if path.endswith("/bundles"):
                return 200, json.dumps({"bundles": [{"name": "site", "generation": 7}]}).encode()
            if path.endswith("/bundles/site"):
                return 200, manifest
            if not path.endswith(hexdigest) or not asked:
                return 404, b"{}"
            first, last = (int(number) for number in asked.removeprefix("bytes=").split("-"))
            return 206, content[first:last + 1] + b"!"

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                status, body = answer(self)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(keys, "cert.pem"), os.path.join(keys, "key.pem"))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients disconnect after too many bytes
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Relay:
    """Relays connections to a server. After `after` bytes from the server it calls `then` once and cuts the
    connections; with `stall` they stay open without data. Limits each connection's rate, so that all connect
    before one completes."""
    BYTES_PER_SECOND = 32 << 20

    def __init__(self, address, after=None, then=None, stall=False):
        self.target = address
        self.after, self.then, self.stall = after, then, stall
        self.bytes = 0
        self.lock = threading.Lock()
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            host, port = self.target.split(":")
            try:
                server = socket.create_connection((host, int(port)), timeout=60)
            except OSError:
                client.close()
                continue
            for source, sink, counted in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pump, args=(source, sink, counted), daemon=True).start()

    def _pump(self, source, sink, counted):
        try:
            while data := source.recv(65536):
                if counted and not self._count(len(data)):
                    if self.stall:
                        continue
                    break
                sink.sendall(data)
                time.sleep(len(data) / self.BYTES_PER_SECOND)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _count(self, size):
        """Counts received bytes. Returns whether to forward them."""
        with self.lock:
            self.bytes += size
            over = self.after is not None and self.bytes > self.after
            then, self.then = (self.then, None) if over else (None, self.then)
        if then:
            then()
        return not over

    def close(self):
        self.socket.close()
