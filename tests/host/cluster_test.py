# SPDX-License-Identifier: Apache-2.0
"""gpuhost-cluster with an API server that fails in many ways. Faults of the connection must not change what
it writes to the Node, or make it send too many requests."""
import http.client
import json
import os
import re
import signal
import socket
import ssl
import textwrap
import time

import tap
from cluster_site import READY, Site
from fake_api import CONFIG_MAPS, EVENTS, LEASES, NODES, REQUESTS, FakeApi, Prometheus, Proxy
from fake_host import NEW, OLD, read, write
from programs import environment, run

NOT_FOUND, ALREADY, DENIED = 4, 5, 12
TAINT = "gpuhost.io/not-ready"


def check_ready(t, site):
    site.kubeconfig()
    site.api.add_node("gpu01", taints=["other", TAINT])
    site.agent.start()
    site.eventually(t, lambda: site.api.conditions() == READY, "the Node of a converged host has all conditions True")
    site.eventually(t, lambda: site.api.taints() == ["other"], "only the startup taint of a ready host is removed")
    t.equal(site.api.node()["metadata"]["labels"].get("nvidia.com/gpu.present"), "true",
            "the Node gets the label nvidia.com/gpu.present")
    t.equal({call[3] for call in site.api.calls}, {"gpuhost:host:gpu01"},
            "all requests use the host's own certificate")
    before = len(site.api.calls)
    site.api.change(podCIDR="10.0.0.0/24")
    time.sleep(3)
    t.equal(len(site.api.calls), before, "a foreign change of the Node causes no request")
    shown = site.host.ctl("cluster", "status", f"--root={site.host.root}", check=0).stdout
    t.ok("gpu01, watched" in shown and "serves 2 GPUs" in shown and "not on the Node yet" not in shown,
         "cluster status prints Node and conditions", shown)
    t.equal(site.host.json("cluster", "status", f"--root={site.host.root}")["state"], "connected", "cluster status --json has the state")


def check_swap(t, site):
    write(site.host.path("/etc/gpuhost/gpuhostd.conf"), "")
    site.host.ctl("driver", "swap", NEW, check=0)
    message = lambda: next((one["message"] for one in site.api.node()["status"]["conditions"] if one["type"] == "gpuhost.io/DriverReady"), "")  # noqa: E731
    site.eventually(t, lambda: NEW in message(), "a swap updates the Node's DriverReady condition")


def check_daemon(t, site):
    site.host.kill_daemon()
    site.eventually(t, lambda: {status for status, _ in site.api.conditions().values()} == {"Unknown"}, "conditions are Unknown without gpuhostd")
    site.host.start_daemon()
    site.host.settle()
    site.eventually(t, lambda: site.api.conditions() == READY, "conditions recover when gpuhostd starts")
    site.host.kill_daemon()
    site.host.start_daemon()
    site.host.settle()
    time.sleep(2)
    t.equal(site.api.conditions(), READY, "a restart of gpuhostd leaves the conditions unchanged")


def check_podman(t, site):
    """Podman is the only runtime of the host. A kubelet can't use it."""
    def inspect():
        for component in "runtime", "cdi":  # the specifications depend on the runtimes' versions
            site.host.ctl("apply", "--only", component, check=0)

    podman = site.host.path("/usr/bin/podman")
    write(podman, "#!/bin/sh\necho podman version 5.2.0\n")
    os.chmod(podman, 0o755)
    inspect()
    site.eventually(t, lambda: site.api.conditions()["RuntimeReady"] == ("False", "NoRuntime"), "podman alone sets RuntimeReady=False")
    os.unlink(podman)
    inspect()
    site.eventually(t, lambda: site.api.conditions() == READY, "conditions recover when podman is removed")


def check_connection(t, site):
    api = site.api
    watches = api.watches()
    api.cut()
    site.eventually(t, lambda: api.watches() > watches, "a broken watch is opened again")
    t.equal(api.count("GET", f"{NODES}?limit=100&fieldSelector"), 1, "a broken watch resumes without a list")
    api.forget()
    api.cut()
    site.eventually(t, lambda: api.count("GET", f"{NODES}?limit=100&fieldSelector") == 2, "status 410 for a watch causes a new list")
    api.stop()
    site.eventually(t, lambda: site.agent.status().get("state") == "disconnected", "an unreachable server makes the state disconnected")
    shown = site.host.ctl("cluster", "status", f"--root={site.host.root}", check=0).stdout
    t.ok("unreachable" in shown and "Problem" in shown,
         "cluster status reports an unreachable server", shown)
    t.ok(site.host.json("cluster", "status", f"--root={site.host.root}")["error"], "cluster status --json has the error")
    api.change(taints=[{"key": TAINT, "effect": "NoSchedule"}])
    site.eventually(t, lambda: "can't connect: Connection refused" in site.agent.said(), "the log gives the reason of a failed connection")
    time.sleep(3)
    t.equal(site.agent.said().count("can't connect: Connection refused"), 1,
            "repeated connection failures are logged once")
    api.start()
    site.eventually(t, lambda: api.taints() == [] and site.agent.status().get("state") == "connected", "changes during a disconnection are handled after reconnecting", 45)


