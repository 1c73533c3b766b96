# SPDX-License-Identifier: Apache-2.0
"""The software bill of materials of a release, in the JSON form of SPDX 2.3 (spdx.github.io/spdx-spec/v2.3).

Has the packages of the release, their dependencies on each other, and the libraries of which only headers
are used: these are compiled into gpuhostd, so no package of the release has them.
"""

import datetime
import hashlib
import json
import re
from dataclasses import dataclass

from common import digest


@dataclass
class Software:
    """A package, of a file or installed."""

    name: str
    version: str
    architecture: str
    supplier: str
    homepage: str
    purl: str
    needs: "list[str]"  # names of packages, and what a package provides in their place
    provides: "list[str]"


def identifier(software):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", software.name)


def package(software, sha256=None):
    entry = {
        "SPDXID": identifier(software),
        "name": software.name,
        "versionInfo": software.version,
        "supplier": f"Organization: {software.supplier}" if software.supplier else "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0" if software.name.startswith("gpuhost") else "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": software.purl}],
    }
    if software.homepage:
        entry["homepage"] = software.homepage
    if sha256:
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": sha256}]
    return entry


def relation(element, kind, other):
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": other}


def write(directory, epoch, kind):
    """Writes DIRECTORY/sbom.spdx.json about DIRECTORY/packages, which are packages of this kind."""
    found = {path: kind.of_file(path) for path in sorted((directory / "packages").iterdir())}
    sums = {path: digest(path) for path in found}
    providers = {}
    for software in found.values():
        for provided in [software.name, *software.provides]:
            providers.setdefault(provided, identifier(software))
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-gpuhostd")]
    for software in found.values():
        needed = {providers[one] for one in software.needs if one in providers}
        relations += [relation(identifier(software), "DEPENDS_ON", one) for one in sorted(needed)]
    headers = [kind.of_installed(one) for one in kind.HEADERS]
    for software in headers:
        relations += [relation(f"SPDXRef-{ours}", "STATIC_LINK", identifier(software)) for ours in ("gpuhostd", "gpuhost-tools")]
    content = hashlib.sha256("".join(sums.values()).encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": directory.name,
        "documentNamespace": f"https://gpuhost.io/spdx/{directory.name}-{content[:32]}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: gpuhostd-make-release", "Organization: gpuhostd maintainers"],
        },
        "packages": [package(software, sums[path]) for path, software in found.items()] + [package(software) for software in headers],
        "relationships": relations,
    }
    (directory / "sbom.spdx.json").write_text(json.dumps(document, indent=1) + "\n")
