# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl runtime show on the files of a root without running runtimes."""
import json
import os
import shutil
import socket

import programs
import tap
from fake_host import scratch, write

NOT_FOUND = 4
CRI = 'plugins."io.containerd.grpc.v1.cri"'
K3S = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
NVIDIA = f"""version = 2
[{CRI}.containerd.runtimes.runc]
[{CRI}.containerd.runtimes.nvidia.options]
BinaryName = "/usr/bin/nvidia-container-runtime"
"""


class Host:
    def __init__(self, root):
        self.root = root

    def path(self, name):
        return os.path.join(self.root, name.lstrip("/"))

    def write(self, name, text):
        write(self.path(name), text)

    def unit(self, name, command):
        self.write(f"/usr/lib/systemd/system/{name}", f"[Service]\nExecStart={command}\n")

    def process(self, pid, unit, exe, *arguments):
        self.write(f"/proc/{pid}/cmdline", "".join(f"{word}\0" for word in (exe, *arguments)))
        self.write(f"/proc/{pid}/status", f"Uid:\t0\t0\t0\t0\nNSpid:\t{pid}\n")
        self.write(f"/proc/{pid}/cgroup", f"0::/system.slice/{unit}\n")
        os.symlink(exe, self.path(f"/proc/{pid}/exe"))
        os.symlink("/", self.path(f"/proc/{pid}/root"))

    def show(self, *words):
        return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "runtime", "show", *words, "--root", self.root],
                            env=programs.environment(NO_COLOR="1", LC_ALL="C"))

    def runtimes(self):
        return {one["name"]: one for one in json.loads(self.show("--json=short").stdout)["runtimes"]}


def check_nothing(t, host):
    run = host.show()
    t.ok(run.returncode == 0 and (run.stdout, run.stderr) == ("", "No container runtimes.\n"),
         "runtime show reports a host without runtimes", run.stdout, run.stderr)
    run = host.show("containerd")
    t.ok(run.returncode == NOT_FOUND and run.stdout == "" and "gpuhostctl runtime show" in run.stderr,
         "runtime show NAME fails without runtimes", run.stderr)


def check_containerd(t, host):
    host.unit("containerd.service", "/usr/bin/containerd")
    host.write("/usr/bin/containerd", "#!/bin/sh\ntouch /tmp/never; echo containerd x 9.9\n")
    os.chmod(host.path("/usr/bin/containerd"), 0o755)
    one = host.runtimes()["containerd"]
    t.ok(one["version"] == "" and one["executable"] == "/usr/bin/containerd",
         "runtime show --root runs no program of the root", one)
    t.ok(not one["running"] and one["files"] == [{"path": "/etc/containerd/config.toml", "exists": False, "problem": ""}],
         "a stopped, unconfigured runtime is found by its unit", one)
    host.write("/etc/containerd/config.toml", 'version = 2\nimports = ["/etc/containerd/conf.d/*.toml"]\n')
    host.write("/etc/containerd/conf.d/99-nvidia.toml", NVIDIA)
    one = host.runtimes()["containerd"]
    t.equal([file["path"] for file in one["files"]], ["/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml"],
            "runtime show lists imported files")
    t.equal([(handler["name"], handler["binary"]) for handler in one["runtimes"]],
            [("nvidia", "/usr/bin/nvidia-container-runtime"), ("runc", "")],
            "runtime show lists classes of imported files")
    host.process(812, "containerd.service", "/usr/local/bin/containerd", "--config", "/srv/containerd.toml")
    one = host.runtimes()["containerd"]
    t.ok(one["running"] and one["pid"] == 812 and one["config"] == "/srv/containerd.toml" and one["runtimes"][0]["name"] == "runc",
         "a running containerd's --config= selects the file", one)
    t.equal(one["problems"], ["/srv/containerd.toml: not found, and containerd does not start without it"],
            "a missing --config file is a problem")


def check_several(t, host):
    host.unit("docker.service", "/usr/bin/dockerd -H fd://")
    host.write("/etc/docker/daemon.json", '{"features": {"cdi": true}}')
    host.process(901, "docker.service", "/usr/bin/dockerd", "-H", "fd://")
    host.process(902, "docker.service", "/usr/bin/containerd", "--config", "/var/run/docker/containerd/containerd.toml")
    host.write("/var/run/docker/containerd/containerd.toml", "")
    host.write("/srv/containerd.toml", "")
    host.unit("k3s.service", "/usr/local/bin/k3s \\\n  server")
    host.write(K3S, NVIDIA)
    os.makedirs(host.path("/run/crio"))
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(host.path("/run/crio"))  # a socket's path has a limited length
        listener.bind("crio.sock")
        os.chdir("/")
    found = host.runtimes()
    t.equal({name: (one["kind"], one["running"], one["config"]) for name, one in found.items()},
            {"containerd": ("containerd", True, "/srv/containerd.toml"), "cri-o": ("cri-o", False, "/etc/crio/crio.conf"),
             "docker": ("docker", True, "/etc/docker/daemon.json"),
             "docker-containerd": ("containerd", True, "/var/run/docker/containerd/containerd.toml"),
             "k3s": ("k3s", False, K3S)}, "several runtimes are distinguished")
    t.ok(found["cri-o"]["socket"] == "/run/crio/crio.sock",
         "a runtime is found by its socket alone", found["cri-o"])
    run = host.show()
    t.ok(run.returncode == 0 and len(run.stdout.splitlines()) == 11 and "\ndocker-containerd: part of Docker" in run.stdout,
         "runtime show prints a verdict for each runtime", run.stdout, run.stderr)
    run = host.show("k3s")
    t.ok(run.returncode == 0 and "nvidia, /usr/bin/nvidia-container-runtime" in run.stdout and
         "runtime class for 'nvidia'" in run.stdout,
         "runtime show NAME prints classes and verdict", run.stdout, run.stderr)


def check_wrong(t, host):
    host.write("/srv/containerd.toml", 'version = 2\nimports = ["/srv/containerd.toml", "gone.toml", "pipe"]\n')
    os.mkfifo(host.path("/srv/pipe"))
    one = host.runtimes()["containerd"]
    t.ok([bool(file["problem"]) for file in one["files"]] == [False, True, True] and "configuration is not valid" in one["verdict"],
         "missing imports, pipes and import cycles are reported", one)
    for name, text in (("broken", "version = \n"), ("large", "#" * (1 << 20) + "\n"), ("deep", "a = " + "[" * 100000),
                       ("dots", "[a" + ".a" * 400000 + "]\n"), ("bytes", "a = \"\x01\"\n")):
        host.write("/srv/containerd.toml", text)
        run = host.show("containerd")
        t.ok(run.returncode == 0 and "Problem: /srv/containerd.toml: " in run.stdout,
             f"runtime show reports a problem with a {name} file",
             run.returncode, run.stdout, run.stderr)
    host.write("/etc/docker/daemon.json", "[]")
    t.ok("is not a JSON object" in host.show("docker").stdout, "runtime show reports an invalid daemon.json")


def main():
    t = tap.Tap()
    root = scratch()
    try:
        host = Host(root)
        for check in check_nothing, check_containerd, check_several, check_wrong:
            check(t, host)
    finally:
        shutil.rmtree(root)
    t.done()


if __name__ == "__main__":
    main()
