# SPDX-License-Identifier: Apache-2.0
"""gpuhost-cdi-hook run by runc and crun: programs in the container find the driver's libraries."""
import json
import os
import re
import shutil
import sys

import own_mounts
import tap
from container_files import HOOK, write
from fake_host import scratch
from programs import run

RUNTIMES = [program for name in ("runc", "crun")
            if (program := shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"))]
OPTIONS = {"runc": [], "crun": ["--cgroup-manager=disabled"]}
FOLDER, LIBRARY = "/usr/lib/gpu", "libc.so.6"  # like the driver's: named by version, mounted as single files
MOUNTED = f"{FOLDER}/libc.so.550.1"
PARAMS = "/proc/driver/nvidia/params"
NAMESPACES = ("pid", "mount", "ipc", "uts", "network")
HOOKS = (("create-symlinks", "--link", f"{LIBRARY}::{FOLDER}/libproof.so", "--link", "/etc/proof::/dev/dri/proof"),
         ("enable-cuda-compat", "--host-driver-version=550.163.01"),
         ("update-ldcache", "--folder", FOLDER),
         ("disable-device-node-modification",))
# Creates the driver's params in the container's /proc. The first argument is the path of the root.
WITH_PARAMS = ("/bin/sh", "-ec", f"""mount -t tmpfs none "$0/proc/driver"
mkdir "$0/proc/driver/nvidia"
: >"$0{PARAMS}"
mount --bind /proc/version "$0{PARAMS}"
""")


def needs(program):
    """Returns {name: path} of the libraries that a program loads, including the loader."""
    shown = run(["ldd", program]).stdout
    return dict(re.findall(r"(\S+) => (/\S+)", shown)) | {path: path for path in re.findall(r"^\s(/\S+) \(", shown, re.M)}


class Bundle:
    """A bundle whose root has programs, but not the library that all of them need."""
    def __init__(self, directory):
        self.directory = directory
        self.root = os.path.join(directory, "rootfs")
        for name in ("proc", "dev", "etc", "lib", FOLDER[1:]):
            os.makedirs(os.path.join(self.root, name))
        write(os.path.join(self.root, "etc/debian_version"), "12.1\n")
        write(os.path.join(self.root, "etc/proof"), "found\n")
        self.copy(shutil.which("cat"), "/bin/cat")
        self.copy("/sbin/ldconfig", "/sbin/ldconfig")
        self.libraries = needs(shutil.which("cat"))
        for name, path in self.libraries.items():
            if name != LIBRARY:
                self.copy(path, name if name.startswith("/") else f"/lib/{name}")

    def copy(self, source, path):
        os.makedirs(os.path.dirname(self.root + path), exist_ok=True)
        shutil.copy(source, self.root + path)

    def config(self, words, commands, read_only):
        mounts = [{"destination": "/proc", "type": "proc", "source": "proc"},
                  {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                  {"destination": MOUNTED, "type": "bind", "source": self.libraries[LIBRARY],
                   "options": ["ro", "nosuid", "nodev", "rbind", "rprivate"]}]
        write(os.path.join(self.directory, "config.json"), json.dumps({
            "ociVersion": "1.0.2", "hostname": "proof", "root": {"path": "rootfs", "readonly": read_only}, "mounts": mounts,
            "process": {"terminal": False, "user": {"uid": 65534, "gid": 65534}, "cwd": "/", "args": words, "env": ["PATH=/bin"],
                        "noNewPrivileges": True},
            "hooks": {"createContainer": [{"path": command[0], "args": command} for command in commands]},
            "linux": {"namespaces": [{"type": name} for name in NAMESPACES]}}))

    def run(self, runtime, *words, hooks=HOOKS, before=(), read_only=True):
        self.config(words, [*before, *((HOOK, *hook) for hook in hooks)], read_only)
        name = f"gpuhost-test-{os.getpid()}"
        words = [runtime, "--root", os.path.join(self.directory, "state"), *OPTIONS[os.path.basename(runtime)]]
        done = run([*words, "run", "--bundle", self.directory, name])
        run([*words, "delete", "--force", name])
        return done


def works(t, runtime, directory):
    name = os.path.basename(runtime)
    bundle = Bundle(os.path.join(directory, name))
    done = bundle.run(runtime, "/bin/cat", "/etc/proof", hooks=())
    if "cgroup" in done.stderr or "namespace" in done.stderr:
        t.skip(f"{name}: hooks prepare a container", "cannot run a container here: " + done.stderr.strip().splitlines()[-1])
        return
    t.ok(done.returncode != 0 and LIBRARY in done.stderr, f"{name}: without hooks the library is not found", done)
    done = bundle.run(runtime, "/bin/cat", "/etc/proof")
    t.ok(done.returncode == 0 and done.stdout == "found\n", f"{name}: with hooks the library is found", done)
    done = bundle.run(runtime, "/sbin/ldconfig", "-p")
    t.ok(f"=> {FOLDER}/{LIBRARY}\n" in done.stdout,
         f"{name}: the container's ldconfig -p lists the library", done)
    t.equal(os.readlink(f"{bundle.root}{FOLDER}/libproof.so"), LIBRARY,
            f"{name}: create-symlinks creates a link")
    done = bundle.run(runtime, "/bin/cat", "/dev/dri/proof")
    t.ok(done.returncode == 0 and done.stdout == "found\n",
         f"{name}: create-symlinks creates a link in /dev", done)
    done = bundle.run(runtime, "/bin/cat", "/proc/self/mountinfo")
    t.equal(sorted(line.split()[4] for line in done.stdout.splitlines()), ["/", "/dev", "/proc", MOUNTED],
            f"{name}: hooks leave no mount in the container")
    for read_only in (False, True):
        done = bundle.run(runtime, "/bin/cat", PARAMS, before=[(*WITH_PARAMS, bundle.root)], read_only=read_only)
        t.ok(done.returncode == 0 and done.stdout == "ModifyDeviceFiles: 0\n",
             f"{name}: params forbid new device nodes, root {'read-only' if read_only else 'writable'}", done)
    done = bundle.run(runtime, "/bin/cat", "/etc/proof", hooks=(*HOOKS, ("create-symlinks", "--link", "wrong")))
    t.ok(done.returncode != 0 and "gpuhost-cdi-hook" in done.stderr and not done.stdout,
         f"{name}: a failing hook prevents the container's start", done)


def main():
    if os.geteuid() != 0 or not RUNTIMES:
        print("1..0 # SKIP needs root, and runc or crun")
        sys.exit(0)
    own_mounts.enter()
    t = tap.Tap()
    directory = scratch()
    try:
        own_mounts.mount("none", "/proc/driver", "tmpfs")
        write(PARAMS, "ModifyDeviceFiles: 1\n")
        for runtime in RUNTIMES:
            if runtime.endswith("/crun"):  # crun needs cgroup2, even with cgroups disabled
                own_mounts.mount("none", "/sys/fs/cgroup", "cgroup2")
            works(t, runtime, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    t.done()


main()
