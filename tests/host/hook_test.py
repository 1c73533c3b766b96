# SPDX-License-Identifier: Apache-2.0
"""gpuhost-cdi-hook on ordinary and on hostile container roots."""
import ctypes
import json
import os
import re
import shutil
import subprocess
import threading
import time

import own_mounts
import tap
from container_files import HOOK, LIBRARY, Container, library_file, write
from fake_host import scratch
from programs import PATIENCE, outputs, run, start, wait

BAD_ARGUMENT, NOT_FOUND, BAD_CONTENT, UNSUPPORTED = 2, 4, 9, 10
GPU = "/usr/lib/gpu"
LINK = ("create-symlinks", "--link", f"libm.so.6::{GPU}/libm.so")
CACHE = ("update-ldcache", "--folder", GPU)
COMPAT = ("enable-cuda-compat", "--host-driver-version=535.261.03")
PARAMS = "/proc/driver/nvidia/params"
FOLDERS_CONF, COMPAT_CONF = "/etc/ld.so.conf.d/00-gpuhost.conf", "/etc/ld.so.conf.d/00-compat-gpuhost.conf"
PROBE = os.path.join(tap.TOP_BUILDDIR, "tests/host/hook-probe")
MS_RDONLY, MS_REMOUNT, MS_REC, RENAME_EXCHANGE, AT_FDCWD = 1, 32, 16384, 2, -100
FOUND = {LIBRARY: f"{GPU}/{LIBRARY}"}


def tmpfs(path):
    os.makedirs(path, exist_ok=True)
    own_mounts.mount("none", path, "tmpfs")


def volume(container, path):
    """Mounts a foreign directory in the root. Returns its path outside."""
    own = os.path.join(container.directory, "volume")
    os.makedirs(own, exist_ok=True)
    os.makedirs(container.path(path), exist_ok=True)
    own_mounts.bind(own, container.path(path))
    return own


def mount_read_only(container):
    """Mounts the root read-only, as crun does before hooks if config.json requests it."""
    root = container.path("/")
    container.configure(readonly=True)
    own_mounts.bind(root, root)
    own_mounts.mount("none", root, "none", flags=MS_REMOUNT | own_mounts.MS_BIND | MS_RDONLY)


def links(t, make):
    c = make()
    first = c.hook(*LINK, "--link=../x::/opt/a/b/link")
    t.ok(first.returncode == 0 and os.readlink(c.path(GPU + "/libm.so")) == LIBRARY
         and os.readlink(c.path("/opt/a/b/link")) == "../x",
         "create-symlinks creates links and their parent directories", first.stderr)
    before = c.tree()
    again = c.hook(*LINK, "--link=../x::/opt/a/b/link")
    t.ok(again.returncode == 0 and c.tree() == before,
         "a second create-symlinks changes nothing", again.stderr)
    c = make()
    os.symlink("libold.so", c.path(GPU + "/libm.so"))
    write(c.path("/opt/b"), "an image's file")
    done = c.hook(*LINK, "--link", "a::/opt/b")
    t.ok(done.returncode == 0 and os.readlink(c.path(GPU + "/libm.so")) == LIBRARY and os.readlink(c.path("/opt/b")) == "a",
         "create-symlinks replaces a wrong link and a file", done.stderr)


def read_only(t, make):
    c = make()
    mount_read_only(c)
    done = [c.hook(*words) for words in (LINK, CACHE)]
    t.ok(not any(one.returncode for one in done) and c.cache() == FOUND,
         "a root mounted read-only by the runtime is prepared", *done)
    t.ok(os.statvfs(c.path("/")).f_flag & os.ST_RDONLY, "a root mounted read-only stays read-only")
    c = make()
    mount_read_only(c)
    c.configure(readonly=False)
    before = c.tree()
    for words in (LINK, CACHE):
        done = c.hook(*words)
        t.ok(done.returncode == 0 and "read-only file system, ignoring" in done.stderr and c.tree() == before,
             f"{words[0]} ignores a root that is read-only otherwise", done)


