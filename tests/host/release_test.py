# SPDX-License-Identifier: Apache-2.0
"""packaging/release for EL: Debian's dnf, rpm and createrepo_c make a release of small packages, and its installer
installs them in a root without a network. tests/support/check-release does the same for Debian, with real packages."""
import json
import os
import shutil
import stat
import tempfile

import own_mounts
import tap
from el_files import ARCHITECTURE, RELEASE, SLOW, Root, write_ours, write_packages
from fake_host import write
from package_files import KeyRing, missing_tools
from programs import run

STICK = "/media/My, Stick/100%"
EPOCH = "1790000000"
NAME = f"gpuhostd-0.1.0-1-el9-{ARCHITECTURE}"
RELEASER = {"el-release": ("9.4", "Provides: system-release(releasever) = 9")}
SITE = {
    "bash": ("5.1", "Provides: /bin/sh"),
    "dbus": ("1.12", "Requires: dbus-broker"),
    "dbus-broker": ("28", "Requires: systemd\nRequires: /opt/site/bash"),
    "kmod": ("28", ""),
    "libcurl": ("7.76", "Provides: libcurl.so.4()(64bit)\nRequires: openssl-libs >= 1:3"),
    "libselinux-utils": ("3", ""),
    "openssl-libs": ("3.2", "Epoch: 1\nConflicts: openssl-fips"),
    "policycoreutils": ("3", ""),
    "policycoreutils-python-utils": ("3", ""),
    "polkit": ("0.117", "Requires: dbus\nRecommends: polkit-docs"),
    "selinux-policy": ("38", ""),
    "selinux-policy-targeted": ("38", "Provides: selinux-policy-base = 38\nRequires: selinux-policy = 38"),
    "systemd": ("252", "Requires: /bin/sh"),
}
OTHERS = {"polkit-docs": ("1", ""), "podman": ("4", ""), "unrelated": ("1", ""), "cockpit-bridge": ("300", "")}
HEADERS = {name: ("1", "URL: https://json.example/") for name in ("json-devel", "tomlplusplus-devel", "expected-devel", "date-devel")}
# On the host: an older kmod is enough for gpuhostd, an older openssl-libs is not.
HAD = {"kmod": ("27", ""), "openssl-libs": ("2", "Epoch: 1"), "selinux-policy-targeted": ("38", "Provides: selinux-policy-base = 38")}


class Releaser:
    """Makes releases in a root with the site's repository."""
    def __init__(self, directory):
        self.directory = directory
        self.root = Root(directory + "/maker")
        self.built = directory + "/built"
        write_ours(self.built)
        repository = self.root.path(f"/srv/mirror/9/{ARCHITECTURE}")
        os.makedirs(repository)
        write_packages(repository, SITE | OTHERS)
        self.keys = KeyRing(self.root.path("/gnupg"), "site")
        self.stranger = KeyRing(directory + "/stranger", "stranger")
        key = self.keys.gpg("--armor", "--export", "site")
        write(self.root.path("/etc/pki/rpm-gpg/site"), key)
        run(["rpmsign", "--define", "_gpg_name site", "--define", "__gpg " + shutil.which("gpg"), "--addsign", *(f"{repository}/{name}" for name in os.listdir(repository))],
            env=os.environ | self.keys.environment, check=True, timeout=SLOW)
        run(["createrepo_c", "--quiet", repository], check=True)
        write_packages(directory + "/more", RELEASER | HEADERS)
        self.root.add(*(f"{directory}/more/{name}" for name in os.listdir(directory + "/more")))

    def make(self, output="/first", built=None, before=(), key="site", **variables):
        place = self.root.path("/built")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(built or self.built, place)
        return self.root.run(f"{RELEASE}/make-release", "--rpms", "/built", "--output", output, *(["--key", key] if key else []),
                             before=before, GNUPGHOME="/gnupg", **({"SOURCE_DATE_EPOCH": EPOCH} | variables))

    def close(self):
        self.root.run("gpgconf", "--kill", "all", GNUPGHOME="/gnupg")
        self.keys.close()
        self.stranger.close()
        self.root.close()


