# SPDX-License-Identifier: Apache-2.0
"""The run has no network. All other cases rely on this."""

import errno
import socket
import subprocess

from rig.case import case


@case("only loopback is up, and no route exists", start="node")
def no_route(_):
    links = subprocess.run(["ip", "-brief", "link"], check=True, capture_output=True, text=True).stdout.splitlines()
    assert [row.split()[0] for row in links if " DOWN " not in row] == ["lo"], f"{links}"
    for family in "-4", "-6":
        routes = subprocess.run(["ip", family, "route"], check=True, capture_output=True, text=True).stdout
        assert not routes.strip(), routes
    with socket.socket() as outside:
        outside.settimeout(5)
        assert outside.connect_ex(("192.0.2.1", 443)) == errno.ENETUNREACH, "the network is reachable"
