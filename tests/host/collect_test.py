# SPDX-License-Identifier: Apache-2.0
"""bundle collect: the real apt, skopeo and curl with an archive, a registry and a web server on this machine."""
import hashlib
import http.server
import json
import os
import shutil
import signal
import ssl
import threading
import time

import programs
import tap
from driver_files import deb, library, TRIPLET
from fake_host import NEW, FakeHost, write
from image_files import Layout, Site
from package_files import KEY, KeyRing
from registry_service import RegistryService

FAILED, BAD_ARGUMENT, NOT_FOUND, UNSUPPORTED, NO_SPACE = 1, 2, 4, 10, 11
KERNEL = "6.1.0-50-amd64"
TOOLS = ("apt-ftparchive", "apt-get", "curl", "dpkg-deb", "gpg", "gpgconf", "skopeo")
RUN_FILE = f"NVIDIA-Linux-x86_64-{NEW}.run"
DRIVER = {"nvidia-smi": {"usr/bin/nvidia-smi": (b"#!/bin/sh\n", 0o755)},
          "libnvidia-ml1": {f"usr/lib/{TRIPLET}/libnvidia-ml.so.{NEW}": (library("libnvidia-ml.so.1"), 0o644)},
          "libcuda1": {f"usr/lib/{TRIPLET}/libcuda.so.{NEW}": (library("libcuda.so.1"), 0o644)},
          "libnvidia-ptxjitcompiler1": {f"usr/lib/{TRIPLET}/libnvidia-ptxjitcompiler.so.{NEW}": (library("libnvidia-ptxjitcompiler.so.1"), 0o644)},
          "firmware-nvidia-gsp": {f"lib/firmware/nvidia/{NEW}/gsp_ga10x.bin": (b"firmware", 0o644)},
          "nvidia-open-kernel-dkms": {f"usr/src/nvidia-{NEW}/dkms.conf": (b"", 0o644)}}
POOL = (("libdeep1", "1.0", ""), ("libssl-fake", "1:2.0", "libdeep1"), ("make", "4.3", ""), ("gcc", "4:12.2", "libssl-fake (>= 1:1.5), base-fake"),
        ("kmod", "30", ""), ("base-fake", "1", ""), (f"linux-headers-{KERNEL}", "6.1", "gcc"), ("tool", "1.0", "libdeep1"), ("enemy", "1.0", ""))
IMPORTANT = ("kmod", "base-fake")


def write_pool_deb(path, name, version, depends, priority="optional"):
    tree = path + ".tree"
    fields = f"Depends: {depends}\n" if depends else ""
    if name == "enemy":
        fields += "Conflicts: tool\n"
    write(tree + "/DEBIAN/control", f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nPriority: {priority}\n"
          f"Maintainer: {KEY}\n{fields}Description: {name}\n")
    write(f"{tree}/usr/share/{name}/version", version + "\n")
    programs.run(["dpkg-deb", "--root-owner-group", "--build", tree, path], check=True)
    shutil.rmtree(tree)


class Archive:
    """A signed archive with one suite, as mirrors have it."""
    def __init__(self, directory, keys):
        self.directory, self.keys = directory, keys
        os.makedirs(self.path("pool"))
        for name, version, depends in POOL:
            write_pool_deb(self.path(f"pool/{name}_{version.split(':')[-1]}_amd64.deb"), name, version, depends,
                           "important" if name in IMPORTANT else "optional")
        for name, files in DRIVER.items():
            with open(self.path(f"pool/{name}_{NEW}-1_amd64.deb"), "wb") as file:
                file.write(deb(name, NEW, files))
        self.publish()

    def path(self, name):
        return os.path.join(self.directory, name)

    def publish(self, fields=""):
        """Without MD5, as Debian's security archive."""
        binary = "dists/bookworm/main/binary-amd64"
        os.makedirs(self.path(binary), exist_ok=True)
        index = programs.run(["apt-ftparchive", "-o", "APT::FTPArchive::MD5=false", "packages", "pool"], cwd=self.directory, check=True).stdout
        write(self.path(binary + "/Packages"), index)
        for name in ("Release", "InRelease"):
            if os.path.exists(self.path("dists/bookworm/" + name)):
                os.unlink(self.path("dists/bookworm/" + name))
        release = programs.run(["apt-ftparchive", "-o", "APT::FTPArchive::Release::Codename=bookworm", "-o", "APT::FTPArchive::Release::Suite=bookworm", "-o",
                                "APT::FTPArchive::Release::Components=main", "-o", "APT::FTPArchive::Release::Architectures=amd64",
                                "release", "dists/bookworm"], cwd=self.directory, check=True).stdout
        write(self.path("dists/bookworm/Release"), fields + release)
        self.keys.gpg("--clearsign", "--output", self.path("dists/bookworm/InRelease"), self.path("dists/bookworm/Release"))


