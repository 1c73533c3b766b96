# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl configures containerd, CRI-O and Docker. Their own programs show the effect: no other setting
changes, one restart suffices, and restore sets each byte as before."""

import json
import shutil
import tomllib
from contextlib import contextmanager
from pathlib import Path

import programs
from node.units import Host, Unit
from node.waiting import eventually
from rig.case import case

from .runtime import config, default, runtime

CONFIG, DROP_IN = Path("/etc/containerd/config.toml"), Path("/etc/containerd/conf.d/zz-gpuhost.toml")
SOCKET = Path("/run/containerd/containerd.sock")
TOOLKIT = Path("/run/units/toolkit")
SETTINGS = "[Runtime]\nRuntimes=containerd\nClasses=nvidia nvidia-cdi\nToolkitDirectory=" + str(TOOLKIT) + "\n"

KUBESPRAY = """version = 2
root = "/run/units/root" # moved here by the site
# state = "/run/containerd"
oom_score = 0

[grpc]
  max_recv_message_size = 16777216

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    sandbox_image = "registry.site/pause:3.9" # no other is here
    max_container_log_line_size = -1
    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "runc"
      snapshotter = "overlayfs"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes]
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
          runtime_type = "io.containerd.runc.v2"
          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
            systemdCgroup = true # as the role writes it
            SystemdCgroup = true
    [plugins."io.containerd.grpc.v1.cri".registry]
      config_path = "/etc/containerd/certs.d"
""".replace("            systemdCgroup = true # as the role writes it\n", "")
GKE = """version = 2
required_plugins = ["io.containerd.grpc.v1.cri"]
oom_score = -999
[debug]
  level = "info"
[plugins."io.containerd.grpc.v1.cri"]
  stream_server_address = "127.0.0.1"
  max_container_log_line_size = 262144
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/opt/kubernetes/bin"
  conf_dir = "/etc/cni/net.d"
  conf_template = "/srv/kubernetes/cni.template"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true
"""
# {description: ({file: text}, oldest version of containerd, newest)}
SHAPES = {
    "without a file": ({}, (1, 6), (9, 9)),
    "kubespray's": ({CONFIG: KUBESPRAY}, (1, 6), (9, 9)),
    "GKE's": ({CONFIG: GKE}, (1, 6), (9, 9)),
    "a version alone": ({CONFIG: "version = 2"}, (1, 6), (9, 9)),
    "empty": ({CONFIG: ""}, (1, 6), (9, 9)),
    "the first version": ({CONFIG: config(1, runtime(1, "runc", SystemdCgroup=True))}, (1, 6), (1, 9)),
    "the third version": ({CONFIG: config(3, runtime(3, "runc", SystemdCgroup=True))}, (2, 0), (9, 9)),
    "the fourth version": ({CONFIG: "version = 4\n" + runtime(3, "runc", SystemdCgroup=True)}, (2, 3), (9, 9)),
    "with a pattern": ({CONFIG: "imports = ['/etc/containerd/conf.d/*.toml'] # others\r\nversion = 2\r\n",
                        DROP_IN.with_name("10-site.toml"): config(2, runtime(2, "runc", SystemdCgroup=True),
                                                                  cri="max_container_log_line_size = 1000")}, (1, 6), (9, 9)),
    "with a list": ({CONFIG: 'version = 2\nimports = [\n  "/etc/containerd/site.toml", # theirs\n]\n[debug]\nlevel = "info"\n',
                     CONFIG.with_name("site.toml"): config(2, runtime(2, "runc", SystemdCgroup=True))}, (1, 6), (9, 9)),
    "nvidia-ctk's": ({CONFIG: 'imports = ["/etc/containerd/conf.d/*.toml"]\nversion = 2\n' + runtime(2, "runc", SystemdCgroup=True),
                      DROP_IN.with_name("50-nvidia.toml"): config(2, default(2, "runc"), runtime(2, "runc", SystemdCgroup=True), runtime(2, "nvidia", BinaryName="/opt/old"))},
                     (1, 6), (9, 9)),
}


def version_of(containerd):
    text = programs.run([containerd.programs_at / "containerd", "--version"]).stdout.split()[2].lstrip("v")
    return tuple(map(int, text.split(".")[:2]))


def dump(containerd):
    path = CONFIG
    if not CONFIG.exists():  # 1.6 prints nothing without a file
        path = Path("/run/units/default.toml")
        path.write_text("version = 2\n")
    done = programs.run([containerd.programs_at / "containerd", "--config", path, "config", "dump"])
    assert done.returncode == 0, f"{containerd.name} does not load its files: {done.stderr}"
    document = tomllib.loads(done.stdout)
    document.pop("imports", None)
    document.pop("version")
    return document


def cri_of(document):
    return document["plugins"].get("io.containerd.cri.v1.runtime") or document["plugins"]["io.containerd.grpc.v1.cri"]


def without_ours(document):
    cri = cri_of(document)
    for name in "nvidia", "nvidia-cdi":
        cri["containerd"]["runtimes"].pop(name, None)
    cri.pop("enable_cdi", None)
    return document


def tree():
    return {path: path.read_bytes() for path in CONFIG.parent.rglob("*.toml")}


@contextmanager
def files(texts):
    shutil.rmtree(CONFIG.parent, ignore_errors=True)
    (CONFIG.parent / "conf.d").mkdir(parents=True)
    for path, text in texts.items():
        path.write_bytes(text.encode())
    yield
    shutil.rmtree(CONFIG.parent)


@contextmanager
def unit(containerd):
    """Makes a unit as in a distribution's package, on a host without earlier observations of gpuhostd."""
    Path("/var/lib/gpuhost/runtime.json").unlink(missing_ok=True)
    one = Unit("containerd.service", [containerd.programs_at / "containerd", "--root", "/run/units/root", "--address", SOCKET], SOCKET)
    Path("/run/units/containerd.log").touch()
    try:
        yield one
    finally:
        one.remove()


