# SPDX-License-Identifier: Apache-2.0
"""Debian's containerd under systemd: one restart enables CDI permanently, and its pods get the loaded
driver."""

import json

from ran_with import ran_with, version_in
from rig.case import case
from rig.tap import Skip

from . import expect
from .install import NEW, OLD

CRI = "/payload/pod/cri /run/containerd/containerd.sock"
IMAGE = "registry.example/hold:v1"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
CONFIG = "/etc/containerd/config.toml"
# As kubeadm configures it. systemd then manages the device rules of each container and sets them again at
# daemon-reload.
SYSTEMD_CGROUP = """[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    SystemdCgroup = true
"""
DROP_IN = "/etc/containerd/conf.d/zz-gpuhost.toml"


def install(host):
    host.check("dpkg-deb -x /payload/containerd.deb / && systemctl daemon-reload && systemctl enable --now containerd")
    ran_with("containerd", version_in(host.check("containerd --version")))


def pid(host):
    return host.check("systemctl show -P MainPID containerd").strip()


def starts(host, unit="containerd"):
    """Returns the number of the unit's starts in this boot."""
    return host.check(f"journalctl -b -u {unit} --grep='^Started {unit}' -q -o cat | wc -l").strip()


@case("containerd is configured with one restart, a swap needs none", start="both")
def through_a_swap(host):
    install(host)
    before, first = host.check(f"cat {CONFIG}"), pid(host)
    plan = host.check("gpuhostctl runtime configure --dry-run containerd")
    assert "CDI is off" in plan and "+imports = " in plan, plan
    host.check("gpuhostctl apply", 120)
    assert starts(host) == "2" and pid(host) != first, f"not one restart: {starts(host)}"
    assert [line for line in host.check(f"cat {CONFIG}").splitlines() if "imports" not in line] == before.splitlines()
    assert "enable_cdi = true" in host.check("containerd config dump")
    host.check("gpuhostctl runtime verify containerd")
    second = pid(host)
    host.swap(NEW)
    assert pid(host) == second, "a swap restarted containerd"
    assert "nothing to do" in host.check("gpuhostctl runtime configure --dry-run containerd")
    host.swap(OLD)
    expect.driver(host, OLD)


def import_image(host):
    """Imports the pods' image, also under the name of containerd's default sandbox image."""
    host.check("cd /root && tar -C /payload/pod/layout -cf pod.tar . && "
               f"ctr -n k8s.io image import --local --base-name {IMAGE.rpartition(':')[0]} pod.tar", 120)
    sandbox = json.loads(host.check("containerd config dump | sed -n 's/ *sandbox_image = //p'").split()[0])
    host.check(f"ctr -n k8s.io image tag {IMAGE} {sandbox}")


class Pod:
    """A pod of one container with a GPU, whose files are read through its process."""
    def __init__(self, host):
        self.host = host
        started = json.loads(host.check(f"{CRI} start system.slice {IMAGE} nvidia.com/gpu=0", 120))
        self.name = started["pod"]
        self.process = f"/proc/{json.loads(started['container']['info']['info'])['pid']}"
        self.root = f"{self.process}/root"

    def sees(self, version):
        nodes = set(self.host.check(f"ls {self.root}/dev | grep nvidia").split())
        assert nodes == {"nvidia-modeset", "nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidiactl"}, nodes
        libraries = self.host.check(f"ls {self.root}/{LIBRARIES}").split()
        assert f"libcuda.so.{version}" in libraries and "libcuda.so.1" in libraries, libraries
        assert not [name for name in libraries if name.endswith(OLD if version == NEW else NEW)], libraries
        assert f"/{LIBRARIES}/libcuda.so.1" in self.host.check(f"busybox strings {self.root}/etc/ld.so.cache")

    def opens_its_gpu(self):
        """Opens the GPU under the device rules of the container's cgroup."""
        return self.host.run(f"echo $$ >/sys/fs/cgroup/$(cut -d: -f3 {self.process}/cgroup)/cgroup.procs && true <{self.root}/dev/nvidiactl").rc == 0

    def stop(self):
        self.host.check(f"{CRI} stop {self.name}", 120)


@case("containerd's pods get the loaded driver, also after a daemon-reload", start="both")
def pods(host):
    if host.run("test -x /payload/pod/cri").rc != 0:
        raise Skip("no client of CRI: --tools was not given")
    install(host)
    host.check(f"cat >>{CONFIG} <<'END'\n{SYSTEMD_CGROUP}END")
    host.check("gpuhostctl runtime configure containerd", 120)
    import_image(host)
    first = pid(host)
    for version in (OLD, NEW):
        if version != OLD:
            host.swap(version)
        pod = Pod(host)
        pod.sees(version)
        assert pod.opens_its_gpu(), "before a daemon-reload"
        host.check("systemctl daemon-reload")
        assert pod.opens_its_gpu(), "after a daemon-reload"
        pod.stop()
    assert pid(host) == first, "containerd was restarted"


@case("containerd's configuration is repaired after a change and survives a reboot", start="both")
def repaired(host):
    install(host)
    host.check(f"cp {CONFIG} /root/config.toml && gpuhostctl runtime configure containerd", 120)
    host.wait_until("[ $(systemctl show -P ActiveState gpuhost-runtime) = inactive ]", 60)
    host.check(f"cp /root/config.toml {CONFIG}")
    host.wait_until(f"grep -q zz-gpuhost {CONFIG}", 60)
    host.wait_until("[ $(systemctl show -P ActiveState gpuhost-runtime) = inactive ]", 60)
    host.reboot()
    host.wait_until("systemctl is-active -q containerd", 120)
    assert starts(host) == "1", "containerd was restarted at boot"
    assert "enable_cdi = true" in host.check("containerd config dump")
    assert "nothing to do" in host.check("gpuhostctl runtime configure --dry-run containerd")
    host.run("gpuhostctl operation wait")  # an operation that the boot started
    host.check("apt-get -qq -o Dpkg::Use-Pty=0 remove gpuhostd </dev/null", 240)
    host.check(f"cmp {CONFIG} /root/config.toml && [ ! -e {DROP_IN} ] && systemctl restart containerd")
