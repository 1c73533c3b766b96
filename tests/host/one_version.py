# SPDX-License-Identifier: Apache-2.0
"""The rule with which every test of a fault ends. However an operation ended, the host is of one version of the driver: the
modules in the kernel, the selection, the libraries, the firmware, the modules of the next boot, and what containers are told.
Or the host says that it requires a reboot, and boots into one version."""
import json
import os
import time

from programs import PATIENCE

STORE = "/var/lib/gpuhost/driver"


def follow(host, path):
    """What a path of the tree leads to; absolute links are the tree's own."""
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
    """Of a link to a set of the store, or to a file in one."""
    if not os.path.lexists(host.path(path)):
        return None
    found = follow(host, path)
    if not os.path.exists(found):
        return f"{path}, which dangles"
    return os.path.relpath(found, host.path(STORE)).split("/")[0]


def kernel(host):
    """The version of the driver's modules; several, if there are."""
    return "+".join(sorted({version for name, version in host.loaded().items() if name.startswith("nvidia") and version})) or None


def parts(host, containers=True):
    """Which version each part of the host is of; None: no driver. A test where others write what containers are told looks at that
    itself."""
    told = {"containers": host.told()} if containers else {}
    return told | {
        "kernel": kernel(host),
        "selection": json.loads(host.read(f"{STORE}/selected/{host.kernel}") or "{}").get("version"),
        "libraries": version_in(host, f"{STORE}/current"),
        "tools": version_in(host, "/usr/bin/nvidia-smi"),
        "next boot": version_in(host, f"/lib/modules/{host.kernel}/updates/gpuhost"),
    }


def state(host):
    """Once nothing runs: what an operation left may be mended by one more, which the daemon starts by itself."""
    deadline = time.monotonic() + PATIENCE
    while (now := host.json("status")["state"]) == "busy" and time.monotonic() < deadline:
        time.sleep(0.02)
    return now


def without_firmware(host):
    version = kernel(host)
    path = f"/lib/firmware/nvidia/{version}/gsp_ga10x.bin"
    return [f"the kernel runs {version}, and {path} is not there"] if version and content(host, path) is None else []


def differences(host, containers):
    found = parts(host, containers)
    return without_firmware(host) + ([f"more than one version: {found}"] if len(set(found.values())) > 1 else [])


def mixture(host, containers=True):
    """What is not of one version on a host whose daemon runs; nothing if all is well. A host that requires a reboot gets one."""
    now = state(host)
    if now != "reboot-required":
        return differences(host, containers)
    wrong = without_firmware(host)
    if containers and (told := host.told()) not in (None, kernel(host)):
        wrong.append(f"containers are told of {told}, and the kernel runs {kernel(host)}")
    host.kill_daemon()
    host.boot()
    host.start_daemon()
    if not host.settle():
        wrong.append("after the reboot it does not settle")
    now = state(host)
    return wrong + [f"after the reboot: {each}" for each in differences(host, containers)] + ([] if now == "idle" else [f"after the reboot it is {now}"])


def check(t, host, name):
    """A case of its own, for a test that has nothing else to say."""
    wrong = mixture(host)
    t.ok(not wrong, name, *wrong, host.tail() if wrong else "")
