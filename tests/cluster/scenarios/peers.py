# SPDX-License-Identifier: Apache-2.0
"""Three hosts on one network: the third fetches a bundle from the other two, one of which is killed
meanwhile."""

import random
import shutil
import signal
import subprocess
import sys

import programs
from node import gpuhost
from node.site import REGISTRY
from node.waiting import eventually
from peer_files import Authority
from rig.case import case

BLOB = 200 << 20
WIRE = "wire"
ADDRESSES = {"host1": "10.99.0.1", "host2": "10.99.0.2", "host3": "10.99.0.3"}
PORT = 2990
# Runs in the host's own network namespace.
LISTEN = """import os, socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=64)
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)  # the socket may already have been descriptor 3
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[3], sys.argv[3:])
"""

CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 1)"


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def on(host, *command):
    return ["ip", "netns", "exec", host, *map(str, command)]


def listens(address):
    """Returns whether a registry listens: a connection to any other address is refused immediately, and a
    fetch does not wait."""
    return programs.run(on("host3", sys.executable, "-c", CONNECT, address, PORT)).returncode == 0


def lay_wire():
    """Makes namespaces of the three hosts and a bridge, all outside the namespace of the other cases."""
    ip("netns", "add", WIRE)
    ip("-n", WIRE, "link", "add", "bridge", "type", "bridge")
    ip("-n", WIRE, "link", "set", "bridge", "up")
    for host, address in ADDRESSES.items():
        ip("netns", "add", host)
        ip("-n", WIRE, "link", "add", host, "type", "veth", "peer", "name", "lan", "netns", host)
        ip("-n", WIRE, "link", "set", host, "master", "bridge", "up")
        ip("-n", host, "address", "add", f"{address}/24", "dev", "lan")
        ip("-n", host, "link", "set", "lan", "up")


def cut_wire():
    for name in (*ADDRESSES, WIRE):
        ip("netns", "delete", name)


def seed(host):
    """Imports the bundle, copies its files to the other hosts' roots, and removes the bundle here."""
    noise = random.Random(99).randbytes(BLOB)
    host.site.tag("rack-1", host.site.layout.add_manifest([noise]))
    host.daemon.ctl("bundle", "import", host.site.bundle("rack", 1, {f"{REGISTRY}/rack:v1": "rack-1"}))
    roots = {name: host.daemon.state / name for name in ("host1", "host2")}
    for root in roots.values():
        shutil.copytree(host.daemon.root / "var/lib/gpuhost", root / "var/lib/gpuhost")
    host.daemon.ctl("bundle", "remove", "rack")
    return roots


def received(host):
    incoming = host.daemon.root / "var/lib/gpuhost/store/incoming"
    return sum(file.stat().st_size for file in incoming.glob("*/*") if file.is_file())


@case("a bundle is fetched from two peers while one is killed", start="node")
def killed(host):
    authority = Authority(host.work / "peers")
    keys = {name: authority.keys(name, address=address) for name, address in ADDRESSES.items()}
    serving = {}
    lay_wire()
    try:
        for name, root in seed(host).items():
            command = on(name, sys.executable, "-c", LISTEN, ADDRESSES[name], PORT,
                         gpuhost.find(host.daemon.tree, "gpuhost-registry"), "--peers", f"--root={root}")
            serving[name] = programs.start(command, env=programs.environment(CREDENTIALS_DIRECTORY=keys[name]))
        for name in serving:
            eventually(f"{name} listens", lambda name=name: listens(ADDRESSES[name]))
        with (host.daemon.root / "etc/gpuhost/gpuhostd.conf").open("a") as file:
            file.write(f"[Peers]\nPeers={ADDRESSES['host1']} {ADDRESSES['host2']}\nTimeout=5s\n")
        fetch = programs.start(on("host3", gpuhost.find(host.daemon.tree, "gpuhost-fetch"), f"--root={host.daemon.root}", "rack"),
                               env=programs.environment(CREDENTIALS_DIRECTORY=keys["host3"],
                                                        DBUS_SYSTEM_BUS_ADDRESS=host.daemon.bus.address),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        eventually("an eighth of the blob is received", lambda: received(host) > BLOB // 8 or fetch.poll() is not None)
        programs.end(serving.pop("host1"), signal.SIGKILL)
        if fetch.poll() is not None:
            raise AssertionError(f"the fetch ended before a peer was killed: {programs.outputs(fetch)}")
        _, said = programs.outputs(fetch)
        assert fetch.returncode == 0 and ADDRESSES["host1"] in said, said
        assert "no damage found" in host.daemon.ctl("bundle", "scrub", f"--root={host.daemon.root}")
        assert "rack" in host.daemon.ctl("bundle", "list")
    finally:
        for process in serving.values():
            programs.end(process)
        host.daemon.configure()
        cut_wire()
