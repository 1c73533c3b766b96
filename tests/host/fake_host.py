# SPDX-License-Identifier: Apache-2.0
"""A GPU host in a directory: real gpuhostd and gpuhostctl, a private bus, and workers with a simulated kernel
(fake_worker.cpp). Needs no privileges and does not change the machine."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile

import tap
from driver_files import KERNEL, write_driver
from private_bus import PrivateBus
from programs import end, environment, run, start

OLD, NEW = "535.261.03", "550.163.01"
GPUS = ("0000:01:00.0", "0000:02:00.0")
CLIENT = "nvidia-persistenced.service"
# The host's systemctl: a unit is active while its cgroup has a process. Process 4711 may use the driver until
# it stops.
SYSTEMCTL = """#!/bin/sh
verb=$1; shift; shift
for unit; do
    group={root}/sys/fs/cgroup/system.slice/$unit
    mkdir -p $group
    case $verb in start) echo 4711 >$group/cgroup.procs ;; stop) : >$group/cgroup.procs; rm -rf {root}/proc/4711 ;; esac
done
"""


def scratch():
    """Returns a new directory, in /dev/shm if possible, where the host's many syncs cost nothing."""
    return tempfile.mkdtemp(prefix="gpuhost-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(content)


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


IMAGE_GC = "the kubelet deletes images that no container uses"


@contextlib.contextmanager
def image_gc(host):
    """Adds a kubelet whose image GC deletes unused images at any disk usage."""
    write(host.path("/var/lib/kubelet/config.yaml"), "imageGCHighThresholdPercent: 0\n")
    os.makedirs(host.path("/var/lib/containerd"))
    yield
    for directory in "kubelet", "containerd":
        shutil.rmtree(host.path(f"/var/lib/{directory}"))


class FakeHost:
    def __init__(self, gpus=GPUS):
        self.gpus = gpus
        self.scratch = scratch()
        self.root = os.path.join(self.scratch, "root")
        self.daemon = None
        self.log = open(os.path.join(self.scratch, "log"), "a+")
        self.boots = 0
        self.kernel = KERNEL
        self.bus = PrivateBus(self.scratch)
        self.address = self.bus.address
        self.environment = environment(DBUS_SYSTEM_BUS_ADDRESS=self.address, NO_COLOR="1", LC_ALL="C")

    def close(self):
        self.kill_daemon()
        self.kill_workers()  # they outlive the daemon
        self.bus.close()
        self.log.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def path(self, path):
        return self.root + path

    def read(self, path):
        return read(self.path(path)).strip()

    # The host

    def install(self):
        """Installs a host without a driver and boots it."""
        for directory in ("/var/lib/gpuhost", "/usr/bin", "/usr/lib", "/etc", "/fake-worker"):
            os.makedirs(self.path(directory), exist_ok=True)
        self.install_kernel(KERNEL)
        write(self.path("/usr/bin/systemctl"), SYSTEMCTL.format(root=self.root))
        os.chmod(self.path("/usr/bin/systemctl"), 0o755)
        self.boot()

    def install_kernel(self, release):
        for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            write(self.path(f"/lib/modules/{release}/{name}"), "")

    def boot(self):
        """Recreates /run, /proc, /sys and /dev. Then udev loads the modules of the module directory."""
        self.start_kernel()
        self.start_udev()

    def start_kernel(self):
        for directory in ("/run", "/proc", "/sys", "/dev"):
            shutil.rmtree(self.path(directory), ignore_errors=True)
        self.boots += 1
        os.makedirs(self.path("/run"))
        os.makedirs(self.path("/dev"))
        write(self.path("/proc/sys/kernel/osrelease"), self.kernel + "\n")
        write(self.path("/proc/sys/kernel/random/boot_id"), f"b00t0000-0000-4000-8000-{self.boots:012}\n")
        write(self.path("/proc/devices"), "Character devices:\n  1 mem\n\nBlock devices:\n  8 sd\n")
        for gpu in self.gpus:
            for name, value in (("vendor", "0x10de"), ("device", "0x2330"), ("class", "0x030200")):
                write(self.path(f"/sys/bus/pci/devices/{gpu}/{name}"), value + "\n")
        write(self.path(f"/sys/fs/cgroup/system.slice/{CLIENT}/cgroup.procs"), "4711\n")

    def start_udev(self):
        worker = os.path.join(tap.TOP_BUILDDIR, "tests/host/fake-worker")
        run([worker, "--boot", f"--root={self.root}"], check=True, stderr=None)

    # The daemon

    def start_daemon(self, **variables):
        """Without programs.start(): a gate's thread may start the daemon, which must outlive it."""
        self.daemon = subprocess.Popen(
            [
                os.path.join(tap.TOP_BUILDDIR, "tests/host/fake-daemon"),
                f"--root={self.root}",
                "--launcher=direct",
                f"--worker={tap.TOP_BUILDDIR}/tests/host/fake-worker",
            ],
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )

    def kill_daemon(self, number=signal.SIGKILL):
        if self.daemon:
            daemon, self.daemon = self.daemon, None
            end(daemon, number)

    def kill_workers(self):
        """Kills running workers by their PID files, as the next daemon finds them."""
        jobs = self.path("/run/gpuhost/jobs")
        for job in os.listdir(jobs) if os.path.isdir(jobs) else []:
            pid = read(f"{jobs}/{job}/pid").split()
            if pid:
                try:
                    os.kill(int(pid[0]), signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def ctl(self, *arguments, check=None, **more):
        ctl = run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), *arguments], env=self.environment, **more)
        if check is not None and ctl.returncode != check:
            raise AssertionError(f"gpuhostctl {' '.join(arguments)}: exit {ctl.returncode}\n{ctl.stdout}{ctl.stderr}\n{self.tail()}")
        return ctl

    def start_ctl(self, *arguments, **more):
        """Starts gpuhostctl in the background."""
        return start([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), *arguments], env=self.environment,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)

    def json(self, *arguments):
        """Returns the document that a verb prints. Accepts the statuses of a host that is not converged."""
        run = self.ctl(*arguments, "--json")
        if run.returncode not in {"status": (0, 3)}.get(arguments[0], (0,)):
            raise AssertionError(f"gpuhostctl {' '.join(arguments)}: exit {run.returncode}\n{run.stdout}{run.stderr}\n{self.tail()}")
        return json.loads(run.stdout)

    def plan(self, *options):
        """Returns the plan of apply, also if an administrator must choose a driver or correct a file."""
        run = self.ctl("apply", "--dry-run", "--json", *options)
        if run.returncode not in (0, 8, 9):
            raise AssertionError(f"gpuhostctl apply --dry-run: exit {run.returncode}\n{run.stdout}{run.stderr}\n{self.tail()}")
        return json.loads(run.stdout)

    def settle(self):
        """Waits until no interrupted operation runs."""
        return self.ctl("wait-ready", "--converged", "--timeout=30s").returncode == 0

    def messages(self):
        self.log.flush()
        return read(os.path.join(self.scratch, "log"))

    def tail(self):
        return "".join(self.messages().splitlines(keepends=True)[-30:])

    # The host's state

    def journal(self, operation):
        lines = read(self.path(f"/var/lib/gpuhost/journal/{operation}.jsonl")).splitlines()
        return [json.loads(line[9:]) for line in lines]

    def loaded(self):
        """Returns {module: version} of all loaded modules."""
        modules = self.path("/sys/module")
        return {name: self.read(f"/sys/module/{name}/version") for name in (os.listdir(modules) if os.path.isdir(modules) else [])}

    def add_process(self, pid, command, unit):
        """Adds a process that uses the driver."""
        process = self.path(f"/proc/{pid}")
        write(f"{process}/comm", command + "\n")
        write(f"{process}/cgroup", f"0::/system.slice/{unit}\n")
        os.makedirs(f"{process}/fd", exist_ok=True)
        if not os.path.lexists(f"{process}/fd/3"):
            os.symlink(self.path("/dev/nvidiactl"), f"{process}/fd/3")

    def told(self, path="/run/cdi/nvidia.yaml"):
        """Returns the driver version in the CDI specification, or None without one."""
        text = read(self.path(path))
        if not text:
            return None
        mounts = json.loads(text)["containerEdits"]["mounts"]
        return next(mount["hostPath"].rpartition(".so.")[2] for mount in mounts if "/libcuda.so." in mount["hostPath"])


def prepare(host, **files):
    """Installs a host with the old driver loaded and both drivers in the store. `files`: see write_driver()."""
    host.install()
    host.start_daemon()
    host.settle()
    for version in (OLD, NEW):
        modules, packages = write_driver(os.path.join(host.scratch, version), version, **files)
        host.ctl("driver", "import", *packages, check=0)
        host.ctl("driver", "import", *modules, check=0)
    host.ctl("driver", "swap", OLD, check=0)
    host.kill_daemon()


def run_checks(*checks, make=prepare, kind=FakeHost, **options):
    """Runs a whole test: each check on one host, kind(**options), that `make` made."""
    t = tap.Tap()
    host = kind(**options)
    try:
        make(host)
        host.start_daemon()
        host.settle()
        for check in checks:
            check(t, host)
        if t.failed:
            print("\n".join("# " + line for line in host.tail().splitlines()))
    finally:
        host.close()
    t.done()
