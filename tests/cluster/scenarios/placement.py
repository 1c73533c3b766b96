# SPDX-License-Identifier: Apache-2.0
"""Pinned images: they are placed in the runtimes before their first use, and stay there."""

import json

from node.kubelet import POLICIES
from node.site import REGISTRY
from node.waiting import eventually
from rig.case import case

from .registry import check_runs

PINNED = f"{REGISTRY}/pinned/app:v1"
MOVING = f"{REGISTRY}/pinned/moving:latest"
MANY = f"{REGISTRY}/pinned/many:v1"
CRIO = f"{REGISTRY}/crio/app"
KEPT, TAKEN = f"{REGISTRY}/collected/kept", f"{REGISTRY}/collected/taken"


def image_ctl(host, *words):
    return host.daemon.ctl("image", *words, f"--root={host.daemon.root}")


def status(containerd, image):
    return containerd.cri("status", image).get("image")


def check_pinned(containerd, image):
    """Waits until CRI reports the pin, which containerd updates by an event. containerd 1.6 has no pins."""
    eventually(f"{containerd.name} reports {image} as pinned", lambda: status(containerd, image).get("pinned"))


@case("pinned images are in each containerd before a pod uses them", start="registry", makes="pinned")
def pin(host):
    for containerd in host.runtimes:
        host.daemon.shows("Containerd", containerd)
    host.daemon.ctl("bundle", "import", host.site.bundle("pinned", 1, {PINNED: "pinned-1", MOVING: "moving-1"}))
    assert not status(host.containerd, PINNED)
    image_ctl(host, "pin", PINNED, f"{REGISTRY}/pinned/mov*")
    for containerd in host.runtimes:
        for image, version in (PINNED, "pinned-1"), (MOVING, "moving-1"):
            assert status(containerd, image)["id"] == host.site.config(version), f"{containerd.name}: {image}"
        if containerd is not host.containerd16:
            check_pinned(containerd, PINNED)
    check_runs(host, PINNED, "Never", "pinned-1")
    assert "6 images in 3 runtimes" in host.daemon.ctl("status"), host.daemon.ctl("status")


@case("image pull places only pinned images that are missing or updated", start="pinned")
def placed_again(host):
    def states():
        return sorted({image["state"] for image in json.loads(image_ctl(host, "pull", "--json"))["images"]})
    assert states() == ["present"]
    for containerd in host.runtimes:
        containerd.forget(PINNED)
    assert states() == ["placed", "present"]
    check_runs(host, PINNED, "Never", "pinned-1")
    host.daemon.ctl("bundle", "import", host.site.bundle("pinned", 2, {PINNED: "pinned-1", MOVING: "moving-2"}))
    assert states() == ["placed", "present"]
    for containerd in host.runtimes:
        assert status(containerd, MOVING)["id"] == host.site.config("moving-2"), containerd.name
    assert status(host.containerd, MOVING).get("pinned")
    check_runs(host, MOVING, "Never", "moving-2")


@case("after a restart of containerd missing pinned images are placed again", start="pinned")
def restarted(host):
    for containerd in host.runtimes:
        containerd.forget(PINNED)
        containerd.end()
        containerd.run()
        host.daemon.shows_again(containerd)
    image_ctl(host, "pull")  # gpuhost-images.service is wanted by each containerd's unit
    for containerd in host.runtimes:
        assert status(containerd, PINNED)["id"] == host.site.config("pinned-1"), containerd.name
        if containerd is not host.containerd16:
            check_pinned(containerd, PINNED)
    check_runs(host, PINNED, "Never", "pinned-1")


@case("image pull follows each pull policy as image policy predicts", start="pinned")
def policies(host):
    image = f"{REGISTRY}/pinned/app@{host.site.image('pinned-1')}"
    for containerd in host.runtimes:
        containerd.forget(image)
    predicted = image_ctl(host, "policy", image)
    assert "IfNotPresent: pulls" in predicted and "Never: fails" in predicted, predicted
    assert host.daemon.ask("image", "pull", image, "--policy=Never", f"--root={host.daemon.root}").returncode != 0
    assert not status(host.containerd, image)
    image_ctl(host, "pull", image, "--dry-run")
    assert not status(host.containerd, image)
    image_ctl(host, "pull", image)
    check_runs(host, image, "Never", "pinned-1")
    absent = host.daemon.ask("image", "pull", f"{REGISTRY}/pinned/absent", f"--root={host.daemon.root}")
    assert absent.returncode == 4 and "no bundle on this host" in absent.stderr, f"{absent.returncode} {absent.stderr}"


