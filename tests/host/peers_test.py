# SPDX-License-Identifier: Apache-2.0
"""Bundles fetched from peers: real servers with a site's certificates, and a real import."""
import glob
import hashlib
import json
import os
import pwd
import random
import shutil
import select
import socket
import ssl
import subprocess

import programs
import tap
from fake_host import FakeHost, scratch, write
from image_files import Layout, Site
from peer_files import Authority, Chatterbox, Peer, Relay
from registry_service import RegistryService, listening

FAILED, NOT_FOUND, DENIED, INTERRUPTED = 1, 4, 12, 17
SPEC = """[Bundle]
Name={name}
Generation={generation}

[Image registry.example/app:v1]
Layout=layouts/{layout}
Reference=v1
"""
MIB = 1 << 20


class Rack:
    """A host that has the bundle, and an empty one that fetches it."""
    def __init__(self, directory):
        self.directory = directory
        self.authority = Authority(self.path("authority"))
        self.keys = self.authority.keys("host")
        self.site = Site(self.path("site"))
        noise = random.Random(550)
        self.layers = [noise.randbytes(size) for size in (100, 3 * MIB, 30 * MIB, 5 * MIB)]
        for name, layers in (("one", self.layers), ("two", self.layers[1:] + [b"new"])):
            layout = Layout(self.path("layouts/" + name))
            layout.tag(layout.add_manifest(layers), "v1")
        self.log = open(self.path("peers.log"), "w", encoding="utf-8")
        self.peers = []
        self.source = FakeHost()
        self.host = FakeHost()
        for host in (self.source, self.host):
            host.install()
            os.makedirs(host.path("/etc/gpuhost/trust.d"))
            shutil.copy(self.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
            host.start_daemon()
            host.settle()

    def close(self):
        for peer in self.peers:
            peer.close()
        self.log.close()
        self.host.close()
        self.source.close()

    def path(self, name):
        return os.path.join(self.directory, name)

    def bundle(self, generation=7, layout="one", site=None, name="site"):
        write(self.path("site.spec"), SPEC.format(name=name, generation=generation, layout=layout))
        bundle = self.path(f"{name}-{generation}.bundle")
        programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "create", self.path("site.spec"), "-o", bundle,
                      *(site or self.site).signing()], env=programs.environment(SOURCE_DATE_EPOCH="1700000000"), check=True)
        return bundle

    def peer(self, keys=None, source=None):
        peer = Peer(self.path(f"peer{len(self.peers)}"), keys or self.keys, self.log, source or self.source)
        self.peers.append(peer)
        return peer

    def configure(self, *addresses, domains=(), timeout="2s"):
        write(self.host.path("/etc/gpuhost/gpuhostd.conf"),
              f"[Peers]\nPeers={' '.join(addresses)}\nDomains={' '.join(domains)}\nBundles=*\nTimeout={timeout}\n")

    def command(self, *bundles):
        return [os.path.join(tap.TOP_BUILDDIR, "gpuhost-fetch"), f"--root={self.host.root}", *bundles]

    def environment(self, keys=None):
        return self.host.environment | {"CREDENTIALS_DIRECTORY": keys or self.keys}

    def fetch(self, *bundles, keys=None):
        return programs.run(self.command(*bundles), env=self.environment(keys))

    def wipe(self):
        for name in ("store", "catalogue"):
            shutil.rmtree(self.host.path("/var/lib/gpuhost/" + name), ignore_errors=True)

    def damage_incoming(self):
        """Overwrites the smallest complete file in incoming with zeros. Returns its size, or 0."""
        sizes = {digest(layer): len(layer) for layer in self.layers}
        files = glob.glob(self.host.path("/var/lib/gpuhost/store/incoming/*/*"))
        whole = sorted((os.path.getsize(file), file) for file in files if os.path.getsize(file) == sizes.get(os.path.basename(file)))
        for size, file in whole[:1]:
            with open(file, "r+b") as damaged:
                damaged.write(bytes(size))
        return whole[0][0] if whole else 0

    def generation(self):
        bundles = self.host.json("bundle", "list")["bundles"]
        return bundles[0]["generation"] if bundles else None

    def is_whole(self):
        run = self.host.ctl("bundle", "scrub", "--root=" + self.host.root)
        return run.returncode == 0 and self.generation() is not None


def digest(content):
    return hashlib.sha256(content).hexdigest()


def said(run):
    return (run.returncode, run.stdout, run.stderr)


