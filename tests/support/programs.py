# SPDX-License-Identifier: Apache-2.0
"""Other programs, so that none of them keeps a test waiting: no input, a deadline for each wait, and none outlives the
test."""
import ctypes
import os
import signal
import subprocess

PATIENCE = 60  # seconds until a program is taken to hang
# What a service manager tells the test that it runs, and nobody else.
TOLD = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "JOURNAL_STREAM", "INVOCATION_ID", "LISTEN_PID", "LISTEN_FDS",
        "LISTEN_FDNAMES")
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def environment(**more):
    return {name: value for name, value in os.environ.items() if name not in TOLD} | more


def options_with(given):
    known = {"text": True, "env": environment()}
    if "input" not in given:
        known["stdin"] = subprocess.DEVNULL
    return known | given


def run(command, **options):
    """subprocess.run with its output caught."""
    caught = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "check": False, "timeout": PATIENCE}
    return subprocess.run(command, **options_with(caught | options))


def start(command, **options):
    """A program that runs beside the test and is killed with it. With the thread, that is: start it from the first."""
    def tie():
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell has what it starts in the background ignore it

    return subprocess.Popen(command, preexec_fn=tie, **options_with(options))


def wait(process):
    """Its exit status. What does not end is killed, and an error."""
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(PATIENCE)
        raise


def end(process, number=signal.SIGKILL):
    process.send_signal(number)
    return wait(process)


def outputs(process):
    """(stdout, stderr) once it has ended. What does not end is killed, as its exit status says."""
    try:
        return process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate(timeout=PATIENCE)
