# SPDX-License-Identifier: Apache-2.0
"""Runtimes and clients pull a bundle's images as from their own registry."""

import hashlib
import json
import re
import time
from functools import partial

import programs
from node import binaries, sandbox
from node.gpuhost import PORT
from node.kubelet import POLICIES
from node.site import PAUSE, REGISTRY
from node.waiting import eventually
from rig.case import case

APP = f"{REGISTRY}/team/app"
MOVED = f"{REGISTRY}/team/moved:latest"
MANY = f"{REGISTRY}/team/many"
EXTRA = f"{REGISTRY}/team/extra:v1"
LIBRARY = "docker.io/library/plain:1"
GO_DIAL_TIMEOUT = 30  # seconds; containerd's default, if hosts.toml sets none
BY_PATH = f"127.0.0.1:{PORT}"  # for clients that name this registry itself, with the image's registry in the path


def bundle(host, generation, moved):
    host.site.index("many-1")
    return host.site.bundle("site", generation, {
        f"{APP}:v1": "app-1", f"{MANY}:v1": "many-1", MOVED: moved, LIBRARY: "plain-1"})


def check_runs(host, image, policy, version):
    """Expects that a pod of the image runs this version, by its output and by the kubelet's status."""
    with host.kubelet.pod(image, policy) as pod:
        seen = pod.runs()["imageID"]
        assert pod.output() == version, f"{image} under {policy} is {pod.output()}, not {version}"
        assert seen.endswith((host.site.image(version), host.site.config(version))), f"{image} under {policy} is {seen}"


@case("an imported bundle configures the runtimes to use its registry", start="node", makes="registry")
def serve(host):
    host.daemon.ctl("bundle", "import", bundle(host, 1, "moved-1"))
    assert sorted(path.name for path in host.daemon.certs.iterdir()) == ["docker.io", REGISTRY]


def check_pod(host, policy, image):
    host.containerd.forget(image)
    if policy == "Never":
        host.containerd.cri("pull", image)
    check_runs(host, image, policy, "app-1")


def register_pods():
    for policy in POLICIES:
        case(f"a pod by tag runs under {policy}", start="registry")(partial(check_pod, policy=policy, image=f"{APP}:v1"))
        case(f"a pod by digest runs under {policy}", start="registry")(
            lambda host, policy=policy: check_pod(host, policy, f"{APP}@{host.site.image('app-1')}"))


register_pods()


@case("a pod of a multi-platform image gets the image of this platform", start="registry")
def many(host):
    for image in f"{MANY}:v1", f"{MANY}@{host.site.image('many-1')}":
        host.containerd.forget(image)
        check_runs(host, image, "Always", "many-1")


@case("a pod with a short image name gets the image of docker.io", start="registry")
def short_name(host):
    check_runs(host, "plain:1", "Always", "plain-1")


@case("an image in no bundle is not found, reported by the pod", start="registry")
def absent(host):
    with host.kubelet.pod(f"{APP}:v2", "Always") as pod:
        message = pod.waits_for("ErrImagePull")
        assert "not found" in message and "network is unreachable" not in message, message


@case("images that the image GC removed are pulled again, also the sandbox's", start="registry")
def removed(host):
    check_runs(host, f"{APP}:v1", "IfNotPresent", "app-1")
    for image in f"{APP}:v1", PAUSE:
        host.containerd.forget(image)
        assert not host.containerd.cri("status", image).get("image"), f"{image} is still there"
    with host.kubelet.pod(f"{APP}:v1", "Never") as pod:
        pod.waits_for("ErrImageNeverPull")
    check_runs(host, f"{APP}:v1", "IfNotPresent", "app-1")


@case("only pods under Always get the new image of a moved tag", start="registry")
def moved(host):
    host.containerd.forget(MOVED)
    with host.kubelet.pod(MOVED, "Always") as before:
        assert before.output() == "moved-1"
        delta = host.site.delta(bundle(host, 1, "moved-1"), bundle(host, 2, "moved-2"), 2)
        host.daemon.ctl("bundle", "import", delta)
        check_runs(host, MOVED, "IfNotPresent", "moved-1")
        check_runs(host, MOVED, "Always", "moved-2")
        assert before.container()["state"].get("running"), f"the pod before: {before.container()}"


