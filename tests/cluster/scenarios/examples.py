# SPDX-License-Identifier: Apache-2.0
"""The kustomization and the approver of docs/examples, with a real API server, and manifests for other controllers
with their definitions. tests/source/examples.py checks their texts."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import programs
from node import binaries
from node.controlplane import manifests
from node.waiting import eventually
from peer_files import KEY
from rig.case import case

EXAMPLES = manifests().parents[1] / "docs/examples/kubernetes"
NODE, ID, SECRET = "gpu77", "exampl", "0123456789abcdef"
USER, GROUP = f"gpuhost:host:{NODE}", "gpuhost:hosts"
REQUESTS = "certificatesigningrequests"
# Each with a change that its definition refuses.
OTHERS = {"karpenter/nodepool.yaml": (("startupTaints:", "startuptaints:"), ("effect: NoSchedule", "effect: Never"), ("duration: 8h", "duration: 8s")),
          "cluster-api/gpu-workers.yaml": (("preKubeadmCommands:", "prekubeadmCommands:"), ("- type: Ready\n        status: Unknown", "- status: Unknown"))}


@contextmanager
def applied(plane):
    """Applies the kustomization as it is, but with another token than that of the suite."""
    with tempfile.TemporaryDirectory() as scratch:
        site = Path(scratch) / "site"
        shutil.copytree(EXAMPLES, site)
        for path in manifests().glob("*.yaml"):
            shutil.copy(path, site)
        change(site, "abcdef", ID)
        try:
            plane.kubectl("apply", "-k", site)
            yield site
        finally:
            plane.kubectl("delete", "--ignore-not-found", "-f", site / "policy.yaml", "-f", site / "candidates.yaml", "-f", site / "bootstrap-token.yaml")
            plane.kubectl("delete", REQUESTS, "-l", f"gpuhost.io/node={NODE}")


def change(site, old, new):
    path = site / "bootstrap-token.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def token_identity(site, plane, secret):
    """Makes a kubeconfig with the token."""
    path = site / "token.kubeconfig"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": plane.url, "certificate-authority": str(plane.pki / "ca.crt")}}],
        "users": [{"name": "token", "user": {"token": f"{ID}.{secret}"}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "token"}}]}))
    return path


def may(plane, verb, resource, *words, **options):
    return plane.ask("auth", "can-i", verb, resource, *words, **options).stdout.strip() == "yes"


@case("examples: the kustomization makes policy, candidates and an unusable token", start="kubernetes")
def kustomization(host):
    plane = host.controlplane
    with applied(plane) as site:
        assert "autoUpgrade: false" in plane.get("configmap", "gpuhost-policy", "-n", "gpuhost")["data"]["policy.yaml"]
        for node, good in (("gpu01", True), ("gpu02", True), ("gpu03", False)):
            granted = may(plane, "create", "leases.coordination.k8s.io", "-n", "gpuhost", f"--as=gpuhost:host:{node}", f"--as-group={GROUP}")
            assert granted == good, f"{node} may lead: {granted}"
        template = token_identity(site, plane, "CHANGE-THIS-TEXT")
        answer = plane.ask("get", REQUESTS, identity=template)
        assert answer.returncode != 0 and ("Unauthorized" in answer.stderr or "logged in" in answer.stderr), f"{answer.stdout}{answer.stderr}"
        change(site, "CHANGE-THIS-TEXT", SECRET)
        change(site, "2026-01-01", "2099-01-01")
        plane.kubectl("apply", "-k", site)
        token = token_identity(site, plane, SECRET)
        eventually("the changed token is valid", lambda: may(plane, "create", REQUESTS, identity=token))
        assert not may(plane, "list", "nodes", identity=token) and not may(plane, "get", "configmaps", "-n", "gpuhost", identity=token)


def request(plane, *words):
    """Creates a request as gpuhost-cluster does, with a new key. Returns its name."""
    plane.openssl("req", *KEY, "-subj", f"/O={GROUP}/CN={USER}", "-keyout", "example.key", "-out", "example.csr")
    public = subprocess.run(["openssl", "pkey", "-in", "example.key", "-pubout", "-outform", "DER"], cwd=plane.pki, check=True, stdout=subprocess.PIPE).stdout
    name = f"gpuhost-{NODE}-{hashlib.sha256(public).hexdigest()[:12]}"
    body = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name, "labels": {"gpuhost.io/node": NODE}},
            "spec": {"signerName": "kubernetes.io/kube-apiserver-client", "usages": ["digital signature", "client auth"],
                     "request": base64.b64encode((plane.pki / "example.csr").read_bytes()).decode()}}
    plane.kubectl("create", "-f", "-", *words, input=json.dumps(body))
    return name


def conditions(plane, name):
    return [one["type"] for one in plane.get(REQUESTS, name)["status"].get("conditions", [])]


@case("examples: the approver approves listed requests and renewals, and denies revoked hosts", start="kubernetes")
def approver(host):
    plane = host.controlplane
    as_token = (f"--as=system:bootstrap:{ID}", "--as-group=system:bootstrappers:gpuhost", "--as-group=system:authenticated")
    as_host = (f"--as={USER}", f"--as-group={GROUP}", "--as-group=system:authenticated")
    with applied(plane) as site:
        def approve():
            done = programs.run(["sh", site / "approve-requests.sh"], cwd=site, env=programs.environment(
                PATH=f"{plane.tools}:{os.environ['PATH']}", KUBECONFIG=str(plane.admin), HOME=str(site)))
            assert done.returncode == 0, done.stderr
            return done.stdout

        name = request(plane, *as_token)
        output = approve()
        assert f"{name}: not in the file requests" in output and conditions(plane, name) == [], output
        (site / "requests").write_text(name + "\n")
        output = approve()
        assert conditions(plane, name) == ["Approved"], output
        eventually("the approved request has a certificate", lambda: plane.get(REQUESTS, name)["status"].get("certificate"))
        renewal = request(plane, *as_host)
        output = approve()
        assert conditions(plane, renewal) == ["Approved"], output
        (site / "revoked").write_text(NODE + "\n")
        last = request(plane, *as_host)
        output = approve()
        assert conditions(plane, last) == ["Denied"], output


@case("examples: the definitions of Karpenter and Cluster API accept the manifests", start="kubernetes")
def others(host):
    plane = host.controlplane
    definitions = binaries.definitions()
    plane.kubectl("create", "-f", definitions)
    try:
        plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", definitions)
        create = ("create", "--dry-run=server", "--validate=strict", "-f", "-")
        for name, changes in OTHERS.items():
            text = (EXAMPLES.parent / name).read_text()
            plane.kubectl(*create, input=text)
            for old, new in changes:
                assert old in text and plane.ask(*create, input=text.replace(old, new)).returncode, f"{name}: accepts {new}"
    finally:
        plane.kubectl("delete", "--wait=false", "-f", definitions)
