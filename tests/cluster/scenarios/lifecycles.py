# SPDX-License-Identifier: Apache-2.0
"""Cases from the lifecycle tests of NVIDIA's installer (cmd/nvidia-ctk-installer of its container toolkit).

Each case has an initial configuration, the requested settings, and the expected effective configuration. The
runtime's own program reports the latter ("config dump", "crio config", "dockerd --validate"), so bytes of
files do not matter. Each case ends with a restore, after which all bytes are as before. Inputs that differ
only in options of NVIDIA's program are one case here. Its OCI hook for CRI-O has no case.

Intended differences: CDI is enabled in each version that supports it. A restore sets the earlier default
again, and removes only what gpuhostd added. For CRI-O it removes the drop-in.
"""

import json
import shutil
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import programs
from node import binaries
from rig.case import case

from .runtime import CRI, config, default, runtime
from .runtime_change import CONFIG, TOOLKIT, cri_of, dump, each_containerd, files, plan, stopped, tree, version_of

CLASSES = {"nvidia": "", "nvidia-cdi": ".cdi", "nvidia-legacy": ".legacy"}
RUNC, OLD_SHIM = "io.containerd.runc.v2", "io.containerd.runtime.v1.linux"


def program(name):
    return f"{TOOLKIT}/nvidia-container-runtime{CLASSES[name]}"


def settings_for(name, as_default):
    text = f"[Runtime]\nRuntimes={name}\nClasses={' '.join(CLASSES)}\nToolkitDirectory={TOOLKIT}\n"
    return text + ("DefaultClass=nvidia\n" if as_default else "")


@contextmanager
def settings(host, name, as_default):
    before = Path("/etc/gpuhost/gpuhostd.conf").read_text()
    host.admin.settings(settings_for(name, as_default))
    try:
        yield
    finally:
        host.admin.settings(before)


@dataclass(frozen=True)
class Containerd:
    """`text` is None without a file. The classes have `kind` and, besides the program, `options`."""
    name: str
    text: str | None
    as_default: bool = False
    default: str = "runc"
    kind: str = RUNC
    options: dict = field(default_factory=dict)
    refused_before: tuple = (0, 0)  # containerd itself refuses the file before this version


def old(name, **options):
    return runtime(1, name, kind=OLD_SHIM, **options)


FULL = {"Root": "/run/containerd/runc", "ShimDebug": True, "SystemdCgroup": True, "NoPivotRoot": False}
CUSTOM = {"Root": "/custom/root", "ShimDebug": False, "SystemdCgroup": True, "NoPivotRoot": True, "CustomOption": "custom-value"}
THIRD = {"SystemdCgroup": True, "NoPivotRoot": False, "Root": "/run/containerd/runc"}
PLAIN = runtime(2, "runc", BinaryName="/usr/bin/runc")
COMPLEX = "\n".join([
    'version = 2\nroot = "/var/lib/containerd"\nstate = "/run/containerd"', f"[{CRI[2]}.containerd]", 'default_runtime_name = "runc"',
    'snapshotter = "overlayfs"', runtime(2, "custom", kind="io.containerd.custom.v1", TypeUrl="custom.runtime/options"),
    runtime(2, "runc", BinaryName="/usr/bin/runc", SystemdCgroup=True), f'[{CRI[2]}.registry.mirrors."docker.io"]',
    'endpoint = ["https://registry-1.docker.io"]', '[plugins."io.containerd.internal.v1.opt"]', 'path = "/opt/containerd"\n'])

