# SPDX-License-Identifier: Apache-2.0
"""What a person meets: requests and their refusals, one operation at a time, cancel, configuration, log level."""
import json
import os
import re
import shutil
import subprocess
import time

import programs
import tap
from fake_host import NEW, OLD, run_checks, write
from gates import Gates
from lines import Lines

# Exit statuses of gpuhostctl(1)
NOT_FOUND, BUSY, IN_USE, REFUSED, CANCELLED = 4, 6, 7, 8, 16


def busctl(host, *arguments):
    call = programs.run(["busctl", f"--address={host.address}", *arguments], timeout=30)
    return call.returncode, (call.stdout + call.stderr).strip()


def operations(host):
    return host.json("operation", "list")


def check_requests(t, host):
    run = host.ctl("driver", "swap", OLD)
    t.ok(run.returncode == 0 and len(os.listdir(host.path("/var/lib/gpuhost/journal"))) == 5, "what is so already starts nothing", run.stdout, run.stderr)
    run = host.ctl("driver", "swap", "999.1.1")
    t.ok(run.returncode == NOT_FOUND and "999.1.1" in run.stderr and "Hint" in run.stderr, "a version that is not there is named, with what to do", run.stderr)
    plan = host.json("driver", "swap", NEW, "--dry-run")
    t.ok(len(plan["steps"]) > 5 and host.loaded()["nvidia"] == OLD, "a dry run shows the steps and does none", plan)
    t.equal((plan["changes_host"], host.json("operation", "show", "1")["changes_host"]), (True, False), "a swap changes the host, an import does not")
    status, text = busctl(host, "call", "org.gpuhost1", "/org/gpuhost1/driver", "org.gpuhost1.Driver", "Swap", "sa{sv}", NEW, "1", "force", "b", "true")
    t.ok(status != 0 and "force" in text, "an option that is not known is refused", text)
    status, text = busctl(host, "call", "org.gpuhost1", "/org/gpuhost1/driver", "org.gpuhost1.Driver", "Plan", "sasa{sv}", "swap", "1", NEW,
                          "2", "holders", "s", "wait", "holders", "s", "terminate")
    t.ok(status != 0 and "holders" in text and "twice" in text, "an option that stands twice is refused", text)
    status, text = busctl(host, "call", "org.gpuhost1", "/org/gpuhost1/driver", "org.gpuhost1.Driver", "Plan", "sasa{sv}", "format", "0", "0")
    t.ok(status != 0 and "format" in text, "a request that is not known is refused", text)


def check_one_at_a_time(t, host):
    second = []

    def decide(where, _count):
        if where.startswith("apply") and not second:
            second.append(host.ctl("driver", "swap", NEW))
            second.append(host.json("status"))
        return "go"

    gates = Gates(host, decide)
    first = host.ctl("driver", "swap", NEW)
    gates.close()
    t.ok(first.returncode == 0, "a swap is done", first.stderr)
    t.ok(second[0].returncode == BUSY and "swap driver" in second[0].stderr, "another one meanwhile is told what runs", second[0].stderr)
    t.ok(second[1]["state"] == "busy" and second[1]["operation"], "and status says so", second[1])


def check_rollback(t, host):
    run = host.ctl("driver", "rollback")
    t.ok(run.returncode == 0 and host.loaded()["nvidia"] == OLD, "rollback goes to the driver before", run.stderr)


def check_cancel(t, host):
    def decide(where, _count):
        if where.startswith("apply driver.prepare"):
            running = [o for o in operations(host) if o["state"] == "running"]
            host.ctl("operation", "cancel", str(running[0]["id"]), "--no-wait")
        return "go"

    gates = Gates(host, decide)
    run = host.ctl("driver", "swap", NEW)
    gates.close()
    t.ok(run.returncode == CANCELLED and host.loaded()["nvidia"] == OLD, "a cancelled swap leaves the old driver", run.returncode, run.stderr)
    t.equal(operations(host)[-1]["state"], "cancelled", "and is listed as cancelled")


