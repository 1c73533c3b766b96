# SPDX-License-Identifier: Apache-2.0
"""Rights on the bus: root may do everything, others may read. polkit decides about changes; without polkit
they are refused."""
import contextlib
import json
import os
import pwd
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import programs
import tap
from driver_files import write_driver
from fake_host import NEW, OLD, FakeHost, prepare
from lines import Lines

ACCESS_DENIED = 12
PATHS = {"Manager": "", "Driver": "/driver", "Bundle": "/bundle", "Runtime": "/runtime", "Devices": "/devices", "Toolkit": "/toolkit", "Operation": "/operation/_1"}
LOOKING = {"Plan", "List", "ListOperations", "GetOperation", "History", "Describe"}
OWN = {"Driver.Holders", "Manager.GetKubeletCredentials", "Manager.SetDesiredState"}  # for root and gpuhost's own users, never through polkit
NO_POLKIT = "no dbus and gi modules for Python"
NOBODY = pwd.getpwnam("nobody").pw_uid

# The part of org.freedesktop.PolicyKit1 that the daemon calls. Allows one action, prints each request.
POLKIT = """
import sys
import dbus, dbus.bus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib

class Authority(dbus.service.Object):
    @dbus.service.method("org.freedesktop.PolicyKit1.Authority", in_signature="(sa{sv})sa{ss}us", out_signature="(bba{ss})")
    def CheckAuthorization(self, subject, action, details, flags, cancellation):
        print(subject[0], action, int(flags), flush=True)
        return (action == sys.argv[1], False, {})

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
name = dbus.service.BusName("org.freedesktop.PolicyKit1", bus)
authority = Authority(bus, "/org/freedesktop/PolicyKit1/Authority")
print("ready", flush=True)
GLib.MainLoop().run()
"""


def as_nobody(host, *arguments):
    return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), *arguments], env=host.environment,
                        user=NOBODY, group=NOBODY, extra_groups=[])


def subject(host):
    """Returns the subject of the newest operation."""
    return json.loads(host.ctl("operation", "show", "--json").stdout)["subject"]


def check_of_root(t, host):
    who = subject(host)
    t.equal((who["allowed_by"], who["origin"], who["command"]), ("daemon", "daemon", "gpuhostd"),
            "the boot operation names the daemon as origin")
    t.ok("gpuhostd, at its start" in host.ctl("operation", "show").stdout,
         "operation show prints the daemon as origin")
    changes = json.loads(host.ctl("driver", "history", "--json").stdout)["changes"]
    t.equal([(change["from"], change["to"], change["state"], change["subject"]["user"]) for change in changes], [("", OLD, "committed", "root")],
            "driver history lists the swap, not the boot")
    run = host.ctl("driver", "swap", NEW)
    newest = json.loads(host.ctl("driver", "history", "--json").stdout)["changes"][0]
    t.equal((run.returncode, newest["from"], newest["to"], newest["kind"]), (0, OLD, NEW, "driver.swap"),
            "driver history lists the newest change first")
    shown = host.ctl("driver", "history").stdout.splitlines()
    t.ok(len(shown) == 3 and NEW in shown[1] and "root" in shown[1],
         "driver history prints version and user", *shown)
    run = host.ctl("driver", "verify")
    who = subject(host)
    t.equal((run.returncode, who["user"], who["allowed_by"], who["origin"]), (0, "root", "root", "request"),
            "an operation that root requests is allowed by root")


def check_without_polkit(t, host):
    run = as_nobody(host, "status", "--json")
    t.ok(run.returncode == 0, "status needs no right", run.stderr)
    for verb in (["driver", "rollback"], ["apply"], ["reload"], ["driver", "verify"], ["driver", "remove", NEW]):
        run = as_nobody(host, *verb)
        t.ok(run.returncode == ACCESS_DENIED and "root" in run.stderr,
             f"without polkit user nobody may not run {' '.join(verb)}", run.returncode, run.stderr)
    t.ok(f"refused nobody with gpuhostctl of uid {NOBODY}: polkit is not available: only root may do this" in host.tail(),
         "a refusal is logged with user and program", host.tail())


@contextlib.contextmanager
def polkit(host, allowed):
    """Yields the lines that polkit prints, or None where Python lacks the modules."""
    process = programs.start(["/usr/bin/python3", "-c", POLKIT, allowed], env=host.environment, stdout=subprocess.PIPE)
    try:
        said = Lines(process.stdout)
        yield said if said.next() == "ready" else None
    finally:
        programs.end(process)


def source(*path):
    with open(os.path.join(tap.TOP_SRCDIR, *path), encoding="utf-8") as file:
        return file.read()


def documented_rights():
    """Returns {"Driver.Swap": "org.gpuhost1.apply", …} from the manual page."""
    rows = re.findall(r"^\|[ \[] \*(org\.gpuhost1\.\w+)\*\n:[ \[] (.*)$", source("man", "org.gpuhost1.5.scd"), re.M)
    return {method: action for action, methods in rows for method in re.findall(r"\*([\w.]+)\*", methods)}


def methods():
    """Yields (interface, method, signature) of each method."""
    for interface in ElementTree.fromstring(source("systemd", "org.gpuhost1.xml")).iter("interface"):
        for method in interface.iter("method"):
            yield interface.get("name").rpartition(".")[2], method.get("name"), [
                arg.get("type") for arg in method.iter("arg") if arg.get("direction") == "in"]


def as_nobody_on_bus(host, *call):
    return programs.run(["busctl", f"--address={host.address}", "call", *call], env=host.environment, user=NOBODY, group=NOBODY, extra_groups=[])


