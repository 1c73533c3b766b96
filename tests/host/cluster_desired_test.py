# SPDX-License-Identifier: Apache-2.0
"""What a cluster's policy wants of a host's toolkit, which the host follows; and the driver that it takes once an administrator of the host says so."""
import json
import os
import time

import tap
from cluster_site import READY, Site
from fake_api import CONFIG_MAPS, NODES
from fake_host import NEW, OLD, write
from programs import run
from runtime_files import install_containerd
from toolkit_files import write_debs

FIRST, SECOND, LATER = "1.17.9", "1.18.1", "1.99.0"
STATE, REASON = "nvidia.com/gpu-driver-upgrade-state", "gpuhost.io/upgrade-reason"
WISH = "/var/lib/gpuhost/cluster-desired.conf"


def policy(site, text):
    site.api.put(CONFIG_MAPS, "gpuhost-policy", {"data": {"policy.yaml": text}})


def cluster(site):
    return site.host.json("status")["cluster"]


def selected(site):
    """None while it may change."""
    if site.host.json("status")["state"] == "busy":
        return None
    return site.host.json("toolkit", "show", "--root", site.host.root)["selected"]


def toolkit(site, version):
    site.host.ctl("toolkit", "import", *write_debs(os.path.join(site.host.scratch, "debs" + version), version), check=0)


def operations(site):
    return [one["id"] for one in site.host.json("operation", "list")]


def call(site, method, signature, *arguments):
    return run(["busctl", f"--address={site.host.address}", "call", "org.gpuhost1", "/org/gpuhost1", "org.gpuhost1.Manager", method, signature, *arguments])


def check_toolkit(t, site):
    site.kubeconfig()
    site.api.add_node("gpu01")
    site.agent.start()
    site.eventually(t, lambda: site.api.conditions() == READY, "without a word of toolkits the host has its own")
    t.equal((selected(site), cluster(site)["desired"]), (SECOND, {}), "the newest in its store")
    policy(site, f"toolkit: {{version: v{FIRST}-ubuntu20.04}}\n")
    site.eventually(t, lambda: selected(site) == FIRST, "a toolkit that the policy names is selected")
    site.eventually(t, lambda: site.api.conditions() == READY, "and the host is ready")
    t.equal(cluster(site)["desired"], {"toolkit": FIRST}, "the daemon knows whose wish it is")
    shown = site.host.ctl("cat-config", f"--root={site.host.root}").stdout
    t.ok(WISH in shown and f"Version={FIRST}" in shown, "cat-config shows it", shown)
    t.ok(f"selects toolkit {FIRST}" in site.host.ctl("status").stdout, "and so does status")
    site.host.kill_daemon()
    site.host.start_daemon()
    site.host.settle()
    t.equal((cluster(site)["desired"], site.host.json("plan")["steps"]), ({"toolkit": FIRST}, []), "it outlives the daemon")


def check_missing(t, site):
    policy(site, f"toolkit: {{version: v{LATER}}}\n")
    site.eventually(t, lambda: site.api.conditions().get("RuntimeReady") == ("False", "NotFound"), "one that is not in the store is said on the Node")
    message = next(one["message"] for one in site.api.node()["status"]["conditions"] if one["type"].endswith("RuntimeReady"))
    t.ok(f"toolkit {LATER} is wanted by the cluster's policy" in message, "with whose wish it is", message)
    t.ok(message in site.host.ctl("cluster", "status", f"--root={site.host.root}").stdout, "and in cluster status")
    before = operations(site)
    time.sleep(4)
    t.equal((operations(site), selected(site)), (before, FIRST), "it is not tried again and again, and what stood before stays")
    toolkit(site, LATER)
    site.eventually(t, lambda: selected(site) == LATER, "once it is there it is selected")


def check_files(t, site):
    write(site.host.path("/etc/gpuhost/gpuhostd.conf.d/site.conf"), f"[Toolkit]\nVersion={FIRST}\n")
    site.host.ctl("reload", check=0)
    site.host.ctl("apply", check=0)
    t.equal(selected(site), FIRST, "an administrator's file has the last word")
    policy(site, f"toolkit: {{version: v{SECOND}}}\n")
    site.eventually(t, lambda: cluster(site)["desired"] == {"toolkit": SECOND}, "whatever the policy wants")
    t.equal(selected(site), FIRST, "and changes nothing")
    os.unlink(site.host.path("/etc/gpuhost/gpuhostd.conf.d/site.conf"))
    site.host.ctl("reload", check=0)
    plan = site.host.json("plan", "--only", "toolkit")
    t.ok(f"the cluster's policy wants {SECOND}" in plan["reasons"], "without it the policy counts, and plan says so", plan)


def check_disabled(t, site):
    for version in (LATER, SECOND):
        policy(site, f"toolkit: {{version: v{version}}}\n")
        site.eventually(t, lambda: selected(site) == version, "another version is followed")  # noqa: B023 pylint: disable=cell-var-from-loop
    policy(site, "toolkit: {version: latest}\n")
    site.eventually(t, lambda: "toolkit.version" in site.host.ctl("cluster", "policy", f"--root={site.host.root}").stdout.partition("FIELD")[0],
                    "what is no version is a problem of the policy")
    t.equal(cluster(site)["desired"], {"toolkit": SECOND}, "and changes nothing")
    policy(site, "toolkit: {enabled: false}\n")
    site.eventually(t, lambda: selected(site) == LATER, "with enabled: false hosts have what their own files say")
    t.equal(cluster(site)["desired"], {}, "as if nothing was said")
    policy(site, f"toolkit: {{version: v{SECOND}}}\n")
    site.eventually(t, lambda: selected(site) == SECOND, "until it is enabled again")
    site.api.drop(CONFIG_MAPS, "gpuhost-policy")
    site.eventually(t, lambda: selected(site) == LATER, "where the policy goes, so does its wish")
    t.equal((cluster(site)["desired"], os.path.exists(site.host.path(WISH))), ({}, False), "and its file")


