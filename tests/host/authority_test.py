# SPDX-License-Identifier: Apache-2.0
"""Who may do what: root everything, others look; what changes the host is up to polkit, and refused without it."""
import json
import os
import pwd
import subprocess

import programs
import tap
from fake_host import NEW, OLD, FakeHost, prepare
from lines import Lines

ACCESS_DENIED = 12
NOBODY = pwd.getpwnam("nobody").pw_uid

# org.freedesktop.PolicyKit1 as far as the daemon asks: says yes to the action that it is given, and what it was asked.
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
    """Of the newest operation."""
    return json.loads(host.ctl("operation", "show", "--json").stdout)["subject"]


def check_of_root(t, host):
    who = subject(host)
    t.equal((who["allowed_by"], who["origin"], who["command"]), ("daemon", "daemon", "gpuhostd"), "what the daemon does at its start says so")
    t.ok("gpuhostd itself, at its start" in host.ctl("operation", "show").stdout, "for people, too")
    changes = json.loads(host.ctl("driver", "history", "--json").stdout)["changes"]
    t.equal([(change["from"], change["to"], change["state"], change["subject"]["user"]) for change in changes], [("", OLD, "committed", "root")],
            "the driver's history has the swap, and not the boot that changed nothing of it")
    run = host.ctl("driver", "swap", NEW)
    newest = json.loads(host.ctl("driver", "history", "--json").stdout)["changes"][0]
    t.equal((run.returncode, newest["from"], newest["to"], newest["kind"]), (0, OLD, NEW, "driver.swap"), "the newest is the first")
    shown = host.ctl("driver", "history").stdout.splitlines()
    t.ok(len(shown) == 3 and NEW in shown[1] and "root" in shown[1], "for people, too", *shown)
    run = host.ctl("driver", "verify")
    who = subject(host)
    t.equal((run.returncode, who["user"], who["allowed_by"], who["origin"]), (0, "root", "root", "request"), "what root asks for is root's")


def check_without_polkit(t, host):
    run = as_nobody(host, "status", "--json")
    t.ok(run.returncode == 0, "everybody may look", run.stderr)
    for verb in (["driver", "rollback"], ["apply"], ["reload"], ["driver", "verify"], ["driver", "remove", NEW]):
        run = as_nobody(host, *verb)
        t.ok(run.returncode == ACCESS_DENIED and "root" in run.stderr, f"nobody may not {' '.join(verb)}", run.returncode, run.stderr)
    t.ok(f"refused nobody with gpuhostctl of uid {NOBODY}: without polkit only root may do this" in host.tail(), "a refusal is logged, with who it was", host.tail())


def check_with_polkit(t, host):
    polkit = programs.start(["/usr/bin/python3", "-c", POLKIT, "org.gpuhost1.prepare"], env=host.environment,
                            stdout=subprocess.PIPE)
    said = Lines(polkit.stdout)
    try:
        if said.next() != "ready":
            t.skip("polkit decides", "no dbus and gi modules for Python")
            return
        run = as_nobody(host, "driver", "verify")
        t.ok(run.returncode == 0, "what polkit allows is done", run.stderr, host.tail())
        t.equal(said.next(10).split()[:2], ["system-bus-name", "org.gpuhost1.prepare"], "it was asked about the caller and the action")
        who = subject(host)
        t.equal([who[key] for key in ("uid", "user", "command", "action", "allowed_by", "origin")],
                [NOBODY, "nobody", "gpuhostctl", "org.gpuhost1.prepare", "polkit", "request"], "the operation knows who had it done, and by what right")
        t.ok(who["bus_name"].startswith(":"), "and by what name on the bus", who)
        shown = host.ctl("operation", "show").stdout
        t.ok("Asked by: nobody" in shown and "Allowed by: polkit, org.gpuhost1.prepare\n" in shown, "operation show says so", shown)
        run = as_nobody(host, "apply")
        t.ok(run.returncode == ACCESS_DENIED and "polkit" in run.stderr, "what it does not allow is refused", run.returncode, run.stderr)
    finally:
        programs.end(polkit)


def main():
    t = tap.Tap()
    if os.geteuid() != 0:
        t.skip("authority", "only root can be somebody else")
        t.done()
    host = FakeHost()
    try:
        os.chmod(host.scratch, 0o755)
        prepare(host)
        host.boot()
        host.start_daemon()
        host.settle()
        check_of_root(t, host)
        check_without_polkit(t, host)
        check_with_polkit(t, host)
    finally:
        host.close()
    t.done()


main()
