# SPDX-License-Identifier: Apache-2.0
"""System packages in a bundle: real packages and repositories, used offline by the real apt and dnf."""
import os
import shutil
import signal
import time

import programs
import tap
from fake_host import FakeHost, write
from image_files import Site
from package_files import KEY, Apt, Dnf, KeyRing, missing_tools, write_deb, write_rpm

BAD_ARGUMENT, FAILED, NOT_FOUND = 2, 1, 4
DEBIAN = 'ID=debian\nVERSION_ID="12"\n'
ROCKY = 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n'
SPEC = f"""[Bundle]
Name=site
Generation={{generation}}

[Packages debian-12]
Files=debs/*.deb
OpenPGPKey={KEY}

[Packages rhel-9]
Files=rpms/*.rpm
OpenPGPKey={KEY}
"""
STRANGER = "somebody@else.example"
BLOBS = "/var/lib/gpuhost/store/sha256"


class Maker:
    """Creates the bundles."""
    def __init__(self, directory):
        self.directory = directory
        self.site = Site(self.path("site"))
        self.keys = KeyRing(self.path("gnupg"))
        for name in ("debs", "rpms"):
            os.makedirs(self.path(name))
        write_deb(self.path("debs/linux-headers-6.6.6_1.0_all.deb"), "linux-headers-6.6.6")
        write_rpm(self.path("rpms"), "kernel-devel")

    def path(self, name):
        return os.path.join(self.directory, name)

    def create(self, spec=SPEC, generation=1, how=programs.run, keys=None, options=()):
        write(self.path("site.spec"), spec.format(generation=generation))
        return how([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "create", "site.spec", "-o", self.path("site.bundle"),
                    *self.site.signing(), *options], cwd=self.directory,
                   env=programs.environment(NO_COLOR="1", LC_ALL="C", SOURCE_DATE_EPOCH="1700000000", **(keys or self.keys).environment))

    def leftovers(self):
        return [name for name in os.listdir(self.directory) if name.startswith(".")]

    def bring(self, host, spec=SPEC, generation=1):
        made = self.create(spec, generation)
        run = host.ctl("bundle", "import", self.path("site.bundle"))
        return made.returncode == 0 and run.returncode == 0, made.stderr, run.stdout, run.stderr, host.tail()

    def make_suite(self):
        """Creates a signed repository with a pool, as reprepro and mirrors do."""
        binary = "dists/bookworm/main/binary-amd64"
        os.makedirs(self.path("repository/pool/main/h"))
        os.makedirs(self.path("repository/" + binary))
        write_deb(self.path("repository/pool/main/h/hello_2.0_all.deb"), "hello", "2.0")
        index = programs.run(["apt-ftparchive", "packages", "pool"], cwd=self.path("repository"), check=True).stdout
        write(self.path(f"repository/{binary}/Packages"), index)
        os.symlink("bookworm", self.path("repository/dists/stable"))
        release = programs.run(["apt-ftparchive", "-o", "APT::FTPArchive::Release::Codename=bookworm", "-o",
                                "APT::FTPArchive::Release::Components=main", "release", "dists/bookworm"],
                               cwd=self.path("repository"), check=True).stdout
        write(self.path("repository/dists/bookworm/Release"), release + "Valid-Until: Tue, 01 Jan 2019 00:00:00 UTC\n")
        self.keys.gpg("--clearsign", "--output", self.path("repository/dists/bookworm/InRelease"),
                      self.path("repository/dists/bookworm/Release"))


def check_mistakes(t, maker):
    for spec, status, words in (
            (SPEC.replace("debian-12", "debian"), BAD_ARGUMENT, "is invalid"),
            (SPEC.replace("debian-12", "../12"), BAD_ARGUMENT, "is invalid"),
            (SPEC.replace("debian-12", "debian-12 amd64"), BAD_ARGUMENT, "is invalid"),
            (SPEC.replace("rhel-9", "debian-12"), BAD_ARGUMENT, "have two sections"),
            (SPEC.replace("Files=debs/*.deb", "Files=debs/*.deb\nRepository=debs"), BAD_ARGUMENT, "both Files= and Repository="),
            (SPEC.replace("Files=debs/*.deb\n", ""), BAD_ARGUMENT, "no Files= and no Repository="),
            (SPEC.replace("Files=debs", "Packages=debs"), BAD_ARGUMENT, "unknown key 'Packages'"),
            (SPEC.replace("debs/*.deb", "none/*.deb"), NOT_FOUND, "no file matches 'none/*.deb'"),
            (SPEC.replace("debs/*.deb", "debs/*.deb rpms/*.rpm"), BAD_ARGUMENT, "packages of two kinds"),
            (SPEC.replace("Files=debs/*.deb", "Repository=debs"), BAD_ARGUMENT, "is not a repository"),
            (SPEC.replace(KEY, "nobody@site.example"), FAILED, "gpg: ")):
        run = maker.create(spec)
        t.ok(run.returncode == status and words in run.stderr,
             f"bundle create refuses a bad specification: {words}", run.returncode, run.stderr)
    t.equal(maker.leftovers(), [], "refused specifications leave no temporary files")


