# SPDX-License-Identifier: Apache-2.0
"""A second host beside the node: gpuhostd on "/", as an administrator runs it, and runtimes as services of a
fake systemd.

A script replaces `systemctl`: it starts a unit's ExecStart= in a cgroup of the unit's name, waits for its
socket, and counts calls. All of this is in the run's own mount namespace (sandbox.py).
"""

import os
import subprocess
from pathlib import Path

import programs
from private_bus import PrivateBus
from ran_with import ran_program

from .gpuhost import find
from .service import Service
from .waiting import eventually

STATE = Path("/run/units")
SYSTEMCTL = """#!/bin/sh
# restart|start|stop [--] UNIT; other verbs succeed without effect
verb=$1; shift; [ "$1" != -- ] || shift; unit=$1
case $verb in restart|start|stop) ;; *) exit 0 ;; esac
cd {state} || exit 1
echo "$verb $unit" >>calls
pid=$(cat "$unit.pid" 2>/dev/null)
if [ -n "$pid" ] && kill -TERM "$pid" 2>/dev/null; then
    while [ -d "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status"; do sleep 0.05; done
fi
rm -f "$unit.pid"
[ "$verb" != stop ] || exit 0
mkdir -p "{cgroup}/$unit"
command=$(sed -n 's/^ExecStart=//p' "/etc/systemd/system/$unit")
socket=$(cat "$unit.socket")
rm -f "$socket"
setsid sh -c "echo \\$\\$ >{cgroup}/$unit/cgroup.procs; echo \\$\\$ >$unit.pid; exec $command" >>"{logs}/$unit.log" 2>&1 </dev/null &
for _ in $(seq 300); do
    sleep 0.1
    pid=$(cat "$unit.pid" 2>/dev/null) || continue
    [ -d "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status" || break
    [ ! -S "$socket" ] || exit 0
done
echo "Job for $unit failed because the control process exited with error code." >&2
exit 1
"""


class Host(Service):
    def __init__(self, tree, place, cgroup):
        super().__init__("gpuhostd-host", place.logs)
        self.tree = tree
        self.bus = None
        STATE.mkdir()
        script = STATE / "systemctl"
        script.write_text(SYSTEMCTL.format(state=STATE, cgroup=cgroup.roots[0] / cgroup.name[1:], logs=place.logs))
        script.chmod(0o755)
        subprocess.run(["mount", "--bind", script, "/usr/bin/systemctl"], check=True)
        Path("/etc/gpuhost").mkdir(exist_ok=True)

    def run(self):
        self.bus = PrivateBus(str(STATE))
        self.start([find(self.tree, "gpuhostd"), "--launcher=direct", f"--worker={find(self.tree, 'gpuhost-worker')}"],
                   DBUS_SYSTEM_BUS_ADDRESS=self.bus.address)
        eventually("gpuhostd is ready", lambda: self.check_alive() or self.ask("wait-ready", "--converged", "--timeout=30s").returncode == 0)
        return self

    def settings(self, text):
        Path("/etc/gpuhost/gpuhostd.conf").write_text(text)
        self.ctl("reload")

    def ask(self, *words):
        return programs.run([find(self.tree, "gpuhostctl"), *words],
                            env=programs.environment(DBUS_SYSTEM_BUS_ADDRESS=self.bus.address, NO_COLOR="1", LC_ALL="C"))

    def ctl(self, *words):
        done = self.ask(*words)
        good = (0, 3) if words[0] == "status" else (0,)  # 3: the host is not OK
        assert done.returncode in good, f"gpuhostctl {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def end(self):
        super().end()
        if self.bus:
            self.bus.close()
            self.bus = None


class Unit:
    """A service of the host; not started yet."""
    def __init__(self, name, command, socket):
        self.name = name
        self.file = Path("/etc/systemd/system", name)
        self.set_command(command)
        (STATE / f"{name}.socket").write_text(str(socket))

    def set_command(self, command):
        """Sets the command of the next start."""
        ran_program(command[0])
        self.file.write_text(f"[Service]\nExecStart={' '.join(map(str, command))}\nKillMode=process\n")

    def do(self, verb):
        done = programs.run(["/usr/bin/systemctl", verb, self.name])
        assert done.returncode == 0, done.stderr

    def restarts(self):
        calls = STATE / "calls"
        return calls.read_text().splitlines().count(f"restart {self.name}") if calls.exists() else 0

    def remove(self):
        self.do("stop")
        self.file.unlink()
        for cgroup in Path("/sys/fs/cgroup").glob(f"gpuhost-cluster-*/{self.name}"):
            os.rmdir(cgroup)
