# SPDX-License-Identifier: Apache-2.0
"""Runs the command blocks of the documentation's pages and compares their output with the text. A page takes
minutes under emulation, so a sample has only the README, and FULL=1 all pages.
GPUHOST_FILL_PAGES=1 writes the real output into the pages, where it differs."""
import os
from pathlib import Path

import doc_blocks
from rig import case
from rig.guest import SERVER
from rig.tap import Skip

from . import kubernetes

TOP = Path(__file__).resolve().parents[3]
PAGE_SERVER, PAGE_NODE = "api.site.example:6443", "gpu01"
PAGE_REQUEST = "gpuhost-gpu01-653c40b04de8"  # the certificate request in pages; ends in digits of the host's key


def check(path, shell, write):
    run = doc_blocks.Run(path.read_text(encoding="utf-8"), shell, write)
    if os.environ.get("GPUHOST_FILL_PAGES") == "1":
        path.write_text(run.filled(), encoding="utf-8")
    assert not run.faults, "\n\n".join(run.faults)


def on_host(path):
    return lambda host: check(path, host.shell, host.write)


def in_cluster(path):
    """Commands that begin with kubectl run on the administrator's machine, which has the page's files, too. The
    cluster is new and has the host's Node."""
    def run(host):
        plane = host.control_plane
        if not plane:
            raise Skip("no API server: --control-plane was not given")

        def shell(command):
            if PAGE_REQUEST in command:
                command = command.replace(PAGE_REQUEST, plane.get("csr")["items"][0]["metadata"]["name"])
            if command.removeprefix(doc_blocks.SCRIPT).startswith("kubectl "):
                return plane.shell(command)
            status, lines = host.shell(command.replace(PAGE_SERVER, SERVER))
            return status, [line.replace(SERVER, PAGE_SERVER) for line in lines]

        def write(name, content):
            host.write(name, content)
            (plane.admin_files() / Path(name).name).write_text(content, encoding="utf-8")

        plane.begin()
        try:
            kubernetes.connect(host)
            host.check(f"echo {PAGE_NODE} >/etc/hostname && hostname {PAGE_NODE}")
            kubernetes.provide(host, plane, PAGE_NODE)
            check(path, shell, write)
        finally:
            plane.end()
    return run


for page in [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]:
    if place := doc_blocks.where(page.read_text(encoding="utf-8")):
        test = (in_cluster if place[0] == "cluster" else on_host)(page)
        case.add(f"the commands of {page.relative_to(TOP)} print what it shows", test, place[1], full=page.name != "README.md")