class Web:
    """A server for files in a directory, with a site by https. Its certificate is its authority. Continues a file of the same entity tag.
    With `cut`, closes the connection once after so many bytes."""
    tag = '"same"'
    cut = None

    def __init__(self, directory, site=None):
        self.requests, self.continued = [], []
        web = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *words):
                super().__init__(*words, directory=directory)

            def do_GET(self):
                web.requests.append(self.path)
                start, tag = self.headers.get("Range"), self.headers.get("If-Range")
                if start and tag == web.tag:
                    web.continued.append(self.path)
                    self.send_part(206, int(start.removeprefix("bytes=").rstrip("-")))
                elif web.cut:
                    end, web.cut = web.cut, None
                    self.send_part(200, 0, end)
                else:
                    super().do_GET()

            def send_part(self, status, first, end=None):
                with open(self.translate_path(self.path), "rb") as file:
                    data = file.read()
                self.send_response(status)
                if status == 206:
                    self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
                self.send_header("Content-Length", str(len(data) - first))
                self.end_headers()
                self.wfile.write(data[first:end])

            def end_headers(self):
                self.send_header("ETag", web.tag)
                super().end_headers()

            def log_message(self, *words):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *words: None  # a client that was interrupted
        if site:
            self.use_tls(site)
        self.url = f"http{'s' if site else ''}://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def use_tls(self, site):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        programs.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                      "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", site.file("web.key"), "-out", site.file("web.pem")], check=True)
        context.load_cert_chain(site.file("web.pem"), site.file("web.key"))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Connected:
    """The connected machine: what a user has there, and the command."""
    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory)
        self.site = Site(self.path("site"))
        self.keys = KeyRing(self.path("gnupg"))
        self.keys.gpg("--export", "--output", self.path("archive.gpg"), KEY)
        self.archive = Archive(self.path("archive"), self.keys)
        self.environment = {}

    def path(self, name):
        return os.path.join(self.directory, name)

    def command(self, *words, out="out", mirror=True):
        mirrors = ["--mirror", f"file:{self.archive.directory} bookworm", "--keyring", self.path("archive.gpg")] if mirror else []
        return [os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "collect", "--distribution", "debian-12", "--directory", self.path(out), *mirrors, *words]

    def collect(self, *words, **options):
        return programs.run(self.command(*words, **options), cwd=self.directory,
                            env=programs.environment(NO_COLOR="1", LC_ALL="C", HOME=self.directory, **self.environment))

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def record(self, out="out"):
        return json.loads(self.text(out + "/collected.json"))

    def bundle(self, name="site.bundle"):
        return ["-o", self.path(name), *self.site.signing()]


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def check_mistakes(t, machine):
    for words, status, said in (
            (["--distribution", "debian-9", "--driver", NEW], BAD_ARGUMENT, "unknown distribution 'debian-9'"),
            (["--distribution", "el-9", "--driver", NEW], UNSUPPORTED, "has no apt"),
            (["--driver", "newest"], BAD_ARGUMENT, "'newest' is not a driver version"),
            (["--kernel", "6.1;reboot"], BAD_ARGUMENT, "is not a kernel release"),
            (["--package", "-o"], BAD_ARGUMENT, "'-o' is not a package"),
            (["--package", "?installed"], BAD_ARGUMENT, "is not a package"),
            (["--package", "none.deb"], BAD_ARGUMENT, "is not a readable file"),
            (["--image", "app@sha256:" + "0" * 64], BAD_ARGUMENT, "has a digest"),
            (["--mirror", "ftp://mirror.example", "--driver", NEW], BAD_ARGUMENT, "is not a URL"),
            (["--driver", NEW, "--driver-files", "http://site.example/x.run"], BAD_ARGUMENT, "is not an https URL"),
            (["--driver-files", machine.directory], BAD_ARGUMENT, "--driver-files needs --driver"),
            (["--generation", "-1", "--driver", NEW], BAD_ARGUMENT, "is not a valid generation"),
            (["--name", "Site", "--driver", NEW], BAD_ARGUMENT, "is not a valid bundle name"),
            (["--driver", NEW, "-o", "x.bundle"], BAD_ARGUMENT, "--sign-key is missing"),
            ([], BAD_ARGUMENT, "nothing to collect")):
        run = machine.collect(*words)
        t.ok(run.returncode == status and said in run.stderr, f"collect refuses a mistake: {said}", run.returncode, run.stderr)
    t.ok(not os.path.exists(machine.path("out")), "a refused collect writes nothing")


