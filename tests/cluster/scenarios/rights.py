# SPDX-License-Identifier: Apache-2.0
"""The rights that packaging/kubernetes gives a host in a cluster: exactly those that it needs. Each
request is sent to a real API server with a host's own certificate."""

import base64
import json
from contextlib import contextmanager

from node.controlplane import Session, manifests
from node.waiting import eventually
from peer_files import KEY
from rig.case import case

HOST, OTHER = "rights01", "rights02"
USER = f"gpuhost:host:{HOST}"
OWN, OWN_STATUS = f"/api/v1/nodes/{HOST}", f"/api/v1/nodes/{HOST}/status"
CSR = ("certificates.k8s.io", "certificatesigningrequests")
ASKS = {CSR: {"create", "get", "list", "watch"}}
IS_HOST = {("", "nodes"): {"get", "list", "watch", "patch"}, ("", "nodes/status"): {"patch"},
           ("nvidia.com", "clusterpolicies"): {"get", "list", "watch"}, **ASKS}
EVENTS = {("", "events"): {"create"}}  # only in namespace default
# (name, user, group, its rights everywhere, those in namespace default)
WHO = (("host", USER, "gpuhost:hosts", IS_HOST, EVENTS),
       ("joining", "system:bootstrap:abcdef", "system:bootstrappers:gpuhost", ASKS, {}))
# Requests that each user may send about itself, by Kubernetes' own role system:basic-user.
BASIC_USER = {("authorization.k8s.io", "selfsubjectaccessreviews"): {"create"}, ("authorization.k8s.io", "selfsubjectrulesreviews"): {"create"},
             ("authentication.k8s.io", "selfsubjectreviews"): {"create"}}
CLOSED = ("/metrics", "/debug/pprof/", "/logs/", "/configz", "/flagz")

MERGE, STRATEGIC, JSON, APPLY = "merge-patch+json", "strategic-merge-patch+json", "json-patch+json", "apply-patch+yaml"


def labels(**changed):
    return {"metadata": {"labels": changed}}


def of_metadata(**changed):
    return {"metadata": changed}


def condition(kind, status="True"):
    return {"status": {"conditions": [{"type": kind, "status": status, "reason": "Tested", "message": "it is tested"}]}}


def taints(change):
    """Returns a function that makes a patch of a Node's taints. A list is written as a whole, so the patch
    names the version that was read: the controller manager changes taints, too."""
    def body(node):
        changed = change(node["spec"].get("taints", []))
        return {"metadata": {"resourceVersion": node["metadata"]["resourceVersion"]}, "spec": {"taints": changed}}
    return body


def taint(key, effect="NoSchedule", **more):
    return {"key": key, "effect": effect, **more}


def with_taint(*keys):
    return taints(lambda old: old + [taint(key) for key in keys])


def without_taint(*keys):
    return taints(lambda old: [one for one in old if one["key"] not in keys])


def as_is(node):
    """Returns the whole Node with a changed label, as clients send it that read, change and write."""
    return node | {"metadata": node["metadata"] | {"labels": node["metadata"]["labels"] | {"gpuhost.io/x": "4"}}}


# A Node before the host's first change.
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"labels": {"site": "a", "nvidia.com/mig.config": "all"}, "annotations": {"site": "a"}},
        "spec": {"taints": [taint("site"), taint("nvidia.com/gpu", "NoExecute", value="x")]}}
STATUS = {"capacity": {"cpu": "2", "memory": "16777216Ki", "nvidia.com/gpu": "8"}, "allocatable": {"cpu": "1500m", "nvidia.com/gpu": "8"},
          "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": HOST}],
          "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}, "volumesInUse": ["site/volume"],
          "nodeInfo": {"kernelVersion": "6.1.0", "osImage": "Site Linux"},
          "images": [{"names": [f"site/image{number}:{tag}" for tag in range(5)], "sizeBytes": 1 << 30} for number in range(50)],
          "runtimeHandlers": [{"name": "nvidia", "features": {"userNamespaces": True}}],
          "conditions": [{"type": kind, "status": "True", "reason": "Site", "message": "it is"} for kind in ("Ready", "site/Healthy", "DiskPressure")]}

