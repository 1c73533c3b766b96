# SPDX-License-Identifier: Apache-2.0
"""Requests and refusals, one operation at a time, cancel, configuration, log level, signals."""
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


HOLDERS = ("call", "org.gpuhost1", "/org/gpuhost1/driver", "org.gpuhost1.Driver", "Holders")


def holders(host):
    status, text = busctl(host, "--json=short", *HOLDERS)
    return json.loads(json.loads(text)["data"][0]) if status == 0 else text


def operations(host):
    return host.json("operation", "list")


def check_requests(t, host):
    run = host.ctl("driver", "swap", OLD)
    t.ok(run.returncode == 0 and len(os.listdir(host.path("/var/lib/gpuhost/journal"))) == 5,
         "a swap to the loaded driver starts no operation", run.stdout, run.stderr)
    run = host.ctl("driver", "swap", "999.1.1")
    t.ok(run.returncode == NOT_FOUND and "999.1.1" in run.stderr and "Hint" in run.stderr,
         "a swap to an unknown version fails with hint", run.stderr)
    plan = host.json("driver", "swap", NEW, "--dry-run")
    t.ok(len(plan["steps"]) > 5 and host.loaded()["nvidia"] == OLD,
         "a dry run of a swap changes nothing", plan)
    t.equal((plan["changes_host"], host.json("operation", "show", "1")["changes_host"]), (True, False),
            "changes_host is true for a swap, not an import")
    status, text = busctl(host, "call", "org.gpuhost1", "/org/gpuhost1/driver", "org.gpuhost1.Driver", "Swap", "sa{sv}", NEW, "1", "force", "b", "true")
    t.ok(status != 0 and "force" in text, "Swap with an unknown option is refused", text)
    status, text = busctl(host, "call", "org.gpuhost1", "/org/gpuhost1/driver", "org.gpuhost1.Driver", "Plan", "sasa{sv}", "swap", "1", NEW,
                          "2", "holders", "s", "wait", "holders", "s", "terminate")
    t.ok(status != 0 and "holders" in text and "twice" in text,
         "Plan with a repeated option is refused", text)
    status, text = busctl(host, "call", "org.gpuhost1", "/org/gpuhost1/driver", "org.gpuhost1.Driver", "Plan", "sasa{sv}", "format", "0", "0")
    t.ok(status != 0 and "format" in text, "Plan with an unknown request is refused", text)


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
    t.ok(first.returncode == 0, "a swap succeeds despite a second request", first.stderr)
    t.ok(second[0].returncode == BUSY and "swap driver" in second[0].stderr,
         "a second swap is refused while one runs", second[0].stderr)
    t.ok(second[1]["state"] == "busy" and second[1]["operation"],
         "status reports a running swap as busy", second[1])


def check_rollback(t, host):
    run = host.ctl("driver", "rollback")
    t.ok(run.returncode == 0 and host.loaded()["nvidia"] == OLD,
         "driver rollback loads the previous driver", run.stderr)


def check_cancel(t, host):
    def decide(where, _count):
        if where.startswith("apply driver.prepare"):
            running = [o for o in operations(host) if o["state"] == "running"]
            host.ctl("operation", "cancel", str(running[0]["id"]), "--no-wait")
        return "go"

    gates = Gates(host, decide)
    run = host.ctl("driver", "swap", NEW)
    gates.close()
    t.ok(run.returncode == CANCELLED and host.loaded()["nvidia"] == OLD,
         "a cancelled swap keeps the old driver", run.returncode, run.stderr)
    t.equal(operations(host)[0]["state"], "cancelled", "operation list shows a cancelled swap as cancelled")


