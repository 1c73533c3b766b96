# SPDX-License-Identifier: Apache-2.0
"""What tests wait with: no wait is without an end, and no error is lost in a thread."""
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

import programs
import tap
from gates import Gates
from lines import Lines
from private_bus import PrivateBus


def raised(error, function, *arguments, **options):
    """Whether it raises that, and soon."""
    began = time.monotonic()
    try:
        function(*arguments, **options)
    except error:
        return time.monotonic() - began < 30
    return False


def check_lines(t):
    reader, writer = os.pipe()
    os.write(writer, b"one\ntwo\nth")
    with open(reader, "rb", buffering=0) as stream:
        lines = Lines(stream)
        t.equal([lines.next(), lines.next()], ["one", "two"], "lines that come at once are told apart")
        t.ok(raised(TimeoutError, lines.next, 0.1), "half a line is waited for no longer than that")
        os.write(writer, b"ree\nfour")
        t.equal(lines.next(), "three", "and is whole once its end has come")
        os.close(writer)
        t.equal([lines.next(), lines.next()], ["four", None], "the last one needs no end, and nothing follows it")


SLEEPING = "import time; print(1, flush=True); time.sleep(300)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEPING


def python(script):
    return [sys.executable, "-c", script]


def check_programs(t):
    t.ok(raised(subprocess.TimeoutExpired, programs.run, python(SLEEPING), timeout=0.5), "who does not end is an error")
    silent, _ = os.pipe()
    os.dup2(silent, 0)  # the test's own input, which never ends
    t.ok(not raised(subprocess.TimeoutExpired, programs.run, ["cat"], timeout=20), "nobody waits for input")
    os.environ["NOTIFY_SOCKET"] = "/nowhere"
    t.ok("NOTIFY_SOCKET" not in programs.run(["env"]).stdout, "what the service manager says is for the test alone")
    process = programs.start(python(STUBBORN), stdout=subprocess.PIPE)
    Lines(process.stdout).next()
    programs.PATIENCE, patience = 2, programs.PATIENCE
    t.ok(raised(subprocess.TimeoutExpired, programs.end, process, signal.SIGTERM), "who ignores a signal is an error")
    t.equal(process.returncode, -signal.SIGKILL, "and is killed")
    process = programs.start(python(SLEEPING), stdout=subprocess.PIPE)
    select.select([process.stdout], [], [], patience)
    t.equal(programs.outputs(process)[0], "1\n", "what one printed until then is kept")
    t.equal(process.returncode, -signal.SIGKILL, "and that it was killed can be seen")
    programs.PATIENCE = patience


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "XZ"
    except OSError:
        return False


def check_bus(t, directory):
    test = ("import os, private_bus\n"
            f"print(private_bus.PrivateBus({directory!r}).process.pid, flush=True)\n"
            "os.kill(os.getpid(), 9)\n")
    killed = programs.run(python(test), cwd=os.path.dirname(os.path.abspath(__file__)))
    deadline = time.monotonic() + 20
    while runs(int(killed.stdout)) and time.monotonic() < deadline:
        time.sleep(0.01)
    t.ok(not runs(int(killed.stdout)), "a killed test's bus dies with it", killed.stdout)
    bus = PrivateBus(directory)
    t.ok(bus.process.poll() is None, "a bus runs")
    bus.close()


class Host:
    """As much of one as gates need."""

    def __init__(self, directory):
        self.directory = directory

    def path(self, path):
        return self.directory + path


def stand_at(gates, where):
    """What a worker hears there."""
    with socket.socket(socket.AF_UNIX) as worker:
        worker.settimeout(20)
        worker.connect(gates.path)
        worker.sendall(f"{where} 1\n".encode())
        return worker.recv(100).decode()


def check_gates(t, directory):
    os.makedirs(f"{directory}/fake-worker")
    gates = Gates(Host(directory), lambda where, _count: {"apply": "go"}[where])
    t.equal(stand_at(gates, "apply"), "go", "a gate is answered")
    t.equal(stand_at(gates, "undo"), "", "when deciding fails, the worker is not left standing")
    t.ok(raised(ConnectionError, stand_at, gates, "apply"), "nor is the next one")
    t.ok(raised(KeyError, gates.close), "and the test hears of it")


def main():
    t = tap.Tap()
    check_lines(t)
    check_programs(t)
    with tempfile.TemporaryDirectory() as directory:
        check_bus(t, directory)
        check_gates(t, directory)
    t.done()


main()