def files(directory):
    """Returns {path: (mode, time, content)}."""
    found = {}
    for place, _, names in os.walk(directory):
        for path in [place, *(f"{place}/{name}" for name in names)]:
            about = os.stat(path)
            content = b""
            if stat.S_ISREG(about.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            found[path[len(directory):]] = (about.st_mode, about.st_mtime, content)
    return found


def expected_packages():
    ours = [f"{name}-0.1.0-1.el9.{architecture}.rpm" for name, architecture in
            (("gpuhostd", ARCHITECTURE), ("gpuhost-tools", ARCHITECTURE), ("gpuhostd-selinux", "noarch"))]
    return sorted(ours + [f"{name}-{version}-1.{ARCHITECTURE}.rpm" for name, (version, _) in SITE.items()])


def check_made(t, releaser):
    made = releaser.make()
    first = releaser.root.path("/first/" + NAME)
    if not t.ok(made.returncode == 0 and made.stdout == f"/first/{NAME}\n", "a release is made of rpms", made.stdout, made.stderr):
        t.done()
    t.equal(sorted(os.listdir(first + "/packages")), expected_packages(), "it has gpuhostd and all dependencies, nothing else")
    again = releaser.make("/another/longer place", before=["sh", "-c", 'umask 077; sleep 2; exec "$@"', "sh"], TZ="Pacific/Kiritimati", LC_ALL="C.UTF-8")
    t.ok(again.returncode == 0 and files(first) == files(releaser.root.path("/another/longer place/" + NAME)),
         "a second release has equal bytes, modes and times", again.stderr)
    with open(first + "/platform", encoding="utf-8") as file:
        t.equal(file.read(), f"el-9 {ARCHITECTURE}\n", "it names the system and the architecture")
    with open(first + "/install", encoding="utf-8") as file:
        t.ok(len(file.readlines()) <= 60, "the installer has at most 60 lines")
    signed = releaser.root.run("gpg", "--verify", f"/first/{NAME}/repodata/repomd.xml.asc", f"/first/{NAME}/repodata/repomd.xml", GNUPGHOME="/gnupg")
    t.ok(signed.returncode == 0, "the repository's metadata is signed", signed.stderr)
    return first


def check_list(t, first):
    with open(first + "/sbom.spdx.json", encoding="utf-8") as file:
        document = json.load(file)
    packages = {one["name"]: one for one in document["packages"]}
    t.equal(set(packages), {"gpuhostd", "gpuhostd-selinux", "gpuhost-tools", *SITE, *HEADERS}, "the list of software is complete")
    t.equal(packages["openssl-libs"]["externalRefs"][0]["referenceLocator"], f"pkg:rpm/rocky/openssl-libs@3.2-1?arch={ARCHITECTURE}&epoch=1",
            "the list names a package with its epoch")
    relations = {(one["spdxElementId"][8:], one["relationshipType"], one["relatedSpdxElement"][8:]) for one in document["relationships"]}
    wanted = {("gpuhostd", "DEPENDS_ON", "gpuhostd-selinux"), ("gpuhostd", "DEPENDS_ON", "libcurl"), ("gpuhost-tools", "DEPENDS_ON", "libcurl"),
              ("systemd", "DEPENDS_ON", "bash"), ("dbus-broker", "DEPENDS_ON", "bash"), ("gpuhostd-selinux", "DEPENDS_ON", "policycoreutils"),
              ("gpuhostd", "STATIC_LINK", "json-devel"), ("DOCUMENT", "DESCRIBES", "gpuhostd")}
    t.equal(wanted - relations, set(), "the list has dependencies by name, file and library")


def check_bad_input(t, releaser):
    bad = releaser.directory + "/bad"

    def refused(name, *words, **how):
        before = set(os.listdir(releaser.root.directory)) | {"refused"}
        done = releaser.make("/refused", **how)
        left = [*os.walk(releaser.root.path("/refused"))][1:] if os.path.exists(releaser.root.path("/refused")) else []
        t.ok(done.returncode == 1 and all(word in done.stderr for word in words) and "Traceback" not in done.stderr and not left and
             set(os.listdir(releaser.root.directory)) <= before, "make-release refuses " + name, done.returncode, done.stderr, left)

    shutil.copytree(releaser.built, bad)
    os.unlink(f"{bad}/gpuhostd-selinux-0.1.0-1.el9.noarch.rpm")
    refused("a build without gpuhostd-selinux", "one of each of gpuhostd, gpuhostd-selinux, gpuhost-tools", built=bad)
    write_ours(bad, "0.2.0")
    refused("two versions of gpuhostd", "gpuhostd-0.1.0-1.el9", "gpuhostd-0.2.0-1.el9", built=bad)
    shutil.rmtree(bad)
    write_ours(bad, needs="libmissing.so.7()(64bit)")
    refused("a dependency that no repository has", "nothing provides libmissing.so.7()(64bit) needed by gpuhostd-0.1.0-1.el9", built=bad)
    os.makedirs(bad + "/none")
    refused("a directory without packages", "and has: none", built=bad + "/none")
    refused("an environment without a time", "SOURCE_DATE_EPOCH", SOURCE_DATE_EPOCH="")
    refused("an unknown key", "gpg failed", key="nobody@site.example")
    release = releaser.root.path("/etc/os-release")
    os.rename(release, release + "-9")
    write(release, 'ID=debian\nVERSION_ID="12"\n')
    refused("a system without PLATFORM_ID=", "PLATFORM_ID=")
    os.rename(release + "-9", release)
    package = releaser.root.path(f"/srv/mirror/9/{ARCHITECTURE}/libcurl-7.76-1.{ARCHITECTURE}.rpm")
    shutil.copy(package, package + "-signed")
    run(["rpmsign", "--delsign", package], check=True)
    run(["createrepo_c", "--quiet", os.path.dirname(package)], check=True)
    refused("an unsigned package of a repository", "libcurl-7.76-1", "not signed")
    os.rename(package + "-signed", package)


def installer(host, *options, before=()):
    return host.run(STICK + "/install", *options, before=before)


def check_refusals(t, host, first):
    """Each refusal changes nothing on the host."""
    installed, state = host.installed(), host.state()  # in this order: rpm makes a file beside its database
    stick = host.path(STICK)

    def refused(words, *options, before=()):
        done = installer(host, *options, before=before)
        t.ok(done.returncode in (1, 2) and words in done.stderr and host.state() == state and host.installed() == installed,
             f"install refuses and changes nothing: {words}", done.returncode, done.stdout, done.stderr, host.installed() - installed)

    def anew():
        shutil.rmtree(stick)
        shutil.copytree(first, stick)

    key = ("--key", "/root/site.gpg")
    refused("--key FILE")
    refused("--key FILE", "--unknown")
    refused("the signature is wrong", "--key", "/root/stranger.gpg")
    refused("the signature is wrong", "--key", "/root/missing.gpg")
    package = stick + "/packages/" + f"libcurl-7.76-1.{ARCHITECTURE}.rpm"
    with open(package, "ab") as file:
        file.write(b"x")
    refused("files are damaged", *key)
    refused("files are damaged", "--no-signature")
    os.unlink(package)
    refused("files are damaged", *key)
    anew()
    with open(stick + "/SHA256SUMS", "ab") as file:
        file.write(b"\n")
    refused("the signature is wrong", *key)
    anew()
    os.unlink(stick + "/SHA256SUMS.gpg")
    refused("the signature is wrong", *key)
    anew()
    refused(f"these packages are for {ARCHITECTURE}", *key, before=["setarch", "linux32"])
    release = host.path("/etc/os-release")
    for text, words in (('ID=rhel\nVERSION_ID="10.1"\nPLATFORM_ID="platform:el10"\n', "for el-9, and this host is el-10"),
                        ('ID=debian\nVERSION_ID="12"\n', "for el-9, and this host is debian-12")):
        with open(release, encoding="utf-8") as file:
            kept = file.read()
        write(release, text)
        state[release] = text.encode()
        refused(words, *key)
        write(release, kept)
        state[release] = kept.encode()


def check_install(t, host):
    """On a minimal EL, which has older versions of some packages."""
    configuration, caches = host.state(), host.path("/var/cache")
    checked = installer(host, "--key", "/root/site.gpg", "--check")
    t.ok(checked.returncode == 0 and "complete, and signed by the given key" in checked.stdout and host.state() == configuration,
         "--check finds no fault and changes nothing", checked.stdout, checked.stderr)
    done = installer(host, "--key", "/root/site.gpg")
    t.ok(done.returncode == 0 and "Installed. Start it: systemctl enable" in done.stdout, "install installs without a network", done.stdout, done.stderr)
    wanted = {f"{name}-{version}" for name, (version, _) in (SITE | HAD | {"openssl-libs": SITE["openssl-libs"]} | RELEASER).items()}
    t.equal(host.installed(), wanted | {"gpuhostd-0.1.0", "gpuhostd-selinux-0.1.0"}, "all dependencies are installed, and only old packages replaced")
    changed = {path[len(host.directory):] for path, content in host.state().items() if configuration.get(path) != content}
    t.ok(not [path for path in changed if path.startswith(("/etc/", "/tmp/", "/root/", "/var/cache/"))] and not os.path.exists(caches),
         "the host's repositories and caches are unchanged", "\n".join(sorted(changed)))
    before = host.installed()
    again = installer(host, "--no-signature")
    t.ok(again.returncode == 0 and host.installed() == before and "complete.\n" in again.stdout, "a second installation changes no package", again.stdout, again.stderr)
    os.symlink(STICK, host.path("/stick"))
    tools = host.run("dnf", "-y", "--noplugins", "--installroot=/tools", "--releasever=9", "--repofrompath=release,file:///stick", "--repo=release", "--nogpgcheck", "--setopt=release.repo_gpgcheck=0",
                     "install", "gpuhost-tools")
    t.ok(tools.returncode == 0 and os.path.exists(host.path("/tools/opt/ours/gpuhost-tools")) and os.path.exists(host.path("/tools/opt/site/libcurl")),
         "dnf installs gpuhost-tools from the directory", tools.stdout, tools.stderr)


def make_host(directory, releaser, first):
    host = Root(directory + "/host")
    write_packages(directory + "/had", HAD | RELEASER)
    host.add(*(f"{directory}/had/{name}" for name in os.listdir(directory + "/had")))
    for name, keys in (("site", releaser.keys), ("stranger", releaser.stranger)):
        keys.gpg("--output", host.path(f"/root/{name}.gpg"), "--export", name)
    shutil.copytree(first, host.path(STICK))
    return host


def main():
    t = tap.Tap()
    own_mounts.enter(network=True)
    if missing := [*missing_tools(), *(tool for tool in ("rpmsign", "setarch") if not shutil.which(tool))]:
        t.skip("a release for EL", f"not installed: {', '.join(missing)}")
        t.done()
    with tempfile.TemporaryDirectory(prefix="gpuhost-release-") as directory:
        releaser = Releaser(directory)
        try:
            first = check_made(t, releaser)
            check_list(t, first)
            check_bad_input(t, releaser)
            host = make_host(directory, releaser, first)
            try:
                check_refusals(t, host, first)
                check_install(t, host)
            finally:
                host.close()
        finally:
            releaser.close()
    t.done()


if __name__ == "__main__":
    main()