def check_create(t, maker):
    run = maker.create()
    with open(maker.path("site.bundle"), "rb") as file:
        first = file.read()
    again = maker.create()
    with open(maker.path("site.bundle"), "rb") as file:
        t.ok(run.returncode == again.returncode == 0 and file.read()[4096 * 8:] == first[4096 * 8:],
             "two bundles of the same packages differ only in signature", run.stderr, again.stderr)
    shown = programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "show", maker.path("site.bundle"), "--trust",
                          maker.site.file("ca.pem")], env=programs.environment(NO_COLOR="1", LC_ALL="C"))
    t.ok("packages debian-12" in shown.stdout and "packages rhel-9" in shown.stdout,
         "bundle show lists package sets", shown.stdout, shown.stderr)


def check_signatures(t, maker):
    """Signed repositories: bundle create accepts only signatures that hosts accept."""
    stranger = KeyRing(maker.path("stranger"), STRANGER)
    release, inrelease = "dists/bookworm/Release", "dists/bookworm/InRelease"
    spec = SPEC[:SPEC.index("[Packages")] + f"[Packages debian-12]\nRepository=signed\nOpenPGPKey={KEY}\n"

    def made(keys, name, *words):
        """Runs bundle create on the repository with the signature of `keys`."""
        shutil.rmtree(maker.path("signed"), ignore_errors=True)
        shutil.copytree(maker.path("repository"), maker.path("signed"), symlinks=True)
        os.unlink(maker.path("signed/" + inrelease))
        keys.gpg(*words, "--output", maker.path("signed/" + name), maker.path("signed/" + release))
        return maker.create(spec)

    def expect(good, run, name, word=""):
        t.ok((run.returncode == 0) if good else (run.returncode == BAD_ARGUMENT and "has no valid signature by" in run.stderr and word in run.stderr),
             name, run.returncode, run.stderr)
    try:
        write(maker.path("ops.key"), maker.keys.gpg("--armor", "--export-secret-keys", KEY))
        expect(True, made(maker.keys, inrelease, "--clearsign"), "a repository with InRelease by the key is accepted")
        expect(True, made(maker.keys, release + ".gpg", "--detach-sign"), "a repository with Release.gpg by the key is accepted")
        expect(False, made(stranger, inrelease, "--clearsign"), "InRelease by another key is refused", "No public key")
        expect(False, made(stranger, release + ".gpg", "--detach-sign"), "Release.gpg by another key is refused", release + ".gpg has no")
        write(maker.path("signed/gpuhost.asc"), maker.keys.gpg("--armor", "--export", KEY))
        expect(False, maker.create(spec.replace(f"OpenPGPKey={KEY}\n", "")), "a signature by another key than gpuhost.asc is refused", "gpuhost.asc")
        write(maker.path("signed/gpuhost.asc"), stranger.gpg("--armor", "--export", STRANGER))
        expect(True, maker.create(spec.replace(f"OpenPGPKey={KEY}\n", "")), "a signature by the key in gpuhost.asc is accepted")
        made(maker.keys, release + ".gpg", "--detach-sign")
        maker.keys.gpg("--detach-sign", "--output", maker.path("other.sig"), maker.path("site.spec"))
        with open(maker.path(f"signed/{release}.gpg"), "ab") as file, open(maker.path("other.sig"), "rb") as other:
            file.write(other.read())
        expect(False, maker.create(spec), "a bad signature after a good one is refused", "BAD signature")
        made(maker.keys, inrelease, "--clearsign")
        with open(maker.path("signed/" + inrelease), encoding="ascii") as file:
            text = file.read()
        write(maker.path("signed/" + inrelease), text.replace("Date: ", "Date:  "))
        expect(False, maker.create(spec), "a file modified after signing is refused", "BAD signature")
        stranger.gpg("--import", maker.path("ops.key"))
        expect(True, made(stranger, inrelease, "--local-user", KEY, "--local-user", STRANGER, "--clearsign"), "an additional signature by another key is accepted")
        shutil.copytree(maker.path("rpms"), maker.path("dnf"))
        programs.run(["createrepo_c", "--quiet", maker.path("dnf")], check=True)
        for keys, good in ((maker.keys, True), (stranger, False)):
            keys.gpg("--yes", "--armor", "--local-user", KEY if good else STRANGER, "--detach-sign", maker.path("dnf/repodata/repomd.xml"))
            expect(good, maker.create(spec.replace("debian-12", "rhel-9").replace("=signed", "=dnf")), f"a dnf repository by {'the' if good else 'another'} key is {'accepted' if good else 'refused'}",
                   "repodata/repomd.xml.asc")
        listed = stranger.gpg("--with-colons", "--list-keys", STRANGER)
        fingerprint = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr"))
        made(stranger, inrelease, "--local-user", STRANGER, "--clearsign")
        stranger.gpg("--quick-set-expire", fingerprint, "seconds=1")
        write(maker.path("signed/gpuhost.asc"), stranger.gpg("--armor", "--export", STRANGER))
        time.sleep(2)
        expect(False, maker.create(spec.replace(f"OpenPGPKey={KEY}\n", "")), "a signature by an expired key is refused", "the key has expired")
        t.equal(maker.leftovers(), [], "refused signatures leave no temporary files")
    finally:
        stranger.close()


