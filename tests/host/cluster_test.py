# SPDX-License-Identifier: Apache-2.0
"""gpuhost-cluster on a host whose API server does whatever API servers do: what the Node says, and that nothing that happens to the
connection makes it say anything else or ask too often."""
import http.client
import json
import os
import signal
import socket
import time

import tap
from cluster_site import READY, Site
from fake_api import CONFIG_MAPS, LEASES, NODES, REQUESTS, FakeApi, Prometheus, Proxy
from fake_host import NEW, OLD, read, write
from programs import environment, run

NOT_FOUND, ALREADY, DENIED = 4, 5, 12
TAINT = "gpuhost.io/not-ready"


def check_ready(t, site):
    site.kubeconfig()
    site.api.add_node("gpu01", taints=["other", TAINT])
    site.agent.start()
    site.eventually(t, lambda: site.api.conditions() == READY, "the Node of a host that is as wanted says so")
    site.eventually(t, lambda: site.api.taints() == ["other"], "its startup taint comes off, and no other one")
    t.equal(site.api.node()["metadata"]["labels"].get("nvidia.com/gpu.present"), "true", "it is labelled")
    t.equal({call[3] for call in site.api.calls}, {"gpuhost:host:gpu01"}, "all by the host's own certificate")
    before = len(site.api.calls)
    site.api.change(podCIDR="10.0.0.0/24")
    time.sleep(3)
    t.equal(len(site.api.calls), before, "what others change there is no reason to ask or to write anything")
    shown = site.host.ctl("cluster", "status", f"--root={site.host.root}", check=0).stdout
    t.ok("gpu01, watched" in shown and "serves 2 GPUs" in shown and "does not say so" not in shown, "cluster status shows it", shown)


def check_swap(t, site):
    write(site.host.path("/etc/gpuhost/gpuhostd.conf"), "")
    site.host.ctl("driver", "swap", NEW, check=0)
    message = lambda: next((one["message"] for one in site.api.node()["status"]["conditions"] if one["type"] == "gpuhost.io/DriverReady"), "")  # noqa: E731
    site.eventually(t, lambda: NEW in message(), "a swap shows on the Node within a second or two")


def check_daemon(t, site):
    site.host.kill_daemon()
    site.eventually(t, lambda: {status for status, _ in site.api.conditions().values()} == {"Unknown"}, "with no daemon nothing is known")
    site.host.start_daemon()
    site.host.settle()
    site.eventually(t, lambda: site.api.conditions() == READY, "and with it all is again")
    site.host.kill_daemon()
    site.host.start_daemon()
    site.host.settle()
    time.sleep(2)
    t.equal(site.api.conditions(), READY, "a restart of it is no reason to say anything")


def check_connection(t, site):
    api = site.api
    watches = api.watches()
    api.cut()
    site.eventually(t, lambda: api.watches() > watches, "a watch that broke is taken up")
    t.equal(api.count("GET", f"{NODES}?limit=100&fieldSelector"), 1, "with no list")
    api.forget()
    api.cut()
    site.eventually(t, lambda: api.count("GET", f"{NODES}?limit=100&fieldSelector") == 2, "a version that the server no longer knows is listed anew (410)")
    api.stop()
    site.eventually(t, lambda: site.agent.status().get("state") == "disconnected", "a server that is gone is told of")
    shown = site.host.ctl("cluster", "status", f"--root={site.host.root}", check=0).stdout
    t.ok("out of reach" in shown and "Problem" in shown, "and in cluster status", shown)
    api.change(taints=[{"key": TAINT, "effect": "NoSchedule"}])
    site.eventually(t, lambda: "can't connect: Connection refused" in site.agent.said(), "the log says why")
    time.sleep(3)
    t.equal(site.agent.said().count("can't connect: Connection refused"), 1, "once")
    api.start()
    site.eventually(t, lambda: api.taints() == [] and site.agent.status().get("state") == "connected", "it is caught up with what changed meanwhile", 45)


def check_refusals(t, site):
    api = site.api
    for status, headers in ((500, {}), (429, {"Retry_After": 2}), (503, {}), (409, {})):
        api.fail(status, "PATCH", **headers)
        before, began = api.count("PATCH"), time.monotonic()
        api.change(taints=[{"key": TAINT, "effect": "NoSchedule"}])
        site.eventually(t, lambda: api.taints() == [], f"a write that was answered {status} is made again")
        took = time.monotonic() - began
        t.equal(api.count("PATCH") - before, 2, "once")
        t.ok(status != 429 or took >= 2, "and not before the server wants it", took)
    api.fail(403, "PATCH")
    api.change(taints=[{"key": TAINT, "effect": "NoSchedule"}])
    site.eventually(t, lambda: "can't be written" in site.agent.said(), "what is forbidden is told of")
    site.eventually(t, lambda: api.taints() == [], "and tried again")
    site.eventually(t, lambda: site.agent.status().get("error") is None, "then it is forgotten")
    for status in (500, 429):
        api.fail(status, "GET", f"{NODES}?watch=1")
        api.cut()
        before = api.watches()
        site.eventually(t, lambda: api.watches() >= before + 2, f"a watch that was answered {status} is asked for again")


