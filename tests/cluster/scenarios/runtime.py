# SPDX-License-Identifier: Apache-2.0
"""Our reading of containerd's files equals that of containerd 1.6, 1.7 and 2, by "config dump"."""

import json
import tomllib
from contextlib import contextmanager

import programs
from rig.case import case

CRI = {1: "plugins.cri", 2: 'plugins."io.containerd.grpc.v1.cri"', 3: 'plugins."io.containerd.cri.v1.runtime"'}
NVIDIA = "/usr/bin/nvidia-container-runtime"


def runtime(version, name, *, kind="io.containerd.runc.v2", **options):
    table = f"{CRI[version]}.containerd.runtimes.{name}"
    lines = [f"[{table}]", *([f'runtime_type = "{kind}"'] if kind else [])]
    if options:
        lines += [f"[{table}.options]", *(f"{key} = {json.dumps(value)}" for key, value in options.items())]
    return "\n".join(lines) + "\n"


def config(version, *tables, imports=(), cri=""):
    """Returns a configuration; `cri` are lines of the CRI's own table."""
    head = ([f"version = {version}"] if version > 1 else []) + ([f"imports = {json.dumps(imports)}"] if imports else [])
    return "\n".join([*head, f"[{CRI[min(version, 3)]}]", cri, *tables]) + "\n"


def default(version, name):
    return f'[{CRI[version]}.containerd]\ndefault_runtime_name = "{name}"\n'


# {description: {file in the directory of the main file: its text}}; "" is the main file.
SHAPES = {
    "empty": {"": ""},
    "a version alone": {"": "version = 2\n"},
    "the first version": {"": config(1, default(1, "nvidia"), runtime(1, "nvidia", BinaryName=NVIDIA), cri="enable_cdi = true")},
    "kubespray's": {"": config(2, default(2, "runc"), runtime(2, "runc", SystemdCgroup=True, BinaryName="/usr/local/bin/runc"),
                               cri='enable_cdi = true\ncdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]')},
    "GKE's": {"": config(2, default(2, "runc"), runtime(2, "runc", SystemdCgroup=True),
                         runtime(2, "nvidia", BinaryName="/usr/local/nvidia/bin/nvidia-container-runtime"), cri="enable_cdi = false")},
    "k3s's": {"": config(2, runtime(2, "runc", SystemdCgroup=True), runtime(2, "nvidia", BinaryName=NVIDIA, SystemdCgroup=True))},
    "k3s's of containerd 2": {"": config(3, runtime(3, "runc", SystemdCgroup=True), runtime(3, "nvidia", BinaryName=NVIDIA))},
    "one of the toolkit's drop-ins": {
        "": config(2, default(2, "runc"), runtime(2, "runc", SystemdCgroup=True), imports=["conf.d/*.toml"], cri="enable_cdi = true"),
        "conf.d/99-nvidia.toml": config(2, runtime(2, "nvidia", BinaryName=NVIDIA))},
    "a drop-in with empty values": {
        "": config(2, default(2, "nvidia"), runtime(2, "nvidia", BinaryName=NVIDIA, SystemdCgroup=True),
                   imports=["{directory}/conf.d/*.toml"], cri='cdi_spec_dirs = ["/a", "/b"]'),
        "conf.d/1.toml": config(2, runtime(2, "nvidia", kind="", BinaryName="", SystemdCgroup=False), cri='cdi_spec_dirs = ["/b"]'),
        "conf.d/2.toml": config(2, runtime(2, "runc", kind="", SystemdCgroup=True))},
    "two versions": {
        "": config(3, runtime(3, "nvidia", kind="a"), imports=["{directory}/old.toml"]),
        "old.toml": config(2, default(2, "nvidia"), runtime(2, "nvidia", kind="b"))},
    "a drop-in that is newer": {
        "": config(2, runtime(2, "one"), imports=["{directory}/new.toml", "{directory}/none*.toml"]),
        "new.toml": config(3, runtime(3, "two"))},
    "a circle": {
        "": config(2, default(2, "x"), imports=["{directory}/b.toml"]),
        "b.toml": config(2, runtime(2, "x"), imports=["{directory}/c.toml", "{directory}/b.toml"]),
        "c.toml": config(2, runtime(2, "y"), imports=["b.toml"])},
    "imports of imports": {
        "": config(2, imports=["{directory}/b.toml", "{directory}/d.toml"]),
        "b.toml": config(2, runtime(2, "x", kind="b"), imports=["{directory}/c.toml"]),
        "c.toml": config(2, runtime(2, "x", kind="c")),
        "d.toml": config(2, runtime(2, "x", kind="d"))},
    "a table of runtimes without any": {"": config(2, f"[{CRI[2]}.containerd.runtimes]", cri="cdi_spec_dirs = []")},
    "options of an undefined runtime": {"": config(2, f"[{CRI[2]}.containerd.runtimes.runc.options]")},
    "the first version with a newer drop-in": {
        "": config(1, runtime(1, "x"), imports=["{directory}/b.toml"], cri="enable_cdi = true"),
        "b.toml": config(2, runtime(2, "y"))},
    "tables of version 2 in version 3": {"": "version = 3\n" + default(2, "x") + runtime(2, "x") + runtime(3, "y", kind="b", BinaryName="/y")},
    "tables in one line": {
        "": config(2, f"[{CRI[2]}.containerd]", "runtimes = {x = {runtime_type = 't', options = {}}}", imports=["{directory}/b.toml"]),
        "b.toml": "version = 2\n" + runtime(2, "x", kind="u", SystemdCgroup=True)},
    "broken": {"": "version = 2\n[plugins\n"},
}


