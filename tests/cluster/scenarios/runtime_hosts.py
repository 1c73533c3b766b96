# SPDX-License-Identifier: Apache-2.0
"""Runtimes that serve, on hosts as other tools leave them: they come back from their one restart with what was wanted, the containers
that run go on, and a device is given where none was before."""

import json
import os
import shutil
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import programs
from node import binaries
from node.site import PAUSE
from node.units import Unit
from node.waiting import eventually
from rig.case import case

from .cdi import DEVICE, check_given
from .runtime_change import (CONFIG, DROP_IN, KUBESPRAY, SETTINGS, SOCKET, TOOLKIT, answers, cri_of, dump, each_containerd, files, plan,
                             stopped, tree, unit)

CDI_ALONE = "[Runtime]\nRuntimes=containerd\nClasses=none\n"
# A site's own, with which the rig's containers run; the shim is beside containerd, and not in the PATH of the unit.
SERVING = """version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}" # of a bundle
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    runtime_path = "{shim}"
[plugins."io.containerd.internal.v1.opt"]
  path = "/run/units/opt"
"""
DAEMON_JSON = '{\n  "log-opts": {"max-size": "10m"},\n  "data-root": "/run/units/docker"\n}'


@contextmanager
def settings(host, text):
    host.admin.settings(text)
    try:
        yield
    finally:
        host.admin.settings(SETTINGS)


def nothing_to_do(host, service):
    """Nor is anything done."""
    count, seen = service.restarts(), tree()
    assert plan(host.admin)["outcome"] == "nothing", plan(host.admin)
    host.admin.ctl("runtime", "configure", "containerd")
    assert service.restarts() == count and tree() == seen


def classes_of(containerd):
    return set(cri_of(dump(containerd))["containerd"]["runtimes"])


@case("on a host without a file containerd serves with one of ours, and goes without it again", start="host")
def fresh(host):
    for containerd, service in each_containerd(host):
        with files({}):
            before = dump(containerd)
            service.do("start")
            count = service.restarts()
            host.admin.ctl("runtime", "configure", "containerd")
            assert service.restarts() == count + 1 and answers(containerd), containerd.name
            assert {"runc", "nvidia", "nvidia-cdi"} <= classes_of(containerd), classes_of(containerd)
            nothing_to_do(host, service)
            host.admin.ctl("runtime", "restore", "containerd")
            assert service.restarts() == count + 2 and answers(containerd) and dump(containerd) == before
            assert not tree(), tree()


@case("what somebody adds to containerd's file on a host is kept, and in force", start="host")
def added(host):
    for containerd, service in each_containerd(host):
        with files({CONFIG: KUBESPRAY}):
            service.do("start")
            host.admin.ctl("runtime", "configure", "containerd")
            CONFIG.write_text(CONFIG.read_text().replace("log_line_size = -1", "log_line_size = 4096 # by hand"))
            host.admin.ctl("apply", "--only", "runtime")
            assert cri_of(dump(containerd))["max_container_log_line_size"] == 4096, containerd.name
            assert {"nvidia", "nvidia-cdi"} <= classes_of(containerd), classes_of(containerd)
            nothing_to_do(host, service)
            host.admin.ctl("runtime", "restore", "containerd")
            wanted = KUBESPRAY.replace("log_line_size = -1", "log_line_size = 4096 # by hand")
            assert CONFIG.read_text() == wanted and not DROP_IN.exists(), f"{containerd.name}: {CONFIG.read_text()}"


def nvidia_ctk():
    """As an administrator runs it: it rewrites containerd's file, and adds 99-nvidia.toml."""
    done = programs.run([binaries.built(binaries.TOOLKIT) / "nvidia-ctk", "runtime", "configure", "--runtime=containerd",
                         f"--nvidia-runtime-path={TOOLKIT}/nvidia-container-runtime"])
    assert done.returncode == 0, done.stderr
    assert DROP_IN.with_name("99-nvidia.toml").exists(), tree()


