# SPDX-License-Identifier: Apache-2.0
"""gpuhost-cdi-hook on roots as runtimes give them to it, kind ones and hostile ones."""
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
    """Somebody else's directory in the root: where it really is."""
    own = os.path.join(container.directory, "volume")
    os.makedirs(own, exist_ok=True)
    os.makedirs(container.path(path), exist_ok=True)
    own_mounts.bind(own, container.path(path))
    return own


def mount_read_only(container):
    """As crun does before hooks run, where config.json says so."""
    root = container.path("/")
    container.configure(readonly=True)
    own_mounts.bind(root, root)
    own_mounts.mount("none", root, "none", flags=MS_REMOUNT | own_mounts.MS_BIND | MS_RDONLY)


def links(t, make):
    c = make()
    first = c.hook(*LINK, "--link=../x::/opt/a/b/link")
    t.ok(first.returncode == 0 and os.readlink(c.path(GPU + "/libm.so")) == LIBRARY
         and os.readlink(c.path("/opt/a/b/link")) == "../x", "links are made, with the directories above them", first.stderr)
    before = c.tree()
    again = c.hook(*LINK, "--link=../x::/opt/a/b/link")
    t.ok(again.returncode == 0 and c.tree() == before, "a second start changes nothing", again.stderr)
    c = make()
    os.symlink("libold.so", c.path(GPU + "/libm.so"))
    write(c.path("/opt/b"), "an image's file")
    done = c.hook(*LINK, "--link", "a::/opt/b")
    t.ok(done.returncode == 0 and os.readlink(c.path(GPU + "/libm.so")) == LIBRARY and os.readlink(c.path("/opt/b")) == "a",
         "a wrong link and a file in a link's place are replaced", done.stderr)


def read_only(t, make):
    c = make()
    mount_read_only(c)
    done = [c.hook(*words) for words in (LINK, CACHE)]
    t.ok(not any(one.returncode for one in done) and c.cache() == FOUND, "a root that is mounted read-only already is prepared", *done)
    t.ok(os.statvfs(c.path("/")).f_flag & os.ST_RDONLY, "and stays read-only")
    c = make()
    mount_read_only(c)
    c.configure(readonly=False)
    before = c.tree()
    for words in (LINK, CACHE):
        done = c.hook(*words)
        t.ok(done.returncode == 0 and "read-only file system, ignoring" in done.stderr and c.tree() == before,
             f"{words[0]}: one that the runtime did not mount so stays as it is", done)


def hostile_links(t, make):
    for what, target in (("an absolute link", "/../../outside"), ("a relative link", "../../../outside"),
                         ("a link to where it is not", "{outside}"), ("a magic link", "/proc/self/root{outside}"),
                         ("a magic link of another process", "/proc/1/cwd")):
        c = make()
        own_mounts.mount("/proc", c.path("/proc"), "none", flags=own_mounts.MS_BIND | MS_REC)
        os.symlink(target.format(outside=c.outside), c.path("/usr/lib/trap"))
        c.hook("create-symlinks", "--link", "x::/usr/lib/trap/secret", "--link", "x::/usr/lib/trap/etc/y")
        t.ok(c.untouched(), f"{what} leads to nothing outside")
        own_mounts.detach(c.path("/proc"))
    c = make()
    os.mkdir(c.path("/outside"))
    os.symlink("/../../outside", c.path("/usr/lib/trap"))
    done = c.hook("create-symlinks", "--link", "x::/usr/lib/trap/secret")
    t.ok(done.returncode == 0 and os.readlink(c.path("/outside/secret")) == "x" and c.untouched(),
         "'..' above the root is the root", done.stderr)
    c = make()
    os.mkdir(c.path("/opt"))
    os.symlink(c.outside, c.path("/opt/link"))
    done = c.hook("create-symlinks", "--link", "x::/opt/link")
    t.ok(done.returncode == 0 and os.readlink(c.path("/opt/link")) == "x" and c.untouched(),
         "a link in a link's place is replaced, not followed", done.stderr)


