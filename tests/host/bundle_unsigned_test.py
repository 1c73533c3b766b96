# SPDX-License-Identifier: Apache-2.0
"""Unsigned images: refused, unless the host's settings and the command's option both allow them."""
import os
import platform

import tap
from archive_files import Archive, docker_24, layer_of
from fake_host import IMAGE_GC, FakeHost, image_gc, write
from image_files import Layout

BAD_ARGUMENT, REFUSED, BAD_CONTENT = 2, 8, 9
MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
NAME = "registry.example/team/app:v1"


def archive_of(layers, broken=False):
    archive = docker_24({NAME: layers, "busybox": layers[:1]}, MACHINE)
    if broken:
        archive.members = [(name, b"other" if name.endswith("/layer.tar") and content else content, target)
                           for name, content, target in archive.members]
    return archive.bytes()


def seen(host):
    return {d: sorted(os.listdir(host.path(f"/var/lib/gpuhost/{d}"))) if os.path.isdir(host.path(f"/var/lib/gpuhost/{d}")) else []
            for d in ("store/sha256", "store/incoming", "catalogue")}


def check_refusal(t, host, airgap):
    run = host.ctl("bundle", "import", airgap)
    t.ok(run.returncode != 0 and seen(host)["catalogue"] == [],
         "an archive is refused as a signed bundle", run.returncode, run.stderr)
    run = host.ctl("bundle", "import", "--unsigned", airgap)
    t.ok(run.returncode == REFUSED and "AllowUnsigned=yes" in run.stderr and seen(host)["catalogue"] == [],
         "--unsigned without AllowUnsigned=yes is refused", run.returncode, run.stderr)
    write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Images]\nAllowUnsigned=yes\n")
    host.ctl("reload", check=0)
    run = host.ctl("bundle", "import", airgap)
    t.ok(run.returncode != 0 and seen(host)["catalogue"] == [],
         "AllowUnsigned=yes without --unsigned is refused", run.stderr)
    run = host.ctl("bundle", "import", "--name=x", airgap)
    t.ok(run.returncode == BAD_ARGUMENT and "--unsigned" in run.stderr,
         "--name without --unsigned is refused", run.stderr)


def check_import(t, host, airgap, layout):
    with image_gc(host):
        for path in airgap, layout:
            run = host.ctl("bundle", "import", "--unsigned", "--dry-run", path)
            t.ok(run.returncode == 0 and seen(host)["catalogue"] == [],
                 f"a dry run of {os.path.basename(path)} imports nothing", run.stderr)
            t.ok(run.stdout.count(IMAGE_GC) == 1,
                 f"a dry run of {os.path.basename(path)} warns of the kubelet's image deletion", run.stdout)
        run = host.ctl("bundle", "import", "--unsigned", airgap)
    t.ok(run.returncode == 0 and run.stdout.count(IMAGE_GC) == 1,
         "an unsigned import succeeds with the kubelet warning", run.stdout, run.stderr, host.tail())
    bundles = host.json("bundle", "list")["bundles"]
    t.ok([(b["name"], b["unsigned"], b["images"]) for b in bundles] == [("airgap", True, 2)],
         "an unsigned bundle has the file's name", bundles)
    t.ok("unsigned" in host.ctl("bundle", "list").stdout,
         "bundle list marks the bundle as unsigned", host.ctl("bundle", "list").stdout)
    t.ok(len(seen(host)["store/sha256"]) == bundles[0]["blobs"] and seen(host)["store/incoming"] == [],
         "an unsigned import stores exactly its blobs", seen(host))
    before = seen(host)
    run = host.ctl("bundle", "import", "--unsigned", airgap)
    t.ok(run.returncode == 0 and seen(host) == before,
         "a repeated unsigned import changes nothing", run.stderr, seen(host))
    run = host.ctl("bundle", "import", "--unsigned", "--name=from-a-directory", layout + "/")
    t.ok(run.returncode == 0 and "from-a-directory" in seen(host)["catalogue"],
         "a layout in a directory is imported", run.stderr, host.tail())


def check_name(t, host, layout):
    """Names of an image that has only a tag, as skopeo writes it."""
    tagged = ("bundle", "import", "--unsigned", "--name=tagged", layout)
    run = host.ctl(*tagged)
    t.ok(run.returncode == 0 and "has no full name" in run.stdout and "--image-name" in run.stdout,
         "an image without a full name is imported with warning", run.stdout, run.stderr)
    run = host.ctl(*tagged, "--image-name=team/tagged:v1", "--allow-downgrade")
    listed = host.ctl("image", "list", "--root=" + host.path("/"))
    t.ok(run.returncode == 0 and "docker.io/team/tagged:v1" in listed.stdout,
         "--image-name names an image", run.stderr, listed.stdout, listed.stderr)
    run = host.ctl(*tagged, "--image-name=Team:")
    t.ok(run.returncode == BAD_ARGUMENT and "REPOSITORY:TAG" in run.stderr,
         "an invalid --image-name is refused", run.returncode, run.stderr)
    host.ctl("bundle", "remove", "tagged", check=0)


def check_old(t, host, old):
    before = seen(host)
    run = host.ctl("bundle", "import", "--unsigned", "--name=old", old)
    t.ok(run.returncode != 0 and "docker load" in run.stderr and seen(host) == before,
         "an archive of Docker before 1.10 is refused with the conversion", run.returncode, run.stderr)


def check_failure(t, host, broken):
    before = seen(host)
    run = host.ctl("bundle", "import", "--unsigned", broken)
    t.ok(run.returncode == BAD_CONTENT and seen(host) == before,
         "importing a damaged archive changes nothing", run.returncode, run.stderr, seen(host))


def check_removal(t, host):
    for name in ("airgap", "from-a-directory"):
        host.ctl("bundle", "remove", name, check=0)
    t.equal(seen(host)["store/sha256"], [], "removing unsigned bundles deletes all blobs")


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        layers = [layer_of({"etc/motd": b"hello"}), layer_of({"data": bytes(300_000)})]
        old = Archive()
        old.add_json("repositories", {"old.example/app": {"v1": old.add("00/layer.tar", layers[0]).split("/")[0]}})
        paths = {name: os.path.join(host.scratch, name) for name in ("airgap.tar", "broken.tar", "old.tar", "layout", "tagged")}
        for name, content in (("airgap.tar", archive_of(layers)), ("broken.tar", archive_of(layers, broken=True)),
                              ("old.tar", old.bytes())):
            with open(paths[name], "wb") as file:
                file.write(content)
        layout = Layout(paths["layout"])
        layout.tag(layout.add_manifest(layers, MACHINE), NAME)
        tagged = Layout(paths["tagged"])
        tagged.tag(tagged.add_manifest(layers[:1], MACHINE), "v1")
        host.install()
        host.start_daemon()
        host.settle()
        check_refusal(t, host, paths["airgap.tar"])
        check_import(t, host, paths["airgap.tar"], paths["layout"])
        check_name(t, host, paths["tagged"])
        check_old(t, host, paths["old.tar"])
        check_failure(t, host, paths["broken.tar"])
        check_removal(t, host)
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