def hostile_links(t, make):
    for what, target in (("an absolute link", "/../../outside"), ("a relative link", "../../../outside"),
                         ("a link to a host path", "{outside}"), ("a magic link", "/proc/self/root{outside}"),
                         ("a magic link of another process", "/proc/1/cwd")):
        c = make()
        own_mounts.mount("/proc", c.path("/proc"), "none", flags=own_mounts.MS_BIND | MS_REC)
        os.symlink(target.format(outside=c.outside), c.path("/usr/lib/trap"))
        c.hook("create-symlinks", "--link", "x::/usr/lib/trap/secret", "--link", "x::/usr/lib/trap/etc/y")
        t.ok(c.untouched(), f"create-symlinks through {what} changes nothing outside")
        own_mounts.detach(c.path("/proc"))
    c = make()
    os.mkdir(c.path("/outside"))
    os.symlink("/../../outside", c.path("/usr/lib/trap"))
    done = c.hook("create-symlinks", "--link", "x::/usr/lib/trap/secret")
    t.ok(done.returncode == 0 and os.readlink(c.path("/outside/secret")) == "x" and c.untouched(),
         "'..' above the root resolves to the root", done.stderr)
    c = make()
    os.mkdir(c.path("/opt"))
    os.symlink(c.outside, c.path("/opt/link"))
    done = c.hook("create-symlinks", "--link", "x::/opt/link")
    t.ok(done.returncode == 0 and os.readlink(c.path("/opt/link")) == "x" and c.untouched(),
         "create-symlinks replaces an existing link without following it", done.stderr)


def volumes(t, make):
    c = make()
    own = volume(c, "/volume")
    done = c.hook("create-symlinks", "--link", "x::/volume/sub/link", "--link", "x::/opt/link")
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and not os.listdir(own) and os.path.islink(c.path("/opt/link")),
         "create-symlinks ignores only the link in a volume", done)
    c = make()
    write(c.path("/opt/link"))
    own_mounts.bind(os.path.join(c.outside, "secret"), c.path("/opt/link"))
    done = c.hook("create-symlinks", "--link", "x::/opt/link")
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and c.read("/opt/link") == "secret",
         "create-symlinks ignores a link over a mounted file", done)
    own_mounts.detach(c.path("/opt/link"))
    c = make()
    own = volume(c, "/etc")
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and not os.listdir(own),
         "update-ldcache leaves a mounted /etc unchanged", done)
    c = make()
    own = volume(c, "/etc/ld.so.conf.d")
    write(c.path("/etc/ld.so.conf"), f"include ld.so.conf.d/*\n{GPU}\n")
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and not os.listdir(own) and c.cache() == FOUND,
         "a mounted ld.so.conf.d stays unchanged, the cache is written", done)
    for name in ("/etc/ld.so.cache", "/etc/ld.so.cache~"):
        c = make()
        write(c.path(name))
        own_mounts.bind(os.path.join(c.outside, "secret"), c.path(name))
        done = c.hook(*CACHE)
        t.ok(done.returncode == 0 and f"{name}: covered by a mount" in done.stderr and c.untouched(),
             f"update-ldcache ignores a mounted {name}", done)
        own_mounts.detach(c.path(name))
        t.equal([found for found in os.listdir(c.path("/etc")) if found.startswith("ld.so.cache")], [os.path.basename(name)],
                f"update-ldcache leaves no file beside a mounted {name}")
    c = make()
    own = volume(c, "/volume")
    shutil.copy(library_file(), os.path.join(own, LIBRARY))
    done = c.hook("update-ldcache", "--folder", "/volume")
    t.ok(done.returncode == 0 and c.cache() == {LIBRARY: f"/volume/{LIBRARY}"},
         "update-ldcache caches libraries of a volume", done.stderr, c.cache())
    os.rename(os.path.join(own, LIBRARY), os.path.join(own, "libm.so.550.1"))
    done = c.hook("update-ldcache", "--folder", "/volume")
    t.ok(done.returncode == 0 and os.listdir(own) == ["libm.so.550.1"],
         "update-ldcache creates no link in a volume", done.stderr, os.listdir(own))
    c = make()
    tmpfs(c.path("/dev"))
    done = c.hook("create-symlinks", "--link", "../card0::/dev/dri/by-path/pci-0000:01:00.0-card")
    t.ok(done.returncode == 0 and os.path.islink(c.path("/dev/dri/by-path/pci-0000:01:00.0-card")),
         "create-symlinks creates a link in the runtime's /dev", done.stderr)
    own_mounts.bind(c.path("/dev"), c.path("/dev"))  # as shared mounts propagate back
    done = c.hook("create-symlinks", "--link", "../card1::/dev/dri/card")
    t.ok(done.returncode == 0 and os.path.islink(c.path("/dev/dri/card")),
         "create-symlinks creates a link in a doubly mounted /dev", done.stderr)
    own_mounts.detach(c.path("/dev"))
    for what, part, hide in (("a host's tmpfs", "", False), ("a directory of a host's tmpfs", "sub", False),
                             ("a directory of a detached tmpfs", "sub", True)):
        c = make()
        own = os.path.join(c.directory, "volume")
        tmpfs(own)
        os.makedirs(os.path.join(own, "sub"))
        own_mounts.bind(os.path.join(own, part), c.path("/dev"))
        if hide:
            own_mounts.detach(own)
        done = c.hook("create-symlinks", "--link", "../card0::/dev/dri/card")
        t.ok(done.returncode == 0 and "ignoring" in done.stderr and not os.path.exists(c.path("/dev/dri")),
             f"create-symlinks ignores {what} at /dev", done)
        own_mounts.detach(own)
    c = make()
    own_mounts.mount("none", c.path("/dev"), "ramfs")
    done = c.hook("create-symlinks", "--link", "../card0::/dev/dri/card")
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and not os.path.exists(c.path("/dev/dri")),
         "create-symlinks ignores a ramfs at /dev", done)
    c = make()
    own_mounts.mount("/dev", c.path("/dev"), "none", flags=own_mounts.MS_BIND | MS_REC)
    link = f"/dev/gpuhost-test-{os.getpid()}"
    done = c.hook("create-symlinks", "--link", f"x::{link}")
    if not t.ok("ignoring" in done.stderr and not os.path.lexists(link), "create-symlinks ignores the host's /dev", done):
        if os.path.lexists(link):
            os.unlink(link)