def answers(containerd):
    done = programs.run([containerd.programs_at / "ctr", "-a", SOCKET, "plugins", "ls"])
    return done.returncode == 0 and "io.containerd.grpc.v1" in done.stdout


def plan(admin, *words):
    return json.loads(admin.ctl("runtime", "configure", "--dry-run", "containerd", "--json", *words))["runtimes"][0]


def check_shape(admin, containerd, name):
    where = f"{containerd.name}, {name}"
    before, bytes_before = dump(containerd), tree()
    wanted = plan(admin)
    assert wanted["outcome"] == "change" and wanted["restart"] == "none", f"{where}: {wanted}"
    assert tree() == bytes_before, where
    admin.ctl("runtime", "configure", "containerd")
    after = dump(containerd)
    cri = cri_of(after)
    options = [cri["containerd"]["runtimes"][one].get("options", {}) for one in ("runc", "nvidia", "nvidia-cdi")]
    assert len({one.get("SystemdCgroup", False) for one in options}) == 1, f"{where}: {options}"
    assert [one["BinaryName"] for one in options[1:]] == [str(TOOLKIT / f"nvidia-container-runtime{end}") for end in ("", ".cdi")], f"{where}: {options}"
    assert cri.get("enable_cdi", True), where
    assert without_ours(after) == without_ours(before), where
    made = tree()
    for path, text in bytes_before.items():
        lost = set(text.splitlines()) - set(made[path].splitlines())
        assert not {line for line in lost if b"imports" not in line}, f"{where}: {path} lost {lost}"
    assert plan(admin)["outcome"] == "nothing", f"{where}: {plan(admin)}"
    admin.ctl("runtime", "configure", "containerd")
    assert tree() == made, where
    admin.ctl("runtime", "unconfigure", "containerd")
    assert tree() == bytes_before, f"{where}: {tree()}"


def each_containerd(host):
    for containerd in host.containerd16, host.containerd17, host.containerd:
        with unit(containerd) as service:
            yield containerd, service


@contextmanager
def stopped(service):
    """Stops the rig's own process, which has no unit, while a unit of the same runtime is used."""
    ran = service.process is not None
    service.end()
    try:
        yield
    finally:
        if ran:
            service.run()


