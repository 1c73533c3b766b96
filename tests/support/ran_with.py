# SPDX-License-Identifier: Apache-2.0
"""Prints what a suite runs with, as comments of TAP: "# ran with: containerd 1.7.24". tests/support/compatibility
makes docs/reference/compatibility.md from these lines."""
import os
import re

import programs

NAMES = {"containerd": "containerd", "crio": "CRI-O", "crun": "crun", "dockerd": "Docker", "etcd": "etcd", "kube-apiserver": "API server",
         "kube-controller-manager": "controller manager", "kube-scheduler": "scheduler", "kubelet": "kubelet", "podman": "Podman", "prometheus": "Prometheus", "runc": "runc",
         "skopeo": "skopeo"}
_printed = set()


def version_in(text):
    """Returns the first number with a point: "1.7.24" of "containerd github.com/… 1.7.24~ds1"."""
    return re.search(r"\d+\.\d+[\d.]*\d|\d+\.\d+", text)[0]


def ran_with(what, version):
    if (what, version) not in _printed:
        _printed.add((what, version))
        print(f"# ran with: {what} {version}", flush=True)


def ran_program(path):
    """Prints the version that a program reports, if it is one of NAMES."""
    if (name := NAMES.get(os.path.basename(path))) and path not in _printed:
        _printed.add(path)
        ran_with(name, version_in(programs.run([str(path), "--version"]).stdout))