def check_conflict(t, site):
    """Somebody else changes the Node between what we saw and what we write, again and again."""
    api = site.api
    api.frozen = True
    api.change(taints=[{"key": TAINT, "effect": "NoSchedule"}])
    time.sleep(1)
    api.change(unschedulable=True, taints=[{"key": TAINT, "effect": "NoSchedule"}, {"key": "new", "effect": "NoExecute"}])
    api.frozen = False
    site.eventually(t, lambda: api.taints() == ["new"], "a taint that came meanwhile is not lost")
    t.ok(api.node()["spec"].get("unschedulable"), "nor is a cordon")
    api.change(taints=[])


def check_node(t, site):
    api = site.api
    api.drop(NODES, "gpu01")
    site.eventually(t, lambda: site.agent.status().get("state") == "no-node", "a Node that is deleted is not made again")
    before = api.count("PATCH")
    time.sleep(1)
    t.equal(api.count("PATCH"), before, "nor written to")
    api.add_node("gpu02", taints=[TAINT])
    api.add_node("gpu01", taints=[TAINT])
    site.eventually(t, lambda: api.conditions() == READY and api.taints() == [], "one that the kubelet makes anew is told everything")
    t.equal(api.conditions("gpu02"), {}, "another one nothing")


def check_settings(t, site):
    site.agent.stop()
    write(site.host.path("/etc/gpuhost/gpuhostd.conf"),
          "[Cluster]\nNodeName=gpu02\nStartupTaints=readiness.k8s.io/gpu\nTaintWhenNotReady=yes\nReadyWhen=driver\n")
    t.equal(site.host.ctl("reload").returncode, 0, "the daemon knows the section")
    site.agent.start()
    site.eventually(t, lambda: site.api.conditions("gpu02") == READY, "NodeName= names the Node")
    t.equal(site.api.taints("gpu02"), [TAINT], "a taint that is not in StartupTaints= stays")
    site.host.kill_daemon()
    site.eventually(t, lambda: site.api.taints("gpu02") == [TAINT, "readiness.k8s.io/gpu"], "TaintWhenNotReady= puts one there")
    site.host.start_daemon()
    site.eventually(t, lambda: site.api.taints("gpu02") == [TAINT], "until the host is ready")
    site.agent.stop()
    os.unlink(site.host.path("/etc/gpuhost/gpuhostd.conf"))


def check_rotation(t, site):
    site.agent.start()
    site.eventually(t, lambda: site.agent.status().get("state") == "connected", "it runs")
    keys = site.api.authority.keys("gpuhost:host:gpu01 again", purposes="clientAuth")
    for name in ("key.pem", "cert.pem"):
        os.replace(os.path.join(keys, name), site.host.path(f"/etc/gpuhost/cluster/{name}"))
    site.eventually(t, lambda: any(call[3].endswith("again") for call in site.api.calls), "another certificate on disk is taken up without a restart", 60)
    write(site.host.path("/etc/gpuhost/cluster/cert.pem"), "no certificate\n")
    site.eventually(t, lambda: "the credentials stay as they were" in site.agent.said(), "one that is none is told of", 60)
    t.equal(site.agent.status().get("state"), "connected", "and changes nothing")
    site.agent.stop()
    site.kubeconfig("gpuhost:host:gpu01 anew")