def check_archive(t, machine):
    run = machine.collect("--driver", NEW, "--driver", NEW, "--kernel", KERNEL, "--kernel", KERNEL, "--dry-run")
    t.ok(run.returncode == 0 and "To fetch: 11 items" in run.stdout and not os.path.exists(machine.path("out")),
         "a dry run lists each file once and writes nothing", run.stdout, run.stderr)
    run = machine.collect("--driver", NEW, "--kernel", KERNEL, "--package", "tool", "--generation", "3", *machine.bundle())
    t.ok(run.returncode == 0 and "Fetched: 12 items" in run.stdout and os.path.exists(machine.path("site.bundle")),
         "collect fetches packages and makes a bundle", run.stdout, run.stderr)
    t.equal(sorted(os.listdir(machine.path("out/packages"))),
            ["gcc_12.2_amd64.deb", "libdeep1_1.0_amd64.deb", "libssl-fake_2.0_amd64.deb", f"linux-headers-{KERNEL}_6.1_amd64.deb", "make_4.3_amd64.deb", "tool_1.0_amd64.deb"],
            "packages have all dependencies but important ones")
    t.equal(sorted(os.listdir(machine.path(f"out/driver/{NEW}"))), sorted(f"{name}_{NEW}-1_amd64.deb" for name in DRIVER),
            "the driver has its packages without dependencies")
    spec = machine.text("out/site.spec")
    t.ok("Generation=3\n" in spec and f"[Driver {NEW} linux/amd64]" in spec and "[Packages debian-12 linux/amd64]" in spec,
         "the specification has driver and packages", spec)
    record = machine.record()
    t.ok(all(item["sha256"] == digest(machine.path("out/" + item["file"])) and item["source"].startswith("file:") for item in record["items"]),
         "the record has origin and digest of each file", record)
    t.equal(record["on_every_host"], ["base-fake", "kmod"], "the record has packages of every host")
    t.ok(not {"apt.conf", "sources.list", "status"} & set(os.listdir(machine.path("out/.apt"))), "the directory has no configuration with passwords of proxies")
    t.ok("[1/12] fetching " in run.stderr, "collect reports each file", run.stderr)


def check_again(t, machine):
    """A repeated run fetches only what is missing or damaged."""
    os.unlink(machine.path("out/packages/make_4.3_amd64.deb"))
    with open(machine.path("out/packages/gcc_12.2_amd64.deb"), "ab") as file:
        file.write(b"damaged")
    run = machine.collect("--driver", NEW, "--kernel", KERNEL)
    t.ok(run.returncode == 0 and "Fetched: 2 items" in run.stdout and "Present: 9 items" in run.stdout,
         "a repeated collect fetches missing and damaged files", run.stdout, run.stderr)
    t.ok(not os.path.exists(machine.path("out/packages/tool_1.0_amd64.deb")), "files that are no longer needed are removed")
    document = json.loads(machine.collect("--driver", NEW, "--json", out="out/").stdout)
    t.ok(document["missing"] == [] and document["spec"] == machine.path("out/site.spec") and document["notes"][0].startswith("No kernel headers"),
         "--json has items, specification and notes", document)


