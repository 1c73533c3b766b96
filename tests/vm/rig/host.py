# SPDX-License-Identifier: Apache-2.0
"""A guest with gpuhostd: its commands, and facts about the host that are read without its programs."""

import json
import shlex
import subprocess
from dataclasses import dataclass

import documents
from ran_with import ran_with, version_in

from . import inputs, modules
from .guest import Guest
from .system import DEBIAN_12

CORE_MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm")
# One command reads all facts, because under emulation each command costs tens of milliseconds.
FACTS = r"""
for m in nvidia nvidia_uvm nvidia_modeset nvidia_drm; do
  [ -e /sys/module/$m ] && echo "loaded $m $(cat /sys/module/$m/version) $(cat /sys/module/$m/srcversion)"
  f=$(modinfo -F filename $m 2>/dev/null) && echo "index $m $(modinfo -F version $m) $f"
done
[ -e /proc/driver/nvidia/version ] && echo "proc $(grep -o '[0-9]*\.[0-9.]*[0-9]' /proc/driver/nvidia/version | head -1)"
for d in /sys/bus/pci/devices/*; do
  read -r v <$d/vendor; read -r c <$d/class
  [ "$v" = 0x10de ] && case $c in 0x0300*|0x0302*) echo "pci ${d##*/}";; esac
done
for d in /proc/driver/nvidia/gpus/*; do [ -e "$d" ] && echo "gpu ${d##*/}"; done
for n in /dev/nvidia*; do [ -c "$n" ] && echo "node $n $(stat -c '%Hr:%Lr' $n)"; done
for l in /dev/char/*; do t=$(readlink $l); case $t in *nvidia*) echo "char ${l##*/} ${t##*/}";; esac; done
ldconfig -p | awk '/libnvidia-ml.so.1 / {print $NF}' | while read -r l; do echo "library $(readlink -f $l)"; done
for f in /lib/firmware/nvidia/[0-9]*.*/gsp_*.bin; do [ -e "$f" ] && echo "firmware $f"; done
grep -hsE '^(install|blacklist) nvidia' /run/modprobe.d/*.conf | sed 's/^/block /'
true
"""


@dataclass
class Facts:
    loaded: dict       # module: version, as the kernel reports it
    srcversions: dict  # module: srcversion, as the kernel reports it
    index: dict        # module: version of the file that modprobe would load
    proc: str          # version in /proc/driver/nvidia/version
    pci: set           # NVIDIA GPUs on the PCI bus
    gpus: set          # GPUs that the driver serves
    nodes: dict        # /dev/nvidia…: "major:minor"
    char: dict         # "major:minor": name, from /dev/char
    library: str       # target of libnvidia-ml.so.1, as the dynamic linker finds it
    firmware: set
    block: list        # lines that keep modprobe from loading the driver