TAINTS = ("gpuhost.io/not-ready", "gpuhost.io/gpu-unhealthy", "readiness.k8s.io/gpu", "startup-taint.cluster-autoscaler.kubernetes.io/gpu",
          "ignore-taint.cluster-autoscaler.kubernetes.io/gpu")
UPGRADE = ("nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable", "nvidia.com/gpu-driver-upgrade-wait-for-pod-completion-start-time",
           "nvidia.com/gpu-driver-upgrade-validation-start-time", "nvidia.com/gpu-driver-upgrade-requested")
GPU_LABELS = {f"nvidia.com/{name}": "1" for name in (
    "cuda.driver.major", "cuda.driver-version.full", "gpu.clique", "gpu.compute.major", "gpu.compute.minor", "gpu.count", "gpu.engines.copy",
    "gpu.engines.decoder", "gpu.engines.encoder", "gpu.engines.jpeg", "gpu.engines.ofa", "gpu.family", "gpu.machine", "gpu.memory", "gpu.mode",
    "gpu.multiprocessors", "gpu.product", "gpu.replicas", "gpu.sharing-strategy", "gpu.slices.ci", "gpu.slices.gi", "mig-1g.10gb.product",
    "mig.capable", "mig.strategy", "mps.capable", "vgpu.present")}
