# SPDX-License-Identifier: Apache-2.0
"""The part of a Kubernetes API server that one host uses, with injected faults. Versions, lists, watches and
patches follow the rules of the real server, with which tests/cluster runs the same program."""
import base64
import copy
import http.server
import json
import os
import re
import socket
import ssl
import tempfile
import threading
import time
import urllib.parse

from peer_files import KEY, Authority
from programs import run

NODES = "/api/v1/nodes"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CONFIG_MAPS = "/api/v1/namespaces/gpuhost/configmaps"  # empty unless a test adds a policy
EVENTS = "/api/v1/namespaces/default/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/gpuhost/leases"


def merged(old, patch, lists=None):
    """Applies a patch by RFC 7386. Lists named in `lists` are merged by that key, as in a strategic merge."""
    if not isinstance(patch, dict):
        return patch
    new = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif lists and key in lists and isinstance(value, list):
            by = lists[key]
            kept = [one for one in new.get(key, []) if one.get(by) not in [changed[by] for changed in value]]
            before = {one[by]: one for one in new.get(key, [])}
            new[key] = kept + [merged(before.get(changed[by], {}), changed) for changed in value if changed.get("$patch") != "delete"]
        else:
            new[key] = merged(new.get(key), value, lists)
    return new


def selects(query):
    """Returns a predicate: whether a list or watch with this query selects an object."""
    name = query.get("fieldSelector", "").removeprefix("metadata.name=")
    label, _, value = query.get("labelSelector", "").partition("=")
    return lambda one: name in ("", one["metadata"]["name"]) and (not label or one["metadata"].get("labels", {}).get(label) == value)