CONTAINERD = (
    Containerd("version 1 without nvidia", "version = 1\n" + default(1, "runc") + old("runc", Runtime="/usr/bin/runc"), kind=OLD_SHIM),
    Containerd("version 1, options of runc, as default", "version = 1\n" + old("runc", Runtime="/usr/bin/runc", **FULL), as_default=True,
               kind=OLD_SHIM, options=FULL),
    Containerd("version 1, options of the default runtime",
               "version = 1\n" + default(1, "custom") + old("custom", Runtime="/usr/bin/custom-runtime", **CUSTOM) + old("runc", Runtime="/usr/bin/runc"),
               default="custom", kind=OLD_SHIM, options=CUSTOM),
    Containerd("version 1, a default that is restored", "version = 1\n" + default(1, "runc") + old("runc", Runtime="/usr/bin/runc"),
               as_default=True, kind=OLD_SHIM),
    Containerd("no file", None),
    Containerd("version 2 without nvidia", "version = 2\n" + default(2, "runc") + PLAIN),
    Containerd("version 2, nvidia by an old path",
               "version = 2\n" + default(2, "nvidia") + runtime(2, "nvidia", BinaryName="/old/path/nvidia-container-runtime") + PLAIN,
               as_default=True, default="nvidia"),
    Containerd("version 2, many plugins", COMPLEX, options={"SystemdCgroup": True}),
    Containerd("version 2 without a default", "version = 2\n" + PLAIN),
    Containerd("version 2 without a default, as default", "version = 2\n" + PLAIN, as_default=True),
    Containerd("version 3 without nvidia", config(3, runtime(3, "runc", BinaryName="/usr/bin/runc")), refused_before=(2, 0)),
    Containerd("version 3, options of runc, as default", config(3, default(3, "runc"), runtime(3, "runc", BinaryName="/usr/bin/runc", **THIRD)),
               as_default=True, options=THIRD, refused_before=(2, 0)),
)


def class_of(cri, name):
    """Returns the class's type, its program from the option that is effective, and the other options."""
    table = cri["containerd"]["runtimes"][name]
    options = dict(table.get("options") or {})
    by_old_option = options.pop("Runtime", None)
    binary = options.pop("BinaryName", None)
    return table["runtime_type"], by_old_option if table["runtime_type"] == OLD_SHIM else binary, options


def others(document):
    """Returns the part of the configuration that must not change."""
    cri = cri_of(document)
    for name in CLASSES:
        cri["containerd"]["runtimes"].pop(name, None)
    cri["containerd"].pop("default_runtime_name", None)
    cri.pop("enable_cdi", None)
    return document


def as_read(one, version):
    """Returns the case as this version reads it: 2.0 to 2.2 ignore the CRI's settings in a file of version
    1."""
    return replace(one, default="runc", kind=RUNC, options={}) if one.kind == OLD_SHIM and (2, 0) <= version < (2, 3) else one


def check_containerd(host, containerd, one):
    where, version = f"{containerd.name}, {one.name}", version_of(containerd)
    one = as_read(one, version)
    before, bytes_before = dump(containerd), tree()
    assert cri_of(before)["containerd"].get("default_runtime_name", "runc") == one.default, where
    host.admin.ctl("runtime", "configure", "containerd")
    after = dump(containerd)
    cri = cri_of(after)
    for name in CLASSES:
        kind, binary, options = class_of(cri, name)
        assert (kind, binary) == (one.kind, program(name)), f"{where}: {name}: {kind} {binary}"
        assert {key: options.get(key) for key in one.options} == one.options, f"{where}: {name}: {options}"
        assert not {key for key, value in options.items() if value and key not in one.options}, f"{where}: {name}: {options}"
    assert cri["containerd"]["default_runtime_name"] == ("nvidia" if one.as_default else one.default), where
    assert version < (1, 7) or cri.get("enable_cdi", True), where
    assert others(after) == others(before), where
    assert plan(host.admin)["outcome"] == "nothing", f"{where}: {plan(host.admin)}"
    host.admin.ctl("runtime", "unconfigure", "containerd")
    assert tree() == bytes_before, f"{where}: {tree()}"


@case("NVIDIA's lifecycle cases of containerd have the expected effect", start="host")
def containerd_lifecycles(host):
    for containerd, _ in each_containerd(host):
        for one in CONTAINERD:
            with files({} if one.text is None else {CONFIG: one.text}), settings(host, "containerd", one.as_default):
                if version_of(containerd) < one.refused_before:
                    seen, done = tree(), host.admin.ask("runtime", "configure", "containerd")
                    assert done.returncode != 0 and "newer containerd" in done.stderr and tree() == seen, f"{containerd.name}, {one.name}: {done}"
                else:
                    check_containerd(host, containerd, one)


