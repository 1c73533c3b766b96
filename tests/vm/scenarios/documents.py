# SPDX-License-Identifier: Apache-2.0
"""Runs the command blocks of the documentation's pages and compares their output with the text.
GPUHOST_FILL_PAGES=1 writes the real output into the pages, where it differs."""
import os
from pathlib import Path

import doc_blocks
from rig import case
from rig.guest import SERVER
from rig.tap import Skip

from . import kubernetes

TOP = Path(__file__).resolve().parents[3]
PAGE_SERVER = "api.example:6443"  # the API server in pages


def check(path, host, shell):
    text = path.read_text(encoding="utf-8")
    faults, filled = doc_blocks.run_page(text, shell, host.write)
    if os.environ.get("GPUHOST_FILL_PAGES") == "1":
        path.write_text(filled, encoding="utf-8")
    assert not faults, "\n\n".join(faults)


def on_host(path):
    return lambda host: check(path, host, host.shell)


def in_cluster(path):
    """Commands that begin with kubectl run on the administrator's machine. The cluster is new and has the host's
    Node."""
    def run(host):
        plane = host.control_plane
        if not plane:
            raise Skip("no API server: --control-plane was not given")

        def shell(command):
            if command.removeprefix(doc_blocks.SCRIPT).startswith("kubectl "):
                return plane.shell(command)
            return host.shell(command.replace(PAGE_SERVER, SERVER))

        plane.begin()
        try:
            kubernetes.connect(host)
            kubernetes.provide(host, plane)
            plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": kubernetes.NODE}, "spec": {"taints": [{"key": "gpuhost.io/not-ready", "effect": "NoSchedule"}]}})
            check(path, host, shell)
        finally:
            plane.end()
    return run


for page in [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]:
    if place := doc_blocks.where(page.read_text(encoding="utf-8")):
        test = (in_cluster if place[0] == "cluster" else on_host)(page)
        case.add(f"the commands of {page.relative_to(TOP)} print what it shows", test, place[1])
