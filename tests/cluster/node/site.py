# SPDX-License-Identifier: Apache-2.0
"""The machine where bundles are made, with the real gpuhostctl: a few images that hold one program."""

import hashlib
import json
from pathlib import Path

import image_files
import programs

REGISTRY = "registry.example"
PAUSE = f"{REGISTRY}/rig/pause:1"


class Site:
    """An image's only program prints the image's version and stays, so that a container tells which it is of."""
    def __init__(self, directory, ctl, hold):
        self.directory = Path(directory)
        self.directory.mkdir()
        self.ctl = ctl
        self.trust = image_files.Site(self.directory / "keys")
        self.layout = image_files.Layout(self.directory / "layout")
        self.program = image_files.pack({"hold": (hold.read_bytes(), 0o755)})
        self.digests = {}

    def image(self, version):
        """The digest of its manifest."""
        if version not in self.digests:
            layers = [self.program, image_files.pack({"version": (f"{version}\n".encode(), 0o644)})]
            made = self.layout.add_manifest(layers, command=["/hold"])
            self.layout.tag(made, version)
            self.digests[version] = made["digest"]
        return self.digests[version]

    def config(self, version):
        """The digest of its configuration, by which a runtime knows an image."""
        self.image(version)
        path = self.directory / "layout/blobs/sha256" / self.digests[version].removeprefix("sha256:")
        return json.loads(path.read_text())["config"]["digest"]

    def bundle(self, name, generation, images):
        """The path of a bundle of {"registry.example/app:v1": version}, and of the sandbox's image."""
        wanted = {PAUSE: "pause", **images}
        spec = [f"[Bundle]\nName={name}\nGeneration={generation}\n"]
        for reference, version in wanted.items():
            self.image(version)
            spec.append(f"[Image {reference}]\nLayout=layout\nReference={version}\n")
        key = hashlib.sha256("\n".join(spec).encode()).hexdigest()[:8]
        made = self.directory / f"{name}-{generation}-{key}.bundle"
        if not made.exists():
            (self.directory / "bundle.spec").write_text("\n".join(spec))
            done = programs.run([self.ctl, "bundle", "create", self.directory / "bundle.spec", "-o", made, *self.trust.signing()],
                                env=programs.environment(SOURCE_DATE_EPOCH=str(1_700_000_000 + generation)))
            assert done.returncode == 0, f"bundle create: {done.stderr}"
        return made
