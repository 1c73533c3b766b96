# SPDX-License-Identifier: Apache-2.0
"""The packages' maintainer scripts: refusals and deletions, with their paths in a temporary directory."""
import os
import re
import shlex
import shutil
import tempfile

import programs
import tap
from fake_host import read, write

UNFINISHED, FINISHED = '12345678 {"type":"start"}\n', '12345678 {"type":"start"}\n12345678 {"outcome":"committed","type":"end"}\n'
BUSCTL = "#!/bin/sh\ncat {0}/state\n"


class Place:
    """A directory that replaces the host's directories for the scripts, with programs first in PATH."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="gpuhost-")
        self.programs = os.path.join(self.root, "programs")
        self.program("busctl", BUSCTL.format(self.root))
        for name in ("systemctl", "gpuhostctl", "ldconfig", "depmod"):
            self.program(name, "#!/bin/sh\nexit 0\n")

    def program(self, name, text):
        path = os.path.join(self.programs, name)
        write(path, text)
        os.chmod(path, 0o755)

    def path(self, path):
        return self.root + path

    def install(self, script, name):
        script = re.sub(r"(?<![\w}.*-])(?=/(var|run|etc|usr|lib|sys)/)", self.root, script).replace("$DESTDIR/", f"$DESTDIR{self.root}/")
        write(self.path(f"/scripts/{name}"), script)
        return self.path(f"/scripts/{name}")

    def run(self, script, *arguments, **variables):
        return programs.run(["sh", script, *arguments], env=programs.environment(PATH=f"{self.programs}:{os.environ['PATH']}", **variables))


def source(*path):
    return read(os.path.join(tap.TOP_SRCDIR, "packaging", *path))


def scriptlet(name):
    """Returns a scriptlet of the RPM specification."""
    lines = source("rpm", "gpuhostd.spec.in").splitlines()
    first = lines.index(f"%{name}") + 1
    last = next(i for i in range(first, len(lines)) if lines[i].startswith("%"))
    return "set -e\n" + "\n".join(lines[first:last]) + "\n"


def check_removal(t, place, kind, script, remove):
    """Checks the removal script. `remove` is its argument for a removal."""
    script = place.install(script, kind)
    journal = place.path("/var/lib/gpuhost/journal/7.jsonl")
    os.makedirs(place.path("/run/systemd/system"), exist_ok=True)

    def ends(name, status, *, active, state, record):
        place.program("systemctl", f"#!/bin/sh\n[ \"$2\" != is-active ] || exit {0 if active else 3}\n")
        write(place.path("/state"), state)
        write(journal, record)
        run = place.run(script, remove)
        t.ok((run.returncode == 0) == (status == 0), f"{kind}: {name}", run.returncode, run.stderr)

    ends("removal with an idle daemon succeeds", 0, active=True, state='s "idle"\n', record=FINISHED)
    ends("removal with a stopped daemon succeeds", 0, active=False, state="", record=FINISHED)
    ends("removal succeeds despite an unfinished journal of an idle daemon", 0, active=True, state='s "idle"\n', record=UNFINISHED)
    ends("removal is refused while the daemon starts", 1, active=True, state='s "starting"\n', record=UNFINISHED)
    ends("removal is refused while an operation runs", 1, active=True, state='s "busy"\n', record=UNFINISHED)
    ends("removal is refused when the daemon does not respond", 1, active=True, state="", record=FINISHED)
    ends("removal is refused with an unfinished operation", 1, active=False, state="", record=UNFINISHED)
    shutil.rmtree(place.path("/run/systemd"))
    ends("removal is refused with an unfinished operation, without systemd", 1, active=False, state="", record=UNFINISHED)
    run = place.run(script, "upgrade" if remove == "remove" else "1")
    t.equal(run.returncode, 0, f"{kind}: an upgrade with an unfinished operation succeeds")


def check_purge(t, place):
    script = place.install(source("debian", "gpuhostd.postrm"), "postrm")
    state, link = place.path("/var/lib/gpuhost"), place.path("/usr/bin/nvidia-smi")
    loader = place.path("/etc/ld.so.conf.d/gpuhost.conf")
    os.makedirs(state + "/driver/550.163.01", exist_ok=True)
    os.makedirs(os.path.dirname(link), exist_ok=True)
    os.symlink(state + "/driver/550.163.01/nvidia-smi", link)
    write(loader, "")
    write(place.path("/sys/module/nvidia/version"), "550.163.01\n")
    run = place.run(script, "purge", DPKG_MAINTSCRIPT_PACKAGE="gpuhostd")
    t.ok(run.returncode == 0 and os.path.lexists(link), "purge: a loaded driver is kept", run.stderr)
    command = run.stderr.strip().rpartition(": ")[2].split()
    environment = programs.environment(PATH=f"{place.programs}:{os.environ['PATH']}")
    again = programs.run(["sh", *command], env=environment)
    t.ok(again.returncode == 1 and again.stderr == run.stderr and os.path.lexists(link),
         "purge: the printed command keeps a loaded driver", again.returncode, again.stderr)
    shutil.rmtree(place.path("/sys/module"))
    write(place.path("/usr/sbin/gpuhostd"), "")
    run = programs.run(["sh", *command], env=environment)
    t.ok(run.returncode == 1 and "installed again" in run.stderr and os.path.lexists(link), "purge: the printed command spares a new installation", run.stderr)
    os.unlink(place.path("/usr/sbin/gpuhostd"))
    run = programs.run(["sh", *command], env=environment)
    left = [path for path in (state, link, loader) if os.path.lexists(path)]
    t.ok(run.returncode == 0 and left == [] and "removed" in run.stdout,
         "purge: the printed command removes an unloaded driver", command, run.stderr, left)


def check_purge_of_mount(t, place):
    """The state is a file system of its own."""
    script = place.install(source("debian", "gpuhostd.postrm"), "postrm")
    state = place.path("/var/lib/gpuhost")
    place.program("mountpoint", f"#!/bin/sh\n[ \"$*\" = '-q {state}' ]\n")
    for name, variables in ("by hand", {}), ("by dpkg", {"DPKG_MAINTSCRIPT_PACKAGE": "gpuhostd"}):
        write(state + "/driver/550.163.01/nvidia-smi", "")
        write(state + "/.hidden", "")
        os.makedirs(state + "/lost+found")
        run = place.run(script, "purge", **variables)
        t.ok(run.returncode == 0 and os.listdir(state) == [] and "the mount point stays" in run.stderr,
             f"purge: a mount point is emptied {name}", run.returncode, run.stdout, run.stderr)
    os.unlink(os.path.join(place.programs, "mountpoint"))


def check_purge_of_mounts_below(t, place):
    """File systems are mounted below the state: directories, and a file. All are of the state's own device."""
    script = place.install(source("debian", "gpuhostd.postrm"), "postrm")
    state, kept = place.path("/var/lib/gpuhost"), place.path("/site")
    unshare = ["unshare", "--mount", "--propagation", "private"] + ["--map-root-user"] * (os.geteuid() != 0)
    if programs.run([*unshare, "true"]).returncode:
        t.skip("purge: mounts below the state keep their content", "mount namespaces are not available")
        return
    for path in kept + "/.keep", kept + "/key", state + "/driver/a/b", state + "/driver/.b", state + "/key", state + "/cdi.json":
        write(path, "text")
    escaped = "our \\ site's\tfiles\n"
    os.makedirs(state + "/driver/site/of")
    os.makedirs(f"{state}/{escaped}/of")
    os.symlink(kept, state + "/link")
    mounts = [(kept, "driver/site/of"), (kept, escaped + "/of"), (kept + "/key", "key")]
    mount = "".join(f"mount --bind {origin} {shlex.quote(f'{state}/{target}')} && " for origin, target in mounts)
    run = programs.run([*unshare, "sh", "-c", f"{mount} sh {script} purge"],
                       env=programs.environment(PATH=f"{place.programs}:{os.environ['PATH']}"))
    left = sorted(os.path.relpath(os.path.join(directory, name), state) for directory, inner, names in os.walk(state) for name in inner + names)
    t.equal((run.returncode, sorted(os.listdir(kept)), left), (0, [".keep", "key"], ["driver", "driver/site", "driver/site/of", "key", escaped, escaped + "/of"]),
            "purge: mounts below the state keep their content")
    t.ok(all(f"{state}/{target} stays" in run.stderr for _, target in mounts), "purge: mounts that stay are named", run.stderr)
    t.equal(run.stdout, f"gpuhostd: removed {state}, {place.path('/var/cache/gpuhost')} and {place.path('/etc/gpuhost')}, except for mount points.\n",
            "purge: the last line excepts mount points")
    shutil.rmtree(state)


