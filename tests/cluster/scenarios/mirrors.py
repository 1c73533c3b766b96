# SPDX-License-Identifier: Apache-2.0
"""containerd 2 pulls pods' images from this host with any config_path. Its default is a list, which it
does not split."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import programs
from node.site import REGISTRY
from rig.case import case

from .runtime_change import CONFIG, SETTINGS, SOCKET, answers, files, unit

IMAGE = f"{REGISTRY}/team/mirrored:v1"
LIST = """version = 3
[plugins.'io.containerd.cri.v1.images'.registry]
  config_path = '{}'
"""
# {what the file sets: the file's text}
SHAPES = {
    "nothing of config_path": "version = 3\n",
    "the default of config_path": LIST.format("/etc/containerd/certs.d:/etc/docker/certs.d"),
    "Docker's directory first": LIST.format("/etc/docker/certs.d:/etc/containerd/certs.d"),
}


@contextmanager
def pods_images(host):
    """Configures only settings for pulls, and imports a bundle whose images the registry of the node
    serves."""
    made = host.site.bundle("mirrored", 1, {IMAGE: "app-1"})
    trusted = Path("/etc/gpuhost/trust.d/site.pem")
    trusted.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(host.site.trust.file("ca.pem"), trusted)
    host.admin.settings("[Runtime]\nRuntimes=containerd\nClasses=none\n[Mirrors]\nUpstream=no\n")
    try:
        for daemon in host.daemon, host.admin:
            daemon.ctl("bundle", "import", made)
        yield
    finally:
        for daemon in host.daemon, host.admin:
            daemon.ctl("bundle", "remove", "mirrored")
        host.admin.settings(SETTINGS)


def pull(host):
    return programs.run([host.tools / "cri", SOCKET, "pull", IMAGE])


def check(host, containerd, text):
    with files({CONFIG: text}), unit(containerd) as service:
        host.admin.ctl("apply", "--only", "images")
        service.do("start")
        refused = pull(host)
        assert refused.returncode != 0 and "127.0.0.1" not in refused.stderr, refused
        assert "config_path" in host.admin.ctl("status"), host.admin.ctl("status")
        count = service.restarts()
        host.admin.ctl("runtime", "configure", "containerd")
        assert service.restarts() == count + 1 and answers(containerd)
        pulled = pull(host)
        assert pulled.returncode == 0, pulled.stderr
        assert "config_path" not in host.admin.ctl("status"), host.admin.ctl("status")
        host.admin.ctl("runtime", "unconfigure", "containerd")
        assert CONFIG.read_text() == text


@case("containerd 2.2, 2.3 and 2.4 pull from this host with any config_path", start="host")
def each_version(host):
    with pods_images(host):
        for containerd in host.containerd22, host.containerd23, host.containerd:
            for text in SHAPES.values():
                check(host, containerd, text)