def cache(t, make):
    c = make()
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and c.cache() == FOUND,
         "update-ldcache adds the folder's libraries to the cache", done.stderr, c.cache())
    t.equal(c.read(FOLDERS_CONF), GPU + "\n", "update-ldcache writes the folder to its own drop-in")
    before = c.tree().keys()
    again = c.hook(*CACHE)
    t.ok(again.returncode == 0 and c.tree().keys() == before and c.read(FOLDERS_CONF) == GPU + "\n",
         "a second update-ldcache adds nothing",
         again.stderr)
    c = make()
    write(c.path("/etc/ld.so.conf"), "/opt/own\n")
    c.hook(*CACHE)
    first = c.read("/etc/ld.so.conf")
    again = c.hook(*CACHE)
    t.ok(c.cache() == FOUND and "\n/opt/own\n" in first and c.read("/etc/ld.so.conf") == first,
         "update-ldcache adds an include to ld.so.conf once", again.stderr, first)
    c = make()
    write(c.path("/etc/ld.so.conf"), "include ld.so.conf.d/*.conf\n")
    write(c.path("/etc/ld.so.conf.d/image.conf"), f"{GPU} # the image's own\n")
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and c.cache() == FOUND and not os.path.exists(c.path(FOLDERS_CONF)),
         "update-ldcache keeps a folder that the image already lists", done.stderr)
    c = make()
    write(c.path(f"/lib/ld-musl-{os.uname().machine}.so.1"))
    c.hook(*CACHE)
    c.hook(*CACHE)
    t.equal(c.read(f"/etc/ld-musl-{os.uname().machine}.path"), f"/lib:/usr/local/lib:/usr/lib\n{GPU}\n",
            "update-ldcache adds the folder to musl's path once")


