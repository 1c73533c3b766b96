# SPDX-License-Identifier: Apache-2.0
"""Creation, import and removal of bundles with the real programs and certificates from openssl."""
import hashlib
import json
import os
import random
import shutil
import subprocess
import tarfile
import threading
import time

import programs
import tap
from fake_host import IMAGE_GC, FakeHost, image_gc, write
from image_files import Layout, Site

BAD_ARGUMENT, NOT_FOUND, REFUSED, BAD_CONTENT, DENIED, INTERRUPTED = 2, 4, 8, 9, 12, 17
CONFIG_PATH = 'config_path = "/etc/containerd/certs.d"'
SPEC = """[Bundle]
Name=site-images
Generation={generation}

[Image registry.example/team/app:v1]
Layout=layouts/app
Reference=v1

[Image busybox]
Layout=layouts/many
Platforms=linux/amd64 linux/arm64
"""


class Maker:
    """Creates the bundles, without a daemon."""
    def __init__(self, directory):
        self.directory = directory
        self.site = Site(self.path("site"))
        noise = random.Random(535)
        app = Layout(self.path("layouts/app"))
        self.layers = [noise.randbytes(size) for size in (100, 4096, 5_000_000)]
        app.tag(app.add_manifest(self.layers), "v1")
        app.tag(app.add_manifest(self.layers[:1]), "v2")
        many = Layout(self.path("layouts/many"))
        self.arm = noise.randbytes(3000)
        many.tag(many.add_index({"amd64": self.layers[:2], "arm64": [self.arm], "s390x": [b"none"]}), "latest")

    def path(self, name):
        return os.path.join(self.directory, name)

    def ctl(self, *words, **more):
        return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), *words],
                            env=programs.environment(NO_COLOR="1", LC_ALL="C", SOURCE_DATE_EPOCH="1700000000"), **more)

    def create(self, generation=7, name="site.bundle", spec=SPEC, site=None, options=()):
        write(self.path("site.spec"), spec.format(generation=generation))
        return self.ctl("bundle", "create", self.path("site.spec"), "-o", self.path(name), *(site or self.site).signing(), *options)

    def verify(self, name="site.bundle"):
        return self.ctl("bundle", "verify", self.path(name), "--trust", self.site.file("ca.pem"))


def check_create(t, maker):
    run = maker.create()
    t.ok(run.returncode == 0 and "2 images" in run.stderr,
         "bundle create writes the images of a specification", run.stderr)
    run = maker.verify()
    t.ok(run.returncode == 0 and "generation 7" in run.stdout and "CN=Bundles" in run.stdout,
         "bundle verify accepts a created bundle", run.stdout, run.stderr)
    run = maker.ctl("bundle", "show", maker.path("site.bundle"), "--trust", maker.site.file("ca.pem"))
    t.ok("docker.io/library/busybox:latest" in run.stdout and "linux/amd64 linux/arm64" in run.stdout
         and "registry.example/team/app:v1" in run.stdout,
         "bundle show lists images and platforms", run.stdout, run.stderr)
    with tarfile.open(maker.path("site.bundle")) as archive:
        names = archive.getnames()
    t.ok(names[:3] == ["gpuhost-manifest.p7s", "oci-layout", "index.json"] and all(n.startswith("blobs/sha256/") for n in names[3:]),
         "a bundle is a tar with an OCI layout", names)
    signed, ca = maker.path("manifest.p7s"), maker.site.file("ca.pem")
    with tarfile.open(maker.path("site.bundle")) as archive, open(signed, "wb") as file:
        file.write(archive.extractfile("gpuhost-manifest.p7s").read())
    run = programs.run(["openssl", "cms", "-verify", "-inform", "DER", "-in", signed, "-CAfile", ca, "-purpose", "any"])
    t.ok(run.returncode == 0 and '"format":"gpuhost-bundle"' in run.stdout,
         "openssl verifies a bundle's signature", run.stderr)
    with open(maker.path("site.bundle"), "rb") as file:
        damaged = bytearray(file.read())
    at = damaged.index(b'{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest')
    damaged[at + 1] ^= 1
    with open(maker.path("damaged.bundle"), "wb") as file:
        file.write(damaged)
    run = maker.ctl("bundle", "show", maker.path("damaged.bundle"), "--trust", ca)
    t.ok(run.returncode == 0 and "digest mismatch" in run.stdout,
         "bundle show reports a damaged blob", run.stdout, run.stderr)
    run = maker.ctl("bundle", "verify", maker.path("site.bundle"), "--trust", Site(maker.path("other")).file("ca.pem"))
    t.ok(run.returncode == DENIED and "not trusted" in run.stderr,
         "bundle verify refuses another site's authority", run.stderr)
    os.mkfifo(maker.path("pipe.spec"))
    writer = threading.Thread(target=write, args=(maker.path("pipe.spec"), SPEC.format(generation=7)), daemon=True)
    writer.start()
    run = maker.ctl("bundle", "create", maker.path("pipe.spec"), "-o", maker.path("pipe.bundle"), *maker.site.signing())
    t.ok(run.returncode == 0 and "2 images" in run.stderr, "bundle create reads a specification from a pipe", run.returncode, run.stderr)