@case("a removed bundle's pods continue, new pods under Always fail", start="registry")
def bundle_removed(host):
    host.daemon.ctl("bundle", "import", host.site.bundle("extra", 1, {EXTRA: "extra-1"}))
    with host.kubelet.pod(EXTRA, "Always") as before:
        assert before.output() == "extra-1"
        host.daemon.ctl("bundle", "remove", "extra")
        with host.kubelet.pod(EXTRA, "Always") as after:
            after.waits_for("ErrImagePull")
        check_runs(host, EXTRA, "IfNotPresent", "extra-1")
        assert before.container()["state"].get("running"), f"{before.container()}"
    check_runs(host, PAUSE, "Always", "pause")


def check_pulls(host, containerd):
    digest = host.site.image("app-1")
    for image in f"{APP}@{digest}", f"{APP}:v1":
        containerd.forget(image)
        containerd.cri("pull", image)
        found = containerd.cri("status", image)["image"]
        assert found["id"] == host.site.config("app-1") and f"{APP}@{digest}" in found["repo_digests"], f"{found}"
    assert containerd.output_of(f"{APP}:v1") == "app-1\n"


@case("containerd 1.6 and 1.7 pull over CRI by digest and tag", start="registry")
def containerd1(host):
    check_pulls(host, host.containerd16)
    check_pulls(host, host.containerd17)


def ask(*words, **more):
    done = programs.run([str(word) for word in words], env=programs.environment(**more))
    assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}"
    return done.stdout


@case("OCI's conformance test passes for a read-only registry", start="registry")
def conformance(host):
    """Reads the test's output, because without a push it crashes when it writes its reports."""
    manifest, index = host.site.image("app-1"), host.site.index("many-1")
    document = host.site.document(manifest)
    blobs = [document["config"]["digest"], *(layer["digest"] for layer in document["layers"])]
    for repository, digest in (APP, manifest), (MANY, index):
        done = programs.run(
            [binaries.built(binaries.CONFORMANCE) / "conformance"], env=programs.environment(
                OCI_RESULTS_DIR=str(host.work / "conformance"), OCI_REGISTRY=BY_PATH, OCI_TLS="disabled", OCI_REPO1=repository,
                OCI_API_PUSH="false", OCI_API_BLOBS_DELETE="false", OCI_API_MANIFESTS_DELETE="false", OCI_API_TAGS_DELETE="false",
                OCI_RO_DATA_TAGS="v1", OCI_RO_DATA_MANIFESTS=digest, OCI_RO_DATA_BLOBS=" ".join(blobs), OCI_RO_DATA_REFERRERS=digest))
        counts = {word: int(count) for word, count in re.findall(r"^ *(\w+)\.+: +(\d+)$", done.stdout, re.M)}
        assert counts["Pass"] >= 18 and counts["FAIL"] == counts["Error"] == 0, done.stdout


@case("crane lists, resolves and pulls an image", start="registry")
def crane(host):
    program, image, pulled = host.tools / "crane", f"{BY_PATH}/{APP}:v1", host.work / "crane"
    assert ask(program, "ls", "--insecure", f"{BY_PATH}/{APP}").split() == ["v1"]
    assert ask(program, "digest", "--insecure", image).strip() == host.site.image("app-1")
    ask(program, "pull", "--insecure", "--format=oci", image, pulled)
    assert json.loads((pulled / "index.json").read_text())["manifests"][0]["digest"] == host.site.image("app-1")
    assert len(list((pulled / "blobs/sha256").iterdir())) == 4, "a manifest, a configuration, two layers"


@case("skopeo copies an image from the registry", start="registry")
def skopeo(host):
    copied = host.work / "from-registry"
    ask("skopeo", "copy", "--insecure-policy", "--src-tls-verify=false", f"docker://{BY_PATH}/{APP}:v1", f"dir:{copied}")
    manifest = (copied / "manifest.json").read_bytes()
    assert "sha256:" + hashlib.sha256(manifest).hexdigest() == host.site.image("app-1")
    assert len(json.loads(manifest)["layers"]) == 2