def check_passphrase(t, maker):
    """A key with a passphrase: a dry run does not request it, and Ctrl-C ends the request."""
    keys = KeyRing(maker.path("locked"), passphrase="secret")
    try:
        os.unlink(maker.path("site.bundle"))
        run = maker.create(keys=keys, options=["--dry-run"])
        t.ok(run.returncode == 0 and not keys.asked() and "debian-12" in run.stdout,
             "a dry run requests no passphrase", run.stdout, run.stderr)
        run = maker.create(SPEC.replace(KEY, STRANGER), options=["--dry-run"])
        t.ok(run.returncode == FAILED and "gpg: " in run.stderr,
             "a dry run fails on a missing key", run.returncode, run.stderr)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = maker.create(how=programs.start, keys=keys)
            deadline = time.monotonic() + programs.PATIENCE
            while not keys.asked() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
            at_work = maker.leftovers()
            t.ok(programs.end(process, number) == -number and len(at_work) == 1 and maker.leftovers() == [],
                 f"signal {number} during signing leaves no temporary files", process.returncode, at_work, maker.leftovers())
            os.unlink(keys.question)
            keys.close()  # its pinentry still waits for an answer
        t.ok(not os.path.exists(maker.path("site.bundle")), "an interrupted bundle create leaves no bundle")
    finally:
        keys.close()


def check_apt(t, host, apt, maker):
    good, *said = maker.bring(host)
    t.ok(good and "Signed-By: " in host.read("/etc/apt/sources.list.d/gpuhost-site.sources"),
         "an import writes a signed source for apt", *said)
    t.ok(not os.path.exists(host.path("/etc/yum.repos.d")),
         "an import writes no repository for an absent dnf")
    t.ok("apt rejects" not in host.tail(), "apt accepts the source during the import", host.tail())
    run = apt("-s", "install", "linux-headers-6.6.6")
    t.ok(run.returncode == 0 and "Inst linux-headers-6.6.6" in run.stdout,
         "apt finds an imported package", run.stdout, run.stderr,
         host.read("/apt.log"))
    run = apt("download", "linux-headers-6.6.6")
    with open(maker.path("debs/linux-headers-6.6.6_1.0_all.deb"), "rb") as made, \
            open(host.path("/download/linux-headers-6.6.6_1.0_all.deb"), "rb") as fetched:
        t.ok(run.returncode == 0 and made.read() == fetched.read(),
             "apt downloads an imported package unchanged", run.stderr)
    listed = host.json("bundle", "list")["bundles"][0]["packages"]
    t.ok([tree["distribution"] for tree in listed] == ["debian-12"] and listed[0]["key"] and listed[0]["files"] == 5,
         "bundle list --json has the imported package set", listed)
    t.ok("debian-12" in host.ctl("bundle", "list").stdout and "of site" in host.ctl("status").stdout,
         "bundle list and status print the package set",
         host.ctl("bundle", "list").stdout, host.ctl("status").stdout)
    lines = len(host.read("/apt.log").splitlines())
    maker.bring(host)
    t.equal(len(host.read("/apt.log").splitlines()), lines, "a repeated import does not run apt")


def altered(host, word):
    """Damages the blob that begins with `word`. Returns its path and its original content."""
    for name in os.listdir(host.path(BLOBS)):
        path = host.path(f"{BLOBS}/{name}")
        with open(path, "rb") as file:
            content = file.read()
        if content.startswith(word):
            os.chmod(path, 0o644)
            write(path, "")
            with open(path, "wb") as file:
                file.write(content[:-1] + bytes([content[-1] ^ 1]))
            return path, content
    raise AssertionError(f"no blob begins with {word}")


