# SPDX-License-Identifier: Apache-2.0
"""gpuhost-devices as systemd runs it, without a kubelet: the cluster suite has a real one. The emulated GPUs do
not start, so they have no UUID and are not offered; the host suite offers GPUs in swaps."""

import json

from rig.case import case
from rig.modules import VERSIONS

OLD, NEW = VERSIONS
REGISTRY = "/var/lib/kubelet/plugins_registry/gpuhost"
SOCKET = f"{REGISTRY}/nvidia.com_gpu.sock"
FAULTS = "/run/gpuhost/gpu-faults/faults.json"
XID = "Xid (PCI:0010:00:01): {}, pid=7194, name=python3, GPU has stopped"
START_FAILED = 143  # NVIDIA's driver reports it for each emulated GPU, which never starts
DROP_IN = "/etc/gpuhost/gpuhostd.conf.d/devices.conf"


def serve(host, text):
    host.write(DROP_IN, f"[Devices]\n{text}\n")
    host.ctl_ok("reload")


def listed(host):
    return host.ctl_json("gpu", "list")


def is_active(host):
    return host.run("systemctl is-active gpuhost-devices").rc == 0


@case("gpuhost-devices serves the kubelet's directory in a sandbox, also after a swap", start="both")
def offered(host):
    assert not is_active(host), "it runs without being asked for"
    serve(host, "Serve=plugin")
    host.quiet()
    host.ctl_ok("apply", timeout=300)
    assert is_active(host), host.check("journalctl -b -q -o cat -u gpuhost-devices")
    assert host.check(f"stat -c %U:%a:%F {REGISTRY} {SOCKET}").split("\n") == [
        "gpuhost-devices:700:directory", "gpuhost-devices:600:socket"], host.check(f"ls -laR {REGISTRY}")
    before = listed(host)
    assert before["gpus"] == [] and before["resources"][0]["name"] == "nvidia.com/gpu", before
    assert "its UUID is unknown" in host.check("journalctl -b -q -o cat -u gpuhostd")

    host.swap(NEW, timeout=600)
    steps = [step["kind"] for step in host.last_operation("driver.swap")["steps"]]
    assert steps.index("devices.withdraw") < steps.index("modules.converge") < steps.index("devices.publish"), steps
    assert listed(host) == before and is_active(host), listed(host)

    host.check("systemctl kill --signal=KILL gpuhost-devices")
    host.check(f"for i in $(seq 100); do systemctl is-active -q gpuhost-devices && [ -e {SOCKET} ] && break; sleep 0.2; done; [ -e {SOCKET} ]", 60)

    serve(host, "Serve=off")
    host.quiet()
    host.ctl_ok("apply", timeout=300)
    assert not is_active(host) and host.run(f"ls {SOCKET}").rc != 0, "it still runs"


def logged(host):
    return json.loads(host.run(f"cat {FAULTS}").out or "{}").get("faults", [])


def reported(host, wanted):
    """Waits until the log of faults has these Xids of the second GPU beside the driver's own, and returns those that
    it has."""
    for _ in range(20):
        found = [one["xid"] for one in logged(host) if one["xid"] != START_FAILED and one["address"] == "0010:00:01"]
        if found == wanted:
            break
        host.run("sleep 0.3")
    return found


@case("gpuhost-devices takes faults of GPUs from the kernel alone", start="both")
def kernel_messages(host):
    serve(host, "Serve=plugin")
    host.quiet()
    host.ctl_ok("apply", timeout=300)
    process = host.check("systemctl show -P MainPID gpuhost-devices").strip()
    assert host.check(f"readlink /proc/{process}/fd/0").strip() == "/dev/kmsg"
    assert host.check("stat -c %U:%a /run/gpuhost/gpu-faults").strip() == "gpuhost-devices:755"
    journal = host.check("journalctl -b -q -o cat -u gpuhost-devices")
    assert "not detected" not in journal and "not saved" not in journal, journal

    # A program writes the same line, and another one with the beginning of the line as its name crashes.
    host.check(f"echo 'NVRM: {XID.format(48)}' >/dev/kmsg")
    host.run("""perl -e '$0 = "NVRM: Xid (PCI"; unpack("p", pack("J", 1))'""")
    assert "segfault at 1" in host.check("dmesg | tail -5"), host.check("dmesg | tail -5")
    host.check(f"echo '{XID.format(79)}' >/sys/module/fakegpu/parameters/report")
    assert reported(host, [79]) == [79], host.check(f"cat {FAULTS}; dmesg | tail -5")
    assert {one["address"] for one in logged(host) if one["xid"] == START_FAILED} == {"0010:00:00", "0010:00:01"}, logged(host)

    # A new process does not take messages twice, and keeps faults.
    host.check("systemctl kill --signal=KILL gpuhost-devices; for i in $(seq 100); do systemctl is-active -q gpuhost-devices && break; sleep 0.2; done", 60)
    host.check(f"echo '{XID.format(31)}' >/sys/module/fakegpu/parameters/report")
    assert reported(host, [79, 31]) == [79, 31], host.check(f"cat {FAULTS}; dmesg | tail -5")
    assert [one["count"] for one in logged(host) if one["xid"] != START_FAILED] == [1, 1], logged(host)