# Labels by which people configure NVIDIA's operands.
WISHES = ("mig.config", "vgpu.config", "device-plugin.config", "gpu.workload.config")
# Sent in this order: some rows change what earlier ones have set.
ALLOWED = (
    (OWN, MERGE, of_metadata(labels=GPU_LABELS, annotations={"gpuhost.io/gpu-labels": "nvidia.com/gpu.product"})),
    (OWN, MERGE, of_metadata(labels=dict.fromkeys(GPU_LABELS), annotations={"gpuhost.io/gpu-labels": None})),
    (OWN, MERGE, labels(**{"nvidia.com/gpu.present": "true", "gpuhost.io/x": "1"})),
    (OWN, STRATEGIC, labels(**{"nvidia.com/gpu.present": "false", "gpuhost.io/x": None})),
    (OWN, JSON, [{"op": "remove", "path": "/metadata/labels/nvidia.com~1gpu.present"}]),
    (OWN, APPLY, {"apiVersion": "v1", "kind": "Node"} | labels(**{"gpuhost.io/x": "2"})),
    (OWN_STATUS, MERGE, labels(**{"gpuhost.io/x": "3"})),
    (OWN, MERGE, as_is),
    (OWN, MERGE, of_metadata(annotations={"gpuhost.io/x": "1"})),
    (OWN, MERGE, of_metadata(annotations={"gpuhost.io/x": None})),
    (OWN, MERGE, labels(**{"nvidia.com/gpu-driver-upgrade-state": "upgrade-required", "nvidia.com/gpu.deploy.dcgm": "paused-for-driver-upgrade"})),
    (OWN, MERGE, of_metadata(annotations={name: "1" for name in UPGRADE})),
    (OWN, MERGE, {"spec": {"unschedulable": True}}),
    (OWN, MERGE, {"spec": {"unschedulable": None}}),
    (OWN, MERGE, labels(**{"nvidia.com/gpu-driver-upgrade-state": None, "nvidia.com/gpu.deploy.dcgm": None})),
    (OWN, MERGE, of_metadata(annotations={name: None for name in UPGRADE})),
    (OWN, MERGE, with_taint(*TAINTS)),
    (OWN, MERGE, taints(lambda old: [one | {"value": "y"} if one["key"] in TAINTS else one for one in old])),
    (OWN, MERGE, without_taint(*TAINTS)),
    (OWN_STATUS, STRATEGIC, condition("gpuhost.io/DriverReady")),
    (OWN_STATUS, STRATEGIC, condition("gpuhost.io/DriverReady", "False")),
    (OWN_STATUS, STRATEGIC, {"status": {"conditions": [{"type": "gpuhost.io/DriverReady", "$patch": "delete"}]}}),
    (OWN_STATUS, STRATEGIC, condition("gpuhost.io/GPUsHealthy")),
    (OWN_STATUS, STRATEGIC, {"status": {"conditions": [{"type": "gpuhost.io/GPUsHealthy", "$patch": "delete"}]}}),
)
# A host without labels, annotations and taints, as a kubelet of another system may make it.
BARE = (
    (OWN, MERGE, of_metadata(annotations={"gpuhost.io/x": "1"})),
    (OWN_STATUS, STRATEGIC, condition("gpuhost.io/DriverReady")),
    (OWN, MERGE, with_taint(TAINTS[0])),
    (OWN, MERGE, labels(**{"gpuhost.io/x": "1"})),
)
# Each rule of the policy: {start of its refusal: [(path, kind, body, a name in the refusal)]}
REFUSED = {
    "a host may change only its own Node": [
        (f"/api/v1/nodes/{OTHER}", MERGE, labels(**{"gpuhost.io/x": "1"}), OTHER),
        (f"/api/v1/nodes/{OTHER}", STRATEGIC, labels(**{"gpuhost.io/x": "1"}), OTHER),
        (f"/api/v1/nodes/{OTHER}", JSON, [{"op": "add", "path": "/metadata/labels/gpuhost.io~1x", "value": "1"}], OTHER),
        (f"/api/v1/nodes/{OTHER}", APPLY, {"apiVersion": "v1", "kind": "Node"} | labels(**{"gpuhost.io/x": "1"}), OTHER),
        (f"/api/v1/nodes/{OTHER}", MERGE, with_taint(TAINTS[0]), OTHER),
        (f"/api/v1/nodes/{OTHER}/status", STRATEGIC, condition("gpuhost.io/DriverReady"), OTHER),
        (f"/api/v1/nodes/{OTHER}/status", JSON, [{"op": "replace", "path": "/status/conditions", "value": []}], OTHER),
    ],
    "a host may change only labels and annotations of the metadata": [
        (OWN, MERGE, of_metadata(finalizers=["site/x"]), "finalizers"),
        (OWN_STATUS, MERGE, of_metadata(finalizers=["site/x"]), "finalizers"),
        (OWN, MERGE, of_metadata(ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": OTHER, "uid": "x"}]), "ownerReferences"),
    ],
    "a host may change only labels of GPUs, of their upgrades": [
        (OWN, MERGE, labels(site="b"), "site"),
        (OWN, MERGE, labels(site=None), "site"),
        (OWN, MERGE, labels(extra=""), "extra"),
        (OWN, JSON, [{"op": "replace", "path": "/metadata/labels", "value": {"gpuhost.io/x": "1"}}], "nvidia.com/mig.config"),
        (OWN, MERGE, of_metadata(labels=None), "nvidia.com/mig.config"),
        (OWN, STRATEGIC, labels(**{"gpuhost.io/x": "1", "nvidia.com/gfd.timestamp": "1"}), "nvidia.com/gfd.timestamp"),
        *((OWN, MERGE, labels(**{f"nvidia.com/{name}": "x"}), f"nvidia.com/{name}") for name in WISHES),
        (OWN, MERGE, labels(**{"nvidia.com/gpu.product.too": "x"}), "nvidia.com/gpu.product.too"),
        (OWN, MERGE, labels(**{"feature.node.kubernetes.io/pci-10de.present": "true"}), "feature.node.kubernetes.io/pci-10de.present"),
        (OWN, MERGE, labels(**{"nvidia.com/gpu.present.too": "true"}), "nvidia.com/gpu.present.too"),
        (OWN, MERGE, labels(**{"nvidia.com/gpu-driver-upgrade.skip": "true"}), "nvidia.com/gpu-driver-upgrade.skip"),
        (OWN, MERGE, labels(**{"nvidia.com/gpu.deploy": "true"}), "nvidia.com/gpu.deploy"),
        (OWN, MERGE, labels(**{"gpuhost.iox/x": "1"}), "gpuhost.iox/x"),
        (OWN, MERGE, labels(**{"gpuhost.io": "1"}), "gpuhost.io"),
        (OWN, MERGE, labels(**{"sub.gpuhost.io/x": "1"}), "sub.gpuhost.io/x"),
        (OWN, MERGE, labels(**{"node-role.kubernetes.io/control-plane": ""}), "node-role.kubernetes.io/control-plane"),
        (OWN, MERGE, labels(**{"node-restriction.kubernetes.io/x": ""}), "node-restriction.kubernetes.io/x"),
        (OWN_STATUS, MERGE, labels(site="b"), "site"),
        (OWN, APPLY, {"apiVersion": "v1", "kind": "Node"} | labels(site="b"), "site"),
    ],
    "a host may change only annotations of GPU upgrades": [
        (OWN, MERGE, of_metadata(annotations={"site": "b"}), "site"),
        (OWN, MERGE, of_metadata(annotations=None), "site"),
        (OWN, MERGE, of_metadata(annotations={"nvidia.com/gpu.present": "true"}), "nvidia.com/gpu.present"),
        (OWN, MERGE, of_metadata(annotations={"nvidia.com/gpu-driver-upgrade-enabled": "true"}), "nvidia.com/gpu-driver-upgrade-enabled"),
        (OWN_STATUS, STRATEGIC, of_metadata(annotations={"node.alpha.kubernetes.io/ttl": "9"}), "node.alpha.kubernetes.io/ttl"),
    ],
    "a host may change only taints and unschedulable of the spec": [
        (OWN, MERGE, {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}}, "podCIDR"),
        (OWN, MERGE, {"spec": {"providerID": "site://x"}}, "providerID"),
    ],
    "a host may change only the taints": [
        (OWN, MERGE, with_taint("node.kubernetes.io/unschedulable"), "node.kubernetes.io/unschedulable:NoSchedule"),
        (OWN, MERGE, with_taint("gpuhost.iox/x"), "gpuhost.iox/x"),
        (OWN, MERGE, with_taint(TAINTS[0], "extra"), "extra"),
        (OWN, MERGE, without_taint("site"), "site:NoSchedule"),
        (OWN, MERGE, taints(lambda _: []), "site:NoSchedule"),
        (OWN, JSON, [{"op": "remove", "path": "/spec/taints"}], "site:NoSchedule"),
        (OWN, MERGE, taints(lambda old: [one | {"effect": "PreferNoSchedule"} if one["key"] == "site" else one for one in old]), "site:PreferNoSchedule"),
        (OWN, MERGE, taints(lambda old: [one | {"value": "z"} if one["key"] == "nvidia.com/gpu" else one for one in old]), "nvidia.com/gpu"),
        (OWN, MERGE, taints(lambda old: old[::-1]), "not the order of others"),
    ],
    "a host may change only conditions gpuhost.io/": [
        (OWN_STATUS, STRATEGIC, condition("Ready", "False"), "Ready"),
        (OWN_STATUS, STRATEGIC, condition("gpuhost.iox/DriverReady"), "gpuhost.iox/DriverReady"),
        (OWN_STATUS, STRATEGIC, {"status": {"conditions": [{"type": "site/Healthy", "$patch": "delete"}]}}, "site/Healthy"),
        (OWN_STATUS, MERGE, condition("gpuhost.io/DriverReady"), "site/Healthy"),
        (OWN_STATUS, MERGE, {"status": {"conditions": None}}, "site/Healthy"),
    ],
    "a host may change only conditions of the status": [
        (OWN_STATUS, MERGE, {"status": {"capacity": {"nvidia.com/gpu": "16"}}}, "capacity"),
        (OWN_STATUS, MERGE, {"status": {"capacity": {"nvidia.com/gpu": None}}}, "capacity"),
        (OWN_STATUS, MERGE, {"status": {"allocatable": {"nvidia.com/gpu": "16"}}}, "allocatable"),
        (OWN_STATUS, STRATEGIC, {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}}, "addresses"),
        (OWN_STATUS, MERGE, {"status": {"nodeInfo": {"kernelVersion": "x"}}}, "nodeInfo"),
        (OWN_STATUS, MERGE, {"status": {"images": None}}, "images"),
        (OWN_STATUS, MERGE, {"status": {"volumesInUse": []}}, "volumesInUse"),
        (OWN_STATUS, MERGE, {"status": {"volumesAttached": [{"name": "site/x", "devicePath": "/dev/x"}]}}, "volumesAttached"),
        (OWN_STATUS, MERGE, {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}}, "daemonEndpoints"),
        (OWN_STATUS, MERGE, {"status": {"phase": "Terminated"}}, "phase"),
        (OWN_STATUS, MERGE, {"status": {"runtimeHandlers": [{"name": "site"}]}}, "runtimeHandlers"),
        (OWN_STATUS, MERGE, {"status": {"features": {"supplementalGroupsPolicy": True}}}, "features"),
        (OWN_STATUS, MERGE, {"status": {"declaredFeatures": ["Extra"]}}, "declaredFeatures"),
    ],
}
# A path writes only its own half of the object; the other half is silently ignored.
DROPPED = (
    (OWN, MERGE, {"status": {"capacity": {"nvidia.com/gpu": "16"}}}),
    (OWN_STATUS, MERGE, {"spec": {"unschedulable": True}}),
)


