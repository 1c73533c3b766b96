# SPDX-License-Identifier: Apache-2.0
"""A user without rights floods the daemon with calls that need polkit. It refuses most, serves others."""
import contextlib
import os
import pwd
import resource
import subprocess

import programs
import tap
from fake_host import FakeHost
from lines import Lines

NOBODY, DAEMON = pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("daemon").pw_uid
BUSY, INVALID = "org.gpuhost1.Error.Busy", "org.gpuhost1.Error.InvalidArgument"
KEPT = 4  # calls of one user that wait for polkit
CONNECTIONS, CALLS, DESCRIPTORS = 4, 40, 16
LARGE, LARGE_CALLS, LARGE_LIMIT = 30 << 20, 16, 128
NO_MODULES = "no dbus and gi modules for Python"

COMMON = """
import os, sys
import dbus, dbus.bus, dbus.lowlevel, dbus.mainloop.glib, dbus.service
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
address = os.environ["DBUS_SYSTEM_BUS_ADDRESS"]
"""

# org.freedesktop.PolicyKit1 that never answers, as during a password prompt. Prints each caller's uid.
POLKIT = COMMON + """
class Authority(dbus.service.Object):
    @dbus.service.method("org.freedesktop.PolicyKit1.Authority", in_signature="(sa{sv})sa{ss}us", out_signature="(bba{ss})",
                         async_callbacks=("answer", "fail"))
    def CheckAuthorization(self, subject, action, details, flags, cancellation, answer, fail):
        print(int(bus.get_unix_user(subject[1]["name"])), flush=True)

bus = dbus.bus.BusConnection(address)
name = dbus.service.BusName("org.freedesktop.PolicyKit1", bus)
authority = Authority(bus, "/org/freedesktop/PolicyKit1/Authority")
print("ready", flush=True)
GLib.MainLoop().run()
"""

# Sends all calls without waiting, then prints the name of each error. Ends with stdin.
FLOOD = COMMON + """
kind, connections, calls, size = sys.argv[1], *map(int, sys.argv[2:])

def message():
    call = dbus.lowlevel.MethodCallMessage("org.gpuhost1", "/org/gpuhost1/driver", "org.gpuhost1.Driver",
                                           "Import" if kind == "descriptors" else "Swap")
    if kind == "descriptors":
        files = [(f"{i}.deb", dbus.types.UnixFd(0)) for i in range(size)]
        call.append(files, {}, signature="a(sh)a{sv}")
    else:
        call.append("x" * size, {}, signature="sa{sv}")
    return call

def answered(reply):
    print(reply.get_error_name() or "done", flush=True)

buses = [dbus.bus.BusConnection(address) for _ in range(connections)]
for bus in buses:
    for _ in range(calls):
        bus.send_message_with_reply(message(), answered, 600)
GLib.io_add_watch(0, GLib.IO_HUP, lambda *_: os._exit(0))
GLib.MainLoop().run()
"""


@contextlib.contextmanager
def script(host, text, *arguments, user=None):
    """Runs the script and yields the lines that it prints."""
    rights = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    process = programs.start(["/usr/bin/python3", "-c", text, *map(str, arguments)], env=host.environment,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, **rights)
    try:
        yield Lines(process.stdout)
    finally:
        programs.end(process)


def peak(host):
    """Returns the daemon's peak memory, in MiB."""
    with open(f"/proc/{host.daemon.pid}/status", encoding="utf-8") as file:
        return int(next(line for line in file if line.startswith("VmHWM:")).split()[1]) >> 10


def check_alive(t, host, when):
    alive = host.daemon.poll() is None
    run = host.ctl("driver", "list", "--json") if alive else None
    t.ok(alive and run.returncode == 0, f"{when}: the daemon still responds to root", host.tail())
    return alive


def check_descriptors(t, host, polkit):
    total = CONNECTIONS * CALLS
    with script(host, FLOOD, "descriptors", CONNECTIONS, CALLS, DESCRIPTORS, user=NOBODY) as flood:
        refused = [flood.next() for _ in range(total - KEPT)]
        t.equal(set(refused), {BUSY},
                f"{total} calls with {DESCRIPTORS} descriptors: all but {KEPT} are refused")
        if not check_alive(t, host, "flood of descriptors"):
            return
        t.equal([polkit.next() for _ in range(KEPT)], [str(NOBODY)] * KEPT,
                f"polkit is asked about the remaining {KEPT} calls")
        with script(host, FLOOD, "large", 1, 1, 10, user=DAEMON):
            t.equal(polkit.next(), str(DAEMON), "a flood does not block another user's call")
        t.ok(f"of uid {NOBODY}: {KEPT} requests of this user wait for polkit" in host.messages(),
             "the log names the user who floods", host.tail())


def check_memory(t, host, _):
    with script(host, FLOOD, "large", 1, LARGE_CALLS, LARGE, user=NOBODY) as flood:
        refused = [flood.next() for _ in range(LARGE_CALLS)]
        t.equal(set(refused), {INVALID}, f"{LARGE_CALLS} messages of {LARGE >> 20} MiB are refused")
        if check_alive(t, host, "flood of large messages"):
            t.ok(peak(host) < LARGE_LIMIT,
                 "flood of large messages: the daemon's memory stays small", f"{peak(host)} MiB")


def start_daemon(host):
    """Starts the daemon with systemd's default limit of descriptors. The flooding script needs more, because
    the kernel counts descriptors in transit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    host.start_daemon()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    host.settle()


def main():
    t = tap.Tap()
    if os.geteuid() != 0:
        t.skip("a flood of calls is refused", "needs root to run programs as another user")
        t.done()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    host = FakeHost()
    try:
        os.chmod(host.scratch, 0o755)
        host.install()
        with script(host, POLKIT) as polkit:
            if polkit.next() != "ready":
                t.skip("a flood of calls is refused", NO_MODULES)
                t.done()
            for check in check_descriptors, check_memory:
                start_daemon(host)
                check(t, host, polkit)
                host.kill_daemon()
    finally:
        host.close()
    t.done()


main()
