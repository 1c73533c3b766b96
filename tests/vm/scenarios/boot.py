# SPDX-License-Identifier: Apache-2.0
"""The host goes down and comes up again."""

from rig.case import case

from . import expect
from .install import NEW

KUBELET = """[Unit]
Description=Stands for the kubelet: has no ordering of its own
[Service]
ExecStart=/bin/sh -c 'cat /sys/module/nvidia/version >/run/kubelet-saw; test -c /dev/nvidia0 && echo node >>/run/kubelet-saw; exec sleep infinity'
[Install]
WantedBy=multi-user.target
"""


@case("after a reboot the driver is back by itself, before the kubelet starts", start="both")
def reboot(host):
    host.swap(NEW)
    host.write("/etc/systemd/system/kubelet.service", KUBELET)
    host.check("systemctl enable -q kubelet gpuhost-ready 2>&1")
    host.reboot()
    host.wait_until("test -e /run/kubelet-saw", 120)
    host.settle()
    expect.driver(host, NEW, host.srcversions(NEW))
    assert host.check("cat /run/kubelet-saw").split() == [NEW, "node"], "the kubelet started before the driver"


@case("after a reboot with no GPU the host comes up, ready, and says so", start="both", full=True)
def reboot_without_gpu(host):
    host.check("rm /etc/modules-load.d/fakegpu.conf; sync")
    host.reboot()
    host.settle()
    assert host.run("systemctl is-active gpuhost-ready").rc == 0, "gpuhost-ready is not there"
    assert not host.facts().loaded, "a driver is loaded"
