# SPDX-License-Identifier: Apache-2.0
"""Small packages by the distributions' tools, an OpenPGP key, and apt and dnf on a fake host."""
import os
import shutil

from fake_host import write
from programs import environment, run

KEY = "ops@site.example"
TOOLS = ("apt-ftparchive", "apt-get", "createrepo_c", "dnf", "dpkg-deb", "gpg", "gpgconf", "gpgv", "rpmbuild")
PINENTRY = """#!/bin/sh
echo OK
while read -r line; do
    case $line in
        GETPIN) echo asked >{question} ;;
        *) echo OK ;;
    esac
done
"""
RPM_SPEC = """Name: {name}
Version: {version}
Release: 1
Summary: {name}
License: none
BuildArch: noarch
%description
%files
"""


def missing_tools():
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def write_deb(path, name, version="1.0"):
    tree = path + ".tree"
    write(tree + "/DEBIAN/control", f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: {KEY}\nDescription: {name}\n")
    write(f"{tree}/usr/share/{name}/version", version + "\n")
    run(["dpkg-deb", "--root-owner-group", "--build", tree, path], check=True)
    shutil.rmtree(tree)


def write_rpm(directory, name, version="1.0"):
    top = directory + "/rpmbuild"
    write(top + "/x.spec", RPM_SPEC.format(name=name, version=version))
    run(["rpmbuild", "--define", "_topdir " + top, "-bb", top + "/x.spec"], check=True)
    for built in os.listdir(top + "/RPMS/noarch"):
        shutil.move(f"{top}/RPMS/noarch/{built}", directory)
    shutil.rmtree(top)


class KeyRing:
    """A gpg directory with one key. A request for its passphrase is never answered; asked() returns whether
    there was one."""
    def __init__(self, directory, key=KEY, passphrase=""):
        os.makedirs(directory, mode=0o700)
        self.environment = {"GNUPGHOME": directory}
        self.question = directory + "/question"
        write(directory + "/pinentry", PINENTRY.format(question=self.question))
        os.chmod(directory + "/pinentry", 0o700)
        write(directory + "/gpg-agent.conf", f"pinentry-program {directory}/pinentry\n")
        self.gpg("--faked-system-time", "1600000000", "--pinentry-mode", "loopback", "--passphrase", passphrase,
                 "--quick-generate-key", key, "ed25519", "sign", "never")
        self.close()  # otherwise the agent caches the passphrase

    def asked(self):
        return os.path.exists(self.question)

    def gpg(self, *words):
        return run(["gpg", "--batch", *words], env=environment(**self.environment), check=True).stdout

    def close(self):
        run(["gpgconf", "--kill", "all"], env=environment(**self.environment))


class Apt:
    """apt with the host's root. Paths in sources are rewritten, because they are those of the host."""
    def __init__(self, host):
        self.host = host
        for directory in ("/etc/apt/sources.list.d", "/etc/apt/apt.conf.d", "/etc/apt/preferences.d", "/etc/apt/trusted.gpg.d",
                          "/var/lib/apt/lists/partial", "/var/cache/apt/archives/partial", "/download"):
            os.makedirs(host.path(directory))
        write(host.path("/var/lib/dpkg/status"), "")
        write(host.path("/apt.conf"), f'Dir "{host.root}"; Dir::State::status "{host.path("/var/lib/dpkg/status")}"; '
              'APT::Architecture "amd64"; APT::Architectures "amd64"; APT::Sandbox::User "root";\n')
        # The apt-get that packages.repositories runs. Rewrites paths in the given source list as well.
        write(host.path("/usr/bin/apt-get"), f"""#!/bin/sh
echo "$@" >>{host.path("/apt.log")}
for word; do
    case $word in
        Dir::Etc::sourcelist=*) sed -i 's# file:/var# file:{host.root}/var#;s#By: /var#By: {host.root}/var#' "${{word#*=}}" ;;
    esac
done
APT_CONFIG={host.path("/apt.conf")} exec apt-get "$@"
""")
        os.chmod(host.path("/usr/bin/apt-get"), 0o755)

    def source(self, bundle):
        return self.host.path(f"/etc/apt/sources.list.d/gpuhost-{bundle}.sources")

    def __call__(self, *words):
        """Runs apt-get with rewritten copies of the host's sources."""
        sources = self.host.path("/etc/apt/sources.list.d")
        led = self.host.path("/etc/apt/led.d")
        shutil.rmtree(led, ignore_errors=True)
        os.makedirs(led)
        for name in os.listdir(sources):
            with open(f"{sources}/{name}", encoding="utf-8") as file:
                text = file.read().replace(" file:/var", f" file:{self.host.root}/var").replace("By: /var", f"By: {self.host.root}/var")
            write(f"{led}/{name}", text)
        return run(["apt-get", "-o", f"Dir::Etc::sourceparts={led}", "-o", "Dir::Etc::sourcelist=-", *words], cwd=self.host.path("/download"),
                   env=environment(APT_CONFIG=self.host.path("/apt.conf"), LC_ALL="C"))

    def anew(self):
        """Runs apt-get update without cached lists."""
        shutil.rmtree(self.host.path("/var/lib/apt/lists"))
        os.makedirs(self.host.path("/var/lib/apt/lists/partial"))
        return self("update")


class Dnf:
    """dnf with the host's root, likewise."""
    def __init__(self, host):
        self.host = host
        for directory in ("/etc/yum.repos.d", "/dnf-log"):
            os.makedirs(host.path(directory))

    def source(self, bundle):
        return self.host.path(f"/etc/yum.repos.d/gpuhost-{bundle}.repo")

    def __call__(self, *words):
        led = self.host.path("/etc/yum.led.d")
        shutil.rmtree(led, ignore_errors=True)
        os.makedirs(led)
        for name in os.listdir(self.host.path("/etc/yum.repos.d")):
            with open(self.host.path("/etc/yum.repos.d/" + name), encoding="utf-8") as file:
                write(f"{led}/{name}", file.read().replace("file:///var", f"file://{self.host.root}/var"))
        return run(["dnf", "-y", f"--installroot={self.host.path('/dnf')}", f"--setopt=reposdir={led}", "--releasever=9",
                    f"--setopt=cachedir={self.host.path('/dnf-cache')}", "--setopt=persistdir=" + self.host.path("/dnf-state"),
                    "--setopt=logdir=" + self.host.path("/dnf-log"), "--noplugins", *words], env=environment(LC_ALL="C"))
