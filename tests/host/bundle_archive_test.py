# SPDX-License-Identifier: Apache-2.0
"""Bundles made from archives of other programs: skopeo's, and Docker's as documented."""
import bz2
import gzip
import json
import lzma
import os
import shutil
import tarfile
import tempfile

import programs
import tap
from archive_files import digest, docker_24, docker_25, layer_of
from fake_host import write
from image_files import Layout, Site

BAD_ARGUMENT, NOT_FOUND, BAD_CONTENT = 2, 4, 9
NAME = "registry.example/team/app:v1"
ONE = "[Image {}]\nArchive={}\n"


def index_of(path):
    """Returns the archive's own descriptor of its first image."""
    with tarfile.open(path) as archive:
        return json.load(archive.extractfile("index.json"))["manifests"][0]


class Maker:
    def __init__(self, directory):
        self.directory = directory
        self.site = Site(self.path("site"))
        self.layers = [layer_of({"etc/motd": b"hello"}), layer_of({"data": os.urandom(300_000)})]
        self.layout = Layout(self.path("layout"))
        self.app = self.layout.add_manifest(self.layers)
        self.layout.tag(self.app, NAME)

    def path(self, name):
        return os.path.join(self.directory, name)

    def ctl(self, *words):
        return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), *words],
                            env=programs.environment(NO_COLOR="1", LC_ALL="C", SOURCE_DATE_EPOCH="1700000000"))

    def create(self, sections, name="site.bundle"):
        write(self.path("site.spec"), "[Bundle]\nName=site-images\n" + sections)
        return self.ctl("bundle", "create", self.path("site.spec"), "-o", self.path(name), *self.site.signing())

    def images(self, name="site.bundle"):
        """{name: digest}"""
        run = self.ctl("bundle", "show", self.path(name), "--trust", self.site.file("ca.pem"), "--json")
        return {image["name"]: image["digest"] for image in json.loads(run.stdout)["images"]}

    def made(self, t, sections, wanted, what):
        """Creates a bundle from the sections. Checks that it has these images and verifies."""
        run = self.create(sections)
        images = self.images() if run.returncode == 0 else {}
        whole = self.ctl("bundle", "verify", self.path("site.bundle"), "--trust", self.site.file("ca.pem"), "--json")
        names = wanted if isinstance(wanted, dict) else {name: images.get(name) for name in wanted}
        t.ok(run.returncode == 0 and images == names and whole.returncode == 0, what, run.stderr, images, whole.stderr)
        return images

    def keep(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)


def check_docker(t, maker):
    docker = docker_24({NAME: maker.layers, "busybox:1.36": maker.layers[:1]}).bytes()
    for name, pack in (("plain.tar", bytes), ("gzip.tar.gz", gzip.compress), ("xz.tar.xz", lzma.compress), ("bzip2.tbz", bz2.compress)):
        maker.keep(name, pack(docker))
    every = [NAME, "docker.io/library/busybox:1.36"]
    images = maker.made(t, "[Images]\nArchive=plain.tar\n", every, "a bundle has all images of a Docker archive")
    for name in ("gzip.tar.gz", "xz.tar.xz", "bzip2.tbz"):
        maker.made(t, f"[Images]\nArchive={name}\n", images, f"images of {name} have the same digests")
    if shutil.which("zstd"):
        programs.run(["zstd", "-q", maker.path("plain.tar"), "-o", maker.path("airgap.tar.zst")], check=True)
        maker.made(t, "[Images]\nArchive=airgap.tar.zst\n", images, "images of a k3s air-gap file have the same digests")
    else:
        t.skip("images of a k3s air-gap file have the same digests", "no zstd")
    maker.made(t, ONE.format("mine:v2", "plain.tar") + "Reference=busybox:1.36\n",
               {"docker.io/library/mine:v2": images["docker.io/library/busybox:1.36"]}, "Reference= selects one image for another name")
    maker.keep("mixed.tar", docker_25(maker.path("layout"), NAME, maker.layers).bytes())
    maker.made(t, "[Images]\nArchive=mixed.tar\n", {NAME: maker.app["digest"]}, "images that Docker 25 saves keep their digests")


