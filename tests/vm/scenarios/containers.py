# SPDX-License-Identifier: Apache-2.0
"""A Podman container gets the loaded driver, after swaps, reboots and changes by other programs."""

from rig.case import case
from rig.system import ALL

from . import expect
from .install import NEW, OLD

ROOT = "/srv/container"
SPEC = "/run/cdi/nvidia.yaml"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"


def run_in(host, command, device="nvidia.com/gpu=0"):
    """Runs a command in a container whose root has busybox. The root is new, because mounts leave empty
    files in it."""
    host.check(f"rm -rf {ROOT} && mkdir -p {ROOT}/bin {ROOT}/etc {ROOT}/usr/lib && cp /bin/busybox {ROOT}/bin/ && ln -sf busybox {ROOT}/bin/sh")
    options = f"--rm --network=none --cgroups=disabled --device {device} --rootfs {ROOT}"
    return host.run(f"podman --runtime crun run {options} /bin/busybox sh -c '{command}'", 120)


def sees(host, version):
    """Expects exactly one GPU's node and the control nodes, and this version's libraries in the loader's
    cache."""
    result = run_in(host, "cd /dev; ls | /bin/busybox grep nvidia; /bin/busybox strings /etc/ld.so.cache | /bin/busybox grep libcuda.so;"
                          f" cd {LIBRARIES}; ls")
    assert result.rc == 0, f"the container does not start: {result}"
    lines = result.out.split()
    nodes = {"nvidia-modeset", "nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidiactl"}
    assert {line for line in lines if line.startswith("nvidia")} == nodes, f"nodes: {result}"
    assert f"libcuda.so.{version}" in lines and "libcuda.so.1" in lines, f"libraries: {result}"
    assert f"{LIBRARIES}/libcuda.so.1" in lines, f"libcuda is not in the loader's cache: {result}"
    other = OLD if version == NEW else NEW
    assert other not in result.out, f"files of the other driver: {result}"


@case("containers get the loaded driver, before and after a swap", start="both", systems=ALL)
def through_a_swap(host):
    sees(host, OLD)
    host.swap(NEW)
    sees(host, NEW)
    host.check("systemctl daemon-reload")
    sees(host, NEW)
    host.swap(OLD)
    expect.driver(host, OLD)


@case("the CDI specification is regenerated after modification, removal or a new socket", start="both")
def repaired(host):
    host.check("systemctl is-enabled gpuhost-cdi.path")
    right = host.check(f"cat {SPEC}")
    for harm in (f"echo wrong >{SPEC}", f"rm {SPEC}"):
        host.check(harm)
        host.wait_until(f"grep -qs libcuda.so.{OLD} {SPEC}", 60)
        assert host.check(f"cat {SPEC}") == right, "the specification differs"
    host.check("mkdir -p /run/nvidia-persistenced && touch /run/nvidia-persistenced/socket")
    host.wait_until(f"grep -q nvidia-persistenced/socket {SPEC}", 60)
    host.wait_until("[ $(systemctl show -P ActiveState gpuhost-cdi) = inactive ]", 60)
    host.check("rm /run/nvidia-persistenced/socket")
    host.wait_until(f"! grep -q nvidia-persistenced/socket {SPEC}", 60)


@case("removing the package removes its CDI specifications", start="both", full=True)
def removed(host):
    host.check("apt-get -qq -o Dpkg::Use-Pty=0 remove gpuhostd </dev/null", 240)
    assert not host.check("ls /run/cdi").split(), "a specification is left"