@dataclass(frozen=True)
class Crio:
    """The classes have `table`, besides their program."""
    name: str
    text: str | None
    as_default: bool = False
    default: str = "crun"
    table: dict = field(default_factory=dict)


CRUN = {"runtime_root": "/run/crun", "monitor_path": "/usr/bin/conmon"}


def crio_runtime(name, **members):
    lines = [f"[crio.runtime.runtimes.{name}]", 'runtime_type = "oci"', *(f"{key} = {json.dumps(value)}" for key, value in members.items())]
    return "\n".join(lines) + "\n"


def crio_default(name, *lines):
    return "\n".join(["[crio.runtime]", f'default_runtime = "{name}"', *lines]) + "\n"


CRIO = (
    Crio("no file", None),
    Crio("without nvidia", crio_default("crun") + crio_runtime("crun", runtime_path="/usr/bin/crun", **CRUN)
         + '[crio.image]\nsignature_policy = "/etc/crio/policy.json"\n', table=CRUN),
    Crio("nvidia by an old path", crio_default("nvidia") + crio_runtime("nvidia", runtime_path="/old/path/nvidia-container-runtime"),
         as_default=True, default="nvidia"),
    Crio("many settings", crio_default("crun", 'conmon_cgroup = "pod"') + crio_runtime("crun", runtime_path="/usr/bin/crun", **CRUN)
         + crio_runtime("runc", runtime_path="/usr/sbin/runc", runtime_root="/run/runc")
         + '[crio.image]\ninsecure_registries = ["localhost:5000"]\n[crio.network]\nplugin_dirs = ["/opt/cni/bin", "/usr/libexec/cni"]\n', table=CRUN),
)


def crio_config(host):
    """Returns the settings that differ from CRI-O's defaults: ({class: its table}, the default runtime,
    all others). CRI-O prints its built-in runtime only together with others."""
    home = Path("/etc/crio")
    main = ["--config", home / "crio.conf"] if (home / "crio.conf").exists() else []
    done = programs.run([host.crio.program, *main, "--config-dir", home / "crio.conf.d", "config"])
    assert done.returncode == 0, done.stderr
    printed = tomllib.loads(done.stdout)["crio"]
    table = printed["runtime"]
    runtimes = table.setdefault("runtimes", {})
    if runtimes.get("crun", {}).get("runtime_path") == "":
        del runtimes["crun"]
    classes = {name: runtimes.pop(name) for name in CLASSES if name in runtimes}
    return classes, table.pop("default_runtime", "crun"), printed


def check_crio(host, one):
    home = Path("/etc/crio")
    seen = {path: path.read_bytes() for path in home.rglob("*.conf")}
    _, earlier, before = crio_config(host)
    assert earlier == one.default, f"{one.name}: {earlier}"
    host.admin.ctl("runtime", "configure", "cri-o")
    made, by_default, after = crio_config(host)
    assert list(made) == list(CLASSES), f"{one.name}: {made}"
    for name, table in made.items():
        assert table["runtime_path"] == program(name) and table["runtime_type"] == "oci", f"{one.name}: {table}"
        assert {key: table.get(key) for key in one.table} == one.table, f"{one.name}: {table}"
    assert by_default == ("nvidia" if one.as_default else one.default), f"{one.name}: {by_default}"
    assert after == before, f"{one.name}: {after}"
    host.admin.ctl("runtime", "unconfigure", "cri-o")
    assert {path: path.read_bytes() for path in home.rglob("*.conf")} == seen, one.name


