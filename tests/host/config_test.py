# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl config: settings with their sources, mistakes with file and line as gpuhostd finds them, and the
verdict of a host with mistakes."""
import json
import os
import re
import shutil

from driver_files import write_driver
from fake_host import GPUS, NEW, FakeHost, run_checks, write

MAIN = "/etc/gpuhost/gpuhostd.conf"
SITE = "/etc/gpuhost/gpuhostd.conf.d/50-site.conf"
DESIRED = "/var/lib/gpuhost/cluster-desired.conf"
NOT_OK, INVALID, NOT_FOUND, BAD = 3, 2, 4, 9

MISTAKEN = """[Driver]
HolderPolicy=wiat
Flavor_=open
Runtimes=containerd
nonsense
[DRIVER]
Version=550.163.01
[Peers]
Peers=gpu01 gpu/02
Timeout=soon
[Registry]
Connections=0
"""
# Line, text and hint of each mistake.
MISTAKES = [
    (2, "HolderPolicy='wiat': not one of: refuse, wait, terminate", "did you mean 'wait'?"),
    (3, "unknown key 'Flavor_' in [Driver]", "did you mean 'Flavour'?"),
    (4, "unknown key 'Runtimes' in [Driver]", "it belongs in [Runtime]"),
    (5, "neither [Section] nor Key=Value", ""),
    (6, "unknown section [DRIVER]", "did you mean [Driver]?"),
    (9, "Peers=: 'gpu/02' is neither HOST nor HOST:PORT", ""),
    (10, "Timeout='soon': not a time span (as '30s', '5min')", ""),
    (12, "Connections=: not from 1 to 10000", ""),
]


def shown(host, *arguments):
    return host.ctl("config", "show", *arguments, f"--root={host.root}")


def check_show(t, host):
    t.equal(shown(host, "--changed").stderr, "Every setting has its default.\n", "config show --changed is empty without files")
    write(host.path(DESIRED), "[Toolkit]\nVersion=1.18.1\n")
    write(host.path(MAIN), "[Driver]\nVersion=550.163.01\nHolderTimeout=600s\nPin=1.2.3\n[CDI]\nEnable=no\n")
    write(host.path(SITE), "[Driver]\nPin=\nHolderPolicy=wait\n")
    t.equal(shown(host, "--changed").stdout,
            f"[Driver]\n# from {MAIN}:2, default: empty\nVersion=550.163.01\n# from {SITE}:3, default: refuse\nHolderPolicy=wait\n"
            f"\n[CDI]\n# from {MAIN}:6, default: yes\nManage=no\n"
            "\n[Toolkit]\n# from the cluster's policy, default: auto\nVersion=1.18.1\n",
            "config show --changed prints values, sources and defaults")
    t.equal(shown(host, "CDI.Manage", "Driver.HolderTimeout", "CDI.Manage").stdout,
            f"[Driver]\n# from {MAIN}:3, the default\nHolderTimeout=600s\n\n[CDI]\n# from {MAIN}:6, default: yes\nManage=no\n",
            "config show SECTION.KEY prints each setting once")
    listed = json.loads(shown(host, "Toolkit", "--json=short").stdout)
    t.equal([(s["key"], s["value"], s["default"], s["changed"], s["source"]) for s in listed][:2],
            [("Version", "1.18.1", "auto", True, "the cluster's policy"), ("Mode", "auto", "auto", False, "default")],
            "config show --json has the keys of a section")
    everything = json.loads(shown(host, "--json").stdout)
    sections = [s["section"] for s in everything]
    t.ok(len(everything) > 50 and sorted(set(sections), key=sections.index) == [s for s, b in zip(sections, [None, *sections]) if s != b],
         "config show prints every section once", sections)
    write(os.path.join(host.scratch, "all.conf"), shown(host).stdout)
    copied = host.ctl("config", "check", os.path.join(host.scratch, "all.conf"))
    t.equal(copied.returncode, 0, "the output of config show is a valid file")


def check_unknown_names(t, host):
    for word, wanted in (("Driver.Versoin", "unknown key 'Versoin' in [Driver] (did you mean 'Version'?)"),
                         ("driver", "unknown section [driver] (did you mean [Driver]?)"),
                         ("Driver.", "unknown key '' in [Driver]"), ("", "unknown section []")):
        run = shown(host, word)
        t.ok(run.returncode == NOT_FOUND and run.stderr == f"gpuhostctl: {wanted}\nHint: List all settings: gpuhostctl config show.\n",
             f"config show refuses '{word}'", run.returncode, run.stderr)


def check_mistakes(t, host):
    """Mistakes of a file, of the host, and of gpuhostd are the same."""
    t.equal(host.ctl("config", "check", f"--root={host.root}").stdout, "No mistakes in 3 files.\n", "config check accepts valid files")
    path = os.path.join(host.scratch, "new.conf")
    write(path, MISTAKEN)
    run = host.ctl("config", "check", path)
    lines = [f"{path}:{line}: {text}" + (f" ({hint})" if hint else "") for line, text, hint in MISTAKES]
    t.equal(run.stdout.splitlines(), lines, "config check FILE prints each mistake with its line")
    t.ok(run.returncode == BAD and run.stderr == "gpuhostctl: 8 mistakes found\nHint: Correct the file. See gpuhostd.conf(5).\n",
         "mistakes cause exit status 9", run.returncode, run.stderr)
    write(host.path(MAIN), MISTAKEN)
    run = host.ctl("config", "check", "--json=short", f"--root={host.root}")
    found = json.loads(run.stdout)
    t.equal((found["files"], [(p["file"], p["line"], p["text"], p["hint"]) for p in found["problems"]]),
            ([DESIRED, MAIN, SITE], [(MAIN, *mistake) for mistake in MISTAKES]), "config check --json lists files and mistakes")
    said = [re.sub(", ignoring( the file)?", "", line.strip()) for line in host.ctl("reload").stderr.splitlines()[1:]]
    t.equal(said, [line.replace(path, MAIN) for line in lines], "reload reports the same mistakes")


def check_limits(t, host):
    scratch = lambda name: os.path.join(host.scratch, name)
    write(scratch("large"), "#" * 300000)
    write(scratch("binary"), "[Driver]\0\nVersion=1.2\n")
    write(scratch("latin"), "")
    with open(scratch("latin"), "wb") as file:
        file.write(b"[Driver]\nCl\xe9=\x1b[2J\n")
    os.mkfifo(scratch("pipe"))
    for name, status, message in (("large", BAD, "larger than 262144 bytes"), ("binary", BAD, "not a text file"),
                                  (".", INVALID, "not a regular file"), ("pipe", INVALID, "not a regular file"),
                                  ("none", NOT_FOUND, "No such file or directory")):
        run = host.ctl("config", "check", scratch(name))
        t.ok(run.returncode == status and message in run.stderr and run.stdout == "", f"config check refuses {name}: {message}",
             run.returncode, run.stdout, run.stderr)
    write(scratch("control"), "[Driver]\nHolderPolicy=\x1b[2J\n")
    run = host.ctl("config", "check", scratch("control"))
    t.ok(run.returncode == BAD and "HolderPolicy='?[2J'" in run.stdout and "\x1b" not in run.stdout, "config check prints no control characters", run.stdout)
    if os.geteuid() == 0:
        closed = scratch("closed")
        write(closed, "[Driver]\n")
        os.chmod(closed, 0)
        os.chmod(host.scratch, 0o755)
        run = host.ctl("config", "check", closed, user=65534)
        t.ok(run.returncode == 12 and "Permission denied" in run.stderr, "config check needs the right to read", run.returncode, run.stderr)
        os.chmod(host.path(MAIN), 0)
        for verb in ("show", "cat", "check"):
            run = host.ctl("config", verb, f"--root={host.root}", user=65534)
            t.ok(run.returncode == 12 and run.stdout == "" and "Hint: Run it as root." in run.stderr,
                 f"config {verb} needs the right to read the host's files", run.returncode, run.stdout, run.stderr)
        os.chmod(host.path(MAIN), 0o644)
    run = host.ctl("config", "check", scratch("latin"), f"--root={host.root}")
    t.equal(run.returncode, INVALID, "config check refuses --root with FILE")


def check_daemon_survives(t, host):
    """A file with bytes that are not UTF-8 does not break the answers of gpuhostd."""
    shutil.copyfile(os.path.join(host.scratch, "latin"), host.path(MAIN))
    run = host.ctl("reload")
    t.ok(run.returncode == BAD and f"{MAIN}:2: not UTF-8, ignoring" in run.stderr, "reload reports a line that is not UTF-8", run.returncode, run.stderr)
    os.unlink(host.path(MAIN))
    os.mkfifo(host.path(MAIN))
    run = host.ctl("config", "check", f"--root={host.root}")
    t.ok(run.returncode == BAD and run.stdout == f"{MAIN}: is a pipe, not a file\n", "config check reports a pipe on the host", run.stdout)
    t.ok(f"{MAIN}: is a pipe, not a file, ignoring the file" in host.ctl("reload").stderr, "gpuhostd ignores a pipe")
    os.unlink(host.path(MAIN))


def check_verdict(t, host):
    modules, packages = write_driver(os.path.join(host.scratch, NEW), NEW)
    host.ctl("driver", "import", *packages, check=0)
    host.ctl("driver", "import", *modules, check=0)
    for path in (DESIRED, SITE):
        os.unlink(host.path(path))
    write(host.path(MAIN), "[Driver]\nVersoin=1\nFoo=1\n")
    host.ctl("reload")
    t.ok(host.ctl("status").stdout.startswith("NOT OK: no driver is chosen"), "the driver precedes the configuration")
    host.ctl("driver", "swap", NEW, check=0)
    wanted = f"NOT OK: configuration: {MAIN}:2: unknown key 'Versoin' in [Driver], ignoring (did you mean 'Version'?)\nHint: Check it: gpuhostctl config check.\n"
    run = host.ctl("status")
    t.ok(run.returncode == NOT_OK and run.stdout.startswith(wanted), "status is NOT OK with a mistake", run.stdout)
    t.ok("Config: 2 problems, see: gpuhostctl config check\n" in run.stdout, "status counts problems of the configuration", run.stdout)
    run = host.ctl("wait-ready")
    t.ok(run.returncode == NOT_OK and run.stderr == wanted, "wait-ready agrees", run.returncode, run.stderr)
    t.equal(host.ctl("wait-ready", "--converged").returncode, 0, "wait-ready --converged succeeds with a mistake")
    os.unlink(host.path(MAIN))
    t.equal(host.ctl("status").returncode, NOT_OK, "a corrected file counts after a reload")
    host.ctl("reload", check=0)
    t.ok(host.ctl("status").stdout.startswith(f"OK: driver {NEW} serves {len(GPUS)} GPUs"), "status is OK after the reload")


run_checks(check_show, check_unknown_names, check_mistakes, check_limits, check_daemon_survives, check_verdict, make=FakeHost.install)
