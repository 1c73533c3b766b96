# SPDX-License-Identifier: Apache-2.0
"""A kubelet with an image that no bundle has, under each pull policy."""

from node.site import REGISTRY
from rig.case import case

ABSENT = f"{REGISTRY}/team/absent:v1"


@case("under Never a missing image is an ErrImageNeverPull", start="node")
def never(host):
    with host.kubelet.pod(ABSENT, "Never") as pod:
        message = pod.waits_for("ErrImageNeverPull")
        assert ABSENT in message, message


@case("under IfNotPresent a missing image is an ErrImagePull without a network", start="node")
def if_not_present(host):
    with host.kubelet.pod(ABSENT, "IfNotPresent") as pod:
        message = pod.waits_for("ErrImagePull")
        assert "network is unreachable" in message or "no such host" in message or "dial" in message, message