def check_refusals(t, site):
    api = site.api
    for status, headers in ((500, {}), (429, {"Retry_After": 2}), (503, {}), (409, {})):
        api.fail(status, "PATCH", **headers)
        before, began = api.count("PATCH"), time.monotonic()
        api.change(taints=[{"key": TAINT, "effect": "NoSchedule"}])
        site.eventually(t, lambda: api.taints() == [], f"a write is repeated after status {status}")
        took = time.monotonic() - began
        t.equal(api.count("PATCH") - before, 2, f"a write after status {status} is repeated once")
        t.ok(status != 429 or took >= 2, f"the write after status {status} respects Retry-After", took)
    api.fail(403, "PATCH")
    api.change(taints=[{"key": TAINT, "effect": "NoSchedule"}])
    site.eventually(t, lambda: "can't write node" in site.agent.said(), "a forbidden write is logged")
    site.eventually(t, lambda: api.taints() == [], "a forbidden write is repeated later")
    site.eventually(t, lambda: site.agent.status().get("error") is None, "a successful write clears the error in the status")
    for status in (500, 429):
        api.fail(status, "GET", f"{NODES}?watch=1")
        api.cut()
        before = api.watches()
        site.eventually(t, lambda: api.watches() >= before + 2, f"a watch is opened again after status {status}")


OFFER, ANSWER = "/run/gpuhost/devices/offer.json", "/run/gpuhost-devices/answer.json"
PRODUCT, UNHEALTHY = "nvidia.com/gpu.product", "gpuhost.io/gpu-unhealthy"
GPUS = [{"uuid": f"GPU-{number}", "address": f"0000:0{number}:00.0", "minor": number, "model": "NVIDIA H100 80GB HBM3", "pci_class": "0x030200"} for number in (1, 2)]


def replace(host, path, document):
    """Replaces a file as gpuhostd and gpuhost-devices do."""
    os.makedirs(os.path.dirname(host.path(path)), exist_ok=True)
    write(host.path(path) + ".new", json.dumps(document))
    os.rename(host.path(path) + ".new", host.path(path))


def check_devices(t, site):
    """An offer and its answer, as gpuhostd and gpuhost-devices write them."""
    api, host = site.api, site.host
    labels = lambda: api.node()["metadata"]["labels"]  # noqa: E731
    health = lambda: api.conditions().get("GPUsHealthy")  # noqa: E731
    offered = {"version": 1, "id": "1", "resource": "nvidia.com/gpu", "mig_strategy": "none", "withdrawn": "", "gpus": GPUS,
               "host": {"driver": "550.163.01", "cuda_version": 12040, "machine": "DGXH100"}, "labels": "node", "taint_unhealthy": True}
    replace(host, OFFER, offered)
    site.eventually(t, lambda: labels().get("nvidia.com/gpu.count") == "2", "an offer labels the Node", 60)
    t.equal((labels()[PRODUCT], labels()["nvidia.com/cuda.driver-version.full"], labels()["nvidia.com/gpu.machine"]),
            ("NVIDIA-H100-80GB-HBM3", "550.163.01", "DGXH100"), "labels describe GPUs, driver and machine")
    t.ok(PRODUCT in api.node()["metadata"]["annotations"]["gpuhost.io/gpu-labels"].split(","), "an annotation lists the labels")
    replace(host, ANSWER, {"id": "1", "resources": [], "health": []})
    site.eventually(t, lambda: health() == ("True", "Healthy"), "an answer makes the condition GPUsHealthy True", 60)
    before = len(api.calls)
    replace(host, OFFER, offered | {"id": "2"})
    time.sleep(2)
    t.equal(len(api.calls), before, "an equal offer causes no request")
    sick = {"uuid": "GPU-2", "state": "unhealthy", "recovery": "reboot", "reason": "Xid 79", "xid": 79, "since_us": 1}
    replace(host, ANSWER, {"id": "2", "resources": [], "health": [sick]})
    site.eventually(t, lambda: health() == ("False", "RebootRequired") and UNHEALTHY in api.taints(), "an unhealthy GPU changes condition and taint")
    replace(host, ANSWER, {"id": "2", "resources": [], "health": []})
    site.eventually(t, lambda: health() == ("True", "Healthy") and UNHEALTHY not in api.taints(), "a healthy GPU changes both back")
    site.eventually(t, lambda: [one["type"] for one in api.objects[EVENTS].values() if one["reason"] == "GPUHealth"] == ["Warning", "Normal"],
                    "both changes are events")
    replace(host, OFFER, offered | {"id": "3", "gpus": GPUS[:1], "withdrawn": "the driver is being replaced"})
    time.sleep(1)
    t.equal(labels()["nvidia.com/gpu.count"], "2", "withdrawn GPUs keep their labels")
    os.unlink(host.path(OFFER))
    site.eventually(t, lambda: PRODUCT not in labels() and health() is None, "without an offer labels and condition are removed")
    t.ok(labels()["nvidia.com/gpu.present"] == "true" and "gpuhost.io/gpu-labels" not in api.node()["metadata"]["annotations"],
         "other labels stay", labels())
    os.unlink(host.path(ANSWER))


