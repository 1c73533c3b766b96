# SPDX-License-Identifier: Apache-2.0
"""After any change of a host one apply repairs driver, specifications, toolkit and runtime.

A plan is made from observations before its steps, and the step of one component may change what another one
observed. Each round therefore applies several random changes, sometimes an interrupted apply. Then one apply
must leave an empty plan.

converge_test.py                                SEED=535, ROUNDS=25; FULL=1: 400"""
import glob
import json
import os
import random
import shutil
import time
import tomllib

from fake_host import CLIENT, NEW, OLD, read, run_checks, write
from gates import Gates
from one_version import mixture
from runtime_files import CONFIG, PLAIN, calls, dump, install_containerd, systemctl
from toolkit_files import CURRENT, write_debs

SEED = os.environ.get("SEED", "535")
ROUNDS = 400 if os.environ.get("FULL") == "1" else int(os.environ.get("ROUNDS", "25"))
TOOLKITS = ("1.18.1", "1.20.0")
SPECS = ("/run/cdi/nvidia.yaml", "/run/cdi/management.nvidia.com-gpu.yaml", "/etc/cdi/nvidia.yaml")
SETTINGS = {
    "CDI": ("Manage=no", "Directory=/etc/cdi", "Groups=no"),
    "Runtime": ("Classes=nvidia", "Classes=none", "Classes=nvidia nvidia-cdi", "Runtimes=containerd"),
    "Toolkit": ("Version=off", f"Version={TOOLKITS[0]}", "Mode=cdi", "Mode=legacy"),
}
FOREIGN = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: theirs\n  containerEdits: {env: [A=B]}\n"


class Fate:
    """Random changes of a host. After each of them an apply can still repair everything."""
    def __init__(self, host, chance):
        self.host = host
        self.chance = chance

    def unload(self):
        for name in sorted(os.listdir(self.host.path("/sys/module"))):
            shutil.rmtree(self.host.path(f"/sys/module/{name}"))
        shutil.rmtree(self.host.path("/proc/driver"), ignore_errors=True)
        for link in glob.glob(self.host.path("/sys/bus/pci/devices/*/driver")):
            os.unlink(link)

    def boot(self):
        self.host.kill_daemon()
        self.host.boot()
        systemctl(self.host, "restart")
        self.host.start_daemon()
        self.host.settle()

    def boot_without_driver(self):
        self.host.kill_daemon()
        self.host.boot()
        self.unload()
        systemctl(self.host, "restart")
        self.host.start_daemon()
        self.host.settle()

    def kill(self):
        self.host.kill_daemon()
        self.host.start_daemon()
        self.host.settle()

    def swap(self):
        self.host.ctl("driver", "swap", self.chance.choice((OLD, NEW)))

    def lose_specs(self):
        for path in SPECS:
            if self.chance.random() < 0.5 and os.path.exists(self.host.path(path)):
                os.unlink(self.host.path(path))

    def overwrite_spec(self):
        write(self.host.path("/run/cdi/nvidia.yaml"), FOREIGN)

    def lose_record(self):
        name = self.chance.choice(("cdi.json", "runtime.json", "toolkit.json"))
        for path in glob.glob(self.host.path("/var/lib/gpuhost/") + name):
            write(path, self.chance.choice(("", "[]", "{}")))

    def come_and_go(self):
        socket = self.host.path("/run/nvidia-persistenced/socket")
        if os.path.exists(socket):
            os.unlink(socket)
        else:
            write(socket, "")

    def overwrite_config(self):
        write(self.host.path(CONFIG), PLAIN.replace("3.9", f"{self.chance.randrange(9)}.0"))

    def restart_runtime(self):
        systemctl(self.host, "restart")

    def lose_drop_in(self):
        for path in glob.glob(self.host.path("/etc/containerd/conf.d/*")):
            if self.chance.random() < 0.7:
                os.unlink(path)
        if "gpuhost" in read(self.host.path(CONFIG)):
            self.overwrite_config()  # otherwise containerd does not start, and gpuhostd does not repair that

    def lose_link(self):
        if os.path.islink(self.host.path(CURRENT)):
            os.unlink(self.host.path(CURRENT))

    def lose_toolkit_config(self):
        for path in glob.glob(self.host.path("/etc/nvidia-container-runtime/*")):
            os.unlink(path)

    def exchange_toolkit(self):
        if self.host.ctl("toolkit", "remove", TOOLKITS[1]).returncode != 0:  # in use, or not in the store
            self.host.ctl("toolkit", "import", *glob.glob(os.path.join(self.host.scratch, "debs" + TOOLKITS[1], "*")), check=0)

    def configure(self):
        text = ""
        for section, lines in SETTINGS.items():
            chosen = {line.partition("=")[0]: line for line in lines if self.chance.random() < 0.3}
            text += "\n".join([f"[{section}]", *chosen.values(), ""])
        write(self.host.path("/etc/gpuhost/gpuhostd.conf.d/fate.conf"), text)
        self.host.ctl("reload", check=0)

    def interrupted(self):
        """Interrupts an apply at one of its steps: an error, the worker killed, or both programs killed."""
        end, last = self.chance.choice(("error", "worker killed", "all killed")), self.chance.randint(1, 12)

        def decide(_where, _count):
            if sum(gates.seen.values()) != last:
                return "go"
            if end == "all killed":
                self.host.kill_daemon()
            return "error failed" if end == "error" else None

        gates = Gates(self.host, decide)
        with self.host.start_ctl("apply") as ctl:
            while ctl.poll() is None and self.host.daemon:
                time.sleep(0.01)
            gates.close()
            if not self.host.daemon:
                self.host.kill_workers()
                self.host.start_daemon()
            self.host.settle()
        return f"apply, {end} at gate {last} of {sum(gates.seen.values())}"

    def happen(self):
        events = [event for name, event in sorted(vars(Fate).items()) if callable(event) and name not in ("happen", "interrupted", "__init__")]
        chosen = self.chance.sample(events, self.chance.randint(1, 4))
        for event in chosen:
            event(self)
        names = [event.__name__ for event in chosen]
        return [*names, self.interrupted()] if self.chance.random() < 0.5 else names


