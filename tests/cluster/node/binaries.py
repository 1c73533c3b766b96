# SPDX-License-Identifier: Apache-2.0
"""Third-party programs: built from Go modules that go.sum pins, or unpacked from Debian's packages, and
cached.

Only the binaries are cached. Go's own caches need some GB in /var/tmp during a build, and no further build is
needed while go.sum is unchanged. The binaries have no debug information.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from rig import cache, inputs, say

MODULES = Path(__file__).resolve().parent.parent / "modules"
DRIVER = "550.163.01"  # containers get the files of its packages
GO = "1.26.8"
GO_SUM = "h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM="
BUILD = ["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-p", "2", "-gcflags=all=-dwarf=false"]


@dataclass(frozen=True)
class Module:
    """A directory of `modules/`. Programs of one module share one version of each library, so unrelated
    programs have modules of their own."""
    name: str
    packages: tuple
    stamp: dict = field(default_factory=dict)  # {variable: format of its value, from the version}
    pinned: str = ""                           # the Go module whose version this is
    tags: tuple = ()
    cgo: tuple = ()                            # options of the linker; () for a module without C
    named: dict = field(default_factory=dict)  # {program's name from Go: its final name}
    added: dict = field(default_factory=dict)  # {file here: file of the pinned module, compiled in its place}

    @property
    def path(self):
        return MODULES / self.name

    def version(self):
        """Returns the pinned version without the v; "" for a module of our own programs only."""
        found = re.search(rf"^\s*(?:require )?{re.escape(self.pinned)} v(\S+)$", (self.path / "go.mod").read_text(), re.M)
        return found[1] if self.pinned else ""

    def flags(self):
        version = self.version()
        major, _, rest = version.partition(".")
        values = {"version": version, "major": major, "minor": rest.partition(".")[0]}
        stamps = (f"-X {name}={text.format(**values)}" for name, text in self.stamp.items())
        return " ".join(["-s -w", *stamps, *([f"'-extldflags={' '.join(self.cgo)}'"] if self.cgo else [])])

    def key(self):
        files = sorted(path for path in self.path.rglob("*") if path.suffix in (".go", ".mod", ".sum"))
        return cache.key(GO, *BUILD, *self.tags, *self.packages, self.flags(), *self.added.values(), *files)


_CONTAINERD = "github.com/containerd/containerd/v2"
_COMPONENT = "k8s.io/component-base/version"
TOOLS = Module("tools", ("./hold", "./cri", "github.com/google/go-containerregistry/cmd/crane"))
CONTAINERD, CONTAINERD_22, CONTAINERD_23 = (Module(
    directory, tuple(f"{_CONTAINERD}/cmd/{name}" for name in ("containerd", "containerd-shim-runc-v2", "ctr")),
    {f"{_CONTAINERD}/version.Version": "{version}"}, _CONTAINERD) for directory in ("containerd", "containerd22", "containerd23"))
CONFORMANCE = Module("conformance", ("github.com/opencontainers/distribution-spec/conformance",), {},
                     "github.com/opencontainers/distribution-spec/conformance")
# The first is the kubelet of the suite; the others are built with FULL=1 only.
KUBERNETES, *OTHER_KUBELETS = (Module(
    directory, ("k8s.io/kubernetes/cmd/kubelet",),
    {f"{_COMPONENT}.gitVersion": "v{version}", f"{_COMPONENT}.gitMajor": "{major}", f"{_COMPONENT}.gitMinor": "{minor}"},
    "k8s.io/kubernetes") for directory in ("kubernetes", "kubernetes134", "kubernetes137"))
# The kubelet is another module, so that a change of one does not rebuild the other.
CONTROL_PLANE = Module(
    "controlplane",
    ("go.etcd.io/etcd/server/v3", *(f"k8s.io/kubernetes/cmd/{name}" for name in (
        "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"))),
    KUBERNETES.stamp, "k8s.io/kubernetes", named={"server": "etcd"})
# Its libraries have the control plane's versions where they can, so that a build of all compiles them once.
HELM = Module("helm", ("helm.sh/helm/v3/cmd/helm",), {"helm.sh/helm/v3/internal/version.version": "v{version}"}, "helm.sh/helm/v3")
CRIO = Module(
    "crio", ("github.com/cri-o/cri-o/cmd/crio",), {}, "github.com/cri-o/cri-o",
    # Without C libraries: GPGME, Btrfs, libseccomp.
    ("containers_image_openpgp", "containers_image_ostree_stub", "exclude_graphdriver_btrfs"))
_TOOLKIT = "github.com/NVIDIA/nvidia-container-toolkit"
TOOLKIT = Module(
    "toolkit", tuple(f"{_TOOLKIT}/cmd/{name}" for name in (
        "nvidia-ctk", "nvidia-cdi-hook", "nvidia-container-runtime", "nvidia-container-runtime-hook")),
    {f"{_TOOLKIT}/internal/info.version": "{version}"}, _TOOLKIT,
    # It opens libnvidia-ml.so.1 at run time, so its functions are unresolved when it is linked.
    cgo=("-Wl,--export-dynamic", "-Wl,--unresolved-symbols=ignore-in-object-files", "-Wl,-z,lazy"))
# promtool's own package links the clients of every cloud, so its code for tests of rules is part of our program.
PROMETHEUS = Module("prometheus", ("./prometheus",), {}, "github.com/prometheus/prometheus",
                    added={"prometheus/unittest.go": "cmd/promtool/unittest.go"})

# The other end of daemon/rpc: grpc-go with the kubelet's stubs.
RPC = Module("rpc", ("./peer",), {}, "k8s.io/kubelet")
# What go-nvlib says about the GPUs of go-nvml's mock servers.
NVLIB = Module("nvlib", ("./facts",), {}, "github.com/NVIDIA/go-nvlib", cgo=TOOLKIT.cgo)
# The baseline of tests/bench/rollout; not used elsewhere.
UPGRADES = Module("upgrades", ("./controller",), {}, "github.com/NVIDIA/k8s-operator-libs")

# Definitions of resources in docs/examples: {Go module: (its checksum, files)}.
DEFINITIONS = {
    "sigs.k8s.io/karpenter@v1.14.1": ("h1:GjqvOHLjl2+OXM0ti5VEZSQuvcitB0pETd8zdChXEtI=", ("pkg/apis/crds/karpenter.sh_nodepools.yaml",)),
    "sigs.k8s.io/cluster-api@v1.14.2": ("h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA=", (
        "core/config/crd/bases/cluster.x-k8s.io_machinedeployments.yaml", "core/config/crd/bases/cluster.x-k8s.io_machinehealthchecks.yaml",
        "bootstrap/kubeadm/config/crd/bases/bootstrap.cluster.x-k8s.io_kubeadmconfigtemplates.yaml")),
}


@functools.cache
def _workshop():
    """Returns a directory for Go's caches, shared by all builds of this process, because their
    dependencies overlap. It is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="gpuhost-go.", dir="/var/tmp")