def check_holders(t, host):
    os.makedirs(host.path("/proc/4242/fd"))
    os.symlink("../../../dev/nvidiactl", host.path("/proc/4242/fd/3"))
    write(host.path("/proc/4242/comm"), "trainer\n")
    write(host.path("/proc/4242/stat"), "4242 (trainer) S 1 4242 4242 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n")
    write(host.path("/proc/4242/cgroup"), "0::/system.slice/trainer.service\n")
    run = host.ctl("driver", "swap", NEW)
    t.ok(run.returncode in (IN_USE, REFUSED) and "trainer" in run.stderr + run.stdout,
         "a swap is refused and names the holder", run.returncode, run.stdout, run.stderr)
    t.equal(host.loaded()["nvidia"], OLD, "a refused swap keeps the old driver loaded")
    write(host.path("/proc/4242/cgroup"), "0::/kubepods.slice/kubepods-pod12345678_1234_1234_1234_123456789012.slice/cri-containerd-" + "a" * 64 + ".scope\n")
    refused = json.loads(host.ctl("driver", "swap", NEW, "--dry-run", "--json").stdout)
    details = next((one.get("details") for one in refused["problems"] if one["code"] == "in-use"), {})
    t.equal((details["pid"], details["command"], details["pod"], details["container"]),
            (4242, "trainer", "12345678-1234-1234-1234-123456789012", "a" * 64),
            "a holder's details have PID, command, pod and container")
    before = operations(host)
    t.equal((holders(host), operations(host)), ([details], before),
            "Holders returns the same details without an operation")
    shutil.rmtree(host.path("/proc/4242"))
    t.equal(holders(host), [], "Holders returns none after the holder has exited")
    t.equal(os.listdir(host.path("/run/gpuhost/jobs")), [], "Holders leaves no files")


def check_holders_meanwhile(t, host):
    """Several callers ask for the holders while an operation's worker waits."""
    calls = []

    def decide(where, _count):
        if where.startswith("apply") and not calls:
            calls.extend(subprocess.Popen(["busctl", f"--address={host.address}", "--json=short", *HOLDERS], stdout=subprocess.PIPE, text=True) for _ in range(3))
        return "go"

    before = host.loaded()["nvidia"]
    gates = Gates(host, decide)
    run = host.ctl("driver", "swap", OLD if before == NEW else NEW)
    said = [one.communicate(timeout=30)[0] for one in calls]
    gates.close()
    found = [json.loads(json.loads(text)["data"][0]) if text else None for text in said]
    t.ok(run.returncode == 0 and found == [[]] * 3, "Holders answers all callers during an operation", found, run.stderr)
    host.ctl("driver", "swap", before, check=0)


def check_empty_arguments(t, host):
    """An empty name in a list is refused; an empty list means all."""
    for interface, arguments in (("Runtime", ("Restore", "asa{sv}", "1", "", "0")), ("Driver", ("Select", "sasa{sv}", NEW, "1", "", "0")),
                                 ("Driver", ("Plan", "sasa{sv}", "remove", "0", "0"))):
        status, text = busctl(host, "call", "org.gpuhost1", f"/org/gpuhost1/{interface.lower()}", f"org.gpuhost1.{interface}", *arguments)
        t.ok(status != 0 and ("has an empty argument" in text or "needs an argument" in text), f"{interface}.{arguments[0]} refuses empty arguments", text)


def check_many_holders(t, host):
    """300 processes are in one pod each, 500 in one service."""
    pods = {f"{number:08}-1234-1234-1234-123456789012" for number in range(300)}
    cgroups = [f"/kubepods.slice/kubepods-pod{pod.replace('-', '_')}.slice/cri-containerd-{'a' * 64}.scope" for pod in sorted(pods)]
    cgroups += ["/system.slice/trainer.service"] * 500
    processes = dict(enumerate(cgroups, 5_000_000))  # no PID is as large; a worker ignores its own
    for pid, cgroup in processes.items():
        os.makedirs(host.path(f"/proc/{pid}/fd"))
        os.symlink("../../../dev/nvidiactl", host.path(f"/proc/{pid}/fd/3"))
        write(host.path(f"/proc/{pid}/comm"), "trainer\n")
        write(host.path(f"/proc/{pid}/cgroup"), f"0::{cgroup}\n")
    run = host.ctl("driver", "swap", NEW, "--dry-run", "--json")
    problems = json.loads(run.stdout)["problems"]
    t.equal((run.returncode, {one["details"]["pod"] for one in problems} - {""}), (IN_USE, pods),
            "each of 300 pods is reported as a holder")
    t.equal([one["details"]["processes"] for one in problems if not one["details"]["pod"]], [500],
            "a service with 500 holders is reported once")
    for pid in processes:
        shutil.rmtree(host.path(f"/proc/{pid}"))