def check_same_bytes(t, maker):
    key, certificate = maker.path("rsa.key"), maker.path("rsa.pem")  # RSA signatures are deterministic, those of ECDSA are not
    programs.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=RSA", "-keyout", key,
                  "-out", certificate], check=True)
    write(maker.path("site.spec"), "[Bundle]\nName=site-images\n[Images]\nArchive=plain.tar\n[Image x:v1]\nLayout=layout\n")
    digests = []
    for name in ("once.bundle", "again.bundle"):
        maker.ctl("bundle", "create", maker.path("site.spec"), "-o", maker.path(name), "--sign-key", key, "--cert", certificate)
        with open(maker.path(name), "rb") as file:
            digests.append(digest(file.read()))
    t.equal(digests[0], digests[1], "the same input makes an identical bundle")


def check_skopeo(t, maker):
    if not shutil.which("skopeo"):
        t.skip("archives of skopeo", "no skopeo")
        return
    source = "oci:" + maker.path("layout") + ":" + NAME
    for kind, name in (("docker-archive", "skopeo.docker.tar"), ("oci-archive", "skopeo.oci.tar")):
        run = programs.run(["skopeo", "copy", "--insecure-policy", source, f"{kind}:{maker.path(name)}:{NAME}"])
        t.ok(run.returncode == 0, f"skopeo writes a {kind}", run.stderr)
    maker.made(t, "[Images]\nArchive=skopeo.oci.tar\n", {NAME: index_of(maker.path("skopeo.oci.tar"))["digest"]},
               "an image of skopeo's oci-archive keeps its digest")
    maker.made(t, "[Images]\nArchive=skopeo.docker.tar\n", [NAME], "a bundle has the image of skopeo's docker-archive")
    bundle = maker.path("site.bundle")
    run = programs.run(["skopeo", "inspect", "--raw", f"oci-archive:{bundle}:{NAME}"])
    layers = [layer["digest"] for layer in json.loads(run.stdout or "{}").get("layers", [])]
    t.equal(layers, ["sha256:" + digest(layer) for layer in maker.layers],
            "skopeo finds the image's layers in the bundle")
    run = programs.run(["skopeo", "copy", "--insecure-policy", f"oci-archive:{bundle}:{NAME}", "dir:" + maker.path("out")])
    t.ok(run.returncode == 0, "skopeo copies the image out of the bundle", run.stderr)


def check_refusals(t, maker):
    broken = docker_24({NAME: maker.layers})
    broken.members = [(n, layer_of({"evil": b"x"}) if c == maker.layers[0] else c, target) for n, c, target in broken.members]
    maker.keep("broken.tar", broken.bytes())
    climbing = docker_24({NAME: maker.layers})
    climbing.add("../../site.spec", b"evil")
    maker.keep("climbing.tar", climbing.bytes())
    linked = docker_24({NAME: maker.layers})
    linked.members = [(n, b"", "/etc/hostname") if c == maker.layers[0] else (n, c, target) for n, c, target in linked.members]
    maker.keep("linked.tar", linked.bytes())
    unnamed = docker_24({NAME: maker.layers})
    unnamed.members = [(n, c.replace(b'["' + NAME.encode() + b'"]', b"null"), target) for n, c, target in unnamed.members]
    maker.keep("unnamed.tar", unnamed.bytes())
    before = sorted(os.listdir(maker.directory))
    for sections, status, words in (
            ("[Images]\nArchive=broken.tar\n", BAD_CONTENT, "does not match its digest in the image's configuration"),
            ("[Images]\nArchive=climbing.tar\n", BAD_CONTENT, "points outside the archive"),
            ("[Images]\nArchive=linked.tar\n", BAD_CONTENT, "has no file"),
            ("[Images]\nArchive=unnamed.tar\n", BAD_ARGUMENT, "has no full name"),
            ("[Images]\nArchive=site.spec\n", BAD_CONTENT, "site.spec:3: archive 'site.spec'"),
            (ONE.format("x:v1", "plain.tar"), BAD_ARGUMENT, "has 2 images, but not"),
            (ONE.format("x:v1", "none.tar"), NOT_FOUND, "none.tar"),
            ("[Image x:v1]\n", BAD_ARGUMENT, "no Layout= and no Archive=")):
        run = maker.create(sections, "bad.bundle")
        t.ok(run.returncode == status and words in run.stderr and sorted(os.listdir(maker.directory)) == before,
             f"bundle create fails and leaves no file: {words}", run.returncode, run.stderr, os.listdir(maker.directory))
    maker.made(t, ONE.format("x:v1", "unnamed.tar"), ["docker.io/library/x:v1"], "an unnamed image gets its section's name")


def main():
    t = tap.Tap()
    with tempfile.TemporaryDirectory() as directory:
        maker = Maker(directory)
        for check in (check_docker, check_same_bytes, check_skopeo, check_refusals):
            check(t, maker)
    t.done()


main()
