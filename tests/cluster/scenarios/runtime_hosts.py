# SPDX-License-Identifier: Apache-2.0
"""Running runtimes on hosts that other tools have configured. After one restart the new settings are
effective, running containers continue, and containers get devices."""

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
# A site's configuration for the rig's containers. It names the shim's path, because the unit's PATH lacks the
# shim.
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
    """Expects that the plan has no change and that configure changes nothing."""
    count, seen = service.restarts(), tree()
    assert plan(host.admin)["outcome"] == "nothing", plan(host.admin)
    host.admin.ctl("runtime", "configure", "containerd")
    assert service.restarts() == count and tree() == seen


def classes_of(containerd):
    return set(cri_of(dump(containerd))["containerd"]["runtimes"])


@case("a containerd without a configuration file gets one, restore removes it", start="host")
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
            host.admin.ctl("runtime", "unconfigure", "containerd")
            assert service.restarts() == count + 2 and answers(containerd) and dump(containerd) == before
            assert not tree(), tree()


@case("a manual change of containerd's file is kept and effective", start="host")
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
            host.admin.ctl("runtime", "unconfigure", "containerd")
            wanted = KUBESPRAY.replace("log_line_size = -1", "log_line_size = 4096 # by hand")
            assert CONFIG.read_text() == wanted and not DROP_IN.exists(), f"{containerd.name}: {CONFIG.read_text()}"


def nvidia_ctk():
    """Runs nvidia-ctk as an administrator does: it rewrites containerd's file and adds 99-nvidia.toml."""
    done = programs.run([binaries.built(binaries.TOOLKIT) / "nvidia-ctk", "runtime", "configure", "--runtime=containerd",
                         f"--nvidia-runtime-path={TOOLKIT}/nvidia-container-runtime"])
    assert done.returncode == 0, done.stderr
    assert DROP_IN.with_name("99-nvidia.toml").exists(), tree()


@case("after nvidia-ctk only missing settings are added, restore removes them", start="host")
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
            host.admin.ctl("runtime", "unconfigure", "containerd")
            assert tree() == seen and dump(containerd) == before, f"{containerd.name}: {tree()}"


class Client:
    """A client of the host's containerd."""
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
        """Runs a container with the device; yields its PID."""
        started = self.cri("start", self.cgroup, "docker.io/library/cdi:1", device)
        try:
            yield json.loads(started["container"]["info"]["info"])["pid"]
        finally:
            self.cri("stop", started["pod"])


@case("containerd 1.7 gives our device after its restart, containers continue", start="specified")
def device_after_restart(host):
    containerd = host.containerd17
    text = SERVING.format(pause=PAUSE, shim=containerd.programs_at / "containerd-shim-runc-v2")
    with settings(host, CDI_ALONE), unit(containerd) as service, files({CONFIG: text}):
        service.do("start")
        client = Client(containerd, host.cgroup.name)
        client.load(host.site.bundle("base", 1, {}), host.cdi.image)
        with client.container(DEVICE) as earlier:
            inside = Path("/proc", str(earlier), "root")
            assert not (inside / "dev/nvidiactl").exists(), "CDI was disabled, but the container has a device"
            host.admin.ctl("runtime", "configure", "containerd")
            assert service.restarts() and (inside / "hold").exists(), "containerd was not restarted, or the container ended with it"
            with client.container(DEVICE) as later:
                check_given(later)
        host.admin.ctl("runtime", "unconfigure", "containerd")
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
    """Replaces this machine's directory by one that has only this file."""
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    yield
    shutil.rmtree(path.parent)


