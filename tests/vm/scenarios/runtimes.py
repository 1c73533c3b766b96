# SPDX-License-Identifier: Apache-2.0
"""containerd as Debian packages it, under systemd: one restart switches CDI on, and it stays so. Its containers are tests/cluster's."""

from rig.case import case

from . import expect
from .install import NEW, OLD

CONFIG = "/etc/containerd/config.toml"
DROP_IN = "/etc/containerd/conf.d/zz-gpuhost.toml"


def install(host):
    host.check("dpkg-deb -x /payload/containerd.deb / && systemctl daemon-reload && systemctl enable --now containerd")


def pid(host):
    return host.check("systemctl show -P MainPID containerd").strip()


def starts(host):
    """In this boot."""
    return host.check("journalctl -b -u containerd --grep='^Started containerd' -q -o cat | wc -l").strip()


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
    second = pid(host)
    host.swap(NEW)
    assert pid(host) == second, "a swap restarts it"
    assert "nothing to do" in host.check("gpuhostctl runtime plan containerd")
    host.swap(OLD)
    expect.driver(host, OLD)


@case("containerd's configuration is put right when another program writes it, and outlives boots", start="both")
def repaired(host):
    install(host)
    host.check(f"cp {CONFIG} /root/config.toml && gpuhostctl runtime configure containerd", 120)
    host.wait_until("[ $(systemctl show -P ActiveState gpuhost-runtime) = inactive ]", 60)
    host.check(f"cp /root/config.toml {CONFIG}")
    host.wait_until(f"grep -q zz-gpuhost {CONFIG}", 60)
    host.wait_until("[ $(systemctl show -P ActiveState gpuhost-runtime) = inactive ]", 60)
    host.reboot()
    host.wait_until("systemctl is-active -q containerd", 120)
    assert starts(host) == "1", "it is restarted at boot"
    assert "enable_cdi = true" in host.check("containerd config dump")
    assert "nothing to do" in host.check("gpuhostctl runtime plan containerd")
    host.run("gpuhostctl operation wait")  # what the boot has begun
    host.check("apt-get -qq -o Dpkg::Use-Pty=0 remove gpuhostd </dev/null", 240)
    host.check(f"cmp {CONFIG} /root/config.toml && [ ! -e {DROP_IN} ] && systemctl restart containerd")