def send(session, path, kind, body):
    """Sends a patch for the newest version of the Node; returns (status, message)."""
    def once():
        made = body(session.ask("GET", path.removesuffix("/status"))[1]) if callable(body) else body
        status, document = session.ask("PATCH", path + ("?fieldManager=rights&force=true" if kind == APPLY else ""), made, kind)
        return None if callable(body) and status == 409 else (status, document.get("message", ""))
    return eventually(f"{path} is not changed by another client meanwhile", once)


def check_allowed(session, rows):
    refused = [f"{path} {kind} {body}: {status} {message}" for path, kind, body in rows
               for status, message in [send(session, path, kind, body)] if status != 200]
    assert not refused, "\n".join(refused)


def check_refused(session):
    wrong = []
    for words, rows in REFUSED.items():
        for path, kind, body, named in rows:
            status, message = send(session, path, kind, body)
            _, _, refusal = message.partition("denied request: ")
            if status != 403 or not refusal.startswith(words) or named not in refusal:
                wrong.append(f"{words}, {named}: {status} {message}")
    assert not wrong, "\n".join(wrong)


def make_nodes(plane):
    admin = Session(plane, "admin")
    for name in (HOST, OTHER):
        plane.kubectl("delete", "node", name, "--ignore-not-found")
        plane.apply(NODE | {"metadata": NODE["metadata"] | {"name": name}})
        status, answer = admin.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": STATUS}, MERGE)
        assert status == 200, answer


