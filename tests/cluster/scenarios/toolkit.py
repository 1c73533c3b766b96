# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own nvidia-container-runtime, out of the host's store, starts containers of containerd's class `nvidia`, and gives them the
driver by our specification; nothing of the toolkit is installed."""

import json
import os
import tarfile
from contextlib import contextmanager
from pathlib import Path

import programs
from node import binaries
from node.site import PAUSE
from node.waiting import eventually
from rig.case import case

from .cdi import check_given
from .runtime_change import CONFIG, SETTINGS, SOCKET, cri_of, dump, files, unit
from .runtime_hosts import SERVING, Client

PROGRAMS = ("nvidia-container-runtime", "nvidia-ctk", "nvidia-cdi-hook")
CURRENT = Path("/var/lib/gpuhost/toolkit/current")
CONFIG_TOML = Path("/etc/nvidia-container-runtime/config.toml")
WANTED = """[Toolkit]
Mode=cdi
Options=nvidia-container-runtime.modes.cdi.default-kind=management.nvidia.com/gpu
[Runtime]
Runtimes=containerd
Classes=nvidia
"""


def package(path):
    """A tar of NVIDIA's programs, as a site would carry it in."""
    with tarfile.open(path, "w:gz") as tar:
        for name in PROGRAMS:
            tar.add(binaries.built(binaries.TOOLKIT) / name, f"usr/bin/{name}")
    return path


@contextmanager
def container(containerd, name, runtime):
    """One that containerd's own client starts with the program of a class; its PID. It asks as images of CUDA do."""
    ctr = [containerd.client, "-a", SOCKET, "-n", "k8s.io"]
    done = programs.run([*ctr, "run", "--detach", "--runc-binary", runtime, "--env", "NVIDIA_VISIBLE_DEVICES=all",
                         "docker.io/library/cdi:1", name])
    assert done.returncode == 0, done.stdout + done.stderr
    try:
        rows = [row.split() for row in programs.run([*ctr, "tasks", "ls"]).stdout.splitlines()]
        yield next(int(row[1]) for row in rows if row[0] == name)
    finally:
        programs.run([*ctr, "tasks", "kill", "--signal", "KILL", name])
        eventually(f"{name} ends", lambda: programs.run([*ctr, "tasks", "rm", name]).returncode == 0)
        programs.run([*ctr, "containers", "rm", name])


@case("a toolkit of real programs is imported and selected, and containerd's class leads to it", start="specified")
def class_of_store(host):
    version = binaries.TOOLKIT.version()
    containerd = host.containerd17
    text = SERVING.format(pause=PAUSE, shim=containerd.programs_at / "containerd-shim-runc-v2")
    host.admin.ctl("toolkit", "import", str(package(Path(f"/run/units/nvidia-container-toolkit-{version}.tar.gz"))))
    host.admin.settings(WANTED)
    try:
        host.admin.ctl("apply", "--only", "toolkit")
        shown = json.loads(host.admin.ctl("toolkit", "show", "--json"))
        assert shown["selected"] == version and shown["config"]["state"] == "ours", shown
        theirs = programs.run([CURRENT / "usr/bin/nvidia-ctk", "config", "--config-file", CONFIG_TOML])
        assert theirs.returncode == 0 and 'mode = "cdi"' in theirs.stdout, f"NVIDIA's tool does not read our file: {theirs.stderr}"
        with unit(containerd) as service, files({CONFIG: text}):
            service.do("start")
            host.admin.ctl("runtime", "configure", "containerd")
            runtime = cri_of(dump(containerd))["containerd"]["runtimes"]["nvidia"]["options"]["BinaryName"]
            assert runtime == str(CURRENT / "usr/bin/nvidia-container-runtime"), runtime
            Client(containerd, host.cgroup.name).load(host.site.bundle("base", 1, {}), host.cdi.image)
            check_containers(host, containerd, runtime)
            host.admin.ctl("runtime", "restore", "containerd")
            assert CONFIG.read_text() == text
    finally:
        host.admin.settings(SETTINGS + "[Toolkit]\nVersion=off\n")
        host.admin.ctl("apply", "--only", "toolkit")
        assert not CONFIG_TOML.exists() and not os.path.lexists(CURRENT)
        host.admin.ctl("toolkit", "remove", version)
        host.admin.settings(SETTINGS)


def check_containers(host, containerd, runtime):
    version = binaries.TOOLKIT.version()
    with container(containerd, "plain", "runc") as pid:
        assert not Path("/proc", str(pid), "root/dev/nvidiactl").exists(), "without the class a device is given"
    with container(containerd, "given", runtime) as pid:
        check_given(pid)
        refused = host.admin.ask("toolkit", "remove", version)
        assert refused.returncode != 0 and "is selected" in refused.stderr, refused.stderr
        host.admin.settings(WANTED.replace("[Toolkit]", "[Toolkit]\nVersion=off").replace("Classes=nvidia", "Classes=none"))
        host.admin.ctl("apply", "--only", "toolkit")
        assert CURRENT.is_symlink() and not CONFIG_TOML.exists(), "a container needs the link for its end"
    host.admin.ctl("apply", "--only", "toolkit")
    assert CURRENT.is_symlink(), "containerd's class needs the link"
    host.admin.ctl("runtime", "configure", "containerd")
    host.admin.ctl("apply", "--only", "toolkit")
    assert not os.path.lexists(CURRENT), "nothing needs the link any more"
    host.admin.settings(WANTED)
    host.admin.ctl("apply", "--only", "toolkit")
    host.admin.ctl("runtime", "configure", "containerd")
    with container(containerd, "again", runtime) as pid:
        check_given(pid)