def check_conflict(t, site):
    """Another writer changes the Node between gpuhost-cluster's read and its write."""
    api = site.api
    api.frozen = True
    api.change(taints=[{"key": TAINT, "effect": "NoSchedule"}])
    time.sleep(1)
    api.change(unschedulable=True, taints=[{"key": TAINT, "effect": "NoSchedule"}, {"key": "new", "effect": "NoExecute"}])
    api.frozen = False
    site.eventually(t, lambda: api.taints() == ["new"], "a write conflict keeps a taint of another writer")
    t.ok(api.node()["spec"].get("unschedulable"), "a write conflict keeps a cordon of another writer")
    api.change(taints=[])


def check_node(t, site):
    api = site.api
    api.drop(NODES, "gpu01")
    site.eventually(t, lambda: site.agent.status().get("state") == "no-node", "a deleted Node makes the state no-node")
    before = api.count("PATCH")
    time.sleep(1)
    t.equal(api.count("PATCH"), before, "a deleted Node is not written")
    api.add_node("gpu02", taints=[TAINT])
    api.add_node("gpu01", taints=[TAINT])
    site.eventually(t, lambda: api.conditions() == READY and api.taints() == [], "a recreated Node gets all conditions")
    t.equal(api.conditions("gpu02"), {}, "another host's Node is not written")


def check_settings(t, site):
    conf = site.host.path("/etc/gpuhost/gpuhostd.conf")
    write(conf, "[Cluster]\nNodeName=gpu02\nStartupTaints=readiness.k8s.io/gpu\nTaintWhenNotReady=yes\nReadyWhen=driver\n")
    time.sleep(1)
    t.equal(site.api.conditions("gpu02"), {}, "a changed file has no effect before the reload")
    t.equal(site.host.ctl("reload").returncode, 0, "reload accepts the section [Cluster]")
    site.eventually(t, lambda: site.api.conditions("gpu02") == READY, "NodeName= selects the Node after the reload")
    t.equal(site.api.taints("gpu02"), [TAINT], "a taint that StartupTaints= omits is kept")
    write(conf, read(conf).replace("TaintWhenNotReady=yes", "TaintWhenNotReady=perhaps") + "Candidate=yes\n")
    t.equal(site.host.ctl("reload", check=None).returncode, 9, "reload reports an invalid value in [Cluster]")
    site.eventually(t, lambda: "leader" in site.agent.status(), "Candidate= takes effect beside an invalid value")
    site.host.kill_daemon()
    site.eventually(t, lambda: site.api.taints("gpu02") == [TAINT, "readiness.k8s.io/gpu"], "TaintWhenNotReady= keeps its value when invalid")
    site.host.start_daemon()
    site.eventually(t, lambda: site.api.taints("gpu02") == [TAINT], "TaintWhenNotReady= removes the taint of a ready host")
    t.ok(site.agent.process.poll() is None, "gpuhost-cluster runs on after a reload")
    site.agent.stop()
    os.unlink(site.host.path("/etc/gpuhost/gpuhostd.conf"))


def expiry(path):
    """Returns when the certificate in this file expires, in seconds since 1970."""
    return ssl.cert_time_to_seconds(run(["openssl", "x509", "-noout", "-enddate", "-in", path]).stdout.strip().removeprefix("notAfter="))


