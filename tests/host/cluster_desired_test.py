# SPDX-License-Identifier: Apache-2.0
"""The cluster policy's toolkit version, which the host follows, and its driver, which apply requests."""
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
DESIRED = "/var/lib/gpuhost/cluster-desired.conf"


def policy(site, text):
    site.api.put(CONFIG_MAPS, "gpuhost-policy", {"data": {"policy.yaml": text}})


def cluster(site):
    return site.host.json("status")["cluster"]


def selected(site):
    """Returns the selected toolkit, or None while an operation runs."""
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
    site.eventually(t, lambda: site.api.conditions() == READY, "the host is ready without a toolkit policy")
    t.equal((selected(site), cluster(site)["desired"]), (SECOND, {}),
            "without a policy the newest stored toolkit is selected")
    policy(site, f"toolkit: {{version: v{FIRST}-ubuntu20.04}}\n")
    site.eventually(t, lambda: selected(site) == FIRST, "the policy's toolkit is selected")
    site.eventually(t, lambda: site.api.conditions() == READY, "the host is ready with the policy's toolkit")
    t.equal(cluster(site)["desired"], {"toolkit": FIRST}, "status --json has the policy's toolkit as desired")
    shown = site.host.ctl("config", "cat", f"--root={site.host.root}").stdout
    t.ok(DESIRED in shown and f"Version={FIRST}" in shown, "config cat prints the policy's toolkit", shown)
    t.ok(f"selects toolkit {FIRST}" in site.host.ctl("status").stdout, "status prints the policy's toolkit")
    site.host.kill_daemon()
    site.host.start_daemon()
    site.host.settle()
    t.equal((cluster(site)["desired"], site.host.plan()["steps"]), ({"toolkit": FIRST}, []),
            "the desired toolkit persists across a daemon restart")


def check_missing(t, site):
    policy(site, f"toolkit: {{version: v{LATER}}}\n")
    site.eventually(t, lambda: site.api.conditions().get("RuntimeReady") == ("False", "NotFound"), "a toolkit not in the store sets RuntimeReady=False")
    message = next(one["message"] for one in site.api.node()["status"]["conditions"] if one["type"].endswith("RuntimeReady"))
    t.ok(f"toolkit {LATER} is required by the cluster's policy" in message,
         "the condition names the policy's toolkit", message)
    t.ok(message in site.host.ctl("cluster", "status", f"--root={site.host.root}").stdout,
         "cluster status prints the condition's message")
    before = operations(site)
    time.sleep(4)
    t.equal((operations(site), selected(site)), (before, FIRST),
            "a missing toolkit starts no operation and changes nothing")
    toolkit(site, LATER)
    site.eventually(t, lambda: selected(site) == LATER, "the policy's toolkit is selected after its import")


def check_files(t, site):
    write(site.host.path("/etc/gpuhost/gpuhostd.conf.d/site.conf"), f"[Toolkit]\nVersion={FIRST}\n")
    site.host.ctl("reload", check=0)
    site.host.ctl("apply", check=0)
    t.equal(selected(site), FIRST, "Version= in a local file overrides the policy")
    policy(site, f"toolkit: {{version: v{SECOND}}}\n")
    site.eventually(t, lambda: cluster(site)["desired"] == {"toolkit": SECOND}, "a changed policy becomes desired despite a local file")
    t.equal(selected(site), FIRST, "a changed policy does not override a local file")
    os.unlink(site.host.path("/etc/gpuhost/gpuhostd.conf.d/site.conf"))
    site.host.ctl("reload", check=0)
    plan = site.host.plan("--only", "toolkit")
    t.ok(f"the cluster's policy requires {SECOND}" in plan["reasons"],
         "plan follows the policy after the local file is removed", plan)


