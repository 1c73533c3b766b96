# SPDX-License-Identifier: Apache-2.0
"""gpuhost-devices as systemd runs it, without a kubelet: the cluster suite has a real one."""

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


@case("GPUs are offered to the kubelet, withdrawn in a swap, and returned", start="both")
def offered(host):
    assert not is_active(host), "it runs without being asked for"
    serve(host, "Serve=plugin")
    host.ctl_ok("apply", timeout=300)
    assert is_active(host), host.check("journalctl -b -q -o cat -u gpuhost-devices")
    assert host.check(f"stat -c %U:%a:%F {REGISTRY} {SOCKET}").split("\n") == [
        "gpuhost-devices:700:directory", "gpuhost-devices:600:socket"], host.check(f"ls -laR {REGISTRY}")
    before = listed(host)
    assert len(before["gpus"]) == 2 and not before["withdrawn"], before
    assert before["resources"][0]["devices"] == 2 and not before["resources"][0]["connected"], before

    host.ctl_ok("driver", "swap", NEW, timeout=600)
    steps = [step["kind"] for step in host.ctl_json("operation", "show")["steps"]]
    assert steps.index("devices.withdraw") < steps.index("modules.converge") < steps.index("devices.publish"), steps
    after = listed(host)
    assert [gpu["uuid"] for gpu in after["gpus"]] == [gpu["uuid"] for gpu in before["gpus"]] and not after["withdrawn"], after
    assert host.run("systemctl is-failed gpuhost-devices").rc != 0

    host.check("systemctl kill --signal=KILL gpuhost-devices")
    host.check(f"for i in $(seq 100); do systemctl is-active -q gpuhost-devices && [ -e {SOCKET} ] && break; sleep 0.2; done; [ -e {SOCKET} ]", 60)

    serve(host, "Serve=off")
    host.ctl_ok("apply", timeout=300)
    assert not is_active(host) and host.run(f"ls {SOCKET}").rc != 0, "it still runs"
