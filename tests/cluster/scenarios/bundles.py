# SPDX-License-Identifier: Apache-2.0
"""A bundle is an OCI image layout, which other programs read unchanged."""

import json

import programs
from node.site import PAUSE, REGISTRY
from rig.case import case

APP = f"{REGISTRY}/team/app:v1"
MANY = f"{REGISTRY}/team/many:v1"


def bundle(host):
    host.site.index("many-1")
    return host.site.bundle("direct", 1, {APP: "app-1", MANY: "many-1"})


def import_and_run(host, containerd):
    containerd.ctr("images", "import", bundle(host))
    assert {APP, MANY, PAUSE} <= set(containerd.images()), f"{containerd.images()}"
    for image, version in (APP, "app-1"), (MANY, "many-1"):
        output = containerd.output_of(image)
        assert output == f"{version}\n", f"{image}: {output}"


@case("containerd 1.6 and 1.7 import a bundle and run its images", start="node")
def containerd1(host):
    import_and_run(host, host.containerd16)
    import_and_run(host, host.containerd17)


@case("containerd 2 imports a bundle and runs its images", start="node")
def containerd2(host):
    import_and_run(host, host.containerd)


@case("over CRI each containerd shows the ID of the bundle's image", start="node")
def cri(host):
    for containerd in host.runtimes:
        image = containerd.cri("status", APP)["image"]
        assert image["id"] == host.site.config("app-1"), f"{containerd.name}: {image}"


@case("skopeo inspects a bundle and copies images from it", start="node")
def skopeo(host):
    def ask(*words):
        done = programs.run(["skopeo", "--tmpdir", host.work, *words])
        assert done.returncode == 0, f"skopeo {' '.join(map(str, words))}: {done.stderr}"
        return done.stdout
    for image, version in (APP, "app-1"), (MANY, "many-1"):
        source = f"oci-archive:{bundle(host)}:{image}"
        assert json.loads(ask("inspect", source))["Layers"], "skopeo shows no layers"
        ask("copy", "--insecure-policy", source, f"dir:{host.work}/{version}")
        copied = json.loads((host.work / version / "manifest.json").read_text())
        assert copied["config"]["digest"] == host.site.config(version), f"{copied}"
