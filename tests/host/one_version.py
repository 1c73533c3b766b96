# SPDX-License-Identifier: Apache-2.0
"""The rule that ends every test of a fault. After any outcome the host has one version of the driver: loaded
modules, selection, libraries, firmware, modules of the next boot, and CDI specification. Otherwise the host
reports that it requires a reboot, and boots into one version."""
import json
import os
import time

from programs import PATIENCE

STORE = "/var/lib/gpuhost/driver"


def follow(host, path):
    """Resolves a path inside the root. Absolute links are relative to the root."""
    resolved, parts = host.root, path.strip("/").split("/")
    for _ in range(200):
        if not parts:
            break
        candidate = os.path.join(resolved, parts.pop(0))
        if os.path.islink(candidate):
            target = os.readlink(candidate)
            if target.startswith("/"):
                resolved = host.root
            parts = target.strip("/").split("/") + parts
        else:
            resolved = os.path.normpath(candidate)
    return resolved


def content(host, path):
    try:
        with open(follow(host, path), "rb") as file:
            return file.read()
    except OSError:
        return None


def version_in(host, path):
    """Returns the version that a link to a set of the store, or to a file in one, points to."""
    if not os.path.lexists(host.path(path)):
        return None
    found = follow(host, path)
    if not os.path.exists(found):
        return f"{path}, a dangling link"
    return os.path.relpath(found, host.path(STORE)).split("/")[0]


def kernel(host):
    """Returns the version of the loaded modules; several are joined by '+'."""
    return "+".join(sorted({version for name, version in host.loaded().items() if name.startswith("nvidia") and version})) or None


def parts(host, containers=True):
    """Returns the version of each part of the host. `containers` includes the CDI specification."""
    told = {"containers": host.told()} if containers else {}
    return told | {
        "kernel": kernel(host),
        "selection": json.loads(host.read(f"{STORE}/selected/{host.kernel}") or "{}").get("version"),
        "libraries": version_in(host, f"{STORE}/current"),
        "tools": version_in(host, "/usr/bin/nvidia-smi"),
        "next boot": version_in(host, f"/lib/modules/{host.kernel}/updates/gpuhost"),
    }


def state(host):
    """Returns the host's state when no operation runs. The daemon may start another operation for repairs."""
    deadline = time.monotonic() + PATIENCE
    while (now := host.json("status")["state"]) == "busy" and time.monotonic() < deadline:
        time.sleep(0.02)
    return now


def without_firmware(host):
    version = kernel(host)
    path = f"/lib/firmware/nvidia/{version}/gsp_ga10x.bin"
    return [f"the loaded driver is {version}, and {path} is missing"] if version and content(host, path) is None else []


def differences(host, containers):
    found = parts(host, containers)
    return without_firmware(host) + ([f"more than one version: {found}"] if len(set(found.values())) > 1 else [])


def mixture(host, containers=True):
    """Returns the differences from one version, [] if there are none. The daemon must run. Reboots a host
    that requires it."""
    now = state(host)
    if now != "reboot-required":
        return differences(host, containers)
    wrong = without_firmware(host)
    if containers and (told := host.told()) not in (None, kernel(host)):
        wrong.append(f"the specification is for {told}, the loaded driver is {kernel(host)}")
    host.kill_daemon()
    host.boot()
    host.start_daemon()
    if not host.settle():
        wrong.append("after the reboot the host does not settle")
    now = state(host)
    return wrong + [f"after the reboot: {each}" for each in differences(host, containers)] + ([] if now == "idle" else [f"after the reboot the state is {now}"])


def check(t, host, name):
    """Checks the rule as a separate test case."""
    wrong = mixture(host)
    t.ok(not wrong, name, *wrong, host.tail() if wrong else "")
