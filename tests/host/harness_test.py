# SPDX-License-Identifier: Apache-2.0
"""The test harness: each wait has a deadline, and no error is lost in a thread."""
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
    """Returns whether the call raises the error within 30 s."""
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
        t.equal([lines.next(), lines.next()], ["one", "two"], "Lines.next() separates lines read at once")
        t.ok(raised(TimeoutError, lines.next, 0.1), "Lines.next() times out on an incomplete line")
        os.write(writer, b"ree\nfour")
        t.equal(lines.next(), "three", "Lines.next() returns a completed line")
        os.close(writer)
        t.equal([lines.next(), lines.next()], ["four", None],
                "Lines.next() returns an unterminated last line, then None")


SLEEPING = "import time; print(1, flush=True); time.sleep(300)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEPING


def python(script):
    return [sys.executable, "-c", script]


def check_programs(t):
    t.ok(raised(subprocess.TimeoutExpired, programs.run, python(SLEEPING), timeout=0.5),
         "programs.run() raises on a program that does not end")
    silent, _ = os.pipe()
    os.dup2(silent, 0)  # the test's stdin, which never ends
    t.ok(not raised(subprocess.TimeoutExpired, programs.run, ["cat"], timeout=20),
         "programs.run() gives no stdin")
    os.environ["NOTIFY_SOCKET"] = "/nowhere"
    t.ok("NOTIFY_SOCKET" not in programs.run(["env"]).stdout, "programs.run() removes NOTIFY_SOCKET")
    process = programs.start(python(STUBBORN), stdout=subprocess.PIPE)
    Lines(process.stdout).next()
    programs.PATIENCE, patience = 2, programs.PATIENCE
    t.ok(raised(subprocess.TimeoutExpired, programs.end, process, signal.SIGTERM),
         "programs.end() raises on a program that ignores the signal")
    t.equal(process.returncode, -signal.SIGKILL, "programs.end() kills a program that ignores the signal")
    process = programs.start(python(SLEEPING), stdout=subprocess.PIPE)
    select.select([process.stdout], [], [], patience)
    t.equal(programs.outputs(process)[0], "1\n", "programs.outputs() keeps the output of a killed program")
    t.equal(process.returncode, -signal.SIGKILL, "programs.outputs() kills a program that does not end")
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
    t.ok(not runs(int(killed.stdout)), "a private bus ends with a killed test", killed.stdout)
    bus = PrivateBus(directory)
    t.ok(bus.process.poll() is None, "a private bus starts again in the same directory")
    bus.close()


class Host:
    """The part of FakeHost that Gates needs."""

    def __init__(self, directory):
        self.directory = directory

    def path(self, path):
        return self.directory + path


def stand_at(gates, where):
    """Returns the answer that a worker gets at a gate."""
    with socket.socket(socket.AF_UNIX) as worker:
        worker.settimeout(20)
        worker.connect(gates.path)
        worker.sendall(f"{where} 1\n".encode())
        return worker.recv(100).decode()


def check_gates(t, directory):
    os.makedirs(f"{directory}/fake-worker")
    gates = Gates(Host(directory), lambda where, _count: {"apply": "go"}[where])
    t.equal(stand_at(gates, "apply"), "go", "a gate returns decide()'s answer")
    t.equal(stand_at(gates, "undo"), "", "a gate answers the worker when decide() raises")
    t.ok(raised(ConnectionError, stand_at, gates, "apply"), "a gate is closed after decide() raised")
    t.ok(raised(KeyError, gates.close), "Gates.close() raises the exception of decide()")


def main():
    t = tap.Tap()
    check_lines(t)
    check_programs(t)
    with tempfile.TemporaryDirectory() as directory:
        check_bus(t, directory)
        check_gates(t, directory)
    t.done()


main()
