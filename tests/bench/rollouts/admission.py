# SPDX-License-Identifier: Apache-2.0
"""Measures a leader and a host among very many hosts: the real gpuhost-cluster, without gpuhostd."""

import json
import os
import shutil
import time

import programs
from node.service import Service
from private_bus import PrivateBus
from scenarios.kubernetes import own_kib

from .figures import note
from .stage import NODES, OURS
from .states import RECORD, STATE

HOSTS = 10_000
NEW = "550.163.01"
MOST_DECISION_MS = 20
MOST_LEADER_MIB, MOST_HOST_MIB = 96, 16
CHANGES, BETWEEN = 100, 0.1  # changes of one Node; seconds between them, so that each causes a decision
# About the size of a Node with the data of a kubelet and node feature discovery.
IMAGES = [{"names": [f"registry.example/team/application-{number}@sha256:{number:064x}", f"registry.example/team/application-{number}:v1"], "sizeBytes": 1 << 28}
          for number in range(50)]
FEATURES = {f"feature.node.example/cpu-cpuid.FEATURE{number}": "true" for number in range(60)}


def waiting(name):
    """Returns a Node whose host has done its checks and waits for a grant."""
    record = {"state": "upgrade-required", "version": NEW, "from": "535.216.01", "since": 1_800_000_000, "prepared": True}
    return {"labels": {STATE: "upgrade-required", "rack": f"r{name[-2:]}", **FEATURES}, "annotations": {RECORD: json.dumps(record)}, "status": {"images": IMAGES}}


class Agent(Service):
    """gpuhost-cluster on its own root."""
    def __init__(self, stage, name, candidate):
        super().__init__(f"gpuhost-cluster-{name}", stage.place.logs)
        self.root = stage.place.state / name
        for directory in ("etc/gpuhost", "run/gpuhost-cluster", "var/lib/gpuhost/cluster"):
            (self.root / directory).mkdir(parents=True)
        (self.root / "etc/gpuhost/gpuhostd.conf").write_text(f"[Cluster]\nNodeName={name}\nCandidate={'yes' if candidate else 'no'}\n")
        for path in (stage.kubeconfigs[OURS], *(stage.plane.pki / file for file in ("ca.crt", f"{OURS}.crt", f"{OURS}.key"))):
            copy = self.root / path.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        self.bus = PrivateBus(str(self.root))
        self.command = [stage.build / "gpuhost-cluster", f"--root={self.root}", f"--kubeconfig={stage.kubeconfigs[OURS]}"]

    def run(self):
        self.start(self.command, DBUS_SYSTEM_BUS_ADDRESS=self.bus.address)

    def status(self):
        try:
            return json.loads((self.root / "run/gpuhost-cluster/status.json").read_text())
        except (OSError, ValueError):
            return {}

    def hosts(self):
        """Returns the number of hosts that it decides about."""
        self.check_alive()
        return sum(pool["hosts"] for pool in self.status().get("leader", {}).get("pools", []))

    def cpu_ms(self):
        """Returns the CPU time of all its threads since its start."""
        total = 0
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total / 1e6

    def mib(self):
        return own_kib(self.process.pid) / 1024

    def peak_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(row.split()[1]) for row in file if row.startswith("VmHWM")) / 1024

    def end(self):
        super().end()
        self.bus.close()


def decisions(stage, figures):
    """Measures the function that decides."""
    done = programs.run([stage.build / "tests/bench/admission", str(HOSTS)], timeout=300)
    assert done.returncode == 0, done.stderr
    for row in done.stdout.splitlines():
        what, median, most = row.rsplit(" ", 2)
        figures.add(f"a decision about {HOSTS} hosts, {what}", float(median), "ms of CPU", most=MOST_DECISION_MS, at_most=float(most))


def live(stage, figures):
    """Measures the leader of all hosts, and another host."""
    names = [f"gpu{number:05}" for number in range(1, HOSTS + 1)]
    note(f"admission: {HOSTS} Nodes")
    stage.make_nodes(names, more=waiting)
    size = len(json.dumps(stage.ask("GET", f"{NODES}/{names[0]}")))
    stage.set_policy(NEW, maxParallelUpgrades=10)
    leader, host = Agent(stage, names[0], True), Agent(stage, names[1], False)
    try:
        began = time.monotonic()
        leader.run()
        host.run()
        while leader.hosts() < HOSTS:
            assert time.monotonic() < began + 300, leader.tail()
            time.sleep(0.1)
        ready = time.monotonic() - began
        stage.audit.quiet(OURS, 5)
        note("admission: a leader decides")
        before = leader.cpu_ms()
        for number in range(CHANGES):
            stage.ask("PATCH", f"{NODES}/{names[-1 - number]}", {"metadata": {"annotations": {"bench": str(number)}}})
            time.sleep(BETWEEN)
        figures.add(f"a leader of {HOSTS} hosts, for each change of a Node", (leader.cpu_ms() - before) / CHANGES, "ms of CPU", most=MOST_DECISION_MS,
                    bytes_a_node=size)
        figures.add(f"a leader of {HOSTS} hosts, private memory", leader.mib(), "MiB", most=MOST_LEADER_MIB, peak_of_all=leader.peak_mib(), seconds_until_it_decides=ready)
        figures.add(f"one host of {HOSTS}, private memory", host.mib(), "MiB", most=MOST_HOST_MIB, peak_of_all=host.peak_mib())
    finally:
        leader.end()
        host.end()


def admission(stage, figures, _):
    """Measures decisions about 10,000 hosts."""
    decisions(stage, figures)
    live(stage, figures)
