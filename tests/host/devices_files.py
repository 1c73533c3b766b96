# SPDX-License-Identifier: Apache-2.0
"""Hosts that offer GPUs to the kubelet, with a stub of NVML."""
import json
import os

import tap
from fake_host import prepare, read, write
from mig_files import install_nvml

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
    install_nvml(host)
