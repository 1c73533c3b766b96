# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's nvidia-container-runtime from the host's store starts containers of containerd's class
`nvidia`, in each of its modes. The toolkit is not installed. Only libnvidia-container is not available: a
fake of its program records its arguments."""

import io
import json
import os
import tarfile
from contextlib import contextmanager
from pathlib import Path

import programs
from node import binaries
from node.site import PAUSE
from node.waiting import eventually
from ran_with import ran_with
from rig.case import case

from .cdi import GPUS, LIBRARIES, VERSION, check_given
from .runtime_change import CONFIG, SETTINGS, SOCKET, cri_of, dump, files, unit
from .runtime_hosts import SERVING, Client

PROGRAMS = ("nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-ctk", "nvidia-cdi-hook")
ASKED = Path("/run/units/asked-of-cli")
CLI = f"""#!/bin/sh
printf '%s\\n' "$@" >{ASKED}
"""
CURRENT = Path("/var/lib/gpuhost/toolkit/current")
CONFIG_TOML = Path("/etc/nvidia-container-runtime/config.toml")
RUNTIME = """[Runtime]
Runtimes=containerd
Classes=nvidia
"""
WANTED = """[Toolkit]
Mode=cdi
Options=nvidia-container-runtime.modes.cdi.default-kind=management.nvidia.com/gpu
""" + RUNTIME


def package(path):
    """Makes a tar of NVIDIA's programs, as a site imports it."""
    with tarfile.open(path, "w:gz") as tar:
        for name in PROGRAMS:
            tar.add(binaries.built(binaries.TOOLKIT) / name, f"usr/bin/{name}")
        cli = tarfile.TarInfo("usr/bin/nvidia-container-cli")
        cli.size, cli.mode = len(CLI), 0o755
        tar.addfile(cli, io.BytesIO(CLI.encode()))
    return path


@contextmanager
def container(containerd, name, runtime):
    """Starts a container with ctr and the program of a class; yields its PID. It requests GPUs as images
    of CUDA do."""
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


@case("containerd's class runs the toolkit that was imported and selected", start="specified")
def class_of_store(host):
    version = binaries.TOOLKIT.version()
    containerd = host.containerd17
    text = SERVING.format(pause=PAUSE, shim=containerd.programs_at / "containerd-shim-runc-v2")
    host.admin.ctl("toolkit", "import", str(package(Path(f"/run/units/nvidia-container-toolkit-{version}.tar.gz"))))
    host.admin.settings(WANTED)
    try:
        host.admin.ctl("apply", "--only", "toolkit")
        shown = json.loads(host.admin.ctl("toolkit", "show", "--json"))
        ran_with("NVIDIA Container Toolkit", shown["selected"])
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
            host.admin.ctl("runtime", "unconfigure", "containerd")
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
        assert not Path("/proc", str(pid), "root/dev/nvidiactl").exists(), "a container without the class has a device"
    with container(containerd, "given", runtime) as pid:
        check_given(pid)
        refused = host.admin.ask("toolkit", "remove", version)
        assert refused.returncode != 0 and "is selected" in refused.stderr, refused.stderr
        host.admin.settings(WANTED.replace("[Toolkit]", "[Toolkit]\nVersion=off").replace("Classes=nvidia", "Classes=none"))
        host.admin.ctl("apply", "--only", "toolkit")
        assert CURRENT.is_symlink() and not CONFIG_TOML.exists(), "the link was removed, but a container needs it for its end"
    host.admin.ctl("apply", "--only", "toolkit")
    assert CURRENT.is_symlink(), "the link was removed, but containerd's class needs it"
    host.admin.ctl("runtime", "configure", "containerd")
    host.admin.ctl("apply", "--only", "toolkit")
    assert not os.path.lexists(CURRENT), "the link exists, but is not needed any more"
    host.admin.settings(WANTED)
    host.admin.ctl("apply", "--only", "toolkit")
    host.admin.ctl("runtime", "configure", "containerd")
    with container(containerd, "again", runtime) as pid:
        check_given(pid)
    check_jit(host, containerd, runtime)
    check_legacy(host, containerd, runtime)
    host.admin.settings(WANTED)
    host.admin.ctl("apply", "--only", "toolkit")


def set_mode(host, mode, options=""):
    host.admin.settings(f"[Toolkit]\nMode={mode}\nOptions={options}\n{RUNTIME}")
    host.admin.ctl("apply", "--only", "toolkit")


def check_jit(host, containerd, runtime):
    """Tests jit-cdi: the runtime asks NVML and makes the specification when the container starts. The tree
    is the root of its driver."""
    tree = host.cdi.path
    wrapper = Path("/run/units/with-nvml")
    wrapper.write_text(f"#!/bin/sh\nSTUB_NVML_DEVICES={GPUS} STUB_NVML_VERSION={VERSION} exec {runtime} \"$@\"\n")
    wrapper.chmod(0o755)
    set_mode(host, "jit-cdi", f"nvidia-container-cli.root={tree}")
    with container(containerd, "jit", str(wrapper)) as pid:
        inside = Path("/proc", str(pid), "root")
        assert sorted(node.name for node in (inside / "dev").glob("nvidia[0-9]")) == [f"nvidia{n}" for n in range(GPUS)]
        library = f"{LIBRARIES}/nvidia/current/libcuda.so.{VERSION}"
        assert (inside / library).samefile(tree / library), "the library is not the driver's"


def check_legacy(host, containerd, runtime):
    """Tests legacy: NVIDIA's hook runs before the container's program and calls libnvidia-container's
    program."""
    set_mode(host, "legacy", "nvidia-container-cli.no-cgroups=true")
    with container(containerd, "legacy", runtime):
        asked = ASKED.read_text().splitlines()
    assert "configure" in asked and "--device=all" in asked and "--no-cgroups" in asked, asked
    assert any(word.startswith("--ldconfig=@/sbin/ldconfig") for word in asked), asked