def check_mistakes(t, maker):
    for spec, status, words in (
            (SPEC.replace("v1\n\n", "v9\n\n"), NOT_FOUND, "no image 'v9'"),
            (SPEC.replace("Reference=v1\n", ""), BAD_ARGUMENT, "has 2 images"),
            (SPEC.replace("linux/arm64", "linux/riscv64"), NOT_FOUND, "nothing for platform 'linux/riscv64'"),
            (SPEC.replace("layouts/many", "layouts/none"), NOT_FOUND, "layouts/none"),
            (SPEC.replace("Platforms", "Platform"), BAD_ARGUMENT, "unknown key 'Platform'"),
            (SPEC.replace("busybox", "Busy Box"), BAD_ARGUMENT, "is not an image name"),
            (SPEC.replace("site-images", "Site"), BAD_ARGUMENT, "is not a valid bundle name"),
            ("[Bundle]\nName=x\n", BAD_ARGUMENT, "lists no content")):
        run = maker.create(spec=spec, name="bad.bundle")
        t.ok(run.returncode == status and words in run.stderr and not os.path.exists(maker.path("bad.bundle")),
             f"bundle create refuses a bad specification: {words}", run.returncode, run.stderr)
    write(maker.path("site.spec"), SPEC.format(generation=7))
    run = maker.ctl("bundle", "create", maker.path("site.spec"), "-o", maker.path("bad.bundle"))
    t.ok(run.returncode == BAD_ARGUMENT and "--sign-key is missing" in run.stderr,
         "bundle create without --sign-key is refused", run.stderr)
    blob = max((os.path.join(maker.path("layouts/app/blobs/sha256"), n) for n in os.listdir(maker.path("layouts/app/blobs/sha256"))),
               key=os.path.getsize)
    shutil.copy(blob, blob + ".kept")
    with open(blob, "r+b") as file:
        file.write(b"damage")
    run = maker.create(name="bad.bundle")
    os.replace(blob + ".kept", blob)
    t.ok(run.returncode == BAD_CONTENT and os.path.basename(blob) in run.stderr
         and not [n for n in os.listdir(maker.directory) if n.startswith("bad.bundle")],
         "a damaged layout is refused and leaves no file", run.returncode, run.stderr)


def state(host):
    """Returns the visible names in the store and the catalogue."""
    return {d: sorted(os.listdir(host.path(f"/var/lib/gpuhost/{d}"))) if os.path.isdir(host.path(f"/var/lib/gpuhost/{d}")) else []
            for d in ("store/sha256", "catalogue")}


def shown(host, maker, name="site.bundle"):
    """Returns what bundle show reports for that host."""
    run = maker.ctl("bundle", "show", maker.path(name), "--trust", maker.site.file("ca.pem"), "--root", host.root, "--json=short")
    return json.loads(run.stdout)


