# SPDX-License-Identifier: Apache-2.0
"""A node of a cluster: real containerd, kubelet and registry clients, in namespaces of their own."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
# The modules of the virtual machine's rig and of the host tests are used here, too.
sys.path[1:1] = [str(TESTS / "vm"), str(TESTS / "support"), str(TESTS / "host")]
