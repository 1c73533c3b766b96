# SPDX-License-Identifier: Apache-2.0
"""OCI image layouts, and a site's keys for bundles, in a directory."""
import hashlib
import io
import json
import os
import tarfile

from programs import run

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


def pack(files):
    """Returns a layer, a reproducible tar of {name: (content, mode)}."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


class Layout:
    """An OCI layout. Each add_… returns a descriptor."""
    def __init__(self, path):
        self.path = path
        self.entries = []
        os.makedirs(os.path.join(path, "blobs/sha256"))
        self._write("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')

    def _write(self, name, content):
        with open(os.path.join(self.path, name), "wb") as file:
            file.write(content)

    def add_blob(self, content, media_type=LAYER):
        digest = hashlib.sha256(content).hexdigest()
        self._write("blobs/sha256/" + digest, content)
        return {"mediaType": media_type, "digest": "sha256:" + digest, "size": len(content)}

    def add_document(self, document, media_type):
        return self.add_blob(json.dumps({"schemaVersion": 2, "mediaType": media_type, **document}).encode(), media_type)

    def add_manifest(self, layers, machine="amd64", command=()):
        """Adds an image for one machine. `command` is its entry point."""
        runs = {"config": {"Entrypoint": list(command)}} if command else {}
        config = self.add_blob(json.dumps({**runs, "architecture": machine, "os": "linux", "rootfs": {
            "type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]}}).encode(), CONFIG)
        return self.add_document({"config": config, "layers": [self.add_blob(layer) for layer in layers]}, MANIFEST)

    def add_index(self, by_machine, command=()):
        """Adds an image for several machines: {"amd64": [layer…], …}."""
        manifests = [{**self.add_manifest(layers, machine, command), "platform": {"os": "linux", "architecture": machine}}
                     for machine, layers in by_machine.items()]
        return self.add_document({"manifests": manifests}, INDEX)

    def tag(self, descriptor, name):
        self.entries.append({**descriptor, "annotations": {"org.opencontainers.image.ref.name": name}})
        self._write("index.json", json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": self.entries}).encode())


class Site:
    """An authority and a signing key for bundles, created as in gpuhost-bundle(5)."""
    def __init__(self, path):
        os.makedirs(path)
        self.path = path
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        self._openssl("req", "-x509", *key, "-days", "30", "-subj", "/CN=Site authority", "-keyout", "ca.key", "-out", "ca.pem")
        self._openssl("req", *key, "-subj", "/CN=Bundles", "-keyout", "bundle.key", "-out", "bundle.csr")
        with open(self.file("bundle.ext"), "w", encoding="ascii") as file:
            file.write("keyUsage=critical,digitalSignature\nextendedKeyUsage=codeSigning\n")
        self._openssl("x509", "-req", "-in", "bundle.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                      "-days", "30", "-extfile", "bundle.ext", "-out", "bundle.pem")

    def _openssl(self, *words):
        run(["openssl", *words], cwd=self.path, check=True)

    def file(self, name):
        return os.path.join(self.path, name)

    def signing(self):
        return ["--sign-key", self.file("bundle.key"), "--cert", self.file("bundle.pem")]