def check_both(t, machine):
    run = machine.collect("--driver", NEW, "--package", "nvidia-smi", out="both")
    name = f"nvidia-smi_{NEW}-1_amd64.deb"
    t.ok(run.returncode == 0 and os.path.exists(machine.path(f"both/driver/{NEW}/{name}")) and os.path.exists(machine.path(f"both/packages/{name}")),
         "a package of driver and host gets both places", run.stdout, run.stderr)
    t.equal(os.listdir(machine.path("both/.apt/incoming")), [], "no downloaded package remains in .apt")


def check_missing(t, machine):
    run = machine.collect("--driver", "999.1.2", "--kernel", "6.1.0-99-amd64", "--package", "nobody", "--package", "make", *machine.bundle("not.bundle"), out="part")
    t.ok(run.returncode == NOT_FOUND and f"driver 999.1.2: not in the archive of debian-12, which has {NEW}" in run.stdout and "package nobody: not in the archive" in run.stdout,
         "missing driver and package are reported", run.returncode, run.stdout)
    t.ok(f"The archive has headers of {KERNEL}." in run.stdout, "missing headers are reported with those available", run.stdout)
    t.ok("Files=packages/make_4.3_amd64.deb" in machine.text("part/site.spec") and not os.path.exists(machine.path("not.bundle")),
         "with missing items there is a specification, no bundle", run.stderr)
    run = machine.collect("--package", "tool", "--package", "nobody", out="part")
    t.ok("make" in [item["name"] for item in machine.record("part")["items"]] and os.path.exists(machine.path("part/packages/make_4.3_amd64.deb")),
         "an incomplete run keeps the files of the last one", run.stdout, run.stderr)
    run = machine.collect("--package", "tool", out="part")
    t.ok(run.returncode == 0 and sorted(os.listdir(machine.path("part/packages"))) == ["libdeep1_1.0_amd64.deb", "tool_1.0_amd64.deb"],
         "a complete run then removes them", run.stdout, run.stderr)
    run = machine.collect("--package", "tool", "--package", "enemy", out="part")
    t.ok(run.returncode == NOT_FOUND and "dependencies of tool enemy" in run.stdout, "packages that conflict are reported", run.stdout, run.stderr)


def check_host_status(t, machine):
    write(machine.path("status"), "Package: libdeep1\nStatus: install ok installed\nVersion: 1.0\nArchitecture: amd64\nDescription: x\nMaintainer: x\n\n")
    run = machine.collect("--package", "gcc", "--host-status", machine.path("status"), out="host")
    t.equal((run.returncode, sorted(os.listdir(machine.path("host/packages")))),
            (0, ["base-fake_1_amd64.deb", "gcc_12.2_amd64.deb", "libssl-fake_2.0_amd64.deb"]), "with --host-status only what the host lacks is fetched")
    write_pool_deb(machine.path("gpuhostd_0.1.0_amd64.deb"), "gpuhostd", "0.1.0", "libdeep1")
    run = machine.collect("--package", "gpuhostd_0.1.0_amd64.deb", "--package", machine.path("gpuhostd_0.1.0_amd64.deb"), out="local")
    t.equal((run.returncode, sorted(os.listdir(machine.path("local/packages")))), (0, ["gpuhostd_0.1.0_amd64.deb", "libdeep1_1.0_amd64.deb"]),
            "a local package is copied and its dependencies fetched")