def known(plane, name):
    """Returns a Node without the parts that the controller manager changes."""
    node = plane.get("node", name)
    kept = {key: node["metadata"].get(key) for key in ("labels", "annotations", "finalizers", "ownerReferences")}
    site = lambda rows, key: [row for row in rows if "/" in row[key] and "node.kubernetes.io/" not in row[key]]  # noqa: E731
    return {"metadata": kept, "spec": node["spec"] | {"taints": site(node["spec"].get("taints", []) + [taint("site/x")], "key")},
            "status": node["status"] | {"conditions": site(node["status"]["conditions"], "type")}}


def has_policy(plane, session, wanted):
    """Waits until the API server applies the policy, or no longer does; this lasts a while."""
    def refuses():
        status, _ = send(session, f"/api/v1/nodes/{OTHER}", MERGE, labels(**{"gpuhost.io/tried": "1"}))
        send(Session(plane, "admin"), f"/api/v1/nodes/{OTHER}", MERGE, labels(**{"gpuhost.io/tried": None}))
        return (status == 403) == wanted
    eventually(f"the policy is {'applied' if wanted else 'no longer applied'}", refuses)


@contextmanager
def rights(host):
    """Yields (the control plane with two Nodes, a host's session)."""
    plane = host.controlplane
    make_nodes(plane)
    for name, user, group, *_ in WHO:
        plane.identity(name, user, group)
    session = Session(plane, "host")
    has_policy(plane, session, True)
    try:
        yield plane, session
    finally:
        plane.kubectl("delete", "node", HOST, OTHER, "--ignore-not-found")


@case("a host's rights: the admission policies have no type warnings", start="kubernetes")
def no_warning(host):
    with rights(host) as (plane, _):
        def status(name):
            policy = plane.get("validatingadmissionpolicy", name)
            return policy["status"] if policy.get("status", {}).get("observedGeneration") == policy["metadata"]["generation"] else None
        for name in ("gpuhost-host", "gpuhost-leases", "gpuhost-events", "gpuhost-requests"):
            warnings = eventually(f"{name}'s types are checked", lambda: status(name)).get("typeChecking", {}).get("expressionWarnings")  # noqa: B023 pylint: disable=cell-var-from-loop
            assert not warnings, json.dumps(warnings, indent=1)