def hostile_caches(t, make):
    c = make()
    os.mkfifo(c.path("/etc/ld.so.conf"))
    t.equal(c.hook(*CACHE).returncode, BAD_CONTENT, "update-ldcache refuses a pipe as ld.so.conf")
    c = make()
    write(c.path("/etc/ld.so.conf"), "x" * (1 << 20) + "\n")
    t.equal(c.hook(*CACHE).returncode, BAD_CONTENT, "update-ldcache refuses an ld.so.conf of 1 MiB")
    c = make()
    os.mkfifo(c.path("/etc/ld.so.cache~"))
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and c.cache() == FOUND,
         "update-ldcache removes a pipe at ldconfig's temporary file", done.stderr)
    for name in ("/etc/ld.so.cache", "/etc/ld.so.cache~", "/etc/ld.so.conf", FOLDERS_CONF):
        c = make()
        os.makedirs(c.path("/etc/ld.so.conf.d"))
        os.symlink(os.path.join(c.outside, "secret"), c.path(name))
        done = c.hook(*CACHE)
        t.ok(done.returncode == 0 and c.cache() == FOUND and c.untouched(),
             f"update-ldcache replaces {name} that links outside", done.stderr)
    for name in ("/etc", "/etc/ld.so.conf.d"):
        c = make()
        shutil.rmtree(c.path(name), ignore_errors=True)
        os.symlink("/../../outside/etc", c.path(name))
        done = c.hook(*CACHE)
        t.ok(done.returncode != 0 and c.untouched(), f"update-ldcache fails if {name} links outside", done)
    many = [f"/opt/many/{number}" for number in range(1030)]
    for what, conf, files in (("many files", "include /opt/many/*\n", {path: "" for path in many}),
                              ("many includes", "".join(f"include {path}\n" for path in many), {}),
                              ("files of over 1 MiB", "include /opt/many/*\n", {path: "#" * 600_000 for path in many[:2]})):
        c = make()
        write(c.path("/etc/ld.so.conf"), conf)
        for path, content in files.items():
            write(c.path(path), content)
        done = c.hook(*CACHE)
        t.ok(done.returncode == BAD_CONTENT and "with its includes" in done.stderr,
             f"update-ldcache refuses an ld.so.conf with {what}", done)
    c = make()
    write(c.path("/etc/ld.so.conf"), "include /opt/many/*\n" * 30)
    for path in many[:1000]:
        write(c.path(path))
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and c.cache() == FOUND,
         "update-ldcache accepts 1000 files with repeated includes", done.stderr)
    c = make()
    os.symlink("/../outside", c.path(GPU + "/libsecret.so"))
    write(c.path("/etc/ld.so.conf"), "include /etc/ld.so.conf.d/*.conf\ninclude /etc/ld.so.conf\ninclude /proc/self/mem /dev/zero\n"
          + "/" + "x" * 100000 + "\n")
    write(c.path(GPU + "/libbroken.so.1"), b"\x7fELF" + b"\xff" * 60)
    write(c.path(GPU + "/libempty.so.1"))
    os.mkfifo(c.path(GPU + "/libpipe.so.1"))
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and c.cache().get(LIBRARY) == FOUND[LIBRARY] and c.untouched(),
         "update-ldcache survives include loops, broken libraries, long lines", done.stderr)


def race(t, make):
    """Another process keeps exchanging a directory of the root for a link."""
    c = make()
    real, trap = os.fsencode(c.path("/opt/dir")), os.fsencode(c.path("/opt/trap"))
    os.makedirs(real)
    os.symlink("../../outside", trap)
    over = threading.Event()
    libc = ctypes.CDLL(None)

    def swap():
        while not over.is_set():
            libc.renameat2(AT_FDCWD, real, AT_FDCWD, trap, RENAME_EXCHANGE)

    thread = threading.Thread(target=swap)
    thread.start()
    for number in range(100):
        c.hook("create-symlinks", "--link", f"x::/opt/dir/new{number}/a", "--link", f"x::/opt/dir/{number}")
    over.set()
    thread.join()
    t.ok(c.untouched(),
         "exchanging directory and link during create-symlinks changes nothing outside", os.listdir(c.outside))