@case("the kubelet's image GC keeps pinned images, pods pull others again", start="pinned")
def collect(host):
    """The GC's age limit is minimal, so it removes all images that no pod uses and that are not pinned."""
    host.daemon.ctl("bundle", "import", host.site.bundle("collected", 1, {f"{KEPT}:v1": "kept-1", f"{TAKEN}:v1": "taken-1"}))
    image_ctl(host, "pin", f"{KEPT}:v1")
    host.containerd.cri("pull", f"{TAKEN}:v1")
    assert not status(host.containerd, f"{TAKEN}:v1").get("pinned")
    by_digest = {image: f"{image}@{host.site.image(version)}" for image, version in ((KEPT, "kept-1"), (TAKEN, "taken-1"))}
    with host.kubelet.collecting():
        eventually("the image GC removes the unpinned image", lambda: not status(host.containerd, f"{TAKEN}:v1"))
        assert not status(host.containerd, by_digest[TAKEN])
        assert 'kubelet_image_garbage_collected_total{reason="age"}' in host.kubelet.get("/metrics"), "another program than the image GC removed it"
    # The kubelet runs with its earlier settings again, so that pass of the GC has ended.
    assert status(host.containerd, f"{KEPT}:v1").get("pinned"), "the pinned image was removed or is no longer pinned"
    for policy in POLICIES:
        for image in f"{KEPT}:v1", by_digest[KEPT]:
            check_runs(host, image, policy, "kept-1")
    for image in f"{TAKEN}:v1", by_digest[TAKEN]:
        with host.kubelet.pod(image, "Never") as pod:
            pod.waits_for("ErrImageNeverPull")
        for policy in "IfNotPresent", "Always":
            host.containerd.forget(image)
            check_runs(host, image, policy, "taken-1")
        host.containerd.forget(image)
    image_ctl(host, "unpin", f"{KEPT}:v1")


@case("an unpinned image stays, but the image GC may remove it", start="pinned")
def unpin(host):
    image_ctl(host, "unpin", PINNED, f"{REGISTRY}/pinned/mov*")
    assert not status(host.containerd, PINNED).get("pinned")
    again = host.daemon.ask("image", "unpin", PINNED, f"--root={host.daemon.root}")
    assert again.returncode == 4 and "is not pinned" in again.stderr, again.stderr


@case("Docker gets pinned images by name, again after a removal", start="pinned")
def docker(host):
    host.daemon.hides("Containerd")
    host.daemon.shows("Docker", host.docker)
    image_ctl(host, "pin", PINNED, MOVING)
    host.daemon.ctl("bundle", "import", host.site.bundle("pinned", 3, {PINNED: "pinned-1", MOVING: "moving-3"}))
    assert {image["state"] for image in json.loads(image_ctl(host, "pull", "--json"))["images"]} == {"placed", "present"}
    for image, version in (PINNED, "pinned-1"), (MOVING, "moving-3"):
        seen = host.docker.ask("image", "inspect", "--format", "{{.Id}}", image).stdout.strip()
        assert seen == host.site.config(version), f"{image}: {seen}"
    assert host.docker.ask("image", "rm", PINNED).returncode == 0
    assert [image["state"] for image in json.loads(image_ctl(host, "pull", "--json"))["images"]] == ["placed", "present"]
    output = host.docker.ask("run", "--detach", "--network=none", "--name=once", PINNED)
    assert output.returncode == 0, output.stderr
    try:
        eventually("Docker's container prints a line", lambda: host.docker.ask("logs", "once").stdout == "pinned-1\n")
    finally:
        host.docker.ask("rm", "--force", "once")


def hide_runtimes(host):
    for key in [*host.daemon.runtimes]:
        host.daemon.hides(key)


def check_podman(host, images):
    for name, version in images.items():
        seen = host.podman.image(name)
        assert f"sha256:{seen['Id']}" == host.site.config(version) and seen["RepoTags"] == [name], f"{name}: {seen}"
        assert host.podman.image(f"{name.partition(':')[0]}@{host.site.image(version)}"), f"{name} is missing by digest: {seen}"