def check_rotation(t, site):
    site.agent.start()
    site.eventually(t, lambda: site.agent.status().get("state") == "connected", "gpuhost-cluster connects before the rotation")
    keys = site.api.authority.keys("gpuhost:host:gpu01 again", purposes="clientAuth")
    for name in ("key.pem", "cert.pem"):
        os.replace(os.path.join(keys, name), site.host.path(f"/etc/gpuhost/cluster/{name}"))
    site.eventually(t, lambda: any(call[3].endswith("again") for call in site.api.calls), "a renewed certificate file is used without a restart", 60)
    until = expiry(site.host.path("/etc/gpuhost/cluster/cert.pem"))
    t.ok(site.agent.status().get("certificate_until") == until and
         f'\ngpuhost_certificate_expiry_timestamp_seconds{{use="cluster"}} {until}\n' in read(site.host.path("/run/gpuhost-cluster/metrics.prom")),
         "status and metrics have the end of the renewed certificate", until, site.agent.status())
    write(site.host.path("/etc/gpuhost/cluster/cert.pem"), "no certificate\n")
    site.eventually(t, lambda: "keeping the previous credentials" in site.agent.said(), "an invalid certificate file is logged", 60)
    t.equal(site.agent.status().get("state"), "connected", "an invalid certificate file keeps the connection")
    site.agent.stop()
    site.kubeconfig("gpuhost:host:gpu01 anew")


