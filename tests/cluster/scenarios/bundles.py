# SPDX-License-Identifier: Apache-2.0
"""A bundle is an OCI image layout to everybody else: they read it as it is."""

import json

import programs
from node.site import PAUSE, REGISTRY
from rig.case import case

APP = f"{REGISTRY}/team/app:v1"


def import_and_run(host, containerd):
    containerd.ctr("images", "import", host.site.bundle("direct", 1, {APP: "app-1"}))
    assert {APP, PAUSE} <= set(containerd.images()), f"{containerd.images()}"
    assert containerd.output_of(APP) == "app-1\n", containerd.output_of(APP)


@case("Debian's containerd 1.6 imports a bundle and runs a container from it", start="node")
def containerd16(host):
    import_and_run(host, host.containerd16)


@case("containerd 2 imports a bundle and runs a container from it", start="node")
def containerd2(host):
    import_and_run(host, host.containerd)


@case("over CRI they find the very image that was put in", start="node")
def cri(host):
    for containerd in host.containerd, host.containerd16:
        image = containerd.cri("status", APP)["image"]
        assert image["id"] == host.site.config("app-1"), f"{containerd.name}: {image}"


@case("skopeo inspects a bundle, and copies an image out of it", start="node")
def skopeo(host):
    bundle = host.site.bundle("direct", 1, {APP: "app-1"})
    def ask(*words):
        done = programs.run(["skopeo", "--tmpdir", host.work, *words])
        assert done.returncode == 0, f"skopeo {' '.join(map(str, words))}: {done.stderr}"
        return done.stdout
    assert json.loads(ask("inspect", f"oci-archive:{bundle}:{APP}"))["Digest"] == host.site.image("app-1")
    ask("copy", "--insecure-policy", f"oci-archive:{bundle}:{APP}", f"dir:{host.work}/copied")
    with open(host.work / "copied/manifest.json", "rb") as file:
        layers = json.load(file)["layers"]
    assert len(layers) == 2, f"{layers}"
