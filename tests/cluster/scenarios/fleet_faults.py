# SPDX-License-Identifier: Apache-2.0
"""A fleet's driver upgrade when something comes in its way: limits of pools, hosts that die, Nodes that are deleted, windows that close, a bad
way to the API server."""

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
    """`check` at each moment until then."""
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


@case("a fleet: two pools keep their own limits and the cap over both at each moment", start="kubernetes", independent=True)
def two_pools(node):
    with Fleet(node, 9) as fleet, labelled(fleet, sim0001="lab", sim0002="lab", sim0003="lab", sim0004="lab"):
        start_on_old(fleet, "--swap-ms=300")
        pools = [{"name": "lab", "nodeSelector": {"tier": "lab"}, "driver": {"upgradePolicy": {"maxParallelUpgrades": 1}}}]
        fleet.wants(NEW, {"pools": pools, "maxParallelUpgrades": 3}, maxParallelUpgrades=4)

        def check():
            at_most(fleet, 3)
            at_most(fleet, 1, fleet.names[:4])
        until(fleet, lambda: fleet.done(NEW) == set(fleet.names), check)


@case("a fleet: a Node that is deleted and made again in the middle of its upgrade upgrades once more", start="kubernetes", independent=True)
def node_made_again(node):
    with Fleet(node, 3) as fleet:
        start_on_old(fleet, "--swap-ms=1500")
        fleet.wants(NEW, maxParallelUpgrades=1)
        eventually("the first swaps its driver", lambda: fleet.states().get("sim0001") == "pod-restart-required")
        fleet.plane.kubectl("delete", "node", "sim0001")
        fleet.plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "sim0001", "labels": {"nvidia.com/gpu.present": "true"}}})
        fleet.ready("sim0001")
        fleet.eventually_done(NEW)
        eventually("no grant is left", lambda: not fleet.grants())


@case("a fleet: a host that dies keeps its place, or with onSilence: release gives it on", start="kubernetes", independent=True)
def dies(node):
    for on_silence in ("keep", "release"):
        with Fleet(node, 4) as fleet:
            fleet.wants(OLD)
            one = Hosts(node, f"dies-{on_silence}", "--hosts=1", "--first=1", "--candidates=0", "--swap-ms=600000")
            others = Hosts(node, f"lives-{on_silence}", "--hosts=3", "--first=2")
            fleet.services += [one, others]
            for service in fleet.services:
                service.run()
            fleet.eventually_done(OLD)
            fleet.wants(NEW, {"silenceSeconds": 4, "onSilence": on_silence}, maxParallelUpgrades=1)
            eventually("the first swaps its driver", lambda: fleet.states()["sim0001"] == "pod-restart-required")
            one.kill()
            fleet.services.remove(one)
            if on_silence == "release":
                fleet.eventually_done(NEW, fleet.names[1:])
                continue
            done = fleet.done(NEW)  # before it had its turn
            time.sleep(10)
            assert fleet.done(NEW) == done and fleet.grants() == {"sim0001"}, f"{fleet.states()} {fleet.grants()}"
            fleet.plane.kubectl("delete", "node", "sim0001")  # which is how an administrator gives its place on
            fleet.eventually_done(NEW, fleet.names[1:])


@case("a fleet: when the window closes those that swap finish, and no other begins", start="kubernetes", independent=True)
def window_closes(node):
    with Fleet(node, 4) as fleet:
        start_on_old(fleet, "--swap-ms=2000")
        fleet.wants(NEW, maxParallelUpgrades=2)
        eventually("two swap", lambda: list(fleet.states().values()).count("pod-restart-required") == 2)
        begun = fleet.busy()
        fleet.wants(NEW, {"windows": [closed_window()]}, maxParallelUpgrades=2)
        fleet.eventually_done(NEW, begun)
        time.sleep(2)
        assert fleet.done(NEW) == begun, fleet.states()
        waits = set(fleet.names) - begun
        eventually("the others say for what they wait", lambda: all("window opens" in fleet.reason(name) for name in waits))
        fleet.wants(NEW, maxParallelUpgrades=2)
        fleet.eventually_done(NEW)


@case("a fleet: too many failures halt it, and it says so", start="kubernetes", independent=True)
def halts(node):
    with Fleet(node, 6) as fleet:
        start_on_old(fleet, "--fail=sim0001,sim0002")
        fleet.wants(NEW, {"retries": 0, "failureBudget": 1}, maxParallelUpgrades=1)
        eventually(lambda: f"two have failed: {fleet.states()}", lambda: list(fleet.states().values()).count("upgrade-failed") == 2)
        eventually("the others say why they wait", lambda: all(fleet.reason(name).startswith("halted:") for name in fleet.names[2:]))
        assert not fleet.done(NEW)
        fleet.wants(NEW, {"retries": 0, "failureBudget": 2}, maxParallelUpgrades=1)
        fleet.eventually_done(NEW, fleet.names[2:])


@case("a fleet: one rack at a time", start="kubernetes", independent=True)
def racks(node):
    with Fleet(node, 6) as fleet:
        of = {name: f"r{number % 2}" for number, name in enumerate(fleet.names)}
        for name, rack in of.items():
            fleet.patch(name, {"metadata": {"labels": {"rack": rack}}})
        start_on_old(fleet, "--swap-ms=300")
        fleet.wants(NEW, {"topologyKey": "rack"}, maxParallelUpgrades=0)

        def check():
            busy = fleet.busy()
            assert len({of[name] for name in busy}) <= 1, f"{busy} {fleet.tail()}"
        until(fleet, lambda: fleet.done(NEW) == set(fleet.names), check)