def scrape(port, method="GET", path="/metrics"):
    """Returns (status, headers, text) of a request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    except OSError:
        return 0, {}, ""
    finally:
        connection.close()


def check_metrics(t, site):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        write(site.host.path("/etc/gpuhost/gpuhostd.conf"), f"[Cluster]\nMetricsListen=127.0.0.1:{port}\n")
        os.unlink(site.host.path("/run/gpuhost-cluster/status.json"))
        site.agent.start()
        site.eventually(t, lambda: site.agent.status().get("state") == "connected", "gpuhost-cluster connects although its metrics port is in use")
        t.ok(f"can't serve metrics at 127.0.0.1:{port}: Address already in use" in site.agent.said(),
             "a metrics port in use is logged", site.agent.said())
    site.eventually(t, lambda: scrape(port)[0] == 200, "the metrics port is opened when it is free", 45)
    status, headers, text = scrape(port, path="/metrics?name[]=x")
    t.equal((status, headers.get("Content-Type")), (200, "text/plain; version=0.0.4; charset=utf-8"),
            "GET /metrics returns the Prometheus text format")
    t.equal(text, read(site.host.path("/run/gpuhost-cluster/metrics.prom")),
            "GET /metrics returns the content of metrics.prom")
    t.ok("\ngpuhost_connected 1\n" in text, "the metrics have gpuhost_connected 1", text)
    status, headers, head = scrape(port, "HEAD")
    t.equal((status, int(headers.get("Content-Length", 0)), head), (200, len(text.encode()), ""),
            "HEAD /metrics returns only the length")
    t.equal([scrape(port, path=path)[0] for path in ("/", "/metrics/", "/metrics.prom", "/../etc/passwd")], [404] * 4,
            "GET of other paths returns 404")
    status, headers, _ = scrape(port, "POST")
    t.equal((status, headers.get("Allow")), (405, "GET, HEAD"), "POST returns 405 with the allowed methods")
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    try:
        for one in slow:
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n")
        began, busy = time.monotonic(), site.agent.seconds()
        site.api.change(taints=[{"key": TAINT, "effect": "NoSchedule"}])
        site.eventually(t, lambda: site.api.taints() == [], "slow metrics clients do not delay the Node's updates", 5)
        slow[0].settimeout(20)
        t.equal(slow[0].recv(1), b"", "a slow metrics client is disconnected")
        t.ok(8 < time.monotonic() - began < 15,
             "a slow metrics client is disconnected after ten seconds", time.monotonic() - began)
        t.ok(site.agent.seconds() - busy < 2,
             "slow metrics clients cost little CPU time", site.agent.seconds() - busy)
    finally:
        for one in slow:
            one.close()
    site.eventually(t, lambda: scrape(port)[0] == 200, "metrics are served after slow clients disconnect")
    site.agent.stop()
    for address in ("localhost:9835", "127.0.0.1", "[::1:9835", "::1:9835", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:http", ":9835"):
        said = len(site.agent.said())
        write(site.host.path("/etc/gpuhost/gpuhostd.conf"), f"[Cluster]\nMetricsListen={address}\n")
        site.agent.start()
        site.eventually(t, lambda: f"'{address}' is not a valid address to listen on" in site.agent.said()[said:], f"MetricsListen={address} is logged as invalid")
        site.agent.stop()
    write(site.host.path("/etc/gpuhost/gpuhostd.conf"), f"[Cluster]\nMetricsListen=[::]:{port}\n")
    site.agent.start()
    site.eventually(t, lambda: scrape(port)[0] == 200, "MetricsListen=[::] includes IPv4 addresses")
    site.agent.stop()
    os.unlink(site.host.path("/etc/gpuhost/gpuhostd.conf"))


def check_example(t, site):
    """The policy of docs/examples, which administrators copy."""
    text = textwrap.dedent(read(os.path.join(tap.TOP_SRCDIR, "docs/examples/kubernetes/policy.yaml")).partition("policy.yaml: |\n")[2])
    policy = lambda: site.host.json("cluster", "policy", f"--root={site.host.root}")["policy"] or {"fields": [], "problems": []}  # noqa: E731
    site.agent.start()
    site.eventually(t, lambda: site.agent.status().get("state") == "connected", "gpuhost-cluster connects before the example policy")
    site.api.put(CONFIG_MAPS, "gpuhost-policy", {"data": {"policy.yaml": text}})
    site.eventually(t, lambda: any(one["path"] == "rollout.gates" and one["source"] != "default" for one in policy()["fields"]), "gpuhost-cluster reads the example policy")
    t.equal((policy()["problems"], policy()["ignored"]), ([], []), "the example policy has no mistakes and no ignored fields")
    site.api.put(CONFIG_MAPS, "gpuhost-policy", {"data": {"policy.yaml": text.replace("soakSeconds", "soakTime")}})
    site.eventually(t, lambda: policy()["problems"], "a mistake in the example policy is a problem")
    site.agent.stop()
    site.api.drop(CONFIG_MAPS, "gpuhost-policy")
    site.api.drop(NODES, "gpu01")
    site.api.add_node("gpu01")


def check_gate(t, site):
    """The leader, this host, queries a Prometheus gate before it grants the upgrade."""
    api, host = site.api, site.host
    prometheus = Prometheus(api.keys, "secret")
    prometheus.firing = ["NodeDown"]
    gate = {"name": "quiet", "url": prometheus.url, "alerts": [".*"], "ignoreAlerts": ["Watchdog"], "intervalSeconds": 1,
            "caFile": "ca.pem", "tokenFile": "token"}

    def wants(version, **more):
        api.put(CONFIG_MAPS, "gpuhost-policy", {"data": {"policy.yaml": json.dumps({
            "driver": {"version": version, "upgradePolicy": {"autoUpgrade": True, "maxUnavailable": "100%"}}, "rollout": {"gates": [gate | more]}})}})

    reason = lambda: api.annotations().get("gpuhost.io/upgrade-reason", "")  # noqa: E731
    write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Cluster]\nCandidate=yes\n")
    wants(NEW)
    site.agent.start()
    site.eventually(t, lambda: site.agent.status().get("leader", {}).get("leads"), "a candidate leads")
    site.eventually(t, lambda: json.loads(api.annotations().get("gpuhost.io/upgrade", "{}")).get("state") == "upgrade-done", "the host's upgrade is done with the loaded driver")
    time.sleep(2)
    t.equal(prometheus.asked, [], "no gate is queried without a pending upgrade")
    wants(OLD)
    site.eventually(t, lambda: "kubeconfig of the kubelet: not found" in reason(), "a missing kubeconfig of the kubelet precedes the gates")
    site.kubelet()
    site.eventually(t, lambda: "gates/ca.pem" in reason(), "a missing CA file of a gate is the Node's reason")
    t.equal(prometheus.asked, [], "a gate without its CA file is never queried")
    os.makedirs(host.path("/etc/gpuhost/cluster/gates"))
    write(host.path("/etc/gpuhost/cluster/gates/ca.pem"), read(os.path.join(api.authority.path, "ca.pem")))
    write(host.path("/etc/gpuhost/cluster/gates/token"), "wrong\n")
    site.eventually(t, lambda: reason() == f"gate 'quiet': can't query {prometheus.url}: answered 401", "a wrong token is the Node's reason")
    write(host.path("/etc/gpuhost/cluster/gates/token"), "secret\n")
    shut = "gate 'quiet': alert 'NodeDown' is firing"
    site.eventually(t, lambda: reason() == shut, "a firing alert blocks the upgrade and is named")
    t.equal(prometheus.asked[-1], 'ALERTS{alertstate="firing",alertname=~"(?:.*)",alertname!~"(?:Watchdog)"}',
            "a gate queries the series ALERTS")
    before, asked, version = api.count("PATCH"), len(prometheus.asked), api.node()["metadata"]["resourceVersion"]
    prometheus.firing = ["Another", "NodeDown"]
    time.sleep(4)
    t.ok(2 <= len(prometheus.asked) - asked <= 5,
         "a gate is queried once per interval", len(prometheus.asked) - asked)
    t.equal(api.node()["metadata"]["resourceVersion"], version,
            "an unchanged answer of a gate leaves the Node unchanged")
    t.ok(api.count("PATCH") - before <= 3,
         "an unchanged answer writes only the leader's Lease", api.count("PATCH") - before)
    prometheus.shutdown()
    prometheus.server_close()
    site.eventually(t, lambda: "Connection refused" in reason(), "an unreachable gate blocks the upgrade")
    t.ok("gpuhost-upgrade-gpu01" not in api.names(LEASES), "a blocked upgrade has no grant")
    prometheus = Prometheus()
    gate.update(url=prometheus.url)
    del gate["caFile"], gate["tokenFile"]
    wants(OLD)
    site.eventually(t, lambda: "gpuhost-upgrade-gpu01" in api.names(LEASES), "a gate without alerts permits the grant")
    site.eventually(t, lambda: api.node()["spec"].get("unschedulable"), "a granted upgrade cordons the Node")
    prometheus.firing = ["NodeDown"]
    asked = len(prometheus.asked)
    time.sleep(2)
    t.equal((len(prometheus.asked) - asked, "gpuhost-upgrade-gpu01" in api.names(LEASES)), (0, True),
            "a gate is not queried after the grant")
    site.agent.stop()
    prometheus.shutdown()
    api.drop(CONFIG_MAPS, "gpuhost-policy")
    for name in api.names(LEASES):
        api.drop(LEASES, name)
    api.drop(NODES, "gpu01")
    api.add_node("gpu01")
    os.unlink(host.path("/etc/gpuhost/gpuhostd.conf"))


def check_check(t, site):
    program = [os.path.join(tap.TOP_BUILDDIR, "gpuhost-cluster"), f"--root={site.host.root}", "--check"]
    site.host.ctl("cluster", "status", f"--root={site.host.root}")
    for text, status, words in (("", 0, "has node 'gpu01'"), ("gpu99", NOT_FOUND, "node 'gpu99' not found")):
        write(site.host.path("/etc/gpuhost/gpuhostd.conf"), f"[Cluster]\nNodeName={text}\n")
        asked = run(program)
        t.ok(asked.returncode == status and words in asked.stdout + asked.stderr, f"--check: {words}", asked.returncode, asked.stdout, asked.stderr)
    os.unlink(site.host.path("/etc/gpuhost/gpuhostd.conf"))
    config = site.host.path("/etc/gpuhost/cluster/kubeconfig")
    good = read(config)
    other = FakeApi(os.path.join(site.host.scratch, "other"))
    write(config, good.replace(site.api.url, other.url))
    asked = run(program)
    t.ok(asked.returncode == DENIED and "certificate" in asked.stderr,
         "--check refuses a server of another authority", asked.returncode, asked.stderr)
    other.stop()
    write(config, good.replace("127.0.0.1", "localhost"))
    asked = run(program)
    t.ok(asked.returncode == DENIED and "localhost" in asked.stderr,
         "--check refuses a certificate for another name", asked.returncode, asked.stderr)
    document = json.loads(good.replace("127.0.0.1", "localhost"))
    document["clusters"][0]["cluster"]["tls-server-name"] = "127.0.0.1"
    write(config, json.dumps(document))
    asked = run(program)
    t.ok(asked.returncode == 0,
         "tls-server-name sets the expected certificate name", asked.returncode, asked.stderr)
    proxy = Proxy()
    document = json.loads(good)
    document["clusters"][0]["cluster"]["proxy-url"] = proxy.url
    write(config, json.dumps(document))
    asked = run(program, env=environment(https_proxy="http://127.0.0.1:9", HTTPS_PROXY="http://127.0.0.1:9"))
    t.equal((asked.returncode, proxy.asked), (0, [site.api.url.removeprefix("https://")]),
            "proxy-url sends requests through the proxy")
    proxy.shutdown()
    write(config, good)
    asked = run(program, env=environment(https_proxy="http://127.0.0.1:9", HTTPS_PROXY="http://127.0.0.1:9", SSL_CERT_FILE="/dev/null"))
    t.equal(asked.returncode, 0, "environment variables for proxy and CA are ignored")
    write(config, good.replace(site.api.url, other.url))
    asked = run(program)
    t.ok(asked.returncode == 1 and "127.0.0.1" in asked.stderr,
         "--check fails for an unreachable server", asked.returncode, asked.stderr)
    write(config, good.replace("https://", "http://"))
    asked = run(program)
    t.ok(asked.returncode != 0 and "http" in asked.stderr,
         "--check refuses a server URL without TLS", asked.returncode, asked.stderr)
    os.unlink(config)
    asked = run(program)
    t.ok(asked.returncode == NOT_FOUND and "cluster join" in asked.stderr,
         "--check without a kubeconfig prints 'cluster join'", asked.returncode, asked.stderr)


def join(site, *more):
    token = os.path.join(site.host.scratch, "token")
    write(token, "abcdef.0123456789abcdef\n")
    return site.host.ctl("cluster", "join", f"{site.api.url}/", f"--ca={site.api.authority.path}/ca.pem", f"--token-file={token}",
                         f"--root={site.host.root}", *more)


def requests(site):
    return sorted(site.api.objects[REQUESTS])


def check_join(t, site):
    host, api = site.host, site.api
    for words, what in ((["cluster", "join", "http://a"], "not the URL"), (["cluster", "join", "https://a"], "--ca= is missing"),
                        (["cluster", "join", "https://a", "--ca=/dev/null"], "/dev/null")):
        asked = host.ctl(*words, f"--root={host.root}")
        t.ok(asked.returncode == 2 or "null" in asked.stderr,
             f"cluster join {' '.join(words[2:])} fails", asked.returncode, asked.stderr)
        t.ok(what in asked.stderr, f"cluster join {' '.join(words[2:])} reports {what}", asked.stderr)
    t.ok(not os.path.exists(host.path("/etc/gpuhost/cluster/bootstrap-kubeconfig")),
         "a refused cluster join writes nothing")
    asked = join(site)
    t.ok(asked.returncode == 0, "cluster join succeeds", asked.stderr)
    t.equal(os.stat(host.path("/etc/gpuhost/cluster/bootstrap-kubeconfig")).st_mode & 0o007, 0,
            "the bootstrap kubeconfig is not readable by others")
    api.faults += [("POST", REQUESTS, 401, {})] * 3
    site.agent.start()
    site.eventually(t, lambda: "rejects" in str(site.agent.status().get("error")), "the status reports a rejected token")
    shown = host.ctl("cluster", "status", f"--root={host.root}").stdout
    t.ok("kubeadm token create" in " ".join(shown.split()), "a rejected token has a hint how to make another", shown)
    t.ok(re.search(r"Retry: .* \d\d:\d\d:\d\d UTC", shown), "a failed request shows the time of the next", shown)
    t.ok("Request: not sent yet" in shown and "approval" not in shown, "a request that the API server lacks is not sent yet", shown)
    site.eventually(t, lambda: len(requests(site)) == 1, "gpuhost-cluster creates one certificate request")
    site.eventually(t, lambda: "waits for approval" in host.ctl("cluster", "status", f"--root={host.root}").stdout,
                    "a request that the API server has waits for approval")
    name, = requests(site)
    asked = api.objects[REQUESTS][name]["spec"]
    t.ok(name.startswith("gpuhost-gpu01-") and asked["signerName"] == "kubernetes.io/kube-apiserver-client",
         "the certificate request is named after the host", name)
    t.equal({call[3] for call in api.calls if REQUESTS in call[1]}, {"Bearer abcdef.0123456789abcdef"},
            "the certificate request uses the bootstrap token")
    for number in (signal.SIGKILL, signal.SIGTERM):
        site.agent.stop(number)
        site.agent.start()
        time.sleep(1)
    t.equal(requests(site), [name], "a restarted gpuhost-cluster keeps its certificate request")
    t.equal(site.agent.status().get("state"), "joining", "the state is joining until the request is approved")
    api.drop(REQUESTS, name)
    site.eventually(t, lambda: requests(site) == [name], "a deleted certificate request is created again")
    api.deny(name, "not this host")
    site.eventually(t, lambda: "not this host" in str(site.agent.status().get("error")), "the status reports a denied certificate request")
    site.agent.stop()
    site.agent.start()
    site.eventually(t, lambda: len(requests(site)) == 2, "a restart after a denial creates a new request")
    name, = set(requests(site)) - {name}
    before = len(api.calls)
    api.approve(name)
    site.eventually(t, lambda: site.agent.status().get("state") == "connected", "an approved request makes the state connected")
    t.equal({call[3] for call in api.calls[before:] if NODES in call[1]}, {"gpuhost:host:gpu01"},
            "the joined host uses its own certificate")
    identity = host.path("/var/lib/gpuhost/cluster/client.pem")
    t.equal((os.stat(identity).st_mode & 0o777, os.path.exists(host.path("/var/lib/gpuhost/cluster/pending-key.pem"))), (0o600, False),
            "the client key is private, the pending key removed")
    refused = join(site)
    t.ok(refused.returncode == ALREADY and "cluster leave" in refused.stderr,
         "a second cluster join is refused", refused.returncode, refused.stderr)


def check_renewal(t, site):
    """More than 90% of the certificate's validity has passed, so the next one is requested at once."""
    host, api = site.host, site.api
    site.agent.stop()
    identity = host.path("/var/lib/gpuhost/cluster/client.pem")
    old = read(identity)
    key = os.path.join(host.scratch, "own.key")
    write(key, old[:old.index("-----BEGIN CERTIFICATE")])
    subject = ["-subj", "/O=gpuhost:hosts/CN=gpuhost:host:gpu01"]
    run(["openssl", "req", "-new", "-key", key, *subject, "-out", key + ".csr"], check=True)
    stamp = lambda seconds: time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + seconds))  # noqa: E731
    write(key + ".cnf", f"[ca]\ndefault_ca=a\n[a]\ndatabase={key}.db\nnew_certs_dir={host.scratch}\nserial={key}.serial\ndefault_md=sha256\npolicy=p\n"
          "copy_extensions=none\n[p]\norganizationName=optional\ncommonName=supplied\n")
    write(key + ".db", "")
    write(key + ".serial", "77\n")
    run(["openssl", "ca", "-batch", "-notext", "-config", key + ".cnf", "-cert", "ca.pem", "-keyfile", "ca.key", "-in", key + ".csr", "-startdate", stamp(-86400), "-enddate",
         stamp(3600), "-out", key + ".pem"], cwd=api.authority.path, check=True)
    write(identity, read(key) + read(key + ".pem"))
    known = set(requests(site))
    site.agent.start()
    site.eventually(t, lambda: len(set(requests(site)) - known) == 1, "an expiring certificate causes a new request")
    name, = set(requests(site)) - known
    t.equal(api.calls[-1][3] if REQUESTS in api.calls[-1][1] else [call[3] for call in api.calls if call[0] == "POST"][-1], "gpuhost:host:gpu01",
            "the renewal request uses the current certificate")
    site.eventually(t, lambda: site.agent.status().get("state") == "connected", "the state stays connected during a renewal")
    api.approve(name)
    site.eventually(t, lambda: "loaded new credentials" in site.agent.said().split(name)[-1], "an approved renewal is used at once")
    t.ok(read(identity) not in (old, ""), "a renewal replaces key and certificate")
    site.agent.stop()


