# SPDX-License-Identifier: Apache-2.0
"""Compares a table of kubeconfigs with kubectl; tests/host/kubeconfig_test.py compares our reader with the
same table."""

import base64
import json
import os
import tempfile

import kubeconfigs
import programs
from node import binaries
from rig.case import case

# kubectl has accepted a kubeconfig if it then tries to connect; no server listens at any of the addresses.
CONNECTING = ("The connection to the server", "Unable to connect to the server", "connection refused")


def accepts(kubectl, path):
    """Returns (whether kubectl accepts the file, its error output)."""
    errors = programs.run([kubectl, "--kubeconfig", path, "get", "--raw", "/readyz"],
                        env=programs.environment(HOME=os.path.dirname(path))).stderr
    return any(words in errors for words in CONNECTING), errors


def entry(document, kind):
    """Returns the entry of the current context, the only one after --minify."""
    return document[f"{kind}s"][0][kind]


def view(kubectl, path):
    """Returns kubectl's view of a kubeconfig, in the format of our probe."""
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
    """Compares the two views. kubectl shows a URL and a token as they are written."""
    wanted = {key: value for key, value in expected.items() if key != "bearer"}
    seen["server"] = seen["server"].replace("HTTPS://", "https://").rstrip("/")
    return wanted == seen


@case("kubectl and our reader accept the same kubeconfigs with equal content", start="node")
def same_as_kubectl(_):
    compare(binaries.built(binaries.CONTROL_PLANE) / "kubectl")


def compare(kubectl):
    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        site = kubeconfigs.Site(directory)
        for number, one in enumerate(kubeconfigs.CASES):
            path = site.write(number, one)
            accepted, errors = accepts(kubectl, path)
            if accepted != one.kubectl_accepts():
                wrong.append(f"{one.name}: kubectl {'accepts' if accepted else 'refuses'} it: {errors.strip()}")
            elif accepted and one.accepted is not None and not same(site.expected(one), seen := view(kubectl, path)):
                wrong.append(f"{one.name}: kubectl has {seen}")
    assert not wrong, "\n".join(wrong)