def confined(t, make):
    c = make()
    volume(c, "/volume")
    own_mounts.mount("/proc", c.path("/proc"), "none", flags=own_mounts.MS_BIND | MS_REC)
    tmpfs(c.path("/dev"))
    write(c.path("/dev/null"))
    done = c.hook(*CACHE, "--ldconfig-path", PROBE)
    if done.returncode == UNSUPPORTED:
        t.skip("ldconfig can write only to the root", "static programs cannot be built here")
        return
    if not t.ok(done.returncode == 0, "--ldconfig-path runs another ldconfig", done.stderr):
        return
    lines = dict(line.split(" ", 1) for line in c.read("/etc/probe").splitlines())
    t.equal(lines.pop("arguments"), "ldconfig -f /etc/ld.so.conf -C /etc/ld.so.cache",
            "ldconfig runs with -f and -C")
    t.equal([what for what, could in lines.items() if could == "yes"], ["own-root"],
            "ldconfig can write only to the container's root")
    t.ok(not os.listdir(os.path.join(c.directory, "volume")) and len(lines) > 10,
         "ldconfig cannot write to a volume")


def mounted_files(t, make):
    """Mounted files are not read, because reading a file of /proc can change the host."""
    for what, lead in (("an include", lambda c: write(c.path("/etc/ld.so.conf"), "include /volume/*\n")),
                       ("a link", lambda c: os.symlink("/volume/x.conf", c.path("/etc/ld.so.conf")))):
        c = make()
        lead(c)
        own = volume(c, "/volume")
        write(os.path.join(own, "x.conf"), f"{GPU}\n")
        os.utime(own, (0, 1))
        done = c.hook(*CACHE)
        t.ok(done.returncode == 0 and os.path.exists(c.path(FOLDERS_CONF)) and c.cache() == FOUND and os.stat(own).st_atime == 0,
             f"update-ldcache does not follow {what} into a volume", done)
    c = make()
    write(c.path("/etc/ld.so.conf"))
    write(os.path.join(c.directory, "mounted"), "include /etc/ld.so.conf.d/*.conf\n")
    own_mounts.bind(os.path.join(c.directory, "mounted"), c.path("/etc/ld.so.conf"))
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and c.cache() == FOUND,
         "update-ldcache leaves a mounted ld.so.conf to ldconfig", done)
    own_mounts.detach(c.path("/etc/ld.so.conf"))
    c = make()
    write(os.path.join(volume(c, "/volume"), "libcuda.so.570.86.10"), b"no ELF")
    os.makedirs(c.path("/usr/local/cuda"))
    os.symlink("/volume", c.path("/usr/local/cuda/compat"))
    done = c.hook(*COMPAT)
    t.ok(done.returncode == 0 and not os.path.exists(c.path(COMPAT_CONF)),
         "enable-cuda-compat does not read libcuda of a volume", done)
    os.unlink(c.path("/usr/local/cuda/compat"))
    os.mkdir(c.path("/usr/local/cuda/compat"))
    os.symlink("/volume/libcuda.so.570.86.10", c.path("/usr/local/cuda/compat/libcuda.so.570.86.10"))
    done = c.hook(*COMPAT)
    t.ok(done.returncode == 0 and not os.path.exists(c.path(COMPAT_CONF)),
         "enable-cuda-compat follows no link to a volume", done)


def program_of(hook):
    """Returns a descriptor of the ldconfig that the hook runs, or None if it runs none."""
    deadline = time.monotonic() + PATIENCE
    while hook.poll() is None and time.monotonic() < deadline:
        with open(f"/proc/{hook.pid}/task/{hook.pid}/children", encoding="utf-8") as file:
            for child in file.read().split():
                if os.readlink(f"/proc/{child}/exe").endswith("ldconfig"):
                    return os.open(f"/proc/{child}/exe", os.O_PATH)
        time.sleep(0.01)
    return None