def check_holders(t, host):
    os.makedirs(host.path("/proc/4242/fd"))
    os.symlink("../../../dev/nvidiactl", host.path("/proc/4242/fd/3"))
    write(host.path("/proc/4242/comm"), "trainer\n")
    write(host.path("/proc/4242/stat"), "4242 (trainer) S 1 4242 4242 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n")
    write(host.path("/proc/4242/cgroup"), "0::/system.slice/trainer.service\n")
    run = host.ctl("driver", "swap", NEW)
    t.ok(run.returncode in (IN_USE, REFUSED) and "trainer" in run.stderr + run.stdout, "who holds the driver is named, and nothing is touched", run.returncode, run.stdout, run.stderr)
    t.equal(host.loaded()["nvidia"], OLD, "the old driver serves on")
    write(host.path("/proc/4242/cgroup"), "0::/kubepods.slice/kubepods-pod12345678_1234_1234_1234_123456789012.slice/cri-containerd-" + "a" * 64 + ".scope\n")
    refused = json.loads(host.ctl("driver", "swap", NEW, "--dry-run", "--json").stdout)
    details = next((one.get("details") for one in refused["problems"] if one["code"] == "in-use"), {})
    t.equal((details["pid"], details["command"], details["pod"], details["container"]),
            (4242, "trainer", "12345678-1234-1234-1234-123456789012", "a" * 64), "programs get it in pieces")
    shutil.rmtree(host.path("/proc/4242"))


def check_many_holders(t, host):
    """Each process of 300 is a pod's own, 500 are one service's."""
    pods = {f"{number:08}-1234-1234-1234-123456789012" for number in range(300)}
    cgroups = [f"/kubepods.slice/kubepods-pod{pod.replace('-', '_')}.slice/cri-containerd-{'a' * 64}.scope" for pod in sorted(pods)]
    cgroups += ["/system.slice/trainer.service"] * 500
    for pid, cgroup in enumerate(cgroups, 5000):
        os.makedirs(host.path(f"/proc/{pid}/fd"))
        os.symlink("../../../dev/nvidiactl", host.path(f"/proc/{pid}/fd/3"))
        write(host.path(f"/proc/{pid}/comm"), "trainer\n")
        write(host.path(f"/proc/{pid}/cgroup"), f"0::{cgroup}\n")
    run = host.ctl("driver", "swap", NEW, "--dry-run", "--json")
    problems = json.loads(run.stdout)["problems"]
    t.equal((run.returncode, {one["details"]["pod"] for one in problems} - {""}), (IN_USE, pods), "of hundreds of holders each pod is named")
    t.equal([one["details"]["processes"] for one in problems if not one["details"]["pod"]], [500], "and a service's processes are counted")
    for pid, _ in enumerate(cgroups, 5000):
        shutil.rmtree(host.path(f"/proc/{pid}"))


def check_configuration(t, host):
    path = host.path("/etc/gpuhost/gpuhostd.conf")
    write(path, "[Driver]\nHolderPolicy=wait\n")
    t.equal(host.ctl("reload").returncode, 0, "a good configuration is taken")
    write(path, "[Driver]\nHolderPolicy=perhaps\nColour=red\n")
    run = host.ctl("reload")
    said = run.stdout + run.stderr
    t.ok("gpuhostd.conf:2" in said and "gpuhostd.conf:3" in said, "what is wrong with one is said by line", said)
    plan = host.json("driver", "swap", NEW, "--dry-run")
    t.ok("holders.wait" in [step["kind"] for step in plan["steps"]], "and the value in force stays", [s["kind"] for s in plan["steps"]])
    os.unlink(path)
    host.ctl("reload", check=0)


