# SPDX-License-Identifier: Apache-2.0
"""The software bill of materials of a release, in the JSON form of SPDX 2.3 (spdx.github.io/spdx-spec/v2.3).

Has the packages of the release, their dependencies on each other, and the libraries of which only headers
are used: these are compiled into gpuhostd, so no package of the release has them.
"""

import datetime
import hashlib
import json
import re
import subprocess
from urllib.parse import quote

HEADERS = ["nlohmann-json3-dev", "libtomlplusplus-dev", "libexpected-dev", "libhowardhinnant-date-dev"]
FIELDS = ["Package", "Version", "Architecture", "Maintainer", "Homepage", "Source", "Pre-Depends", "Depends", "Provides"]


def fields_of(text):
    return dict(zip(FIELDS, text.split("\x1f")))


def of_file(deb):
    form = "\x1f".join("${%s}" % field for field in FIELDS)
    return fields_of(subprocess.run(["dpkg-deb", "--showformat", form, "-W", str(deb)], check=True, text=True, stdout=subprocess.PIPE).stdout)


def of_installed(name):
    form = "\x1f".join("${%s}" % field for field in FIELDS)
    return fields_of(subprocess.run(["dpkg-query", "-f", form, "-W", name], check=True, text=True, stdout=subprocess.PIPE).stdout)


def names(dependencies):
    """The names in a field such as "libc6 (>= 2.34), dbus | dbus-broker, perl:any"."""
    return re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]+)", dependencies)


def identifier(fields):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", fields["Package"])


def package(fields, sha256=None):
    purl = "pkg:deb/debian/{Package}@{Version}?arch={Architecture}".format(**{name: quote(value, safe="") for name, value in fields.items()})
    entry = {
        "SPDXID": identifier(fields),
        "name": fields["Package"],
        "versionInfo": fields["Version"],
        "supplier": "Organization: " + fields["Maintainer"],
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0" if fields["Package"].startswith("gpuhost") else "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
    }
    if fields["Homepage"]:
        entry["homepage"] = fields["Homepage"]
    if sha256:
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": sha256}]
    return entry


def relation(element, kind, other):
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": other}


def write(directory, name, epoch):
    """Writes DIRECTORY/sbom.spdx.json about DIRECTORY/packages."""
    debs = {deb: of_file(deb) for deb in sorted((directory / "packages").iterdir())}
    sums = {deb: hashlib.sha256(deb.read_bytes()).hexdigest() for deb in debs}
    providers = {}
    for fields in debs.values():
        for provided in [fields["Package"], *names(fields["Provides"])]:
            providers.setdefault(provided, identifier(fields))
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-gpuhostd")]
    for fields in debs.values():
        needed = {providers[one] for one in names(fields["Pre-Depends"] + "," + fields["Depends"]) if one in providers}
        relations += [relation(identifier(fields), "DEPENDS_ON", one) for one in sorted(needed)]
    headers = [of_installed(one) for one in HEADERS]
    for fields in headers:
        relations += [relation(f"SPDXRef-{ours}", "STATIC_LINK", identifier(fields)) for ours in ("gpuhostd", "gpuhost-tools")]
    content = hashlib.sha256("".join(sums.values()).encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://gpuhost.io/spdx/{name}-{content[:32]}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: gpuhostd-make-release", "Organization: gpuhostd maintainers"],
        },
        "packages": [package(fields, sums[deb]) for deb, fields in debs.items()] + [package(fields) for fields in headers],
        "relationships": relations,
    }
    (directory / "sbom.spdx.json").write_text(json.dumps(document, indent=1) + "\n")
