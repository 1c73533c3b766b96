# SPDX-License-Identifier: Apache-2.0
"""A host evicts the pods of its own Node with its own certificate: EvictAs=own, and the rights of
packaging/kubernetes/evict/. rights.py tests the other rights of a host, upgrades.py the kubelet's certificate."""

import json
import os
from contextlib import contextmanager

from node.controlplane import Session, manifests, want
from node.waiting import eventually
from rig.case import case
from scenarios.rights import BASIC_USER, HOST, IS_HOST, OTHER, USER, rights, rules

MANIFEST = "evict/host-evict.yaml"
EVICTS = {("", "pods"): {"list", "watch", "delete"}, ("", "pods/eviction"): {"create"}, ("resource.k8s.io", "resourceclaims"): {"get"}}
SPACE = "evict"


def pods_path(name="", space=SPACE):
    return f"/api/v1/namespaces/{space}/pods" + (f"/{name}" if name else "")


def make_pod(admin, name, node, space=SPACE):
    """Creates a running pod and returns its UID."""
    status, made = admin.ask("POST", pods_path(space=space), {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"automountServiceAccountToken": False, "tolerations": [{"operator": "Exists"}], "containers": [{"name": "main", "image": "x"}],
                 **({"nodeName": node} if node else {})}})
    assert status == 201, made
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    assert admin.ask("PATCH", f"{pods_path(name, space)}/status", running, "strategic-merge-patch+json")[0] == 200
    return made["metadata"]["uid"]