def check_tampering(t, machine):
    shutil.copytree(machine.path("archive"), machine.path("intact"))
    write_pool_deb(machine.path("archive/pool/make_4.3_amd64.deb"), "make", "4.3", "tool")
    run = machine.collect("--package", "make", *machine.bundle("bad.bundle"), out="tampered")
    t.ok(run.returncode == NOT_FOUND and "package make=4.3: " in run.stdout and not os.listdir(machine.path("tampered/packages") if os.path.exists(machine.path("tampered/packages")) else machine.path("tampered/.apt/incoming")),
         "a package that differs from the index is refused", run.stdout, run.stderr)
    t.ok(not os.path.exists(machine.path("bad.bundle")), "a refused package makes no bundle")
    stranger = KeyRing(machine.path("stranger"), "somebody@else.example")
    try:
        stranger.gpg("--export", "--output", machine.path("stranger.gpg"), "somebody@else.example")
        run = machine.collect("--package", "make", "--mirror", f"file:{machine.path('intact')} bookworm", "--keyring", machine.path("stranger.gpg"), out="tampered", mirror=False)
        t.ok(run.returncode == FAILED and "NO_PUBKEY" in run.stderr and "--keyring FILE" in run.stderr and not os.path.exists(machine.path("tampered/packages")),
             "an archive signed by another key is refused", run.returncode, run.stderr)
    finally:
        stranger.close()
    run = machine.collect("--package", "make", "--mirror", f"file:{machine.path('none')} bookworm", "--keyring", machine.path("archive.gpg"), out="wrong", mirror=False)
    t.ok(run.returncode == FAILED and "--mirror URL" in run.stderr, "an absent archive is refused", run.returncode, run.stderr)
    machine.archive.publish("Valid-Until: Thu, 01 Jan 2026 00:00:00 UTC\n")
    run = machine.collect("--package", "make", out="expired")
    t.ok(run.returncode == FAILED and "machine's clock" in run.stderr, "an expired archive is refused with a hint", run.returncode, run.stderr)
    shutil.rmtree(machine.path("archive"))
    shutil.move(machine.path("intact"), machine.path("archive"))
    run = machine.collect("--package", "make", out="tampered")
    t.ok(run.returncode == 0 and os.listdir(machine.path("tampered/packages")) == ["make_4.3_amd64.deb"], "a repeated run fetches the restored package", run.stdout, run.stderr)


def check_driver_files(t, machine, web):
    write(machine.path("web/" + RUN_FILE), "#!/bin/sh\n" + "x" * 100_000)
    write(machine.path(f"files/nvidia-smi_{NEW}-1_amd64.deb"), "content")
    write(machine.path("files/other_1.0_amd64.deb"), "content")
    write(machine.path(f"files/nvidia-smi_{NEW}.07-1_amd64.deb"), "another version")
    write(machine.path(f"files/NVIDIA-{NEW} (1).run"), "downloaded twice")
    run = machine.collect("--driver", NEW, "--driver-files", machine.path("files"), "--driver-files", f"{web.url}/{RUN_FILE}", out="given")
    t.equal((run.returncode, sorted(os.listdir(machine.path(f"given/driver/{NEW}")))), (0, [RUN_FILE, f"nvidia-smi_{NEW}-1_amd64.deb"]),
            "--driver-files replace the packages of the archive")
    t.ok(f"Skipped 'NVIDIA-{NEW} (1).run'" in " ".join(run.stdout.split()), "a file with a space in its name is skipped with a note", run.stdout)
    t.equal(digest(machine.path(f"given/driver/{NEW}/{RUN_FILE}")), digest(machine.path("web/" + RUN_FILE)), "curl fetches a driver file by https")
    write(machine.path(f"named/NVIDIA-{NEW} (1).run"), "downloaded twice")
    run = machine.collect("--driver", NEW, "--driver-files", machine.path("named"), out="named-out")
    t.ok(run.returncode == NOT_FOUND and "1 file was skipped for its name" in " ".join(run.stdout.split()), "a directory with only skipped files is reported as such", run.stdout)
    before = len(web.requests)
    run = machine.collect("--driver", NEW, "--driver-files", f"{web.url}/{RUN_FILE}", out='quoted"')
    t.ok(run.returncode == BAD_ARGUMENT and "apt can't read" in run.stderr and len(web.requests) == before, "a mistake for apt is reported before a download", run.stderr, web.requests)
    os.makedirs(machine.path("semi;colon"))
    machine.environment["TMPDIR"] = machine.path("semi;colon")
    run = machine.collect("--driver", NEW, out="fine")
    del machine.environment["TMPDIR"]
    t.ok(run.returncode == BAD_ARGUMENT and f"'{machine.path('semi;colon')}/" in run.stderr and "Set TMPDIR" in run.stderr, "a temporary directory that apt can't read is named", run.stderr)
    run = machine.collect("--driver", NEW, "--driver-files", f"{web.url}/{RUN_FILE}", out="given")
    t.ok(run.returncode == 0 and len(web.requests) == before, "a fetched driver file is not fetched again", run.stderr, web.requests)
    run = machine.collect("--driver", NEW, "--driver-files", f"{web.url}/none-{NEW}.run", "--driver-files", machine.path("site"), out="given")
    t.ok(run.returncode == NOT_FOUND and "404" in run.stdout and "driver files in " in run.stdout, "absent driver files are reported", run.stdout, run.stderr)


