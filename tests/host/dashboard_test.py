# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl dashboard in tmux, with the real daemon: panes, keys, sizes, progress, restarts of the daemon, and
the terminal afterwards."""
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import tap
from driver_files import KERNEL
from fake_host import NEW, OLD, FakeHost, prepare, write
from gates import Gates
from programs import PATIENCE, end, run, start, wait

PANES = ("Host", "GPUs", "Driver", "Operation", "Runtimes", "Bundles and images", "Cluster", "Operations")
CTL = os.path.abspath(os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"))
SERVICE = os.path.join(tap.TOP_BUILDDIR, "tests/host/fake-service")
NOT_OK, UNSUPPORTED = 3, 10
STATUS_FILE = "/run/gpuhost-cluster/status.json"


class Tmux:
    """A server of tmux of its own, with one window that runs a shell command."""
    servers = []  # all of them, for main()

    def __init__(self, directory, variables, command, columns=80, rows=24):
        Tmux.servers.append(self)
        self.base = ["tmux", "-S", os.path.join(directory, f"tmux{len(Tmux.servers)}"), "-f", "/dev/null"]
        self.environment = variables
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), command)

    def tmux(self, *words):
        return run([*self.base, *words], env=self.environment).stdout

    def keys(self, *keys):
        for key in keys:
            self.tmux("send-keys", key)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def shows(self, *wanted, without=()):
        """Waits until the screen has all of these texts."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            text = self.screen()
            if all(one in text for one in wanted) and not any(one in text for one in without):
                return True
            time.sleep(0.05)
        return False

    def variable(self, name):
        return self.tmux("display-message", "-p", f"#{{{name}}}").strip()

    def close(self):
        self.tmux("kill-server")


def title(pane):
    return f"─ {pane} ─"


def window(host, command="dashboard", columns=80, rows=24, **more):
    """Runs the dashboard in a shell that prints the exit status and the terminal's settings afterwards."""
    variables = {**host.environment, "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh"} | more
    shell = f"stty -a >{host.scratch}/before; {CTL} {command} --root={host.root}; status=$?; stty -a >{host.scratch}/after; echo STATUS $status; exec sleep 1000"
    return Tmux(host.scratch, variables, shell, columns, rows)


def check_panes(t, host, tmux):
    t.ok(tmux.shows(f"OK: driver {OLD} serves 2 GPUs", *map(title, PANES)), "80×24 shows the verdict and all panes", tmux.screen())
    t.ok(tmux.shows("0000:01:00.0  nvidia", "idle, kernel " + KERNEL, "load driver " + OLD[:6]), "panes show GPUs, host and operations", tmux.screen())
    t.equal((tmux.variable("cursor_flag"), tmux.variable("alternate_on")), ("0", "1"), "the cursor is hidden on the alternate screen")
    tmux.keys("Tab", "Down", "Enter")
    t.ok(tmux.shows("─ GPU 0000:02:00.0 ─", f"Driver: nvidia {OLD}"), "Enter opens the selected GPU", tmux.screen())
    tmux.keys("Escape")
    t.ok(tmux.shows(*map(title, PANES)), "Esc returns to the panes", tmux.screen())
    tmux.keys("BTab", "BTab", "j", "j", "Enter")
    t.ok(tmux.shows("─ Operation 4 ─", "Steps:", "1. done"), "Enter opens the selected operation", tmux.screen())
    tmux.keys("q", "?")
    t.ok(tmux.shows("─ Keys ─", "PgUp PgDn"), "? shows the keys", tmux.screen())
    tmux.keys("q", "Right", "Enter")
    t.ok(tmux.shows("─ Host ─", without=("─ GPUs ─",)), "Enter opens a pane in full width", tmux.screen())
    tmux.keys("Escape")


def check_sizes(t, tmux):
    tmux.resize(120, 40)
    t.ok(tmux.shows(*map(title, PANES), f"   Store: {NEW}"), "120×40 shows more lines", tmux.screen())
    tmux.resize(60, 20)
    t.ok(tmux.shows("OK: driver", "The terminal has 60 columns and 20 rows", without=("Operations",)), "60×20 shows the verdict alone", tmux.screen())
    tmux.resize(80, 24)
    t.ok(tmux.shows(*map(title, PANES)), "80×24 shows all panes again", tmux.screen())


