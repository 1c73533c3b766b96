# SPDX-License-Identifier: Apache-2.0
"""daemon/rpc with grpc-go and the kubelet's stubs, in both directions. tests/cluster/rpc/probe.cpp is our end,
tests/cluster/modules/rpc the other."""

import signal
import tempfile
from contextlib import contextmanager

import programs
from node import binaries
from rig.case import case

UNKNOWN = "error not-found: /v1.PodResourcesLister/Get: pod „absent“ 100% unbekannt"


@contextmanager
def server(words):
    """Runs a server that prints "ready"; yields the process."""
    process = programs.start(words, stdin=-1, stdout=-1)
    try:
        assert process.stdout.readline() == "ready\n", f"{words} does not start"
        yield process
    finally:
        programs.end(process)


class Sockets:
    def __init__(self, host):
        self.probe = host.tests / "tests/cluster/rpc/rpc-probe"
        self.peer = binaries.built(binaries.RPC) / "peer"
        self.directory = tempfile.TemporaryDirectory()
        self.registration, self.plugin, self.pods = (f"{self.directory.name}/{name}.sock" for name in ("registration", "plugin", "pods"))

    def serve(self):
        return server([self.probe, "serve", self.registration, self.plugin])


@case("grpc-go's client with the kubelet's stubs uses our plugin", start="node")
def as_kubelet(host):
    sockets = Sockets(host)
    with sockets.serve() as probe:
        # The peer's output are commands for the probe.
        done = programs.run([sockets.peer, "check", sockets.registration, sockets.plugin], stdout=probe.stdin)
        assert done.returncode == 0, done.stderr
        probe.stdin.close()  # ends it
        output = probe.stdout.read().splitlines()
    assert output == ["registered 1 ", "registered 0 größer", "watch ended", "cancelled"], output


@case("grpc-go's client finds our server again after it was killed", start="node")
def after_restart(host):
    sockets = Sockets(host)
    with sockets.serve() as probe:
        client = programs.start([sockets.peer, "restart", sockets.plugin], stdout=-1, stderr=-1)
        assert client.stdout.readline() == "watching\n", client.stderr.read()
        probe.send_signal(signal.SIGKILL)  # leaves its sockets
        programs.wait(probe)
    with sockets.serve():
        _, errors = programs.outputs(client)
        assert client.returncode == 0, errors


@case("our client reads the podresources API of grpc-go's server", start="node")
def pod_resources(host):
    sockets = Sockets(host)

    def ask(pod):
        return programs.run([sockets.probe, "call", sockets.pods, pod]).stdout.splitlines()
    with server([sockets.peer, "podresources", sockets.pods]):
        first, large, allocatable, one = ask("train")
        assert first == "default/train: nvidia.com/gpu=GPU-0 nvidia.com/gpu=GPU-1 gpu.nvidia.com/node/gpu-0", first
        assert large.startswith("default/größer: ") and large.count("nvidia.com/gpu=") == 20_000, large[:200]
        assert (allocatable, one) == ("allocatable 3", f"one {first}"), (allocatable, one)
        *_, unknown = ask("absent")
        assert unknown == UNKNOWN, unknown
        *_, late = ask("slow")  # the server knows the deadline, too, and may be first
        assert late.startswith("error timeout: /v1.PodResourcesLister/Get: "), late