@case("gpuhostd runs on a second host", start="node", makes="host")
def start(host):
    host.admin = Host(host.daemon.tree, host.place, host.cgroup)
    host.run_too(host.admin)
    TOOLKIT.mkdir()
    for end in "", ".cdi", ".legacy":
        program = TOOLKIT / f"nvidia-container-runtime{end}"
        program.write_text("#!/bin/sh\nexec runc \"$@\"\n")
        program.chmod(0o755)
    host.admin.settings(SETTINGS)


@case("each form of containerd's files changes minimally and is restored", start="host")
def shapes(host):
    for containerd, _ in each_containerd(host):
        tried = 0
        for name, (texts, oldest, newest) in SHAPES.items():
            if oldest <= version_of(containerd) <= newest:
                with files(texts):
                    check_shape(host.admin, containerd, name)
                    tried += 1
        assert tried >= 8, tried


@case("a running containerd restarts once for a change and for restore", start="host")
def restarted(host):
    for containerd, service in each_containerd(host):
        with files({CONFIG: KUBESPRAY}):
            before = dump(containerd)
            service.do("start")
            count = service.restarts()
            assert plan(host.admin)["restart"] == "now", plan(host.admin)
            host.admin.ctl("runtime", "configure", "containerd")
            assert service.restarts() == count + 1 and answers(containerd), service.restarts()
            verified = host.admin.ctl("runtime", "verify", "containerd")
            assert "bad" not in verified, verified
            host.admin.ctl("runtime", "configure", "containerd")
            assert service.restarts() == count + 1, "containerd was restarted without a change"
            host.admin.ctl("runtime", "unconfigure", "containerd")
            assert service.restarts() == count + 2 and answers(containerd) and dump(containerd) == before


@case("foreign changes of containerd's files are kept, our settings are repaired", start="host")
def foreign(host):
    for containerd, service in each_containerd(host):
        with files({CONFIG: KUBESPRAY}):
            service.do("start")
            host.admin.ctl("runtime", "configure", "containerd")
            CONFIG.write_text(KUBESPRAY.replace("pause:3.9", "pause:4.0"))
            host.admin.ctl("apply", "--only", "runtime")
            after = dump(containerd)
            assert "nvidia-cdi" in cri_of(after)["containerd"]["runtimes"] and "pause:4.0" in json.dumps(after), containerd.name
            host.admin.ctl("runtime", "unconfigure", "containerd")
            assert CONFIG.read_text() == KUBESPRAY.replace("pause:3.9", "pause:4.0") and not DROP_IN.exists()


@case("a containerd with a wrong configuration is not changed", start="host")
def broken(host):
    for containerd, service in each_containerd(host):
        with files({CONFIG: KUBESPRAY + "[plugins\n"}):
            seen, count = tree(), service.restarts()
            done = host.admin.ask("runtime", "configure", "containerd")
            assert done.returncode != 0 and "configuration is not valid" in done.stderr and tree() == seen, done.stderr
            assert service.restarts() == count and containerd


@case("a containerd whose restart fails runs again with its earlier files", start="host")
def failed_restart(host):
    for containerd, service in each_containerd(host):
        with files({CONFIG: KUBESPRAY}):
            seen = tree()
            service.do("start")
            text = service.file.read_text()
            line = text.splitlines()[1].removeprefix("ExecStart=")
            starter = Path("/run/units/containerd")  # ends if the file names gpuhost
            starter.write_text(f"#!/bin/sh\n! grep -q gpuhost {CONFIG} || exit 1\nexec {line}\n")
            starter.chmod(0o755)
            service.file.write_text(text.replace(line, str(starter)))
            done = host.admin.ask("runtime", "configure", "containerd")
            assert done.returncode != 0 and "in effect again" in done.stderr, done.stderr
            assert tree() == seen and eventually("it answers", lambda c=containerd: answers(c))
            service.file.write_text(text)


@case("restore sets containerd's earlier default class", start="host")
def default_class(host):
    host.admin.settings(SETTINGS + "DefaultClass=nvidia\n")
    try:
        for containerd, _ in each_containerd(host):
            with files({CONFIG: KUBESPRAY}):
                host.admin.ctl("runtime", "configure", "containerd")
                assert cri_of(dump(containerd))["containerd"]["default_runtime_name"] == "nvidia"
                host.admin.ctl("runtime", "unconfigure", "containerd")
                assert cri_of(dump(containerd))["containerd"]["default_runtime_name"] == "runc"
    finally:
        host.admin.settings(SETTINGS)


