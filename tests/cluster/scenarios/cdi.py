# SPDX-License-Identifier: Apache-2.0
"""Our specifications equal those of NVIDIA's tool for the same host, and each program reads the other's
files."""

import difflib
import json
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import programs
from node import TESTS, binaries
from node.gpuhost import find
from node.waiting import eventually
from rig import inputs
from rig.case import case

VERSION = binaries.DRIVER
GPUS = 3
LIBRARIES = "usr/lib/x86_64-linux-gnu"
VIDEO = 44
NODES = {"null": (1, 3), "nvidiactl": (195, 255), "nvidia-modeset": (195, 254), "nvidia-uvm": (511, 0), "nvidia-uvm-tools": (511, 1),
         "nvidia-caps/nvidia-cap1": (510, 1), **{f"nvidia-caps/nvidia-cap{n}": (510, n) for n in (12, 13, 30, 31, 33)},
         "nvidia-nvswitch0": (509, 0), "nvidia-nvswitchctl": (509, 255),
         "nvidia-caps-imex-channels/channel0": (508, 0), "nvidia-caps-imex-channels/channel12": (508, 12),
         "nvidia-fs0": (507, 0), "nvidia-fs1": (507, 1), "gdrdrv": (506, 0), "infiniband/uverbs0": (231, 192),
         "infiniband/rdma_cm": (10, 122), "infiniband/umad0": (231, 0), **{f"nvidia{n}": (195, n) for n in range(GPUS)}}
FILES = ("usr/share/glvnd/egl_vendor.d/10_nvidia.json", "etc/vulkan/icd.d/nvidia_icd.json", "etc/OpenCL/vendors/nvidia.icd",
         "usr/lib/xorg/modules/drivers/nvidia_drv.so", f"usr/lib/xorg/modules/extensions/libglxserver_nvidia.so.{VERSION}",
         "run/nvidia-persistenced/socket", "tmp/nvidia-mps/control", "etc/cufile.json", "run/udev/control")