def docker_info(client, socket, key):
    done = programs.run([client, "--host", f"unix://{socket}", "info", "--format", "{{json ." + key + "}}"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def call_docker(client, socket, *words):
    done = programs.run([client, "--host", f"unix://{socket}", *words])
    assert done.returncode == 0, f"docker {' '.join(map(str, words))}: {done.stderr}"
    return done.stdout


@case("Docker has its classes after one restart, restore removes them", start="host")
def docker_serves(host):
    socket, file = Path("/run/units/docker.sock"), Path("/etc/docker/daemon.json")
    command = [host.docker.programs_at / "dockerd", "--host", f"unix://{socket}", "--containerd", host.containerd16.socket,
               "--exec-root", "/run/units/docker-run", "--pidfile", "/run/units/docker.pid", "--iptables=false", "--bridge=none",
               "--group=root"]
    with (stopped(host.docker), only_file(file, DAEMON_JSON), serving("docker.service", command, socket) as service,
          settings(host, SETTINGS.replace("Runtimes=containerd", "Runtimes=docker") + "DefaultClass=nvidia\n")):
        host.admin.ctl("runtime", "configure", "docker")
        assert service.restarts() == 1, service.restarts()
        assert {"runc", "nvidia", "nvidia-cdi"} <= set(docker_info(host.docker.client, socket, "Runtimes"))
        assert docker_info(host.docker.client, socket, "DefaultRuntime") == "nvidia"
        host.admin.ctl("runtime", "configure", "docker")
        assert service.restarts() == 1, "Docker was restarted without a change"
        host.admin.ctl("runtime", "unconfigure", "docker")
        assert service.restarts() == 2 and file.read_text() == DAEMON_JSON, file.read_text()
        assert docker_info(host.docker.client, socket, "DefaultRuntime") == "runc"
        assert "nvidia" not in docker_info(host.docker.client, socket, "Runtimes")


@case("Docker 26 gives our device after one restart, wrong settings are refused", start="specified")
def docker_gives_devices(host):
    daemon, client = binaries.debian_13_docker()
    socket, file = Path("/run/units/docker.sock"), Path("/etc/docker/daemon.json")
    call = partial(call_docker, client / "docker", socket)
    command = [daemon / "dockerd", "--host", f"unix://{socket}", "--containerd", host.containerd17.socket, "--exec-root", "/run/units/docker-run",
               "--pidfile", "/run/units/docker.pid", "--iptables=false", "--bridge=none", "--group=root", "--userland-proxy=false",
               "--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", host.cgroup.name]
    with (stopped(host.docker), only_file(file, DAEMON_JSON), serving("docker.service", command, socket) as service,
          settings(host, CDI_ALONE.replace("containerd", "docker"))):
        count = service.restarts() + 1  # earlier cases count, too
        call("load", "--quiet", "--input", host.cdi.image)
        run = ("run", "--detach", "--name=cdi", "--network=none", f"--device={DEVICE}", "cdi:1")
        assert programs.run([client / "docker", "--host", f"unix://{socket}", *run]).returncode != 0, "CDI is enabled without a change"
        call("rm", "--force", "cdi")
        host.admin.ctl("runtime", "configure", "docker")
        assert service.restarts() == count and json.loads(file.read_text())["features"] == {"cdi": True}, file.read_text()
        call(*run)
        check_given(call("inspect", "--format={{.State.Pid}}", "cdi").strip())
        host.admin.ctl("runtime", "unconfigure", "docker")
        assert service.restarts() == count, "Docker was restarted although a container ran"
        call("rm", "--force", "cdi")
        assert file.read_text() == DAEMON_JSON, file.read_text()
        service.set_command([*command, "--default-runtime=runc"])
        service.do("stop")
        service.do("start")
        host.admin.settings(SETTINGS.replace("Runtimes=containerd", "Runtimes=docker") + "DefaultClass=nvidia\n")
        done = host.admin.ask("runtime", "configure", "docker")
        assert done.returncode != 0 and "specified both as a flag and in the configuration file" in done.stderr, done.stderr
        assert service.restarts() == count and file.read_text() == DAEMON_JSON


def crio_config(host):
    """Returns the configuration of the running CRI-O."""
    done = programs.run([host.crio.program, "status", "--socket", host.crio.socket, "config"])
    assert done.returncode == 0, done.stderr
    return done.stdout


@case("CRI-O has its classes after one restart, restore removes them", start="host")
def crio_serves(host):
    file = Path("/etc/crio/crio.conf")
    drop_ins = file.parent / "crio.conf.d"
    with (stopped(host.crio), only_file(file, host.crio.configuration.read_text()),
          serving("crio.service", [host.crio.program], host.crio.socket) as service,
          settings(host, SETTINGS.replace("Runtimes=containerd", "Runtimes=cri-o"))):
        before = file.read_bytes()
        host.admin.ctl("runtime", "configure", "cri-o")
        assert service.restarts() == 1 and os.listdir(drop_ins) == ["zz-gpuhost.conf"], service.restarts()
        assert f"{TOOLKIT}/nvidia-container-runtime.cdi" in eventually("CRI-O reports its configuration", lambda: crio_config(host))
        host.admin.ctl("runtime", "configure", "cri-o")
        assert service.restarts() == 1, "CRI-O was restarted without a change"
        host.admin.ctl("runtime", "unconfigure", "cri-o")
        assert service.restarts() == 2 and str(TOOLKIT) not in crio_config(host)
        assert file.read_bytes() == before and not (drop_ins / "zz-gpuhost.conf").exists()
