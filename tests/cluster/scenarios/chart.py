# SPDX-License-Identifier: Apache-2.0
"""The Helm chart with the real Helm: what it renders, what it refuses, and a release of it in a real cluster.
tests/source/chart.py compares its schema with the policy's fields."""

import json
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path

import programs
import yaml
from node import binaries
from node.controlplane import manifests
from node.waiting import eventually
from ran_with import ran_with, version_in
from rig.case import case

from .kubernetes import running

EXAMPLES = manifests().parents[1] / "docs/examples/kubernetes"
LATER = "2099-01-01T00:00:00Z"
TOKEN = ("bootstrapToken.enabled=true", f"bootstrapToken.expiration={LATER}")
OTHER_TOKEN = "bootstrap-token-gpuhst"
# (values, what the message contains)
REFUSED = (
    (("policy.driver.version=550",), "got number, want string"),
    (("policy.driver.versoin=a",), "additional properties 'versoin' not allowed"),
    (("policy.rollout.reboot=always",), "value must be one of 'never', 'when-required'"),
    (("evictAs=node",), "value must be one of 'kubelet', 'own'"),
    (("evictAs=own", "admissionPolicies=false"), "evictAs=own needs admissionPolicies=true"),
    (("candidates={GPU01}",), "'GPU01' does not match pattern"),
    (("bootstrapToken.enabled=true",), "needs bootstrapToken.expiration, a time such as"),
    (("bootstrapToken.enabled=true", "bootstrapToken.expiration=2026-01-01T00:00:00Z"), "2026-01-01T00:00:00Z has passed: set a time in the future"),
)


def chart_of(tree):
    """Returns the chart of an unpacked package, or of a build directory."""
    packaged = tree / "usr/share/gpuhost/helm/gpuhost"
    return packaged if packaged.is_dir() else tree / "helm/gpuhost"


class Helm:
    def __init__(self, host, work):
        self.program = binaries.built(binaries.HELM) / "helm"
        self.chart = chart_of(host.daemon.tree)
        self.options = {"env": programs.environment(HOME=str(work), HELM_NO_PLUGINS="1")}

    def ask(self, *words, **options):
        return programs.run([self.program, *words], **self.options, **options)

    def run(self, *words, **options):
        done = self.ask(*words, **options)
        assert done.returncode == 0, f"helm {' '.join(map(str, words))}: {done.stdout}{done.stderr}"
        return done.stdout

    def template(self, *words, server="1.36", **options):
        return self.ask("template", "gpuhost", self.chart, f"--kube-version={server}", *words, **options)


@contextmanager
def with_helm(host):
    with tempfile.TemporaryDirectory() as work:
        helm = Helm(host, Path(work))
        ran_with("Helm", version_in(helm.run("version", "--short")))
        yield helm


def sets(values):
    return [word for one in values for word in ("--set", one)]


def objects(text):
    """Returns {(kind, namespace, name): object}."""
    found = [one for one in yaml.safe_load_all(text) if one]
    named = {(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in found}
    assert len(named) == len(found), "an object is there twice"
    return named


def package_objects(*names):
    return objects("\n---\n".join((manifests() / name).read_text() for name in names))


def example(name):
    return yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())


def values_of_examples():
    """Returns the values that make what docs/examples has."""
    return {"policy": yaml.safe_load(example("policy")["data"]["policy.yaml"]),
            "candidates": [one["name"].removeprefix("gpuhost:host:") for one in example("candidates")["subjects"]]}


def read_policy(made):
    """Replaces the text of the policy by its content."""
    key = ("ConfigMap", "gpuhost", "gpuhost-policy")
    made[key]["data"]["policy.yaml"] = yaml.safe_load(made[key]["data"]["policy.yaml"])
    return made