def _go(program, *words, cgo=False, **options):
    work = Path(_workshop().name)
    env = {**os.environ, "GOPATH": str(work / "go"), "GOCACHE": str(work / "cache"), "GOTOOLCHAIN": "local",
           "GOFLAGS": "-modcacherw", "GOWORK": "off", "CGO_ENABLED": "1" if cgo else "0"}
    done = subprocess.run(["nice", program, *words], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, **options)
    if done.returncode:
        raise RuntimeError("\n".join([f"go {' '.join(words)} failed:", *(done.stdout + done.stderr).splitlines()[-20:]]))
    return done.stdout


def _download(go, module, pinned):
    """Returns the directory of a Go module with this checksum."""
    answer = json.loads(_go(go, "mod", "download", "-json", module, cwd=_workshop().name))
    if answer["Sum"] != pinned:
        raise RuntimeError(f"{module}: checksum mismatch (pinned: {pinned}, downloaded: {answer['Sum']})")
    return Path(answer["Dir"])


@functools.cache
def _toolchain():
    """Returns the pinned Go: this machine's own, or one that it downloads."""
    own = shutil.which("go")
    if not own:
        raise RuntimeError("go is not installed: run ./bootstrap, or install golang-go")
    if f"go{GO} " in _go(own, "version", cwd=_workshop().name):
        return own
    with say.step(f"fetching Go {GO}"):
        tree = _download(own, f"golang.org/toolchain@v0.0.1-go{GO}.linux-amd64", GO_SUM)
    for program in [*tree.glob("bin/*"), *tree.glob("pkg/tool/*/*")]:
        program.chmod(0o755)  # a module's archive has no modes
    return tree / "bin/go"


