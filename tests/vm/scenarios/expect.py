# SPDX-License-Identifier: Apache-2.0
"""Expectations of a host, checked by facts of the kernel and the file system."""

from ran_with import ran_with
from rig.host import CORE_MODULES


def driver(host, version, srcversions=None, dead=()):
    """Expects that the host runs and boots `version`, without remains of another version. The driver
    serves all GPUs except the `dead` ones."""
    facts = host.facts()
    want = dict.fromkeys(CORE_MODULES, version)
    assert facts.loaded == want, f"loaded: {facts.loaded}, wanted {version}"
    assert facts.proc == version, f"/proc/driver/nvidia/version has {facts.proc}"
    assert srcversions is None or facts.srcversions == srcversions, f"other modules are loaded: {facts.srcversions}"
    assert facts.index == want, f"modprobe would load {facts.index}"
    assert facts.gpus == facts.pci - set(dead) and facts.gpus, f"PCI has {facts.pci}, the driver serves {facts.gpus}"
    assert facts.library.endswith(f"libnvidia-ml.so.{version}"), f"libnvidia-ml.so.1 is {facts.library}"
    assert any(f"/nvidia/{version}/" in path for path in facts.firmware), f"firmware: {facts.firmware}"
    ran_with("driver", facts.proc)
    assert not facts.block, f"autoload is still blocked: {facts.block}"
    nodes(facts)
    containers(host, version)
    return facts


def containers(host, version):
    """Expects that the files which runtimes read give containers this version."""
    devices = host.ctl_json("cdi", "list")["devices"]
    listed = {(device["name"], device["driver"], device["state"]) for device in devices if device["name"].startswith("nvidia.com/gpu=")}
    assert {("nvidia.com/gpu=0", version, "used"), ("nvidia.com/gpu=all", version, "used")} <= listed, f"devices for containers: {listed}"
    host.ctl_ok("cdi", "validate")


def nodes(facts):
    wanted = {"/dev/nvidiactl", "/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
              *(f"/dev/nvidia{n}" for n in range(len(facts.gpus)))}
    missing = wanted - set(facts.nodes)
    assert not missing, f"device nodes are missing: {missing}"
    assert facts.nodes["/dev/nvidiactl"] == "195:255", f"nodes: {facts.nodes}"
    for path in wanted:
        name = facts.char.get(facts.nodes[path])
        assert name == path.removeprefix("/dev/"), f"/dev/char/{facts.nodes[path]} is {name}, not {path}"


def no_driver(host):
    facts = host.facts()
    assert not facts.loaded, f"loaded: {facts.loaded}"
    assert not facts.index, f"modprobe would load {facts.index}"
    assert not facts.library, f"libnvidia-ml.so.1 is {facts.library}"
    return facts


def untouched(before, after):
    """Expects the same modules, files and nodes: every fact of the host is unchanged."""
    for name, value in before.__dict__.items():
        assert getattr(after, name) == value, f"{name} changed: {value} became {getattr(after, name)}"


def refused(host, result, *words):
    """Expects that the command failed and that its message contains all these words."""
    text = result.out + result.err
    assert result.rc != 0, f"the command succeeded: {result}"
    for word in words:
        assert str(word).lower() in text.lower(), f"'{word}' is not in: {result}"
