# SPDX-License-Identifier: Apache-2.0
"""The measured parts of rollouts."""

import os
import statistics
import time

from .audit import kinds
from .figures import note
from .library import REQUEUE, library
from .ours import NEW, fleet
from .stage import OURS

FULL = os.environ.get("FULL") == "1"
MOST_CALLS = 25    # for each host and upgrade, including grants and heartbeats
MOST_REACTION = 1  # seconds
MOST_TEN = 10      # seconds for ten hosts one by one
PARALLEL = 10
BASELINES = (10, 50, 200) if FULL else (10, 50)
IDLE_SECONDS, IDLE_HOSTS = (300 if FULL else 60), 100


def requeue_for(count):
    """Returns a requeue shorter than the GPU Operator's 2 minutes, but longer than the work between two
    requeues."""
    return max(10, count // 5)


def describe_requeue(baseline):
    return f"{baseline.requeue} s instead of the GPU Operator's {REQUEUE} s"


def calls(stage, figures, hosts):
    """Measures the calls of a rollout for each size of fleet."""
    for count in hosts:
        row = {}
        if count in BASELINES:
            note(f"calls: NVIDIA's library, {count} nodes")
            with library(stage, count, requeue_for(count), PARALLEL) as other:
                idle, idle_took = other.idle()
                took, would_take, cost = other.upgrade()
                row = {"baseline": len(cost) / count, "library_total": len(cost), "library_seconds": took,
                       f"library_seconds_with_{REQUEUE}_s": would_take, "library_requeue": describe_requeue(other)}
                figures.add(f"{count} nodes, one reconcile of the library without work", len(idle), "calls", seconds=idle_took, a_node=len(idle) / count)
        note(f"calls: ours, {count} hosts")
        parallel = max(PARALLEL, count // 20)
        with fleet(stage, count) as some:
            took, cost, _ = some.upgrade(maxParallelUpgrades=parallel)
            figures.add(f"{count} hosts, {parallel} at a time", len(cost) / count, "calls a host", most=MOST_CALLS, **row, seconds=took, kinds=kinds(cost, count))


def idle(stage, figures, _):
    """Measures the calls of idle hosts."""
    with fleet(stage, IDLE_HOSTS) as some:
        some.upgrade(maxParallelUpgrades=0)
        note(f"idle: {IDLE_HOSTS} hosts for {IDLE_SECONDS} s")
        mark = stage.audit.mark()
        time.sleep(IDLE_SECONDS)
        cost = stage.audit.since(mark, OURS)
        renewals = [call for call in cost if call.renews_leader]
        watches = stage.audit.open_watches(OURS)
        figures.add(f"{IDLE_HOSTS} hosts idle for {IDLE_SECONDS} s, without renewals of the leader's Lease", len(cost) - len(renewals), "calls", most=0,
                    renewals=len(renewals))
        figures.add(f"{IDLE_HOSTS} hosts including the leader, open watches", sum(watches.values()) / IDLE_HOSTS, "per host", of=watches)


def reaction(stage, figures, _):
    """Measures the delay between steps: ten hosts one by one, with drivers that swap immediately."""
    note("reaction: NVIDIA's library")
    with library(stage, 10, requeue_for(10), 1) as other:
        took, would_take, _ = other.upgrade()
        requeue = describe_requeue(other)
    note("reaction: ours")
    with fleet(stage, 10) as some:
        ten, _, changes = some.upgrade(maxParallelUpgrades=1)
        steps, gaps = some.states.steps(changes), some.states.handovers(changes)
    figures.add("10 hosts one by one, with a driver that swaps immediately", ten, "s", most=MOST_TEN, baseline=would_take, library_measured=took, library_requeue=requeue)
    figures.add("from a state to the next, at most", max(steps), "s", most=MOST_REACTION, median=statistics.median(steps), steps=len(steps))
    figures.add("from the end of a host's upgrade to the start of the next one's, at most", max(gaps), "s", most=MOST_REACTION, median=statistics.median(gaps), times=len(gaps))


def away(stage, figures, _):
    """Measures that hosts which are not ready block no other hosts and report why they wait."""
    note("away: 30 of 100 hosts")
    gone = [f"sim{number:04}" for number in range(1, 101) if number % 10 in (0, 3, 7)]
    with fleet(stage, 100, gone) as some:
        there = [name for name in some.names if name not in gone]
        took, _, _ = some.upgrade(who=there, maxParallelUpgrades=0, maxUnavailable="25%")
        figures.add("30 of 100 are not ready, maxUnavailable 25 %: upgraded of the others", sum(some.states.done.get(name) == NEW for name in there),
                    "hosts", least=70, seconds=took)
        some.states.wait("they report that they are not ready", lambda: all("not ready" in some.states.reasons[name] for name in gone), 30)
        figures.add("30 of 100 are not ready: reported on their Nodes", sum("not ready" in some.states.reasons[name] for name in gone), "hosts", least=30,
                    for_one=some.states.reasons[gone[0]], upgraded=sum(some.states.done.get(name) == NEW for name in gone))
    note("away: 1 of 10, NVIDIA's library")
    rounds = 3
    with library(stage, 10, requeue_for(10), 1, away=["sim0001"]) as other:
        other.pods.upgrade()
        waits = other.waits()
        other.states.wait("some requeues", lambda: other.waits() >= waits + rounds, 300)
        theirs, stuck = len(other.pods.replaced), other.states.states["sim0001"]
    note("away: 1 of 10, ours")
    with fleet(stage, 10, ["sim0001"]) as some:
        took, _, _ = some.upgrade(who=some.names[1:], maxParallelUpgrades=1)
        done = sum(version == NEW for version in some.states.done.values())
    figures.add("1 of 10 is not ready, one by one: upgraded of the others", done, "hosts", least=9, baseline=theirs, seconds=took,
                library_after=f"{rounds} requeues, with the one that is not ready in {stuck}")
