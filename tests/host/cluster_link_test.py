# SPDX-License-Identifier: Apache-2.0
"""gpuhost-cluster with a hung daemon, a busy or restored API server, and another writer of its label."""
import datetime
import json
import os
import signal
import time

import tap
from cluster_site import READY, Site
from fake_api import CONFIG_MAPS, EVENTS, LEASES, NODES
from fake_host import NEW, OLD, write

LEADER = "gpuhost-leader"
STATE = "nvidia.com/gpu-driver-upgrade-state"


def wants(api, version, **others):
    api.put(CONFIG_MAPS, "gpuhost-policy", {"data": {"policy.yaml": json.dumps(
        {"driver": {"version": version, "upgradePolicy": {"autoUpgrade": True, "maxUnavailable": "100%"}}, **others})}})


def renewals(api):
    """Returns the times at which the leader's Lease was renewed, in seconds."""
    with api.lock:
        times = [one["spec"]["renewTime"] for _, collection, _, one in api.events
                 if collection == LEASES and one["metadata"]["name"] == LEADER]
    return [datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() for text in times]


def check_hung_daemon(t, site):
    api, daemon = site.api, site.host.daemon.pid
    site.agent.stop()
    write(site.host.path("/etc/gpuhost/gpuhostd.conf"), "[Cluster]\nCandidate=yes\n")
    site.kubelet()
    wants(api, OLD)
    site.agent.start()
    site.eventually(t, lambda: api.conditions() == READY and site.agent.status().get("leader", {}).get("leads"), "a candidate leads")
    os.kill(daemon, signal.SIGSTOP)
    stopped = time.time()
    try:
        wants(api, OLD, toolkit={"version": "v1.17.9"})  # makes gpuhost-cluster call SetDesiredState
        site.eventually(t, lambda: "desired state: gpuhostd does not answer" in site.agent.said(), "a call to a hung gpuhostd fails after its timeout", 90)
        # The timeout of the call is 25 seconds, and a renewal is due every 5. A loop that waits for the answer makes
        # one before the call, and perhaps one between its end and this line.
        made = [one - stopped for one in renewals(api) if one > stopped]
        t.ok(len(made) >= 3, "the leader renews its Lease while gpuhostd hangs", made)
        wants(api, OLD)
    finally:
        os.kill(daemon, signal.SIGCONT)
    site.eventually(t, lambda: api.conditions() == READY, "conditions recover when gpuhostd responds again", 60)
    site.agent.stop()


def events(api):
    with api.lock:
        return [one["message"] for one in api.objects[EVENTS].values()]


def check_events(t, site):
    api = site.api
    wants(api, NEW)
    for _ in range(2):
        api.fail(429, "POST", EVENTS, Retry_After=1)
    site.agent.start()
    site.eventually(t, lambda: any("node state label" in message for message in events(api)), "an event is sent again after status 429")
    t.ok("can't create an event" not in site.agent.said(),
         "status 429 for an event is not logged", site.agent.said())


def take_label(api):
    with api.lock:
        node = api.node()
        known = node["metadata"]["labels"].pop(STATE, None)
        if known:
            api.put(NODES, "gpu01", node)


def check_fight(t, site):
    api = site.api
    writes, told = api.count("PATCH", NODES), len(events(api))
    end = time.monotonic() + 8
    while time.monotonic() < end:
        take_label(api)
        time.sleep(0.01)
    writes, told = api.count("PATCH", NODES) - writes, len(events(api)) - told
    t.ok(1 < writes <= 12, "rewrites of a repeatedly removed label are rate-limited", writes)
    t.ok(told <= 2, "events about a repeatedly removed label are rate-limited", told)
    site.eventually(t, lambda: "reverts what gpuhost-cluster writes" in str(site.agent.status().get("error")), "the status reports the repeatedly removed label")
    t.ok(1 <= site.agent.said().count("another client reverts this") <= 3,
         "log messages about the removed label are rate-limited", site.agent.said())
    site.eventually(t, lambda: STATE in api.node()["metadata"]["labels"], "the label is restored when nothing removes it", 60)


def check_restore(t, site):
    api = site.api
    api.restore()
    site.host.kill_daemon()
    site.eventually(t, lambda: {status for status, _ in api.conditions().values()} == {"Unknown"}, "conditions are written after a restore of etcd", 60)
    site.host.start_daemon()
    site.host.settle()
    site.eventually(t, lambda: api.conditions() == READY, "conditions recover after a restore of etcd")


def main():
    t = tap.Tap()
    site = Site()
    try:
        site.kubeconfig()
        site.api.add_node("gpu01")
        for check in (check_events, check_fight, check_restore, check_hung_daemon):
            check(t, site)
        if t.failed:
            print("\n".join("# " + line for line in site.agent.said().splitlines()[-30:]))
    finally:
        site.close()
    t.done()


main()
