# SPDX-License-Identifier: Apache-2.0
"""A root with EL's configuration, in which Debian's dnf and rpm run; a site's repository; gpuhostd's packages with
the dependencies of the real specification and no programs."""
import os
import platform
import shutil

import own_mounts
import tap
from fake_host import write
from programs import run

ARCHITECTURE = platform.machine()
PACKAGING = os.path.realpath(os.path.join(tap.TOP_SRCDIR, "packaging"))
RELEASE = PACKAGING + "/release"
SLOW = 300  # seconds; other tests may run beside this one
SHARED = ("/usr", RELEASE)  # read-only in the root; packages must install elsewhere
MERGED = ("/bin", "/sbin", "/lib", "/lib64")
CONFIGURATION = {
    "/etc/os-release": 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\nPLATFORM_ID="platform:el9"\n',
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "/etc/group": "root:x:0:\n",
    "/etc/rpm/macros": "%_dbpath /var/lib/rpm\n",
    "/etc/dnf/dnf.conf": "[main]\ngpgcheck=1\nrepo_gpgcheck=1\ninstallonly_limit=3\nclean_requirements_on_remove=True\nbest=True\nskip_if_unavailable=False\n",
    "/etc/dnf/vars/sitedir": "mirror\n",
    "/etc/yum.repos.d/site.repo": "[site]\nname=Site\nbaseurl=file:///srv/$sitedir/$releasever/$basearch\ngpgkey=file:///etc/pki/rpm-gpg/site\nrepo_gpgcheck=0\n",
}
PREAMBLE = """Name: {0}-site
Version: 1
Release: 1
Summary: site
License: none
%description
"""
PACKAGE = """
%package -n {name}
Version: {version}
Summary: {name}
License: none
{fields}
%description -n {name}
%files -n {name}
/opt/site/{name}
"""
# Macros of EL's systemd and selinux-policy packages.
MACROS = """%dist .el9
%debug_package %{nil}
%_unitdir /usr/lib/systemd/system
%systemd_requires Requires(post): systemd \\
Requires(preun): systemd \\
Requires(postun): systemd
%selinux_requires Requires: selinux-policy >= 38 \\
Requires(post): selinux-policy-base >= 38 \\
Requires(post): libselinux-utils \\
Requires(post): policycoreutils \\
Requires(post): policycoreutils-python-utils
"""


def rpmbuild(directory, name, spec, *options):
    """Builds the packages of a specification into the directory."""
    top = directory + "/rpmbuild"
    write(top + "/macros", MACROS)
    write(f"{top}/{name}.spec", spec)
    macros = next(line.split(": ", 1)[1] for line in run(["rpm", "--showrc"]).stdout.splitlines() if line.startswith("Macro path: "))
    run(["rpmbuild", "--macros", f"{macros}:{top}/macros", "--nodeps", "--define", "_topdir " + top, "--define", f"_rpmdir {directory}",
         "--define", "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm", *options, f"{top}/{name}.spec"], check=True, timeout=SLOW)
    shutil.rmtree(top)


def write_packages(directory, packages, name="some"):
    """Writes packages of the form {name: (version, "Requires: x\\nProvides: y")}."""
    make = "".join(f"echo {version} >%{{buildroot}}/opt/site/{name}\n" for name, (version, _) in packages.items())
    parts = "".join(PACKAGE.format(name=name, version=version, fields=fields) for name, (version, fields) in packages.items())
    rpmbuild(directory, name, PREAMBLE.format(name) + "%install\nmkdir -p %{buildroot}/opt/site\n" + make + parts, "-bb")


def write_ours(directory, version="0.1.0", needs="libcurl.so.4()(64bit)"):
    """Writes gpuhostd's packages, and those that a build leaves beside them."""
    with open(PACKAGING + "/rpm/gpuhostd.spec.in", encoding="utf-8") as file:
        spec = file.read().split("\n%prep\n")[0].replace("@VERSION@", version)
    for tag in ("Requires:       dbus\n", "Conflicts:      gpuhostd\n"):
        assert tag in spec
        spec = spec.replace(tag, f"{tag}Requires: {needs}\n")
    spec += "\n%package debuginfo\nSummary: debuginfo\n%description debuginfo\n%install\nmkdir -p %{buildroot}/opt/ours\n"
    for place in ("", "selinux", "cockpit", "debuginfo", "-n gpuhost-tools"):
        path = "/opt/ours/" + (place.split()[-1] if place else "gpuhostd")
        spec = spec.replace("%install\nmkdir", f"%install\nmkdir -p %{{buildroot}}/opt/ours && touch %{{buildroot}}{path}\nmkdir")
        spec += f"%files {place}\n{path}\n"
    os.makedirs(directory, exist_ok=True)
    write(f"{directory}/rpmbuild/SOURCES/gpuhostd-{version}.tar.xz", "")
    rpmbuild(directory, "gpuhostd", spec, "-ba", "--define", f"_srcrpmdir {directory}")


class Root:
    """A root with the programs of this machine and a database of packages of its own."""
    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory)
        own_mounts.mount("tmpfs", directory, "tmpfs", "mode=755")
        for place in ("/dev", "/tmp", "/root", "/var/lib/rpm", "/var/tmp", "/opt", *SHARED):
            os.makedirs(self.path(place))
        for place in MERGED:
            os.symlink("usr" + place, self.path(place))
        for path, text in CONFIGURATION.items():
            write(self.path(path), text)
        shutil.copytree("/etc/alternatives", self.path("/etc/alternatives"), symlinks=True)
        shutil.copy("/etc/ld.so.cache", self.path("/etc/ld.so.cache"))
        for place in SHARED:
            own_mounts.bind_read_only(place, self.path(place))
        for device in ("/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"):
            write(self.path(device), "")
            own_mounts.bind(device, self.path(device))

    def close(self):
        own_mounts.detach(self.directory)

    def path(self, path):
        return self.directory + path

    def run(self, *words, before=(), **variables):
        """Runs a program in the root."""
        given = {"PATH": "/usr/sbin:/usr/bin", "HOME": "/root", "LC_ALL": "C", "PYTHONDONTWRITEBYTECODE": "1"} | variables
        return run([*before, "chroot", self.directory, *words], env=given, timeout=SLOW)

    def add(self, *files):
        """Installs packages without their dependencies, as found on a host."""
        for file in files:
            shutil.copy(file, self.path("/tmp"))
        names = ["/tmp/" + os.path.basename(file) for file in files]
        done = self.run("rpm", "-i", "--nodeps", *names)
        assert done.returncode == 0, done.stderr
        for name in names:
            os.unlink(self.path(name))

    def installed(self):
        """Returns the installed packages, as name-version."""
        return set(self.run("rpm", "-qa", "--qf", "%{NAME}-%{VERSION}\n").stdout.split())

    def state(self):
        """Returns all files outside of mounts, with their content."""
        found = {}
        for place in ("etc", "opt", "root", "tmp", "var"):
            for directory, _, files in os.walk(self.path("/" + place)):
                found[directory] = None
                for name in files:
                    path = f"{directory}/{name}"
                    if os.path.islink(path):
                        found[path] = os.readlink(path)
                    else:
                        with open(path, "rb") as file:
                            found[path] = file.read()
        return found