# {library: its soname}: one for each link that is made, and for each directory that is searched.
STAND_INS = {f"{name}.so.{VERSION}": f"{name}.so.1" for name in ("libnvidia-opticalflow", "libnvidia-allocator", "libnvidia-vulkan-producer")} | {
    f"libGLX_nvidia.so.{VERSION}": "libGLX_nvidia.so.0", f"libnvidia-nvvm.so.{VERSION}": "libnvidia-nvvm.so.4",
    "libnvidia-nvvm70.so.4": "libnvidia-nvvm70.so.4", "libnvidia-egl-gbm.so.1.1.1": "libnvidia-egl-gbm.so.1",
    f"vdpau/libvdpau_nvidia.so.{VERSION}": "libvdpau_nvidia.so.1"}


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def link(target, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


class Tree:
    """The root of a host with Debian's packages of the driver, and with devices and files of the kernel
    modules. NVIDIA's tool runs in a chroot there."""
    def __init__(self, path, ctl):
        self.path = path
        self.ctl = ctl
        for name in ("lib", "lib64", "bin", "sbin"):
            (path / "usr" / name).mkdir(parents=True)
            link(f"usr/{name}", path / name)
        for package in inputs.driver(VERSION):
            if "dkms" not in package.name:
                self._unpack(package)
        self._add_libraries()
        self._add_devices()
        self._add_tool()
        for name in FILES:
            write(path / name)
        link("../lib/nvidia/current/nvidia-smi", path / "usr/bin/nvidia-smi")

    def _unpack(self, package):
        """Unpacks a package as dpkg does, through the links of a merged /usr."""
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", self.path], stdin=archive.stdout, check=True)

    def _add_libraries(self):
        own = self.path / LIBRARIES / "nvidia/current"
        nvml = own / f"libnvidia-ml.so.{VERSION}"
        nvml.unlink()  # the real library finds no GPU here
        self._compile(nvml, "libnvidia-ml.so.1", TESTS / "support/stub_nvml.c", TESTS / "support/stub_nvml_mig.c")
        (own / "vdpau").mkdir()
        for name, soname in STAND_INS.items():
            self._compile(own / name, soname, "/dev/null")
        subprocess.run(["ldconfig", "-N", "-n", own], check=True, env={"PATH": "/sbin:/usr/sbin"})
        link("libnvidia-nvvm.so.4", own / "libnvidia-nvvm.so")

    @staticmethod
    def _compile(library, soname, *sources):
        subprocess.run(["cc", "-shared", "-fPIC", "-I", TESTS.parent, f"-Wl,-soname,{soname}", "-o", library, "-x", "c", *sources], check=True)

    def _add_devices(self):
        for name, (major, minor) in NODES.items():
            self._node(name, 0o666, major, minor)
        for n in range(GPUS):
            address = f"0000:1{n}:00.0"
            write(self.path / f"proc/driver/nvidia/gpus/{address}/information",
                  f"Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-00000000-0000-0000-0000-{n:012}\n"
                  f"Device Minor: \t {GPUS - 1 - n}\nGPU Excluded:\t No\n")
            for name, minor in (f"card{n}", n), (f"renderD{128 + n}", 128 + n):
                write(self.path / f"sys/bus/pci/devices/{address}/drm/{name}/dev")
                os.chown(self._node(f"dri/{name}", 0o660, 226, minor), 0, VIDEO)
                link(f"../{name}", self.path / f"dev/dri/by-path/pci-{address}-{'card' if minor < 128 else 'render'}")

    def _node(self, name, mode, major, minor):
        path = self.path / "dev" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(path, mode | 0o020000, os.makedev(major, minor))
        path.chmod(mode)
        return path

    def _add_tool(self):
        self.add_program(binaries.built(binaries.TOOLKIT) / "nvidia-ctk", "/nvidia-ctk")

    def add_program(self, program, place):
        """Copies a program and its libraries into the tree, for a chroot."""
        target = self.path / place.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(program, target)
        for word in programs.run(["ldd", program]).stdout.split():
            library = self.path / word[1:]
            if word.startswith("/") and not library.exists():
                library.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(word, library)

    def theirs(self, *words, inside=True):
        where = ["chroot", self.path, "/nvidia-ctk"] if inside else [self.path / "nvidia-ctk"]
        done = programs.run([*where, "--quiet", "cdi", *words],
                            env=programs.environment(STUB_NVML_DEVICES=str(GPUS), STUB_NVML_VERSION=VERSION))
        assert done.returncode == 0, f"nvidia-ctk {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def ours(self, *words, root=True):
        done = programs.run([self.ctl, "cdi", *words, *(["--root", self.path] if root else [])])
        assert done.returncode == 0, f"gpuhostctl cdi {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout


def normal(text):
    """Returns the specification without intended differences: path and environment of the hook's program,
    and the order of all lists but the hooks."""
    def in_order(edits):
        for hook in edits.get("hooks", []):
            hook["path"] = hook["args"][0] = "HOOK"
            hook.pop("env", None)
        return {key: value if key == "hooks" else sorted(value, key=partial(json.dumps, sort_keys=True)) for key, value in edits.items()}
    spec = json.loads(text)
    spec["containerEdits"] = in_order(spec["containerEdits"])
    for device in spec["devices"]:
        device["containerEdits"] = in_order(device["containerEdits"])
    spec["devices"].sort(key=lambda device: device["name"])
    return spec


def hook_of(text):
    """Returns the path of the hook's program in our specification."""
    return json.loads(text)["containerEdits"]["hooks"][0]["path"]


def check_same(theirs, ours):
    pages = [json.dumps(normal(text), indent=1, sort_keys=True).splitlines() for text in (theirs, ours)]
    assert pages[0] == pages[1], "\n".join(difflib.unified_diff(*pages, "nvidia-ctk", "gpuhostctl", n=6, lineterm=""))


GENERATE = ("generate", "--format=json", "--disable-hook=update-application-profile",
            "--disable-hook=apply-cuda-memory-limits")
MANAGEMENT = (*GENERATE, "--mode=management", "--vendor=management.nvidia.com")


@case("the root of a host with the driver's packages is made", start="node", makes="driver tree")
def make_tree(host):
    host.cdi = Tree(Path(host.place.state) / "driver-tree", host.site.ctl)


@case("a specification of GPUs equals that of nvidia-ctk", start="driver tree")
def same_for_gpus(host):
    theirs = host.cdi.theirs(*GENERATE, "--mode=nvml")
    check_same(theirs, host.cdi.ours("generate"))
    names = [device["name"] for device in normal(theirs)["devices"]]
    assert len(names) == 2 * GPUS + 1 and "0" in names and "all" in names, names


@case("a specification for management equals that of nvidia-ctk", start="driver tree")
def same_for_management(host):
    check_same(host.cdi.theirs(*MANAGEMENT), host.cdi.ours("generate", "--mode", "management"))


# GPU 0 has minor 2: two compute instances in one of its instances, and one with graphics. GPU 1 has MIG
# enabled without instances.
STUB_NVML = f"""devices {GPUS}
split 0
split 1
instance 0 0 1 0 0 MIG-00000000-0000-0000-0000-0000000000a0
instance 0 1 5 0 0 MIG-00000000-0000-0000-0000-0000000000a1
instance 0 4 5 2 10 MIG-00000000-0000-0000-0000-0000000000a4
"""
MINORS = "gpu2/gi1/access 12\ngpu2/gi1/ci0/access 13\ngpu2/gi5/access 30\ngpu2/gi5/ci0/access 31\ngpu2/gi5/ci2/access 33\n"


@case("a specification with MIG instances equals that of nvidia-ctk", start="driver tree")
def same_for_mig(host):
    tree, driver = host.cdi, Path("proc/driver")
    files = {"stub-nvml": STUB_NVML, driver / "nvidia-caps/mig-minors": "config 1\nmonitor 2\n" + MINORS,
             driver / "nvidia/capabilities/gpu2/mig/gi1/access": "DeviceFileMinor: 12\n"}
    for name, text in files.items():
        write(tree.path / name, text)
    (tree.path / "mnt").mkdir()
    hook = hook_of(tree.ours("generate", "--mode=management"))
    tree.add_program(host.site.ctl, "/gpuhostctl")
    tree.add_program(find(host.daemon.tree, "gpuhost-nvml"), str(Path(hook).parent / "gpuhost-nvml"))
    theirs = tree.theirs(*GENERATE, "--mode=nvml")
    # gpuhostctl starts gpuhost-nvml, and checks in /proc which program it started.
    done = programs.run(["unshare", "--mount", "sh", "-c", "mount --bind proc/driver mnt && mount --rbind /proc proc && "
                         "mount --bind mnt proc/driver && exec chroot . /gpuhostctl cdi generate"], cwd=tree.path)
    assert done.returncode == 0 and "left out" not in done.stderr, done.stderr
    check_same(theirs, done.stdout)
    names = {device["name"] for device in normal(theirs)["devices"]}
    assert {"0:0", "0:1", "0:4", "2", "all"} < names and not {"0", "1"} & names, names
    for name in files:
        (tree.path / name).unlink()
    shutil.rmtree(tree.path / driver / "nvidia/capabilities")


CLASSES = {"imex": "imex-channel", "gds": "gds", "gdrcopy": "gdrcopy", "mofed": "mofed", "nvswitch": "nvswitch"}


@case("specifications of other devices equal those of nvidia-ctk", start="driver tree")
def same_for_services(host):
    for mode, name in CLASSES.items():
        theirs = host.cdi.theirs(*GENERATE, f"--mode={mode}", f"--class={name}")
        check_same(theirs, host.cdi.ours("generate", "--mode", mode))
        nodes = normal(theirs)["devices"][-1]["containerEdits"]["deviceNodes"]
        assert len(nodes) == {"gdrcopy": 1}.get(mode, 2), nodes


@case("specifications of other devices below another root equal those of nvidia-ctk", start="driver tree")
def same_services_below_root(host):
    root = str(host.cdi.path)
    for mode, name in CLASSES.items():
        theirs = host.cdi.theirs(*GENERATE, f"--mode={mode}", f"--class={name}", "--driver-root", root, "--dev-root", root, inside=False)
        check_same(theirs, host.cdi.ours("generate", "--mode", mode, "--driver-root", root, root=False))


@case("a specification of a driver below another root equals that of nvidia-ctk", start="driver tree")
def same_below_root(host):
    root = str(host.cdi.path)
    theirs = host.cdi.theirs(*MANAGEMENT, "--driver-root", root, "--dev-root", root, inside=False)
    check_same(theirs, host.cdi.ours("generate", "--mode", "management", "--driver-root", root, root=False))


@case("CDI's own library lists the devices of our specification", start="driver tree")
def accepted(host):
    place = host.cdi.path / "etc/cdi/gpuhost.json"
    write(place, host.cdi.ours("generate"))
    listed = host.cdi.theirs("list", "--spec-dir=/etc/cdi").split()
    assert {f"nvidia.com/gpu={name}" for name in ("0", "1", "2", "all")} <= set(listed), listed
    place.unlink()


@case("gpuhostctl reads nvidia-ctk's specification in YAML", start="driver tree")
def read(host):
    place = host.cdi.path / "run/cdi/nvidia.yaml"
    write(place, host.cdi.theirs("generate", "--mode=nvml"))
    write(host.cdi.path / "usr/bin/nvidia-cdi-hook")
    (host.cdi.path / "usr/bin/nvidia-cdi-hook").chmod(0o755)
    devices = json.loads(host.cdi.ours("list", "--json=short"))["devices"]
    assert [device["name"] for device in devices][:3] == ["nvidia.com/gpu=0", "nvidia.com/gpu=1", "nvidia.com/gpu=2"], devices
    assert all(device["driver"] == VERSION and device["file"] == "/run/cdi/nvidia.yaml" for device in devices), devices
    assert ": good, 7 devices of nvidia.com/gpu" in host.cdi.ours("validate")
    place.unlink()


SPEC = Path("/run/cdi/gpuhost.json")
DEVICE = "management.nvidia.com/gpu=all"


@case("our specification and an image are installed for the runtimes", start="driver tree", makes="specified")
def specify(host):
    root = str(host.cdi.path)
    spec = json.loads(host.cdi.ours("generate", "--mode", "management", "--driver-root", root, "--dev-root", root, root=False))
    for hook in spec["containerEdits"]["hooks"]:
        hook["path"] = str(find(host.daemon.tree, "gpuhost-cdi-hook"))  # the package is not installed here
    write(SPEC, json.dumps(spec))
    host.site.image("cdi")
    host.cdi.image = host.cdi.path / "image.tar"
    programs.run(["skopeo", "--insecure-policy", "copy", f"oci:{host.site.directory}/layout:cdi", f"docker-archive:{host.cdi.image}:cdi:1"])


def check_given(pid):
    """Expects the driver's nodes in the container, and the libraries in its loader's cache."""
    inside = Path("/proc", str(pid), "root")
    nodes = {name: (inside / "dev" / name).stat().st_rdev for name in ("nvidiactl", "nvidia0", "nvidia-caps/nvidia-cap1")}
    assert nodes == {name: os.makedev(*NODES[name]) for name in nodes}, nodes
    shown = programs.run(["/sbin/ldconfig", "-p", "-C", inside / "etc/ld.so.cache"]).stdout
    assert f"=> /{LIBRARIES}/nvidia/current/libcuda.so.1\n" in shown, shown
    assert os.readlink(inside / LIBRARIES / "nvidia/current/libcuda.so.1") == f"libcuda.so.{VERSION}"


@case("Podman gives a container with our device the driver", start="specified")
def given_by_podman(host):
    host.podman.call("load", "--quiet", "--input", str(host.cdi.image))
    host.podman.call("run", "--detach", "--name=cdi", "--network=none", f"--device={DEVICE}", "cdi:1")
    check_given(host.podman.call("inspect", "--format={{.State.Pid}}", "cdi").strip())
    host.podman.call("rm", "--force", "--time=0", "cdi")


def check_containerd(host, containerd):
    containerd.ctr("images", "import", host.cdi.image)
    started = containerd.cri("start", containerd.cgroup.name, "docker.io/library/cdi:1", DEVICE)
    check_given(json.loads(started["container"]["info"]["info"])["pid"])
    containerd.cri("stop", started["pod"])


@case("containerd 2 over CRI gives a container with our device the driver", start="specified")
def given_by_containerd(host):
    with host.kubelet.suspended():  # it ends pods of other clients
        check_containerd(host, host.containerd)


@case("ctr run --device gives a container with our device the driver", start="specified")
def given_by_ctr(host):
    containerd = host.containerd
    containerd.ctr("images", "import", host.cdi.image)
    containerd.ctr("run", "--detach", f"--device={DEVICE}", "docker.io/library/cdi:1", "cdi-ctr")
    pid = next(row.split()[1] for row in containerd.ctr("tasks", "ls").splitlines() if row.startswith("cdi-ctr "))
    check_given(int(pid))
    containerd.ctr("tasks", "kill", "--signal=KILL", "cdi-ctr")
    eventually("the container ends", lambda: containerd.ask("tasks", "rm", "cdi-ctr").returncode == 0)
    containerd.ctr("containers", "rm", "cdi-ctr")


@case("containerd 1.7 with enable_cdi gives a container with our device the driver", start="specified")
def given_by_containerd17(host):
    check_containerd(host, host.containerd17)
