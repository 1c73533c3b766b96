# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl with a fake service that returns every outcome: output, exit status, and calls to the daemon."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import programs
import tap
from lines import Lines
from private_bus import PrivateBus
from programs import PATIENCE
from terminal import Terminal

CTL = os.path.join(tap.TOP_BUILDDIR, "gpuhostctl")
SERVICE = os.path.join(tap.TOP_BUILDDIR, "tests", "host", "fake-service")
T = tap.Tap()


class Bus(PrivateBus):
    """A private bus with the fake service."""

    def __init__(self, directory):
        super().__init__(directory)
        self.environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8", "TZ": "UTC",
                            "DBUS_SYSTEM_BUS_ADDRESS": self.address}
        # Programs built with a sanitizer need its options.
        self.environment.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        self.service = None

    def start_service(self, *operations):
        """Starts the service with these operations, as a daemon that has read its journal."""
        self.service = programs.start([SERVICE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment)
        self.lines = Lines(self.service.stdout)
        self.calls = []
        for operation in operations:
            self.operation(operation)
        self.tell("answer", "Driver.LoadedVersion", "535.261.03")
        self.tell("answer", "Manager.Describe", json.dumps(HOST))
        self.tell("own")

    def wait_for(self, wanted):
        """Reads the service's lines until one has this prefix. All other lines are calls."""
        deadline = time.monotonic() + PATIENCE
        while (line := self.lines.next(deadline - time.monotonic())) is not None:
            if line.startswith(wanted):
                return line.strip()
            self.calls.append(line.strip())
        raise RuntimeError(f"the service ended before it printed '{wanted}'")

    def tell(self, *words):
        self.service.stdin.write("\t".join(words) + "\n")
        self.service.stdin.flush()
        self.wait_for("done")

    def operation(self, document):
        self.tell("operation", json.dumps(document))

    def stop_service(self):
        self.service.stdin.close()
        programs.wait(self.service)
        self.service.stdout.close()

    def close(self):
        if self.service and self.service.poll() is None:
            self.stop_service()
        super().close()


def swap(state, *states, **more):
    """Returns the document of a swap in three steps."""
    summaries = ["stop nvidia-persistenced.service", "load nvidia 550.163.01", "point libraries at 550.163.01"]
    return {"id": 12, "kind": "driver.swap", "title": "swap driver 535.261.03 → 550.163.01", "state": state,
            "progress": 0.5, "text": "", "problems": [], "error": None, "outputs": [],
            "steps": [{"kind": "k", "summary": text, "state": s} for text, s in zip(summaries, states)],
            "subject": {"uid": 0, "pid": 7, "command": "gpuhostctl"}, "began_us": 10**15,
            "ended_us": 10**15 + 12 * 10**6 if state not in ("running", "undoing") else 0, **more}


HOST = {"version": "1", "kernel": "6.1.0-50-amd64", "state": "idle", "ready": True, "operation": None,
        "components": {"driver": {"observed": {"loaded_version": "535.261.03", "loaded": [{"name": "nvidia"}]},
                                  "plan": {"title": "t", "steps": [], "reasons": [], "problems": []}}}}
PENDING = json.loads(json.dumps(HOST))
PENDING["components"]["driver"]["plan"]["steps"] = [{"kind": "k", "summary": "s", "args": {}}]
PLAN = {"kind": "driver.swap", "title": "swap driver 535.261.03 → 550.163.01", "reasons": ["loaded 535.261.03"],
        "steps": [{"kind": "k", "summary": "load nvidia 550.163.01", "args": {}}], "problems": []}
RUNNING = swap("running", "running", "pending", "pending", progress=0.1)
COMMITTED = swap("committed", "done", "done", "done", progress=1)
FAILED = {"code": "failed", "message": "nvidia: No such device", "hint": "look at dmesg"}
ROLLED_BACK = swap("rolled-back", "undone", "undone", "pending", error=FAILED)


class Run:
    """One run of gpuhostctl without a terminal."""

    def __init__(self, bus, *arguments):
        self.process = programs.start([CTL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env=bus.environment)
        self.lines = Lines(self.process.stderr)
        self.err = ""

    def wait_for(self, wanted):
        """Reads lines of stderr until one contains the text."""
        while wanted not in self.err:
            line = self.lines.next()
            if line is None:
                raise RuntimeError(f"gpuhostctl ended before it printed '{wanted}': {self.err}")
            self.err += line + "\n"

    def end(self):
        self.out, err = programs.outputs(self.process)
        self.err += self.lines.rest.decode() + err
        self.status = self.process.returncode
        return self


def run(bus, *arguments):
    return Run(bus, *arguments).end()


def expect(result, name, status=0, out=None, err=None):
    """Checks status and output. Patterns must match the whole stream; None expects an empty stream."""
    for what, got, wanted in (("stdout", result.out, out), ("stderr", result.err, err)):
        good = re.fullmatch(wanted, got, re.S) if wanted is not None else got == ""
        if not good:
            return T.ok(False, name, f"{what} is:", got, f"wanted: {wanted}", f"status {result.status}",
                        "stderr:", result.err)
    return T.ok(result.status == status, name, f"status {result.status}, not {status}", result.err)


def errors(bus):
    """Without a service, or with wrong arguments, stdout is empty and stderr has a hint."""
    expect(run(bus, "status"), "status without a daemon prints the start command", 1,
           err="gpuhostctl: gpuhostd is not running\nHint: Start it: systemctl start gpuhostd.\n")
    expect(run(bus, "driver", "swap"), "a missing argument is reported with the usage", 2,
           err="gpuhostctl: 'driver swap' needs VERSION\nHint: Usage: gpuhostctl driver swap VERSION.\n")
    expect(run(bus, "driver", "swp", "1"), "an unknown verb is reported with a suggestion", 2,
           err="gpuhostctl: unknown verb 'driver swp'\nHint: Did you mean 'swap'\\?\n")
    expect(run(bus, "driver", "swap", "1", "--holder-timeout=soon"), "an invalid time span is reported with an example", 2,
           err="gpuhostctl: 'soon' is not a time span\nHint: Write: --holder-timeout=5min.\n")
    expect(run(bus, "operation", "show", "x"), "an invalid operation number is refused", 2,
           err="gpuhostctl: 'x' is not an operation number\n.*")
    expect(run(bus, "--version"), "--version needs no daemon", 0, out=r"gpuhostctl \S+\n")
    expect(run(bus, "--help"), "--help needs no daemon", 0, out="Usage: gpuhostctl .*  driver swap  .*help --all lists all verbs.\n")
    expect(run(bus, "help", "--all"), "help --all lists verbs with arguments", 0, out="Usage: gpuhostctl .*driver swap VERSION.*")
    expect(run(bus, "help", "driver", "swap"), "help describes a verb with examples", 0,
           out="Usage: gpuhostctl driver swap .*Examples:\n.*")
    expect(run(bus, "help", "status", "now"), "help of an unknown verb fails", 2, err="gpuhostctl: unknown verb 'status now'\nHint: .*")
    elsewhere = type("Elsewhere", (), {"environment": {**bus.environment, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/none"}})
    expect(run(elsewhere, "status"), "a missing bus is reported", 1,
           err="gpuhostctl: connecting to the system bus: .*\nHint: .*")
    with open("/dev/full", "w", encoding="utf-8") as full:
        status = programs.run([CTL, "--help"], stdout=full).returncode
    T.equal(status, 1, "an unwritable stdout causes exit status 1")
    reader, writer = os.pipe()
    os.close(reader)
    ended = programs.run(["env", "--ignore-signal=PIPE", CTL, "--help"], stdout=writer)
    os.close(writer)
    T.equal((ended.returncode, ended.stderr), (0, ""), "a closed pipe as stdout is no error")


def config_cat(bus, directory):
    root = os.path.join(directory, "root")
    for name, text in (("usr/lib/gpuhost/gpuhostd.conf", "[Driver]\nA=1"),
                       ("etc/gpuhost/gpuhostd.conf.d/50-site.conf", "[Driver]\nA=2\n")):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    expect(run(bus, "config", "cat", f"--root={root}"), "config cat prints each file without a daemon", 0,
           out=re.escape("# /usr/lib/gpuhost/gpuhostd.conf\n[Driver]\nA=1\n\n"
                         "# /etc/gpuhost/gpuhostd.conf.d/50-site.conf\n[Driver]\nA=2\n"))
    result = run(bus, "config", "cat", "--json=short", f"--root={root}")
    T.equal([file["path"] for file in json.loads(result.out)],
            ["/usr/lib/gpuhost/gpuhostd.conf", "/etc/gpuhost/gpuhostd.conf.d/50-site.conf"],
            "config cat --json lists the files")
    with open(os.path.join(os.environ["top_srcdir"], "systemd/gpuhostd.conf"), encoding="utf-8") as file:
        installed = file.read()
    result = run(bus, "config", "cat", "--defaults")
    T.equal(result.out, installed, "config cat --defaults prints the installed file of defaults")


def images_not_managed(bus, directory):
    root = os.path.join(directory, "unmanaged")
    os.makedirs(os.path.join(root, "etc/gpuhost"))
    with open(os.path.join(root, "etc/gpuhost/gpuhostd.conf"), "w", encoding="utf-8") as file:
        file.write("[Images]\nManage=no\n")
    expect(run(bus, "image", "pull", f"--root={root}"), "with Manage=no image pull leaves pinned images alone", 0,
           err="Pinned images are left alone .*\n")
    result = run(bus, "image", "pull", "--json=short", f"--root={root}")
    T.equal(json.loads(result.out)["images"], [], "with Manage=no image pull --json has no images")
    T.ok(not os.path.exists(os.path.join(root, "run/gpuhost/placement.json")), "with Manage=no image pull writes no report")


def documents(bus):
    """Verbs that only print documents."""
    bus.tell("answer", "Manager.Describe", json.dumps(HOST))
    bus.tell("answer", "Manager.Plan", json.dumps(PLAN))
    bus.tell("answer", "Driver.Plan", json.dumps(PLAN))
    bus.tell("answer", "Driver.List", json.dumps({"kernel": "k", "selected": {}, "versions": []}))
    expect(run(bus, "status"), "status of a converged host exits with 0", 0, out="OK: .*    Host: idle, kernel .*Pending: nothing\n")
    shown = json.loads(run(bus, "status", "--json").out)
    T.equal(shown.pop("verdict")["ok"], True, "status --json has the verdict")
    T.equal(shown, HOST, "status --json contains the daemon's document")
    bus.tell("answer", "Manager.Describe", json.dumps(PENDING))
    expect(run(bus, "status"), "status of a host with pending steps exits with 3", 3, out="NOT OK: pending: t\nHint: Apply it: gpuhostctl apply.\n.*")
    bus.tell("answer", "Manager.Describe", json.dumps(HOST))
    for option, lines in (("--json=short", 1), ("--json", 1), ("-qj", 1)):
        T.equal(run(bus, "status", option).out.count("\n"), lines, f"{option} off a terminal prints one line")
    T.ok(run(bus, "status", "--json=pretty").out.startswith("{\n"), "--json=pretty prints several lines")
    expect(run(bus, "driver", "list"), "driver list reports an empty store", 0, err="No drivers in the store.\n")
    expect(run(bus, "driver", "show", "1.2"), "driver show of an unknown version fails", 4, err="gpuhostctl: driver 1.2 is not .*")
    expect(run(bus, "operation", "list"), "operation list without operations succeeds", 0, err="No operations.\n")
    expect(run(bus, "operation", "list", "--quiet"), "with --quiet an empty list prints nothing")
    expect(run(bus, "operation", "list", "-j"), "an empty list is an empty list in JSON", 0, out="\\[\\]\n")
    expect(run(bus, "operation", "show"), "operation show without operations fails", 4, err="gpuhostctl: no operation found\n")
    expect(run(bus, "operation", "show", "99"), "operation show of an unknown number fails", 4,
           err="gpuhostctl: operation 99 not found\nHint: List them: gpuhostctl operation list.\n")
    expect(run(bus, "reload"), "reload prints configuration errors", 9, err=".*1 problem;.*\n  /etc/gpuhost/.*ignoring\n")
    bus.tell("answer", "Manager.Describe", "no JSON")
    expect(run(bus, "status"), "an invalid JSON answer is reported", 9, err="gpuhostctl: gpuhostd's answer: not valid JSON\n")
    bus.tell("answer", "Manager.Describe", json.dumps(HOST))


def requests(bus, directory):
    """Each verb calls the daemon with its arguments and options."""
    bus.tell("start", "0")
    package = os.path.join(directory, "a.deb")
    with open(package, "w", encoding="utf-8") as file:
        file.write("bytes")
    many = os.path.join(directory, "many")  # the largest number of descriptors that a bus permits in one message
    os.mkdir(many)
    for i in range(16):
        with open(os.path.join(many, f"{i:02}.ko"), "w", encoding="utf-8"):
            pass
    for arguments, wanted in (
            (["apply"], "Manager.Apply"),
            (["driver", "swap", "550.163.01"], "Driver.Swap 550.163.01"),
            (["driver", "swap", "1.2", "--holders=wait", "--holder-timeout=1min"],
             "Driver.Swap 1.2 holder-timeout-usec 60000000 holders wait"),
            (["driver", "rollback", "--holders=terminate"], "Driver.Rollback holders terminate"),
            (["driver", "build", "1.2", "--kernel", "a", "--kernel=b"], "Driver.Build 1.2 a b"),
            (["driver", "build", "1.2", "--again"], "Driver.Build 1.2 again true"),
            (["driver", "verify"], "Driver.Verify"),
            (["driver", "remove", "1.2"], "Driver.Remove 1.2"),
            (["driver", "import", package], "Driver.Import a.deb=bytes"),
            (["driver", "swap", "1.2", "--holders=wait", "--dry-run"], "Driver.Plan swap 1.2 holders wait"),
            (["driver", "swap", "1.2", "--holders=wait", "--dry-run"], "Driver.Swap 1.2 dry-run true holders wait"),
            (["apply", "--dry-run"], "Manager.Apply dry-run true"),
            (["driver", "import", many], "Driver.Import " + " ".join(f"{i:02}.ko=" for i in range(16))),
            (["driver", "import", package, "--dry-run"], "Driver.Plan import a.deb"),
            (["driver", "verify", "--dry-run"], "Driver.Plan verify"),
            (["apply", "--dry-run"], "Manager.Plan"),
            (["driver", "build", "1.2", "--kernel=k", "--dry-run"], "Driver.Plan build 1.2 k")):
        bus.calls.clear()
        result = run(bus, *arguments)
        bus.tell("start", "0")  # also reads the calls printed so far
        T.ok(wanted in bus.calls, f"'{' '.join(arguments[:2])}' calls {wanted.split()[0]}",
             f"calls: {bus.calls}", result.err)
    result = run(bus, "driver", "swap", "1.2", "--json")
    T.equal(json.loads(result.out), {"id": 0}, "--json returns id 0 when nothing is to do")
    expect(run(bus, "driver", "swap", "1.2", "--no-wait"), "--no-wait prints 0 when nothing is to do", 0, out="0\n")
    bus.tell("answer", "Driver.Plan", json.dumps({**PLAN, "steps": []}))
    expect(run(bus, "driver", "swap", "1.2"), "a swap without steps prints the reason", 0,
           out="Nothing to do: loaded 535.261.03\nOK: this host .*\n")
    bus.tell("start", "12")
    expect(run(bus, "driver", "swap", "1.2", "--no-wait"), "--no-wait prints the operation's number", 0, out="12\n")
    T.equal(json.loads(run(bus, "driver", "swap", "1.2", "--no-wait", "--json").out), {"id": 12},
            "--no-wait --json returns the operation's number")


def refusals(bus):
    bus.tell("fail", "Driver.Swap", "org.gpuhost1.Error.Busy", "operation 3 runs\\nwait for it")
    expect(run(bus, "driver", "swap", "1.2"), "an error of the daemon is printed with its hint", 6,
           err="gpuhostctl: operation 3 runs\nHint: wait for it\n")
    bus.tell("fail", "Driver.Swap", "org.freedesktop.DBus.Error.AccessDenied", "no")
    expect(run(bus, "driver", "swap", "1.2"), "AccessDenied exits with 12", 12, err="gpuhostctl: permission denied\nHint: .*")
    bus.tell("fail", "Driver.Swap", "org.freedesktop.DBus.Error.NoReply", "gone")
    expect(run(bus, "driver", "swap", "550.54.14"), "a daemon that exits during a call is reported with exit status 17", 17,
           err="gpuhostctl: gpuhostd exited before it answered\nHint: .*")
    bus.tell("fail", "Driver.Swap", "org.gpuhost1.Error.Refused", "one; two")
    problems = [{"code": "not-found", "text": "no modules for k", "hint": "build them"},
                {"code": "in-use", "text": "held by python3", "hint": ""}]
    bus.tell("answer", "Driver.Plan", json.dumps({**PLAN, "problems": problems}))
    expect(run(bus, "driver", "swap", "1.2"), "all problems of a refused request are listed", 8,
           err=re.escape("gpuhostctl: swap driver 535.261.03 → 550.163.01: refused, nothing was changed; 2 problems:\n"
                         "  1. no modules for k\n     Hint: build them\n  2. held by python3\n"))
    expect(run(bus, "driver", "swap", "1.2", "--dry-run"), "a dry run prints the problems with the plan", 8,
           out="swap driver .*2 problems block this:.*")
    result = run(bus, "driver", "swap", "1.2", "--json")
    T.equal((result.status, result.err, json.loads(result.out)), (8, "", {**PLAN, "problems": problems}),
            "--json of a refused request prints only the plan")
    bus.tell("fail", "Driver.Swap", "org.freedesktop.DBus.Error.AccessDenied", "no")
    expect(run(bus, "driver", "swap", "1.2", "--json"), "AccessDenied with --json prints only the error", 12,
           err="gpuhostctl: permission denied\nHint: .*")
    bus.tell("fail", "Driver.Swap", "org.gpuhost1.Error.InUse", "held by python3")
    bus.tell("answer", "Driver.Plan", json.dumps({**PLAN, "problems": problems[1:]}))
    expect(run(bus, "driver", "swap", "1.2"), "a single problem is printed as the error", 7, err="gpuhostctl: held by python3\n")
    result = run(bus, "driver", "swap", "1.2", "--no-wait", "--json")
    T.equal((result.status, result.err, json.loads(result.out)), (7, "", {**PLAN, "problems": problems[1:]}),
            "--no-wait --json of a refused request prints the plan")
    bus.tell("fail", "Driver.Swap", "", "")
    bus.tell("answer", "Driver.Plan", json.dumps(PLAN))


def dry_runs(bus):
    bus.tell("start", "12")
    bus.operation(swap("checked", "pending", "pending", "pending"))
    expect(run(bus, "driver", "swap", "1.2", "--dry-run"), "a dry run without problems exits with 0", 0,
           out="swap driver .*Checked on this host: no problems found.\n")
    problems = [{"code": "in-use", "text": "held by python3", "hint": "stop it"}]
    bus.operation(swap("refused", "pending", "pending", "pending", problems=problems))
    expect(run(bus, "driver", "swap", "1.2", "--dry-run"), "a dry run with a problem prints it", 7,
           out="swap driver .*1 problem blocks this:\n  held by python3\n  Hint: stop it\n")
    result = run(bus, "driver", "swap", "1.2", "--dry-run", "--json")
    T.equal(json.loads(result.out), {**PLAN, "problems": problems, "warnings": [], "notes": [], "outputs": [], "checked": True},
            "a dry run's JSON is the plan with problems")
    bus.operation(swap("refused", "pending", "pending", "pending", error=FAILED))
    expect(run(bus, "driver", "swap", "1.2", "--dry-run"), "a dry run whose checks fail is an error", 1, err=".*No such device.*")
    plan = re.escape("swap driver 535.261.03 → 550.163.01\n") + ".*\n1 step:\n  1. load nvidia 550.163.01\n.*before any change.\n"
    for name, why in (("org.freedesktop.DBus.Error.AccessDenied", "permission denied"), ("org.gpuhost1.Error.Busy", "no")):
        bus.tell("fail", "Manager.Apply", name, "no")
        expect(run(bus, "apply", "--dry-run"), f"apply --dry-run with '{why}' prints the unchecked plan", 0, out=plan,
               err=f"Nothing was checked on this host: {why}\n")
        T.equal(json.loads(run(bus, "apply", "--dry-run", "--json").out), PLAN,
                f"apply --dry-run --json with '{why}' prints the plan")
        bus.tell("fail", "Manager.Apply", "", "")
    bus.tell("fail", "Manager.Apply", "org.gpuhost1.Error.Failed", "no")
    expect(run(bus, "apply", "--dry-run"), "apply --dry-run reports other errors", 1, err="gpuhostctl: no\n")
    bus.tell("fail", "Manager.Apply", "", "")
    bus.tell("fail", "Driver.Swap", "org.freedesktop.DBus.Error.AccessDenied", "no")
    expect(run(bus, "driver", "swap", "1.2", "--dry-run"), "another verb's dry run needs the privilege", 12,
           err="gpuhostctl: permission denied\n.*")
    bus.tell("fail", "Driver.Swap", "", "")


def complete(bus, *words):
    """Returns bash's completions of the last word."""
    script = os.path.join(tap.TOP_SRCDIR, "packaging", "completion", "gpuhostctl")
    code = 'source "$1"; COMP_WORDS=("${@:2}"); COMP_CWORD=$(($# - 2)); _gpuhostctl; printf "%s\\n" "${COMPREPLY[@]}"'
    path = os.path.abspath(tap.TOP_BUILDDIR) + ":" + bus.environment["PATH"]
    return programs.run(["bash", "-c", code, "bash", script, "gpuhostctl", *words],
                        env={**bus.environment, "PATH": path}).stdout.split()


# A shell that prints its completions, each as "<word>" and, with a description, as "<word  -- description>".
ZSHRC = """
PS1= fpath=($COMPLETION $fpath)
autoload -Uz compinit && compinit -D -u
compadd() {
    local -a fits shown
    local at=${@[(I)-d]}
    if ((${@[(I)-[OAD]]})); then # the caller only queries matches
        builtin compadd "$@"
        return
    fi
    ((at)) && shown=(${(P)@[at+1]})
    builtin compadd -O fits -D shown "$@"
    print -rl -- "<"$^fits">" "<"$^shown">"
    builtin compadd "$@"
}
probe() { _main_complete; print -n "\\x02" }
zle -C probe complete-word probe
bindkey "^I" probe
"""
ZPTY = """
zmodload zsh/zpty || exit
zpty shell zsh -d -i
zpty -w -n shell "$1"$'\\t'
zpty -r shell reply $'*\\x02'
print -r -- $reply
zpty -d shell
"""


def complete_in_zsh(bus, line):
    """Returns zsh's completions of the line's end, with and without descriptions."""
    with tempfile.TemporaryDirectory() as home:
        with open(os.path.join(home, ".zshrc"), "w", encoding="utf-8") as file:
            file.write(ZSHRC)
        said = programs.run(["zsh", "-f", "-c", ZPTY, "zsh", line], env={
            **bus.environment, "PATH": os.path.abspath(tap.TOP_BUILDDIR) + ":" + bus.environment["PATH"], "ZDOTDIR": home,
            "COMPLETION": os.path.join(tap.TOP_SRCDIR, "packaging", "completion")}).stdout
    return set(re.findall(r"<([^<>]+)>", said))


def completion_of_zsh(bus):
    if not shutil.which("zsh"):
        T.skip("zsh completes verbs and arguments", "no zsh")
        return
    for line, wanted in (
            ("gpuhostctl op", {"operation", "operation  -- list, show, wait, cancel"}),
            ("gpuhostctl driver ro", {"rollback", "rollback  -- swap to the driver that was selected before"}),
            ("gpuhostctl driver swap ", {"550.163.01", "535.261.03"}),
            ("gpuhostctl operation show ", {"12"}),
            ("gpuhostctl help dri", {"driver"}),
            ("gpuhostctl help driver ro", {"rollback"}),
            ("gpuhostctl driver swap --holders w", {"wait"}),
            ("gpuhostctl driver swap --holders=w", {"wait"}),
            ("gpuhostctl --holders w", {"wait"}),
            ("gpuhostctl --holders wait driver swap --holder-", {"--holder-timeout", "--holder-timeout  -- how long to wait for holders, such as '30s' or '5min'"}),
            ("gpuhostctl bundle create --out", {"--output", "--output  -- the bundle to write"}),
            ("gpuhostctl --ver", {"--version", "--version  -- print the version"}),
            ("gpuhostctl reload x", set())):
        T.equal(complete_in_zsh(bus, line), wanted, f"zsh completes '{line}'")
    offered = complete_in_zsh(bus, "gpuhostctl ")
    T.ok({"status", "driver"} <= offered and "swap" not in offered, "zsh offers the first word of each verb", offered)


def completion(bus):
    sets = [{"kernel": kernel, "flavour": "open", "digest": kernel, "modules": []}
            for kernel in ("6.1.0-56-amd64", "6.1.0-50-amd64")]
    versions = [{"version": "550.163.01", "userland": [], "modules": sets, "sources": []},
                {"version": "535.261.03", "userland": [], "modules": [], "sources": []}]
    bus.tell("answer", "Driver.List", json.dumps({"kernel": "6.1.0-50-amd64", "selected": {}, "versions": versions}))
    for words, wanted in (
            (["op"], ["operation"]),
            (["driver", "ro"], ["rollback"]),
            (["driver", "swap", ""], ["550.163.01", "535.261.03"]),
            (["operation", "show", ""], ["12"]),
            (["driver", "swap", "--holders", "w"], ["wait"]),
            (["driver", "swap", "--holders", "=", "w"], ["wait"]),
            (["apply", "--only", "=", "im"], ["images"]),
            (["help", "dri"], ["driver"]),
            (["help", "driver", "ro"], ["rollback"]),
            (["help", "driver", "swap", ""], []),
            (["--holders", "wait", "driver", "swap", "--ho"], ["--holders=", "--holder-timeout="])):
        T.equal(complete(bus, *words), wanted, f"bash completes '{' '.join(words)}'")
    completion_of_zsh(bus)


def follow(bus, *arguments):
    """Starts a swap. Returns after gpuhostctl's first call of Describe."""
    bus.operation(RUNNING)
    bus.tell("start", "12")
    process = Run(bus, "driver", "swap", "550.163.01", *arguments)
    bus.wait_for("Operation.Describe")
    return process


def operations(bus):
    started = follow(bus)
    bus.operation(swap("running", "done", "running", "pending"))
    bus.operation(COMMITTED)
    expect(started.end(), "a swap prints steps on stderr, result on stdout", 0,
           out="swap driver 535.261.03 → 550.163.01: done in 12 s\nOK: this host .*\n",
           err="1/3 stop nvidia-persistenced.service\n2/3 load nvidia 550.163.01\n3/3 point libraries at 550.163.01\n")
    started = follow(bus, "--quiet")
    bus.operation(swap("running", "done", "running", "pending"))
    bus.operation(COMMITTED)
    expect(started.end(), "a swap with --quiet prints only its result", 0, out="swap .*: done in 12 s\nOK: .*\n")
    started = follow(bus, "--json")
    bus.operation(COMMITTED)
    result = started.end()
    T.ok(result.err == "" and json.loads(result.out) == COMMITTED,
         "a swap with --json prints only its document", result.err)
    started = follow(bus)
    bus.operation(swap("undoing", "done", "undoing", "pending"))
    bus.operation(ROLLED_BACK)
    expect(started.end(), "a rolled-back swap prints step, cause and loaded driver", 15,
           err=".*2/3 undoing: load nvidia 550.163.01\n.*gpuhostctl: .*: failed and was rolled back.*"
               " *Failed: in step 2 of 3, load nvidia 550.163.01\n *Cause: nvidia: No such device\n"
               " *Runs now: driver 535.261.03\nHint: look at dmesg\n")
    bus.operation(ROLLED_BACK)
    expect(run(bus, "operation", "wait", "12"), "operation wait exits like the ended swap", 15,
           err=".*failed and was rolled back.*")
    expect(run(bus, "operation", "show", "12"), "operation show prints title and steps", 0, out="Operation: 12, swap.*Steps:\n.*")
    bus.operation(RUNNING)
    cancel = Run(bus, "operation", "cancel", "12")
    bus.wait_for("Operation.Describe")
    T.ok("Operation.Cancel" in bus.calls, "operation cancel calls Operation.Cancel")
    bus.operation(swap("cancelled", "undone", "pending", "pending", error={"code": "cancelled", "message": "cancelled"}))
    expect(cancel.end(), "operation cancel waits until the swap is undone", 0, out="operation 12 cancelled, .*\n",
           err=".*1/3 undoing: stop .*\n")
    bus.operation(RUNNING)
    cancel = Run(bus, "operation", "cancel", "12")
    bus.wait_for("Operation.Describe")
    bus.operation(COMMITTED)
    expect(cancel.end(), "cancelling a swap that commits first fails", 1,
           err=".*gpuhostctl: operation 12 ended before it could be cancelled\nHint: .*rollback.\n")


    bus.operation(RUNNING)
    expect(run(bus, "operation", "cancel", "12", "--no-wait"), "operation cancel --no-wait prints the number", 0,
           out="12\n")
    T.equal(json.loads(run(bus, "operation", "cancel", "12", "--no-wait", "--json").out), {"id": 12},
            "operation cancel --no-wait --json returns the number")


def no_polling(bus):
    started = follow(bus)
    bus.operation(RUNNING)
    bus.wait_for("Operation.Describe")
    bus.calls.clear()
    time.sleep(1)
    bus.operation(COMMITTED)
    result = started.end()
    bus.tell("start", "0")
    T.equal([call for call in bus.calls if call == "Operation.Describe"], ["Operation.Describe"],
            "an unchanged operation is not polled")
    T.equal(result.status, 0, "the end of an operation is noticed without polling")


def restarts(bus):
    started = follow(bus)
    bus.stop_service()
    started.wait_for("gpuhostd stopped")
    bus.start_service(RUNNING)
    bus.operation(COMMITTED)
    expect(started.end(), "a swap continues to wait across a daemon restart", 0, out=".*: done in 12 s\nOK: .*\n",
           err=".*gpuhostd stopped; .*")


def on_terminal(bus, *arguments, **environment):
    return Terminal([CTL, *arguments], {**bus.environment, "COLUMNS": "70", **environment})


def terminal(bus):
    bus.operation(RUNNING)
    bus.tell("start", "12")
    screen = on_terminal(bus, "driver", "swap", "550.163.01")
    screen.read_until("1/3 stop nvidia-persistenced.service")
    T.ok(" 10% [==>" in screen.text, "a terminal shows a progress bar", repr(screen.text))
    bus.operation(COMMITTED)
    status = screen.end()
    T.ok(screen.text.endswith("\r\033[Kswap driver 535.261.03 → 550.163.01: \033[32mdone\033[0m in 12 s\r\n"
                              "\033[32mOK:\033[0m this host has no NVIDIA GPU for a driver\r\n"),
         "the result replaces the progress bar", repr(screen.text))
    T.equal(status, 0, "a committed swap on a terminal exits with 0")
    screen = on_terminal(bus, "operation", "list", NO_COLOR="1")
    screen.end()
    T.ok("\033" not in screen.text and "committed" in screen.text,
         "NO_COLOR disables colours", repr(screen.text))
    for more, coloured in (({"SYSTEMD_COLORS": "0"}, False), ({"SYSTEMD_COLORS": "1", "NO_COLOR": "1"}, True)):
        screen = on_terminal(bus, "operation", "list", **more)
        screen.end()
        T.ok(("\033" in screen.text) == coloured, f"{more} determines the colours", repr(screen.text))
    environment = {**bus.environment, "SYSTEMD_COLORS": "1"}
    T.ok("\033" not in programs.run([CTL, "operation", "list"], env=environment).stdout, "off a terminal there are no colours")


def interrupt(bus):
    bus.operation(RUNNING)
    bus.tell("start", "12")
    screen = on_terminal(bus, "driver", "swap", "550.163.01")
    screen.read_until("1/3")
    bus.calls.clear()
    screen.type("\x03")
    status = screen.end()
    bus.tell("start", "0")
    T.ok("Operation 12 continues" in screen.text and "gpuhostctl operation cancel 12" in screen.text,
         "Ctrl-C prints that the operation continues", repr(screen.text))
    T.equal(status, -signal.SIGINT, "Ctrl-C ends gpuhostctl with SIGINT")
    T.ok("Operation.Cancel" not in bus.calls, "Ctrl-C does not cancel the operation", bus.calls)


def ready(bus):
    bus.tell("ready", "1")
    expect(run(bus, "wait-ready", "--converged"), "wait-ready --converged returns on a ready host")
    bus.tell("ready", "0")
    expect(run(bus, "wait-ready", "--converged", "--timeout=100ms"), "wait-ready --converged times out with exit status 13", 13,
           err="gpuhostctl: the host is not ready after 100ms\nHint: .*")
    waiting = Run(bus, "wait-ready", "--converged", f"--timeout={PATIENCE}s")
    time.sleep(0.2)
    bus.tell("ready", "1")
    expect(waiting.end(), "wait-ready --converged returns when the host becomes ready")
    bus.tell("fail", "Properties.Get", "org.freedesktop.DBus.Error.NoReply", "it is gone")
    waiting = Run(bus, "wait-ready", "--converged", f"--timeout={PATIENCE}s")
    bus.wait_for("Properties.Get org.gpuhost1.Manager Ready")
    bus.tell("fail", "Properties.Get", "", "")
    expect(waiting.end(), "wait-ready --converged repeats a call without a reply")
    bus.stop_service()
    waiting = Run(bus, "wait-ready", "--converged", f"--timeout={PATIENCE}s")
    time.sleep(0.2)
    bus.start_service()
    expect(waiting.end(), "wait-ready --converged returns when the daemon starts")


def verdict(bus):
    """wait-ready without --converged waits until the host is idle and exits like status."""
    bus.tell("answer", "Manager.Describe", json.dumps(HOST))
    expect(run(bus, "wait-ready"), "wait-ready on a converged host exits with 0")
    bus.tell("answer", "Manager.Describe", json.dumps(PENDING))
    expect(run(bus, "wait-ready"), "wait-ready with pending steps exits with 3", 3, err="NOT OK: pending: t\nHint: Apply it: gpuhostctl apply.\n")
    bus.tell("answer", "Manager.Describe", json.dumps(HOST | {"state": "busy", "operation": 12}))
    waiting = Run(bus, "wait-ready", f"--timeout={PATIENCE}s")
    bus.wait_for("Manager.Describe")
    bus.tell("answer", "Manager.Describe", json.dumps(HOST))
    bus.tell("ready", "1")
    expect(waiting.end(), "wait-ready waits for a running operation")


def lists(bus):
    for verb, key, note in (("driver list", "versions", "No drivers in the store."), ("driver history", "changes", "No changes of the driver."),
                            ("bundle list", "bundles", "No bundles."), ("toolkit list", "toolkits", "No toolkits in the store.")):
        noun, name = verb.split()
        bus.tell("answer", f"{noun.capitalize()}.{name.capitalize()}", json.dumps({key: []}))
        expect(run(bus, noun, name), f"an empty {verb} is one note", 0, err=re.escape(note + "\n"))
        T.equal(json.loads(run(bus, noun, name, "-j").out), {key: []}, f"an empty {verb} is an empty list in JSON")
    bus.operation(COMMITTED)
    expect(run(bus, "operation", "list", "--no-legend"), "--no-legend omits the header of a table", 0, out="12  .*550.163.01\n")
    bus.operation(COMMITTED | {"id": 13})
    expect(run(bus, "operation", "list"), "operation list has the newest first", 0, out="ID .*\n13 .*\n12 .*\n")
    T.equal([one["id"] for one in json.loads(run(bus, "operation", "list", "-j").out)], [13, 12],
            "operation list --json has the newest first")


def main():
    with tempfile.TemporaryDirectory() as directory:
        bus = Bus(directory)
        try:
            errors(bus)
            config_cat(bus, directory)
            images_not_managed(bus, directory)
            bus.start_service()
            documents(bus)
            requests(bus, directory)
            refusals(bus)
            dry_runs(bus)
            operations(bus)
            completion(bus)
            no_polling(bus)
            restarts(bus)
            terminal(bus)
            interrupt(bus)
            ready(bus)
            verdict(bus)
            lists(bus)
        finally:
            bus.close()
    T.done()


main()
