# SPDX-License-Identifier: Apache-2.0
"""gpuhost-cluster between a daemon that hangs and an API server or other writers that get in its way: it stays alive, does not
fight, and catches up."""
import datetime
import json
import os
import signal
import time

import tap
from cluster_site import READY, Site
from fake_api import CONFIG_MAPS, LEASES
from fake_host import NEW, OLD, write

LEADER = "gpuhost-leader"


def wants(api, version):
    api.put(CONFIG_MAPS, "gpuhost-policy", {"data": {"policy.yaml": json.dumps(
        {"driver": {"version": version, "upgradePolicy": {"autoUpgrade": True, "maxUnavailable": "100%"}}})}})


def renewals(api):
    """When the leader's Lease was renewed, in seconds."""
    with api.lock:
        times = [one["spec"]["renewTime"] for _, collection, _, one in api.events
                 if collection == LEASES and one["metadata"]["name"] == LEADER]
    return [datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() for text in times]


def check_hung_daemon(t, site):
    api, daemon = site.api, site.host.daemon.pid
    write(site.host.path("/etc/gpuhost/gpuhostd.conf"), "[Cluster]\nCandidate=yes\n")
    site.kubelet()
    wants(api, NEW)
    site.agent.start()
    site.eventually(t, lambda: api.conditions() == READY and site.agent.status().get("leader", {}).get("leads"), "a candidate leads")
    os.kill(daemon, signal.SIGSTOP)
    stopped = time.time()
    try:
        wants(api, OLD)  # for which gpuhostd is asked
        site.eventually(t, lambda: {status for status, _ in api.conditions().values()} == {"Unknown"} or renewals(api)[-1] > stopped + 40,
                        "a hung gpuhostd is asked for an answer", 60)
        times = [stopped, *(one for one in renewals(api) if one > stopped), time.time()]
        longest = max(after - before for before, after in zip(times, times[1:]))
        t.ok(longest < 9, "the leader renews its Lease while gpuhostd hangs", longest)
    finally:
        os.kill(daemon, signal.SIGCONT)
    site.eventually(t, lambda: api.conditions() == READY, "conditions are as before once gpuhostd answers", 60)
    site.agent.stop()


def main():
    t = tap.Tap()
    site = Site()
    try:
        site.kubeconfig()
        site.api.add_node("gpu01")
        for check in (check_hung_daemon,):
            check(t, site)
        if t.failed:
            print("\n".join("# " + line for line in site.agent.said().splitlines()[-30:]))
    finally:
        site.close()
    t.done()


main()
