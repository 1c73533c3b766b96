# SPDX-License-Identifier: Apache-2.0
"""Our own programs as they run on a host, on a root of their own: the daemon that imports bundles, and the
registry."""

import os
import re
import select
import shutil
import socket
import threading
from pathlib import Path

import programs
from private_bus import PrivateBus
from registry_service import hand_over

from . import TESTS
from .service import Service

UNIT = TESTS.parent / "systemd/gpuhost-registry.socket"
PORT = int(re.search(r"^ListenStream=127\.0\.0\.1:(\d+)$", UNIT.read_text(), re.M)[1])
IDLE_SECONDS = 2  # the registry ends between two pulls once the runtimes have closed their connections
PLACES = ("", "usr/bin", "usr/sbin", "usr/libexec/gpuhost")


def find(tree, name):
    """Returns the path of our program in a build directory or in an unpacked package."""
    for place in PLACES:
        if (tree / place / name).is_file():
            return tree / place / name
    raise FileNotFoundError(f"{name} not found in {tree}: build it, or name its directory or package with --build or --deb")


class Daemon(Service):
    def __init__(self, tree, place, trusted):
        super().__init__("gpuhostd", place.logs)
        self.tree = tree
        self.bus = None
        self.state = place.state / "gpuhost"
        self.root = self.state / "root"
        for directory in ("var/lib/gpuhost", "run", "dev", "proc/sys/kernel/random", f"lib/modules/{os.uname().release}",
                          "etc/gpuhost/trust.d", "etc/containerd", "etc/containers"):
            (self.root / directory).mkdir(parents=True)
        for fact in ("osrelease", "random/boot_id"):
            shutil.copyfile(Path("/proc/sys/kernel", fact), self.root / "proc/sys/kernel" / fact)
        shutil.copy(trusted, self.root / "etc/gpuhost/trust.d/site.pem")
        self.runtimes = {}
        self.configure()
        # The files with which it configures runtimes to use the registry.
        self.certs = self.root / "etc/containerd/certs.d"
        self.registries_conf = self.root / "etc/containers/registries.conf.d/50-gpuhost.conf"

    def configure(self, upstream="no"):
        text = (f"[Registry]\nIdleTimeout={IDLE_SECONDS}s\n[Mirrors]\nUpstream={upstream}\n"
                "[Images]\n" + "".join(f"{key}={' '.join(words)}\n" for key, words in self.runtimes.items()))
        (self.root / "etc/gpuhost/gpuhostd.conf").write_text(text)

    def shows(self, key, runtime):
        """Links the runtime's socket into the root, and configures the client for it."""
        self.shows_again(runtime)
        self.runtimes.setdefault(key, []).append(f"/run/runtimes/{runtime.name}={runtime.client}")
        self.configure()

    def shows_again(self, runtime):
        """Links the new socket of a restarted runtime."""
        self.finds(runtime, f"run/runtimes/{runtime.name}")

    def finds(self, runtime, place):
        """Links its socket to the default path, which our programs search without a setting."""
        (self.root / place).parent.mkdir(parents=True, exist_ok=True)
        (self.root / place).unlink(missing_ok=True)
        os.link(runtime.socket, self.root / place)

    def hides(self, key):
        del self.runtimes[key]
        self.configure()

    def run(self):
        self.bus = PrivateBus(str(self.state))
        self.start([find(self.tree, "gpuhostd"), f"--root={self.root}", "--launcher=direct",
                    f"--worker={find(self.tree, 'gpuhost-worker')}"], DBUS_SYSTEM_BUS_ADDRESS=self.bus.address)
        self.ctl("wait-ready", "--converged", "--timeout=30s")

    def ask(self, *words):
        return programs.run([find(self.tree, "gpuhostctl"), *words],
                            env=programs.environment(DBUS_SYSTEM_BUS_ADDRESS=self.bus.address, NO_COLOR="1", LC_ALL="C"))

    def ctl(self, *words):
        done = self.ask(*words)
        good = (0, 3) if words[0] == "status" else (0,)  # 3: the host is not OK
        assert done.returncode in good, f"gpuhostctl {' '.join(map(str, words))}: {done.stdout}{done.stderr}"
        return done.stdout

    def end(self):
        super().end()
        if self.bus:
            self.bus.close()
            self.bus = None


class Registry(Service):
    """The registry with socket activation as by systemd: each connection starts it, also after it has
    ended."""
    def __init__(self, tree, place, root):
        super().__init__("gpuhost-registry", place.logs)
        self.program = find(tree, "gpuhost-registry")
        self.root = root
        self.starts = 0
        self.socket = None
        self.watcher = threading.Thread(target=self.watch)
        self.over = threading.Event()

    def run(self):
        self.socket = socket.create_server(("127.0.0.1", PORT))
        self.watcher.start()

    def watch(self):
        """Starts the registry at a connection. It ends with this thread."""
        while not self.over.is_set():
            if self.is_running():
                self.over.wait(0.05)
            elif select.select([self.socket], [], [], 0.05)[0]:
                self.starts += 1
                self.activate()
        super().end()

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def activate(self):
        self.start(hand_over(self.socket, [self.program, f"--root={self.root}"]), pass_fds=[self.socket.fileno()])

    def end(self):
        self.over.set()
        if self.socket:
            self.watcher.join()
            self.socket.close()
            self.socket = None