def volumes(t, make):
    c = make()
    own = volume(c, "/volume")
    done = c.hook("create-symlinks", "--link", "x::/volume/sub/link", "--link", "x::/opt/link")
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and not os.listdir(own) and os.path.islink(c.path("/opt/link")),
         "a link in a volume is passed over, the others are made", done)
    c = make()
    write(c.path("/opt/link"))
    own_mounts.bind(os.path.join(c.outside, "secret"), c.path("/opt/link"))
    done = c.hook("create-symlinks", "--link", "x::/opt/link")
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and c.read("/opt/link") == "secret", "so is one where a file is mounted", done)
    own_mounts.detach(c.path("/opt/link"))
    c = make()
    own = volume(c, "/etc")
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and not os.listdir(own), "an /etc that is a volume stays as it is", done)
    c = make()
    own = volume(c, "/etc/ld.so.conf.d")
    write(c.path("/etc/ld.so.conf"), f"include ld.so.conf.d/*\n{GPU}\n")
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and not os.listdir(own) and c.cache() == FOUND,
         "where only its drop-ins are, the cache is made", done)
    for name in ("/etc/ld.so.cache", "/etc/ld.so.cache~"):
        c = make()
        write(c.path(name))
        own_mounts.bind(os.path.join(c.outside, "secret"), c.path(name))
        done = c.hook(*CACHE)
        t.ok(done.returncode == 0 and f"{name}: something is mounted there" in done.stderr and c.untouched(),
             f"{name} that is mounted is passed over", done)
        own_mounts.detach(c.path(name))
        t.equal([found for found in os.listdir(c.path("/etc")) if found.startswith("ld.so.cache")], [os.path.basename(name)],
                "and nothing is left beside it")
    c = make()
    own = volume(c, "/volume")
    shutil.copy(library_file(), os.path.join(own, LIBRARY))
    done = c.hook("update-ldcache", "--folder", "/volume")
    t.ok(done.returncode == 0 and c.cache() == {LIBRARY: f"/volume/{LIBRARY}"}, "libraries in a volume are found", done.stderr, c.cache())
    os.rename(os.path.join(own, LIBRARY), os.path.join(own, "libm.so.550.1"))
    done = c.hook("update-ldcache", "--folder", "/volume")
    t.ok(done.returncode == 0 and os.listdir(own) == ["libm.so.550.1"], "and ldconfig makes no link there", done.stderr, os.listdir(own))
    c = make()
    tmpfs(c.path("/dev"))
    done = c.hook("create-symlinks", "--link", "../card0::/dev/dri/by-path/pci-0000:01:00.0-card")
    t.ok(done.returncode == 0 and os.path.islink(c.path("/dev/dri/by-path/pci-0000:01:00.0-card")),
         "the /dev that the runtime made is the container's own", done.stderr)
    own_mounts.bind(c.path("/dev"), c.path("/dev"))  # as mounts that are shared come back
    done = c.hook("create-symlinks", "--link", "../card1::/dev/dri/card")
    t.ok(done.returncode == 0 and os.path.islink(c.path("/dev/dri/card")), "also where it is mounted twice", done.stderr)
    own_mounts.detach(c.path("/dev"))
    for what, part, hide in (("a tmpfs of the host's", "", False), ("a directory of one", "sub", False),
                             ("a directory of one that is mounted nowhere else", "sub", True)):
        c = make()
        own = os.path.join(c.directory, "volume")
        tmpfs(own)
        os.makedirs(os.path.join(own, "sub"))
        own_mounts.bind(os.path.join(own, part), c.path("/dev"))
        if hide:
            own_mounts.detach(own)
        done = c.hook("create-symlinks", "--link", "../card0::/dev/dri/card")
        t.ok(done.returncode == 0 and "ignoring" in done.stderr and not os.path.exists(c.path("/dev/dri")), f"{what} is not", done)
        own_mounts.detach(own)
    c = make()
    own_mounts.mount("none", c.path("/dev"), "ramfs")
    done = c.hook("create-symlinks", "--link", "../card0::/dev/dri/card")
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and not os.path.exists(c.path("/dev/dri")), "nor one of another kind", done)
    c = make()
    own_mounts.mount("/dev", c.path("/dev"), "none", flags=own_mounts.MS_BIND | MS_REC)
    link = f"/dev/gpuhost-test-{os.getpid()}"
    done = c.hook("create-symlinks", "--link", f"x::{link}")
    if not t.ok("ignoring" in done.stderr and not os.path.lexists(link), "the host's own /dev is not", done):
        if os.path.lexists(link):
            os.unlink(link)