def check_password(t, machine, web):
    """Passwords in the URLs of a mirror and of a driver file."""
    mirror = Web(machine.archive.directory)
    mirror_url, file_url = (server.url.replace("://", "://joe:secret@") for server in (mirror, web))
    words = ("--driver", NEW, "--package", "make", "--driver-files", f"{file_url}/{RUN_FILE}", "--mirror", mirror_url + " bookworm", "--keyring", machine.path("archive.gpg"))
    try:
        run = machine.collect(*words, out="login", mirror=False)
        before = len(web.requests)
        again = machine.collect(*words, out="login", mirror=False)
    finally:
        mirror.close()
    sources = {item["source"] for item in machine.record("login")["items"]}
    t.ok(run.returncode == 0 and {f"{web.url}/{RUN_FILE}", f"{mirror.url}/pool/make_4.3_amd64.deb"} <= sources, "the record has URLs without their passwords", run.stdout, run.stderr, sources)
    found = []
    for directory, _, names in os.walk(machine.path("login")):
        for path in (os.path.join(directory, name) for name in names):
            with open(path, "rb") as file:
                if "secret" in path or b"secret" in file.read():
                    found.append(path)
    t.equal(found, [], "a password of a URL is in no file of the directory")
    t.ok(again.returncode == 0 and len(web.requests) == before, "a file from a URL with a password is not fetched again", again.stderr, web.requests)


def check_interrupted(t, machine, web):
    """Ctrl-C during a download; the next run completes it."""
    os.mkfifo(machine.path("web/" + RUN_FILE.replace(NEW, NEW + "-slow")))
    name = RUN_FILE.replace(NEW, NEW + "-slow")
    process = programs.start(machine.command("--driver", NEW, "--driver-files", f"{web.url}/{name}", *machine.bundle("cut.bundle"), out="cut"), cwd=machine.directory,
                             env=programs.environment(HOME=machine.directory, LC_ALL="C", **machine.environment))
    deadline = time.monotonic() + programs.PATIENCE
    while "/" + name not in web.requests and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    status = programs.end(process, signal.SIGINT)
    t.ok(status == -signal.SIGINT and not os.path.exists(machine.path("cut/site.spec")) and not os.path.exists(machine.path("cut.bundle")),
         "an interrupted collect ends by the signal", status)
    with open(machine.path("web/" + name), "wb"):  # the server's thread ends
        pass
    os.unlink(machine.path("web/" + name))
    write(machine.path("web/" + name), "whole")
    run = machine.collect("--driver", NEW, "--driver-files", f"{web.url}/{name}", out="cut")
    t.ok(run.returncode == 0 and machine.text(f"cut/driver/{NEW}/{name}") == "whole", "the next run completes the download", run.stdout, run.stderr)