class FakeApi:
    """Holds objects by collection and name, and all their changes. `calls` are the received requests."""
    def __init__(self, directory):
        self.authority = Authority(os.path.join(directory, "authority"))
        self.keys = self.authority.keys("server")
        self.lock = threading.Condition()
        self.objects = {NODES: {}, REQUESTS: {}, CONFIG_MAPS: {}, EVENTS: {}, LEASES: {}}
        self.events = []  # (version, collection, type, object)
        self.version = 100
        self.oldest = 0   # watches from earlier versions get 410
        self.calls = []   # (method, path without query, query, user)
        self.faults = []  # (method, text in the path, status, headers) for the next matching request
        self.frozen = False
        self.server = None
        self.port = 0
        self.start()

    # Objects

    def put(self, collection, name, new):
        with self.lock:
            self.version += 1
            known = name in self.objects[collection]
            new = copy.deepcopy(new)
            metadata = new.setdefault("metadata", {})
            metadata.update(name=name, resourceVersion=str(self.version))
            metadata.setdefault("uid", f"uid-{self.version}")
            self.objects[collection][name] = new
            self.events.append((self.version, collection, "MODIFIED" if known else "ADDED", copy.deepcopy(new)))
            self.lock.notify_all()
            return new

    def drop(self, collection, name):
        with self.lock:
            self.version += 1
            gone = self.objects[collection].pop(name)
            gone["metadata"]["resourceVersion"] = str(self.version)
            self.events.append((self.version, collection, "DELETED", gone))
            self.lock.notify_all()

    def node(self, name="gpu01"):
        with self.lock:
            return copy.deepcopy(self.objects[NODES].get(name))

    def change(self, name="gpu01", **spec):
        """Changes a Node as another client would."""
        node = self.node(name)
        node["spec"].update(spec)
        return self.put(NODES, name, node)

    def names(self, collection):
        with self.lock:
            return set(self.objects[collection])

    def annotations(self, name="gpu01"):
        return (self.node(name) or {"metadata": {}})["metadata"].get("annotations") or {}

    def add_node(self, name="gpu01", taints=()):
        taints = [{"key": key, "effect": "NoSchedule"} for key in taints]
        return self.put(NODES, name, {"kind": "Node", "apiVersion": "v1", "metadata": {"labels": {}}, "spec": {"taints": taints},
                                      "status": {"conditions": [{"type": "Ready", "status": "True"}]}})

    def conditions(self, name="gpu01"):
        """Returns {type: (status, reason)} of gpuhost's conditions."""
        node = self.node(name) or {"status": {"conditions": []}}
        return {one["type"].removeprefix("gpuhost.io/"): (one["status"], one["reason"]) for one in node["status"]["conditions"]
                if one["type"].startswith("gpuhost.io/")}

    def taints(self, name="gpu01"):
        return [taint["key"] for taint in (self.node(name) or {}).get("spec", {}).get("taints") or []]

    def forget(self):
        """Discards the history: watches from earlier versions get 410."""
        with self.lock:
            self.version += 10
            self.oldest = self.version

    def restore(self):
        """Sets all objects to earlier versions and breaks connections, as a restore of etcd does."""
        with self.lock:
            self.version -= 50
            self.events = []
            for objects in self.objects.values():
                for one in objects.values():
                    one["metadata"]["resourceVersion"] = str(int(one["metadata"]["resourceVersion"]) - 50)
        self.cut()

    def approve(self, name, *, days=1):
        with self.lock:
            request = copy.deepcopy(self.objects[REQUESTS][name])
        with tempfile.TemporaryDirectory() as directory:
            at = lambda file: os.path.join(directory, file)  # noqa: E731
            with open(at("csr"), "wb") as file:
                file.write(base64.b64decode(request["spec"]["request"]))
            with open(at("ext"), "w", encoding="ascii") as file:
                file.write("extendedKeyUsage=clientAuth\n")
            run(["openssl", "x509", "-req", "-in", at("csr"), "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", str(days),
                 "-extfile", at("ext"), "-out", at("cert.pem")], cwd=self.authority.path, check=True)
            with open(at("cert.pem"), "rb") as file:
                request.setdefault("status", {})["certificate"] = base64.b64encode(file.read()).decode()
        request["status"]["conditions"] = [{"type": "Approved", "status": "True"}]
        self.put(REQUESTS, name, request)

    def deny(self, name, message):
        with self.lock:
            request = copy.deepcopy(self.objects[REQUESTS][name])
        request["status"] = {"conditions": [{"type": "Denied", "status": "True", "message": message}]}
        self.put(REQUESTS, name, request)

    # The server

    def start(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.keys, "cert.pem"), os.path.join(self.keys, "key.pem"))
        context.load_verify_locations(os.path.join(self.authority.path, "ca.pem"))
        context.verify_mode = ssl.CERT_OPTIONAL
        self.server = Server(("127.0.0.1", self.port), self, context)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self):
        """Stops the server and cuts its open connections."""
        server, self.server = self.server, None
        if server:
            server.shutdown()
            server.server_close()
            server.cut()

    def cut(self):
        self.server.cut()

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    def fail(self, status, method="", path="", **headers):
        """Makes the next request with this method and path fail with the status."""
        with self.lock:
            self.faults.append((method, path, status, headers))

    def count(self, method, text=""):
        with self.lock:
            return sum(call[0] == method and text in call[1] + "?" + call[2] for call in self.calls)

    def watches(self):
        return self.count("GET", f"{NODES}?watch=1")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address, api, context):
        self.api = api
        self.context = context
        self.open = set()
        super().__init__(address, Handler)

    def finish_request(self, request, client_address):
        try:
            request = self.context.wrap_socket(request, server_side=True)
        except (OSError, ssl.SSLError):
            return
        self.open.add(request)
        try:
            super().finish_request(request, client_address)
        except (OSError, ssl.SSLError, ValueError):
            pass  # the connection was closed by either end
        finally:
            self.open.discard(request)

    def cut(self):
        for one in list(self.open):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Prometheus(http.server.ThreadingHTTPServer):
    """A Prometheus with firing alerts. `keys` enables TLS; `token` is the required bearer token."""
    daemon_threads = True

    def __init__(self, keys=None, token=None):
        self.firing = []
        self.asked = []    # queries
        self.token = token
        super().__init__(("127.0.0.1", 0), PrometheusHandler)
        if keys:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(os.path.join(keys, "cert.pem"), os.path.join(keys, "key.pem"))
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"{'https' if keys else 'http'}://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def handle_error(self, *_):
        pass  # a client that does not trust the certificate disconnects


class PrometheusHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        self.server.asked.append(dict(urllib.parse.parse_qsl(url.query)).get("query"))
        result = [{"metric": {"__name__": "ALERTS", "alertname": name, "alertstate": "firing"}, "value": [time.time(), "1"]}
                  for name in self.server.firing]
        if self.server.token and self.headers.get("Authorization") != f"Bearer {self.server.token}":
            status, body = 401, b"Unauthorized\n"
        elif url.path != "/api/v1/query":
            status, body = 404, b"404 page not found\n"
        else:
            status, body = 200, json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Proxy(http.server.ThreadingHTTPServer):
    """An HTTP proxy that records its CONNECT requests."""
    daemon_threads = True

    def __init__(self):
        self.asked = []
        super().__init__(("127.0.0.1", 0), ProxyHandler)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class ProxyHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_CONNECT(self):
        self.server.asked.append(self.path)
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as other:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=self.pump, args=(other, self.connection), daemon=True)
            back.start()
            self.pump(self.connection, other)
            back.join()
        self.close_connection = True

    @staticmethod
    def pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    @property
    def api(self):
        return self.server.api

    def user(self):
        peer = self.connection.getpeercert()
        names = dict(pair[0] for pair in peer["subject"]) if peer else {}
        return names.get("commonName") or self.headers.get("Authorization", "anonymous")

    def answer(self, status, body, **headers):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, message, **headers):
        self.answer(status, {"kind": "Status", "status": "Failure", "code": status, "message": message}, **headers)

    def route(self, method):
        """Returns (collection, name or None, subresource, query), or None after an error answer."""
        url = urllib.parse.urlsplit(self.path)
        api = self.api
        while api.frozen:
            time.sleep(0.05)
        with api.lock:
            api.calls.append((method, url.path, url.query, self.user()))
            fault = next((one for one in api.faults if one[0] in ("", method) and one[1] in url.path + "?" + url.query), None)
            if fault:
                api.faults.remove(fault)
        if fault:
            self.refuse(fault[2], "injected by the test", **fault[3])
            return None
        for collection in api.objects:
            if match := re.fullmatch(re.escape(collection) + r"(?:/([^/]+)(/status)?)?", url.path):
                return collection, match[1], match[2], dict(urllib.parse.parse_qsl(url.query))
        self.refuse(404, "no such resource")
        return None

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def do_GET(self):
        if not (found := self.route("GET")):
            return
        collection, name, _, query = found
        if name:
            with self.api.lock:
                one = self.api.objects[collection].get(name)
            self.answer(200, one) if one else self.refuse(404, f'"{name}" not found')
        elif query.get("watch"):
            self.watch(collection, selects(query), int(query.get("resourceVersion") or 0))
        else:
            first, limit = int(query.get("continue", 0)), int(query.get("limit", 1_000_000))
            with self.api.lock:
                items = list(filter(selects(query), self.api.objects[collection].values()))
                more = {"continue": str(first + limit)} if len(items) > first + limit else {}
                answer = {"kind": "List", "metadata": {"resourceVersion": str(self.api.version), **more}, "items": copy.deepcopy(items[first:first + limit])}
            self.answer(200, answer)

    def send_event(self, kind, one):
        line = json.dumps({"type": kind, "object": one}).encode() + b"\n"
        for part in (line[:len(line) // 2], line[len(line) // 2:]):  # chunks may end anywhere
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.flush()

    def watch(self, collection, selected, version):
        api = self.api
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        if version == 0:  # existing objects are sent as ADDED
            with api.lock:
                there, version = list(api.objects[collection].values()), api.version
            for one in there:
                if selected(one):
                    self.send_event("ADDED", one)
        if version < api.oldest:
            self.send_event("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})
            self.wfile.write(b"0\r\n\r\n")
            return
        while self.server is api.server:
            with api.lock:
                new = [event for event in api.events if event[0] > version and event[1] == collection]
                if not new:
                    api.lock.wait(0.2)
            for number, _, kind, one in new:
                version = number
                if selected(one):
                    self.send_event(kind, one)

    def do_POST(self):
        one = self.body()
        if not (found := self.route("POST")):
            return
        name = one["metadata"]["name"]
        with self.api.lock:
            known = name in self.api.objects[found[0]]
        if known:
            self.refuse(409, f'"{name}" already exists')
        else:
            self.answer(201, self.api.put(found[0], name, one))

    def do_DELETE(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not (found := self.route("DELETE")):
            return
        with self.api.lock:
            known = found[1] in self.api.objects[found[0]]
        if known:
            self.api.drop(found[0], found[1])
        self.answer(200, {"kind": "Status", "status": "Success"}) if known else self.refuse(404, f'"{found[1]}" not found')

    def do_PATCH(self):
        patch = self.body()
        if not (found := self.route("PATCH")):
            return
        collection, name, subresource, _ = found
        strategic = "strategic" in self.headers["Content-Type"]
        with self.api.lock:
            old = copy.deepcopy(self.api.objects[collection].get(name))
            if not old:
                return self.refuse(404, f'"{name}" not found')
            version = patch.get("metadata", {}).get("resourceVersion")
            if version and version != old["metadata"]["resourceVersion"]:
                return self.refuse(409, "the object has been modified; please apply your changes to the latest version and try again")
            new = merged(old, patch, {"conditions": "type"} if strategic else None)
            kept = ("metadata", "spec") if subresource else ("status",)  # a subresource patch changes only the status, any other patch all but the status
            new.update({key: old[key] for key in kept if key in old})
            new = self.api.put(collection, name, new)
        return self.answer(200, new)
