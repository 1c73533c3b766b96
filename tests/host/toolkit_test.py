# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's container toolkit in the store: import from all package formats, selection, replacement, off,
removal.

The programs are real, the host is a directory, and containerd is fake (runtime_files.py)."""
import os
import shutil
import tarfile
import tomllib

from fake_host import read, run_checks, write
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
    """Returns everything below the store, with modes, targets and content."""
    found = {}
    for directory, names, files in os.walk(host.path(STORE)):
        for name in names + files:
            path = os.path.join(directory, name)
            st = os.lstat(path)
            found[os.path.relpath(path, host.path(STORE))] = (
                oct(st.st_mode), os.readlink(path) if os.path.islink(path) else open(path, "rb").read() if os.path.isfile(path) else "")
    return found


def check_none(t, host):
    t.ok("none; containers get GPUs by CDI" in host.ctl("status").stdout,
         "status without a toolkit reports CDI")
    t.equal(versions(host), [], "the store is empty without a toolkit")
    t.ok(not os.path.exists(host.path(CONFIG)), "no config.toml is written without a toolkit")


def check_debs(t, host):
    packages = write_debs(inside(host, "debs"), NEW)
    run = host.ctl("toolkit", "import", *packages)
    t.ok(run.returncode == 0 and versions(host) == [NEW],
         "toolkit import accepts Debian packages", run.stdout, run.stderr)
    t.ok(selected(host) == "" and not os.path.exists(host.path(CURRENT)), "toolkit import selects nothing")
    one = host.json("toolkit", "list")["toolkits"][0]
    t.equal(one["packages"], [f"nvidia-container-toolkit-base {NEW}-1", f"libnvidia-container1 {NEW}-1"],
            "toolkit list --json has the packages")
    place = host.path(one["path"])
    t.equal(sorted(os.listdir(place + "/usr/bin")), ["nvidia-cdi-hook", "nvidia-container-cli", "nvidia-container-runtime",
                                                     "nvidia-container-runtime.cdi", "nvidia-ctk"],
            "the store has the packages' programs")
    t.ok(not os.path.exists(place + "/usr/lib/systemd"), "the store has no units of the packages")
    t.equal(oct(os.stat(place + "/usr/bin/nvidia-container-cli").st_mode), "0o100555",
            "an imported program loses set-uid and write bits")
    t.equal(os.readlink(f"{place}/usr/lib/{TRIPLET}/libnvidia-container.so.1"), f"libnvidia-container.so.{NEW}",
            "relative links in packages are kept")
    before = tree(host)
    host.ctl("toolkit", "import", *packages, check=0)
    t.equal(tree(host).keys(), before.keys(), "a repeated toolkit import changes nothing")


def check_select(t, host):
    plan = host.plan()
    t.ok([step["kind"] for step in plan["steps"]][-2:] == ["toolkit.select", "runtime.configure"],
         "plan selects the toolkit before it configures runtimes", plan)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and selected(host) == NEW,
         "apply selects the imported toolkit", run.stdout, run.stderr)
    with open(host.path(f"{CURRENT}/{PROGRAM}"), "rb") as file:
        t.equal(file.read(), program(NEW, "nvidia-container-runtime"),
                "the link 'current' points to the toolkit's programs")
    t.ok(read(host.path(CONFIG)).startswith(MARK + "\n"), "config.toml is marked as written by gpuhostd")
    written = config(host)
    t.equal((written["nvidia-ctk"]["path"], written["nvidia-container-cli"]["path"], written["nvidia-container-runtime-hook"]["path"]),
            (f"{CURRENT}/usr/bin/nvidia-ctk", f"{CURRENT}/usr/bin/nvidia-container-cli", "nvidia-container-runtime-hook"),
            "config.toml has the toolkit's programs by link")
    t.equal(written["nvidia-container-cli"]["environment"], [f"LD_LIBRARY_PATH={CURRENT}/usr/lib/{TRIPLET}"],
            "config.toml sets the toolkit's library path")
    t.equal((written["nvidia-container-runtime"]["mode"], written["features"]["allow-ldconfig-from-container"]), ("auto", False),
            "config.toml keeps NVIDIA's defaults otherwise")
    t.ok(f"{NEW} selected, mode auto; config.toml from gpuhost" in host.ctl("status").stdout,
         "status prints the selected toolkit and its mode", host.ctl("status").stdout)
    t.equal(host.plan("--only", "toolkit")["steps"], [],
            "the plan is empty after selecting the toolkit")


def check_settings(t, host):
    settings(host, "[Toolkit]\nMode=jit-cdi\nOptions=nvidia-container-cli.no-cgroups=true nvidia-container-runtime.runtimes=crun,runc\n")
    run = host.ctl("apply")
    written = config(host)
    t.ok(run.returncode == 0 and (written["nvidia-container-runtime"]["mode"], written["nvidia-container-cli"]["no-cgroups"],
                                  written["nvidia-container-runtime"]["runtimes"]) == ("jit-cdi", True, ["crun", "runc"]),
         "Mode= and Options= change config.toml", run.stderr, written)
    settings(host, "[Toolkit]\nOptions=nvidia-container-cli.no-cgroup=true features.disable-cuda-compat-lib-hook=perhaps "
             "nvidia-container-cli.ldconfig=/sbin/ldconfig nvidia-container-cli.debug=/var/log/cli.log\n")
    run = host.ctl("apply")
    written = config(host)
    t.ok(run.returncode == 0 and written["nvidia-container-cli"]["debug"] == "/var/log/cli.log" and
         written["nvidia-container-cli"]["ldconfig"] == "@/sbin/ldconfig",
         "apply ignores only invalid options", run.stderr)
    status = host.ctl("status").stdout
    for words in "not KEY=VALUE with an option", "neither true nor false", "that begins with @":
        t.ok(words in status, f"status reports an invalid option: {words}", status)
    write(host.path(CONFIG), MARK + "\n[nvidia-container-runtime]\nmode = \"legacy\"\n")
    t.ok("does not match the settings" in host.ctl("apply", "--dry-run").stdout, "plan reports a changed config.toml")
    host.ctl("apply", check=0)
    t.equal(config(host)["nvidia-container-runtime"]["mode"], "auto", "apply restores a changed config.toml")
    settings(host, "")
    host.ctl("apply", check=0)


def check_classes(t, host):
    settings(host, "[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and f'"BinaryName" = "{CURRENT}/{PROGRAM}"' in loaded(host),
         "a runtime class uses the toolkit by link",
         run.stdout, run.stderr, loaded(host))
    restarts = calls(host)
    run = host.ctl("toolkit", "import", *write_rpms(inside(host, "rpms"), NEWEST))
    t.ok(run.returncode == 0 and versions(host) == [NEWEST, NEW],
         "toolkit import accepts RPM packages", run.stdout, run.stderr)
    before = read(host.path(DROP_IN))
    t.equal(host.plan("--only", "runtime")["steps"], [],
            "an unselected toolkit plans no runtime change")
    settings(host, "[Runtime]\nClasses=nvidia\n[Toolkit]\nVersion=off\n")
    host.ctl("apply", "--only", "runtime", check=0)
    t.ok(os.path.exists(host.path(CONFIG)) and selected(host) == NEW,
         "apply --only=runtime does not switch the toolkit off")
    settings(host, "[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and selected(host) == NEWEST,
         "apply selects the newest toolkit", run.stdout, run.stderr)
    t.equal((calls(host), read(host.path(DROP_IN))), (restarts, before),
            "a new toolkit restarts and changes no runtime")
    t.equal(config(host)["nvidia-container-cli"]["environment"], [f"LD_LIBRARY_PATH={CURRENT}/usr/lib64"],
            "config.toml uses the RPM packages' library directory")


def check_tars(t, host):
    path = write_bytes(inside(host, f"tars/nvidia-container-toolkit-{OLD}.tar.gz"), tar(base_files(OLD)))
    run = host.ctl("toolkit", "import", path)
    t.ok(run.returncode == 0 and versions(host) == [NEWEST, NEW, OLD],
         "toolkit import accepts a tar with its name's version", run.stderr)
    release = {f"release-v1.19.0-stable/packages/ubuntu18.04/amd64/{os.path.basename(name)}": (open(name, "rb").read(), 0o644)
               for name in write_debs(inside(host, "release"), "1.19.0")}
    run = host.ctl("toolkit", "import", write_bytes(inside(host, "tars/nvidia-container-toolkit_1.19.0_deb.tar.xz"), tar(release, "w:xz")))
    t.ok(run.returncode == 0 and versions(host) == [NEWEST, "1.19.0", NEW, OLD],
         "toolkit import accepts a tar of packages", run.stderr)
    t.equal(len(next(one for one in host.json("toolkit", "list")["toolkits"] if one["version"] == "1.19.0")["packages"]), 2,
            "a tar of packages imports both packages")
    settings(host, f"[Toolkit]\nVersion={OLD}\n[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and selected(host) == OLD, "Version= selects an older toolkit", run.stderr)
    t.ok("environment" not in config(host)["nvidia-container-cli"] or config(host)["nvidia-container-cli"]["environment"] == [],
         "a toolkit without libraries sets no library path")
    settings(host, "[Toolkit]\nVersion=9.9.9\n")
    run = host.ctl("apply")
    t.ok(run.returncode == NOT_FOUND and "toolkit 9.9.9 is required" in run.stderr and selected(host) == OLD,
         "Version= of an unknown toolkit keeps the selection",
         run.returncode, run.stderr)


def show_maps(host):
    """Writes empty maps for the processes of the fake containerd."""
    for pid in os.listdir(host.path("/proc")):
        if pid.isdigit():
            write(host.path(f"/proc/{pid}/maps"), "")


def bomb(path):
    """Writes a tar whose member claims a size of 64 GiB."""
    member = tarfile.TarInfo(PROGRAM)
    member.size = 64 << 30
    return write_bytes(path, member.tobuf(tarfile.GNU_FORMAT) + bytes(10240))


def check_real(t, host):
    """Packages by rpmbuild and dpkg-deb, compressed as current distributions do."""
    tools = [tool for tool in ("rpmbuild", "dpkg-deb") if shutil.which(tool)]
    for number, tool in enumerate(tools):
        version = f"1.16.{number}"
        package = real_package(inside(host, f"real-{tool}"), tool, version)
        run = host.ctl("toolkit", "import", package)
        t.ok(run.returncode == 0 and version in versions(host),
             f"toolkit import accepts a package by {tool}", run.stderr)
        show_maps(host)
        host.ctl("toolkit", "remove", version, check=0)
    for tool in {"rpmbuild", "dpkg-deb"} - set(tools):
        t.skip(f"toolkit import accepts a package by {tool}", f"no {tool}")


HOSTILE = {
    "an absolute path": {"/usr/bin/nvidia-container-runtime": (b"x", 0o755)},
    "a path with '..'": {"usr/bin/../../../etc/passwd": (b"x", 0o644)},
    "a link out of the package": {"usr/bin/nvidia-ctk": "../../../../etc/passwd"},
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
        ("a tar without a version", "toolkit.tar.gz", tar(base_files("1.18.2")), BAD_CONTENT),
        ("a truncated RPM package", "x.rpm", whole[:-200], BAD_CONTENT),
        ("an RPM package with an invalid index", "x.rpm", whole[:108] + b"\xff\xff" + whole[110:], BAD_CONTENT),
        ("an invalid archive", "nvidia-container-toolkit-1.18.2.tar.gz", b"hello" * 1000, BAD_CONTENT),
        ("an invalid version", "x.deb", deb("nvidia-container-toolkit-base", "../1", base_files("1.18.2")), BAD_CONTENT),
    ]
    for name, file, content, status in cases:
        run = host.ctl("toolkit", "import", write_bytes(inside(host, f"hostile/{file}"), content))
        t.ok(run.returncode == status and tree(host) == before,
             f"toolkit import refuses {name}", run.returncode, run.stdout, run.stderr)
    run = host.ctl("toolkit", "import", bomb(inside(host, "hostile/nvidia-container-toolkit-1.18.2.tar")))
    t.ok(run.returncode == BAD_CONTENT and "is larger than" in run.stderr and tree(host) == before,
         "toolkit import refuses a member of 64 GiB",
         run.returncode, run.stderr)
    mixed = [write_debs(inside(host, "mixed"), "1.18.2")[0], write_debs(inside(host, "mixed"), "1.18.3")[1]]
    run = host.ctl("toolkit", "import", *mixed)
    t.ok(run.returncode == BAD_CONTENT and "different versions" in run.stderr and tree(host) == before,
         "toolkit import refuses packages of different versions", run.stderr)
    t.equal(os.listdir(host.path("/var/lib/gpuhost/staging")), [],
            "refused imports leave no staging directory")


def check_remove(t, host):
    settings(host, "[Runtime]\nClasses=nvidia\n")
    host.ctl("apply", check=0)
    run = host.ctl("toolkit", "remove", NEWEST)
    t.ok(run.returncode == IN_USE and "is selected" in run.stderr,
         "removing the selected toolkit is refused", run.returncode, run.stderr)
    run = host.ctl("toolkit", "remove", "7.7.7")
    t.equal(run.returncode, NOT_FOUND, "removing an unknown toolkit fails")
    old = next(one["path"] for one in host.json("toolkit", "list")["toolkits"] if one["version"] == NEW)
    show_maps(host)
    task = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/c0ffee/options.json"
    write(host.path(task), f'{{"binary_name":"{old}/{PROGRAM}"}}')
    run = host.ctl("toolkit", "remove", NEW)
    t.ok(run.returncode == IN_USE and "k8s.io/c0ffee" in run.stderr and NEW in versions(host),
         "removing a toolkit of a running container is refused", run.returncode, run.stderr)
    os.unlink(host.path(task))
    inode = os.stat(host.path(f"{old}/{PROGRAM}")).st_ino
    write(host.path("/proc/812/maps"), f"7f00-7f01 r-xp 00000000 fd:01 {inode}   {old}/{PROGRAM}\n")
    write(host.path("/proc/812/stat"), "812 (nvidia-containe) S\n")
    run = host.ctl("toolkit", "remove", NEW)
    t.ok(run.returncode == IN_USE and "process 812" in run.stderr and NEW in versions(host),
         "removing a toolkit of a running process is refused", run.returncode, run.stderr)
    shutil.rmtree(host.path("/proc/812"))
    for version in (NEW, OLD):
        run = host.ctl("toolkit", "remove", version)
        t.ok(run.returncode == 0 and version not in versions(host),
             f"removing the unused toolkit {version} succeeds", run.stderr)
    t.ok(not os.path.exists(host.path(f"{STORE}/{NEW}")) and not os.path.exists(host.path(f"{STORE}/.trash")),
         "removing a toolkit deletes its files")


def check_others(t, host):
    """A config.toml of another owner."""
    theirs = "# mine\naccept-nvidia-visible-devices-as-volume-mounts = true\n[nvidia-container-runtime]\nmode = \"legacy\"\n"
    write(host.path(CONFIG), theirs)
    t.equal(host.plan("--only", "toolkit")["steps"], [],
            "a config.toml of another owner plans nothing")
    t.ok("config.toml of another program takes precedence" in host.ctl("status").stdout,
         "status reports a config.toml of another owner")
    shown = host.ctl("toolkit", "show", "--root", host.root).stdout
    t.ok('nvidia-container-runtime.mode is "legacy", but gpuhost would set "auto"' in shown and "as-volume-mounts is true, but" in shown,
         "toolkit show lists options that differ", shown)
    settings(host, "[Toolkit]\nVersion=1.19.0\n[Runtime]\nClasses=nvidia\n")
    t.ok("stays unchanged and takes precedence" in host.ctl("apply", "--dry-run").stdout,
         "plan reports a config.toml of another owner")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and selected(host) == "1.19.0" and read(host.path(CONFIG)) == theirs,
         "apply selects a toolkit despite a foreign config.toml", run.stderr)
    t.ok("takes precedence" in run.stdout + run.stderr,
         "apply warns of a config.toml of another owner", run.stdout, run.stderr)
    os.unlink(host.path(CONFIG))
    host.ctl("apply", check=0)
    t.ok(read(host.path(CONFIG)).startswith(MARK),
         "apply writes config.toml after the foreign one is removed")


def check_off(t, host):
    settings(host, "[Toolkit]\nVersion=off\n")
    task = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/c0ffee/options.json"
    write(host.path(task), f'{{"binary_name":"{CURRENT}/{PROGRAM}"}}')
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and not os.path.exists(host.path(CONFIG)) and os.path.lexists(host.path(CURRENT)),
         "Version=off keeps the link while a container uses it", run.stdout, run.stderr)
    os.unlink(host.path(task))
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and not os.path.lexists(host.path(CURRENT)),
         "Version=off removes the link after the container ended", run.stderr)
    settings(host, "[Runtime]\nClasses=nvidia\n")
    host.ctl("apply", "--only", "toolkit", check=0)
    host.ctl("runtime", "configure", check=0)  # requested restarts are not limited
    settings(host, "[Toolkit]\nVersion=off\n[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and CURRENT in dump(host) and os.path.lexists(host.path(CURRENT)),
         "Version=off keeps the link while a runtime uses it", run.stderr)
    settings(host, "[Toolkit]\nVersion=off\n")
    host.ctl("runtime", "configure", check=0)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and not os.path.lexists(host.path(CURRENT)),
         "Version=off removes the link after the runtime changed", run.stdout, run.stderr)
    t.ok(CURRENT not in dump(host) and "enable_cdi" in dump(host),
         "Version=off configures runtimes for CDI only", dump(host))
    t.equal(host.plan()["steps"], [], "the plan is empty after Version=off")
    write(host.path("/usr/bin/nvidia-container-runtime"), "#!/bin/sh\n")
    settings(host, "[Toolkit]\nVersion=preinstalled\n[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and '"/usr/bin/nvidia-container-runtime"' in dump(host) and not os.path.exists(host.path(CONFIG)),
         "Version=preinstalled makes runtimes use the host's toolkit", run.stderr, dump(host))
    t.ok("the host's own, in /usr/bin" in host.ctl("status").stdout, "status reports the host's own toolkit")
    settings(host, "[Runtime]\nClasses=nvidia\n")
    host.ctl("apply", check=0)
    t.ok(selected(host) == NEWEST and CURRENT in dump(host),
         "the store's toolkit is preferred to the host's", dump(host))


def check_alone(t, host):
    """The hourly apply --only=runtime does not know whether another apply selects an imported toolkit."""
    settings(host, "[Toolkit]\nVersion=preinstalled\n[Runtime]\nClasses=nvidia\n")
    host.ctl("runtime", "configure", check=0)
    host.ctl("apply", check=0)
    t.ok(not os.path.lexists(host.path(CURRENT)), "Version=preinstalled removes the link to the store")
    settings(host, "[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply", "--only", "runtime")
    t.ok(run.returncode == 0 and '"/usr/bin/nvidia-container-runtime"' in dump(host),
         "apply --only=runtime keeps the host's toolkit", run.stderr, dump(host))
    before = read(host.path(DROP_IN))
    host.ctl("apply", "--only", "runtime", check=0)
    t.equal(read(host.path(DROP_IN)), before, "a repeated apply --only=runtime changes nothing")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and CURRENT in dump(host) and selected(host) == NEWEST,
         "apply selects the store's toolkit for runtimes", run.stderr, dump(host))


def check_damage(t, host):
    place = host.path(next(one["path"] for one in host.json("toolkit", "list")["toolkits"] if one["version"] == "1.19.0"))
    path = f"{place}/{PROGRAM}"
    os.chmod(path, 0o755)
    with open(path, "ab") as file:
        file.write(b"x")
    settings(host, "[Toolkit]\nVersion=1.19.0\n[Runtime]\nClasses=nvidia\n")
    run = host.ctl("apply")
    t.ok(run.returncode == BAD_CONTENT and "is damaged" in run.stderr and selected(host) == NEWEST,
         "a damaged toolkit is not selected", run.returncode, run.stderr)
    host.ctl("toolkit", "import", *write_debs(inside(host, "release"), "1.19.0"), check=0)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and selected(host) == "1.19.0",
         "a toolkit is selected after another import repairs it", run.stderr)


def install(host):
    host.install()
    install_containerd(host)


run_checks(check_none, check_debs, check_select, check_settings, check_classes, check_tars,
           check_real, check_hostile, check_remove, check_others, check_off, check_alone, check_damage, make=install, gpus=())
