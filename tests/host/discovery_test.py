# SPDX-License-Identifier: Apache-2.0
"""Peers from the site's DNS: dnsmasq in the test's network namespace, with real peers for its names."""
import ctypes
import os
import re
import shutil
import socket
import sys
import threading
import time

import own_mounts
import programs
import tap
from fake_host import scratch, write
from peers_test import NOT_FOUND, Rack, digest, said
from registry_service import RegistryService

DOMAIN = "rack.example"
SERVICE = "_gpuhost-peer._tcp"
MOST = 256
PROGRAM = shutil.which("dnsmasq", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def records(instance, host, port, domain=DOMAIN):
    """Returns the records of one host in the format of dnsmasq(8)."""
    return (f"ptr-record={SERVICE}.{domain},\"{instance}.{SERVICE}.{domain}\"\n"
            f"srv-host=\"{instance}.{SERVICE}.{domain}\",{host}.{domain},{port}\n"
            f"host-record={host}.{domain},127.0.0.1\n")


def of(peer):
    return peer.address.split(":")[1]


class NameServers:
    """The site's name server on 127.0.0.1, and one on 127.0.0.2 that never answers."""
    def __init__(self, directory):
        self.path = lambda name: os.path.join(directory, name)
        self.process = None
        self.log = open(self.path("dnsmasq.log"), "w", encoding="utf-8")
        write(self.path("nsswitch.conf"), "hosts: dns\n")
        self.use("127.0.0.1")
        own_mounts.bind(self.path("resolv.conf"), "/etc/resolv.conf")
        if os.path.exists("/etc/nsswitch.conf"):
            own_mounts.bind(self.path("nsswitch.conf"), "/etc/nsswitch.conf")
        self.truncates = False
        self.silent = [socket.socket(type=kind) for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM)]
        for one in self.silent:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.2", 53))
        self.silent[1].listen()
        threading.Thread(target=self._truncate, daemon=True).start()

    def use(self, *addresses, options=""):
        servers = "".join(f"nameserver {address}\n" for address in addresses)
        write(self.path("resolv.conf"), f"{servers}options {options}\n")

    def _truncate(self):
        """Answers with truncated packets, so that clients use TCP, where no connection is accepted."""
        while True:
            try:
                question, sender = self.silent[0].recvfrom(4096)
            except OSError:
                return
            if self.truncates:
                self.silent[0].sendto(question[:2] + b"\x83\x80" + question[4:], sender)

    def serve(self, *zone):
        """Serves only this zone. Forwards slow.example to 127.0.0.2, which never answers."""
        self.stop()
        write(self.path("dnsmasq.conf"), "no-resolv\nno-hosts\nlisten-address=127.0.0.1\nbind-interfaces\n"
              "local=/example/\nserver=/slow.example/127.0.0.2\n" + "".join(zone))
        self.process = programs.start([PROGRAM, "--no-daemon", "--conf-file=" + self.path("dnsmasq.conf")],
                                      stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + programs.PATIENCE
        while True:
            try:
                return socket.create_connection(("127.0.0.1", 53), timeout=1).close()
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def stop(self):
        if self.process:
            programs.end(self.process)
        self.process = None

    def close(self):
        self.stop()
        for one in self.silent:
            one.close()
        self.log.close()


def peer(rack, host):
    """Returns a peer with the certificate of this host."""
    keys = os.path.join(rack.authority.path, host)
    return rack.peer(keys if os.path.exists(keys) else rack.authority.keys(host, host=f"{host}.{DOMAIN}"))


def discovered(rack, *domains):
    return programs.run(rack.command("--discover", *domains), env=rack.environment())


def gives_up_names():
    """Returns whether libcurl cancels name resolution: since 7.87. Older versions wait for the resolver."""
    try:
        library = ctypes.CDLL("libcurl.so.4")
    except OSError:
        return False
    library.curl_version.restype = ctypes.c_char_p
    version = re.match(r"libcurl/(\d+)\.(\d+)", library.curl_version().decode())
    return bool(version) and tuple(map(int, version.groups())) >= (7, 87)


def check_nothing_found(t, rack, dns):
    rack.configure(domains=[DOMAIN])
    run = rack.fetch("site")
    t.ok(run.returncode == NOT_FOUND and f"{SERVICE}.{DOMAIN}: no usable answer from the DNS" in run.stderr
         and "no peers" in run.stderr, "a fetch without a name server finds no peers", *said(run))
    dns.serve()
    run = rack.fetch("site")
    t.ok(run.returncode == NOT_FOUND and "no record in the DNS" in run.stderr and "no peers" in run.stderr,
         "a fetch finds no peers without DNS records", *said(run))
    dns.serve(f"cname={SERVICE}.{DOMAIN},other.example\n", "host-record=other.example,127.0.0.1\n")
    run = discovered(rack)
    t.ok(f"{SERVICE}.{DOMAIN}: lists no peers" in run.stderr, "a CNAME is not accepted as a peer", *said(run))
    rack.configure(domains=["-x", "a..b", "rack_1.example", "rack..", "."])
    run = rack.fetch("site")
    t.ok(run.returncode == NOT_FOUND and run.stderr.count("is not a valid domain name") == 5,
         "a fetch reports each invalid domain",
         *said(run))
    rack.configure()
    run = discovered(rack)
    t.ok(run.returncode == 0 and not run.stdout + run.stderr,
         "without Domains= no DNS query is sent", *said(run))


def check_found(t, rack, dns):
    peers = [peer(rack, host) for host in ("gpu01", "gpu02")]
    rack.configure(domains=[DOMAIN])
    dns.serve(records("gpu01", "gpu01", of(peers[0])), records("second, with blanks", "gpu02", of(peers[1])),
              records("odd", "gpu_3", 2990), f"ptr-record={SERVICE}.{DOMAIN},nowhere.{SERVICE}.{DOMAIN}\n")
    run = discovered(rack)
    found = {f"gpu01.{DOMAIN}:{of(peers[0])}", f"gpu02.{DOMAIN}:{of(peers[1])}"}
    t.ok(run.returncode == 0 and set(run.stdout.split()) == found,
         "--discover prints the peers in the DNS", *said(run))
    t.ok(f"odd.{SERVICE}.{DOMAIN}: lists no valid host" in run.stderr
         and f"nowhere.{SERVICE}.{DOMAIN}: no record in the DNS" in run.stderr,
         "--discover reports unusable records", *said(run))
    rack.configure(domains=["other.example"], timeout="0")
    run = discovered(rack, DOMAIN + ".")
    t.ok(run.returncode == 0 and set(run.stdout.split()) == found and "other" not in run.stderr,
         "--discover DOMAIN queries only that domain", *said(run))
    rack.configure(domains=[DOMAIN + "."])
    run = rack.fetch("site")
    t.ok(run.returncode == 0 and rack.is_whole() and "lists no valid host" in run.stderr,
         "a bundle is fetched from peers in the DNS", *said(run), rack.host.tail())


def check_twice(t, rack, dns):
    port = of(peer(rack, "gpu01"))
    rack.configure(f"GPU07.{DOMAIN}:1", f"gpu01.{DOMAIN}:{port}", domains=[DOMAIN, DOMAIN])
    dns.serve(records("gpu07", "gpu07", 1), records("gpu01", "gpu01", port))
    rack.wipe()
    run = rack.fetch("site")
    t.ok(run.returncode == 0 and rack.is_whole() and run.stderr.lower().count(f"gpu07.{DOMAIN}:1: ") == 1,
         "a peer in configuration and DNS is contacted once", *said(run))


def check_lie(t, rack, dns):
    port = of(peer(rack, "gpu01"))
    rack.configure(domains=[DOMAIN])
    dns.serve(records("gpu01", "gpu09", port))
    rack.wipe()
    run = rack.fetch("site")
    t.ok(run.returncode == NOT_FOUND and rack.generation() is None and f"gpu09.{DOMAIN}:{port}: " in run.stderr,
         "a peer whose certificate lacks its DNS name is refused", *said(run))


def check_itself(t, rack, dns):
    rack.configure(domains=[DOMAIN])
    keys = rack.authority.keys("itself", host=f"gpu03.{DOMAIN}")
    service = RegistryService(rack.host.root, rack.log, "--peers", environment={"CREDENTIALS_DIRECTORY": keys})
    try:
        service.start()
        dns.serve(records("gpu01", "gpu01", of(peer(rack, "gpu01"))), records("gpu03", "gpu03", of(service)))
        run = rack.fetch("site")
        t.ok(run.returncode == 0 and rack.is_whole(), "a host in its own DNS fetches from other peers",
             *said(run))
        rack.host.ctl("reload", check=0)
        os.unlink(rack.host.path("/var/lib/gpuhost/store/sha256/" + digest(rack.layers[2])))
        rack.host.ctl("bundle", "scrub", "--root=" + rack.host.root)
        status = rack.host.ctl("status").stdout
        t.ok("gpuhostctl bundle fetch site" in status,
             "status prints the fetch command for lost blobs", status)
        run = rack.fetch("site")
        t.ok(run.returncode == 0 and rack.is_whole(), "a fetch restores lost blobs", *said(run))
    finally:
        service.close()


def check_many(t, rack, dns):
    rack.configure(domains=[DOMAIN], timeout="1min")
    dns.serve(*(records(f"gpu{i}", f"gpu{i}", 2990) for i in range(MOST + 10)))
    run = discovered(rack)
    t.ok(run.returncode == 0 and len(set(run.stdout.split())) == MOST and f"lists more than {MOST} peers" in run.stderr,
         f"--discover stops at {MOST} peers of a TCP answer", *said(run))
    run = discovered(rack, *[DOMAIN] * 2)
    t.ok(len(run.stdout.split()) == MOST,
         "--discover with a repeated domain prints each peer once", *said(run))
    several = "".join(f"srv-host=\"gpu.{SERVICE}.{DOMAIN}\",gpu{i}.{DOMAIN},2990\n" for i in range(MOST + 1))
    dns.serve(f"ptr-record={SERVICE}.{DOMAIN},gpu.{SERVICE}.{DOMAIN}\n", several)
    run = discovered(rack)
    t.ok(len(set(run.stdout.split())) == MOST and f"lists more than {MOST} peers" in run.stderr,
         f"--discover stops at {MOST} peers of one name", *said(run))
    twice = (records(f"gpu{i}", f"gpu{i % (MOST // 2)}", 2990) for i in range(MOST))
    dns.serve(*twice)
    run = discovered(rack)
    t.ok(len(run.stdout.split()) == MOST // 2 and not run.stderr,
         "a peer with two records is printed once", *said(run))


def check_dead_first(t, rack, dns):
    rack.configure(domains=[DOMAIN])
    dns.serve(*(records(f"gpu{i}", f"gpu{i}", 2990) for i in range(8)))
    dns.use("127.0.0.2", "127.0.0.1")
    run = discovered(rack)
    dns.use("127.0.0.1")
    t.ok(run.returncode == 0 and len(run.stdout.split()) == 8 and not run.stderr,
         "--discover uses the second name server when the first is silent", *said(run))


def check_silent(t, rack, dns):
    """A silent name server does not delay peers from other sources."""
    serving = peer(rack, "gpu01"), rack.peer()
    dns.serve(records("gpu01", "gpu01", of(serving[0])))
    rack.configure(domains=[DOMAIN, "slow.example", "more.slow.example"])
    rack.wipe()
    run = rack.fetch("site")
    t.ok(run.returncode == 0 and rack.is_whole() and "no further peer within" in run.stderr,
         "peers found before the DNS times out are used", *said(run))
    dns.use("127.0.0.2")
    rack.configure(domains=[DOMAIN], timeout="30s")
    run = discovered(rack)
    t.ok(f"{SERVICE}.{DOMAIN}: no usable answer from the DNS" in run.stderr and not run.stdout,
         "--discover times out on a silent name server", *said(run))
    dns.truncates = True
    rack.configure(serving[1].address, domains=[DOMAIN])
    rack.wipe()
    began = time.monotonic()
    run = rack.fetch("site")
    took = time.monotonic() - began
    t.ok("no further peer within" in run.stderr and took < 20,
         "a fetch times out on a name server silent over TCP",
         took, *said(run))
    t.ok(run.returncode == 0 and rack.is_whole(),
         "configured peers are used despite a silent name server", *said(run))
    dns.truncates = False
    dns.use("127.0.0.1")


def check_silent_names(t, rack, dns):
    """A peer whose name cannot be resolved does not delay other peers."""
    if not gives_up_names():
        return t.skip("an unresolvable peer does not delay other peers", "libcurl waits for the resolver")
    rack.configure(f"gpu01.{DOMAIN}:2990", rack.peer().address)
    dns.use("127.0.0.2", options="timeout:15")
    for dns.truncates in (False, True):
        rack.wipe()
        began = time.monotonic()
        run = rack.fetch("site")
        took = time.monotonic() - began
        t.ok(run.returncode == 0 and rack.is_whole() and f"gpu01.{DOMAIN}:2990: " in run.stderr and took < 20,
             f"a name server silent over {'TCP' if dns.truncates else 'UDP'} delays no other peer", took, *said(run))
    dns.truncates = False
    dns.use("127.0.0.1")


def main():
    if not PROGRAM or not os.path.exists("/etc/resolv.conf"):
        print(f"1..0 # SKIP no {'/etc/resolv.conf' if PROGRAM else 'dnsmasq'}")
        sys.exit(0)
    own_mounts.enter(network=True)
    t = tap.Tap()
    directory = scratch()
    rack = dns = None
    try:
        dns = NameServers(directory)
        rack = Rack(os.path.join(directory, "rack"))
        rack.source.ctl("bundle", "import", rack.bundle(), check=0)
        check_nothing_found(t, rack, dns)
        check_found(t, rack, dns)
        check_twice(t, rack, dns)
        check_lie(t, rack, dns)
        check_itself(t, rack, dns)
        check_many(t, rack, dns)
        check_dead_first(t, rack, dns)
        check_silent(t, rack, dns)
        check_silent_names(t, rack, dns)
    finally:
        if rack:
            rack.close()
        if dns:
            dns.close()
        shutil.rmtree(directory, ignore_errors=True)
    t.done()


main()
