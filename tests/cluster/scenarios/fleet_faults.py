# SPDX-License-Identifier: Apache-2.0
"""A fleet upgrades its driver under faults: limits of pools, hosts that die, deleted Nodes, windows that
close, a faulty connection to the API server."""

import os
import random
import time

from node.faulty import FaultyWay, some
from node.waiting import eventually
from rig.case import case
from scenarios.fleet import NEW, OLD, STATE, Fleet, Hosts, labelled, start_on_old

FULL = os.environ.get("FULL") == "1"
SEED = int(os.environ.get("SEED", "535"))
LEASES = "/apis/coordination.k8s.io/v1/namespaces/gpuhost/leases"


def until(fleet, is_over, check, seconds=60):
    """Calls `check` repeatedly until `is_over` returns true."""
    end = time.monotonic() + seconds
    while not is_over():
        check()
        assert time.monotonic() < end, f"{fleet.states()} {fleet.tail()}"


def at_most(fleet, number, names=None):
    busy = fleet.busy() & set(names or fleet.names)
    assert len(busy) <= number, f"{busy}: {fleet.states()} {fleet.tail()}"


def closed_window():
    far = time.gmtime(time.time() + 12 * 3600)
    return {"days": [time.strftime("%a", far)], "start": time.strftime("%H:00", far), "end": time.strftime("%H:30", far)}


@case("fleet: two pools respect their own limits and the common limit", start="kubernetes", independent=True)
def two_pools(node):
    with Fleet(node, 9) as fleet, labelled(fleet, sim0001="lab", sim0002="lab", sim0003="lab", sim0004="lab"):
        start_on_old(fleet, "--swap-ms=300")
        pools = [{"name": "lab", "nodeSelector": {"tier": "lab"}, "driver": {"upgradePolicy": {"maxParallelUpgrades": 1}}}]
        fleet.set_policy(NEW, {"pools": pools, "maxParallelUpgrades": 3}, maxParallelUpgrades=4)

        def check():
            at_most(fleet, 3)
            at_most(fleet, 1, fleet.names[:4])
        until(fleet, lambda: fleet.done(NEW) == set(fleet.names), check)


@case("fleet: a Node that is recreated during its upgrade upgrades again", start="kubernetes", independent=True)
def node_made_again(node):
    with Fleet(node, 3) as fleet:
        start_on_old(fleet, "--swap-ms=1500")
        fleet.set_policy(NEW, maxParallelUpgrades=1)
        eventually("the first swaps its driver", lambda: fleet.states().get("sim0001") == "pod-restart-required")
        fleet.plane.kubectl("delete", "node", "sim0001")
        fleet.plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "sim0001", "labels": {"nvidia.com/gpu.present": "true"}}})
        fleet.ready("sim0001")
        fleet.eventually_done(NEW)
        eventually("no grant is left", lambda: not fleet.grants())


@case("fleet: a silent host keeps its grant unless onSilence is release", start="kubernetes", independent=True)
def dies(node):
    for on_silence in ("keep", "release"):
        with Fleet(node, 4) as fleet:
            fleet.set_policy(OLD)
            one = Hosts(node, f"dies-{on_silence}", "--hosts=1", "--first=1", "--candidates=0", "--swap-ms=600000")
            others = Hosts(node, f"lives-{on_silence}", "--hosts=3", "--first=2")
            fleet.services += [one, others]
            for service in fleet.services:
                service.run()
            fleet.eventually_done(OLD)
            fleet.set_policy(NEW, {"silenceSeconds": 4, "onSilence": on_silence}, maxParallelUpgrades=1)
            eventually("the first swaps its driver", lambda: fleet.states()["sim0001"] == "pod-restart-required")
            one.kill()
            fleet.services.remove(one)
            if on_silence == "release":
                fleet.eventually_done(NEW, fleet.names[1:])
                continue
            done = fleet.done(NEW)  # those that upgraded before it
            time.sleep(10)
            assert fleet.done(NEW) == done and fleet.grants() == {"sim0001"}, f"{fleet.states()} {fleet.grants()}"
            fleet.plane.kubectl("delete", "node", "sim0001")  # so an administrator releases its grant
            fleet.eventually_done(NEW, fleet.names[1:])