def evict(session, name, uid=None, space=SPACE):
    """Returns (status, message) of an eviction that changes nothing."""
    options = {"deleteOptions": {"preconditions": {"uid": uid}}} if uid else {}
    status, answer = session.ask("POST", f"{pods_path(name, space)}/eviction?dryRun=All", {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": space}, **options})
    return status, answer.get("message", "")


def delete(session, name, space=SPACE):
    """Returns (status, message) of a deletion that changes nothing."""
    status, answer = session.ask("DELETE", f"{pods_path(name, space)}?dryRun=All")
    return status, answer.get("message", "")


@contextmanager
def evicting(plane, session, uid, name, space):
    """Gives hosts the rights. `name` is a pod of another Node, which tells whether the policies are applied."""
    plane.kubectl("apply", "-f", manifests() / MANIFEST)
    try:
        eventually("the policies are applied", lambda: all("only pods of its own Node" in message for _, message in (
            evict(session, name, uid, space), delete(session, name, space))))
        yield
    finally:
        plane.kubectl("delete", "-f", manifests() / MANIFEST)
        eventually("hosts may not evict", lambda: "cannot create" in evict(session, name, uid, space)[1])


def budget(plane, name):
    """Creates a disruption budget that allows no eviction of the pods of this name."""
    plane.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "tight", "namespace": SPACE},
                 "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}}})


@case("own eviction: a host evicts and deletes only its Node's pods", start="kubernetes")
def own_pods(host):
    with rights(host) as (plane, session):
        admin = Session(plane, "admin")
        plane.kubectl("create", "namespace", SPACE)
        eventually("pods can be created", lambda: plane.ask("get", "serviceaccount", "default", "-n", SPACE).returncode == 0)
        uids = {name: make_pod(admin, name, node) for name, node in (("mine", HOST), ("guarded", HOST), ("others", OTHER), ("pending", None))}
        budget(plane, "guarded")
        assert "cannot create" in evict(session, "mine", uids["mine"])[1], "a host may evict without the manifest"
        try:
            with evicting(plane, session, uids["others"], "others", SPACE):
                check_evictions(session, uids)
                check_rest(plane, session, admin)
        finally:
            plane.kubectl("delete", "namespace", SPACE, "--wait=false")


def check_evictions(session, uids):
    # (request, status, words of the answer)
    rows = [
        (evict(session, "mine", uids["mine"]), 201, ""),
        (delete(session, "mine"), 200, ""),
        (evict(session, "guarded", uids["guarded"]), 429, "disruption budget"),
        (evict(session, "others", uids["others"]), 403, f"a host may evict only pods of its own Node: '{USER}' is not that of '{OTHER}'"),
        (delete(session, "others"), 403, f"a host may delete only pods of its own Node: '{USER}' is not that of '{OTHER}'"),
        (evict(session, "pending", uids["pending"]), 403, "a host may evict only pods of its own Node"),
        (delete(session, "pending"), 403, "a host may delete only pods of its own Node"),
        (evict(session, "mine"), 403, "name the pod's UID"),
        (evict(session, "mine", uids["others"]), 403, "name the pod's UID"),
        (evict(session, "absent", uids["mine"]), 404, "not found"),
        (delete(session, "absent"), 404, "not found"),
        (evict(session, "absent", uids["mine"], "gpuhost"), 404, "not found"),
    ]
    wrong = [row for row in rows if row[0][0] != row[1] or row[2] not in row[0][1]]
    assert not wrong, "\n".join(map(str, wrong))


def check_rest(plane, session, admin):
    """The manifest gives no other right, has no type warnings, and concerns no other user."""
    assert rules(session) == IS_HOST | BASIC_USER | EVICTS, rules(session)
    status, answer = session.ask("DELETE", pods_path())
    assert status == 403 and "cannot deletecollection" in answer["message"], answer
    for name, space, wanted in (("mine", SPACE, 201), ("others", SPACE, 201), ("absent", SPACE, 404), ("absent", "gpuhost", 404)):
        got = evict(admin, name, space=space)
        assert got[0] == wanted, f"another user's eviction of {name}: {got}"
    for name in ("gpuhost-evictions", "gpuhost-pods"):
        policy = plane.get("validatingadmissionpolicy", name)
        warnings = policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings")
        assert not warnings, json.dumps(warnings, indent=1)


@contextmanager
def configured(machine):
    """Runs gpuhost-cluster with EvictAs=own, on a host without the kubelet's kubeconfig."""
    config, kubelet = machine.host.path("/etc/gpuhost/gpuhostd.conf"), machine.host.path("/etc/kubernetes/kubelet.conf")
    with open(config, encoding="utf-8") as file:
        former = file.read()

    def restart(text):
        machine.kill()
        machine.write("/etc/gpuhost/gpuhostd.conf", text)
        machine.host.ctl("reload", check=0)
        machine.start_agent()
    os.rename(kubelet, kubelet + ".away")
    restart(former + "EvictAs=own\n")
    try:
        yield
    finally:
        os.rename(kubelet + ".away", kubelet)
        restart(former)


@case("own eviction: a host upgrades without the kubelet's credentials", start="upgrading")
def upgrade(node):
    machine, plane = node.machine, node.controlplane
    machine.admin = Session(plane, "admin")  # the server may have closed the former connection
    runs = machine.host.loaded()["nvidia"]
    user, kubelet = f"gpuhost:host:{machine.name}", f"system:node:{machine.name}"
    machine.pod("evicted", owner="ReplicaSet")
    uid = make_pod(machine.admin, "elsewhere", None, "default")
    before = len(plane.calls(kubelet))
    with configured(machine):
        want(plane, next(one for one in machine.versions if one != runs))
        eventually(lambda: f"it reports the missing right: {machine.why()}", lambda: "may not evict pods (EvictAs=own): apply /usr/share/gpuhost" in machine.reason())
        assert not machine.node()["spec"].get("unschedulable") and not machine.leaving(), machine.why()
        plane.identity("another", f"gpuhost:host:{OTHER}", "gpuhost:hosts")  # no request of the host itself is forbidden
        with evicting(plane, Session(plane, "another"), uid, "elsewhere", "default"):
            eventually(lambda: f"the pod is evicted: {machine.leaving()} {machine.why()}", lambda: machine.leaving() == {"evicted"}, 120)
            machine.end_pods()
            machine.reaches("upgrade-done")
            assert machine.host.loaded()["nvidia"] != runs, machine.why()
    evictions = [call for call in plane.calls(user) if call[1] == "pods/eviction" and call[2] == "evicted"]
    assert [call[3] for call in evictions] == [201] and len(plane.calls(kubelet)) == before, evictions
    machine.admin.ask("DELETE", pods_path("elsewhere", "default"), {"gracePeriodSeconds": 0})
    want(plane, runs)  # other cases expect the first driver
    machine.reaches("upgrade-done", runs)