def cache(t, make):
    c = make()
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and c.cache() == FOUND, "update-ldcache: the loader finds the folder's libraries", done.stderr, c.cache())
    t.equal(c.read(FOLDERS_CONF), GPU + "\n", "the folder is in a file of its own")
    before = c.tree().keys()
    again = c.hook(*CACHE)
    t.ok(again.returncode == 0 and c.tree().keys() == before and c.read(FOLDERS_CONF) == GPU + "\n", "a second start adds nothing",
         again.stderr)
    c = make()
    write(c.path("/etc/ld.so.conf"), "/opt/own\n")
    c.hook(*CACHE)
    first = c.read("/etc/ld.so.conf")
    again = c.hook(*CACHE)
    t.ok(c.cache() == FOUND and "\n/opt/own\n" in first and c.read("/etc/ld.so.conf") == first,
         "an ld.so.conf that includes nothing gets our files, once", again.stderr, first)
    c = make()
    write(c.path("/etc/ld.so.conf"), "include ld.so.conf.d/*.conf\n")
    write(c.path("/etc/ld.so.conf.d/image.conf"), f"{GPU} # the image's own\n")
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and c.cache() == FOUND and not os.path.exists(c.path(FOLDERS_CONF)),
         "a folder that the image searches anyway keeps its place", done.stderr)
    c = make()
    write(c.path(f"/lib/ld-musl-{os.uname().machine}.so.1"))
    c.hook(*CACHE)
    c.hook(*CACHE)
    t.equal(c.read(f"/etc/ld-musl-{os.uname().machine}.path"), f"/lib:/usr/local/lib:/usr/lib\n{GPU}\n", "musl's path has the folder, once")


def hostile_caches(t, make):
    c = make()
    os.mkfifo(c.path("/etc/ld.so.conf"))
    t.equal(c.hook(*CACHE).returncode, BAD_CONTENT, "an ld.so.conf that is a pipe is no file")
    c = make()
    write(c.path("/etc/ld.so.conf"), "x" * (1 << 20) + "\n")
    t.equal(c.hook(*CACHE).returncode, BAD_CONTENT, "an ld.so.conf of a MiB is too large")
    c = make()
    os.mkfifo(c.path("/etc/ld.so.cache~"))
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and c.cache() == FOUND, "a pipe where ldconfig writes is taken away", done.stderr)
    for name in ("/etc/ld.so.cache", "/etc/ld.so.cache~", "/etc/ld.so.conf", FOLDERS_CONF):
        c = make()
        os.makedirs(c.path("/etc/ld.so.conf.d"))
        os.symlink(os.path.join(c.outside, "secret"), c.path(name))
        done = c.hook(*CACHE)
        t.ok(done.returncode == 0 and c.cache() == FOUND and c.untouched(), f"{name} that leads outside is replaced", done.stderr)
    for name in ("/etc", "/etc/ld.so.conf.d"):
        c = make()
        shutil.rmtree(c.path(name), ignore_errors=True)
        os.symlink("/../../outside/etc", c.path(name))
        done = c.hook(*CACHE)
        t.ok(done.returncode != 0 and c.untouched(), f"{name} that leads outside is an error", done)
    many = [f"/opt/many/{number}" for number in range(1030)]
    for what, conf, files in (("many files", "include /opt/many/*\n", {path: "" for path in many}),
                              ("many includes", "".join(f"include {path}\n" for path in many), {}),
                              ("files of more than a MiB together", "include /opt/many/*\n", {path: "#" * 600_000 for path in many[:2]})):
        c = make()
        write(c.path("/etc/ld.so.conf"), conf)
        for path, content in files.items():
            write(c.path(path), content)
        done = c.hook(*CACHE)
        t.ok(done.returncode == BAD_CONTENT and "with what it includes" in done.stderr, f"an ld.so.conf with {what} is too much", done)
    c = make()
    write(c.path("/etc/ld.so.conf"), "include /opt/many/*\n" * 30)
    for path in many[:1000]:
        write(c.path(path))
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and c.cache() == FOUND, "a thousand files, each named often, are not", done.stderr)
    c = make()
    os.symlink("/../outside", c.path(GPU + "/libsecret.so"))
    write(c.path("/etc/ld.so.conf"), "include /etc/ld.so.conf.d/*.conf\ninclude /etc/ld.so.conf\ninclude /proc/self/mem /dev/zero\n"
          + "/" + "x" * 100000 + "\n")
    write(c.path(GPU + "/libbroken.so.1"), b"\x7fELF" + b"\xff" * 60)
    write(c.path(GPU + "/libempty.so.1"))
    os.mkfifo(c.path(GPU + "/libpipe.so.1"))
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and c.cache().get(LIBRARY) == FOUND[LIBRARY] and c.untouched(),
         "loops, broken libraries and long names end in a cache", done.stderr)