@case("a fleet: autoUpgrade or the driver switched off while drivers are swapped lets those finish, and keeps nobody cordoned", start="kubernetes", independent=True)
def switched_off(node):
    with Fleet(node, 4) as fleet:
        start_on_old(fleet, "--swap-ms=1000")
        for state, off in (("pod-restart-required", {"auto": False}), ("upgrade-required", {"auto": False})):
            fleet.wants(NEW, maxParallelUpgrades=1)
            eventually(f"one is {state}", lambda state=state: state in fleet.states().values())
            fleet.wants(NEW, maxParallelUpgrades=1, **off)
            eventually(lambda: f"nobody is half way: {fleet.states()}", lambda: set(fleet.states().values()) == {""} and not fleet.busy() and not fleet.grants())
        fleet.wants(NEW, maxParallelUpgrades=4)
        fleet.eventually_done(NEW)


@case("a fleet: without autoUpgrade hosts roll, or each waits for its label", start="kubernetes", independent=True)
def without_controller(node):
    with Fleet(node, 4) as fleet:
        fleet.wants(OLD, auto=False)
        fleet.hosts("--swap-ms=300")
        eventually("no host has a label", lambda: set(fleet.states().values()) == {""})
        fleet.wants(NEW, auto=False)
        eventually("they say what is wanted", lambda: all("autoUpgrade is off" in fleet.reason(name) for name in fleet.names))
        fleet.plane.kubectl("label", "node", "sim0003", f"{STATE}=upgrade-required")
        eventually("the one that was asked for has upgraded", lambda: not fleet.reason("sim0003") and fleet.states()["sim0003"] == "")
        assert "autoUpgrade is off" in fleet.reason("sim0001"), fleet.reason("sim0001")


@case("a fleet: a pool that goes back to the version before, in the middle, comes to that", start="kubernetes", independent=True)
def goes_back(node):
    with Fleet(node, 6) as fleet:
        start_on_old(fleet, "--swap-ms=400")
        fleet.wants(NEW, maxParallelUpgrades=2)
        eventually("some have it", lambda: len(fleet.done(NEW)) >= 2)
        fleet.wants(OLD, maxParallelUpgrades=2)
        until(fleet, lambda: fleet.done(OLD) == set(fleet.names), lambda: at_most(fleet, 2))


@case("a fleet: whoever leads is killed at each moment, and another goes on", start="kubernetes", independent=True)
def leaders_die(node):
    with Fleet(node, 8) as fleet:
        fleet.wants(OLD)
        parts = [Hosts(node, f"part{number}", "--hosts=2", f"--first={1 + 2 * number}", "--candidates=1", "--swap-ms=200") for number in range(4)]
        fleet.services += parts
        for part in parts:
            part.run()
        fleet.eventually_done(OLD)
        fleet.wants(NEW, maxParallelUpgrades=2)
        for _ in range(3):
            holder = fleet.admin.ask("GET", f"{LEASES}/gpuhost-leader")[1]["spec"]["holderIdentity"]
            part = parts[(int(holder.removeprefix("sim")) - 1) // 2]
            part.kill()
            at_most(fleet, 2)
            part.run()
            for _ in range(20):
                at_most(fleet, 2)
        until(fleet, lambda: fleet.done(NEW) == set(fleet.names), lambda: at_most(fleet, 2), 120)


SOME_FAULTS = 2  # of these, where FULL is not asked for: each takes half a minute
FAULTS = {
    "refuses with 429": some(0.3, ("status", 429, [("Retry-After", "1")])),
    "errs, done or not": some(0.2, ("status", 500, []), ("after", 500), ("after", 504)),
    "answers with conflicts": some(0.3, ("status", 409, []), methods=("PATCH",)),
    "has forgotten": some(0.3, ("status", 410, [])),
    "is slow": some(0.5, ("slow", 2)),
    "breaks off after it was done": some(0.2, ("cut",)),
}


@case("a fleet: an API server that refuses, errs, is slow or breaks off gets no more than may upgrade, and all do", start="kubernetes", independent=True)
def faults(node):
    with Fleet(node, 6) as fleet, FaultyWay(node.controlplane) as way:
        fleet.wants(OLD)
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
            fleet.wants(version, maxParallelUpgrades=2)
            until(fleet, lambda version=version: fleet.done(version) == set(fleet.names), lambda: at_most(fleet, 2), 180)
            way.harm = lambda method, path: None
            calls = (way.calls - calls) / 6
            print(f"# a server that {what}: {time.monotonic() - began:.0f} s, {calls:.0f} calls a host")
            assert calls < 120, f"a server that {what} is asked {calls} times by each host"


@case("a fleet: hosts that are cut off for longer than a grant lives begin nothing, and go on when they are back", start="kubernetes", independent=True)
def cut_off(node):
    with Fleet(node, 4) as fleet, FaultyWay(node.controlplane) as way:
        fleet.wants(OLD)
        cut = Hosts(node, "cut", "--hosts=2", "--first=1", "--candidates=0", "--swap-ms=200")
        cut.command[1] = f"--kubeconfig={way.kubeconfig}"
        others = Hosts(node, "others", "--hosts=2", "--first=3", "--swap-ms=200")
        fleet.services += [cut, others]
        for service in fleet.services:
            service.run()
        fleet.eventually_done(OLD)
        way.away = True
        way.break_all()
        fleet.wants(NEW, {"silenceSeconds": 4}, maxParallelUpgrades=1)
        until(fleet, lambda: fleet.done(NEW) >= set(fleet.names[2:]), lambda: at_most(fleet, 1))
        way.away = False
        until(fleet, lambda: fleet.done(NEW) == set(fleet.names), lambda: at_most(fleet, 1), 120)
