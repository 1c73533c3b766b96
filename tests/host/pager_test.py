# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl shows answers that are longer than the terminal with a pager."""
import os
import signal
import tempfile

import programs
import tap
from terminal import Terminal

CTL = os.path.join(tap.TOP_BUILDDIR, "gpuhostctl")
T = tap.Tap()
LONG = ["config", "cat", "--defaults"]
FIRST = "# This file has each setting"
FAKE = """#!/bin/sh
echo "options $LESS secure $LESSSECURE"
while read name value; do # without a child, whose mask the shell clears
    if [ "$name" = SigBlk: ]; then echo "blocked $value"; fi
done </proc/self/status
if [ "$1" = wait ]; then
    trap 'echo interrupted; exit 2' INT
    echo "waits"
    while read line </dev/tty; do :; done # ends with the terminal
fi
sed 's/^/paged /'
exit 5
"""


def environment(directory, **more):
    sanitizers = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
    return {"PATH": f"{directory}:/usr/bin:/bin", "TERM": "xterm", "LC_ALL": "C.UTF-8", **sanitizers, **more}


def show(directory, *arguments, rows=24, **more):
    """Returns the output on a terminal, and the exit status."""
    screen = Terminal([CTL, *arguments], environment(directory, **more), rows)
    status = screen.end()
    return screen.text, status


def chosen(directory):
    trusted = {"SYSTEMD_PAGERSECURE": "0", "PAGER": "/bin/false"}
    text, status = show(directory, *LONG, SYSTEMD_PAGER="fake", **trusted)
    T.ok("paged #" in text and "options FRSXMK secure \r\n" in text, "$SYSTEMD_PAGER precedes $PAGER", text[:300])
    T.equal(status, 0, "the exit status is that of the verb, not of the pager")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    text, _ = show(directory, *LONG, SYSTEMD_PAGER="fake", **trusted)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    T.ok("blocked 0000000000000000\r\n" in text, "the pager starts with no signal blocked", text[:300])
    text, _ = show(directory, *LONG, PAGER="fake", SYSTEMD_PAGERSECURE="1", SYSTEMD_LESS="FRX")
    T.ok("options FRX secure 1\r\n" in text, "the pager gets $SYSTEMD_LESS and secure mode", text[:300])
    text, _ = show(directory, *LONG, rows=1000, SYSTEMD_PAGER="fake", **trusted)
    T.ok("paged" not in text and "[Driver]" in text, "an answer that fits the terminal has no pager", text[:300])
    text, _ = show(directory, "--help", SYSTEMD_PAGER="fake", **trusted)
    T.ok("paged Usage:" in text or "paged \033" in text, "--help is shown with the pager", text[:300])
    for more in ({"SYSTEMD_PAGER": ""}, {"SYSTEMD_PAGER": "cat"}, {"PAGER": "cat"}):
        text, _ = show(directory, *LONG, **trusted | more)
        T.ok("paged" not in text and "[Driver]" in text, f"{more} disables the pager", text[:300])
    text, _ = show(directory, *LONG, "--no-pager", SYSTEMD_PAGER="fake", **trusted)
    T.ok("paged" not in text and "[Driver]" in text, "--no-pager disables the pager", text[:300])
    text, status = show(directory, *LONG, "--json=short", SYSTEMD_PAGER="fake", **trusted)
    T.ok("paged" not in text and text.startswith("[") and status == 0, "JSON in short form has no pager", text[:300], status)
    text, _ = show(directory, *LONG, "-j", rows=2, SYSTEMD_PAGER="fake", **trusted)
    T.ok("paged [" in text, "pretty JSON is shown with the pager", text[:300])


def not_started(directory):
    alone = {"PATH": directory}
    text, status = show(directory, *LONG, SYSTEMD_PAGER="/nonexistent", SYSTEMD_PAGERSECURE="0", **alone)
    T.ok("[Driver]" in text and status == 0, "without any pager the answer is printed", text[:300], status)
    run = programs.run([CTL, *LONG], env=environment(directory, SYSTEMD_PAGER="fake", SYSTEMD_PAGERSECURE="0"))
    T.ok("paged" not in run.stdout and "[Driver]" in run.stdout, "off a terminal there is no pager", run.stdout[:300])


def interrupted(directory):
    more = {"SYSTEMD_PAGER": "fake wait", "SYSTEMD_PAGERSECURE": "0"}
    screen = Terminal([CTL, *LONG], environment(directory, **more), 24)
    screen.read_until("waits")
    screen.type("\x03")
    status = screen.end()
    T.ok("interrupted" in screen.text and status == 0, "Ctrl-C ends only the pager", repr(screen.text), status)
    screen = Terminal([CTL, *LONG], environment(directory, **more), 24)
    screen.read_until("waits")
    screen.process.send_signal(signal.SIGTERM)
    os.close(screen.fd)
    T.equal(programs.wait(screen.process), -signal.SIGTERM, "SIGTERM ends gpuhostctl")


def main():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "fake")
        with open(path, "w", encoding="utf-8") as file:
            file.write(FAKE)
        os.chmod(path, 0o755)
        chosen(directory)
        not_started(directory)
        interrupted(directory)
    T.done()


main()
