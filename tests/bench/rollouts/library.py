# SPDX-License-Identifier: Apache-2.0
"""The baseline: NVIDIA's upgrade library on the same API server, driven as the GPU Operator drives it
(tests/cluster/modules/upgrades)."""

import contextlib
import json
import time

from node import binaries
from node.service import Service

from . import ours
from .driver_pods import DriverPods
from .stage import THEIRS
from .states import States

REQUEUE = 120  # seconds; the GPU Operator's, for which the bench does not wait
SETTLED = 2    # seconds without a call; less than any requeue


class Library(Service):
    """`requeue` is in seconds. It must be longer than the work between two requeues, else there are
    reconciles that the GPU Operator does not make."""
    def __init__(self, stage, count, requeue, parallel, unavailable, away):
        super().__init__(f"library-{count}-{parallel}", stage.place.logs)
        self.log.unlink(missing_ok=True)  # an earlier run with the same name may have written it
        self.stage, self.names, self.requeue = stage, ours.names(count), requeue
        self.states = States(stage.plane)
        self.pods = DriverPods(stage, self.names, away)
        self.command = [binaries.built(binaries.UPGRADES) / "controller", f"--kubeconfig={stage.kubeconfigs[THEIRS]}", f"--requeue={requeue}s",
                        f"--parallel={parallel}", f"--unavailable={unavailable}"]

    def run(self):
        self.start(self.command)
        self.states.wait_done(self.names, "", 120)
        self.idle()

    def end(self):
        super().end()
        self.states.close()
        self.pods.remove()

    def reconciles(self):
        """Returns [{"took", "pause"}] of all reconciles until now."""
        return [json.loads(row) for row in self.log.read_text().splitlines() if row.startswith('{"pause"')]

    def waits(self):
        """Returns the number of reconciles that the requeue caused."""
        return sum(one["pause"] > self.requeue * 0.9 for one in self.reconciles())

    def idle(self):
        """Waits for the next reconcile without work; returns its (calls, seconds)."""
        self.stage.audit.quiet(THEIRS, SETTLED)
        mark, before = self.stage.audit.mark(), len(self.reconciles())
        self.states.wait("the next reconcile", lambda: len(self.reconciles()) > before, self.requeue + 60)
        self.stage.audit.quiet(THEIRS, SETTLED)
        calls, new = self.stage.audit.since(mark, THEIRS), self.reconciles()[before:]
        assert len(new) == 1, new
        return calls, new[0]["took"]

    def upgrade(self, seconds=3600):
        """Upgrades all nodes. Returns (seconds, seconds with the GPU Operator's requeue, calls)."""
        mark, waits, began = self.stage.audit.mark(), self.waits(), time.monotonic()
        self.pods.upgrade()
        took = self.states.wait("all are upgraded", self.is_done, seconds) - began
        waited = self.waits() - waits
        self.stage.audit.quiet(THEIRS, SETTLED)
        return took, took + waited * (REQUEUE - self.requeue), self.stage.audit.since(mark, THEIRS)

    def is_done(self):
        return all(name in self.pods.replaced and name in self.states.done for name in self.names)


@contextlib.contextmanager
def library(stage, count, requeue, parallel, unavailable="25%", away=()):
    stage.make_nodes(ours.names(count), away)
    made = Library(stage, count, requeue, parallel, unavailable, away)
    try:
        made.run()
        yield made
    finally:
        made.end()
        stage.delete_all()
