# SPDX-License-Identifier: Apache-2.0
"""Our hosts: agents of gpuhost-cluster in a few processes, with drivers that swap immediately."""

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
        # The first host is the only candidate for the lead.
        self.command = [stage.build / "tests/cluster/fleet/fleet", f"--kubeconfig={stage.kubeconfigs[OURS]}", f"--first={first}",
                        f"--hosts={count}", f"--candidates={1 if first == 1 else 0}", *options]

    def run(self):
        self.start(self.command)


def names(count):
    return [f"sim{number:04}" for number in range(1, count + 1)]


class Fleet:
    """`count` hosts that run OLD; settle() waits until they send no calls."""
    def __init__(self, stage, count):
        self.stage, self.names = stage, names(count)
        self.states = States(stage.plane)
        self.services = [Hosts(stage, first, min(A_PROCESS, count + 1 - first)) for first in range(1, count + 1, A_PROCESS)]

    def settle(self):
        self.stage.set_policy(OLD)
        for service in self.services:
            service.run()
        self.states.wait_done(self.names, OLD, 300)
        self.stage.audit.quiet(OURS, SETTLED)

    def end(self):
        for service in self.services:
            service.end()
        self.states.close()

    def upgrade(self, seconds=1800, who=None, **policy):
        """Upgrades the hosts. Returns (seconds until `who`, by default all, were done, calls, mark of the
        state changes)."""
        mark, changes = self.stage.audit.mark(), len(self.states.changes)
        began = self.stage.set_policy(NEW, **policy)
        took = self.states.wait_done(who or self.names, NEW, seconds) - began
        self.states.wait("all grants are released", lambda: not self.stage.grants(), 60)
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
        stage.delete_all()