def asked_by(host, said, interface, method, types):
    """Returns the actions that a call of `method` by user nobody requests. All arguments are empty."""
    nothing = ["" if one == "s" else "0" for one in types]
    as_nobody_on_bus(host, "org.gpuhost1", "/org/gpuhost1" + PATHS[interface], f"org.gpuhost1.{interface}", method,
                     *(["".join(types), *nothing] if types else []))
    as_nobody_on_bus(host, "org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.PolicyKit1.Authority",
                     "CheckAuthorization", "(sa{sv})sa{ss}us", "nobody", "0", "the end", "0", "0", "")
    asked = []
    while not (line := said.next(10)).startswith("nobody the end"):
        asked.append(line.split()[1])
    return asked


def check_actions(t, host):
    wanted, found, free = documented_rights(), {}, set()
    with polkit(host, "none") as said:
        for interface, method, types in methods() if said else ():
            if asked := asked_by(host, said, interface, method, types):
                found[f"{interface}.{method}"] = " ".join(asked)
            else:
                free.add(f"{interface}.{method}")
    if not said:
        t.skip("each method requests the documented action", NO_POLKIT)
        return
    t.equal(found, wanted, "each method requests the action in org.gpuhost1(5)")
    t.equal({name for name in free if name.rpartition(".")[2] not in LOOKING}, OWN,
            "methods without an action only read, or are internal")
    t.equal(set(wanted.values()), set(re.findall(r'<action id="([^"]+)">', source("systemd", "org.gpuhost1.policy"))),
            "the documented actions are those of the policy file")


def check_import(t, host):
    """The right to import does not permit changing a version in use."""
    new, used = "560.35.03", NEW
    directory = os.path.join(host.scratch, "of-nobody")
    modules, packages = write_driver(directory, used)

    def named(paths, version):
        """Copies the packages to names with that version, as Debian names them."""
        return [shutil.copy(path, path.replace(".deb", f"_{version}-1_amd64.deb")) for path in paths]

    liars = named(packages, new)
    honest = named(packages, used)
    others = named(write_driver(os.path.join(directory, new), new)[1], new)
    subprocess.run(["chmod", "-R", "a+rX", directory], check=True)
    before = host.json("driver", "list")
    with polkit(host, "org.gpuhost1.prepare") as said:
        if not said:
            t.skip("an import requests the right that it needs", NO_POLKIT)
            return
        for name, files, wanted in (("packages of a version in use", honest, "org.gpuhost1.apply"),
                                    ("modules without a version in their names", modules, "org.gpuhost1.apply")):
            run = as_nobody(host, "driver", "import", *files)
            t.equal((run.returncode, said.next(10).split()[1]), (ACCESS_DENIED, wanted),
                    f"importing {name} needs the right to apply")
        run = as_nobody(host, "driver", "import", *liars)
        said.next(10)
        t.ok(run.returncode == ACCESS_DENIED and "org.gpuhost1.apply" not in run.stderr and f"driver {used} is configured, loaded or selected" in run.stderr,
             "a misnamed package of a version in use is refused", run.returncode, run.stderr)
        t.equal(host.json("driver", "list"), before, "a refused import leaves the driver store unchanged")
        run = as_nobody(host, "driver", "import", *others)
        t.ok(run.returncode == 0 and new in host.ctl("driver", "list").stdout,
             "importing an unused version needs only the right to prepare", run.stderr)


def check_with_polkit(t, host):
    with polkit(host, "org.gpuhost1.prepare") as said:
        if not said:
            t.skip("an action that polkit allows is done", NO_POLKIT)
            return
        run = as_nobody(host, "driver", "verify")
        t.ok(run.returncode == 0, "an action that polkit allows is done", run.stderr, host.tail())
        t.equal(said.next(10).split()[:2], ["system-bus-name", "org.gpuhost1.prepare"],
                "polkit is asked about caller and action")
        who = subject(host)
        t.equal([who[key] for key in ("uid", "user", "command", "action", "allowed_by", "origin")],
                [NOBODY, "nobody", "gpuhostctl", "org.gpuhost1.prepare", "polkit", "request"],
                "the operation records user, program and right")
        t.ok(who["bus_name"].startswith(":"), "the operation records the caller's bus name", who)
        shown = host.ctl("operation", "show").stdout
        t.ok("Asked by: nobody" in shown and "Allowed by: polkit, org.gpuhost1.prepare\n" in shown,
             "operation show prints user and right", shown)
        for verb in (["apply"], ["driver", "remove", NEW], ["reload"]):
            run = as_nobody(host, *verb)
            t.ok(run.returncode == ACCESS_DENIED and "polkit" in run.stderr,
                 f"the right to prepare does not permit '{' '.join(verb)}'", run.returncode, run.stderr)


def main():
    t = tap.Tap()
    if os.geteuid() != 0:
        t.skip("rights on the bus", "needs root to run programs as another user")
        t.done()
    host = FakeHost()
    try:
        os.chmod(host.scratch, 0o755)
        prepare(host)
        host.boot()
        # The daemon never waits for a directory server, whichever user calls.
        host.start_daemon(LD_PRELOAD=os.path.join(tap.TOP_BUILDDIR, "tests/host/no-names.so"))
        host.settle()
        check_of_root(t, host)
        check_without_polkit(t, host)
        check_with_polkit(t, host)
        check_import(t, host)
        check_actions(t, host)
    finally:
        host.close()
    t.done()


main()