def race(t, make):
    """Somebody who shares the root swaps a directory for a link as fast as he can."""
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
    t.ok(c.untouched(), "a race for a directory is not won", os.listdir(c.outside))


def confined(t, make):
    c = make()
    volume(c, "/volume")
    own_mounts.mount("/proc", c.path("/proc"), "none", flags=own_mounts.MS_BIND | MS_REC)
    tmpfs(c.path("/dev"))
    write(c.path("/dev/null"))
    done = c.hook(*CACHE, "--ldconfig-path", PROBE)
    if done.returncode == UNSUPPORTED:
        t.skip("what ldconfig can do", "no static program can be made here")
        return
    if not t.ok(done.returncode == 0, "another ldconfig runs", done.stderr):
        return
    lines = dict(line.split(" ", 1) for line in c.read("/etc/probe").splitlines())
    t.equal(lines.pop("arguments"), "ldconfig -f /etc/ld.so.conf -C /etc/ld.so.cache", "with these arguments")
    t.equal([what for what, could in lines.items() if could == "yes"], ["own-root"], "it can write to the container's own root, and no more")
    t.ok(not os.listdir(os.path.join(c.directory, "volume")) and len(lines) > 10, "a volume is not written to")


def mounted_files(t, make):
    """Reading a file of /proc can change the host. Here one tells by the folder that it names whether it was read."""
    for what, lead in (("an include", lambda c: write(c.path("/etc/ld.so.conf"), "include /volume/*\n")),
                       ("a link", lambda c: os.symlink("/volume/x.conf", c.path("/etc/ld.so.conf")))):
        c = make()
        lead(c)
        own = volume(c, "/volume")
        write(os.path.join(own, "x.conf"), f"{GPU}\n")
        os.utime(own, (0, 1))
        done = c.hook(*CACHE)
        t.ok(done.returncode == 0 and os.path.exists(c.path(FOLDERS_CONF)) and c.cache() == FOUND and os.stat(own).st_atime == 0,
             f"{what} into a volume: the hook does not read there", done)
    c = make()
    write(c.path("/etc/ld.so.conf"))
    write(os.path.join(c.directory, "mounted"), "include /etc/ld.so.conf.d/*.conf\n")
    own_mounts.bind(os.path.join(c.directory, "mounted"), c.path("/etc/ld.so.conf"))
    done = c.hook(*CACHE)
    t.ok(done.returncode == 0 and "ignoring" in done.stderr and c.cache() == FOUND, "an ld.so.conf that is mounted is left to ldconfig", done)
    own_mounts.detach(c.path("/etc/ld.so.conf"))
    c = make()
    write(os.path.join(volume(c, "/volume"), "libcuda.so.570.86.10"), b"no ELF")
    os.makedirs(c.path("/usr/local/cuda"))
    os.symlink("/volume", c.path("/usr/local/cuda/compat"))
    done = c.hook(*COMPAT)
    t.ok(done.returncode == 0 and not os.path.exists(c.path(COMPAT_CONF)), "no libcuda of a volume is read", done)
    os.unlink(c.path("/usr/local/cuda/compat"))
    os.mkdir(c.path("/usr/local/cuda/compat"))
    os.symlink("/volume/libcuda.so.570.86.10", c.path("/usr/local/cuda/compat/libcuda.so.570.86.10"))
    done = c.hook(*COMPAT)
    t.ok(done.returncode == 0 and not os.path.exists(c.path(COMPAT_CONF)), "nor one that a link leads to", done)


def program_of(hook):
    """What the hook runs, as whoever sees the process can have it; None where it runs nothing."""
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
    program = program_of(hook)  # waits for the pipe to be read
    if program is None:
        t.skip("what ldconfig runs from", "no static program can be made here")
        return
    c.read("/etc/probe")
    wait(hook)
    done = run(["sh", "-c", f"echo >/proc/self/fd/{program}"], pass_fds=[program])
    t.ok("Read-only file system" in done.stderr, "nobody writes to the copy that ldconfig runs from", done)
    os.close(program)


def no_programs_in_memfds(t, make):
    """As hardened hosts have it. The setting is one of a namespace of processes."""
    setting = "/proc/sys/vm/memfd_noexec"
    for value in (1, 2):
        unshare = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", f'echo {value} >{setting} && exec "$@"', "sh"]
        if run([*unshare, "true"]).returncode:
            t.skip(f"vm.memfd_noexec={value}", "it cannot be set here")
            continue
        c = make()
        done = run([*unshare, HOOK, *CACHE], input=json.dumps({"bundle": c.directory}))
        t.ok(done.returncode == 0 and c.cache() == FOUND, f"vm.memfd_noexec={value}: ldconfig runs", done.stderr)