def check_log_level(t, host):
    log = ["org.gpuhost1", "/org/freedesktop/LogControl1", "org.freedesktop.LogControl1", "LogLevel"]
    busctl(host, "set-property", *log, "s", "debug")
    t.equal(busctl(host, "get-property", *log), (0, 's "debug"'), "the log level can be set while it runs")
    status, text = busctl(host, "set-property", *log, "s", "loud")
    t.ok(status != 0 and "loud" in text, "to a level that there is", text)


def until_it_watches(host, lines):
    """A monitor says nothing before it sees something, and what goes by earlier than that it never sees."""
    deadline = time.monotonic() + 30
    while True:
        busctl(host, "call", "org.gpuhost1", "/org/gpuhost1", "org.freedesktop.DBus.Peer", "Ping")
        try:
            return lines.next(0.1)
        except TimeoutError:
            if time.monotonic() > deadline:
                raise


def messages_until(host, last, act):
    """All that is on the bus from `act` until a message's member is among `last`."""
    monitor = programs.start(
        ["busctl", f"--address={host.address}", "--json=short", "monitor", "org.gpuhost1"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )
    seen = []
    try:
        lines = Lines(monitor.stdout)
        until_it_watches(host, lines)
        act()
        while (line := lines.next(30)) is not None:
            seen.append(json.loads(line))
            if seen[-1].get("member") in last:
                break
    finally:
        programs.end(monitor)
    return seen


def check_signals(t, host):
    """One swap as a client sees it: its object, its progress, its end."""
    def act():
        host.ctl("driver", "swap", NEW, check=0)
        host.kill_daemon(15)

    seen = messages_until(host, ("OperationEnded", "NameLost", "NameOwnerChanged"), act)
    members = [message.get("member") for message in seen]
    progress = [m for m in seen if m.get("member") == "PropertiesChanged" and re.fullmatch(r"/org/gpuhost1/operation/_\d+", m.get("path", ""))]
    ended = [m for m in seen if m.get("member") == "OperationEnded"]
    t.ok("OperationAdded" in members and "InterfacesAdded" in members, "an operation is announced", members)
    t.ok(0 < len(progress) < 30, "its progress is told, but not too often", len(progress))
    t.ok(ended and ended[0]["payload"]["data"][2] == "committed", "its end is told with its outcome", ended)


def check_removal(t, host):
    """With 50 that have ended, one more makes the oldest go: from the bus, the list and the disk."""
    journals = host.path("/var/lib/gpuhost/journal")
    last = max(int(name.partition(".")[0]) for name in os.listdir(journals))
    for number in range(last + 1, 51):
        shutil.copy(f"{journals}/1.jsonl", f"{journals}/{number}.jsonl")
    host.start_daemon()
    host.settle()
    before = {one["id"] for one in operations(host)}
    seen = messages_until(host, ("InterfacesRemoved", "NameLost"), lambda: host.ctl("driver", "verify", NEW, check=0))
    gone = before - {one["id"] for one in operations(host)}
    removed = [m["payload"]["data"] for m in seen if m.get("member") == "InterfacesRemoved"]
    t.ok(len(before) == 50 and len(gone) == 1, "one makes room for one", len(before), gone)
    for number in gone:
        t.ok(removed and removed[0][0] == f"/org/gpuhost1/operation/_{number}", "it leaves the bus", removed)
        t.ok(removed and "org.gpuhost1.Operation" in removed[0][1], "with its own interface", removed)
        t.ok(not os.path.exists(f"{journals}/{number}.jsonl"), "and the disk")


def check_options(t, _host):
    for wrong in (["--colour"], ["--launcher=ssh"], ["--launcher=systemd", "--root=/nowhere"]):
        run = programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostd"), *wrong])
        t.ok(run.returncode == 2 and run.stderr.startswith("gpuhostd: "), f"{' '.join(wrong)} is refused", run.returncode, run.stderr)


run_checks(check_requests, check_one_at_a_time, check_rollback, check_cancel, check_holders, check_many_holders, check_configuration, check_log_level,
           check_signals, check_removal, check_options)
