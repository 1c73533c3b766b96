# SPDX-License-Identifier: Apache-2.0
"""The systems that a guest can have: a release of Debian, its kernel, and how modules are compiled for it."""

import os
from dataclasses import dataclass

from .modules import VERSIONS


@dataclass(frozen=True)
class System:
    name: str             # ID-VERSION_ID of its os-release
    suite: str            # in Debian's archive
    kernel: str           # that the guest boots
    libraries: str        # packages whose names each release has changed
    compiler: str = ""    # packages that compile modules, in a root of this release; "": this machine compiles them
    corrections: tuple = ()  # (file, text, new text): changes of the driver's source that the kernel needs
    drivers: tuple = ()   # versions that its archive has: a run without FULL=1 has only these; (): all of VERSIONS

    def versions(self):
        """Returns the driver's versions that a run uses."""
        return VERSIONS if os.environ.get("FULL") == "1" else self.drivers or VERSIONS


DEBIAN_12 = System("debian-12", "bookworm", "6.1.0-50-amd64",
                   libraries="libarchive13 libcurl4 libmicrohttpd12 libprotobuf-lite32 libssl3 libyaml-cpp0.7")
# Neither driver of VERSIONS compiles for a kernel whose headers Debian 13's archive has: since Linux 6.12.97
# this function has an argument for BARs that stay where they are. 0 names none, as before.
DEBIAN_13 = System("debian-13", "trixie", "6.12.117+deb13-amd64",
                   libraries="libarchive13t64 libcurl4t64 libmicrohttpd12t64 libprotobuf-lite32t64 libssl3t64 libyaml-cpp0.8",
                   compiler="gcc libc6-dev libelf1t64 make",
                   corrections=(("nvidia/nv-pci.c", "pci_resize_resource(pci_dev, NV_GPU_BAR1, requested_size)",
                                 "pci_resize_resource(pci_dev, NV_GPU_BAR1, requested_size, 0)"),),
                   drivers=("550.163.01",))
ALL = (DEBIAN_12, DEBIAN_13)
BY_NAME = {one.name: one for one in ALL}
