# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's container toolkit in the store: imported from all that it comes in, selected, exchanged, switched off, removed.

The programs are real, the host is a directory, and containerd is played (runtime_files.py)."""
import os
import shutil
import tarfile
import tomllib

import tap
from fake_host import FakeHost, read, write
from runtime_files import DROP_IN, calls, dump, install_containerd, loaded
from toolkit_files import (CONFIG, CURRENT, OTHER_DEB, OTHER_RPM, PROGRAM, STORE, TRIPLET, base_files, deb, program, real_package, rpm, tar,
                           write_bytes, write_debs, write_rpms)

BAD_ARGUMENT, NOT_FOUND, IN_USE, BAD_CONTENT, UNSUPPORTED = 2, 4, 7, 9, 10
OLD, NEW, NEWEST = "1.17.9", "1.18.1", "1.20.0"
MARK = "# Written by gpuhostd; changes are lost."


def inside(host, path):
    return os.path.join(host.scratch, path)


def settings(host, text):
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/toolkit.conf"), text)
    host.ctl("reload", check=0)


def versions(host):
    return [one["version"] for one in host.json("toolkit", "list")["toolkits"]]


def selected(host):
    return host.json("toolkit", "show", "--root", host.root)["selected"]


def config(host):
    return tomllib.loads(read(host.path(CONFIG)))


def tree(host):
    """All that is below the store, with modes, targets and content."""
    found = {}
    for directory, names, files in os.walk(host.path(STORE)):
        for name in names + files:
            path = os.path.join(directory, name)
            st = os.lstat(path)
            found[os.path.relpath(path, host.path(STORE))] = (
                oct(st.st_mode), os.readlink(path) if os.path.islink(path) else open(path, "rb").read() if os.path.isfile(path) else "")
    return found


def check_none(t, host):
    t.ok("none; containers get GPUs by CDI" in host.ctl("status").stdout, "without a toolkit status says how containers get GPUs")
    t.equal(versions(host), [], "and the store is empty")
    t.ok(not os.path.exists(host.path(CONFIG)), "nothing is written for one")


def check_debs(t, host):
    packages = write_debs(inside(host, "debs"), NEW)
    run = host.ctl("toolkit", "import", *packages)
    t.ok(run.returncode == 0 and versions(host) == [NEW], "Debian packages come into the store", run.stdout, run.stderr)
    t.ok(selected(host) == "" and not os.path.exists(host.path(CURRENT)), "and nothing is selected yet")
    one = host.json("toolkit", "list")["toolkits"][0]
    t.equal(one["packages"], [f"nvidia-container-toolkit-base {NEW}-1", f"libnvidia-container1 {NEW}-1"], "it is known what they were")
    place = host.path(one["path"])
    t.equal(sorted(os.listdir(place + "/usr/bin")), ["nvidia-cdi-hook", "nvidia-container-cli", "nvidia-container-runtime",
                                                     "nvidia-container-runtime.cdi", "nvidia-ctk"], "their programs are there")
    t.ok(not os.path.exists(place + "/usr/lib/systemd"), "and no unit of theirs")
    t.equal(oct(os.stat(place + "/usr/bin/nvidia-container-cli").st_mode), "0o100555", "a set-uid bit is dropped, and nobody can write")
    t.equal(os.readlink(f"{place}/usr/lib/{TRIPLET}/libnvidia-container.so.1"), f"libnvidia-container.so.{NEW}", "links inside stay")
    before = tree(host)
    host.ctl("toolkit", "import", *packages, check=0)
    t.equal(tree(host).keys(), before.keys(), "the same once more changes nothing")


def check_select(t, host):
    plan = host.json("plan")
    t.ok([step["kind"] for step in plan["steps"]][-2:] == ["toolkit.select", "runtime.configure"], "apply would select it before runtimes are configured", plan)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and selected(host) == NEW, "apply selects it", run.stdout, run.stderr)
    with open(host.path(f"{CURRENT}/{PROGRAM}"), "rb") as file:
        t.equal(file.read(), program(NEW, "nvidia-container-runtime"), "its programs are behind one link")
    t.ok(read(host.path(CONFIG)).startswith(MARK + "\n"), "config.toml is marked as ours")
    written = config(host)
    t.equal((written["nvidia-ctk"]["path"], written["nvidia-container-cli"]["path"], written["nvidia-container-runtime-hook"]["path"]),
            (f"{CURRENT}/usr/bin/nvidia-ctk", f"{CURRENT}/usr/bin/nvidia-container-cli", "nvidia-container-runtime-hook"),
            "and leads to its programs by that link, but for one that it does not have")
    t.equal(written["nvidia-container-cli"]["environment"], [f"LD_LIBRARY_PATH={CURRENT}/usr/lib/{TRIPLET}"], "and to its libraries")
    t.equal((written["nvidia-container-runtime"]["mode"], written["features"]["allow-ldconfig-from-container"]), ("auto", False),
            "all else is NVIDIA's default")
    t.ok(f"{NEW} selected, mode auto; config.toml from gpuhost" in host.ctl("status").stdout, "status says so", host.ctl("status").stdout)
    t.equal(host.json("plan", "--only", "toolkit")["steps"], [], "there is nothing more to do")


def check_settings(t, host):
    settings(host, "[Toolkit]\nMode=jit-cdi\nOptions=nvidia-container-cli.no-cgroups=true nvidia-container-runtime.runtimes=crun,runc\n")
    run = host.ctl("apply")
    written = config(host)
    t.ok(run.returncode == 0 and (written["nvidia-container-runtime"]["mode"], written["nvidia-container-cli"]["no-cgroups"],
                                  written["nvidia-container-runtime"]["runtimes"]) == ("jit-cdi", True, ["crun", "runc"]),
         "settings have their way with config.toml", run.stderr, written)
    settings(host, "[Toolkit]\nOptions=nvidia-container-cli.no-cgroup=true features.disable-cuda-compat-lib-hook=perhaps "
             "nvidia-container-cli.ldconfig=/sbin/ldconfig nvidia-container-cli.debug=/var/log/cli.log\n")
    run = host.ctl("apply")
    written = config(host)
    t.ok(run.returncode == 0 and written["nvidia-container-cli"]["debug"] == "/var/log/cli.log" and
         written["nvidia-container-cli"]["ldconfig"] == "@/sbin/ldconfig", "options that can't be are passed over, and the others not", run.stderr)
    status = host.ctl("status").stdout
    for words in "no KEY=VALUE of an option", "neither true nor false", "with an @ in front":
        t.ok(words in status, f"status says of each what is wrong: {words}", status)
    write(host.path(CONFIG), MARK + "\n[nvidia-container-runtime]\nmode = \"legacy\"\n")
    t.ok("not as the settings want it" in host.ctl("plan").stdout, "what somebody changes in it is seen")
    host.ctl("apply", check=0)
    t.equal(config(host)["nvidia-container-runtime"]["mode"], "auto", "and put right")
    settings(host, "")
    host.ctl("apply", check=0)


def check_classes(t, host):
    settings(host, "[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and f'"BinaryName" = "{CURRENT}/{PROGRAM}"' in loaded(host), "a runtime class leads to the toolkit by the link",
         run.stdout, run.stderr, loaded(host))
    restarts = calls(host)
    run = host.ctl("toolkit", "import", *write_rpms(inside(host, "rpms"), NEWEST))
    t.ok(run.returncode == 0 and versions(host) == [NEWEST, NEW], "RPM packages come in beside it", run.stdout, run.stderr)
    before = read(host.path(DROP_IN))
    t.equal(host.json("plan", "--only", "runtime")["steps"], [], "runtimes have nothing to do with it until it is selected")
    settings(host, "[Runtime]\nClasses=nvidia\n[Toolkit]\nVersion=off\n")
    host.ctl("apply", "--only", "runtime", check=0)
    t.ok(os.path.exists(host.path(CONFIG)) and selected(host) == NEW, "they switch none off")
    settings(host, "[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and selected(host) == NEWEST, "the newest is taken", run.stdout, run.stderr)
    t.equal((calls(host), read(host.path(DROP_IN))), (restarts, before), "with no restart and no change of the runtime's files")
    t.equal(config(host)["nvidia-container-cli"]["environment"], [f"LD_LIBRARY_PATH={CURRENT}/usr/lib64"], "its libraries are where rpm has them")


def check_tars(t, host):
    path = write_bytes(inside(host, f"tars/nvidia-container-toolkit-{OLD}.tar.gz"), tar(base_files(OLD)))
    run = host.ctl("toolkit", "import", path)
    t.ok(run.returncode == 0 and versions(host) == [NEWEST, NEW, OLD], "a tar of a tree comes in, with the version of its name", run.stderr)
    release = {f"release-v1.19.0-stable/packages/ubuntu18.04/amd64/{os.path.basename(name)}": (open(name, "rb").read(), 0o644)
               for name in write_debs(inside(host, "release"), "1.19.0")}
    run = host.ctl("toolkit", "import", write_bytes(inside(host, "tars/nvidia-container-toolkit_1.19.0_deb.tar.xz"), tar(release, "w:xz")))
    t.ok(run.returncode == 0 and versions(host) == [NEWEST, "1.19.0", NEW, OLD], "a tar of packages, as NVIDIA's releases are, comes in", run.stderr)
    t.equal(len(next(one for one in host.json("toolkit", "list")["toolkits"] if one["version"] == "1.19.0")["packages"]), 2, "with both of them")
    settings(host, f"[Toolkit]\nVersion={OLD}\n[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and selected(host) == OLD, "a stated version is selected, also an older one", run.stderr)
    t.ok("environment" not in config(host)["nvidia-container-cli"] or config(host)["nvidia-container-cli"]["environment"] == [],
         "one without libraries needs none")
    settings(host, "[Toolkit]\nVersion=9.9.9\n")
    run = host.ctl("apply")
    t.ok(run.returncode == NOT_FOUND and "toolkit 9.9.9 is wanted" in run.stderr and selected(host) == OLD, "one that is not here is refused, and what was stays",
         run.returncode, run.stderr)


def show_maps(host):
    """The processes of containerd, which a test plays, map nothing."""
    for pid in os.listdir(host.path("/proc")):
        if pid.isdigit():
            write(host.path(f"/proc/{pid}/maps"), "")


def bomb(path):
    """A tar with a member that says it has 64 GiB."""
    member = tarfile.TarInfo(PROGRAM)
    member.size = 64 << 30
    return write_bytes(path, member.tobuf(tarfile.GNU_FORMAT) + bytes(10240))


def check_real(t, host):
    """Packages that rpmbuild and dpkg-deb make, packed as distributions do today."""
    tools = [tool for tool in ("rpmbuild", "dpkg-deb") if shutil.which(tool)]
    for number, tool in enumerate(tools):
        version = f"1.16.{number}"
        package = real_package(inside(host, f"real-{tool}"), tool, version)
        run = host.ctl("toolkit", "import", package)
        t.ok(run.returncode == 0 and version in versions(host), f"what {tool} makes comes in", run.stderr)
        show_maps(host)
        host.ctl("toolkit", "remove", version, check=0)
    for tool in {"rpmbuild", "dpkg-deb"} - set(tools):
        t.skip(f"what {tool} makes comes in", f"no {tool} here")


HOSTILE = {
    "an absolute path": {"/usr/bin/nvidia-container-runtime": (b"x", 0o755)},
    "a path that climbs": {"usr/bin/../../../etc/passwd": (b"x", 0o644)},
    "a link that leads out": {"usr/bin/nvidia-ctk": "../../../../etc/passwd"},
    "a link to an absolute path": {"usr/lib/libnvidia-container.so.1": "/lib/x86_64-linux-gnu/libc.so.6"},
    "too many files": {f"usr/bin/nvidia-{i}": (b"x", 0o755) for i in range(600)},
}


def check_hostile(t, host):
    before = tree(host)
    cases = [(name, f"nvidia-container-toolkit-1.18.2.tar.gz", tar({**base_files("1.18.2"), **files} if "absolute" not in name else {**files, **base_files("1.18.2")}),
              BAD_CONTENT) for name, files in HOSTILE.items()]
    cases += [(f"{name}, in an RPM package", "x.rpm", rpm("nvidia-container-toolkit-base", "1.18.2", {**base_files("1.18.2"), **files}), BAD_CONTENT)
              for name, files in HOSTILE.items() if name not in ("an absolute path",)]
    without = {path: content for path, content in base_files("1.18.2").items() if path != PROGRAM}
    foreign = bytearray(program("1.18.2", "x"))
    foreign[18] ^= 0xff
    whole = rpm("nvidia-container-toolkit-base", "1.18.2", base_files("1.18.2"))
    cases += [
        ("a package for another machine", "x.deb", deb("nvidia-container-toolkit-base", "1.18.2", base_files("1.18.2"), OTHER_DEB), UNSUPPORTED),
        ("an RPM package for another machine", "x.rpm", rpm("nvidia-container-toolkit-base", "1.18.2", base_files("1.18.2"), OTHER_RPM), UNSUPPORTED),
        ("programs of another machine", "x-1.18.2.tar", tar({PROGRAM: (bytes(foreign), 0o755)}, "w"), BAD_CONTENT),
        ("no nvidia-container-runtime", "x.deb", deb("nvidia-container-toolkit-base", "1.18.2", without), BAD_CONTENT),
        ("a tar that says no version", "toolkit.tar.gz", tar(base_files("1.18.2")), BAD_CONTENT),
        ("an RPM package that is cut off", "x.rpm", whole[:-200], BAD_CONTENT),
        ("an RPM package with an index that leads nowhere", "x.rpm", whole[:108] + b"\xff\xff" + whole[110:], BAD_CONTENT),
        ("what is no archive", "nvidia-container-toolkit-1.18.2.tar.gz", b"hello" * 1000, BAD_CONTENT),
        ("a version that is none", "x.deb", deb("nvidia-container-toolkit-base", "../1", base_files("1.18.2")), BAD_CONTENT),
    ]
    for name, file, content, status in cases:
        run = host.ctl("toolkit", "import", write_bytes(inside(host, f"hostile/{file}"), content))
        t.ok(run.returncode == status and tree(host) == before, f"refused, with nothing changed: {name}", run.returncode, run.stdout, run.stderr)
    run = host.ctl("toolkit", "import", bomb(inside(host, "hostile/nvidia-container-toolkit-1.18.2.tar")))
    t.ok(run.returncode == BAD_CONTENT and "is larger than" in run.stderr and tree(host) == before, "refused, with nothing changed: a member without an end",
         run.returncode, run.stderr)
    mixed = [write_debs(inside(host, "mixed"), "1.18.2")[0], write_debs(inside(host, "mixed"), "1.18.3")[1]]
    run = host.ctl("toolkit", "import", *mixed)
    t.ok(run.returncode == BAD_CONTENT and "different versions" in run.stderr and tree(host) == before, "two versions in one are refused", run.stderr)
    t.equal(os.listdir(host.path("/var/lib/gpuhost/staging")), [], "and nothing is left behind")


def check_remove(t, host):
    settings(host, "[Runtime]\nClasses=nvidia\n")
    host.ctl("apply", check=0)
    run = host.ctl("toolkit", "remove", NEWEST)
    t.ok(run.returncode == IN_USE and "is selected" in run.stderr, "the selected one is not removed", run.returncode, run.stderr)
    run = host.ctl("toolkit", "remove", "7.7.7")
    t.equal(run.returncode, NOT_FOUND, "nor one that is not here")
    old = next(one["path"] for one in host.json("toolkit", "list")["toolkits"] if one["version"] == NEW)
    show_maps(host)
    task = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/c0ffee/options.json"
    write(host.path(task), f'{{"binary_name":"{old}/{PROGRAM}"}}')
    run = host.ctl("toolkit", "remove", NEW)
    t.ok(run.returncode == IN_USE and "k8s.io/c0ffee" in run.stderr and NEW in versions(host), "nor one whose container runs", run.returncode, run.stderr)
    os.unlink(host.path(task))
    inode = os.stat(host.path(f"{old}/{PROGRAM}")).st_ino
    write(host.path("/proc/812/maps"), f"7f00-7f01 r-xp 00000000 fd:01 {inode}   {old}/{PROGRAM}\n")
    write(host.path("/proc/812/stat"), "812 (nvidia-containe) S\n")
    run = host.ctl("toolkit", "remove", NEW)
    t.ok(run.returncode == IN_USE and "process 812" in run.stderr and NEW in versions(host), "nor one that a process runs", run.returncode, run.stderr)
    shutil.rmtree(host.path("/proc/812"))
    for version in (NEW, OLD):
        run = host.ctl("toolkit", "remove", version)
        t.ok(run.returncode == 0 and version not in versions(host), f"{version}, of which nobody has anything, is", run.stderr)
    t.ok(not os.path.exists(host.path(f"{STORE}/{NEW}")) and not os.path.exists(host.path(f"{STORE}/.trash")), "with all its files")


def check_others(t, host):
    """A config.toml that somebody else wrote."""
    theirs = "# mine\naccept-nvidia-visible-devices-as-volume-mounts = true\n[nvidia-container-runtime]\nmode = \"legacy\"\n"
    write(host.path(CONFIG), theirs)
    t.equal(host.json("plan", "--only", "toolkit")["steps"], [], "a file of somebody else's is nothing to do about")
    t.ok("config.toml of another program takes precedence" in host.ctl("status").stdout, "status says whose it is")
    shown = host.ctl("toolkit", "show", "--root", host.root).stdout
    t.ok('nvidia-container-runtime.mode is "legacy" there, and would be "auto"' in shown and "as-volume-mounts is true there" in shown,
         "show says which options differ", shown)
    settings(host, "[Toolkit]\nVersion=1.19.0\n[Runtime]\nClasses=nvidia\n")
    t.ok("stays as it is, and has the last word" in host.ctl("plan").stdout, "a plan that selects another version says it too")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and selected(host) == "1.19.0" and read(host.path(CONFIG)) == theirs, "another version is selected all the same", run.stderr)
    t.ok("has the last word" in run.stdout + run.stderr, "with a word on it", run.stdout, run.stderr)
    os.unlink(host.path(CONFIG))
    host.ctl("apply", check=0)
    t.ok(read(host.path(CONFIG)).startswith(MARK), "once it is gone ours comes")


def check_off(t, host):
    settings(host, "[Toolkit]\nVersion=off\n")
    task = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/c0ffee/options.json"
    write(host.path(task), f'{{"binary_name":"{CURRENT}/{PROGRAM}"}}')
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and not os.path.exists(host.path(CONFIG)) and os.path.lexists(host.path(CURRENT)),
         "off, config.toml goes, and the link stays while a container needs it for its end", run.stdout, run.stderr)
    os.unlink(host.path(task))
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and not os.path.lexists(host.path(CURRENT)), "and then goes too", run.stderr)
    settings(host, "[Runtime]\nClasses=nvidia\n")
    host.ctl("apply", "--only", "toolkit", check=0)
    host.ctl("runtime", "configure", check=0)  # restarts that somebody asks for are not counted
    settings(host, "[Toolkit]\nVersion=off\n[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and CURRENT in dump(host) and os.path.lexists(host.path(CURRENT)), "it stays while a runtime names it", run.stderr)
    settings(host, "[Toolkit]\nVersion=off\n")
    host.ctl("runtime", "configure", check=0)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and not os.path.lexists(host.path(CURRENT)), "and goes behind that", run.stdout, run.stderr)
    t.ok(CURRENT not in dump(host) and "enable_cdi" in dump(host), "runtimes give GPUs by CDI", dump(host))
    t.equal(host.json("plan")["steps"], [], "which is all")
    write(host.path("/usr/bin/nvidia-container-runtime"), "#!/bin/sh\n")
    settings(host, "[Toolkit]\nVersion=preinstalled\n[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and '"/usr/bin/nvidia-container-runtime"' in dump(host) and not os.path.exists(host.path(CONFIG)),
         "preinstalled, runtimes are led to the host's own, whose config.toml is not ours", run.stderr, dump(host))
    t.ok("the host's own, in /usr/bin" in host.ctl("status").stdout, "status says so")
    settings(host, "[Runtime]\nClasses=nvidia\n")
    host.ctl("apply", check=0)
    t.ok(selected(host) == NEWEST and CURRENT in dump(host), "by default the store's comes before it", dump(host))


def check_alone(t, host):
    """What looks after runtimes every hour does not know whether anybody selects what came in."""
    settings(host, "[Toolkit]\nVersion=preinstalled\n[Runtime]\nClasses=nvidia\n")
    host.ctl("runtime", "configure", check=0)
    host.ctl("apply", check=0)
    t.ok(not os.path.lexists(host.path(CURRENT)), "nothing names the store's")
    settings(host, "[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply", "--only", "runtime")
    t.ok(run.returncode == 0 and '"/usr/bin/nvidia-container-runtime"' in dump(host), "runtimes alone go on with the toolkit that is selected", run.stderr, dump(host))
    before = read(host.path(DROP_IN))
    host.ctl("apply", "--only", "runtime", check=0)
    t.equal(read(host.path(DROP_IN)), before, "however often they are looked after")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and CURRENT in dump(host) and selected(host) == NEWEST, "until all is applied", run.stderr, dump(host))


def check_damage(t, host):
    place = host.path(next(one["path"] for one in host.json("toolkit", "list")["toolkits"] if one["version"] == "1.19.0"))
    path = f"{place}/{PROGRAM}"
    os.chmod(path, 0o755)
    with open(path, "ab") as file:
        file.write(b"x")
    settings(host, "[Toolkit]\nVersion=1.19.0\n[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == BAD_CONTENT and "is damaged" in run.stderr and selected(host) == NEWEST, "a damaged one is not selected", run.returncode, run.stderr)
    host.ctl("toolkit", "import", *write_debs(inside(host, "release"), "1.19.0"), check=0)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and selected(host) == "1.19.0", "imported again it is well", run.stderr)


def main():
    t = tap.Tap()
    host = FakeHost(gpus=())
    try:
        host.install()
        install_containerd(host)
        host.start_daemon()
        host.settle()
        for check in (check_none, check_debs, check_select, check_settings, check_classes, check_tars, check_real, check_hostile, check_remove, check_others, check_off,
                      check_alone, check_damage):
            check(t, host)
        if t.failed:
            print("\n".join("# " + line for line in host.tail().splitlines()))
    finally:
        host.close()
    t.done()


main()
