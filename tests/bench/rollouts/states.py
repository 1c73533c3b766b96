# SPDX-License-Identifier: Apache-2.0
"""The upgrade states of Nodes and the times of their changes, from a watch."""

import collections
import json
import time

from .watching import Watching

STATE = "nvidia.com/gpu-driver-upgrade-state"
RECORD = "gpuhost.io/upgrade"
REASON = "gpuhost.io/upgrade-reason"


class States:
    def __init__(self, plane):
        self.states = {}
        self.reasons = {}
        self.done = {}     # {name: version} of Nodes that are done and schedulable; "" without a record of ours
        self.changes = []  # (time, name, new state)
        self.watching = Watching(plane, "/api/v1/nodes", self.update)
        self.close = self.watching.close

    def update(self, kind, node):
        metadata = node["metadata"]
        name, annotations = metadata["name"], metadata.get("annotations", {})
        state = "" if kind == "DELETED" else metadata.get("labels", {}).get(STATE, "")
        self.reasons[name] = annotations.get(REASON, "")
        if state == "upgrade-done" and not node["spec"].get("unschedulable"):
            self.done[name] = json.loads(annotations.get(RECORD, "{}")).get("version", "")
        else:
            self.done.pop(name, None)
        if state != self.states.get(name, ""):
            self.changes.append((time.monotonic(), name, state))
        self.states[name] = state

    def wait(self, what, true, seconds):
        """Waits until `true()`; returns the time."""
        deadline = time.monotonic() + seconds
        while not true():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {seconds} s: {what}: {dict(collections.Counter(self.states.values()))}")
            time.sleep(0.01)
        return time.monotonic()

    def wait_done(self, names, version, seconds):
        return self.wait(f"all run {version}", lambda: all(self.done.get(name) == version for name in names), seconds)

    def steps(self, mark, first="cordon-required"):
        """Returns the seconds between consecutive states of each host, from `first` on, for all changes
        since the mark."""
        last, steps = {}, []
        for when, name, state in self.changes[mark:]:
            if name in last:
                steps.append(when - last[name])
            if name in last or state == first:
                last[name] = when
            if state == "upgrade-done":
                last.pop(name, None)
        return steps

    def handovers(self, mark):
        """Returns the seconds from the end of each host's upgrade to the start of the next one's, if one
        at a time may."""
        ended, gaps = None, []
        for when, _, state in self.changes[mark:]:
            if state == "cordon-required" and ended is not None:
                gaps.append(when - ended)
            ended = when if state == "upgrade-done" else ended
        return gaps