@case("chart: it renders the manifests and examples, and nothing else", start="node")
def renders(host):
    with with_helm(host) as helm:
        lint = helm.run("lint", "--strict", "--kube-version=1.36", helm.chart)
        assert "0 chart(s) failed" in lint and "WARNING" not in lint, lint
        assert objects(helm.template().stdout) == package_objects("host.yaml", "host-policy.yaml")
        old = helm.template("--set=admissionPolicies=false", server="1.29")
        assert objects(old.stdout) == package_objects("host.yaml"), old.stderr
        evicts = helm.template("--set=evictAs=own")
        assert objects(evicts.stdout) == package_objects("host.yaml", "host-policy.yaml", "evict/host-evict.yaml"), evicts.stderr
        own = objects(helm.template("--namespace=gpuhost").stdout)
        assert package_objects("host.yaml", "host-policy.yaml").keys() - own.keys() == {("Namespace", "", "gpuhost")}
        given = json.dumps(values_of_examples())
        made = objects(helm.template("--values=-", *sets(TOKEN), input=given).stdout)
        token = made.pop(("Secret", "kube-system", OTHER_TOKEN))
        parts = [(manifests() / name).read_text() for name in ("host.yaml", "host-policy.yaml")] + [(EXAMPLES / f"{name}.yaml").read_text() for name in ("policy", "candidates")]
        assert read_policy(made) == read_policy(objects("\n---\n".join(parts)))
        wanted = example("bootstrap-token")
        assert token == wanted | {"metadata": {"name": OTHER_TOKEN, "namespace": "kube-system"}, "stringData": token["stringData"]}, token
        assert token["stringData"].keys() == wanted["stringData"].keys() and re.fullmatch("[a-z0-9]{16}", token["stringData"]["token-secret"]), token.keys()


@case("chart: wrong values are refused with the reason", start="node")
def refuses(host):
    with with_helm(host) as helm:
        for values, message in REFUSED:
            done = helm.template(*sets(values))
            assert done.returncode and message in done.stderr, f"{values}: {done.stdout}{done.stderr}"
        old = helm.template(server="1.29")
        assert old.returncode and "needs Kubernetes 1.30, and this is v1.29: add --set admissionPolicies=false" in old.stderr, old.stderr


def shown_policy(node):
    """Returns {field: value} of what a host has from the ConfigMap."""
    policy = json.loads(node.daemon.ctl("cluster", "policy", "--json", f"--root={node.agent.root}"))["policy"]
    assert policy is None or not policy["problems"] and not policy["ignored"], policy
    return {one["path"]: one["value"] for one in policy["fields"] if one["source"] != "default"} if policy else {}


def leaves(value, prefix=""):
    for key, member in value.items():
        yield from leaves(member, f"{prefix}{key}.") if isinstance(member, dict) else [(prefix + key, member)]


def secret(plane):
    found = plane.ask("get", "secret", "-n", "kube-system", OTHER_TOKEN, "-o", "jsonpath={.data.token-secret}")
    return found.stdout


@case("chart: a release gives hosts its policy, and an upgrade keeps the token", start="joined")
def release(node):
    plane = node.controlplane
    values = values_of_examples()
    with with_helm(node) as helm:
        in_cluster = ("gpuhost", "--namespace=gpuhost", f"--kubeconfig={plane.admin}")
        taken = helm.ask("install", *in_cluster, helm.chart)
        assert taken.returncode and "cannot be imported into the current release" in taken.stderr, taken.stderr
        try:
            output = helm.run("install", *in_cluster, helm.chart, "--take-ownership", "--values=-", *sets(TOKEN), input=json.dumps(values))
            first = secret(plane)
            assert first and "Hosts can join until" in output and "on request only" in output, output
            with running(node):
                eventually(lambda: f"the host has the chart's policy: {shown_policy(node)}", lambda: shown_policy(node) == dict(leaves(values["policy"])))
                values["policy"]["driver"]["upgradePolicy"]["autoUpgrade"] = True
                output = helm.run("upgrade", *in_cluster, helm.chart, "--values=-", *sets(TOKEN), input=json.dumps(values))
                eventually(lambda: f"the host has the new policy: {shown_policy(node)}", lambda: shown_policy(node) == dict(leaves(values["policy"])))
            assert secret(plane) == first and "Hosts upgrade to driver 550.163.01" in output, output
            may = plane.ask("auth", "can-i", "create", "leases.coordination.k8s.io", "-n", "gpuhost", "--as=gpuhost:host:gpu01", "--as-group=gpuhost:hosts")
            assert may.stdout.strip() == "yes", may.stdout
            helm.run("uninstall", *in_cluster)
            left = [plane.ask("get", *words).returncode for words in (("clusterrole", "gpuhost-host"), ("configmap", "-n", "gpuhost", "gpuhost-policy"))]
            assert 0 not in left and not secret(plane), left
            plane.kubectl("get", "namespace", "gpuhost")
        finally:
            helm.ask("uninstall", *in_cluster, "--ignore-not-found")
            for name in ("host.yaml", "host-policy.yaml"):
                plane.kubectl("apply", "-f", manifests() / name)