@case("without classes only a containerd with disabled CDI is changed", start="host")
def plain_cdi(host):
    host.admin.settings("[Runtime]\nRuntimes=containerd\n")
    try:
        for containerd, service in each_containerd(host):
            with files({CONFIG: KUBESPRAY}):
                seen, count, version = tree(), service.restarts(), version_of(containerd)
                service.do("start")
                wanted = plan(host.admin)
                expected = "by-hand" if version < (1, 7) else "change" if version < (2, 0) else "nothing"
                assert wanted["outcome"] == expected, wanted
                # apply does not configure a runtime after a restore, which an earlier case has done.
                host.admin.ctl(*(["runtime", "configure", "containerd"] if expected == "change" else ["apply", "--only", "runtime"]))
                assert (tree() != seen) == (expected == "change") and service.restarts() - count == (expected == "change"), containerd.name
                if expected == "change":
                    assert cri_of(dump(containerd))["enable_cdi"]
                    host.admin.ctl("runtime", "unconfigure", "containerd")
                    assert tree() == seen
                    host.admin.ctl("runtime", "configure", "containerd", "--no-restart")
                    host.admin.ctl("runtime", "unconfigure", "containerd")
    finally:
        host.admin.settings(SETTINGS)


@case("CRI-O loads its classes from a separate drop-in", start="host")
def crio(host):
    with stopped(host.crio):  # else gpuhostctl finds that process
        crio_files(host)


def crio_files(host):
    program, home = host.crio.program, Path("/etc/crio")
    (home / "crio.conf.d").mkdir(parents=True)
    (home / "crio.conf").write_text(host.crio.configuration.read_text())
    (home / "crio.conf.d/10-site.conf").write_text('[crio.runtime.runtimes.runc]\nmonitor_path = "/usr/bin/conmon"\nruntime_root = "/run/runc-site"\n')
    service = Unit("crio.service", [program], "/run/crio/crio.sock")
    seen = {path: path.read_bytes() for path in home.rglob("*.conf")}
    host.admin.settings(SETTINGS.replace("Runtimes=containerd", "Runtimes=cri-o"))
    try:
        host.admin.ctl("runtime", "configure", "cri-o")
        printed = tomllib.loads(programs.run([program, "--config", home / "crio.conf", "--config-dir", home / "crio.conf.d", "config"]).stdout)
        made = printed["crio"]["runtime"]["runtimes"]
        assert made["nvidia-cdi"]["runtime_path"] == str(TOOLKIT / "nvidia-container-runtime.cdi"), made
        assert made["nvidia-cdi"]["runtime_root"] == "/run/runc-site" and printed["crio"]["runtime"]["default_runtime"] == "runc", made
        host.admin.ctl("runtime", "unconfigure", "cri-o")
        assert {path: path.read_bytes() for path in home.rglob("*.conf")} == seen
    finally:
        host.admin.settings(SETTINGS)
        service.file.unlink()


@case("Docker's other settings are kept, restore sets its earlier file", start="host")
def docker(host):
    file = host.docker.state / "daemon.json"  # of the running dockerd, which has no unit
    before = file.read_text()
    text = '{\n  "features": {"buildkit": true},\n  "default-runtime": "crun",\n  "runtimes": {"crun": {"path": "/usr/bin/crun"}}\n}'
    file.write_text(text)
    host.admin.settings(SETTINGS.replace("Runtimes=containerd", "Runtimes=docker") + "DefaultClass=nvidia\n")
    try:
        done = host.admin.ask("runtime", "configure", "docker")
        assert done.returncode == 0 and "no systemd service runs it" in done.stdout + done.stderr, done
        written = json.loads(file.read_text())
        assert list(written) == ["features", "default-runtime", "runtimes"] and written["features"] == {"buildkit": True}, written
        assert written["default-runtime"] == "nvidia" and list(written["runtimes"]) == ["crun", "nvidia", "nvidia-cdi"], written
        host.admin.ctl("runtime", "unconfigure", "docker")
        assert file.read_text() == text, file.read_text()
    finally:
        file.write_text(before)
        host.admin.settings(SETTINGS)
