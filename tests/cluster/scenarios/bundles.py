# SPDX-License-Identifier: Apache-2.0
"""A bundle is an OCI image layout to everybody else: they read it as it is."""

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


@case("Debian's containerd 1.6 and 1.7 import a bundle and run a container from it", start="node")
def containerd1(host):
    import_and_run(host, host.containerd16)
    import_and_run(host, host.containerd17)


@case("containerd 2 imports a bundle and runs a container from it", start="node")
def containerd2(host):
    import_and_run(host, host.containerd)


@case("over CRI they find the very image that was put in", start="node")
def cri(host):
    for containerd in host.runtimes:
        image = containerd.cri("status", APP)["image"]
        assert image["id"] == host.site.config("app-1"), f"{containerd.name}: {image}"


@case("skopeo inspects a bundle, and copies images out of it", start="node")
def skopeo(host):
    def ask(*words):
        done = programs.run(["skopeo", "--tmpdir", host.work, *words])
        assert done.returncode == 0, f"skopeo {' '.join(map(str, words))}: {done.stderr}"
        return done.stdout
    for image, version in (APP, "app-1"), (MANY, "many-1"):
        source = f"oci-archive:{bundle(host)}:{image}"
        assert json.loads(ask("inspect", source))["Layers"], "it has layers"
        ask("copy", "--insecure-policy", source, f"dir:{host.work}/{version}")
        copied = json.loads((host.work / version / "manifest.json").read_text())
        assert copied["config"]["digest"] == host.site.config(version), f"{copied}"