def check_refused(t, site):
    for wish in ("", "[]", '{"toolkit": "auto"}', '{"driver": "latest"}', '{"Driver": {"Version": "1.1"}}', '{"toolkit": "1.1\\n[Driver]"}', "{" * 4000):
        asked = call(site, "SetDesiredState", "sa{sv}", wish, "0")
        t.ok(asked.returncode != 0 and cluster(site)["desired"] == {}, f"a wish that is none changes nothing: {wish[:30]}", asked.stdout, asked.stderr)
    asked = call(site, "RequestUpgrade", "s", NEW)
    t.ok(asked.returncode != 0 and "no driver of the cluster's" in asked.stderr, "nor is there anything to ask for without an offer", asked.stderr)
    asked = call(site, "SetDesiredState", "sa{sv}", f'{{"driver": "{NEW}"}}', "0")
    t.ok(asked.returncode == 0 and cluster(site)["desired"] == {}, "an offer goes with whoever made it", asked.stderr, cluster(site))


def label(site):
    return site.api.node()["metadata"]["labels"].get(STATE, "")


def check_request(t, site):
    host = site.host
    policy(site, f'driver: {{version: "{NEW}"}}\n')
    site.eventually(t, lambda: host.json("plan").get("upgrade") == NEW, "plan says that the cluster wants another driver here")
    t.equal((host.json("plan", "--only", "cdi").get("upgrade"), host.json("plan", "--only", "driver")["upgrade"]), (None, NEW), "where the driver is meant")
    t.ok(f"selects driver {NEW} for this host" in host.ctl("plan").stdout and f"selects driver {NEW} for this host" in host.ctl("status").stdout, "in words too", host.ctl("plan").stdout)
    dry = host.ctl("apply", "--dry-run")
    t.ok(dry.returncode == 0 and f"would upgrade this host to driver {NEW}" in dry.stderr and cluster(site)["upgrade_requested"] == "",
         "--dry-run asks for nothing", dry.stdout, dry.stderr)
    site.api.frozen = True
    asked = host.ctl("apply")
    t.ok(asked.returncode == 0 and f"upgrades this host to driver {NEW}" in asked.stderr and "cluster status" in asked.stderr, "apply asks gpuhost-cluster for it", asked.stderr)
    t.equal((cluster(site)["upgrade_requested"], host.loaded()["nvidia"]), (NEW, OLD), "and swaps nothing itself")
    host.kill_daemon()
    host.start_daemon()
    host.settle()
    t.equal(cluster(site)["upgrade_requested"], NEW, "that is remembered")
    site.api.frozen = False
    site.eventually(t, lambda: label(site) == "upgrade-required", "it goes the label's way, and waits for a grant")
    site.eventually(t, lambda: cluster(site)["upgrade_requested"] == "", "from then on the Node remembers it")
    t.ok(json.loads(site.api.node()["metadata"]["annotations"]["gpuhost.io/upgrade"]).get("requested"), "as somebody's request")
    site.eventually(t, lambda: host.json("plan").get("upgrade") is None, "and it is offered no more")
    t.equal(host.loaded()["nvidia"], OLD, "without a grant nothing is swapped")


def check_only_driver(t, site):
    host = site.host
    node = site.api.node()
    node["metadata"]["labels"].pop(STATE)
    node["metadata"]["annotations"] = {}
    site.api.put(NODES, "gpu01", node)
    site.eventually(t, lambda: host.json("plan").get("upgrade") == NEW, "where somebody takes the label off it is offered again")
    asked = host.ctl("apply", "--only", "driver", "--json")
    t.equal((asked.returncode, json.loads(asked.stdout)), (0, {"id": 0}), "--only driver asks for it too")
    site.eventually(t, lambda: label(site) == "upgrade-required", "and has its way")
    site.agent.stop()
    site.eventually(t, lambda: cluster(site)["desired"] == {}, "without gpuhost-cluster there is no offer")
    asked = host.ctl("apply")
    t.ok(asked.returncode == 0 and "gpuhost-cluster" not in asked.stderr and "othing to do" in asked.stdout, "and apply is as ever", asked.stdout, asked.stderr)


def check_leave(t, site):
    write(site.host.path(WISH), "[Toolkit]\nVersion=off\n")
    os.unlink(site.host.path("/etc/gpuhost/cluster/kubeconfig"))
    site.host.ctl("cluster", "leave", f"--root={site.host.root}", check=0)
    site.host.ctl("reload", check=0)
    t.equal((os.path.exists(site.host.path(WISH)), cluster(site)["desired"]), (False, {}), "a host that leaves the cluster has no wish of it any more")


def main():
    t = tap.Tap()
    site = Site(prepared=install_containerd)
    try:
        for version in (FIRST, SECOND):
            toolkit(site, version)
        site.host.ctl("apply", check=0)
        for check in (check_toolkit, check_missing, check_files, check_disabled, check_refused, check_request, check_only_driver, check_leave):
            check(t, site)
        if t.failed:
            print("\n".join("# " + line for line in site.agent.said().splitlines()[-30:] + site.host.messages().splitlines()[-30:]))
    finally:
        site.close()
    t.done()


main()