@case("skopeo still reads images of another port of a mirrored host", start="registry")
def other_port(host):
    host.daemon.configure(upstream="yes")
    host.daemon.ctl("reload")
    host.daemon.ctl("bundle", "import", host.site.bundle("local", 1, {"localhost/app:v1": "app-1"}))
    try:
        inspect = "skopeo", "--registries-conf", host.daemon.registries_conf, "inspect"
        mirrored = ask(*inspect, "--raw", "docker://localhost/app:v1")
        assert "sha256:" + hashlib.sha256(mirrored.encode()).hexdigest() == host.site.image("app-1")
        # Our registry also listens on that port, where it serves the image by this path.
        ask(*inspect, "--tls-verify=false", f"docker://localhost:{PORT}/{APP}:v1")
    finally:
        host.daemon.ctl("bundle", "remove", "local")
        host.daemon.configure()
        host.daemon.ctl("reload")
        host.daemon.ctl("apply")


@case("podman pulls an image from the registry and runs it", start="registry")
def podman(host):
    state = host.place.state / "podman"
    state.mkdir()
    (state / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    settings = {"CONTAINERS_REGISTRIES_CONF": str(host.daemon.registries_conf), "TMPDIR": str(state)}
    own = ["podman", "--root", state / "root", "--runroot", state / "run", "--tmpdir", state, "--cgroup-manager=cgroupfs",
           "--events-backend=none", "--runtime=runc", "--storage-driver=overlay"]

    def ask_podman(*words):
        return ask(*own, *words, **settings)

    ask_podman("pull", "--quiet", "--signature-policy", state / "policy.json", f"{APP}:v1")
    assert ask_podman("inspect", "--format", "{{.Digest}}", f"{APP}:v1").strip() == host.site.image("app-1")
    ask_podman("run", "--detach", "--name=once", "--network=none", f"--cgroup-parent={host.cgroup.name}",
               "--log-driver=k8s-file", f"{APP}:v1")
    try:
        eventually("podman's container prints a line", lambda: ask_podman("logs", "once") == "app-1\n")
    finally:
        ask_podman("rm", "--force", "--time=0", "once")


def turn_upstream_on(host):
    host.daemon.configure(upstream="yes")
    host.daemon.end()
    host.daemon.run()
    host.daemon.ctl("apply")


@case("with Upstream=yes runtimes try the image's own registry last", start="registry")
def upstream(host):
    turn_upstream_on(host)
    for containerd in host.runtimes:
        containerd.forget(f"{APP}:v1")
        containerd.cri("pull", f"{APP}:v1")
        before = containerd.log.stat().st_size
        answer = containerd.ask_cri("pull", f"{APP}:v2")
        asked = answer.stderr + containerd.log.read_text()[before:]  # some report the first registry, some the last
        assert answer.returncode != 0 and f"https://{REGISTRY}/v2/team/app/manifests/v2" in asked, f"{containerd.name}: {asked}"


@case("a silent registry delays no bundle image, other pulls fail soon", start="registry")
def silent(host):
    """Tries the missing image only with the newest containerd: an old one waits half a minute for each
    request, which no setting shortens."""
    turn_upstream_on(host)
    with sandbox.silent_server(REGISTRY) as server:
        for containerd in host.runtimes:
            containerd.forget(f"{APP}:v1")
            containerd.cri("pull", f"{APP}:v1")
        assert not server.was_asked(), "a pull of a bundle's image reached the upstream registry"
        begin = time.monotonic()
        answer = host.containerd.ask_cri("pull", f"{APP}:v2")
        took = time.monotonic() - begin
        assert answer.returncode != 0 and server.was_asked(), answer.stderr
        assert took < GO_DIAL_TIMEOUT, f"{took} s: {answer.stderr}"


@case("an idle registry ends, the next pull starts it again", start="registry")
def started_again(host):
    eventually("the registry ends", lambda: not host.registry.is_running())  # containerd closes its connection after half a minute
    before = host.registry.starts
    host.containerd.forget(f"{APP}:v1")
    check_runs(host, f"{APP}:v1", "Always", "app-1")
    assert host.registry.starts == before + 1, f"started {host.registry.starts - before} times"