def check_fresh(t, rack):
    run = rack.fetch("site")
    t.ok(run.returncode == NOT_FOUND and "no peers" in run.stderr,
         "a fetch without configured peers fails", *said(run))
    rack.configure("127.0.0.1:1")
    run = rack.fetch("site")
    t.ok(run.returncode == NOT_FOUND and "127.0.0.1:1" in run.stderr,
         "a fetch reports an unreachable peer", *said(run))
    rack.configure(*(rack.peer().address for _ in range(2)))
    run = rack.fetch("site")
    t.ok(run.returncode == 0 and rack.generation() == 7 and rack.is_whole(),
         "a bundle is fetched from two peers", *said(run), rack.host.tail())
    blob = rack.host.path("/var/lib/gpuhost/store/sha256/" + digest(rack.layers[2]))
    with open(blob, "rb") as file:
        t.ok(file.read() == rack.layers[2], "a blob fetched in parts has the expected content")
    before = len(rack.host.json("operation", "list"))
    run = rack.fetch()
    t.ok(run.returncode == 0 and len(rack.host.json("operation", "list")) == before,
         "fetching an installed bundle starts no operation", *said(run))
    os.unlink(blob)
    run = rack.fetch()
    t.ok(run.returncode == 0 and rack.is_whole() and "1 written" not in run.stderr,
         "a fetch restores a lost blob", *said(run))
    run = rack.fetch("other")
    t.ok(run.returncode == NOT_FOUND and "'other'" in run.stderr,
         "fetching a bundle that no peer has fails", *said(run))