@case("a host's rights: each needed change of its Node is accepted", start="kubernetes")
def own_node(host):
    with rights(host) as (plane, session):
        before = known(plane, HOST)
        check_allowed(session, ALLOWED)
        after = known(plane, HOST)
        assert after["metadata"]["labels"].pop("gpuhost.io/x") == "4"
        assert after == before, f"{before}\n{after}"
        plane.kubectl("label", "node", HOST, "gpuhost.io/x=5", "--overwrite", identity=plane.state / "host.kubeconfig")
        Session(plane, "admin").ask("PATCH", OWN, {"metadata": {"labels": None, "annotations": None}, "spec": {"taints": None}}, MERGE)
        check_allowed(session, BARE)


@case("a host's rights: each other change of a Node is refused", start="kubernetes")
def rest_of_nodes(host):
    with rights(host) as (plane, session):
        before = [known(plane, name) for name in (HOST, OTHER)]
        check_refused(session)
        check_allowed(session, DROPPED)
        assert [known(plane, name) for name in (HOST, OTHER)] == before, "a refused change was applied"
        cordon = plane.ask("cordon", OTHER, identity=plane.state / "host.kubeconfig")
        assert "a host may change only its own Node" in cordon.stderr, cordon.stderr
        status, message = send(session, "/api/v1/nodes/rights03", APPLY, {"apiVersion": "v1", "kind": "Node"} | of_metadata(name="rights03"))
        assert status == 403 and "cannot create" in message, f"a Node that does not exist: {status} {message}"


def resources(admin):
    """Returns (path of its version, group, its entry in discovery) of each resource, in each version of
    each group."""
    groups = admin.ask("GET", "/apis")[1]["groups"]
    versions = [("/api/v1", "")] + [(f"/apis/{one['groupVersion']}", group["name"]) for group in groups for one in group["versions"]]
    return [(path, group, one) for path, group in versions for one in admin.ask("GET", path)[1]["resources"]]


def attempts(path, resource):
    """Yields (verb, method, URL) for each verb of RBAC, also for verbs that the resource does not support."""
    name, _, sub = resource["name"].partition("/")
    collection = f"{path}/namespaces/default/{name}" if resource["namespaced"] else f"{path}/{name}"
    one = f"{collection}/{HOST}" + (f"/{sub}" if sub else "")
    yield from (("get", "GET", one), ("update", "PUT", one), ("patch", "PATCH", one), ("delete", "DELETE", one))
    if sub:
        yield "create", "POST", one
        return
    everywhere = f"{path}/{name}"
    yield from (("create", "POST", collection), ("deletecollection", "DELETE", collection), ("list", "GET", collection), ("list", "GET", everywhere),
                ("watch", "GET", f"{collection}?watch=1&timeoutSeconds=1"), ("watch", "GET", f"{everywhere}?watch=1&timeoutSeconds=1"))


def sweep(admin, session, user, granted):
    """Sends each attempt and expects that exactly the granted ones are permitted. Returns their number."""
    wrong, count = [], 0
    for path, group, resource in resources(admin):
        for verb, method, url in attempts(path, resource):
            kind = {"PATCH": MERGE}.get(method, "json")
            status, document = session.ask(method, url, None if method == "GET" else {}, kind)
            message = document.get("message", "")
            expected = verb in granted.get((group, resource["name"]), ())
            refused = status == 403 and f'User "{user}" cannot {verb} resource "{resource["name"]}" in API group "{group}"' in message
            count += 1
            if refused == expected or (not refused and status == 403 and "denied request" not in message):
                wrong.append(f"{method} {url}: {status} {message}")
    assert not wrong, "\n".join(wrong)
    return count


def rules(session):
    """Returns {(group, resource): verbs} as the server reports them, also verbs without a path: approve,
    sign, impersonate, bind."""
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "kube-system"}}
    status, answer = session.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review)
    assert status == 201, answer
    assert all(set(rule["verbs"]) == {"get"} for rule in answer["status"]["nonResourceRules"]), answer
    assert not any(rule.get("resourceNames") for rule in answer["status"]["resourceRules"]), answer
    found = {}
    for rule in answer["status"]["resourceRules"]:
        for key in ((group, name) for group in rule["apiGroups"] for name in rule["resources"]):
            found.setdefault(key, set()).update(rule["verbs"])
    return found


