# SPDX-License-Identifier: Apache-2.0
"""Archives of images as Docker documents them."""
import hashlib
import io
import json
import os
import tarfile


def layer_of(files):
    """Returns a layer as container engines write it: a tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def digest(content):
    return hashlib.sha256(content).hexdigest()


class Archive:
    """Collects the members of a tar: names, contents, links."""
    def __init__(self):
        self.members = []

    def add(self, name, content):
        self.members.append((name, content, None))
        return name

    def add_json(self, name, document):
        return self.add(name, json.dumps(document).encode())

    def link(self, name, target):
        self.members.append((name, b"", target))
        return name

    def bytes(self):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, content, target in self.members:
                member = tarfile.TarInfo(name)
                member.size = len(content)
                if target:
                    member.type, member.linkname = tarfile.SYMTYPE, target
                archive.addfile(member, io.BytesIO(content))
        return buffer.getvalue()


def docker_config(layers, machine="amd64"):
    return {"architecture": machine, "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest(layer) for layer in layers]}}


def docker_24(images, machine="amd64"):
    """Returns what "docker save" wrote before version 25, for {name: [layer…]}. Repeated layers are links."""
    archive = Archive()
    manifest, first = [], {}
    for number, (name, layers) in enumerate(images.items()):
        config = json.dumps(docker_config(layers, machine)).encode()
        paths = []
        for place, layer in enumerate(layers):
            directory = digest(f"{number} {place}".encode())
            archive.add(directory + "/VERSION", b"1.0")
            archive.add_json(directory + "/json", {"id": directory})
            path = directory + "/layer.tar"
            paths.append(archive.link(path, "../" + first[layer]) if layer in first else archive.add(path, layer))
            first.setdefault(layer, path)
        manifest.append({"Config": archive.add(digest(config) + ".json", config), "RepoTags": [name], "Layers": paths})
    archive.add_json("manifest.json", manifest)
    archive.add_json("repositories", {"app": {"v1": "x"}})
    return archive


def docker_25(layout, name, layers):
    """Returns what it writes since version 25: an OCI layout with an additional manifest.json."""
    archive = Archive()
    for directory, _, names in sorted(os.walk(layout)):
        for file in sorted(names):
            path = os.path.join(directory, file)
            with open(path, "rb") as opened:
                archive.add(os.path.relpath(path, layout), opened.read())
    config = digest(json.dumps(docker_config(layers)).encode())
    archive.add_json("manifest.json", [{"Config": "blobs/sha256/" + config, "RepoTags": [name],
                                        "Layers": ["blobs/sha256/" + digest(layer) for layer in layers]}])
    return archive
