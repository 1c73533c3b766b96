# SPDX-License-Identifier: Apache-2.0
"""gpuhost-devices as systemd runs it, without a kubelet: the cluster suite has a real one. The emulated GPUs do
not start, so they have no UUID and are not offered; the host suite offers GPUs in swaps."""

from rig.case import case
from rig.modules import VERSIONS

OLD, NEW = VERSIONS
REGISTRY = "/var/lib/kubelet/plugins_registry/gpuhost"
SOCKET = f"{REGISTRY}/nvidia.com_gpu.sock"
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
