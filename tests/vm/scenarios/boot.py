# SPDX-License-Identifier: Apache-2.0
"""The host reboots."""

import json

from rig.case import case
from rig.system import ALL

from . import expect
from .install import NEW, OLD

KUBELET = """[Unit]
Description=Replaces the kubelet, without its own ordering
[Service]
ExecStart=/bin/sh -c 'cat /sys/module/nvidia/version >/run/kubelet-saw; test -c /dev/nvidia0 && echo node >>/run/kubelet-saw; exec sleep infinity'
[Install]
WantedBy=multi-user.target
"""


@case("after a reboot the driver is loaded before the kubelet starts", start="both", systems=ALL)
def reboot(host):
    host.swap(NEW)
    host.write("/etc/systemd/system/kubelet.service", KUBELET)
    host.check("systemctl enable -q kubelet gpuhost-ready 2>&1")
    host.reboot()
    host.wait_until("test -e /run/kubelet-saw", 120)
    host.settle()
    expect.driver(host, NEW, host.srcversions(NEW))
    assert host.check("cat /run/kubelet-saw").split() == [NEW, "node"], "the kubelet started before the driver"


@case("a host that boots without a GPU is ready, without a driver", start="both", full=True)
def reboot_without_gpu(host):
    host.check("rm /etc/modules-load.d/fakegpu.conf; sync")
    host.reboot()
    host.settle()
    assert host.run("systemctl is-active gpuhost-ready").rc == 0, "gpuhost-ready is not active"
    assert not host.facts().loaded, "a driver is loaded"


@case("a GPU whose probe fails is reported, the other GPU serves", start="both")
def reboot_with_dead_gpu(host):
    two, host.options = host.options, f"{host.options} fakegpu.noirq=2"
    dead = "0010:00:01.0"
    try:
        for blacklisted in (False, True):
            if blacklisted:  # udev does not load the driver, so gpuhostd must
                host.write("/etc/modprobe.d/vm-late.conf", "".join(f"blacklist {name}\n" for name in ("nvidia", "nvidia_drm", "nvidia_uvm", "nvidia_modeset")))
            host.check("sync")
            host.reboot()
            host.settle()
            assert host.run("systemctl is-active gpuhost-ready").rc == 0, "the host is not ready"
            expect.driver(host, OLD, host.srcversions(OLD), dead=[dead])
        host.check("rm /etc/modprobe.d/vm-late.conf")
        host.swap(NEW)
        expect.driver(host, NEW, host.srcversions(NEW), dead=[dead])
        assert f"not bound: {dead}" in host.ctl_ok("status").out, "status does not name the GPU"
        gpus = next(check for check in json.loads(host.ctl("doctor", "--json").out)["checks"] if check["check"] == "gpus")
        assert gpus["result"] == "warning" and dead in gpus["text"] and "probe" in gpus["text"], f"doctor: {gpus}"
    finally:
        host.options = two