def cdi_settings(host):
    observed = host.json("status")["components"]["cdi"]["observed"]
    return observed["enable"], observed["directory"]


def programs_of(text):
    """Returns the programs of containerd's runtime classes."""
    found, tables = [], [tomllib.loads(text)]
    while tables:
        for key, value in tables.pop().items():
            if isinstance(value, dict):
                tables.append(value)
            elif key == "BinaryName" and value:
                found.append(value)
    return found


def is_contradictory(host):
    """Returns whether a class is configured without a toolkit, which gpuhostd reports and does not repair."""
    text = read(host.path("/etc/gpuhost/gpuhostd.conf.d/fate.conf"))
    return "Version=off" in text and "Classes=nvidia" in text and "needs NVIDIA's toolkit" in host.ctl("status").stdout


def faults(host):
    """Returns what is wrong after an apply."""
    found = mixture(host, containers=False)  # the settings and files of containers change in this test
    plan = host.plan()
    if plan["steps"]:
        found.append(f"the plan still has {[step['summary'] for step in plan['steps']]}: {plan['reasons']}")
    for component in ("driver", "cdi", "toolkit", "runtime"):
        if host.plan("--only", component)["steps"]:
            found.append(f"the plan of {component} alone has steps")
    enable, directory = cdi_settings(host)
    driver = host.loaded().get("nvidia")
    told = {path: host.told(path) for path in SPECS[:1] + SPECS[2:] if read(host.path(path)) not in ("", FOREIGN)}
    wanted = {f"{directory}/nvidia.yaml": driver} if enable and driver else {}
    if told != wanted:
        found.append(f"specifications are for {told}, not for {wanted}")
    if driver is None:
        found.append("no driver is loaded")
    config = dump(host)
    if config is None:
        return [*found, "containerd would not start"]
    for program in programs_of(config):
        if CURRENT in program and not os.path.exists(host.path(CURRENT)) and not is_contradictory(host):
            found.append(f"a class uses {program}, but the link is missing")
    return found


def install(host):
    client = read(host.path("/usr/bin/systemctl"))
    install_containerd(host)
    for name, text in (("of-driver", client), ("of-containerd", read(host.path("/usr/bin/systemctl")))):
        write(host.path(f"/usr/bin/systemctl-{name}"), text)
        os.chmod(host.path(f"/usr/bin/systemctl-{name}"), 0o755)
    write(host.path("/usr/bin/systemctl"), f'#!/bin/sh\ncase "$*" in *{CLIENT}*) exec {host.root}/usr/bin/systemctl-of-driver "$@" ;; esac\n'
          f'exec {host.root}/usr/bin/systemctl-of-containerd "$@"\n')
    for version in TOOLKITS:
        host.ctl("toolkit", "import", *write_debs(os.path.join(host.scratch, "debs" + version), version), check=0)
    host.ctl("apply", check=0)


def check_rounds(t, host):
    install(host)
    t.equal(faults(host), [], "a fully configured host has no faults")
    for number in range(ROUNDS):
        fate = Fate(host, random.Random(f"{SEED}/{number}"))
        events = fate.happen()
        run = host.ctl("apply")
        settled = calls(host)
        t.ok(run.returncode == 0 and not faults(host),
             f"round {number}: one apply repairs {', '.join(events)}", run.returncode, run.stdout, run.stderr,
             json.dumps(faults(host), indent=1), read(host.path("/etc/gpuhost/gpuhostd.conf.d/fate.conf")))
        host.ctl("apply", check=0)
        t.equal(calls(host), settled, f"round {number}: a second apply restarts no unit")


run_checks(check_rounds)
