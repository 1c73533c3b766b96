# SPDX-License-Identifier: Apache-2.0
"""EL's packages in a release, and the repository for dnf. For all systems with dnf 4 and an /etc/os-release with
PLATFORM_ID=, such as EL 9."""

import os
import re
import subprocess
import tempfile
from urllib.parse import quote

from common import Mistake, os_release, run
from sbom import Software

OURS = ["gpuhostd", "gpuhostd-selinux", "gpuhost-tools"]
EXTRA = ["polkit"]  # recommended by gpuhostd
HEADERS = ["json-devel", "tomlplusplus-devel", "expected-devel", "date-devel"]
FIELDS = ["%{NAME}", "%{EPOCHNUM}", "%{VERSION}", "%{RELEASE}", "%{ARCH}", "%{VENDOR}", "%{URL}",
          "[%{REQUIRENAME}\x1e]", "[%{PROVIDENAME}\x1e]", "[%{FILENAMES}\x1e]"]  # fmt: skip
FORM = "\x1f".join(FIELDS)


def system():
    """Returns the same for all distributions of EL 9, as of platform:el9: el-9."""
    platform = os_release().get("PLATFORM_ID")
    if platform is None:
        raise Mistake("/etc/os-release has no PLATFORM_ID=: make the release of rpms on EL")
    return re.sub(r"^platform:(\D+)", r"\1-", platform)


def files_in(directory):
    return [rpm for rpm in directory.glob("gpuhost*.rpm") if not rpm.name.endswith(".src.rpm") and name_of(rpm) in OURS]


def query(*arguments):
    return run("rpm", "-q", "--nosignature", *arguments)


def name_of(rpm):
    return query("-p", "--qf", "%{NAME}", str(rpm))


def needs_of(requirement):
    """Splits a dependency such as "(gpuhostd-selinux = 1 if selinux-policy-targeted)" into what it may bring."""
    if not requirement.startswith("("):
        return [requirement]
    return re.split(r"\s+", re.sub(r"\s(if|unless)\s.*|^\(|\)$", "", requirement))


def software_of(text):
    fields = text.split("\x1f")
    name, epoch, version, release, arch, vendor, url = ("" if field == "(none)" else field for field in fields[:7])
    required, provided, files = (field.split("\x1e")[:-1] for field in fields[7:])
    known = {"arch": arch} if epoch == "0" else {"arch": arch, "epoch": epoch}
    purl = "pkg:rpm/{}/{}@{}-{}?{}".format(
        os_release()["ID"], quote(name, safe=""), quote(version, safe=""), quote(release, safe=""), "&".join(f"{key}={value}" for key, value in known.items())
    )
    full = f"{version}-{release}" if epoch == "0" else f"{epoch}:{version}-{release}"
    return Software(name, full, arch, vendor, url, purl, [need for one in required for need in needs_of(one)], [*provided, *files])


def of_file(rpm):
    return software_of(query("-p", "--qf", FORM, str(rpm)))


def of_installed(name):
    return software_of(query("--qf", FORM, name))


def file_name(rpm):
    return query("-p", "--qf", "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm", str(rpm))


def version(software):
    """Returns the version without the system, which the release's name has anyway."""
    return software.version.removesuffix("." + system().replace("-", ""))


def fetch(rpms, packages):
    """Copies everything that the packages depend on, as if nothing were installed. dnf verifies the packages as on
    this machine: by gpgcheck= and gpgkey= of their repositories."""
    tools = rpms["gpuhost-tools"]  # conflicts with gpuhostd
    for wanted in ([rpm for rpm in rpms.values() if rpm != tools] + EXTRA, [tools]):
        with tempfile.TemporaryDirectory() as root:
            root_user = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]  # dnf insists, although it writes only here
            dnf = [*root_user, "dnf", "-y", "--installroot", root, "--releasever=/", "--setopt=install_weak_deps=False",
                   "--downloadonly", "--downloaddir", str(packages.resolve()), "install"]  # fmt: skip
            done = subprocess.run([*dnf, *(str(one) for one in wanted)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode:
                raise Mistake(f"dnf cannot resolve or fetch the packages:\n{done.stdout}")


def index(directory, suite, epoch):
    """Makes the directory a repository for dnf, without a signature."""
    for rpm in (directory / "packages").iterdir():
        os.utime(rpm, (epoch, epoch))  # the metadata has it
    run("createrepo_c", "--quiet", "--simple-md-filenames", "--no-database", "--checksum=sha256", f"--revision={epoch}",
        "--set-timestamp-to-revision", f"--repo={suite}", str(directory))  # fmt: skip


def sign(directory, key):
    metadata = directory / "repodata" / "repomd.xml"
    key.detach_sign(metadata, f"{metadata}.asc", "--armor")
