# SPDX-License-Identifier: Apache-2.0
"""Runs other programs without input and with a deadline for each wait. No program outlives the test."""
import ctypes
import os
import signal
import subprocess

import documents

PATIENCE = 60  # seconds until a program counts as hanging
# Variables that a service manager sets for the test only.
FROM_MANAGER = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "JOURNAL_STREAM", "INVOCATION_ID", "LISTEN_PID", "LISTEN_FDS",
        "LISTEN_FDNAMES")
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def environment(**more):
    return {name: value for name, value in os.environ.items() if name not in FROM_MANAGER} | more


def options_with(given):
    known = {"text": True, "env": environment()}
    if "input" not in given:
        known["stdin"] = subprocess.DEVNULL
    return known | given


def run(command, **options):
    """Calls subprocess.run with captured output. Checks JSON of gpuhostctl against its schema."""
    caught = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "check": False, "timeout": PATIENCE}
    done = subprocess.run(command, **options_with(caught | options))
    documents.check_command(command, done.stdout)
    return done


def start(command, **options):
    """Starts a program that is killed when the calling thread ends. Call it from the main thread."""
    def tie():
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # shells set it to ignored for background processes

    return subprocess.Popen(command, preexec_fn=tie, **options_with(options))


def wait(process):
    """Returns the exit status. Kills a program that does not end in time, and raises TimeoutExpired."""
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
    """Returns (stdout, stderr) at the end. Kills a program that does not end in time, which its exit
    status shows."""
    try:
        return process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate(timeout=PATIENCE)