def check_leave(t, site):
    left = site.host.ctl("cluster", "leave", f"--root={site.host.root}")
    t.equal((left.returncode, os.listdir(site.host.path("/var/lib/gpuhost/cluster")), [name for name in os.listdir(site.host.path("/etc/gpuhost/cluster")) if "bootstrap" in name]), (0, [], []),
            "cluster leave removes all credentials")
    shown = site.host.ctl("cluster", "status", "--root=/nonexistent")
    t.ok(shown.returncode != 0, "cluster status fails on a missing root")
    os.unlink(site.host.path("/run/gpuhost-cluster/status.json"))
    shown = site.host.ctl("cluster", "status", f"--root={site.host.root}")
    t.ok(shown.returncode == NOT_FOUND and "cluster join" in shown.stderr,
         "cluster status without gpuhost-cluster prints 'cluster join'", shown.stderr)


def main():
    t = tap.Tap()
    site = Site()
    try:
        for check in (check_ready, check_swap, check_daemon, check_podman, check_connection, check_refusals, check_devices, check_conflict, check_node, check_settings, check_rotation, check_metrics, check_example, check_gate,
                      check_check, check_join, check_renewal, check_leave):
            check(t, site)
        if t.failed:
            print("\n".join("# " + line for line in site.agent.said().splitlines()[-30:]))
    finally:
        site.close()
    t.done()


main()