def check_configuration(t, host):
    path = host.path("/etc/gpuhost/gpuhostd.conf")
    write(path, "[Driver]\nHolderPolicy=wait\n")
    t.equal(host.ctl("reload").returncode, 0, "reload accepts a valid configuration")
    write(path, "[Driver]\nHolderPolicy=perhaps\nColour=red\n")
    run = host.ctl("reload")
    said = run.stdout + run.stderr
    t.ok("gpuhostd.conf:2" in said and "gpuhostd.conf:3" in said,
         "reload reports each invalid line by number", said)
    plan = host.json("driver", "swap", NEW, "--dry-run")
    t.ok("holders.wait" in [step["kind"] for step in plan["steps"]],
         "an invalid value keeps the earlier value", [s["kind"] for s in plan["steps"]])
    write(path, "[Cluster]\nEvictAs=node\n")
    run = host.ctl("config", "check", f"--root={host.root}")
    t.ok(run.returncode and "gpuhostd.conf:2" in run.stdout + run.stderr and "kubelet, own" in run.stdout + run.stderr,
         "config check refuses an unknown EvictAs=", run.stdout, run.stderr)
    write(host.path("/etc/kubernetes/kubelet.conf"), "a key\n")
    for value, lends in (("own", False), ("kubelet", True)):
        write(path, f"[Cluster]\nEvictAs={value}\n")
        host.ctl("reload", check=0)
        status, text = busctl(host, "call", "org.gpuhost1", "/org/gpuhost1", "org.gpuhost1.Manager", "GetKubeletCredentials")
        t.ok((status == 0, "a key" in text, "not lent with EvictAs=own" in text) == (lends, lends, not lends),
             f"with EvictAs={value} the kubelet's key is {'lent' if lends else 'not lent'}", status, text)
    os.unlink(path)
    host.ctl("reload", check=0)


def check_log_level(t, host):
    log = ["org.gpuhost1", "/org/freedesktop/LogControl1", "org.freedesktop.LogControl1", "LogLevel"]
    busctl(host, "set-property", *log, "s", "debug")
    t.equal(busctl(host, "get-property", *log), (0, 's "debug"'), "LogLevel can be set on a running daemon")
    status, text = busctl(host, "set-property", *log, "s", "loud")
    t.ok(status != 0 and "loud" in text, "an unknown LogLevel is refused", text)


def until_it_watches(host, lines):
    """Pings the daemon until the monitor prints a message, because it misses earlier ones."""
    deadline = time.monotonic() + 30
    while True:
        busctl(host, "call", "org.gpuhost1", "/org/gpuhost1", "org.freedesktop.DBus.Peer", "Ping")
        try:
            return lines.next(0.1)
        except TimeoutError:
            if time.monotonic() > deadline:
                raise


def messages_until(host, last, act):
    """Returns the messages on the bus from the call of `act` until a member in `last`."""
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
    """The signals of one swap: object, progress and end."""
    def act():
        host.ctl("driver", "swap", NEW, check=0)
        host.kill_daemon(15)

    seen = messages_until(host, ("OperationEnded", "NameLost", "NameOwnerChanged"), act)
    members = [message.get("member") for message in seen]
    progress = [m for m in seen if m.get("member") == "PropertiesChanged" and re.fullmatch(r"/org/gpuhost1/operation/_\d+", m.get("path", ""))]
    ended = [m for m in seen if m.get("member") == "OperationEnded"]
    t.ok("OperationAdded" in members and "InterfacesAdded" in members,
         "a swap emits OperationAdded and InterfacesAdded", members)
    t.ok(0 < len(progress) < 30, "a swap emits between 1 and 29 progress signals", len(progress))
    t.ok(ended and ended[0]["payload"]["data"][2] == "committed",
         "a swap emits OperationEnded with its outcome", ended)


def check_removal(t, host):
    """After 50 ended operations, a new one removes the oldest from bus, list and disk."""
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
    t.ok(len(before) == 50 and len(gone) == 1,
         "a 51st operation removes one from the list", len(before), gone)
    for number in gone:
        t.ok(removed and removed[0][0] == f"/org/gpuhost1/operation/_{number}",
             "the removed operation's object leaves the bus", removed)
        t.ok(removed and "org.gpuhost1.Operation" in removed[0][1],
             "InterfacesRemoved names org.gpuhost1.Operation", removed)
        t.ok(not os.path.exists(f"{journals}/{number}.jsonl"), "the removed operation's journal is deleted")


def check_options(t, _host):
    for wrong in (["--colour"], ["--launcher=ssh"], ["--launcher=systemd", "--root=/nowhere"]):
        run = programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostd"), *wrong])
        t.ok(run.returncode == 2 and run.stderr.startswith("gpuhostd: "),
             f"gpuhostd refuses {' '.join(wrong)}", run.returncode, run.stderr)


run_checks(check_requests, check_one_at_a_time, check_rollback, check_cancel, check_empty_arguments, check_holders, check_holders_meanwhile, check_many_holders, check_configuration, check_log_level,
           check_signals, check_removal, check_options)