class Host(Guest):
    checks_documents = True  # against the schemas, which describe this version's documents
    system = DEBIAN_12

    @staticmethod
    def payload_debs(version):
        return [f"/payload/debs/{version}/{deb.name}" for deb in inputs.driver(version)]

    def srcversions(self, version, kernel=None):
        """Returns {module: srcversion} of this version's files, which the kernel must report."""
        found = {}
        for name in CORE_MODULES:
            path = modules.driver(self.system, version, kernel) / "modules" / f"{name.replace('_', '-')}.ko"
            done = subprocess.run(["modinfo", "-F", "srcversion", path], check=True, capture_output=True, text=True)
            found[name] = done.stdout.strip()
        return found

    def report_software(self):
        ran_with("Debian", self.check(". /etc/os-release && echo $VERSION_ID"))
        ran_with("kernel", self.check("uname -r"))
        ran_with("systemd", self.check("systemctl --version | sed -n 's/^systemd \\([0-9]*\\).*/\\1/p'"))
        for name, program in ("Podman", "podman"), ("crun", "crun"):
            ran_with(name, version_in(self.check(f"{program} --version")))

    def facts(self):
        found = Facts({}, {}, {}, "", set(), set(), {}, {}, "", set(), [])
        for row in self.check(FACTS, 240).splitlines():
            kind, *words = row.split(" ")
            if kind == "loaded":
                found.loaded[words[0]] = words[1]
                found.srcversions[words[0]] = words[2]
            elif kind == "index":
                found.index[words[0]] = words[1]
            elif kind in ("proc", "library"):
                setattr(found, kind, found.__dict__[kind] or words[0])
            elif kind == "pci":
                found.pci.add(words[0])
            elif kind == "gpu":
                found.gpus.add(words[0])
            elif kind == "node":
                found.nodes[words[0]] = words[1]
            elif kind == "char":
                found.char[words[0]] = words[1]
            elif kind == "firmware":
                found.firmware.add(words[0])
            elif kind == "block":
                found.block.append(row)
        return found

    def shell(self, command, timeout=400):
        """Runs a command of a documentation page; returns (status, lines of both outputs). The units that follow
        changes of files have ended before, because a reader does not type that fast."""
        if any(word in command for word in ("gpuhostctl", "systemctl")):
            self.quiet()
        result = self.run(f"exec 2>&1\ncd /root\n{command}", timeout)
        return result.rc, [line.rstrip() for line in result.out.rstrip().splitlines()]

    def ctl(self, *words, timeout=400):
        """Runs gpuhostctl with these words in a shell."""
        return self.run("gpuhostctl " + " ".join(shlex.quote(str(word)) for word in words), timeout)

    def ctl_ok(self, *words, timeout=400):
        result = self.ctl(*words, timeout=timeout)
        good = (0, 3) if words[0] == "status" else (0,)  # 3: the host is not OK
        assert result.rc in good, f"gpuhostctl {' '.join(map(str, words))}: {result}"
        return result

    def ctl_json(self, *words, timeout=400):
        text = self.ctl_ok(*words, "--json", timeout=timeout).out
        if self.checks_documents:
            documents.check_output([*map(str, words), "--json"], text)
        return json.loads(text)

    def swap(self, version, *options, timeout=400):
        self.quiet()
        return self.ctl_ok("driver", "swap", version, *options, timeout=timeout)

    def settle(self, timeout=300):
        """Waits until the daemon is active and no operation runs."""
        self.wait_until("systemctl is-active -q gpuhostd && gpuhostctl status --json | "
                        "grep -qE '\"state\": ?\"(idle|degraded|reboot-required)\"'", timeout)

    def quiet(self, timeout=120):
        """Waits until the units that follow changes of files have ended. Their operations make others busy."""
        self.wait_until("! systemctl show -P ActiveState gpuhost-cdi gpuhost-runtime | grep -qE '^(activating|active|deactivating)'", timeout)

    def operations(self):
        return self.ctl_json("operation", "list")

    def last_operation(self, kind=None):
        """Returns the newest operation, or the newest of a kind: a boot may have started another one
        automatically."""
        listed = self.operations()
        listed = listed if isinstance(listed, list) else listed["operations"]
        number = next(one["id"] for one in listed if kind in (None, one["kind"]))
        return self.ctl_json("operation", "show", number)

    def diagnose(self):
        command = ("systemctl --no-pager status gpuhostd | head -20; echo '--- journal'; "
                   "journalctl --no-pager -o short-monotonic -n 40 -u gpuhostd -u 'gpuhost-*'; "
                   "echo '--- kernel'; dmesg | tail -15; echo '--- modules'; lsmod | grep -E 'nvidia|stuck|fakegpu'; "
                   "gpuhostctl operation list; ls -la /run/gpuhost /var/lib/gpuhost /run/modprobe.d 2>&1")
        try:
            return str(self.run(command, 60))
        except Exception as error:  # pylint: disable=broad-except
            return f"diagnosis failed: {error}"
