# SPDX-License-Identifier: Apache-2.0
"""The real gpuhost-registry with an inherited socket, and a store with imported bundles."""
import concurrent.futures
import hashlib
import json
import os
import random
import shutil
import socket
import time

import programs
import tap
from fake_host import FakeHost, write
from image_files import INDEX, MANIFEST, Layout, Site
from registry_service import RegistryService

SPEC = """[Bundle]
Name={name}
Generation={generation}

[Image registry.example:5000/team/app:v1]
Layout=layouts/app
Reference={app}

[Image registry.example:5000/team/app:v2]
Layout=layouts/app
Reference=v2

[Image busybox]
Layout=layouts/many
"""
APP = "/v2/registry.example_5000/team/app"
NOBODY = "sha256:" + "0" * 64


class Images:
    """Creates bundles and the images in them."""
    def __init__(self, directory):
        self.directory = directory
        self.site = Site(self.path("site"))
        noise = random.Random(535)
        self.layers = [noise.randbytes(size) for size in (100, 4096, 3_000_000)]
        app = Layout(self.path("layouts/app"))
        self.v1 = app.add_manifest(self.layers)
        self.v2 = app.add_manifest(self.layers[:1])
        app.tag(self.v1, "v1")
        app.tag(self.v2, "v2")
        self.signature = app.add_document({"artifactType": "application/example.signature", "config": app.add_blob(b"{}"),
                                           "layers": [app.add_blob(b"signed")], "subject": self.v1,
                                           "annotations": {"by": "the site"}}, MANIFEST)
        app.tag(self.signature, "signature-of-v1")
        many = Layout(self.path("layouts/many"))
        self.many = many.add_index({"amd64": self.layers[:2], "arm64": [b"arm"]})
        many.tag(self.many, "latest")

    def path(self, name):
        return os.path.join(self.directory, name)

    def blob(self, descriptor, layout="app"):
        return read_bytes(self.path(f"layouts/{layout}/blobs/sha256/{descriptor['digest'][7:]}"))

    def create(self, name="site", generation=7, created=1_700_000_000, app="v1"):
        write(self.path("site.spec"), SPEC.format(name=name, generation=generation, app=app))
        bundle = self.path(f"{name}.bundle")
        programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "create", self.path("site.spec"), "-o", bundle,
                      *self.site.signing()], env=programs.environment(SOURCE_DATE_EPOCH=str(created)), check=True)
        return bundle


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def digest_of(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def code_of(answer):
    return json.loads(answer.body)["errors"][0]["code"]


def check_manifests(t, registry, images):
    answer = registry.ask("/v2/")
    t.ok(answer.status == 200 and answer.headers["docker-distribution-api-version"] == "registry/2.0",
         "GET /v2/ returns the registry version header", answer.headers)
    answer = registry.ask(APP + "/manifests/v1")
    t.ok(answer.status == 200 and answer.body == images.blob(images.v1) and answer.headers["content-type"] == MANIFEST
         and answer.headers["docker-content-digest"] == images.v1["digest"] and answer.headers["cache-control"] == "no-cache",
         "GET of a tag returns its manifest", answer.status, answer.headers)
    head = registry.ask(APP + "/manifests/v1", "HEAD")
    t.ok(head.status == 200 and head.body == b"" and head.headers["content-length"] == str(images.v1["size"])
         and head.headers["docker-content-digest"] == images.v1["digest"],
         "HEAD of a tag returns the same headers", head.headers)
    answer = registry.ask(APP + "/manifests/" + images.v2["digest"])
    t.ok(answer.status == 200 and answer.body == images.blob(images.v2) and "immutable" in answer.headers["cache-control"],
         "GET of a digest is cacheable as immutable", answer.status, answer.headers)
    again = registry.ask(APP + "/manifests/v1", If_None_Match=f'"{images.v1["digest"]}"')
    t.ok(again.status == 304 and again.body == b"",
         "If-None-Match with the current digest returns 304", again.status)
    for ns, path in (("docker.io", "/v2/library/busybox"), ("docker.io", "/v2/busybox"), (None, "/v2/docker.io/library/busybox"),
                     (None, "/v2/docker.io/busybox"), (None, "/v2/library/busybox"), ("registry.example:5000", "/v2/team/app")):
        query = f"?ns={ns}" if ns else ""
        tag = "v1" if "app" in path else "latest"
        answer = registry.ask(f"{path}/manifests/{tag}{query}")
        wanted = images.v1 if "app" in path else images.many
        t.ok(answer.status == 200 and answer.headers["docker-content-digest"] == wanted["digest"]
             and answer.headers["content-type"] == wanted["mediaType"],
             f"{path} with ns={ns} finds the image", answer.status, answer.body)


def check_blobs(t, registry, images):
    content, path = images.layers[2], APP + "/blobs/" + digest_of(images.layers[2])
    answer = registry.ask(path)
    t.ok(answer.status == 200 and answer.body == content and answer.headers["accept-ranges"] == "bytes"
         and answer.headers["docker-content-digest"] == digest_of(content),
         "GET of a blob returns its content", answer.status, answer.headers)
    head = registry.ask(path, "HEAD")
    t.ok(head.status == 200 and head.headers["content-length"] == str(len(content)) and head.body == b"",
         "HEAD of a blob returns its size", head.headers)
    for asked, status, wanted in (("bytes=0-0", 206, content[:1]), ("bytes=1000-1999", 206, content[1000:2000]),
                                  ("bytes=2999990-", 206, content[-10:]), ("bytes=-5", 206, content[-5:]),
                                  ("bytes=-99999999", 206, content), ("bytes=2999999-9999999", 206, content[-1:]),
                                  ("bytes=0-1,5-6", 200, content), ("bytes=9-3", 200, content), ("lines=1-2", 200, content)):
        answer = registry.ask(path, Range=asked)
        t.ok(answer.status == status and answer.body == wanted,
             f"a blob with Range: {asked} returns {status}", answer.status, answer.headers, len(answer.body))
    for asked in ("bytes=3000000-", "bytes=-0"):
        answer = registry.ask(path, Range=asked)
        t.ok(answer.status == 416 and answer.headers["content-range"] == "bytes */3000000",
             f"a blob with Range: {asked} returns 416", answer.status, answer.headers)
    answer = registry.ask(path, Range="bytes=0-9", If_Range='"another"')
    t.ok(answer.status == 200, "If-Range with another digest returns the whole blob", answer.status)
    answer = registry.ask(f"/v2/docker.io/library/busybox/blobs/{digest_of(content)}")
    t.ok(answer.status == 200, "a blob is found in every repository", answer.status)


def check_lists(t, registry, images):
    answer = registry.ask(APP + "/tags/list")
    t.ok(json.loads(answer.body) == {"name": "registry.example_5000/team/app", "tags": ["v1", "v2"]} and "link" not in answer.headers,
         "tags/list returns all tags", answer.body)
    page = registry.ask("/v2/team/app/tags/list?n=1&ns=registry.example:5000")
    link = page.headers.get("link", "")
    t.ok(json.loads(page.body)["tags"] == ["v1"] and link.endswith('>; rel="next"'),
         "tags/list with n=1 returns a page with next link", page.body, link)
    page = registry.ask(link[1:link.index(">")])
    t.ok(json.loads(page.body)["tags"] == ["v2"] and "link" not in page.headers,
         "the last page of tags/list has no next link", page.body, page.headers)
    page = registry.ask(APP + "/tags/list?n=0")
    t.ok(json.loads(page.body)["tags"] == [] and "link" not in page.headers,
         "tags/list with n=0 returns an empty last page", page.body)
    answer = registry.ask(APP + "/tags/list?n=many")
    t.ok(answer.status == 400 and code_of(answer) == "PAGINATION_NUMBER_INVALID",
         "tags/list with an invalid n returns 400", answer.body)
    wanted = {key: images.signature[key] for key in ("mediaType", "digest", "size")} | {
        "artifactType": "application/example.signature", "annotations": {"by": "the site"}}
    answer = registry.ask(f"{APP}/referrers/{images.v1['digest']}")
    t.ok(answer.status == 200 and answer.headers["content-type"] == INDEX and json.loads(answer.body)["manifests"] == [wanted],
         "referrers returns an image's signature", answer.status, answer.body)
    t.ok(registry.ask(f"{APP}/manifests/{wanted['digest']}").body == images.blob(images.signature),
         "GET returns the manifest of a signature")
    for kind, count in (("application/example.signature", 1), ("application/other", 0)):
        answer = registry.ask(f"{APP}/referrers/{images.v1['digest']}?artifactType={kind}")
        t.ok(len(json.loads(answer.body)["manifests"]) == count and answer.headers["oci-filters-applied"] == "artifactType",
             f"referrers with artifactType={kind} returns {count}", answer.body, answer.headers)
    for path in (APP, "/v2/nobody"):
        answer = registry.ask(f"{path}/referrers/{NOBODY}")
        t.ok(answer.status == 200 and json.loads(answer.body)["manifests"] == [],
             f"referrers of an unknown digest in {path} is empty", answer.status)


def check_refusals(t, registry, log):
    for path, status, code in (
            (APP + "/manifests/v9", 404, "MANIFEST_UNKNOWN"), (APP + "/manifests/" + NOBODY, 404, "MANIFEST_UNKNOWN"),
            (APP + "/blobs/" + NOBODY, 404, "BLOB_UNKNOWN"), ("/v2/nobody/manifests/v1", 404, "NAME_UNKNOWN"),
            ("/v2/team/app/manifests/v1?ns=docker.io", 404, "NAME_UNKNOWN"), ("/v2/nobody/tags/list", 404, "NAME_UNKNOWN"),
            (APP + "/blobs/sha256:short", 400, "DIGEST_INVALID"), (APP + "/blobs/md5:" + "0" * 32, 400, "DIGEST_INVALID"),
            (APP + "/manifests/sha256:baddigeststring", 400, "DIGEST_INVALID"), (APP + "/referrers/x", 400, "DIGEST_INVALID"),
            ("/v2/Team/app/manifests/v1", 400, "NAME_INVALID"), (APP + "/manifests/.v1", 400, "NAME_INVALID"),
            ("/v2/../../etc/passwd/manifests/v1", 400, "NAME_INVALID"), (APP + "/blobs/..%2f..%2f..%2fetc%2fpasswd", 404, "UNSUPPORTED"),
            ("/v2/_catalog", 404, "UNSUPPORTED"), ("/", 404, "UNSUPPORTED"), ("/v2/%zz", 400, "UNSUPPORTED"),
            ("/v2/" + "a" * 5000, 414, "UNSUPPORTED")):
        answer = registry.ask(path)
        t.ok(answer.status == status and code_of(answer) == code,
             f"GET {path[:60]} returns {status} {code}", answer.status, answer.body)
    for method, path in (("PUT", APP + "/manifests/v1"), ("POST", APP + "/blobs/uploads/"), ("DELETE", APP + "/manifests/v1"), ("PATCH", "/v2/x")):
        answer = registry.ask(path, method)
        t.ok(answer.status == 405 and code_of(answer) == "UNSUPPORTED" and answer.headers["allow"] == "GET, HEAD",
             f"{method} returns 405", answer.status)
    with open(log, encoding="utf-8") as file:
        lines = [line for line in file if "404 for" in line]
    t.ok(any("team/app/manifests/v9" in line and "no bundle on this host has that tag" in line for line in lines),
         "the log gives the reason of a 404", *lines)
    for _ in range(100):
        registry.ask(APP + "/manifests/v9")
    with open(log, encoding="utf-8") as file:
        t.ok(len(file.readlines()) <= 30, "log messages about 404 are rate-limited")


def check_keep_alive(t, registry, images):
    connection = registry.connect()
    sockets = set()
    for method, path in (("GET", "/v2/"), ("HEAD", APP + "/manifests/v1"), ("GET", APP + "/manifests/v9"),
                         ("GET", APP + "/blobs/" + digest_of(images.layers[1]))):
        connection.request(method, path)
        response = connection.getresponse()
        body = response.read()
        sockets.add(connection.sock)
    t.ok(len(sockets) == 1 and connection.sock and body == images.layers[1],
         "one connection serves several requests", sockets)
    connection.close()


def check_hostile(t, registry, images):
    head = b"GET /v2/ HTTP/1.1\r\nHost: x\r\n"
    for what, request, wanted in (
            ("a header of 100 kB", head + b"X: " + b"a" * 100_000 + b"\r\n\r\n", (b"431", b"413", b"414", b"")),
            ("a request with 5000 headers", head + b"".join(b"X%d: y\r\n" % i for i in range(5000)) + b"\r\n", (b"431", b"413", b"")),
            ("a target of 100 kB", b"GET /v2/" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", (b"414", b"431", b"")),
            ("a TLS handshake", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", (b"400", b"")),
            ("a request without Host", b"GET /v2/ HTTP/1.1\r\nConnection: close\r\n\r\n", (b"400",)),
            ("a request with HTTP/1.0", b"GET /v2/ HTTP/1.0\r\n\r\n", (b"200", b"505")),
            ("a NUL in the path", b"GET /v2/\x00/manifests/v1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", (b"400", b"404", b"200", b"")),
            ("an absolute target", b"GET http://x/v2/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", (b"404", b"400", b"200")),
            ("a body and another request", b"POST /v2/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
             b"GET /v2/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", (b"400", b"405"))):
        received = registry.raw(request)
        status = received.split(b" ")[1] if b" " in received else b""
        t.ok(status in wanted, f"{what} gets a valid answer or none", received[:200])
    path = APP.encode() + b"/blobs/" + digest_of(images.layers[0]).encode()
    one = b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n"
    received = registry.raw((one + b"\r\n") * 20 + one + b"Connection: close\r\n\r\n")
    t.equal(received.count(images.layers[0]), 21, "pipelined requests are answered in order")
    t.equal(registry.ask("/v2/").status, 200, "the registry responds after hostile requests")


def check_crowd(t, registry, images):
    path, content = APP + "/blobs/" + digest_of(images.layers[2]), images.layers[2]

    def pull(_):
        return registry.ask(path).body == content

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        t.ok(all(pool.map(pull, range(128))), "64 concurrent clients get the whole blob")
    metrics = registry.ask("/metrics").body.decode()
    t.ok('gpuhost_registry_requests_total{endpoint="blob",code="206"}' in metrics and "gpuhost_registry_images 3\n" in metrics
         and "gpuhost_registry_bundles 1\n" in metrics, "metrics count requests, images and bundles", metrics)


def check_imports(t, host, registry, images):
    before = images.v1["digest"]
    host.ctl("bundle", "import", images.create(name="newer", created=1_800_000_000, app="v2"), check=0)
    answer = registry.ask(APP + "/manifests/v1")
    t.ok(answer.headers.get("docker-content-digest") == images.v2["digest"],
         "a newer bundle's tag is served at once", answer.headers)
    t.equal(registry.ask(f"{APP}/manifests/{before}").status, 200,
            "the older bundle's manifest is served by digest")
    listed = host.json("image", "list", "team/app", "--root=" + host.path("/"))["images"]
    t.equal([(i["name"], i["bundle"], i["digest"]) for i in listed],
            [(f"registry.example:5000/team/app:v{n}", "newer", images.v2["digest"]) for n in (1, 2)],
            "image list has the bundle of each name")
    t.equal(len(host.json("image", "list", "*busy*:latest", "--root=" + host.path("/"))["images"]), 1,
            "image list accepts a pattern")
    shown = host.json("image", "show", "registry.example:5000/team/app:v1", "--root=" + host.path("/"))
    t.ok(shown["missing"] == 0 and [c["bundle"] for c in shown["claims"]] == ["newer", "site"] and shown["generation"] == 7,
         "image show --json lists all bundles with the name", shown)
    text = host.ctl("image", "show", "registry.example:5000/team/app:v1", "--root=" + host.path("/")).stdout
    t.ok(images.v2["digest"] in text and "Claimed by: site" in text and "all blobs of that bundle are in the store" in text,
         "image show prints the other bundle", text)
    t.equal(host.ctl("image", "show", "nobody", "--root=" + host.path("/")).returncode, 4,
            "image show of an unknown image exits with 4")
    host.ctl("bundle", "remove", "newer", check=0)
    t.equal(registry.ask(APP + "/manifests/v1").headers.get("docker-content-digest"), before,
            "removing the newer bundle restores the older tag")
    broken = host.path("/var/lib/gpuhost/catalogue/broken")
    os.makedirs(broken)
    write(broken + "/record.json", "{")
    t.equal(registry.ask(APP + "/manifests/v1").status, 200,
            "an unreadable record does not hide other bundles")
    t.ok("gpuhost_registry_unreadable_records 1\n" in registry.ask("/metrics").body.decode(),
         "metrics count unreadable records")
    shutil.rmtree(broken)
    blob = host.path("/var/lib/gpuhost/store/sha256/" + images.v1["digest"][7:])
    os.rename(blob, blob + ".away")
    answer = registry.ask(APP + "/manifests/v1")
    t.ok(answer.status == 404 and b"listed in bundle 'site'" in answer.body,
         "a lost manifest returns 404 with the bundle's name", answer.body)
    t.ok("1 blob of that bundle missing" in host.ctl("image", "show", "registry.example:5000/team/app:v1", "--root=" + host.path("/")).stdout,
         "image show reports a lost blob")
    os.rename(blob + ".away", blob)


def check_skopeo(t, registry, images):
    if not shutil.which("skopeo"):
        t.skip("skopeo pulls an image", "no skopeo")
        return
    out = images.path("pulled")
    run = programs.run(["skopeo", "copy", "--insecure-policy", "--src-tls-verify=false",
                        f"docker://{registry.address}/registry.example_5000/team/app:v1", f"dir:{out}"])
    wanted = {"manifest.json"} | {digest_of(layer)[7:] for layer in images.layers}
    pulled = set(os.listdir(out)) if run.returncode == 0 else set()
    t.ok(wanted <= pulled and read_bytes(out + "/manifest.json") == images.blob(images.v1), "skopeo pulls an image",
         run.stdout, run.stderr, pulled)
    run = programs.run(["skopeo", "list-tags", "--tls-verify=false", f"docker://{registry.address}/registry.example_5000/team/app"])
    t.ok(run.returncode == 0 and json.loads(run.stdout)["Tags"] == ["v1", "v2"],
         "skopeo lists tags", run.stdout, run.stderr)


def check_end(t, host, registry, images):
    path = APP + "/blobs/" + digest_of(images.layers[2])
    registry.stop()
    t.equal(registry.ended(), 0, "SIGTERM ends the registry with status 0")
    write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Registry]\nIdleTimeout=2s\n")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(registry.ask, path)  # while no process accepts connections
        time.sleep(0.2)
        registry.start()
        t.ok(waiting.result(30).body == images.layers[2], "a request before the start is answered")
    slow = socket.create_connection(registry.socket.getsockname(), timeout=30)
    slow.sendall(b"GET /v2/ HTTP/1.1\r\n")
    time.sleep(4)
    t.ok(registry.process.poll() is None, "IdleTimeout= does not apply with an open connection")
    slow.sendall(b"Host: x\r\n\r\n")
    t.ok(b"200 OK" in slow.recv(1000), "a slow request is answered")
    slow.close()
    t.equal(registry.ended(), 0, "IdleTimeout= ends an idle registry")


def check_bad_disk(t, host, images, log):
    """After a read error the answer is shorter than its Content-Length, and the connection is closed."""
    content, path = images.layers[2], APP + "/blobs/" + digest_of(images.layers[2])
    registry = RegistryService(host.root, log, environment={
        "LD_PRELOAD": os.path.join(os.path.abspath(tap.TOP_BUILDDIR), "tests/host/bad-disk.so"), "BAD_FROM": "1000000"})
    try:
        registry.start()
        for asked, status, length, whole in (("bytes=0-", b" 206 ", 3_000_000, content[:1_000_000]),
                                             ("bytes=999990-1000009", b" 206 ", 20, content[999_990:1_000_000]),
                                             ("bytes=1500000-1500009", b" 206 ", 10, b"")):
            received = registry.raw(f"GET {path} HTTP/1.1\r\nHost: x\r\nRange: {asked}\r\n\r\n".encode())
            head, _, body = received.partition(b"\r\n\r\n")
            t.ok(status in head and f"content-length: {length}\r\n" in head.decode().lower() + "\r\n" and len(body) < length
                 and whole.startswith(body),
                 f"an unreadable part of {asked} closes the connection", head, len(body))
        answer = registry.ask(path, Range="bytes=0-9")
        t.ok(answer.status == 206 and answer.body == content[:10],
             "readable ranges of a damaged blob are served", answer.status, answer.body)
    finally:
        registry.close()


def main():
    t = tap.Tap()
    host = FakeHost()
    registry = None
    try:
        images = Images(os.path.join(host.scratch, "images"))
        host.install()
        os.makedirs(host.path("/etc/gpuhost/trust.d"))
        shutil.copy(images.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
        log = os.path.join(host.scratch, "registry.log")
        with open(log, "w", encoding="utf-8") as log_file:
            registry = RegistryService(host.root, log_file)
            registry.start()
            t.equal(registry.ask("/v2/busybox/manifests/latest").status, 404,
                    "without a bundle the registry returns 404")
            host.start_daemon()
            host.settle()
            host.ctl("bundle", "import", images.create(), check=0)
            check_manifests(t, registry, images)
            check_blobs(t, registry, images)
            check_lists(t, registry, images)
            check_refusals(t, registry, log)
            check_keep_alive(t, registry, images)
            check_hostile(t, registry, images)
            check_crowd(t, registry, images)
            check_imports(t, host, registry, images)
            check_skopeo(t, registry, images)
            check_bad_disk(t, host, images, log_file)
            check_end(t, host, registry, images)
    finally:
        if registry:
            registry.close()
        host.close()
    t.done()


main()