def memory(t, make):
    with open(HOOK, "rb") as file:
        if b"__asan_init" in file.read():
            t.skip("memory", "the address sanitizer's own has no limit")
            return
    hook = start([HOOK, *LINK], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    hook.stdin.write(" " * (1 << 18))  # more than a pipe holds: when all is written, the hook is at work
    with open(f"/proc/{hook.pid}/limits", encoding="utf-8") as file:
        limit = re.search(r"Max data size +(\d+|unlimited) +(\d+|unlimited)", file.read())
    t.equal((limit[1], limit[2]), (str(256 << 20),) * 2, "the hook has a limit of its memory")
    outputs(hook)
    done = run(["prlimit", f"--data={2 << 20}", HOOK, *LINK], input=" " * (1 << 20))
    t.ok(done.returncode == 1 and "more memory than it may" in done.stderr, "with more it gives up", done)


def compat(t, make):
    c = make()
    write(c.path("/usr/local/cuda-12.8/compat/libcuda.so.570.86.10"), b"no ELF")
    os.symlink("/usr/local/cuda-12.8", c.path("/usr/local/cuda"))
    done = c.hook(*COMPAT)
    t.ok(done.returncode == 0 and c.read(COMPAT_CONF) == "/usr/local/cuda/compat\n", "a newer driver of the image comes first", done.stderr)
    done = c.hook("enable-cuda-compat", "--host-driver-version", "580.1")
    t.ok(done.returncode == 0 and not os.path.exists(c.path(COMPAT_CONF)), "and no longer when the host's is newer", done.stderr)
    for what, prepare in (("a pipe", os.mkfifo), ("a link to the host's", lambda path: os.symlink("/proc/self/exe", path)),
                          ("a directory", os.mkdir)):
        c = make()
        os.makedirs(c.path("/usr/local/cuda/compat"))
        prepare(c.path("/usr/local/cuda/compat/libcuda.so.570.86.10"))
        done = c.hook(*COMPAT)
        t.ok(done.returncode == 0 and not os.path.exists(c.path(COMPAT_CONF)), f"{what} is no library", done)
    c = make()
    done = c.hook(*COMPAT)
    t.ok(done.returncode == 0 and not os.path.exists(c.path("/etc/ld.so.conf.d")), "an image without one stays as it is", done.stderr)


def params(t, make):
    c = make()
    text = "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: {}\nDeviceFileUID: 0\n"
    t.equal(c.hook("disable-device-node-modification").returncode, 0, "disable-device-node-modification: a host without a driver needs nothing")
    tmpfs("/proc/driver")
    write(PARAMS, text.format(1))
    done = c.hook("disable-device-node-modification")
    t.ok(done.returncode == 0 and os.listdir(c.path("/proc")) == [], "a container without a /proc neither", done.stderr)
    for kind, prepare in (("writable", lambda c: None), ("read-only", mount_read_only)):
        c = make()
        prepare(c)
        own_mounts.bind("/proc", c.path("/proc"))
        tmpfs(c.path("/proc/driver"))
        write(c.path(PARAMS), text.format(1))
        done = c.hook("disable-device-node-modification")
        t.ok(done.returncode == 0 and c.read(PARAMS) == text.format(1),
             f"{kind} root: a file of the image's in the place of the kernel's is left", done.stderr)
        own_mounts.bind("/proc/version", c.path(PARAMS))
        done = c.hook("disable-device-node-modification")
        t.ok(done.returncode == 0 and c.read(PARAMS) == text.format(0), f"{kind} root: the container's params forbid it", done.stderr)
        t.equal(open(PARAMS, encoding="utf-8").read(), text.format(1), "the host's do not")
        t.ok(run(["sh", "-c", f"echo >{c.path(PARAMS)}"]).returncode != 0, "nobody writes to them")
        with open("/proc/self/mounts", encoding="utf-8") as file:
            there = [line.split()[1] for line in file]
        t.ok(there.count(c.path("/proc")) == 1, "and nothing else is left in its /proc", there)


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
        t.ok(done.returncode == status and done.stderr.startswith("gpuhost-cdi-hook: "), f"{what}: status {status}", done)
    t.ok(not os.path.lexists(c.path("/opt/x")), "of wrong arguments none is followed")
    t.ok("update-ldcache" in c.hook("--help").stdout, "--help")


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
            t.ok(False, f"there is {HOOK}")
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