def check_initramfs(t, place):
    script = place.install(source("initramfs", "gpuhost"), "initramfs")
    write(place.path("/usr/libexec/gpuhost/gpuhost-initramfs"), "#!/bin/sh\nexit 0\n")
    os.chmod(place.path("/usr/libexec/gpuhost/gpuhost-initramfs"), 0o755)
    module, store = place.path("/lib/modules/6.1.0/nvidia.ko"), place.path("/var/lib/gpuhost/driver/a")
    write(module, "")
    write(store, "")
    run = place.run(script, version="6.1.0")
    t.ok(run.returncode != 0 and os.path.exists(module) and os.path.exists(store),
         "initramfs hook: deletes nothing without DESTDIR", run.stderr)
    image = os.path.join(place.root, "image")
    inside = image + module
    write(inside, "")
    run = place.run(script, version="6.1.0", DESTDIR=image)
    t.ok(run.returncode == 0 and not os.path.exists(inside) and os.path.exists(module),
         "initramfs hook: deletes only the image's modules", run.stderr)


def main():
    t = tap.Tap()
    place = Place()
    try:
        check_removal(t, place, "deb", source("debian", "gpuhostd.prerm"), "remove")
        check_removal(t, place, "rpm", scriptlet("preun"), "0")
        check_purge(t, place)
        check_purge_of_mount(t, place)
        check_purge_of_mounts_below(t, place)
        check_initramfs(t, place)
    finally:
        shutil.rmtree(place.root)
    t.done()


main()