@case("a host's rights: each other request to the API server is forbidden", start="kubernetes")
def nothing_else(host):
    with rights(host) as (plane, _):
        admin = Session(plane, "admin")
        for name, user, _, own, here in WHO:
            session = Session(plane, name)
            granted = own | BASIC_USER
            assert rules(session) == granted, rules(session)
            count = sweep(admin, session, user, granted | here)
            assert count > 800, count
            for path in CLOSED:
                status, document = session.ask("GET", path)
                assert status == 403 and f'cannot get path "{path}"' in document["message"], f"{path}: {status} {document}"
            for header, value in (("Impersonate-User", "admin"), ("Impersonate-User", f"gpuhost:host:{OTHER}")):
                status, document = session.ask("GET", "/api/v1/nodes", **{header: value})
                assert status == 403 and "cannot impersonate" in document["message"], f"{value}: {status} {document}"


LEASES = "/apis/coordination.k8s.io/v1/namespaces/gpuhost/leases"


def lease(name, holder, **spec):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": {"holderIdentity": holder} | spec}


OWN_GRANT, OTHERS_GRANT = f"gpuhost-upgrade-{HOST}", f"gpuhost-upgrade-{OTHER}"
RENEWED = {"spec": {"renewTime": "2026-11-23T16:00:00.000000Z"}}
# (method, Lease, body, the refusal for a host, the refusal for a candidate); None: permitted
GRANTS = (
    ("PATCH", OWN_GRANT, RENEWED, None, None),
    ("PATCH", OWN_GRANT, {"metadata": {"annotations": {"gpuhost.io/x": "1"}}}, None, None),
    ("PATCH", OWN_GRANT, {"spec": {"leaseDurationSeconds": 100000}}, "a host may change only renewTime of its grant", "a host may change only renewTime of its grant"),
    ("PATCH", OWN_GRANT, {"spec": {"holderIdentity": OTHER}}, "a host may change only renewTime of its grant", "a host may change only renewTime of its grant"),
    ("PATCH", OTHERS_GRANT, RENEWED, "only its own grant", "a candidate may acquire gpuhost-leader for itself"),
    ("PATCH", "gpuhost-leader", {"spec": {"holderIdentity": HOST}}, "only its own grant", None),
    ("PATCH", "gpuhost-leader", {"spec": {"holderIdentity": OTHER}}, "only its own grant", "a candidate may acquire gpuhost-leader for itself"),
    ("PATCH", "gpuhost-rollout", {"metadata": {"annotations": {"gpuhost.io/wait-reasons": "{}"}}}, "only its own grant", None),
    ("PATCH", "site", RENEWED, "only its own grant", "a candidate may acquire gpuhost-leader for itself"),
    ("POST", "gpuhost-upgrade-x", lease("gpuhost-upgrade-x", "x"), "cannot create", None),
    ("POST", "gpuhost-upgrade-y", lease("gpuhost-upgrade-y", HOST), "cannot create", "a candidate may create grants"),
    ("POST", "site2", lease("site2", HOST), "cannot create", "a candidate may create grants"),
    ("DELETE", "site", None, "only its own grant", "a candidate may delete only grants"),
    ("DELETE", "gpuhost-leader", None, "only its own grant", "a candidate may delete only grants"),
    ("DELETE", OTHERS_GRANT, None, "only its own grant", None),
    ("DELETE", OWN_GRANT, None, None, None),
)


def try_leases(session, column):
    wrong = []
    for method, name, body, *refusals in GRANTS:
        path = (LEASES if method == "POST" else f"{LEASES}/{name}") + "?dryRun=All"
        status, answer = session.ask(method, path, body, MERGE if method == "PATCH" else "json")
        message = answer.get("message", "")
        if status not in ((200, 201) if refusals[column] is None else (403,)) or (refusals[column] or "") not in message:
            wrong.append(f"{method} {name} {body}: {status} {message}")
    assert not wrong, "\n".join(wrong)


@case("a host's rights: a host renews its grant, a candidate manages grants", start="kubernetes")
def leases(host):
    with rights(host) as (plane, session):
        made = [lease(name, holder) for name, holder in ((OWN_GRANT, HOST), (OTHERS_GRANT, OTHER), ("gpuhost-leader", OTHER),
                                                         ("gpuhost-rollout", OTHER), ("site", "site"))]
        plane.apply(*[one | {"metadata": one["metadata"] | {"namespace": "gpuhost"}} for one in made])
        try:
            try_leases(session, 0)
            plane.kubectl("create", "rolebinding", "-n", "gpuhost", "candidate", "--role=gpuhost-candidate", f"--user={USER}")
            try_leases(session, 1)
            status, answer = session.ask("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", lease(OWN_GRANT, HOST))
            assert status == 403 and "cannot create" in answer["message"], answer
        finally:
            plane.kubectl("delete", "rolebinding", "-n", "gpuhost", "candidate", "--ignore-not-found")
            plane.kubectl("delete", "lease", "-n", "gpuhost", "--all")