def check_progress(t, host, tmux):
    """An operation stops at a gate until the dashboard has shown it."""
    reached, seen = threading.Event(), threading.Event()

    def decide(where, _count):
        if where == "apply modules.converge before":
            reached.set()
            seen.wait(PATIENCE)
        return "go"

    gates = Gates(host, decide)
    swap = host.start_ctl("driver", "swap", NEW)
    t.ok(reached.wait(PATIENCE), "a swap reaches its gate")
    shown = tmux.shows("NOT OK: operation 6 changes this host", "% [=", "running     load")
    t.ok(shown, "a running operation shows its bar and steps", tmux.screen())
    seen.set()
    t.ok(tmux.shows(f"OK: driver {NEW} serves 2 GPUs", "committed"), "the end of an operation is shown", tmux.screen())
    wait(swap)
    gates.close()


def check_cluster(t, host, tmux):
    write(host.path(STATUS_FILE), json.dumps({"server": "https://api", "node": "gpu01", "state": "connected",
                                              "upgrade": {"state": "upgrade-required", "reason": "waits"}}))
    t.ok(tmux.shows("Node: gpu01, watched", "upgrade-required: waits"), "the cluster's state is shown", tmux.screen())
    write(host.path(STATUS_FILE), "\033[2J{")
    t.ok(tmux.shows("gpuhost-cluster:"), "a status file that is not JSON is reported", tmux.screen())
    shutil.rmtree(os.path.dirname(host.path(STATUS_FILE)))


def pid_of(tmux):
    """Returns the process of gpuhostctl below the window's shell."""
    shell = tmux.variable("pane_pid")
    with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as file:
        return int(file.read().split()[0])


def wakeups(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M)[1])


def check_idle(t, tmux):
    pid, seconds = pid_of(tmux), 4
    time.sleep(1)
    before = wakeups(pid)
    time.sleep(seconds)
    count = wakeups(pid) - before
    t.ok(count <= seconds, "an idle dashboard wakes at most once per second", count)


def check_daemon(t, host, tmux):
    tmux.keys("Home")
    host.kill_daemon()
    t.ok(tmux.shows("NOT OK: gpuhostd is not running", "Hint: Start it: systemctl start gpuhostd."), "a stopped daemon is the verdict", tmux.screen())
    host.start_daemon()
    t.ok(tmux.shows(f"OK: driver {NEW} serves 2 GPUs", "idle, kernel"), "a started daemon is shown again", tmux.screen())


def restored(t, host, tmux, status, name):
    """Checks the terminal after the dashboard has ended."""
    ended = tmux.shows(f"STATUS {status}")
    before, after = (host_file(host, one) for one in ("before", "after"))
    state = (tmux.variable("cursor_flag"), tmux.variable("alternate_on"))
    t.ok(ended and before == after and " echo " in after and state == ("1", "0"), name, tmux.screen(), before, after, state)
    tmux.close()


def host_file(host, name):
    with open(os.path.join(host.scratch, name), encoding="ascii") as file:
        return file.read()


def check_ends(t, host):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        tmux = window(host)
        t.ok(tmux.shows(title("GPUs")), f"the dashboard is shown before {number.name}", tmux.screen())
        os.kill(pid_of(tmux), number)
        restored(t, host, tmux, 128 + number, f"{number.name} restores the terminal")


def check_terminals(t, host):
    for name in ("xterm", "tmux", "screen", "linux", "vt100"):
        tmux = Tmux(host.scratch, {**host.environment, "LC_ALL": "C.UTF-8"},
                    f"TERM={name} {CTL} dashboard --root={host.root}; exec sleep 1000")
        t.ok(tmux.shows("OK: driver", "Operations"), f"TERM={name} is supported", tmux.screen())
        tmux.close()
    tmux = window(host, LC_ALL="C")
    t.ok(tmux.shows("- GPUs -", without=("─",)), "a locale without UTF-8 gets ASCII lines", tmux.screen())
    tmux.close()
    tmux = Tmux(host.scratch, {**host.environment, "LC_ALL": "C.UTF-8"},
                f"TERM=no-such {CTL} dashboard; echo STATUS $?; exec sleep 1000")
    t.ok(tmux.shows("the terminal type 'no-such'", "gpuhostctl dashboard --once", f"STATUS {UNSUPPORTED}"),
         "an unknown TERM names --once", tmux.screen())
    tmux.close()


