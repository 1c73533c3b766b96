# SPDX-License-Identifier: Apache-2.0
"""Hosts that offer GPUs to the kubelet, with a stub of NVML."""
import json
import os

import tap
from fake_host import prepare, read, write

OFFER = "/run/gpuhost/devices/offer.json"


def offer(host):
    text = read(host.path(OFFER))
    return json.loads(text) if text else None


def configure(host, text):
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/devices.conf"), text)
    assert host.ctl("reload").returncode in (0, 9)


def prepare_with_nvml(host):
    """Installs drivers with a stub of NVML, and gpuhost-nvml in the worker's directory."""
    with open(os.path.join(tap.TOP_BUILDDIR, "tests/unit/stub-nvml.so"), "rb") as file:
        prepare(host, nvml=file.read())
    place = os.path.dirname(json.loads(read(host.path("/run/cdi/nvidia.yaml")))["containerEdits"]["hooks"][0]["path"])
    os.makedirs(host.path(place))
    os.symlink(os.path.join(tap.TOP_BUILDDIR, "gpuhost-nvml"), host.path(place + "/gpuhost-nvml"))
    write(host.path("/stub-nvml"), "devices 2\n")