@case("fleet: when the window closes running swaps finish, no other begins", start="kubernetes", independent=True)
def window_closes(node):
    with Fleet(node, 4) as fleet:
        start_on_old(fleet, "--swap-ms=2000")
        fleet.set_policy(NEW, maxParallelUpgrades=2)
        eventually("two swap", lambda: list(fleet.states().values()).count("pod-restart-required") == 2)
        begun = fleet.busy()
        fleet.set_policy(NEW, {"windows": [closed_window()]}, maxParallelUpgrades=2)
        fleet.eventually_done(NEW, begun)
        time.sleep(2)
        assert fleet.done(NEW) == begun, fleet.states()
        waits = set(fleet.names) - begun
        eventually("the other hosts report that they wait for the window", lambda: all("window opens" in fleet.reason(name) for name in waits))
        fleet.set_policy(NEW, maxParallelUpgrades=2)
        fleet.eventually_done(NEW)


@case("fleet: too many failures halt the rollout, each host reports it", start="kubernetes", independent=True)
def halts(node):
    with Fleet(node, 6) as fleet:
        start_on_old(fleet, "--fail=sim0001,sim0002")
        fleet.set_policy(NEW, {"retries": 0, "failureBudget": 1}, maxParallelUpgrades=1)
        eventually(lambda: f"two have failed: {fleet.states()}", lambda: list(fleet.states().values()).count("upgrade-failed") == 2)
        eventually("the other hosts report the halt", lambda: all(fleet.reason(name).startswith("halted:") for name in fleet.names[2:]))
        assert not fleet.done(NEW)
        fleet.set_policy(NEW, {"retries": 0, "failureBudget": 2}, maxParallelUpgrades=1)
        fleet.eventually_done(NEW, fleet.names[2:])


@case("fleet: with topologyKey only one rack upgrades at a time", start="kubernetes", independent=True)
def racks(node):
    with Fleet(node, 6) as fleet:
        of = {name: f"r{number % 2}" for number, name in enumerate(fleet.names)}
        for name, rack in of.items():
            fleet.patch(name, {"metadata": {"labels": {"rack": rack}}})
        start_on_old(fleet, "--swap-ms=300")
        fleet.set_policy(NEW, {"topologyKey": "rack"}, maxParallelUpgrades=0)

        def check():
            busy = fleet.busy()
            assert len({of[name] for name in busy}) <= 1, f"{busy} {fleet.tail()}"
        until(fleet, lambda: fleet.done(NEW) == set(fleet.names), check)


@case("fleet: disabling autoUpgrade lets running swaps finish, no Node stays cordoned", start="kubernetes", independent=True)
def switched_off(node):
    with Fleet(node, 4) as fleet:
        start_on_old(fleet, "--swap-ms=1000")
        for state, off in (("pod-restart-required", {"auto": False}), ("upgrade-required", {"auto": False})):
            fleet.set_policy(NEW, maxParallelUpgrades=1)
            eventually(f"one is {state}", lambda state=state: state in fleet.states().values())
            fleet.set_policy(NEW, maxParallelUpgrades=1, **off)
            eventually(lambda: f"no upgrade is in progress: {fleet.states()}", lambda: set(fleet.states().values()) == {""} and not fleet.busy() and not fleet.grants())
        fleet.set_policy(NEW, maxParallelUpgrades=4)
        fleet.eventually_done(NEW)


@case("fleet: without autoUpgrade a host upgrades only after its label is set", start="kubernetes", independent=True)
def without_controller(node):
    with Fleet(node, 4) as fleet:
        fleet.set_policy(OLD, auto=False)
        fleet.hosts("--swap-ms=300")
        eventually("no host has a label", lambda: set(fleet.states().values()) == {""})
        fleet.set_policy(NEW, auto=False)
        eventually("each host reports that autoUpgrade is off", lambda: {fleet.reason(name) for name in fleet.names} == {f"the policy sets version {NEW}; autoUpgrade is off"})
        fleet.plane.kubectl("label", "node", "sim0003", f"{STATE}=upgrade-required")
        eventually("the labelled host has upgraded", lambda: fleet.reason("sim0003") == f"has {NEW}; autoUpgrade is off" and fleet.states()["sim0003"] == "")
        assert "autoUpgrade is off" in fleet.reason("sim0001"), fleet.reason("sim0001")