def check_import(t, host, maker):
    bundle = maker.path("site.bundle")
    run = host.ctl("bundle", "import", bundle)
    t.ok(run.returncode == DENIED and "/etc/gpuhost/trust.d" in run.stderr and state(host)["store/sha256"] == [],
         "an import without a trusted authority is refused", run.returncode, run.stderr)
    os.makedirs(host.path("/etc/gpuhost/trust.d"))
    shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
    with image_gc(host):
        run = host.ctl("bundle", "import", bundle, "--dry-run")
        t.ok(run.returncode == 0 and state(host)["store/sha256"] == [],
             "an import's dry run verifies and writes nothing", run.stdout, run.stderr)
        t.ok(run.stdout.count(IMAGE_GC) == 1,
             "an import's dry run warns of the kubelet's image deletion", run.stdout)
        plan = host.json("bundle", "import", bundle, "--dry-run")
        t.ok(len(plan["warnings"]) == 1 and IMAGE_GC in plan["warnings"][0],
             "an import's dry run warns in JSON too", plan)
        size = sum(len(layer) for layer in maker.layers)
        app, busybox = shown(host, maker)["images"]
        t.ok(app["selected"] and busybox["selected"] and size < app["bytes"] == app["missing_bytes"] < size + 10_000,
             "bundle show gives an image's size and missing bytes",
             app, busybox)
        t.ok(busybox["bytes"] > busybox["missing_bytes"] + len(maker.arm),
             "bundle show omits other platforms from missing bytes", busybox)
        run = host.ctl("bundle", "import", bundle)
    t.ok(run.returncode == 0 and run.stdout.count(IMAGE_GC) == 1,
         "an import succeeds with the kubelet warning", run.stdout, run.stderr)
    said = shown(host, maker)
    t.ok([image["missing_bytes"] for image in said["images"]] == [0, 0] and said["host"]["missing_blobs"] == said["host"]["missing_bytes"] == 0
         and said["host"]["blobs"] == len(state(host)["store/sha256"]) and "refused" not in said["host"],
         "bundle show reports nothing missing after an import", said)
    run = maker.ctl("bundle", "show", bundle, "--trust", maker.site.file("ca.pem"), "--root", host.root)
    t.ok("has it" in run.stdout and "of which it lacks 0 B" in run.stdout,
         "bundle show prints that nothing is missing", run.stdout, run.stderr)
    listed = host.json("bundle", "list")["bundles"]
    t.ok(len(listed) == 1 and listed[0]["generation"] == 7 and listed[0]["images"] == 2,
         "bundle list has the imported bundle", listed)
    names = state(host)["store/sha256"]
    t.ok(len(names) == listed[0]["blobs"] and not any(len(n) != 64 for n in names),
         "an import stores all listed blobs", names)
    arm = hashlib.sha256(maker.arm).hexdigest()
    t.ok(arm not in names, "an import omits blobs of other platforms", names)
    t.ok("2 images" in host.ctl("status").stdout,
         "status prints the number of images", host.ctl("status").stdout)


def check_mirrors(t, host):
    """Mirror files of runtimes that are installed later, and changes of these files by others."""
    hosts = "/etc/containerd/certs.d/docker.io/hosts.toml"
    t.ok(not os.path.exists(host.path("/etc/containerd")),
         "an import creates no directory of an absent runtime")
    os.makedirs(host.path("/etc/containerd"))
    os.makedirs(host.path("/etc/containers"))
    plan = host.ctl("apply", "--dry-run")
    t.ok(hosts in plan.stdout, "plan lists the mirror of a newly installed runtime", plan.stdout, plan.stderr)
    host.ctl("apply", check=0)
    status = host.ctl("status").stdout
    t.ok("/etc/containerd/config.toml does not set config_path" in status,
         "status reports a containerd without config_path", status)
    write(host.path("/etc/containerd/config.toml"), f"[plugins.'io.containerd.cri.v1.images'.registry]\n{CONFIG_PATH}\n")
    t.ok("config_path" not in host.ctl("status").stdout,
         "status accepts a containerd with config_path", host.ctl("status").stdout)
    t.ok("http://127.0.0.1:299" in host.read(hosts)
         and 'prefix = "registry.example/' in host.read("/etc/containers/registries.conf.d/50-gpuhost.conf"),
         "apply configures the mirrors of containerd and podman")
    write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Mirrors]\nUpstream=no\n")
    host.ctl("reload", check=0)
    host.ctl("apply", check=0)
    t.ok('server = "http://127.0.0.1:299"' in host.read(hosts),
         "Upstream=no removes the upstream server from mirrors", host.read(hosts))
    write(host.path(hosts), "mine\n")
    run = host.ctl("apply")
    status = host.ctl("status").stdout
    t.ok(run.returncode == 0 and host.read(hosts) == "mine" and hosts + " is not gpuhost's" in status,
         "apply keeps and reports a mirror file of another owner",
         run.stdout, run.stderr, status)
    os.unlink(host.path(hosts))