@case("Podman gets pinned images by name, again after removal or update", start="pinned")
def podman(host):
    def states(*options):
        return [image["state"] for image in json.loads(image_ctl(host, "pull", "--json", *options))["images"]]

    hide_runtimes(host)
    host.daemon.shows("Podman", host.podman)
    host.site.index("many-2")
    images = {PINNED: "pinned-1", MANY: "many-2", MOVING: "moving-4"}
    host.daemon.ctl("bundle", "import", host.site.bundle("pinned", 4, images))
    image_ctl(host, "pin", *images)
    check_podman(host, images)
    assert states() == ["present"] * 3, "an image that is present was pulled"
    host.podman.call("rmi", PINNED)
    assert not host.podman.image(PINNED)
    assert states("--dry-run") == ["wanted", "present", "present"] and not host.podman.image(PINNED)
    assert states() == ["placed", "present", "present"]
    old = host.podman.image(MOVING)["Id"]
    images[MOVING] = "moving-5"
    host.daemon.ctl("bundle", "import", host.site.bundle("pinned", 5, images))
    assert states() == ["present", "present", "placed"]
    check_podman(host, images)
    assert host.podman.image(old)["RepoTags"] == [], "the old image still has a name, so a prune would keep it"
    assert "3 images in 1 runtime" in host.daemon.ctl("status"), host.daemon.ctl("status")
    host.podman.call("run", "--detach", "--pull=never", "--network=none", "--name=once", f"--cgroup-parent={host.cgroup.name}",
                     "--log-driver=k8s-file", PINNED)
    try:
        eventually("Podman's container prints a line", lambda: host.podman.ask("logs", "once").stdout == "pinned-1\n")
    finally:
        host.podman.call("rm", "--force", "--time=0", "once")


def run_crio(host):
    if host.crio not in host.services:
        host.run_too(host.crio)
    host.daemon.finds(host.crio, "run/crio/crio.sock")


@case("CRI-O pulls images of a bundle and reloads changed registry files", start="pinned")
def crio_pulls(host):
    image = "crio.example/pulled:v1"
    run_crio(host)
    image_ctl(host, "pull")  # so that pins cause no reload later
    assert host.crio.ask_cri("pull", image).returncode != 0, "CRI-O pulls although its file lacks that registry"
    host.daemon.ctl("bundle", "import", host.site.bundle("pulled", 1, {image: "pulled-1"}))
    image_ctl(host, "pull")  # as gpuhost-images does after an import
    eventually("CRI-O reloads the file", lambda: host.crio.ask_cri("pull", image).returncode == 0)
    assert f"sha256:{status(host.crio, image)['id']}" == host.site.config("pulled-1"), f"{status(host.crio, image)}"
    host.crio.forget(image)
    by_digest = f"crio.example/pulled@{host.site.image('pulled-1')}"
    host.crio.cri("pull", by_digest)
    assert f"sha256:{status(host.crio, by_digest)['id']}" == host.site.config("pulled-1")
    host.crio.forget(by_digest)


@case("CRI-O has the images that Podman places, and reports pins", start="pinned")
def crio(host):
    image = f"{CRIO}:v1"
    run_crio(host)
    hide_runtimes(host)
    host.daemon.finds(host.podman, "run/podman/podman.sock")

    def keeps(version):
        seen = [status(host.crio, name) or {} for name in (image, f"{CRIO}@{host.site.image(version)}")]
        return all(f"sha256:{one.get('id')}" == host.site.config(version) and one.get("pinned") for one in seen)

    host.daemon.ctl("bundle", "import", host.site.bundle("crio", 1, {image: "crio-1"}))
    image_ctl(host, "pin", image)
    eventually("CRI-O reports the pin of the new file", lambda: keeps("crio-1"))
    old = status(host.crio, image)["id"]
    host.daemon.ctl("bundle", "import", host.site.bundle("crio", 2, {image: "crio-2"}))
    image_ctl(host, "pull")
    assert keeps("crio-2") and not status(host.crio, old).get("pinned")
    host.crio.forget(image)
    assert not status(host.crio, image)
    image_ctl(host, "pull")
    assert keeps("crio-2")
    host.crio.end()
    host.crio.run()
    host.daemon.finds(host.crio, "run/crio/crio.sock")
    assert keeps("crio-2"), "the pin was lost although its file exists"
    image_ctl(host, "unpin", image)
    eventually("CRI-O no longer reports the pin", lambda: not status(host.crio, image).get("pinned"))
    assert not any(CRIO in path.read_text() for path in host.crio.drop_ins.iterdir())
