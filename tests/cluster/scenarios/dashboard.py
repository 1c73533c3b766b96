# SPDX-License-Identifier: Apache-2.0
"""Prometheus scrapes hosts as docs/examples says, and each query of the example dashboard has a sample. A host that
leads its cluster's rollout upgrades, asking this Prometheus as its gate; another host has bundles and the registry."""

import contextlib
import json
import os
import re
import socket
import urllib.error
import urllib.parse
import urllib.request

import yaml
from node import TESTS
from node.controlplane import Session, want
from node.gpuhost import PORT as REGISTRY
from node.gpuhost import find
from node.service import Service
from node.site import REGISTRY as SITE
from node.waiting import eventually
from registry_service import hand_over
from rig.case import case
from scenarios.alerts import promtool

EXAMPLES = TESTS.parent / "docs/examples"
LEADER, OTHER, ADDRESS = "127.0.0.1", "127.0.0.2", "127.0.0.1:9090"
EXPORTER, CLUSTER = 9836, 9835
VARIABLES = {"instance": f"({LEADER}|{OTHER})", "__rate_interval": "4s"}
GATE = {"name": "quiet", "url": f"http://{ADDRESS}", "alerts": [".*"], "intervalSeconds": 1}


class Exporter(Service):
    """gpuhost-exporter on a socket of the test, as with gpuhost-metrics.socket."""
    def __init__(self, node, address, bus):
        super().__init__(f"gpuhost-exporter-{address}", node.place.logs)
        self.program, self.address, self.bus = find(node.daemon.tree, "gpuhost-exporter"), address, bus

    def run(self):
        self.socket = socket.create_server((self.address, EXPORTER))
        self.start(hand_over(self.socket, [self.program]), pass_fds=[self.socket.fileno()], DBUS_SYSTEM_BUS_ADDRESS=self.bus)

    def end(self):
        super().end()
        self.socket.close()


class Prometheus(Service):
    def __init__(self, node):
        super().__init__("prometheus", node.place.logs)
        self.config = node.work / "prometheus.yaml"

    def run(self):
        # The example, with the addresses of this test and the registry, which other hosts can't reach.
        config = yaml.safe_load((EXAMPLES / "prometheus/prometheus.yaml").read_text())
        config["global"]["scrape_interval"] = "500ms"
        jobs = {job["job_name"]: job for job in config["scrape_configs"]}
        jobs["gpuhost"]["static_configs"][0]["targets"] = [f"{LEADER}:{EXPORTER}", f"{OTHER}:{EXPORTER}"]
        jobs["gpuhost-cluster"]["static_configs"][0]["targets"] = [f"{LEADER}:{CLUSTER}"]
        config["scrape_configs"].append(jobs["gpuhost"] | {"job_name": "gpuhost-registry", "static_configs": [{"targets": [f"{LEADER}:{REGISTRY}"]}]})
        self.config.write_text(yaml.safe_dump(config))
        self.start([promtool(), "serve", self.config, ADDRESS, self.config.parent / "prometheus"])

    def query(self, text):
        """Returns the samples of an instant query."""
        self.check_alive()
        try:
            with urllib.request.urlopen(f"http://{ADDRESS}/api/v1/query?{urllib.parse.urlencode({'query': text})}", timeout=10) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{text}: {error.read().decode()}") from None
        except OSError:
            return []


def queries():
    """Returns the PromQL of each query of the dashboard, with values for its variables."""
    dashboard = json.loads((EXAMPLES / "grafana/gpuhost.json").read_text())
    found = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":  # label_values() is Grafana's function
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
            found.append(f"count by ({label}) ({metric})")
    return [re.sub(r"\$(\w+)", lambda name: VARIABLES[name[1]], text) for text in found]


def write_config(machine, text):
    machine.write("/etc/gpuhost/gpuhostd.conf", text)
    machine.kill()
    machine.start_agent()


@contextlib.contextmanager
def monitored(node):
    """Runs what is scraped, and Prometheus, which is a gate of the policy. At the end undoes each part, whatever
    becomes of the others."""
    machine, plane = node.machine, node.controlplane
    machine.admin = Session(plane, "admin")  # the server may have closed the former connection
    with open(machine.host.path("/etc/gpuhost/gpuhostd.conf"), encoding="utf-8") as file:
        former = file.read()
    podman = machine.host.path("/usr/bin/podman")  # a runtime, of which only the version is asked
    with contextlib.ExitStack() as undo:
        undo.callback(write_config, machine, former)
        write_config(machine, former.replace("[Cluster]\n", f"[Cluster]\nMetricsListen={LEADER}:{CLUSTER}\n"))
        undo.callback(machine.host.ctl, "apply", check=0)
        machine.write("/usr/bin/podman", "#!/bin/sh\necho podman version 5.2.0\n")
        undo.callback(os.unlink, podman)
        os.chmod(podman, 0o755)
        machine.host.ctl("apply", check=0)
        bundle = node.site.bundle("monitored", 1, {f"{SITE}/team/monitored:v1": "monitored-1"})
        node.daemon.ctl("bundle", "import", bundle)
        undo.callback(node.daemon.ctl, "bundle", "remove", "monitored")
        plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gpuhost-policy", "namespace": "gpuhost"},
                     "data": {"policy.yaml": json.dumps({"rollout": {"gates": [GATE]}})}})
        undo.callback(plane.kubectl, "delete", "configmap", "gpuhost-policy", "-n", "gpuhost")
        for service in (Exporter(node, LEADER, machine.host.address), Exporter(node, OTHER, node.daemon.bus.address), Prometheus(node)):
            service.run()
            undo.callback(service.end)
        yield service


class Upgrades:
    """Changes the host's driver again and again, because some metrics exist only meanwhile."""
    def __init__(self, machine, plane):
        self.machine, self.plane = machine, plane
        self.first = self.target = machine.host.loaded()["nvidia"]

    def is_done(self):
        return self.machine.state() == "upgrade-done" and self.machine.host.loaded().get("nvidia") == self.target

    def is_back(self):
        """Returns whether the host has the driver that it had first, which other cases expect."""
        return self.is_done() and (self.target == self.first or self.proceed())

    def proceed(self):
        if self.is_done():
            self.target = next(version for version in self.machine.versions if version != self.target)
            want(self.plane, self.target)


@case("every query of the dashboard has data in Prometheus", start="upgrading")
def dashboard(node):
    machine = node.machine
    with monitored(node) as prometheus:
        eventually(lambda: f"each target is up: {prometheus.query('up')} {prometheus.tail()} {machine.tail()}",
                   lambda: sorted(sample["value"][1] for sample in prometheus.query("up")) == ["1"] * 4)
        upgrades, left = Upgrades(machine, node.controlplane), queries()
        assert len(left) > 30 and not prometheus.query("gpuhost_wrong_name"), left

        def nothing_left():
            upgrades.proceed()
            # At any time of the last minutes, because an operation may be over before the query.
            left[:] = [query for query in left if not prometheus.query(f"last_over_time(({query})[2m:500ms])")]
            return not left
        try:
            eventually(lambda: "each has data: " + "\n".join(left) + machine.tail(), nothing_left, 60)
        finally:
            eventually(lambda: f"the host has its first driver: {machine.why()}", upgrades.is_back)