def steps_of_import(host, bundle, *options):
    host.ctl("bundle", "import", bundle, *options, check=0)
    return [step["kind"] for step in host.json("operation", "show")["steps"] if step["state"] == "done"]


def check_again(t, host, maker):
    """Repeated imports of an installed bundle."""
    bundle = maker.path("site.bundle")
    every = steps_of_import(host, bundle)
    t.ok("images.mirrors" in every and os.path.exists(host.path("/etc/containerd/certs.d/docker.io/hosts.toml")),
         "a repeated import restores a removed mirror file", every)
    t.equal(steps_of_import(host, bundle), ["bundle.receive"],
            "a repeated import of an intact bundle only verifies")
    for left in ("store/incoming/" + "0" * 64 + "/blob", "store/sha256/" + "0" * 64, "catalogue/.x.tmp"):
        write(host.path("/var/lib/gpuhost/" + left), "")
        every = steps_of_import(host, bundle)
        t.ok("bundle.finalize" in every and not os.path.exists(host.path("/var/lib/gpuhost/" + left)),
             f"a repeated import removes leftovers in {left[:20]}", every)


def check_refusals(t, host, maker):
    seen = state(host)
    maker.create(generation=6, name="older.bundle")
    run = host.ctl("bundle", "import", maker.path("older.bundle"))
    t.ok(run.returncode == REFUSED and "generation 7" in run.stderr and "--allow-downgrade" in run.stderr,
         "an import of an older generation is refused", run.stderr)
    run = host.ctl("bundle", "import", maker.path("older.bundle"), "--allow-downgrade")
    t.ok(run.returncode == 0 and host.json("bundle", "list")["bundles"][0]["generation"] == 6,
         "--allow-downgrade imports an older generation", run.stderr)
    check_least_generation(t, host, maker)
    maker.create(generation=8, name="other.bundle", site=Site(maker.path("third")))
    run = host.ctl("bundle", "import", maker.path("other.bundle"))
    t.ok(run.returncode == DENIED and "Site authority" in run.stderr,
         "an import signed by another authority is refused", run.stderr)
    with open(maker.path("site.bundle"), "rb") as file:
        whole = bytearray(file.read())
    for what, damaged in (("truncated", whole[:-600_000]), ("modified", whole[:3_000_000] + b"X" + whole[3_000_001:])):
        with open(maker.path("damaged.bundle"), "wb") as file:
            file.write(damaged)
        shutil.rmtree(host.path("/var/lib/gpuhost/store"))
        run = host.ctl("bundle", "import", maker.path("damaged.bundle"), "--allow-downgrade")
        t.ok(run.returncode == BAD_CONTENT and state(host)["store/sha256"] == [] and state(host)["catalogue"] == seen["catalogue"],
             f"a {what} bundle leaves store and catalogue unchanged", run.returncode, run.stderr, state(host))
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and state(host) == seen,
         "an import of the intact bundle restores lost blobs", run.stderr, state(host))
    run = host.ctl("bundle", "import", maker.path("site.spec"))
    t.ok(run.returncode == BAD_CONTENT and "is not a bundle" in run.stderr,
         "an import of another file is refused", run.stderr)