@case("a host that nvidia-ctk configured before gets what it lacks, and keeps what it has", start="host")
def after_nvidia_ctk(host):
    for containerd, service in each_containerd(host):
        with files({CONFIG: KUBESPRAY}):
            nvidia_ctk()
            seen, before, count = tree(), dump(containerd), service.restarts()
            service.do("start")
            host.admin.ctl("runtime", "configure", "containerd")
            assert service.restarts() == count + 1 and answers(containerd), service.restarts()
            assert {"nvidia", "nvidia-cdi"} <= classes_of(containerd), classes_of(containerd)
            nothing_to_do(host, service)
            host.admin.ctl("runtime", "restore", "containerd")
            assert tree() == seen and dump(containerd) == before, f"{containerd.name}: {tree()}"


class Client:
    """Of a containerd that is the host's."""
    def __init__(self, containerd, cgroup):
        self.containerd = containerd
        self.cgroup = cgroup

    def load(self, *images):
        for image in images:
            done = programs.run([self.containerd.client, "-a", SOCKET, "-n", "k8s.io", "images", "import", image])
            assert done.returncode == 0, done.stderr

    def cri(self, *words):
        done = programs.run([self.containerd.cri_program, SOCKET, *words])
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return json.loads(done.stdout)

    @contextmanager
    def container(self, device):
        """Its PID."""
        started = self.cri("start", self.cgroup, "docker.io/library/cdi:1", device)
        try:
            yield json.loads(started["container"]["info"]["info"])["pid"]
        finally:
            self.cri("stop", started["pod"])


@case("a host's containerd 1.7 gives our device after its restart, through which containers run", start="specified")
def device_after_restart(host):
    containerd = host.containerd17
    text = SERVING.format(pause=PAUSE, shim=containerd.programs_at / "containerd-shim-runc-v2")
    with settings(host, CDI_ALONE), unit(containerd) as service, files({CONFIG: text}):
        service.do("start")
        client = Client(containerd, host.cgroup.name)
        client.load(host.site.bundle("base", 1, {}), host.cdi.image)
        with client.container(DEVICE) as earlier:
            inside = Path("/proc", str(earlier), "root")
            assert not (inside / "dev/nvidiactl").exists(), "CDI was off, and a device is given"
            host.admin.ctl("runtime", "configure", "containerd")
            assert service.restarts() and (inside / "hold").exists(), "it ended with containerd's restart"
            with client.container(DEVICE) as later:
                check_given(later)
        host.admin.ctl("runtime", "restore", "containerd")
        assert CONFIG.read_text() == text


@contextmanager
def serving(name, command, socket):
    one = Unit(name, command, socket)
    try:
        one.do("start")
        yield one
    finally:
        one.remove()


@contextmanager
def only_file(path, text):
    """In place of what the machine has there."""
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    yield
    shutil.rmtree(path.parent)


