# SPDX-License-Identifier: Apache-2.0
"""Debian's packages in a release, and the repository for apt."""

import datetime
import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path
from urllib.parse import quote

from common import digest, os_release, run
from sbom import Software

OURS = ["gpuhostd", "gpuhost-tools"]
EXTRA = ["polkitd"]  # recommended by gpuhostd
HEADERS = ["nlohmann-json3-dev", "libtomlplusplus-dev", "libexpected-dev", "libhowardhinnant-date-dev"]
FIELDS = ["Package", "Version", "Architecture", "Maintainer", "Homepage", "Pre-Depends", "Depends", "Provides"]
FORM = "\x1f".join("${%s}" % field for field in FIELDS)


def system():
    fields = os_release()
    return "{}-{}".format(fields["ID"], fields["VERSION_ID"])


def files_in(directory):
    return [*directory.glob("gpuhostd[_.]*deb"), *directory.glob("gpuhost-tools[_.]*deb")]  # no -dbgsym


def software_of(text):
    fields = dict(zip(FIELDS, text.split("\x1f")))
    purl = "pkg:deb/debian/{Package}@{Version}?arch={Architecture}".format(**{name: quote(value, safe="") for name, value in fields.items()})
    return Software(fields["Package"], fields["Version"], fields["Architecture"], fields["Maintainer"], fields["Homepage"], purl,
                    names(fields["Pre-Depends"] + "," + fields["Depends"]), names(fields["Provides"]))  # fmt: skip


def of_file(deb):
    return software_of(run("dpkg-deb", "--showformat", FORM, "-W", str(deb)))


def of_installed(name):
    return software_of(run("dpkg-query", "-f", FORM, "-W", name))


def names(dependencies):
    """The names in a field such as "libc6 (>= 2.34), dbus | dbus-broker, perl:any"."""
    return re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]+)", dependencies)


def file_name(deb):
    return "{0.name}_{0.version}_{0.architecture}.deb".format(of_file(deb))


def version(software):
    return software.version


def fetch(debs, packages):
    """Copies everything that the packages depend on, as if nothing were installed."""
    with tempfile.TemporaryDirectory() as work:
        (Path(work) / "partial").mkdir()
        apt = ["apt-get", "-qq", "-y", "--no-install-recommends", "--download-only",
               "-o", "Dir::State::status=/dev/null", "-o", "Debug::NoLocking=1",
               "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=",
               "-o", "Dir::Cache::archives=" + work]  # fmt: skip
        if os.geteuid() == 0:
            apt += ["-o", "APT::Sandbox::User=root"]
        for deb in debs.values():  # one after the other, since gpuhost-tools conflicts with gpuhostd
            run(*apt, "install", str(deb.resolve()), *EXTRA)
        for found in sorted(Path(work).glob("*.deb")):
            shutil.copyfile(found, packages / re.sub(r"_[0-9]+%3a", "_", found.name))  # without the epoch, as in Debian's pool


def index(directory, suite, epoch):
    """Makes the directory a repository for apt, without a signature."""
    stanzas = []
    for deb in sorted((directory / "packages").iterdir()):
        stanzas.append("{}\nFilename: ./packages/{}\nSize: {}\nSHA256: {}\n".format(
            run("dpkg-deb", "-f", str(deb)).rstrip("\n"), deb.name, deb.stat().st_size, digest(deb)))  # fmt: skip
    text = "\n".join(stanzas)
    (directory / "Packages").write_text(text)
    date = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S UTC")
    (directory / "Release").write_text(
        f"Origin: gpuhostd\nLabel: gpuhostd\nSuite: {suite}\nDate: {date}\nSHA256:\n"
        f" {hashlib.sha256(text.encode()).hexdigest()} {len(text.encode())} Packages\n"
    )


def sign(directory, key):
    key.clear_sign(directory / "Release", directory / "InRelease")