def check_partial(t, machine, web):
    """An interrupted download continues only with the same file."""
    content = "#!/bin/sh\n" + "x" * 100_000
    url = f"{web.url}/{RUN_FILE}"

    def part_of(out):
        return machine.path(f"{out}/driver/{NEW}/{RUN_FILE}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part")

    def complete(out, continued, said):
        web.continued.clear()
        run = machine.collect("--driver", NEW, "--driver-files", url, out=out)
        t.ok(run.returncode == 0 and machine.text(f"{out}/driver/{NEW}/{RUN_FILE}") == content and len(web.continued) == continued, said, run.stdout, run.stderr, web.continued)
        t.equal(os.listdir(os.path.dirname(part_of(out))), [RUN_FILE], f"{said}: no partial file remains")

    for name, begin, tag, continued, said in (
            ("same", content[:1000], web.tag, 1, "an interrupted download continues"),
            ("other", "y" * 1000, '"old"', 0, "a file that has changed is fetched again"),
            ("unknown", "y" * 1000, "", 0, "a partial file without a tag is fetched again")):
        write(part_of(name), begin)
        if tag:
            write(part_of(name) + ".etag", tag + "\n")
        complete(name, continued, said)
    for name, tag, continued, said in (("strong", '"same"', 1, "a download that the server cut continues"),
                                       ("weak", 'W/"same"', 0, "a download with a weak tag starts again")):
        web.tag, web.cut = tag, 1000
        run = machine.collect("--driver", NEW, "--driver-files", url, out=name)
        t.ok(run.returncode == NOT_FOUND and machine.text(part_of(name)) == content[:1000], f"{said}: a part remains", run.stdout, run.stderr)
        complete(name, continued, said)
    web.tag = Web.tag


class Registry:
    """A host whose gpuhost-registry serves the images of a bundle."""
    def __init__(self, machine):
        self.host = FakeHost(gpus=())
        layout = Layout(machine.path("layout"))
        self.many = layout.add_index({"amd64": [b"amd64 layer"], "arm64": [b"arm64 layer"]})
        layout.tag(self.many, "many")
        self.one = layout.add_manifest([b"one layer"])
        layout.tag(self.one, "one")
        layout.tag(layout.add_index({"arm64": [b"arm64 only"]}), "arm")
        write(machine.path("images.spec"), "[Bundle]\nName=images\n" + "".join(f"[Image site.example/{name}:v1]\nLayout=layout\nReference={name}\n" for name in ("many", "one", "arm")))
        programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "create", machine.path("images.spec"), "-o", machine.path("images.bundle"), *machine.site.signing()], check=True)
        start(self.host, machine)
        self.host.ctl("bundle", "import", machine.path("images.bundle"), check=0)
        self.service = RegistryService(self.host.root, None)
        self.service.start()
        write(machine.path(".config/containers/registries.conf"), f'[[registry]]\nlocation = "{self.service.address}"\ninsecure = true\n')
        write(machine.path(".config/containers/policy.json"), '{"default": [{"type": "insecureAcceptAnything"}]}')

    def name(self, image):
        return f"{self.service.address}/site.example/{image}:v1"

    def close(self):
        self.service.close()
        self.host.close()