def mend(path, content):
    with open(path, "wb") as file:
        file.write(content)


def check_tampering(t, host, apt):
    os.unlink(host.path("/download/linux-headers-6.6.6_1.0_all.deb"))
    blob = altered(host, b"!<arch>")
    run = apt("download", "linux-headers-6.6.6")
    t.ok(run.returncode != 0 and "Hash Sum mismatch" in run.stderr,
         "apt refuses a modified package", run.stdout, run.stderr)
    mend(*blob)
    blob = altered(host, b"Package: ")
    run = apt.anew()
    t.ok("Hash Sum mismatch" in run.stderr, "apt refuses a modified index", run.stdout, run.stderr)
    mend(*blob)
    blob = altered(host, b"-----BEGIN PGP SIGNED")
    with open(blob[0], "wb") as file:
        file.write(blob[1].replace(b"Date: Tue", b"Date: Wed"))
    run = apt.anew()
    t.ok("BADSIG" in run.stderr or "invalid" in run.stderr,
         "apt refuses a modified InRelease", run.stdout, run.stderr)
    mend(*blob)
    run = apt.anew()
    t.ok(run.returncode == 0 and run.stderr == "",
         "apt accepts the restored repository", run.stdout, run.stderr)


def check_drift(t, host, apt):
    text = host.read("/etc/apt/sources.list.d/gpuhost-site.sources")
    os.unlink(apt.source("site"))
    run = host.ctl("apply", "--dry-run")
    t.ok("gpuhost-site.sources is not as configured" in run.stdout,
         "plan reports a deleted apt source", run.stdout)
    host.ctl("apply", check=0)
    t.equal(host.read("/etc/apt/sources.list.d/gpuhost-site.sources"), text,
            "apply restores a deleted apt source")
    write(host.path("/etc/gpuhost/gpuhostd.conf"), "[Packages]\nManage=no\n")
    host.ctl("reload", check=0)
    host.ctl("apply", check=0)
    t.ok(not os.path.exists(apt.source("site")), "Manage=no removes the apt source")
    write(apt.source("site"), "# somebody's\n")
    os.unlink(host.path("/etc/gpuhost/gpuhostd.conf"))
    host.ctl("reload", check=0)
    t.ok("is not gpuhost's" in host.ctl("status").stdout,
         "status names a source file of another owner", host.ctl("status").stdout)
    host.ctl("apply", check=0)
    t.equal(host.read("/etc/apt/sources.list.d/gpuhost-site.sources"), "# somebody's",
            "apply keeps a source file of another owner")
    os.unlink(apt.source("site"))
    host.ctl("apply", check=0)


def check_generations(t, host, apt, maker):
    """A new generation with another package in an unsigned repository; the bundle's signature covers it."""
    os.unlink(maker.path("debs/linux-headers-6.6.6_1.0_all.deb"))
    write_deb(maker.path("debs/linux-headers-6.6.7_1.0_all.deb"), "linux-headers-6.6.7")
    good, *said = maker.bring(host, SPEC.replace(f"OpenPGPKey={KEY}\n", ""), 2)
    t.ok(good and "Trusted: yes" in host.read("/etc/apt/sources.list.d/gpuhost-site.sources"),
         "a repository without a key is imported as trusted", *said)
    t.ok(apt("-s", "install", "linux-headers-6.6.7").returncode == 0 and apt("-s", "install", "linux-headers-6.6.6").returncode != 0,
         "apt finds only packages of the next generation", apt("-s", "install", "linux-headers-6.6.7").stderr, host.tail())
    good, *said = maker.bring(host, SPEC.replace("Files=debs/*.deb", "Repository=repository"), 3)
    source = host.read("/etc/apt/sources.list.d/gpuhost-site.sources")
    t.ok(good and "Suites: bookworm\nComponents: main\nSigned-By: " in source,
         "a whole repository is imported with its suites", source, *said)
    run = apt.anew()
    download = apt("download", "hello")
    t.ok(run.returncode == 0 and run.stderr == "" and download.returncode == 0 and os.path.exists(host.path("/download/hello_2.0_all.deb")),
         "apt uses a suite whose Valid-Until has passed", run.stdout, run.stderr, download.stderr)
    write(host.path("/etc/os-release"), DEBIAN.replace("12", "13"))
    host.ctl("apply", check=0)
    t.ok(not os.path.exists(apt.source("site")), "apply on another distribution release removes the source")
    write(host.path("/etc/os-release"), DEBIAN)


