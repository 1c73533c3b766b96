# SPDX-License-Identifier: Apache-2.0
"""Fetches the pinned packages from the mirror that this machine's apt uses, with a separate apt state."""

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import cache, say

LIST = Path(__file__).resolve().parent.parent / "inputs.list"
COMPONENTS = "main contrib non-free non-free-firmware"
APT_SOURCES = Path("/etc/apt")


@dataclass(frozen=True)
class Input:
    digest: str
    package: str
    version: str
    arch: str
    suite: str

    @property
    def path(self):
        return cache.root() / "debs" / self.digest / f"{self.package}_{self.version}_{self.arch}.deb"


def pinned():
    rows = (row.split() for row in LIST.read_text().splitlines())
    return [Input(*row) for row in rows if row and not row[0].startswith("#")]


def find(package, version=None):
    """Returns the pinned package; without a version the only one with that name."""
    hits = [i for i in pinned() if i.package == package and version in (None, i.version, i.version.rsplit("-", 1)[0])]
    if len(hits) != 1:
        raise LookupError(f"{package} {version or ''}: {len(hits)} pins in {LIST.name}, expected 1")
    return hits[0]


def of_driver(version):
    return [i for i in pinned() if i.version.rsplit("-", 1)[0] == version]


def driver(version):
    """Returns the paths of all pinned packages of one driver version."""
    return [i.path for i in of_driver(version)]


def _one_line_sources(text):
    for row in text.splitlines():
        match = re.match(r"deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)", row)
        if match:
            options = dict(o.split("=", 1) for o in (match[1] or "").split() if "=" in o)
            yield match[2], match[3], options.get("signed-by", "")


def _deb822_sources(text):
    for block in re.split(r"\n\s*\n", text):
        rows = [row for row in block.splitlines() if not row.startswith("#")]
        fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", "\n".join(rows), re.M))
        if "deb" not in fields.get("Types", "").split() or fields.get("Enabled", "yes") == "no":
            continue
        for suite in fields.get("Suites", "").split():
            yield fields["URIs"].split()[0], suite, fields.get("Signed-By", "")


def mirrors():
    """Returns {"bookworm": (uri, signed-by), "bookworm-security": …} from this machine's own apt sources."""
    found = {}
    for path in [APT_SOURCES / "sources.list", *sorted((APT_SOURCES / "sources.list.d").glob("*"))]:
        if not path.is_file() or path.suffix not in (".list", ".sources"):
            continue
        parse = _deb822_sources if path.suffix == ".sources" else _one_line_sources
        for uri, suite, signed_by in parse(path.read_text()):
            found.setdefault(suite.split("/")[0], (uri, signed_by))
    if "bookworm" not in found:
        raise RuntimeError("can't fetch the pinned packages: this machine's apt sources have no suite bookworm "
                           "(Debian 12)")
    for suite in [suite for suite in found if suite.startswith("bookworm")]:
        found.setdefault(suite.replace("bookworm", "trixie"), found[suite])
    return found


def source_lines(suites):
    known = mirrors()
    rows = []
    for suite in suites:
        uri, signed_by = known.get(suite) or known["bookworm"]
        option = f"[signed-by={signed_by}] " if signed_by.startswith("/") else ""
        rows.append(f"deb {option}{uri} {suite} {COMPONENTS}\n")
    return rows


def _private_apt(state, suites):
    """Returns options with which apt does not use this machine's lists, cache and sources."""
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True)
    (state / "status").touch()
    (state / "sources.list").write_text("".join(source_lines(suites)))
    settings = {
        "Dir::Etc::SourceList": state / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State": state,
        "Dir::State::Lists": state / "lists",
        "Dir::State::Status": state / "status",
        "Dir::Cache": state / "cache",
        "APT::Sandbox::User": "root",
        "APT::Architecture": "amd64",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
    }
    return [arg for name, value in settings.items() for arg in ("-o", f"{name}={value}")]


def _keep(item, deb):
    digest = cache.sha256(deb)
    if digest != item.digest:
        raise RuntimeError(f"{item.package} {item.version}: SHA-256 mismatch (pinned: {item.digest}, "
                           f"mirror: {digest})")
    cache.entry("debs", item.digest, lambda work: shutil.move(deb, work / item.path.name))


def _download(options, packages, into):
    subprocess.run(["apt-get", *options, "-qq", "update"], check=True)
    subprocess.run(["apt-get", *options, "-qq", "download", *packages], check=True, cwd=into, env={**os.environ, "LC_ALL": "C"})


def download(package, suite, into):
    """Downloads the suite's current version of a package."""
    with tempfile.TemporaryDirectory(prefix="gpuhost-apt.") as name:
        _download(_private_apt(Path(name), [suite]), [package], into)


def fetch(inputs=None):
    """Downloads these pinned packages, or all, into the cache. Uses no network if all are there."""
    missing = [i for i in inputs or pinned() if not i.path.exists()]
    if not missing:
        return
    with tempfile.TemporaryDirectory(prefix="gpuhost-apt.") as name:
        state = Path(name)
        options = _private_apt(state, sorted({i.suite for i in missing}))
        with say.step(f"fetching {len(missing)} pinned Debian packages"):
            _download(options, [f"{i.package}={i.version}" for i in missing], state)
        for item in missing:
            _keep(item, next(state.glob(f"{item.package}_{item.version.replace(':', '%3a')}_*.deb")))
