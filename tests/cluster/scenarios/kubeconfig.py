# SPDX-License-Identifier: Apache-2.0
"""Which kubeconfigs kubectl takes, and for what: tests/host/kubeconfig_test.py holds our reader to the same table."""

import base64
import json
import os
import tempfile

import kubeconfigs
import programs
from node import binaries
from rig.case import case

# It was taken for a configuration where kubectl went on to ask somebody; at the end of each of them nobody listens.
ASKED = ("The connection to the server", "Unable to connect to the server", "connection refused")


def takes(kubectl, path):
    """(whether it does, what it says)"""
    said = programs.run([kubectl, "--kubeconfig", path, "get", "--raw", "/readyz"],
                        env=programs.environment(HOME=os.path.dirname(path))).stderr
    return any(words in said for words in ASKED), said


def entry(document, kind):
    """That of the current context, since --minify left no other."""
    return document[f"{kind}s"][0][kind]


def view(kubectl, path):
    """What it makes of one, in the words of our probe."""
    done = programs.run([kubectl, "--kubeconfig", path, "config", "view", "--raw", "--minify", "-o", "json"], check=True)
    document = json.loads(done.stdout)
    cluster, user = entry(document, "cluster"), entry(document, "user")

    def material(of, key, data):
        path_of = of.get(key, "")
        text = base64.b64decode(of.get(data, "")).decode() if data.endswith("-data") else of.get(data, "")
        inside = "" if path_of else text
        return {"text": inside, "path": os.path.normpath(os.path.join(os.path.dirname(path), path_of)) if path_of else ""}
    return {
        "context": document["current-context"], "server": cluster["server"], "server_name": cluster.get("tls-server-name", ""),
        "proxy": cluster.get("proxy-url", ""),
        "authority": material(cluster, "certificate-authority", "certificate-authority-data"),
        "certificate": material(user, "client-certificate", "client-certificate-data"),
        "key": material(user, "client-key", "client-key-data"), "token": material(user, "tokenFile", "token")}


def same(expected, seen):
    """kubectl keeps a URL as it is written, and of a token it shows what stands there."""
    wanted = {key: value for key, value in expected.items() if key != "bearer"}
    seen["server"] = seen["server"].replace("HTTPS://", "https://").rstrip("/")
    return wanted == seen


@case("kubectl takes the kubeconfigs that we take, and for the same", start="node")
def kubectl_and_we(_):
    compare(binaries.built(binaries.CONTROL_PLANE) / "kubectl")


def compare(kubectl):
    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        site = kubeconfigs.Site(directory)
        for number, one in enumerate(kubeconfigs.CASES):
            path = site.write(number, one)
            taken, said = takes(kubectl, path)
            if taken != one.kubectl_takes():
                wrong.append(f"{one.name}: kubectl {'takes' if taken else 'refuses'} it: {said.strip()}")
            elif taken and one.takes is not None and not same(site.expected(one), seen := view(kubectl, path)):
                wrong.append(f"{one.name}: kubectl has {seen}")
    assert not wrong, "\n".join(wrong)