def check_killed(t, rack):
    rack.wipe()
    peers = [rack.peer() for _ in range(3)]
    relay = Relay(peers[0].address, MIB // 4, peers[0].process.kill)
    rack.configure(relay.address, *(peer.address for peer in peers[1:]))
    run = rack.fetch("site")
    t.ok(run.returncode == 0 and rack.is_whole() and peers[0].process.poll() is not None and relay.address in run.stderr,
         "a fetch completes when one of three peers is killed", *said(run))
    relay.close()


def check_stalled(t, rack):
    rack.wipe()
    peers = [rack.peer() for _ in range(2)]
    relay = Relay(peers[0].address, 2 * MIB, stall=True)
    rack.configure(relay.address, peers[1].address)
    run = rack.fetch("site")
    t.ok(run.returncode == 0 and rack.is_whole(),
         "a fetch completes when one of two peers stalls", *said(run))
    relay.close()


def check_liar(t, rack):
    rack.wipe()
    peers = [rack.peer() for _ in range(3)]
    peers[0].damage(digest(rack.layers[2]))
    rack.configure(*(peer.address for peer in peers))
    run = rack.fetch("site")
    t.ok(run.returncode == 0 and rack.is_whole() and f"{peers[0].address}: sent wrong bytes" in run.stderr
         and not any(f"{peer.address}: sent wrong" in run.stderr for peer in peers[1:]),
         "a peer that sends wrong bytes is reported", *said(run))
    rack.wipe()
    rack.configure(peers[0].address)
    run = rack.fetch("site")
    t.ok(run.returncode != 0 and "sent wrong bytes" in run.stderr and rack.generation() is None,
         "a fetch only from a damaged peer fails", *said(run))


def check_certificates(t, rack):
    rack.wipe()
    stranger = Authority(rack.path("stranger"))
    for what, keys, own in (
            ("from a server of another authority", stranger.keys("server", ca=rack.authority), None),
            ("from a server with another name", rack.authority.keys("elsewhere", address="127.0.0.9"), None),
            ("from a server with a client certificate", rack.authority.keys("client-only", purposes="clientAuth"), None),
            ("from a server with an expired certificate", rack.authority.keys("expired", days=-1), None),
            ("as a client of another authority", None, stranger.keys("client", ca=rack.authority)),
            ("as a client with a server certificate", None, rack.authority.keys("server-only", purposes="serverAuth")),
            ("as a client with an expired certificate", None, rack.authority.keys("expired-client", days=-1))):
        peer = rack.peer(keys)
        rack.configure(peer.address)
        run = rack.fetch("site", keys=own)
        t.ok(run.returncode == NOT_FOUND and rack.generation() is None, f"a fetch fails {what}", *said(run))
    peer = rack.peer()
    context = ssl.create_default_context(cafile=os.path.join(rack.keys, "ca.pem"))
    with context.wrap_socket(socket.create_connection(peer.socket.getsockname(), timeout=programs.PATIENCE), server_hostname="127.0.0.1") as client:
        client.sendall(b"GET /gpuhost/v1/bundles HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = until_shut(client)
    t.ok(answer and answer.startswith(b"HTTP/1.1 403") and b"Connection: close" in answer and b'"site"' not in answer,
         "a client without a certificate gets 403 and is disconnected", answer)


def until_shut(connection):
    """Returns the data until the other end closes the connection, or None if it stays open."""
    received = b""
    try:
        while data := connection.recv(65536):
            received += data
    except ConnectionError:
        pass
    except socket.timeout:
        return None
    return received


def check_turned_away(t, rack):
    """A service that fails at its start closes waiting connections, which would start it again."""
    mixed = rack.path("mixed")
    shutil.copytree(rack.keys, mixed)
    shutil.copy(os.path.join(rack.authority.keys("renewed"), "key.pem"), mixed)
    for what, environment, status in (("without certificates", {}, NOT_FOUND), ("with another certificate's key", {"CREDENTIALS_DIRECTORY": mixed}, FAILED)):
        service = RegistryService(rack.source.root, rack.log, "--peers", environment=environment)
        with socket.create_connection(service.socket.getsockname(), timeout=programs.PATIENCE) as caller:
            service.start()
            ended, answer = service.ended(), until_shut(caller)
        service.close()
        t.ok(ended == status and answer == b"",
             f"{what} gpuhost-peers exits and disconnects waiting clients", ended, answer)


def check_chatterbox(t, rack):
    rack.wipe()
    layer = rack.layers[2]
    with open(rack.source.path("/var/lib/gpuhost/catalogue/site/manifest.p7s"), "rb") as file:
        box = Chatterbox(rack.keys, digest(layer), layer, file.read())
    rack.configure(box.address, rack.peer().address)
    run = rack.fetch("site")
    t.ok(run.returncode == 0 and rack.is_whole() and f"{box.address}: response larger than requested" in run.stderr,
         "a peer that sends too much is disconnected", *said(run))
    box.close()


def check_front(t, rack):
    """gpuhostctl bundle fetch through gpuhost-fetch's socket, as gpuhost-fetch.socket opens it."""
    rack.wipe()
    rack.configure(rack.peer().address)
    path = os.path.join(rack.host.scratch, "fetch")
    run = rack.host.ctl("bundle", "fetch", "site", "--socket=" + path)
    t.ok(run.returncode != 0 and "gpuhost-fetch.socket" in run.stderr,
         "bundle fetch without the socket names gpuhost-fetch.socket", *said(run))

    def serve(listener):
        programs.wait(listening(listener, rack.command(), env=rack.environment(), stdout=rack.log, stderr=rack.log))

    def ask(*words, serve=serve):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            asked = programs.start([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "fetch", *words, "--socket=" + path],
                                   env=rack.host.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            select.select([listener], [], [], programs.PATIENCE)
            serve(listener)
            out, err = programs.outputs(asked)
        os.unlink(path)
        return asked.returncode, out, err

    run = ask("site")
    t.ok(run[0] == 0 and "site" in run[1] and rack.generation() == 7,
         "bundle fetch prints the import and its exit status", *run)
    run = ask("other", "site")
    t.ok(run[0] == NOT_FOUND and "'other'" in run[2] and "on this host and complete" in run[2],
         "bundle fetch continues after a bundle that fails", *run)
    rack.host.ctl("bundle", "remove", "site", check=0)
    run = ask("other", "site", "--json")
    document = json.loads(run[1])
    t.ok(run[0] == NOT_FOUND and [operation["state"] for operation in document["operations"]] == ["committed"]
         and len(document["errors"]) == 1 and "'other'" in document["errors"][0]["message"],
         "bundle fetch --json prints operations and errors", *run)
    run = ask()
    t.ok(run[0] == 0 and "'site' is already on this host and complete" in run[2],
         "bundle fetch without a name fetches configured bundles", *run)
    run = ask("site", serve=lambda listener: listener.accept()[0].close())
    t.ok(run[0] == INTERRUPTED and "journalctl" in run[2],
         "bundle fetch fails when gpuhost-fetch disconnects", *run)
    run = ask("site", "--json", serve=lambda listener: listener.accept()[0].close())
    t.ok(run[0] == INTERRUPTED and len(json.loads(run[1])["errors"]) == 1,
         "bundle fetch --json reports the disconnection", *run)
    rack.host.ctl("reload", check=0)
    os.unlink(rack.host.path("/var/lib/gpuhost/store/sha256/" + digest(rack.layers[0])))
    rack.host.ctl("bundle", "scrub", "--root=" + rack.host.root)
    t.ok("gpuhostctl bundle fetch site" in rack.host.ctl("status").stdout,
         "status prints the fetch command for a damaged blob", rack.host.ctl("status").stdout)
    rack.wipe()


def check_rights(t, rack):
    if os.geteuid() != 0:
        t.skip("a fetch by an unprivileged user is refused", "needs root to run programs as another user")
        return
    for directory in (rack.directory, os.path.dirname(rack.directory), rack.host.scratch, rack.source.scratch):
        os.chmod(directory, 0o755)
    os.chmod(os.path.join(rack.keys, "key.pem"), 0o644)
    nobody = pwd.getpwnam("nobody").pw_uid
    run = programs.run(rack.command("site"), env=rack.environment(), user=nobody, group=nobody, extra_groups=[])
    t.ok(run.returncode == DENIED and rack.generation() is None,
         "a fetch by an unprivileged user is refused", *said(run))


def check_generations(t, rack):
    rack.wipe()
    peers = [rack.peer()]
    rack.source.ctl("bundle", "import", rack.bundle(8, "two"), check=0)
    peers.append(rack.peer())
    rack.configure(*(peer.address for peer in peers))
    run = rack.fetch("site")
    t.ok(run.returncode == 0 and rack.generation() == 8 and rack.is_whole(),
         "a fetch selects the newest generation of all peers", *said(run))
    rack.configure(peers[0].address)
    run = rack.fetch("site")
    t.ok(run.returncode == 0 and rack.generation() == 8, "a fetch does not downgrade a bundle", *said(run))
    rack.host.ctl("bundle", "remove", "site", check=0)
    run = rack.fetch("site")
    t.ok(run.returncode == NOT_FOUND and rack.generation() is None,
         "a fetch refuses an older generation after removal", *said(run))
    rack.wipe()
    trusted = rack.host.path("/etc/gpuhost/trust.d/site.pem")
    os.rename(trusted, trusted + ".off")
    shutil.copy(Site(rack.path("nobody")).file("ca.pem"), rack.host.path("/etc/gpuhost/trust.d/other.pem"))
    run = rack.fetch("site")
    t.ok(run.returncode == DENIED and "not trusted" in run.stderr and rack.generation() is None,
         "a fetch refuses a bundle of an untrusted signer", *said(run))
    os.rename(trusted + ".off", trusted)


def check_resumed(t, rack):
    rack.wipe()
    peer = rack.peer()
    relay = Relay(peer.address, 26 * MIB, stall=True)
    rack.configure(relay.address)
    run = rack.fetch("site")
    t.ok(run.returncode != 0 and rack.generation() is None,
         "an interrupted fetch imports nothing", *said(run))
    relay.close()
    damaged = rack.damage_incoming()
    relay = Relay(peer.address)
    rack.configure(relay.address)
    run = rack.fetch("site")
    total = sum(map(len, rack.layers))
    t.ok(run.returncode == 0 and rack.is_whole(),
         "the next fetch completes and replaces a damaged file", *said(run))
    t.ok(damaged, "an interrupted fetch leaves a complete file")
    t.ok(relay.bytes < total - 6 * MIB,
         "the next fetch does not repeat received data", relay.bytes, total, *said(run))
    relay.close()


def check_several(t, rack):
    """The import of one bundle removes the partial data of another."""
    rack.wipe()
    relays = []

    def through(after=None):
        if relays:
            relays[-1].close()
        relays.append(Relay(peer.address, after, stall=after is not None))
        rack.configure(relays[-1].address)

    rack.source.ctl("bundle", "import", rack.bundle(9, "two", name="another"), check=0)
    peer = rack.peer()
    through(26 * MIB)
    run = rack.fetch("site", "another")
    t.ok(run.returncode != 0 and "'another' was not fetched" in run.stderr and rack.generation() is None,
         "after a partly fetched bundle no other is tried", *said(run))
    through()
    run = rack.fetch("another", "site")
    bundles = rack.host.json("bundle", "list")["bundles"]
    t.ok(run.returncode == 0 and {bundle["name"] for bundle in bundles} == {"another", "site"},
         "the next fetch imports both bundles", *said(run), bundles)
    total = sum(map(len, rack.layers))
    t.ok(relays[-1].bytes < total,
         "the next fetch resumes the partly fetched bundle", relays[-1].bytes, total)
    relays[-1].close()
    rack.host.ctl("bundle", "remove", "another", check=0)
    rack.source.ctl("bundle", "remove", "another", check=0)


def main():
    t = tap.Tap()
    directory = scratch()
    rack = None
    try:
        rack = Rack(os.path.join(directory, "rack"))
        rack.source.ctl("bundle", "import", rack.bundle(), check=0)
        check_fresh(t, rack)
        check_killed(t, rack)
        check_stalled(t, rack)
        check_liar(t, rack)
        check_chatterbox(t, rack)
        check_front(t, rack)
        check_rights(t, rack)
        check_certificates(t, rack)
        check_turned_away(t, rack)
        check_resumed(t, rack)
        check_several(t, rack)
        check_generations(t, rack)
    finally:
        if rack:
            rack.close()
        shutil.rmtree(directory, ignore_errors=True)
    t.done()


if __name__ == "__main__":
    main()