def own_copy(t, make):
    c = make()
    os.mkfifo(c.path("/etc/probe"))
    hook = start([HOOK, *CACHE, "--ldconfig-path", PROBE], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    hook.stdin.write(json.dumps({"bundle": c.directory}))
    hook.stdin.close()
    program = program_of(hook)  # ldconfig waits until the pipe is read
    if program is None:
        t.skip("the running copy of ldconfig is read-only", "static programs cannot be built here")
        return
    c.read("/etc/probe")
    wait(hook)
    done = run(["sh", "-c", f"echo >/proc/self/fd/{program}"], pass_fds=[program])
    t.ok("Read-only file system" in done.stderr, "the running copy of ldconfig is read-only", done)
    os.close(program)


def no_programs_in_memfds(t, make):
    """Sets vm.memfd_noexec, as hardened hosts do. The setting belongs to a PID namespace."""
    setting = "/proc/sys/vm/memfd_noexec"
    for value in (1, 2):
        unshare = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", f'echo {value} >{setting} && exec "$@"', "sh"]
        if run([*unshare, "true"]).returncode:
            t.skip(f"vm.memfd_noexec={value}: ldconfig runs", "vm.memfd_noexec cannot be set here")
            continue
        c = make()
        done = run([*unshare, HOOK, *CACHE], input=json.dumps({"bundle": c.directory}))
        t.ok(done.returncode == 0 and c.cache() == FOUND, f"vm.memfd_noexec={value}: ldconfig runs", done.stderr)


def memory(t, make):
    with open(HOOK, "rb") as file:
        if b"__asan_init" in file.read():
            t.skip("the hook limits its memory to 256 MiB", "not with the address sanitizer")
            return
    hook = start([HOOK, *LINK], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    hook.stdin.write(" " * (1 << 18))  # more than a pipe holds: after the write the hook is running
    with open(f"/proc/{hook.pid}/limits", encoding="utf-8") as file:
        limit = re.search(r"Max data size +(\d+|unlimited) +(\d+|unlimited)", file.read())
    t.equal((limit[1], limit[2]), (str(256 << 20),) * 2, "the hook limits its memory to 256 MiB")
    outputs(hook)
    done = run(["prlimit", f"--data={2 << 20}", HOOK, *LINK], input=" " * (1 << 20))
    t.ok(done.returncode == 1 and "memory limit exceeded" in done.stderr,
         "the hook fails when memory exceeds its limit", done)


def compat(t, make):
    c = make()
    write(c.path("/usr/local/cuda-12.8/compat/libcuda.so.570.86.10"), b"no ELF")
    os.symlink("/usr/local/cuda-12.8", c.path("/usr/local/cuda"))
    done = c.hook(*COMPAT)
    t.ok(done.returncode == 0 and c.read(COMPAT_CONF) == "/usr/local/cuda/compat\n",
         "enable-cuda-compat adds a newer driver of the image", done.stderr)
    done = c.hook("enable-cuda-compat", "--host-driver-version", "580.1")
    t.ok(done.returncode == 0 and not os.path.exists(c.path(COMPAT_CONF)),
         "enable-cuda-compat removes it when the host's is newer", done.stderr)
    for what, prepare in (("a pipe", os.mkfifo), ("a link to a host file", lambda path: os.symlink("/proc/self/exe", path)),
                          ("a directory", os.mkdir)):
        c = make()
        os.makedirs(c.path("/usr/local/cuda/compat"))
        prepare(c.path("/usr/local/cuda/compat/libcuda.so.570.86.10"))
        done = c.hook(*COMPAT)
        t.ok(done.returncode == 0 and not os.path.exists(c.path(COMPAT_CONF)),
             f"enable-cuda-compat ignores {what} as libcuda", done)
    c = make()
    done = c.hook(*COMPAT)
    t.ok(done.returncode == 0 and not os.path.exists(c.path("/etc/ld.so.conf.d")),
         "enable-cuda-compat leaves an image without compat unchanged", done.stderr)


def params(t, make):
    c = make()
    text = "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: {}\nDeviceFileUID: 0\n"
    t.equal(c.hook("disable-device-node-modification").returncode, 0,
            "disable-device-node-modification succeeds on a host without driver")
    tmpfs("/proc/driver")
    write(PARAMS, text.format(1))
    done = c.hook("disable-device-node-modification")
    t.ok(done.returncode == 0 and os.listdir(c.path("/proc")) == [],
         "disable-device-node-modification ignores a container without /proc", done.stderr)
    for kind, prepare in (("writable", lambda c: None), ("read-only", mount_read_only)):
        c = make()
        prepare(c)
        own_mounts.bind("/proc", c.path("/proc"))
        tmpfs(c.path("/proc/driver"))
        write(c.path(PARAMS), text.format(1))
        done = c.hook("disable-device-node-modification")
        t.ok(done.returncode == 0 and c.read(PARAMS) == text.format(1),
             f"{kind} root: params as a file of the image stays unchanged", done.stderr)
        own_mounts.bind("/proc/version", c.path(PARAMS))
        done = c.hook("disable-device-node-modification")
        t.ok(done.returncode == 0 and c.read(PARAMS) == text.format(0),
             f"{kind} root: the container's params forbid device nodes", done.stderr)
        t.equal(open(PARAMS, encoding="utf-8").read(), text.format(1),
                f"{kind} root: the host's params stay unchanged")
        t.ok(run(["sh", "-c", f"echo >{c.path(PARAMS)}"]).returncode != 0,
             f"{kind} root: the container's params are read-only")
        with open("/proc/self/mounts", encoding="utf-8") as file:
            there = [line.split()[1] for line in file]
        t.ok(there.count(c.path("/proc")) == 1, f"{kind} root: no other mount is left in /proc", there)


def arguments(t, make):
    c = make()
    for what, words, state, status in (
            ("no hook", (), None, BAD_ARGUMENT), ("an unknown hook", ("chmod",), None, BAD_ARGUMENT),
            ("an unknown option", ("create-symlinks", "--folder", "/x"), None, BAD_ARGUMENT),
            ("an option without its value", ("create-symlinks", "--link"), None, BAD_ARGUMENT),
            ("half a link", ("create-symlinks", "--link", "x::/opt/x", "--link", "a:b"), None, BAD_ARGUMENT),
            ("a relative link", ("create-symlinks", "--link", "a::b"), None, BAD_ARGUMENT),
            ("a folder of two lines", ("update-ldcache", "--folder", "/a\n/b"), None, BAD_ARGUMENT),
            ("no version", ("enable-cuda-compat", "--host-driver-version", "new"), None, BAD_ARGUMENT),
            ("no state", LINK, "", BAD_CONTENT), ("a MiB of state", LINK, " " * ((1 << 20) + 1), BAD_CONTENT),
            ("no bundle", LINK, '{"bundle":"/nowhere"}', NOT_FOUND), ("the host's root", LINK, '{"root":"/"}', BAD_ARGUMENT),
            ("a script for ldconfig", (*CACHE, "--ldconfig-path", __file__), None, UNSUPPORTED),
            ("a program with libraries", (*CACHE, "--ldconfig-path", "/bin/sh"), None, UNSUPPORTED)):
        done = c.hook(*words, state=state)
        t.ok(done.returncode == status and done.stderr.startswith("gpuhost-cdi-hook: "),
             f"the hook exits with {status} for {what}", done)
    t.ok(not os.path.lexists(c.path("/opt/x")), "wrong arguments create no link")
    t.ok("update-ldcache" in c.hook("--help").stdout, "--help lists the hooks")


def main():
    own_mounts.enter()
    directory = scratch()
    made = []

    def make():
        made.append(Container(os.path.join(directory, str(len(made)))))
        return made[-1]

    t = tap.Tap()
    try:
        if not os.access(HOOK, os.X_OK):
            t.ok(False, f"{HOOK} is executable")
        for case in (links, read_only, hostile_links, volumes, cache, hostile_caches, mounted_files, race, confined, own_copy,
                     no_programs_in_memfds, memory, compat, params, arguments):
            case(t, make)
    finally:
        for container in made:
            for path in ("/proc/driver/nvidia/params", "/proc/driver", "/proc", "/dev", "/etc", "/volume", "/"):
                own_mounts.detach(container.path(path))
        shutil.rmtree(directory, ignore_errors=True)
    t.done()


main()