def check_least_generation(t, host, maker):
    """MinimumGeneration= applies even without an installed generation."""
    name = host.json("bundle", "list")["bundles"][0]["name"]
    conf = host.path("/etc/gpuhost/gpuhostd.conf.d/least.conf")
    for words, status in ((f"{name}:7", REFUSED), (f"{name}:6", 0), ("7", BAD_ARGUMENT), ("another:9", 0)):
        host.ctl("bundle", "remove", name)
        shutil.rmtree(host.path("/var/lib/gpuhost/catalogue"), ignore_errors=True)
        write(conf, f"[Images]\nMinimumGeneration={words}\n")
        host.ctl("reload", check=0 if ":" in words else BAD_CONTENT)
        run = host.ctl("bundle", "import", maker.path("older.bundle"), "--allow-downgrade")
        t.ok(run.returncode == status and (status == 0 or "MinimumGeneration=" in run.stderr),
             f"importing generation 6 with MinimumGeneration={words} exits with {status}", run.returncode, run.stderr)
        shown = host.ctl("bundle", "show", maker.path("older.bundle"), "--root=" + host.path("/"), "--trust", maker.site.file("ca.pem"), check=0)
        t.ok(("it would refuse this bundle" in shown.stdout) == (status != 0),
             f"bundle show predicts the result of MinimumGeneration={words}", shown.stdout)
    os.unlink(conf)
    host.ctl("reload", check=0)


def check_scrub(t, host, maker):
    seen = state(host)
    host_root = "--root=" + host.path("/")
    run = host.ctl("bundle", "scrub", host_root)
    t.ok(run.returncode == 0 and "no damage found" in run.stdout,
         "bundle scrub finds no damage in an intact store", run.stdout, run.stderr)
    damaged, lost = (os.path.join("/var/lib/gpuhost/store/sha256", hashlib.sha256(layer).hexdigest()) for layer in maker.layers[:2])
    os.chmod(host.path(damaged), 0o644)
    with open(host.path(damaged), "r+b") as file:
        file.write(b"damage")
    os.unlink(host.path(lost))
    run = host.ctl("bundle", "scrub", host_root, "--json")
    found = {d["digest"].split(":")[1]: d for d in json.loads(run.stdout)["damaged"]}
    t.ok(run.returncode == BAD_CONTENT and "Import these bundles again: site-images" in run.stderr
         and set(found) == {os.path.basename(damaged), os.path.basename(lost)} and found[os.path.basename(damaged)]["removed"],
         "bundle scrub reports damaged and missing blobs", run.returncode, run.stdout, run.stderr)
    t.ok(not os.path.exists(host.path(damaged)) and "import again site-images" in host.ctl("status").stdout,
         "bundle scrub removes damaged blobs; status gives the repair", host.ctl("status").stdout)
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and state(host) == seen and "damaged" not in host.ctl("status").stdout
         and host.ctl("bundle", "scrub", host_root).returncode == 0,
         "an import repairs damaged and missing blobs", run.stderr, host.ctl("status").stdout)


def check_followers(t, host, maker):
    """An import updates mirrors and repositories only when they may have changed."""
    maker.create(generation=8, name="next.bundle")
    taken = ["bundle.receive", "bundle.commit", "bundle.finalize"]
    run = host.ctl("bundle", "import", maker.path("next.bundle"))
    done = [step["kind"] for step in host.json("operation", "show")["steps"] if step["state"] == "done"]
    t.equal((run.returncode, done), (0, taken), "a generation with the same registries skips mirrors")
    counted = [line.split()[0] for line in run.stderr.splitlines() if line[:1].isdigit()]
    t.equal(counted, ["1/3", "2/3", "3/3"], "an import of a file counts only the steps that run")
    hosts = host.path("/etc/containerd/certs.d/docker.io/hosts.toml")
    os.unlink(hosts)
    every = steps_of_import(host, maker.path("site.bundle"), "--allow-downgrade")
    t.ok(every == taken + ["images.mirrors", "packages.repositories"] and os.path.exists(hosts),
         "an import restores a mirror file that was removed", every)
    every = steps_of_import(host, maker.path("old.bundle"), "--allow-downgrade")
    t.ok("images.mirrors" in every and not os.path.exists(hosts),
         "a generation with other registries updates the mirrors", every)
    host.ctl("bundle", "import", maker.path("site.bundle"), check=0)