def check_colours(t, host):
    variables = {key: value for key, value in host.environment.items() if key != "NO_COLOR"}
    for name, variables, coloured in (("colours", variables, True), ("NO_COLOR", host.environment, False)):
        tmux = Tmux(host.scratch, {**variables, "LC_ALL": "C.UTF-8"}, f"{CTL} dashboard; exec sleep 1000")
        shown = tmux.shows("OK: driver", title("GPUs"))
        t.equal((shown, "\033[32m" in tmux.screen("-e")), (True, coloured),
                f"{name}: the verdict is {'green' if coloured else 'plain'}")
        tmux.close()


def check_names(t, host):
    """A read of the driver's files may never return while the driver hangs."""
    root = os.path.join(host.scratch, "names")
    shutil.copytree(host.path("/sys/bus/pci"), root + "/sys/bus/pci", symlinks=True)
    write(root + "/proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t NVIDIA by its driver\n")
    write(root + "/usr/share/misc/pci.ids", "10de  NVIDIA Corporation\n\t2330  GH100 [H100]\n")
    shown = host.ctl("dashboard", "--once", f"--root={root}").stdout
    t.ok("nvidia  GH100 [H100]" in shown and "by its driver" not in shown, "names of GPUs are those of pci.ids", shown)


def check_once(t, host):
    shown = host.ctl("dashboard", "--once")
    t.ok(shown.returncode == 0 and shown.stdout.startswith(f"OK: driver {NEW} serves 2 GPUs\n\nHost\n") and "\033" not in shown.stdout,
         "--once prints the content as text", shown.returncode, shown.stdout)
    t.equal(re.sub(r"\d+\.?\d* \w+ ago| +\d+s ", "", host.ctl("dashboard").stdout), re.sub(r"\d+\.?\d* \w+ ago| +\d+s ", "", shown.stdout),
            "without a terminal the text is printed")
    os.rename(host.path("/sys/bus/pci/devices/0000:02:00.0/driver"), host.path("/driver"))
    t.equal((host.ctl("dashboard", "--once").returncode, host.ctl("status").returncode), (NOT_OK, NOT_OK), "--once exits as status does")
    os.rename(host.path("/driver"), host.path("/sys/bus/pci/devices/0000:02:00.0/driver"))
    host.kill_daemon()
    shown = host.ctl("dashboard", "--once")
    t.ok(shown.returncode == 1 and "gpuhostd is not running" in shown.stderr, "--once without the daemon fails as status", shown)


def check_garbage(t, host):
    """A service that sends documents of other shapes."""
    bus = start([SERVICE], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=host.environment)
    try:
        operation = {"id": 3, "title": "\033[2J\u202e", "steps": [None, 1, {"state": 5}], "progress": 1e300, "outputs": [[]]}
        for line in (f"answer\tManager.Describe\t{json.dumps({'components': {'driver': {'observed': [], 'plan': 1}}, 'state': {}})}",
                     f"operation\t{json.dumps(operation)}", "own"):
            bus.stdin.write(line + "\n")
        bus.stdin.flush()
        tmux = window(host)
        t.ok(tmux.shows("NOT OK: ", *map(title, PANES)), "documents of other shapes are shown", tmux.screen())
        bus.stdin.write("answer\tManager.Describe\t\033[1m{\n" + f"operation\t{json.dumps({'id': 4})}\n")
        bus.stdin.flush()
        t.ok(tmux.shows("gpuhostd's answer"), "an answer that is not JSON is the verdict", tmux.screen())
        tmux.keys("q")
        restored(t, host, tmux, 0, "q restores the terminal after garbage")
    finally:
        end(bus)


def check(t, host):
    host.start_daemon()
    host.settle()
    tmux = window(host)
    check_panes(t, host, tmux)
    check_sizes(t, tmux)
    check_progress(t, host, tmux)
    check_cluster(t, host, tmux)
    check_idle(t, tmux)
    check_daemon(t, host, tmux)
    tmux.keys("q")
    restored(t, host, tmux, 0, "q restores the terminal")
    check_ends(t, host)
    check_terminals(t, host)
    check_colours(t, host)
    check_names(t, host)
    check_once(t, host)
    check_garbage(t, host)


def main():
    t = tap.Tap()
    if not shutil.which("tmux"):
        t.skip("the dashboard in a terminal", "no tmux")
        t.done()
    host = FakeHost()
    try:
        prepare(host)
        check(t, host)
        if t.failed:
            print("\n".join("# " + line for line in host.tail().splitlines()))
    finally:
        for tmux in Tmux.servers:
            tmux.close()
        host.close()
    t.done()


main()
