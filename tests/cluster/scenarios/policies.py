# SPDX-License-Identifier: Apache-2.0
"""What a kubelet makes of an image that came with a bundle, under each pull policy."""

from node.site import REGISTRY
from rig.case import case

ABSENT = f"{REGISTRY}/team/absent:v1"


@case("under Never an image that is not there is an ErrImageNeverPull", start="node")
def never(host):
    with host.kubelet.pod(ABSENT, "Never") as pod:
        message = pod.waits_for("ErrImageNeverPull")
        assert ABSENT in message, message


@case("under IfNotPresent it is an ErrImagePull, as there is no way to a registry", start="node")
def if_not_present(host):
    with host.kubelet.pod(ABSENT, "IfNotPresent") as pod:
        message = pod.waits_for("ErrImagePull")
        assert "network is unreachable" in message or "no such host" in message or "dial" in message, message