def event(kind, name, reason):
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"generateName": "x.", "namespace": "default"}, "reason": reason, "message": "x",
            "involvedObject": {"apiVersion": "v1", "kind": kind, "name": name}, "type": "Normal", "source": {"component": "gpuhost-cluster"}}


@case("a host's rights: it creates its Node's events, reads the policy only", start="kubernetes")
def events_and_policy(host):
    with rights(host) as (plane, session):
        for body, refusal in ((event("Node", HOST, "GPUDriverUpgrade"), None), (event("Node", HOST, "GPUHealth"), None), (event("Node", OTHER, "GPUDriverUpgrade"), "only events of its own Node"),
                           (event("Pod", HOST, "GPUDriverUpgrade"), "only events of its own Node"), (event("Node", HOST, "NodeReady"), "only events with the reasons GPUDriverUpgrade")):
            status, answer = session.ask("POST", "/api/v1/namespaces/default/events?dryRun=All", body)
            assert status == (403 if refusal else 201) and (refusal or "") in answer.get("message", ""), f"{body}: {status} {answer}"
        maps = "/api/v1/namespaces/gpuhost/configmaps"
        for path, good in ((f"{maps}/gpuhost-policy", 404), (f"{maps}?fieldSelector=metadata.name%3Dgpuhost-policy", 200), (f"{maps}/site", 403), (maps, 403)):
            status, answer = session.ask("GET", path)
            assert status == good, f"{path}: {status} {answer}"


def certificate_request(plane, name, signer, usages):
    plane.openssl("req", *KEY, "-subj", f"/O=gpuhost:hosts/CN={USER}", "-keyout", "asked.key", "-out", "asked.csr")
    return {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
            "spec": {"signerName": signer, "usages": usages, "request": base64.b64encode((plane.pki / "asked.csr").read_bytes()).decode()}}


CLIENT = ("kubernetes.io/kube-apiserver-client", ["digital signature", "client auth"])
# (identity, the request's name, its signer and usages, its refusal); None: permitted
REQUESTS = (
    ("host", f"gpuhost-{HOST}-1", *CLIENT, None),
    ("joining", f"gpuhost-{HOST}-1", *CLIENT, None),
    ("host", f"gpuhost-{OTHER}-1", *CLIENT, "certificate request must be named"),
    ("joining", "site-1", *CLIENT, "certificate request must be named"),
    ("host", f"gpuhost-{HOST}-1", "kubernetes.io/kubelet-serving", ["digital signature", "server auth"], "a host may request certificates only from kubernetes.io/kube-apiserver-client"),
    ("joining", f"gpuhost-{HOST}-1", "kubernetes.io/kube-apiserver-client-kubelet", ["digital signature", "client auth"],
     "a host may request certificates only from kubernetes.io/kube-apiserver-client"),
    ("joining", f"gpuhost-{HOST}-1", CLIENT[0], ["client auth", "cert sign"], "a host may request only client certificates"),
)


@case("a host's rights: it requests only client certificates by its own name", start="kubernetes")
def requests(host):
    with rights(host) as (plane, _):
        for who, name, signer, usages, refusal in REQUESTS:
            body = certificate_request(plane, name, signer, usages)
            status, answer = Session(plane, who).ask("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All", body)
            assert status == (403 if refusal else 201) and (refusal or "") in answer.get("message", ""), f"{who} {name} {signer} {usages}: {status} {answer}"


@case("a host's rights: without admission policies each needed change is accepted", start="kubernetes")
def no_policy(host):
    with rights(host) as (plane, session):
        plane.kubectl("delete", "-f", manifests() / "host-policy.yaml")
        try:
            has_policy(plane, session, False)
            check_allowed(session, ALLOWED)
        finally:
            plane.kubectl("apply", "-f", manifests() / "host-policy.yaml")
            has_policy(plane, session, True)
