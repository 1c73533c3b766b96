# SPDX-License-Identifier: Apache-2.0
"""A real API server that the guest joins. It runs beside the guest on loopback; the guest reaches nothing
else."""

import base64
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

from .guest import SERVER

sys.path.append(str(Path(__file__).resolve().parents[2] / "cluster"))
# pylint: disable=wrong-import-position
from node import controlplane  # noqa: E402; first: it sets the path of the next import
import programs  # noqa: E402 pylint: disable=wrong-import-order

PORT = controlplane.PORT
INSTALLED = "/usr/share/gpuhost/kubernetes"  # of the package, on the administrator's machine
TOKEN = "abcdef.0123456789abcdef"
BOOTSTRAP = {
    "apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"bootstrap-token-{TOKEN[:6]}", "namespace": "kube-system"},
    "type": "bootstrap.kubernetes.io/token",
    "stringData": {"token-id": TOKEN[:6], "token-secret": TOKEN[7:], "usage-bootstrap-authentication": "true",
                   "auth-extra-groups": "system:bootstrappers:gpuhost"}}


class ControlPlane(controlplane.ControlPlane):
    """up() also does what an administrator does for hosts."""
    def __init__(self, tools, work):
        place = SimpleNamespace(state=work, logs=work / "control-plane-logs")
        place.logs.mkdir()
        super().__init__(tools, place, [f"IP:{SERVER.partition(':')[0]}"])

    def begin(self):
        """Starts a new cluster."""
        self.end()
        shutil.rmtree(self.state, ignore_errors=True)
        self.run()

    def up(self):
        self.begin()
        manifests = controlplane.manifests()
        for name in ("host.yaml", "host-policy.yaml", "crd/cluster-policy-crd.yaml"):
            self.kubectl("apply", "-f", manifests / name)
        self.kubectl("wait", "--for=condition=Established", "crd/clusterpolicies.nvidia.com")
        self.apply(BOOTSTRAP)
        self.admin_session = controlplane.Session(self, "admin")

    def admin_files(self):
        """Returns the directory that is /root on the administrator's machine."""
        directory = self.state / "root"
        if not directory.exists():
            directory.mkdir()
            kubectl = directory / "kubectl"
            kubectl.write_text(f'#!/bin/sh\nexec {self.tools}/kubectl --kubeconfig {self.admin} --cache-dir {self.state}/cache "$@"\n')
            kubectl.chmod(0o755)
        return directory

    def shell(self, command):
        """Runs a command of a documentation page on the administrator's machine; returns (status, lines of both
        outputs)."""
        root = self.admin_files()
        command = command.replace(INSTALLED, str(controlplane.manifests())).replace("/root/", f"{root}/")
        done = programs.run(["bash", "-c", f"exec 2>&1\ncd {root}\nPATH={root}:$PATH\n{command}"])
        return done.returncode, [line.rstrip() for line in done.stdout.rstrip().splitlines()]

    def guest_kubeconfig(self, identity):
        """Returns a kubeconfig for the guest, with the content of the files that `identity` names."""
        config = json.loads(identity.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        cluster["server"] = f"https://{SERVER}"
        for part, name in ((cluster, "certificate-authority"), (user, "client-certificate"), (user, "client-key")):
            part[f"{name}-data"] = base64.b64encode(Path(part.pop(name)).read_bytes()).decode()
        return json.dumps(config)