@case("fleet: a change back to the earlier version during a rollout completes", start="kubernetes", independent=True)
def version_reverted(node):
    with Fleet(node, 6) as fleet:
        start_on_old(fleet, "--swap-ms=400")
        fleet.set_policy(NEW, maxParallelUpgrades=2)
        eventually("two hosts are done", lambda: len(fleet.done(NEW)) >= 2)
        fleet.set_policy(OLD, maxParallelUpgrades=2)
        until(fleet, lambda: fleet.done(OLD) == set(fleet.names), lambda: at_most(fleet, 2))


@case("fleet: after the leader is killed another one continues within the limit", start="kubernetes", independent=True)
def leaders_die(node):
    with Fleet(node, 8) as fleet:
        fleet.set_policy(OLD)
        parts = [Hosts(node, f"part{number}", "--hosts=2", f"--first={1 + 2 * number}", "--candidates=1", "--swap-ms=200") for number in range(4)]
        fleet.services += parts
        for part in parts:
            part.run()
        fleet.eventually_done(OLD)
        fleet.set_policy(NEW, maxParallelUpgrades=2)
        for _ in range(3):
            holder = fleet.admin.ask("GET", f"{LEASES}/gpuhost-leader")[1]["spec"]["holderIdentity"]
            part = parts[(int(holder.removeprefix("sim")) - 1) // 2]
            part.kill()
            at_most(fleet, 2)
            part.run()
            for _ in range(20):
                at_most(fleet, 2)
        until(fleet, lambda: fleet.done(NEW) == set(fleet.names), lambda: at_most(fleet, 2), 120)


SOME_FAULTS = 2  # number of FAULTS without FULL=1: each lasts half a minute
FAULTS = {
    "refuses with 429": some(0.3, ("status", 429, [("Retry-After", "1")])),
    "fails with 500 or 504, request executed or not": some(0.2, ("status", 500, []), ("after", 500), ("after", 504)),
    "answers with conflicts": some(0.3, ("status", 409, []), methods=("PATCH",)),
    "answers 410 Gone": some(0.3, ("status", 410, [])),
    "is slow": some(0.5, ("slow", 2)),
    "closes the connection after the request was executed": some(0.2, ("cut",)),
}


@case("fleet: with a faulty API server the limit holds, all hosts upgrade", start="kubernetes", independent=True)
def faults(node):
    with Fleet(node, 6) as fleet, FaultyWay(node.controlplane) as way:
        fleet.set_policy(OLD)
        service = Hosts(node, "faulty", "--hosts=6", "--candidates=2", "--swap-ms=300")
        service.command[1] = f"--kubeconfig={way.kubeconfig}"
        fleet.services.append(service)
        service.run()
        fleet.eventually_done(OLD)
        versions = [NEW, OLD]
        chosen = list(FAULTS) if FULL else random.Random(SEED).sample(list(FAULTS), SOME_FAULTS)
        for number, what in enumerate(chosen):
            harm = FAULTS[what]
            version, calls, began = versions[number % 2], way.calls, time.monotonic()
            way.harm = harm
            fleet.set_policy(version, maxParallelUpgrades=2)
            until(fleet, lambda version=version: fleet.done(version) == set(fleet.names), lambda: at_most(fleet, 2), 180)
            way.harm = lambda method, path: None
            calls = (way.calls - calls) / 6
            print(f"# a server that {what}: {time.monotonic() - began:.0f} s, {calls:.0f} calls a host")
            assert calls < 120, f"a server that {what} gets {calls} calls of each host"


@case("fleet: disconnected hosts begin no upgrade, and upgrade after they reconnect", start="kubernetes", independent=True)
def cut_off(node):
    with Fleet(node, 4) as fleet, FaultyWay(node.controlplane) as way:
        fleet.set_policy(OLD)
        cut = Hosts(node, "cut", "--hosts=2", "--first=1", "--candidates=0", "--swap-ms=200")
        cut.command[1] = f"--kubeconfig={way.kubeconfig}"
        others = Hosts(node, "others", "--hosts=2", "--first=3", "--swap-ms=200")
        fleet.services += [cut, others]
        for service in fleet.services:
            service.run()
        fleet.eventually_done(OLD)
        way.away = True
        way.break_all()
        fleet.set_policy(NEW, {"silenceSeconds": 4}, maxParallelUpgrades=1)
        until(fleet, lambda: fleet.done(NEW) >= set(fleet.names[2:]), lambda: at_most(fleet, 1))
        way.away = False
        until(fleet, lambda: fleet.done(NEW) == set(fleet.names), lambda: at_most(fleet, 1), 120)