def check_disabled(t, site):
    for version in (LATER, SECOND):
        policy(site, f"toolkit: {{version: v{version}}}\n")
        site.eventually(t, lambda: selected(site) == version, f"a change of the policy to {version} is followed")  # noqa: B023 pylint: disable=cell-var-from-loop
    policy(site, "toolkit: {version: latest}\n")
    site.eventually(t, lambda: "toolkit.version" in site.host.ctl("cluster", "policy", f"--root={site.host.root}").stdout.partition("FIELD")[0],
                    "cluster policy reports an invalid version")
    t.ok(site.host.json("cluster", "policy", f"--root={site.host.root}")["policy"]["problems"], "cluster policy --json has the problem")
    t.equal(cluster(site)["desired"], {"toolkit": SECOND},
            "an invalid version leaves the desired toolkit unchanged")
    policy(site, "toolkit: {enabled: false}\n")
    site.eventually(t, lambda: selected(site) == LATER, "'enabled: false' restores the local choice of toolkit")
    t.equal(cluster(site)["desired"], {}, "'enabled: false' clears the desired state")
    policy(site, f"toolkit: {{version: v{SECOND}}}\n")
    site.eventually(t, lambda: selected(site) == SECOND, "the policy's toolkit is selected after enabling again")
    site.api.drop(CONFIG_MAPS, "gpuhost-policy")
    site.eventually(t, lambda: selected(site) == LATER, "deleting the policy restores the local choice")
    t.equal((cluster(site)["desired"], os.path.exists(site.host.path(DESIRED))), ({}, False),
            "deleting the policy removes the desired state's file")


def check_refused(t, site):
    for wish in ("", "[]", '{"toolkit": "auto"}', '{"driver": "latest"}', '{"Driver": {"Version": "1.1"}}', '{"toolkit": "1.1\\n[Driver]"}', "{" * 4000):
        asked = call(site, "SetDesiredState", "sa{sv}", wish, "0")
        t.ok(asked.returncode != 0 and cluster(site)["desired"] == {},
             f"SetDesiredState refuses {wish[:30] or 'an empty string'}", asked.stdout, asked.stderr)
    asked = call(site, "RequestUpgrade", "s", NEW)
    t.ok(asked.returncode != 0 and "no driver version from the cluster" in asked.stderr,
         "RequestUpgrade without a desired driver is refused", asked.stderr)
    asked = call(site, "SetDesiredState", "sa{sv}", f'{{"driver": "{NEW}"}}', "0")
    t.ok(asked.returncode == 0 and cluster(site)["desired"] == {},
         "the desired driver is cleared when its caller disconnects", asked.stderr, cluster(site))


def label(site):
    return site.api.node()["metadata"]["labels"].get(STATE, "")


def check_request(t, site):
    host = site.host
    policy(site, f'driver: {{version: "{NEW}"}}\n')
    site.eventually(t, lambda: host.plan().get("upgrade") == NEW, "plan reports the policy's driver as upgrade")
    t.equal((host.plan("--only", "cdi").get("upgrade"), host.plan("--only", "driver")["upgrade"]), (None, NEW),
            "only plans with the driver have the upgrade")
    t.ok(f"selects driver {NEW} for this host" in host.ctl("apply", "--dry-run").stdout and f"selects driver {NEW} for this host" in host.ctl("status").stdout,
         "apply --dry-run and status print the policy's driver", host.ctl("apply", "--dry-run").stdout)
    dry = host.ctl("apply", "--dry-run")
    t.ok(dry.returncode == 0 and "apply requests the upgrade" in dry.stdout and cluster(site)["upgrade_requested"] == "",
         "apply --dry-run requests no upgrade", dry.stdout, dry.stderr)
    site.api.frozen = True
    asked = host.ctl("apply")
    t.ok(asked.returncode == 0 and f"upgrades this host to driver {NEW}" in asked.stderr and "cluster status" in asked.stderr,
         "apply requests the upgrade from gpuhost-cluster", asked.stderr)
    t.equal((cluster(site)["upgrade_requested"], host.loaded()["nvidia"]), (NEW, OLD),
            "apply does not swap to the policy's driver")
    host.kill_daemon()
    host.start_daemon()
    host.settle()
    t.equal(cluster(site)["upgrade_requested"], NEW, "the requested upgrade persists across a daemon restart")
    site.api.frozen = False
    site.eventually(t, lambda: label(site) == "upgrade-required", "a requested upgrade sets the label upgrade-required")
    site.eventually(t, lambda: cluster(site)["upgrade_requested"] == "", "the daemon's request is cleared after the Node has it")
    t.ok(json.loads(site.api.node()["metadata"]["annotations"]["gpuhost.io/upgrade"]).get("requested"),
         "the Node's annotation marks the upgrade as requested")
    site.eventually(t, lambda: host.plan().get("upgrade") is None, "plan no longer reports a requested upgrade")
    t.equal(host.loaded()["nvidia"], OLD, "a requested upgrade without a grant swaps nothing")


