# SPDX-License-Identifier: Apache-2.0
"""The rig: a Debian guest in QEMU that runs NVIDIA's real kernel modules on a fake GPU."""
