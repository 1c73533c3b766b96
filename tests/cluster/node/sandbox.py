# SPDX-License-Identifier: Apache-2.0
"""Namespaces of processes, mounts and network for the whole run.

Only loopback is up, so no registry is reachable. Files that the node writes below /etc, /run, /var/lib and
/var/log are removed afterwards. No process outlives the run, because the kernel ends all of them with the
first.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from .waiting import eventually

INSIDE = "GPUHOST_CLUSTER_INSIDE"
ADDRESS = "192.0.2.10"  # a kubelet's Node needs an address other than loopback's; packets to it leave no interface
STATE = Path("/run/gpuhost-cluster")  # the node's state
# Values that a kubelet requires. Bind mounts show them to it; this machine's own values are unchanged.
TUNABLES = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
            "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}
CGROUPS = Path("/sys/fs/cgroup")


def _command(*words):
    subprocess.run([str(word) for word in words], check=True)


def _keep_changes_here(directory, upper):
    for name in ("upper", "work"):
        (upper / name).mkdir(parents=True)
    _command("mount", "-t", "overlay", "-o", f"lowerdir={directory},upperdir={upper}/upper,workdir={upper}/work", "overlay",
             directory)


def enter():
    """Executes this program again inside of the namespaces; returns only there."""
    if INSIDE not in os.environ or os.getppid() != 0:  # the parent of the first process is in another namespace
        os.environ[INSIDE] = str(os.getpid())
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "--net", "--pid", "--fork", "--kill-child",
                              "--mount-proc", sys.executable, *sys.argv])
    _command("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    STATE.mkdir()
    for directory in ("/etc", "/var/lib", "/var/log"):
        _keep_changes_here(directory, STATE / "overlay" / Path(directory).name)
    for name, value in TUNABLES.items():
        seen = STATE / "tunables" / name
        seen.parent.mkdir(parents=True, exist_ok=True)
        seen.write_text(f"{value}\n")
        _command("mount", "--bind", seen, f"/proc/sys/{name}")
    _command("ip", "link", "set", "lo", "up")
    _command("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")


class Cgroup:
    """The run's own cgroup in each hierarchy, of version 1 or 2."""
    def __init__(self):
        self.name = f"/gpuhost-cluster-{os.environ[INSIDE]}"
        v2 = (CGROUPS / "cgroup.controllers").exists()
        self.roots = [CGROUPS] if v2 else [path for path in CGROUPS.iterdir() if path.is_dir() and not path.is_symlink()]
        for root in self.roots:
            (root / self.name[1:]).mkdir(exist_ok=True)

    def remove(self):
        """Removes the cgroups, innermost first; fails if a process is still in one."""
        for root in self.roots:
            for directory, _, _ in os.walk(root / self.name[1:], topdown=False):
                os.rmdir(directory)


class SilentServer:
    """A server on port 443 that never answers. Its own connection fills its queue, so the kernel drops
    packets of further connections, as a network without a route does."""
    def __init__(self, address):
        self.listener = socket.socket()
        self.listener.bind((address, 443))
        self.listener.listen(0)
        self.first = socket.create_connection((address, 443))
        self.dropped = self.drops()

    def drops(self):
        names, values = [row.split() for row in Path("/proc/net/netstat").read_text().splitlines() if row.startswith("TcpExt:")][:2]
        return int(values[names.index("ListenOverflows")])

    def was_asked(self):
        return self.drops() > self.dropped

    def close(self):
        self.first.close()
        self.listener.close()


HOSTS_CACHE = 6  # Go's programs read /etc/hosts again after 5 seconds


@contextmanager
def silent_server(name):
    """Runs a silent server and resolves `name` to its address."""
    hosts = STATE / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n127.0.0.2 {name}\n")
    _command("mount", "--bind", hosts, "/etc/hosts")
    time.sleep(HOSTS_CACHE)
    server = SilentServer("127.0.0.2")
    try:
        yield server
    finally:
        server.close()
        _command("umount", "/etc/hosts")


def processes():
    """Returns {pid: command line and parent} of all processes in the namespace but this one, the first; reaps ended ones."""
    assert os.getpid() == 1
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            name, _, stat = Path("/proc", entry, "stat").read_text().rpartition(")")
            found[int(entry)] = f"{words or name.partition('(')[2]} (parent {stat.split()[1]})"
        except OSError:
            continue
    return {pid: text for pid, text in found.items() if pid != 1}


def all_ended():
    eventually(lambda: f"these end: {processes()}", lambda: not processes(), 10)


def kill_all():
    for pid in processes():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    all_ended()