def check_scheduled(t, site):
    """With autoUpgrade, gpuhost-cluster swaps the driver when the host's turn comes."""
    host = site.host
    policy(site, 'driver: {version: "999.1", upgradePolicy: {autoUpgrade: true}}\n')
    site.eventually(t, lambda: cluster(site)["desired"] == {"scheduled": "999.1"}, "status --json has the policy's driver as scheduled")
    asked = host.ctl("upgrade")
    t.ok(asked.returncode != 0 and "driver 999.1 is not in the store" in asked.stderr and host.loaded()["nvidia"] == OLD,
         "upgrade names the policy's driver, which the store lacks", asked.stderr)
    policy(site, f'driver: {{version: "{NEW}", upgradePolicy: {{autoUpgrade: true}}}}\n')
    site.eventually(t, lambda: cluster(site)["desired"] == {"scheduled": NEW}, "another policy schedules another driver")
    asked = host.ctl("upgrade", "--dry-run")
    t.ok(asked.returncode == 0 and f"the upgrade to driver {NEW} by gpuhost-cluster: gpuhost-cluster checks it" in asked.stdout,
         "upgrade --dry-run leaves the swap to gpuhost-cluster", asked.stdout, asked.stderr)
    asked = host.ctl("upgrade")
    t.ok(f"upgrades this host to driver {NEW} when its turn comes" in asked.stderr and host.loaded()["nvidia"] == OLD,
         "upgrade leaves the swap to gpuhost-cluster", asked.stdout, asked.stderr)
    asked = host.ctl("upgrade", OLD)
    t.ok(asked.returncode != 0 and f"selects driver {NEW} for this host, not {OLD}" in asked.stderr, "upgrade refuses another version", asked.stderr)
    node = site.api.node()
    node["metadata"]["labels"].pop(STATE, None)
    node["metadata"]["annotations"] = {}
    site.api.put(NODES, "gpu01", node)


def check_only_driver(t, site):
    host = site.host
    node = site.api.node()
    node["metadata"]["labels"].pop(STATE)
    node["metadata"]["annotations"] = {}
    site.api.put(NODES, "gpu01", node)
    site.eventually(t, lambda: host.plan().get("upgrade") == NEW, "removing the label makes plan report the upgrade again")
    asked = host.ctl("apply", "--only", "driver", "--json")
    t.equal((asked.returncode, json.loads(asked.stdout)), (0, {"id": 0}),
            "apply --only=driver requests the upgrade")
    site.eventually(t, lambda: label(site) == "upgrade-required", "apply --only=driver sets the label upgrade-required")
    site.agent.stop()
    site.eventually(t, lambda: cluster(site)["desired"] == {}, "stopping gpuhost-cluster clears the desired state")
    asked = host.ctl("apply")
    t.ok(asked.returncode == 0 and "gpuhost-cluster" not in asked.stderr and "othing to do" in asked.stdout,
         "apply without gpuhost-cluster requests no upgrade", asked.stdout, asked.stderr)


def check_leave(t, site):
    write(site.host.path(DESIRED), "[Toolkit]\nVersion=off\n")
    os.unlink(site.host.path("/etc/gpuhost/cluster/kubeconfig"))
    site.host.ctl("cluster", "leave", f"--root={site.host.root}", check=0)
    site.host.ctl("reload", check=0)
    t.equal((os.path.exists(site.host.path(DESIRED)), cluster(site)["desired"]), (False, {}),
            "cluster leave removes the desired state")


def main():
    t = tap.Tap()
    site = Site(prepared=install_containerd)
    try:
        for version in (FIRST, SECOND):
            toolkit(site, version)
        site.host.ctl("apply", check=0)
        for check in (check_toolkit, check_missing, check_files, check_disabled, check_refused, check_scheduled, check_request, check_only_driver, check_leave):
            check(t, site)
        if t.failed:
            print("\n".join("# " + line for line in site.agent.said().splitlines()[-30:] + site.host.messages().splitlines()[-30:]))
    finally:
        site.close()
    t.done()


main()