def check_images(t, machine, registry):
    run = machine.collect("--image", registry.name("many"), "--image", registry.name("one"), *machine.bundle(), out="images", mirror=False)
    found = {item["name"]: item["sha256"] for item in machine.record("images")["items"]}
    t.ok(run.returncode == 0 and found == {registry.name("many"): registry.many["digest"][7:], registry.name("one"): registry.one["digest"][7:]},
         "images keep the digests of their registry", run.stdout, run.stderr, found)
    blobs = os.listdir(machine.path("images/images/blobs/sha256"))
    t.ok(hashlib.sha256(b"amd64 layer").hexdigest() in blobs and hashlib.sha256(b"arm64 layer").hexdigest() not in blobs,
         "only blobs for the platform are fetched", blobs)
    run = machine.collect("--image", registry.name("many"), "--image", registry.name("one"), "--image", registry.name("one"), *machine.bundle(), out="images", mirror=False)
    t.ok(run.returncode == 0 and "Present: 2 items" in run.stdout, "present images are not fetched again", run.stdout, run.stderr)
    run = machine.collect("--image", registry.name("many"), "--image", registry.name("one"), "--dry-run", out="images", mirror=False)
    t.ok(run.returncode == 0 and "Present: 2 items" in run.stdout, "a dry run finds present images", run.stdout, run.stderr)
    index = json.loads(machine.text("images/images/index.json"))
    for one in index["manifests"]:
        if one.get("annotations", {}).get("org.opencontainers.image.ref.name") == registry.name("one"):
            one["digest"] = registry.many["digest"]
    write(machine.path("images/images/index.json"), json.dumps(index))
    run = machine.collect("--image", registry.name("one"), "--dry-run", "--json", out="images", mirror=False)
    t.equal([(item["fetched"], item["sha256"]) for item in json.loads(run.stdout)["items"]], [(True, "")], "a dry run would fetch an image whose tag has moved")
    run = machine.collect("--image", registry.name("none"), "--image", registry.name("arm"), out="none", mirror=False)
    t.ok(run.returncode == NOT_FOUND and f"image {registry.name('none')}: skopeo: " in " ".join(run.stdout.split()) and "without a message" not in run.stdout and "has nothing for linux/amd64, only for linux/arm64" in run.stdout,
         "absent images and platforms are reported", run.stdout, run.stderr)
    t.ok(not os.path.exists(machine.path("none/site.spec")), "a collection without content has no specification")


def start(host, machine):
    host.install()
    os.makedirs(host.path("/etc/gpuhost/trust.d"))
    shutil.copy(machine.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
    write(host.path("/etc/os-release"), 'ID=debian\nVERSION_ID="12"\n')
    host.start_daemon()
    host.settle()


def check_import(t, machine, registry):
    """The whole way: collected, made, imported."""
    host = FakeHost()
    try:
        start(host, machine)
        run = machine.collect("--driver", NEW, "--kernel", KERNEL, "--image", registry.name("many"), "--generation", "9", *machine.bundle(), out="all")
        t.ok(run.returncode == 0 and "Wrote bundle site, generation 9, with 1 image, 2 artifacts" in run.stderr, "collect makes one bundle of everything", run.stdout, run.stderr)
        run = host.ctl("bundle", "import", machine.path("site.bundle"))
        t.ok(run.returncode == 0, "a host imports the collected bundle", run.stdout, run.stderr, host.tail())
        versions = [one["version"] for one in host.json("driver", "list")["versions"]]
        listed = host.json("bundle", "list")["bundles"][0]
        t.ok(versions == [NEW] and [tree["distribution"] for tree in listed["packages"]] == ["debian-12"],
             "the host has the collected driver and packages", versions, listed)
        t.equal([image["name"] for image in host.json("image", "list", "--root", host.root)["images"]], [registry.name("many")], "the host has the collected image")
    finally:
        host.close()


def main():
    t = tap.Tap()
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        t.skip("bundle collect", "not installed: " + " ".join(missing))
        t.done()
    scratch = FakeHost(gpus=())
    machine = Connected(os.path.join(scratch.scratch, "connected"))
    os.makedirs(machine.path("web"))
    web = Web(machine.path("web"), machine.site)
    machine.environment["CURL_CA_BUNDLE"] = machine.site.file("web.pem")
    registry = None
    try:
        for check in (check_mistakes, check_archive, check_again, check_both, check_missing, check_host_status, check_tampering):
            check(t, machine)
        check_driver_files(t, machine, web)
        check_password(t, machine, web)
        check_interrupted(t, machine, web)
        check_partial(t, machine, web)
        registry = Registry(machine)
        check_images(t, machine, registry)
        check_import(t, machine, registry)
    finally:
        if registry:
            registry.close()
        web.close()
        machine.keys.close()
        scratch.close()
    t.done()


if __name__ == "__main__":
    main()