def scrape(port, method="GET", path="/metrics"):
    """(status, headers, text)"""
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
        site.eventually(t, lambda: site.agent.status().get("state") == "connected", "a port that is somebody else's does not hold it up")
        t.ok(f"can't serve metrics at 127.0.0.1:{port}: Address already in use" in site.agent.said(), "and is told of", site.agent.said())
    site.eventually(t, lambda: scrape(port)[0] == 200, "it is tried again", 45)
    status, headers, text = scrape(port, path="/metrics?name[]=x")
    t.equal((status, headers.get("Content-Type")), (200, "text/plain; version=0.0.4; charset=utf-8"), "GET /metrics is answered in Prometheus' format")
    t.equal(text, read(site.host.path("/run/gpuhost-cluster/metrics.prom")), "with what stands in metrics.prom")
    t.ok("\ngpuhost_connected 1\n" in text, "which says how the host is", text)
    status, headers, head = scrape(port, "HEAD")
    t.equal((status, int(headers.get("Content-Length", 0)), head), (200, len(text.encode()), ""), "HEAD is answered with its length alone")
    t.equal([scrape(port, path=path)[0] for path in ("/", "/metrics/", "/metrics.prom", "/../etc/passwd")], [404] * 4, "there is nothing else")
    status, headers, _ = scrape(port, "POST")
    t.equal((status, headers.get("Allow")), (405, "GET, HEAD"), "and nothing to be changed")
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    try:
        for one in slow:
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n")
        began, busy = time.monotonic(), site.agent.seconds()
        site.api.change(taints=[{"key": TAINT, "effect": "NoSchedule"}])
        site.eventually(t, lambda: site.api.taints() == [], "who asks slowly holds nothing up", 5)
        slow[0].settimeout(20)
        t.equal(slow[0].recv(1), b"", "is not waited for longer than ten seconds")
        t.ok(8 < time.monotonic() - began < 15, "but for so long", time.monotonic() - began)
        t.ok(site.agent.seconds() - busy < 2, "nor does it keep a processor busy", site.agent.seconds() - busy)
    finally:
        for one in slow:
            one.close()
    site.eventually(t, lambda: scrape(port)[0] == 200, "and others get what they ask for")
    site.agent.stop()
    for address in ("localhost:9835", "127.0.0.1", "[::1:9835", "::1:9835", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:http", ":9835"):
        said = len(site.agent.said())
        write(site.host.path("/etc/gpuhost/gpuhostd.conf"), f"[Cluster]\nMetricsListen={address}\n")
        site.agent.start()
        site.eventually(t, lambda: f"'{address}' is no address to listen on" in site.agent.said()[said:], f"{address} is no address, and told of")
        site.agent.stop()
    write(site.host.path("/etc/gpuhost/gpuhostd.conf"), f"[Cluster]\nMetricsListen=[::]:{port}\n")
    site.agent.start()
    site.eventually(t, lambda: scrape(port)[0] == 200, "[::] is all addresses, those of IPv4 too")
    site.agent.stop()
    os.unlink(site.host.path("/etc/gpuhost/gpuhostd.conf"))


def check_gate(t, site):
    """The leader, which is this host itself, asks a Prometheus before the host begins."""
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
    site.eventually(t, lambda: json.loads(api.annotations().get("gpuhost.io/upgrade", "{}")).get("state") == "upgrade-done", "the host runs what is wanted")
    time.sleep(2)
    t.equal(prometheus.asked, [], "while nobody could begin no gate is asked")
    wants(OLD)
    site.eventually(t, lambda: "no kubeconfig of the kubelet" in reason(), "before any gate is asked, pods must be movable")
    site.kubelet()
    site.eventually(t, lambda: "gates/ca.pem" in reason(), "without its authorities it is not asked, and the Node says why")
    t.equal(prometheus.asked, [], "not once")
    os.makedirs(host.path("/etc/gpuhost/cluster/gates"))
    write(host.path("/etc/gpuhost/cluster/gates/ca.pem"), read(os.path.join(api.authority.path, "ca.pem")))
    write(host.path("/etc/gpuhost/cluster/gates/token"), "wrong\n")
    site.eventually(t, lambda: reason() == f"gate 'quiet': can't ask {prometheus.url}: answered 401", "with another token it is not answered")
    write(host.path("/etc/gpuhost/cluster/gates/token"), "secret\n")
    shut = "gate 'quiet': alert 'NodeDown' is firing"
    site.eventually(t, lambda: reason() == shut, "with its own it is: an alert keeps the host waiting, and is named")
    t.equal(prometheus.asked[-1], 'ALERTS{alertstate="firing",alertname=~"(?:.*)",alertname!~"(?:Watchdog)"}', "alerts are asked for as series")
    before, asked, version = api.count("PATCH"), len(prometheus.asked), api.node()["metadata"]["resourceVersion"]
    prometheus.firing = ["Another", "NodeDown"]
    time.sleep(4)
    t.ok(2 <= len(prometheus.asked) - asked <= 5, "it is asked once in its interval", len(prometheus.asked) - asked)
    t.equal(api.node()["metadata"]["resourceVersion"], version, "an answer that says the same changes nothing")
    t.ok(api.count("PATCH") - before <= 3, "but the leader's own Lease", api.count("PATCH") - before)
    prometheus.shutdown()
    prometheus.server_close()
    site.eventually(t, lambda: "Connection refused" in reason(), "one that is away keeps it waiting as well")
    t.ok("gpuhost-upgrade-gpu01" not in api.names(LEASES), "until now nobody has had a grant")
    prometheus = Prometheus()
    gate.update(url=prometheus.url)
    del gate["caFile"], gate["tokenFile"]
    wants(OLD)
    site.eventually(t, lambda: "gpuhost-upgrade-gpu01" in api.names(LEASES), "one that has nothing to say lets the host begin")
    site.eventually(t, lambda: api.node()["spec"].get("unschedulable"), "which it does")
    prometheus.firing = ["NodeDown"]
    asked = len(prometheus.asked)
    time.sleep(2)
    t.equal((len(prometheus.asked) - asked, "gpuhost-upgrade-gpu01" in api.names(LEASES)), (0, True), "then it is not asked any more, and stops nothing")
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
    for text, status, words in (("", 0, "knows node 'gpu01'"), ("gpu99", NOT_FOUND, "knows no node 'gpu99'")):
        write(site.host.path("/etc/gpuhost/gpuhostd.conf"), f"[Cluster]\nNodeName={text}\n")
        asked = run(program)
        t.ok(asked.returncode == status and words in asked.stdout + asked.stderr, f"--check: {words}", asked.returncode, asked.stdout, asked.stderr)
    os.unlink(site.host.path("/etc/gpuhost/gpuhostd.conf"))
    config = site.host.path("/etc/gpuhost/cluster/kubeconfig")
    good = read(config)
    other = FakeApi(os.path.join(site.host.scratch, "other"))
    write(config, good.replace(site.api.url, other.url))
    asked = run(program)
    t.ok(asked.returncode == DENIED and "certificate" in asked.stderr, "a server of another authority is not believed", asked.returncode, asked.stderr)
    other.stop()
    write(config, good.replace("127.0.0.1", "localhost"))
    asked = run(program)
    t.ok(asked.returncode == DENIED and "localhost" in asked.stderr, "nor one whose certificate is for another name", asked.returncode, asked.stderr)
    document = json.loads(good.replace("127.0.0.1", "localhost"))
    document["clusters"][0]["cluster"]["tls-server-name"] = "127.0.0.1"
    write(config, json.dumps(document))
    asked = run(program)
    t.ok(asked.returncode == 0, "unless tls-server-name names it", asked.returncode, asked.stderr)
    proxy = Proxy()
    document = json.loads(good)
    document["clusters"][0]["cluster"]["proxy-url"] = proxy.url
    write(config, json.dumps(document))
    asked = run(program, env=environment(https_proxy="http://127.0.0.1:9", HTTPS_PROXY="http://127.0.0.1:9"))
    t.equal((asked.returncode, proxy.asked), (0, [site.api.url.removeprefix("https://")]), "proxy-url leads there by a proxy")
    proxy.shutdown()
    write(config, good)
    asked = run(program, env=environment(https_proxy="http://127.0.0.1:9", HTTPS_PROXY="http://127.0.0.1:9", SSL_CERT_FILE="/dev/null"))
    t.equal(asked.returncode, 0, "the environment has no say")
    write(config, good.replace(site.api.url, other.url))
    asked = run(program)
    t.ok(asked.returncode == 1 and "127.0.0.1" in asked.stderr, "nor is one that is not there an answer", asked.returncode, asked.stderr)
    write(config, good.replace("https://", "http://"))
    asked = run(program)
    t.ok(asked.returncode != 0 and "http" in asked.stderr, "without TLS nothing is asked", asked.returncode, asked.stderr)
    os.unlink(config)
    asked = run(program)
    t.ok(asked.returncode == NOT_FOUND and "cluster join" in asked.stderr, "with no kubeconfig it says how to get one", asked.returncode, asked.stderr)


def join(site, *more):
    token = os.path.join(site.host.scratch, "token")
    write(token, "abcdef.0123456789abcdef\n")
    return site.host.ctl("cluster", "join", f"{site.api.url}/", f"--ca={site.api.authority.path}/ca.pem", f"--token-file={token}",
                         f"--root={site.host.root}", *more)


def requests(site):
    return sorted(site.api.objects[REQUESTS])


def check_join(t, site):
    host, api = site.host, site.api
    for words, what in ((["cluster", "join", "http://a"], "no URL"), (["cluster", "join", "https://a"], "--ca= is needed"),
                        (["cluster", "join", "https://a", "--ca=/dev/null"], "/dev/null")):
        asked = host.ctl(*words, f"--root={host.root}")
        t.ok(asked.returncode == 2 or "null" in asked.stderr, f"cluster join says: {what}", asked.returncode, asked.stderr)
        t.ok(what in asked.stderr, "with the reason", asked.stderr)
    t.ok(not os.path.exists(host.path("/etc/gpuhost/cluster/bootstrap-kubeconfig")), "and writes nothing")
    asked = join(site)
    t.ok(asked.returncode == 0, "cluster join writes what it needs", asked.stderr)
    t.equal(os.stat(host.path("/etc/gpuhost/cluster/bootstrap-kubeconfig")).st_mode & 0o007, 0, "for no stranger")
    site.agent.start()
    site.eventually(t, lambda: len(requests(site)) == 1, "a request for a certificate comes")
    name, = requests(site)
    asked = api.objects[REQUESTS][name]["spec"]
    t.ok(name.startswith("gpuhost-gpu01-") and asked["signerName"] == "kubernetes.io/kube-apiserver-client", "of a name that says whose it is", name)
    t.equal({call[3] for call in api.calls if REQUESTS in call[1]}, {"Bearer abcdef.0123456789abcdef"}, "by the bootstrap token")
    for number in (signal.SIGKILL, signal.SIGTERM):
        site.agent.stop(number)
        site.agent.start()
        time.sleep(1)
    t.equal(requests(site), [name], "one that was killed goes on with the same request")
    t.equal(site.agent.status().get("state"), "joining", "and says that it waits")
    api.drop(REQUESTS, name)
    site.eventually(t, lambda: requests(site) == [name], "a request that was cleaned away is made again")
    api.deny(name, "not this host")
    site.eventually(t, lambda: "not this host" in str(site.agent.status().get("error")), "a refusal is told of")
    site.agent.stop()
    site.agent.start()
    site.eventually(t, lambda: len(requests(site)) == 2, "after it another key asks")
    name, = set(requests(site)) - {name}
    before = len(api.calls)
    api.approve(name)
    site.eventually(t, lambda: site.agent.status().get("state") == "connected", "approved, the host is in the cluster")
    t.equal({call[3] for call in api.calls[before:] if NODES in call[1]}, {"gpuhost:host:gpu01"}, "by its own certificate")
    identity = host.path("/var/lib/gpuhost/cluster/client.pem")
    t.equal((os.stat(identity).st_mode & 0o777, os.path.exists(host.path("/var/lib/gpuhost/cluster/pending-key.pem"))), (0o600, False), "whose key is its own")
    refused = join(site)
    t.ok(refused.returncode == ALREADY and "cluster leave" in refused.stderr, "who has joined does not join again", refused.returncode, refused.stderr)


def check_renewal(t, site):
    """The certificate that there is has ended by more than 90 per cent, so the next one is asked for at once."""
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
    site.eventually(t, lambda: len(set(requests(site)) - known) == 1, "before a certificate ends the next one is asked for")
    name, = set(requests(site)) - known
    t.equal(api.calls[-1][3] if REQUESTS in api.calls[-1][1] else [call[3] for call in api.calls if call[0] == "POST"][-1], "gpuhost:host:gpu01", "with the one that there is")
    site.eventually(t, lambda: site.agent.status().get("state") == "connected", "and all goes on meanwhile")
    api.approve(name)
    site.eventually(t, lambda: "took up new credentials" in site.agent.said().split(name)[-1], "and is taken up at once")
    t.ok(read(identity) not in (old, ""), "with another key")
    site.agent.stop()


def check_leave(t, site):
    left = site.host.ctl("cluster", "leave", f"--root={site.host.root}")
    t.equal((left.returncode, os.listdir(site.host.path("/var/lib/gpuhost/cluster")), [name for name in os.listdir(site.host.path("/etc/gpuhost/cluster")) if "bootstrap" in name]), (0, [], []), "cluster leave takes all of it away")
    shown = site.host.ctl("cluster", "status", "--root=/nonexistent")
    t.ok(shown.returncode != 0, "a root that is not there is an error")
    os.unlink(site.host.path("/run/gpuhost-cluster/status.json"))
    shown = site.host.ctl("cluster", "status", f"--root={site.host.root}")
    t.ok(shown.returncode == NOT_FOUND and "cluster join" in shown.stderr, "with nothing running cluster status says what to do", shown.stderr)


def main():
    t = tap.Tap()
    site = Site()
    try:
        for check in (check_ready, check_swap, check_daemon, check_connection, check_refusals, check_conflict, check_node, check_settings, check_rotation, check_metrics, check_gate,
                      check_check, check_join, check_renewal, check_leave):
            check(t, site)
        if t.failed:
            print("\n".join("# " + line for line in site.agent.said().splitlines()[-30:]))
    finally:
        site.close()
    t.done()


main()