def check_dnf(t, host, maker):
    write(host.path("/etc/os-release"), ROCKY)
    dnf = Dnf(host)
    good, *said = maker.bring(host, generation=4)
    text = host.read("/etc/yum.repos.d/gpuhost-site.repo")
    t.ok(good and "repo_gpgcheck=1" in text and not os.path.exists(host.path("/etc/apt/sources.list.d/gpuhost-site.sources")),
         "a host of another family gets a dnf repository", text, *said)
    run = dnf("install", "kernel-devel")
    t.ok(run.returncode == 0 and "Complete!" in run.stdout,
         "dnf installs an imported package", run.stdout, run.stderr)
    shutil.rmtree(host.path("/dnf"))
    blob = altered(host, b"\xed\xab\xee\xdb")
    run = dnf("install", "kernel-devel")
    t.ok(run.returncode != 0 and "incorrect checksum" in run.stdout + run.stderr,
         "dnf refuses a modified package", run.stdout, run.stderr)
    mend(*blob)
    write_rpm(maker.path("rpms"), "kernel-devel", "1.1")
    good, *said = maker.bring(host, SPEC.replace(f"OpenPGPKey={KEY}\n", ""), 5)
    time.sleep(1.1)  # metadata_expire=1
    run = dnf("install", "kernel-devel")
    t.ok(good and run.returncode == 0 and "1.1-1" in run.stdout,
         "dnf installs from the next generation after one second", run.stdout, run.stderr, *said)
    host.ctl("bundle", "remove", "site", check=0)
    t.ok(not os.path.exists(dnf.source("site")) and not os.listdir(host.path(BLOBS)),
         "removing the bundle deletes dnf repository and packages")


def check_removal(t, host, apt, maker):
    write(host.path("/etc/os-release"), DEBIAN)
    maker.bring(host, generation=6)
    t.ok(os.path.exists(apt.source("site")), "another import writes the apt source again")
    host.ctl("bundle", "remove", "site", check=0)
    run = apt("-s", "install", "linux-headers-6.6.7")
    t.ok(os.listdir(host.path("/etc/apt/sources.list.d")) == [] and run.returncode != 0,
         "removing the bundle removes source and packages from apt", run.stdout)


def check_refused(t, host, apt, maker):
    """A repository whose index differs from the signed one."""
    spec = SPEC[:SPEC.index("[Packages")] + f"[Packages debian-12]\nRepository=strange\nOpenPGPKey={KEY}\n"
    shutil.copytree(maker.path("repository"), maker.path("strange"), symlinks=True)
    for name in ("Release", "main/binary-amd64/Packages"):
        with open(maker.path("strange/dists/bookworm/" + name), "a", encoding="ascii") as file:
            file.write("Label: strange\n")
    maker.keys.gpg("--yes", "--clearsign", "--output", maker.path("strange/dists/bookworm/InRelease"), maker.path("strange/dists/bookworm/Release"))
    good, *said = maker.bring(host, spec, generation=20)
    t.ok(good and "apt rejects" in host.tail() and not os.path.exists(apt.source("site")),
         "an import removes a source that apt refuses", *said)
    t.ok(apt("update").returncode == 0, "apt update succeeds after a refused source")
    t.ok("gpuhost-site.sources" in host.ctl("apply", "--dry-run").stdout,
         "plan still lists the refused source", host.ctl("apply", "--dry-run").stdout)
    host.ctl("bundle", "remove", "site")


def main():
    t = tap.Tap()
    if missing := missing_tools():
        t.skip("packages in bundles", "not installed: " + " ".join(missing))
        t.done()
    host = FakeHost(gpus=())
    maker = Maker(os.path.join(host.scratch, "maker"))
    try:
        maker.make_suite()
        check_mistakes(t, maker)
        check_create(t, maker)
        check_signatures(t, maker)
        check_passphrase(t, maker)
        host.install()
        write(host.path("/etc/os-release"), DEBIAN)
        os.makedirs(host.path("/etc/gpuhost/trust.d"))
        shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
        apt = Apt(host)
        host.start_daemon()
        host.settle()
        check_apt(t, host, apt, maker)
        check_tampering(t, host, apt)
        check_drift(t, host, apt)
        check_generations(t, host, apt, maker)
        check_dnf(t, host, maker)
        check_removal(t, host, apt, maker)
        t.ok("apt rejects" not in host.messages(), "apt accepted every source so far", host.tail())
        check_refused(t, host, apt, maker)
    finally:
        maker.keys.close()
        host.close()
    t.done()


if __name__ == "__main__":
    main()
