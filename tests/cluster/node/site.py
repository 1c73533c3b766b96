# SPDX-License-Identifier: Apache-2.0
"""The machine where bundles are made, with the real gpuhostctl: a few images that contain one program."""

import hashlib
import json
from pathlib import Path

import image_files
import programs

REGISTRY = "registry.example"
PAUSE = f"{REGISTRY}/rig/pause:1"
COMMAND = ["/hold"]


class Site:
    """Makes images. Their only program prints the image's version and waits, so a container shows which
    image it runs."""
    def __init__(self, directory, ctl, hold):
        self.directory = Path(directory)
        self.directory.mkdir()
        self.ctl = ctl
        self.trust = image_files.Site(self.directory / "keys")
        self.layout = image_files.Layout(self.directory / "layout")
        self.program = image_files.pack({"hold": (hold.read_bytes(), 0o755)})
        self.digests = {}

    def layers(self, version):
        return [self.program, image_files.pack({"version": (f"{version}\n".encode(), 0o644)})]

    def tag(self, version, made):
        self.layout.tag(made, version)
        self.digests[version] = made["digest"]
        return made["digest"]

    def image(self, version):
        """Makes an image of this version; returns the digest to pull it by."""
        if version in self.digests:
            return self.digests[version]
        return self.tag(version, self.layout.add_manifest(self.layers(version), command=COMMAND))

    def index(self, version):
        """As image(), for several architectures, of which a bundle contains only this machine's."""
        if version in self.digests:
            return self.digests[version]
        layers = {"amd64": self.layers(version), "arm64": [b"of another machine"]}
        return self.tag(version, self.layout.add_index(layers, command=COMMAND))

    def config(self, version):
        """Returns the digest of the image's configuration, which runtimes use as the image's ID."""
        document = self.document(self.digests[version])
        if "manifests" in document:
            document = self.document(document["manifests"][0]["digest"])
        return document["config"]["digest"]

    def document(self, digest):
        return json.loads((self.directory / "layout/blobs/sha256" / digest.removeprefix("sha256:")).read_text())

    def bundle(self, name, generation, images):
        """Makes a bundle of {"registry.example/app:v1": version} and the sandbox's image; returns its
        path."""
        wanted = {PAUSE: "pause", **images}
        spec = [f"[Bundle]\nName={name}\nGeneration={generation}\n"]
        for reference, version in wanted.items():
            self.image(version)
            spec.append(f"[Image {reference}]\nLayout=layout\nReference={version}\nPlatforms=linux/amd64\n")
        key = hashlib.sha256("\n".join(spec).encode()).hexdigest()[:8]
        made = self.directory / f"{name}-{generation}-{key}.bundle"
        if not made.exists():
            (self.directory / "bundle.spec").write_text("\n".join(spec))
            self.run("create", self.directory / "bundle.spec", "-o", made, generation=generation)
        return made

    def delta(self, old, new, generation):
        """Makes a delta bundle: `new` without the blobs of `old`; returns its path."""
        made = self.directory / f"delta-{generation}.bundle"
        self.run("diff", old, new, "-o", made, "--trust", self.trust.file("ca.pem"), generation=generation)
        assert made.stat().st_size < new.stat().st_size / 2, "the delta is too large"
        return made

    def run(self, verb, *words, generation):
        """Runs gpuhostctl bundle. A later generation has a later time in its signature."""
        done = programs.run([self.ctl, "bundle", verb, *words, *self.trust.signing()],
                            env=programs.environment(SOURCE_DATE_EPOCH=str(1_700_000_000 + generation)))
        assert done.returncode == 0, f"bundle {verb}: {done.stderr}"