def check_delta(t, host, maker):
    maker.create(generation=6, name="old.bundle", spec=SPEC.split("[Image busybox]")[0])
    run = maker.ctl("bundle", "diff", maker.path("old.bundle"), maker.path("site.bundle"), "-o", maker.path("delta.bundle"),
                    *maker.site.signing(), "--trust", maker.site.file("ca.pem"), "--json")
    t.ok(run.returncode == 0 and os.path.getsize(maker.path("delta.bundle")) < 100_000,
         "bundle diff leaves out blobs of the old bundle", run.stderr)
    seen = state(host)
    for directory in ("store", "catalogue"):
        shutil.rmtree(host.path("/var/lib/gpuhost/" + directory))
    run = host.ctl("bundle", "import", maker.path("delta.bundle"))
    t.ok(run.returncode == NOT_FOUND and "leaves out" in run.stderr and "sha256:" in run.stderr,
         "importing a delta without its base is refused", run.stderr)
    said = shown(host, maker, "delta.bundle")
    t.ok(len(said["host"]["missing"]) == said["absent"] >= 5 and f"leaves out {said['absent']} blobs" in run.stderr
         and all(lacked["digest"] in maker.ctl("bundle", "show", maker.path("delta.bundle"), "--trust", maker.site.file("ca.pem"), "--root", host.root).stdout
                 for lacked in said["host"]["missing"]),
         "bundle show lists all blobs that a delta lacks", said["host"], run.stderr)
    t.ok("bytes" not in said["images"][0] and said["images"][0]["selected"],
         "bundle show gives no size for absent blobs", said["images"])
    host.ctl("bundle", "import", maker.path("old.bundle"), check=0)
    said = shown(host, maker, "delta.bundle")
    t.ok(said["host"]["missing"] == [] and said["host"]["missing_bytes"] > 0 and said["images"][0]["missing_bytes"] == 0,
         "bundle show reports a delta complete with its base", said)
    run = host.ctl("bundle", "import", maker.path("delta.bundle"))
    t.ok(run.returncode == 0 and state(host) == seen,
         "importing a delta with its base is complete", run.stderr, state(host))
    check_followers(t, host, maker)
    t.ok("older generation" in shown(host, maker, "old.bundle")["host"]["refused"],
         "bundle show predicts the refusal of an older generation")
    blobs = host.path("/var/lib/gpuhost/store/sha256")
    os.rename(blobs, blobs + ".aside")
    os.symlink("sha256", blobs)
    said = shown(host, maker)
    t.ok("sha256" in said["host"]["problem"] and "missing_bytes" not in said["host"] and said["images"][0]["selected"] and
         "missing_bytes" not in said["images"][0], "bundle show reports an unreadable store", said)
    os.unlink(blobs)
    os.rename(blobs + ".aside", blobs)