def docker_says(client, socket, key):
    done = programs.run([client, "--host", f"unix://{socket}", "info", "--format", "{{json ." + key + "}}"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def tell_docker(client, socket, *words):
    done = programs.run([client, "--host", f"unix://{socket}", *words])
    assert done.returncode == 0, f"docker {' '.join(map(str, words))}: {done.stderr}"
    return done.stdout


@case("Docker on a host has its classes after one restart, and not after another", start="host")
def docker_serves(host):
    socket, file = Path("/run/units/docker.sock"), Path("/etc/docker/daemon.json")
    command = [host.docker.programs_at / "dockerd", "--host", f"unix://{socket}", "--containerd", host.containerd16.socket,
               "--exec-root", "/run/units/docker-run", "--pidfile", "/run/units/docker.pid", "--iptables=false", "--bridge=none",
               "--group=root"]
    with (stopped(host.docker), only_file(file, DAEMON_JSON), serving("docker.service", command, socket) as service,
          settings(host, SETTINGS.replace("Runtimes=containerd", "Runtimes=docker") + "DefaultClass=nvidia\n")):
        host.admin.ctl("runtime", "configure", "docker")
        assert service.restarts() == 1, service.restarts()
        assert {"runc", "nvidia", "nvidia-cdi"} <= set(docker_says(host.docker.client, socket, "Runtimes"))
        assert docker_says(host.docker.client, socket, "DefaultRuntime") == "nvidia"
        host.admin.ctl("runtime", "configure", "docker")
        assert service.restarts() == 1, "what is so already costs a restart"
        host.admin.ctl("runtime", "restore", "docker")
        assert service.restarts() == 2 and file.read_text() == DAEMON_JSON, file.read_text()
        assert docker_says(host.docker.client, socket, "DefaultRuntime") == "runc"
        assert "nvidia" not in docker_says(host.docker.client, socket, "Runtimes")


@case("Docker 26 gives our device after one restart, which its own validation has seen before", start="specified")
def docker_gives_devices(host):
    daemon, client = binaries.debian_13_docker()
    socket, file = Path("/run/units/docker.sock"), Path("/etc/docker/daemon.json")
    tell = partial(tell_docker, client / "docker", socket)
    command = [daemon / "dockerd", "--host", f"unix://{socket}", "--containerd", host.containerd17.socket, "--exec-root", "/run/units/docker-run",
               "--pidfile", "/run/units/docker.pid", "--iptables=false", "--bridge=none", "--group=root", "--userland-proxy=false",
               "--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", host.cgroup.name]
    with (stopped(host.docker), only_file(file, DAEMON_JSON), serving("docker.service", command, socket) as service,
          settings(host, CDI_ALONE.replace("containerd", "docker"))):
        count = service.restarts() + 1  # earlier cases' too
        tell("load", "--quiet", "--input", host.cdi.image)
        run = ("run", "--detach", "--name=cdi", "--network=none", f"--device={DEVICE}", "cdi:1")
        assert programs.run([client / "docker", "--host", f"unix://{socket}", *run]).returncode != 0, "CDI is on before"
        tell("rm", "--force", "cdi")
        host.admin.ctl("runtime", "configure", "docker")
        assert service.restarts() == count and json.loads(file.read_text())["features"] == {"cdi": True}, file.read_text()
        tell(*run)
        check_given(tell("inspect", "--format={{.State.Pid}}", "cdi").strip())
        host.admin.ctl("runtime", "restore", "docker")
        assert service.restarts() == count, "a container ran, and would have ended"
        tell("rm", "--force", "cdi")
        assert file.read_text() == DAEMON_JSON, file.read_text()
        service.set_command([*command, "--default-runtime=runc"])
        service.do("stop")
        service.do("start")
        host.admin.settings(SETTINGS.replace("Runtimes=containerd", "Runtimes=docker") + "DefaultClass=nvidia\n")
        done = host.admin.ask("runtime", "configure", "docker")
        assert done.returncode != 0 and "specified both as a flag and in the configuration file" in done.stderr, done.stderr
        assert service.restarts() == count and file.read_text() == DAEMON_JSON


def crio_says(host):
    """What the one that runs goes by."""
    done = programs.run([host.crio.program, "status", "--socket", host.crio.socket, "config"])
    assert done.returncode == 0, done.stderr
    return done.stdout


@case("CRI-O on a host has its classes after one restart, and not after another", start="host")
def crio_serves(host):
    file = Path("/etc/crio/crio.conf")
    drop_ins = file.parent / "crio.conf.d"
    with (stopped(host.crio), only_file(file, host.crio.configuration.read_text()),
          serving("crio.service", [host.crio.program], host.crio.socket) as service,
          settings(host, SETTINGS.replace("Runtimes=containerd", "Runtimes=cri-o"))):
        before = file.read_bytes()
        host.admin.ctl("runtime", "configure", "cri-o")
        assert service.restarts() == 1 and os.listdir(drop_ins) == ["zz-gpuhost.conf"], service.restarts()
        assert f"{TOOLKIT}/nvidia-container-runtime.cdi" in eventually("CRI-O says how it runs", lambda: crio_says(host))
        host.admin.ctl("runtime", "configure", "cri-o")
        assert service.restarts() == 1, "what is so already costs a restart"
        host.admin.ctl("runtime", "restore", "cri-o")
        assert service.restarts() == 2 and str(TOOLKIT) not in crio_says(host)
        assert file.read_bytes() == before and not (drop_ins / "zz-gpuhost.conf").exists()