def _overlay(go, module):
    """Returns the option that adds files of the pinned module to ours."""
    if not module.added:
        return []
    tree = Path(json.loads(_go(go, "mod", "download", "-json", module.pinned, cwd=module.path))["Dir"])
    overlay = Path(_workshop().name) / f"{module.name}.json"
    overlay.write_text(json.dumps({"Replace": {str(module.path / ours): str(tree / theirs) for ours, theirs in module.added.items()}}))
    return ["-overlay", str(overlay)]


def _build(module, out):
    go = _toolchain()
    with say.step(f"building {', '.join(Path(package).name for package in module.packages)} {module.version()}"):
        _go(go, *BUILD, *_overlay(go, module), "-tags", ",".join(module.tags), "-ldflags", module.flags(), "-o", f"{out}/", *module.packages,
            cgo=bool(module.cgo), cwd=module.path)
    for made, called in module.named.items():
        (out / made).rename(out / called)


def built(module):
    """Returns the directory with the module's programs."""
    return cache.entry(f"cluster-{module.name}", module.key(), lambda out: _build(module, out))


def definitions():
    """Returns the directory with the definitions of resources in docs/examples."""
    def fetch(out):
        for module, (pinned, files) in DEFINITIONS.items():
            with say.step(f"fetching definitions of {module}"):
                tree = _download(_toolchain(), module, pinned)
            for file in files:
                shutil.copyfile(tree / file, out / Path(file).name)
    return cache.entry("cluster-definitions", cache.key(str(DEFINITIONS)), fetch)


def debian(package, version, suite="bookworm"):
    """Returns the directory with the programs of a Debian package. The package is not installed, because
    it has a service and another version may run here."""
    def fetch(work):
        with say.step(f"fetching Debian's {package} {version}"):
            inputs.download(package, suite, work)
        deb, = work.glob(f"{package}_{version}.*.deb")
        subprocess.run(["dpkg-deb", "-x", deb, work / "tree"], check=True)
        for program in (work / "tree/usr").glob("*bin/*"):
            program.rename(work / program.name)
        shutil.rmtree(work / "tree")
        deb.unlink()
    return cache.entry(f"cluster-{package}-{version}", suite, fetch)


def debian_containerd():
    return debian("containerd", "1.6")


def debian_13_containerd():
    """Built for a newer C library; Debian 12's has all functions that it needs."""
    return debian("containerd", "1.7", "trixie")


def debian_docker():
    return debian("docker.io", "20.10")


def debian_13_docker():
    """Returns (directory of the daemon, directory of the client)."""
    return debian("docker.io", "26.1", "trixie"), debian("docker-cli", "26.1", "trixie")


def prepare():
    for module in (TOOLS, CONTAINERD, CONTAINERD_22, CONTAINERD_23, CONFORMANCE, KUBERNETES, CONTROL_PLANE, HELM, CRIO, TOOLKIT, NVLIB, PROMETHEUS, RPC):
        built(module)
    if os.environ.get("FULL") == "1":
        for module in OTHER_KUBELETS:
            built(module)
    definitions()
    debian_containerd()
    debian_13_containerd()
    debian_docker()
    debian_13_docker()
    inputs.fetch(inputs.of_driver(DRIVER))
