# SPDX-License-Identifier: Apache-2.0
"""What must hold of a host, by facts of the kernel and the file system."""

from rig.host import CORE_MODULES


def driver(host, version, srcversions=None, dead=()):
    """The host runs `version`, boots it, and nothing half of another version is left. All GPUs are served but the `dead` ones."""
    facts = host.facts()
    want = dict.fromkeys(CORE_MODULES, version)
    assert facts.loaded == want, f"loaded: {facts.loaded}, wanted {version}"
    assert facts.proc == version, f"/proc/driver/nvidia/version says {facts.proc}"
    assert srcversions is None or facts.srcversions == srcversions, f"other modules run: {facts.srcversions}"
    assert facts.index == want, f"modprobe would load {facts.index}"
    assert facts.gpus == facts.pci - set(dead) and facts.gpus, f"PCI has {facts.pci}, the driver serves {facts.gpus}"
    assert facts.library.endswith(f"libnvidia-ml.so.{version}"), f"libnvidia-ml.so.1 is {facts.library}"
    assert any(f"/nvidia/{version}/" in path for path in facts.firmware), f"firmware: {facts.firmware}"
    assert not facts.door, f"the door is still shut: {facts.door}"
    nodes(facts)
    containers(host, version)
    return facts


def containers(host, version):
    """Those that ask for a GPU get this version's, by the files that runtimes read."""
    devices = host.ctl_json("cdi", "list")["devices"]
    told = {(device["name"], device["driver"], device["state"]) for device in devices if device["name"].startswith("nvidia.com/gpu=")}
    assert {("nvidia.com/gpu=0", version, "used"), ("nvidia.com/gpu=all", version, "used")} <= told, f"containers are told of {told}"
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
    """Same modules, same files, same nodes: not one fact of the host has changed."""
    for name, value in before.__dict__.items():
        assert getattr(after, name) == value, f"{name} changed: {value} became {getattr(after, name)}"


def refused(host, result, *words):
    """The command failed and its message has all these words."""
    text = result.out + result.err
    assert result.rc != 0, f"it went through: {result}"
    for word in words:
        assert str(word).lower() in text.lower(), f"'{word}' is not in: {result}"