def check_ways_in(t, host, maker):
    seen = state(host)
    shutil.rmtree(host.path("/var/lib/gpuhost/store"))
    programs.run(["split", "-n", "5", maker.path("site.bundle"), maker.path("volume.")], check=True)
    volumes = [maker.path("volume.a" + letter) for letter in "abcde"]
    run = host.ctl("bundle", "import", *volumes)
    t.ok(run.returncode == 0 and state(host) == seen, "an import joins volumes into one bundle", run.stderr)
    run = host.ctl("bundle", "import", *volumes[:4])
    t.ok(run.returncode == 0, "importing an installed bundle reads no volumes", run.stderr)
    shutil.rmtree(host.path("/var/lib/gpuhost/store"))
    run = host.ctl("bundle", "import", *volumes[:4])
    t.ok(run.returncode == BAD_CONTENT and "missing volume" in run.stderr,
         "an import with a missing volume is refused", run.stderr)
    check_volumes(t, host, maker, seen)
    shutil.rmtree(host.path("/var/lib/gpuhost/store"))
    with open(maker.path("site.bundle"), "rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
        run = host.ctl("bundle", "import", "-", stdin=cat.stdout)
    t.ok(run.returncode == 0 and state(host) == seen, "an import from a pipe is complete", run.stderr)


def check_volumes(t, host, maker, seen):
    """Volumes that bundle create writes."""
    def volumes():
        return sorted(n for n in os.listdir(maker.directory) if n.startswith("parts.bundle"))
    run = maker.create(name="parts.bundle", options=("--volume-size", "1M", "--json=short"))
    made = json.loads(run.stdout)["files"]
    t.ok(run.returncode == 0 and [os.path.basename(path) for path in made] == volumes() == [f"parts.bundle.{n:03}" for n in range(1, 6)],
         "--volume-size makes numbered volumes", run.stderr, volumes())
    t.equal({os.path.getsize(path) for path in made[:-1]}, {1 << 20}, "volumes have the requested size")
    run = maker.create(name="parts.bundle", options=("--volume-size", "2100000"))
    t.ok(run.returncode == 0 and "parts.bundle.001 to " in run.stderr and volumes() == [f"parts.bundle.{n:03}" for n in range(1, 4)]
         and os.path.getsize(made[0]) == 2100000 // 4096 * 4096,
         "fewer volumes replace all earlier ones", run.stderr, volumes())
    shutil.rmtree(host.path("/var/lib/gpuhost/store"))
    run = host.ctl("bundle", "import", *made[:3])
    t.ok(run.returncode == 0 and state(host) == seen,
         "an import of all created volumes is complete", run.stderr)
    shutil.rmtree(host.path("/var/lib/gpuhost/store"))
    run = host.ctl("bundle", "import", made[0])
    t.ok(run.returncode == 0 and state(host) == seen,
         "an import finds the other volumes by the first", run.stderr)
    check_diff_of_volumes(t, maker)
    for size, words in (("1023K", "at least 1M"), ("1G5", "is not a size")):
        run = maker.create(name="parts.bundle", options=("--volume-size", size))
        t.ok(run.returncode == BAD_ARGUMENT and words in run.stderr,
             f"a bad --volume-size is refused: {words}", run.stderr)
    run = maker.ctl("bundle", "diff", maker.path("site.bundle"), maker.path("site.bundle"), "-o", maker.path("none.bundle"), "--volume-size", "1M",
                    "--trust", maker.site.file("ca.pem"), *maker.site.signing())
    t.ok(run.returncode == 0 and os.path.exists(maker.path("none.bundle.001")) and not os.path.exists(maker.path("none.bundle")),
         "bundle diff with --volume-size writes volumes", run.stderr)


def check_diff_of_volumes(t, maker):
    def diff(old, new, output):
        return maker.ctl("bundle", "diff", maker.path(old), maker.path(new), "-o", maker.path(output), "--trust", maker.site.file("ca.pem"),
                         *maker.site.signing())
    run = diff("old.bundle", "parts.bundle.001", "parts.delta")
    t.ok(run.returncode == 0 and os.path.getsize(maker.path("parts.delta")) < 100_000 and maker.verify("parts.delta").returncode == 0,
         "a delta to a bundle in volumes verifies", run.stderr)
    shutil.copy(maker.path("old.bundle"), maker.path("left.001"))
    shutil.copy(maker.path("old.bundle"), maker.path("left.002"))
    run = maker.verify("left.001")
    t.ok(run.returncode == BAD_CONTENT and "left.001 to left.002" in run.stderr,
         "bundle verify refuses files only named like volumes", run.stderr)
    run = diff("parts.bundle.001", "old.bundle", "none.delta")
    t.ok(run.returncode == 0 and os.path.getsize(maker.path("none.delta")) < 100_000,
         "a delta from a bundle in volumes is created", run.stderr)
    os.rename(maker.path("parts.bundle.002"), maker.path("aside"))
    run = diff("old.bundle", "parts.bundle.001", "lost.delta")
    t.ok(run.returncode == BAD_CONTENT and "missing volume" in run.stderr and not os.path.exists(maker.path("lost.delta")),
         "bundle diff with a missing volume fails", run.stderr)
    os.rename(maker.path("aside"), maker.path("parts.bundle.002"))


def feed(pipe, some, killed):
    """Writes to the pipe, and closes it only after the reader was killed."""
    try:
        pipe.write(some)
        pipe.flush()
        killed.wait(30)
        pipe.close()
    except BrokenPipeError:
        pass  # the reader was killed


def send_some(host, maker, count):
    """Sends the first `count` bytes of the bundle through a pipe and kills the worker that reads them."""
    with open(maker.path("site.bundle"), "rb") as file:
        some = file.read(count)
    ctl = host.start_ctl("bundle", "import", "-", stdin=subprocess.PIPE, text=False)
    incoming = host.path("/var/lib/gpuhost/store/incoming")
    deadline = time.monotonic() + 30
    killed = threading.Event()
    feeder = threading.Thread(target=feed, args=(ctl.stdin, some, killed))
    feeder.start()
    while not (os.path.isdir(incoming) and os.listdir(incoming)) and time.monotonic() < deadline:
        time.sleep(0.01)
    host.kill_workers()
    killed.set()
    feeder.join()
    return programs.wait(ctl)


def check_kills(t, host, maker):
    seen = state(host)
    size = os.path.getsize(maker.path("site.bundle"))
    chance = random.Random(535)
    wrong = []
    for _ in range(6):
        for directory in ("store", "catalogue"):
            shutil.rmtree(host.path("/var/lib/gpuhost/" + directory))
        # The second import resumes from what the first left. It is killed, or its input ends early.
        for wanted in ((INTERRUPTED,), (INTERRUPTED, BAD_CONTENT)):
            status = send_some(host, maker, chance.randrange(30_000, size))
            if status not in wanted or state(host) != {"store/sha256": [], "catalogue": []}:
                wrong.append((status, state(host)))
        again = host.ctl("bundle", "import", maker.path("site.bundle"))
        if again.returncode != 0 or state(host) != seen:
            wrong.append(again.stderr)
    t.ok(not wrong, "a killed import leaves nothing visible, and the next succeeds", *wrong, host.tail())


def check_removal(t, host, maker):
    maker.create(name="second.bundle", spec=SPEC.replace("site-images", "second").split("[Image busybox]")[0])
    host.ctl("bundle", "import", maker.path("second.bundle"), check=0)
    run = host.ctl("bundle", "remove", "third")
    t.ok(run.returncode == NOT_FOUND and "'third'" in run.stderr,
         "removing an unknown bundle fails", run.stderr)
    run = host.ctl("bundle", "remove", "site-images")
    second = host.json("bundle", "list")["bundles"]
    t.ok(run.returncode == 0 and [b["name"] for b in second] == ["second"] and len(state(host)["store/sha256"]) == second[0]["blobs"],
         "removing a bundle deletes blobs without another owner", run.stderr, second, state(host))
    run = host.ctl("bundle", "import", maker.path("older.bundle"))
    t.ok(run.returncode == REFUSED and "was on this host until it was removed" in run.stderr,
         "an older generation is refused after removal", run.stderr)
    host.ctl("bundle", "remove", "second", check=0)
    t.equal(state(host), {"store/sha256": [], "catalogue": [".generations"]},
            "removing the last bundle leaves only generations")
    t.ok(not os.listdir(host.path("/etc/containerd/certs.d")) and not os.listdir(host.path("/etc/containers/registries.conf.d")),
         "removing the last bundle removes all mirror files")


def main():
    t = tap.Tap()
    host = FakeHost(gpus=())
    try:
        maker = Maker(os.path.join(host.scratch, "maker"))
        check_create(t, maker)
        check_mistakes(t, maker)
        host.install()
        host.start_daemon()
        host.settle()
        check_import(t, host, maker)
        check_mirrors(t, host)
        for check in (check_again, check_refusals, check_scrub, check_delta, check_ways_in, check_kills, check_removal):
            check(t, host, maker)
    finally:
        host.close()
    t.done()


main()
