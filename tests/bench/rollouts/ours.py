# SPDX-License-Identifier: Apache-2.0
"""Our hosts: the agents of gpuhost-cluster, whose drivers swap at once, in a few processes."""

import contextlib

from node.service import Service

from .stage import OURS
from .states import States

OLD, NEW = "535.216.01", "550.163.01"
A_PROCESS = 250  # hosts
SETTLED = 3      # seconds without a call


class Hosts(Service):
    def __init__(self, stage, first, count, *options):
        super().__init__(f"fleet-{first}", stage.place.logs)
        # The first one may lead.
        self.command = [stage.build / "tests/cluster/fleet/fleet", f"--kubeconfig={stage.kubeconfigs[OURS]}", f"--first={first}",
                        f"--hosts={count}", f"--candidates={1 if first == 1 else 0}", *options]

    def run(self):
        self.start(self.command)


def names(count):
    return [f"sim{number:04}" for number in range(1, count + 1)]


class Fleet:
    """`count` hosts that run OLD, and are quiet."""
    def __init__(self, stage, count):
        self.stage, self.names = stage, names(count)
        self.states = States(stage.plane)
        self.services = [Hosts(stage, first, min(A_PROCESS, count + 1 - first)) for first in range(1, count + 1, A_PROCESS)]

    def settle(self):
        self.stage.wants(OLD)
        for service in self.services:
            service.run()
        self.states.wait_done(self.names, OLD, 300)
        self.stage.audit.quiet(OURS, SETTLED)

    def end(self):
        for service in self.services:
            service.end()
        self.states.close()

    def upgrade(self, seconds=1800, who=None, **policy):
        """(seconds it took `who`, which is all of them, the calls that it cost, the mark of the states' changes)"""
        mark, changes = self.stage.audit.mark(), len(self.states.changes)
        said = self.stage.wants(NEW, **policy)
        took = self.states.wait_done(who or self.names, NEW, seconds) - said
        self.states.wait("all grants are given back", lambda: not self.stage.grants(), 60)
        self.stage.audit.quiet(OURS, SETTLED)
        return took, self.stage.audit.since(mark, OURS), changes


@contextlib.contextmanager
def fleet(stage, count, away=()):
    stage.make_nodes(names(count))
    made = Fleet(stage, count)
    try:
        made.settle()
        for name in away:
            stage.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": [
                {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}]}})
        yield made
    finally:
        made.end()
        stage.wipe()