@case("NVIDIA's lifecycle cases of CRI-O have the expected effect", start="host")
def crio_lifecycles(host):
    home, unit = Path("/etc/crio"), Path("/etc/systemd/system/crio.service")
    with stopped(host.crio):
        unit.write_text(f"[Service]\nExecStart={host.crio.program}\n")
        try:
            for one in CRIO:
                shutil.rmtree(home, ignore_errors=True)
                (home / "crio.conf.d").mkdir(parents=True)
                if one.text is not None:
                    (home / "crio.conf").write_text(one.text)
                with settings(host, "cri-o", one.as_default):
                    check_crio(host, one)
        finally:
            unit.unlink()
            shutil.rmtree(home)


@dataclass(frozen=True)
class Docker:
    name: str
    document: dict
    as_default: bool = False
    default: str = "runc"


def entry(path):
    return {"path": path, "args": []}


OTHER = {"exec-opts": ["native.cgroupdriver=systemd"], "log-driver": "json-file", "log-opts": {"max-size": "100m"}, "storage-driver": "overlay2"}
OURS = {name: entry(f"/test/runtime/dir/nvidia-container-runtime{end}") for name, end in CLASSES.items()}
DOCKER = (
    Docker("empty", {}),
    Docker("empty, as default", {}, as_default=True),
    Docker("nvidia by its name alone", {"runtimes": {"nvidia": entry("nvidia-container-runtime")}}),
    Docker("another runtime", {"runtimes": {"not-nvidia": entry("some-other-path")}}),
    Docker("runc by name, as default", {"default-runtime": "runc"}, as_default=True),
    Docker("other members", OTHER),
    # Inputs of NVIDIA's cleanup. They stay after a restore, because gpuhostd did not write them.
    Docker("nvidia as NVIDIA's installer leaves it", {"runtimes": {"nvidia": OURS["nvidia"]}}),
    Docker("all classes of NVIDIA's installer", {"runtimes": OURS}),
    Docker("NVIDIA's default", {"default-runtime": "nvidia", "runtimes": {"nvidia": OURS["nvidia"]}}, default="nvidia"),
    Docker("another's default", {"default-runtime": "not-nvidia", "runtimes": {"not-nvidia": entry("/usr/bin/runc"), "nvidia": OURS["nvidia"]}},
           default="not-nvidia"),
    Docker("other members and nvidia", {**OTHER, "runtimes": {"nvidia": OURS["nvidia"]}}),
)


def check_docker(host, dockerd, file, one):
    text = json.dumps(one.document, indent=4)
    file.write_text(text)
    done = host.admin.ask("runtime", "configure", "docker")
    assert done.returncode == 0, f"{one.name}: {done.stderr}"
    checked = programs.run([dockerd, "--validate", "--userland-proxy=false", "--config-file", file])
    assert checked.returncode == 0 and "configuration OK" in checked.stderr + checked.stdout, f"{one.name}: {checked}"
    written = json.loads(file.read_text())
    made = written.pop("runtimes")
    assert {name: made[name]["path"] for name in CLASSES} == {name: program(name) for name in CLASSES}, f"{one.name}: {made}"
    left = {name: table for name, table in one.document.get("runtimes", {}).items() if name not in CLASSES}
    assert {name: table for name, table in made.items() if name not in CLASSES} == left, f"{one.name}: {made}"
    assert written.pop("default-runtime", "runc") == ("nvidia" if one.as_default else one.default), one.name
    assert written == {key: value for key, value in one.document.items() if key not in ("runtimes", "default-runtime")}, f"{one.name}: {written}"
    host.admin.ctl("runtime", "unconfigure", "docker")
    assert json.loads(file.read_text()) == one.document, f"{one.name}: {file.read_text()}"


@case("NVIDIA's lifecycle cases of Docker have the expected effect", start="host")
def docker_lifecycles(host):
    file = host.docker.state / "daemon.json"
    validator = binaries.debian_13_docker()[0] / "dockerd"  # the running 20.10 has no option --validate
    before = file.read_text()
    try:
        for one in DOCKER:
            with settings(host, "docker", one.as_default):
                check_docker(host, validator, file, one)
    finally:
        file.write_text(before)
