# SPDX-License-Identifier: Apache-2.0
"""Chooses between KVM and emulation. KVM is used only after a guest has booted under it."""

import os
import tempfile
from pathlib import Path

from . import cache, guest, say

PROBE_SECONDS = 25


def _works(image):
    with tempfile.TemporaryDirectory(prefix="gpuhost-kvm.") as name:
        disk = guest.create_overlay(Path(name) / "disk.qcow2", image / "disk.raw")
        try:
            with guest.Guest(image, disk, name, accel="kvm") as probe:
                probe.wait_boot(timeout=PROBE_SECONDS)
            return True
        except (guest.GuestError, OSError):
            return False


def choose(image, otherwise="tcg"):
    """Returns "kvm", or `otherwise` if KVM does not work. GPUHOST_VM_ACCEL overrides it. Probes once per
    boot of this machine."""
    if wanted := os.environ.get("GPUHOST_VM_ACCEL"):
        return wanted
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return otherwise
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    remembered = cache.root() / "kvm-probe"
    if remembered.exists():
        known_boot, known = remembered.read_text().split()
        if known_boot == boot:
            return known if known == "kvm" else otherwise
    with say.step("probing whether a guest boots under KVM"):
        works = _works(image)
    remembered.write_text(f"{boot} {'kvm' if works else 'none'}\n")
    return "kvm" if works else otherwise
