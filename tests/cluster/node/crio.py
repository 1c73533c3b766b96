# SPDX-License-Identifier: Apache-2.0
"""CRI-O on Podman's storage, only for its images: it runs no pods."""

from .cri import Runtime
from .waiting import eventually

CONFIGURATION = """[crio]
root = "{storage}/root"
runroot = "{storage}/run"
storage_driver = "overlay"
log_dir = "{state}/log"
version_file = "{state}/version"
version_file_persist = "{state}/version-persist"
clean_shutdown_file = "{state}/clean"
[crio.api]
listen = "{socket}"
stream_port = "0"
[crio.image]
pause_image = "{pause}"
[crio.network]
network_dir = "{state}/cni"
[crio.nri]
enable_nri = false
[crio.runtime]
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
container_attach_socket_dir = "{state}/attach"
container_exits_dir = "{state}/exits"
default_runtime = "runc"
hooks_dir = []
namespaces_dir = "{state}/namespaces"
pinns_path = "/bin/true"
[crio.runtime.runtimes.runc]
monitor_path = "/usr/bin/conmon"
runtime_root = "{state}/runc"
"""


class Crio(Runtime):
    """`drop_ins` is its crio.conf.d, which it reads only if it exists at the start; `containers` replaces
    /etc/containers."""
    def __init__(self, programs_at, podman, place, drop_ins, containers, *, pause, cri):
        super().__init__("crio", place, cri)
        self.program = programs_at / "crio"
        self.home = self.state / "home"
        (self.home / ".config").mkdir(parents=True)
        (self.home / ".config/containers").symlink_to(containers)  # replaces this machine's /etc/containers
        (containers / "registries.conf").touch()
        (containers / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        self.drop_ins = drop_ins
        self.configuration = self.state / "crio.conf"
        self.configuration.write_text(CONFIGURATION.format(
            storage=podman.state, state=self.state, socket=self.socket, pause=pause))
        (self.state / "cni").mkdir()

    def run(self):
        self.drop_ins.mkdir(parents=True, exist_ok=True)
        self.start([self.program, "--config", self.configuration, "--config-dir", self.drop_ins], HOME=str(self.home))
        eventually("CRI-O answers", lambda: self.check_alive() or self.ask_cri("list").returncode == 0)
        return self
