# SPDX-License-Identifier: Apache-2.0
"""containerd as Debian packages it, under systemd: one restart, and its containers get the driver that runs, from then on."""

from rig.case import case

from . import expect
from .containers import LIBRARIES, ROOT
from .install import NEW, OLD

CONFIG = "/etc/containerd/config.toml"
DROP_IN = "/etc/containerd/conf.d/99-gpuhost.toml"


def install(host):
    host.check("dpkg-deb -x /payload/containerd.deb / && systemctl daemon-reload && systemctl enable --now containerd")


def pid(host):
    return host.check("systemctl show -P MainPID containerd").strip()


def starts(host):
    """In this boot."""
    return host.check("journalctl -b -u containerd --grep='^Started containerd' -q -o cat | wc -l").strip()


def sees(host, version):
    """One GPU's node, and the generation's libraries in the loader's cache."""
    host.check(f"rm -rf {ROOT} && mkdir -p {ROOT}/bin {ROOT}/etc {ROOT}/usr/lib {ROOT}/proc {ROOT}/sys {ROOT}/dev"
               f" && cp /bin/busybox {ROOT}/bin/ && ln -sf busybox {ROOT}/bin/sh")
    command = ("cd /dev; ls | /bin/busybox grep nvidia; /bin/busybox strings /etc/ld.so.cache | /bin/busybox grep libcuda.so;"
               f" cd {LIBRARIES}; ls")
    result = host.run("ctr run --rm --runc-binary /usr/bin/crun --device nvidia.com/gpu=0 --rootfs"
                      f" {ROOT} one /bin/busybox sh -c '{command}'", 120)
    assert result.rc == 0, f"the container does not start: {result}"
    lines = result.out.split()
    assert {line for line in lines if line.startswith("nvidia")} >= {"nvidia0", "nvidiactl"} and "nvidia1" not in lines, result
    assert f"libcuda.so.{version}" in lines and f"{LIBRARIES}/libcuda.so.1" in lines, f"libraries: {result}"


@case("containerd is configured with one restart, and a swap needs none", start="both")
def through_a_swap(host):
    install(host)
    before, first = host.check(f"cat {CONFIG}"), pid(host)
    plan = host.check("gpuhostctl runtime plan containerd")
    assert "CDI is off" in plan and "+imports = " in plan, plan
    host.check("gpuhostctl apply", 120)
    assert starts(host) == "2" and pid(host) != first, f"not one restart: {starts(host)}"
    assert [line for line in host.check(f"cat {CONFIG}").splitlines() if "imports" not in line] == before.splitlines()
    assert "enable_cdi = true" in host.check("containerd config dump")
    host.check("gpuhostctl runtime verify containerd")
    sees(host, OLD)
    second = pid(host)
    host.swap(NEW)
    sees(host, NEW)
    host.check("systemctl daemon-reload")
    sees(host, NEW)
    assert pid(host) == second, "a swap restarts it"
    host.swap(OLD)
    expect.driver(host, OLD)


@case("containerd's configuration is put right when another program writes it, and outlives boots", start="both")
def repaired(host):
    install(host)
    host.check(f"cp {CONFIG} /root/config.toml && gpuhostctl runtime configure containerd", 120)
    host.wait_until("[ $(systemctl show -P ActiveState gpuhost-runtime) = inactive ]", 60)
    host.check(f"cp /root/config.toml {CONFIG}")
    host.wait_until(f"grep -q 99-gpuhost {CONFIG}", 60)
    host.wait_until("[ $(systemctl show -P ActiveState gpuhost-runtime) = inactive ]", 60)
    host.reboot()
    host.wait_until("systemctl is-active -q containerd", 120)
    assert starts(host) == "1", "it is restarted at boot"
    assert "enable_cdi = true" in host.check("containerd config dump")
    assert "nothing to do" in host.check("gpuhostctl runtime plan containerd")
    host.check("apt-get -qq -o Dpkg::Use-Pty=0 remove gpuhostd </dev/null", 240)
    host.check(f"cmp {CONFIG} /root/config.toml && [ ! -e {DROP_IN} ] && systemctl restart containerd")