@contextmanager
def shape(containerd, files):
    """Replaces the configuration of a running containerd, which reads it only at its start."""
    own = containerd.configuration.read_text()
    directory = containerd.configuration.parent
    made = []
    try:
        for name, text in files.items():
            path = directory / name if name else containerd.configuration
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.replace("{directory}", str(directory)))
            made.append(path)
        yield
    finally:
        for path in made:
            path.unlink()
        containerd.configuration.write_text(own)


def show(host, *words):
    done = programs.run([host.site.ctl, "runtime", "show", "--json", *words])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ours(host, containerd):
    one, = (one for one in show(host)["runtimes"] if one["config"] == str(containerd.configuration))
    return one


def theirs(containerd):
    """Returns the CRI's table of "config dump"; None if containerd ends with an error."""
    done = programs.run([containerd.programs_at / "containerd", "--config", containerd.configuration, "config", "dump"])
    if done.returncode:
        return None
    plugins = tomllib.loads(done.stdout)["plugins"]
    return plugins.get("io.containerd.cri.v1.runtime") or plugins["io.containerd.grpc.v1.cri"]


def handlers_of(cri):
    runtimes = {name: (table["runtime_type"], table.get("options") or {}) for name, table in cri["containerd"]["runtimes"].items()}
    return {name: (kind, options.get("BinaryName", ""), options.get("SystemdCgroup")) for name, (kind, options) in runtimes.items()}


def check_same(mine, containerd, name):
    dump = theirs(containerd)
    where = f"{containerd.name}, {name}: {mine}"
    if dump is None:
        assert mine["problems"], where
        return 0
    assert mine["default_runtime"] == dump["containerd"]["default_runtime_name"], where
    handlers = {one["name"]: (one["type"], one["binary"], one.get("systemd_cgroup")) for one in mine["runtimes"]}
    assert handlers == handlers_of(dump), f"{where}\n{handlers_of(dump)}"
    assert mine["cdi_spec_dirs"] == dump.get("cdi_spec_dirs", []), where
    enabled = dump.get("enable_cdi", "cdi_spec_dirs" in dump)
    assert mine["cdi"] == ("on" if enabled else "off" if "enable_cdi" in dump else "unsupported"), where
    return 1


@case("running containerds are found with their versions and files", start="node")
def found(host):
    for containerd, version in (host.containerd16, "1.6."), (host.containerd17, "1.7."), (host.containerd, "2."):
        one = ours(host, containerd)
        assert one["running"] and one["kind"] == "containerd" and one["version"].startswith(version), one
        assert one["executable"] == str(containerd.programs_at / "containerd") and one["socket"] == str(containerd.socket), one
        assert [file["path"] for file in one["files"]] == [str(containerd.configuration)] and not one["problems"], one
    names = [one["name"] for one in show(host)["runtimes"]]
    assert len(set(names)) == len(names), names
    for containerd in host.containerd, host.containerd17:  # the rig's configuration enables CDI in 1.7
        assert ours(host, containerd)["verdict"] == "containers get GPUs by CDI: nothing to do"
    assert ours(host, host.containerd16)["verdict"].startswith("CDI requires containerd 1.7 or newer, but this is 1.6.")


@case("Docker is found with its version and file", start="node")
def found_docker(host):
    one, = (one for one in show(host)["runtimes"] if one["kind"] == "docker")
    assert one["running"] and one["version"].startswith("20.10.") and one["cdi"] == "unsupported", one
    assert one["config"] == str(host.docker.state / "daemon.json") and one["default_runtime"] == "runc", one


@case("our reading of containerd's files equals its config dump", start="node")
def same(host):
    for containerd in host.runtimes:
        compared, own = 0, ours(host, containerd)["name"]
        for name, files in SHAPES.items():
            with shape(containerd, files):
                compared += check_same(show(host, own), containerd, name)
        assert compared > len(SHAPES) / 2, f"{containerd.name} accepts only {compared} configurations"
