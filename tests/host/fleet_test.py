# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl fleet status during a rollout: the table, following changes, and errors.
gpuhost-cluster queries the API server for it."""
import base64
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

import tap
from fake_api import CONFIG_MAPS, LEASES, NODES, FakeApi
from fake_host import read, scratch, write
from programs import end, environment, run, start, wait

OLD, NEW = "535.216.01", "550.163.01"
FAILED, INVALID, NOT_FOUND, DENIED = 1, 2, 4, 12
STATE, RECORD, REASON = "nvidia.com/gpu-driver-upgrade-state", "gpuhost.io/upgrade", "gpuhost.io/upgrade-reason"
PLACES = "all places are taken: maxParallelUpgrades is 2"
PATIENCE = 30  # seconds


class Site:
    """An API server, and a host with credentials for it. The service gpuhost-cluster does not run."""
    def __init__(self):
        self.directory = scratch()
        self.root = os.path.join(self.directory, "root")
        self.api = FakeApi(os.path.join(self.directory, "api"))
        write(f"{self.root}/proc/sys/kernel/hostname", "gpu01\n")
        keys = self.api.authority.keys("gpuhost:host:gpu01", purposes="clientAuth")
        etc = f"{self.root}/etc/gpuhost/cluster"
        os.makedirs(etc)
        for name in ("ca.pem", "cert.pem", "key.pem"):
            shutil.copy(os.path.join(keys, name), etc)
        self.kubeconfig = f"{etc}/kubeconfig"
        write(self.kubeconfig, json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "site", "cluster": {"server": self.api.url, "certificate-authority": "ca.pem"}}],
            "users": [{"name": "host", "user": {"client-certificate": "cert.pem", "client-key": "key.pem"}}],
            "contexts": [{"name": "c", "context": {"cluster": "site", "user": "host"}}]}))
        build = os.path.abspath(tap.TOP_BUILDDIR)
        self.environment = environment(PATH=f"{build}:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C.UTF-8", TERM="xterm")
        self.command = [f"{build}/gpuhostctl", "fleet", "status", f"--root={self.root}"]

    def close(self):
        self.api.stop()
        shutil.rmtree(self.directory)

    def node(self, name, state, reason="", version=NEW, age=90, **more):
        """Adds a host, or changes its state."""
        record = {"state": state, "version": version, "since": int(time.time()) - age, "prepared": True}
        old = self.api.node(name) or {}
        self.api.put(NODES, name, {
            "metadata": {"uid": f"uid-{name}", "labels": {"nvidia.com/gpu.present": "true", STATE: state},
                         "annotations": {RECORD: json.dumps(record), REASON: reason}},
            "spec": {}, "status": old.get("status", {"conditions": [{"type": "Ready", "status": "True"}]}), **more})

    def lease(self, name, annotations=None, renewed=0):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(time.time() - renewed))
        self.api.put(LEASES, name, {"metadata": {"annotations": annotations or {}},
                                    "spec": {"holderIdentity": "gpu01", "leaseDurationSeconds": 15, "renewTime": stamp}})

    def grant(self, name):
        self.lease(f"gpuhost-upgrade-{name}", {"gpuhost.io/node-uid": f"uid-{name}"})

    def policy(self, **rollout):
        text = {"driver": {"version": NEW, "upgradePolicy": {"autoUpgrade": True, "maxParallelUpgrades": 2, "maxUnavailable": "100%"}}, "rollout": rollout}
        self.api.put(CONFIG_MAPS, "gpuhost-policy", {"data": {"policy.yaml": json.dumps(text)}})

    def ctl(self, *more):
        return run([*self.command, *more], env=self.environment)

    def fleet(self, *more):
        """Runs gpuhost-cluster --fleet."""
        return run([os.path.join(tap.TOP_BUILDDIR, "gpuhost-cluster"), "--fleet", f"--root={self.root}", *more], env=self.environment)


class Terminal:
    """A terminal with 80 columns and 24 rows that runs a command."""
    def __init__(self, command, **options):
        self.text = ""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = start(command, stdin=slave, stdout=slave, stderr=slave, **options)
        os.close(slave)

    def read(self, seconds=0.1):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.text += os.read(self.master, 65536).decode()
            except OSError:  # the other end is closed
                return False
        return True

    def eventually(self, text):
        deadline = time.monotonic() + PATIENCE
        while text not in self.text and time.monotonic() < deadline:
            self.read()
        return text in self.text

    def rows(self):
        """Returns the rows as painted last."""
        return self.text.split("\033[H")[-1].replace("\033[K", "").split("\033[J")[0].splitlines()

    def end(self, number):
        self.process.send_signal(number)
        status = wait(self.process)
        while self.read(0) and select.select([self.master], [], [], 0)[0]:
            pass
        os.close(self.master)
        return status


def check_table(t, site):
    for number in range(230):
        site.node(f"done{number:03}", "upgrade-done")
    site.node("bad", "upgrade-failed", "swap: the kernel refused the module")
    for number in range(40):
        site.node(f"wait{number:02}", "upgrade-required", PLACES, age=600)
    for name in ("busy1", "busy2"):
        site.node(name, "drain-required", "1 pod is left")
        site.grant(name)
    site.node("off", "upgrade-required", "waits for its turn", status={"conditions": [{"type": "Ready", "status": "Unknown"}]})
    site.api.add_node("no-gpu")
    site.lease("gpuhost-leader")
    site.policy()
    shown = site.ctl()
    t.equal((shown.returncode, shown.stderr), (0, ""), "fleet status succeeds without a daemon or gpuhost-cluster")
    want = f"""Server: {site.api.url}
Leader: gpu01
  Pool: default, driver {NEW}
        [====================>   ] 230 of 274 done
        1 failed, 2 under way, 41 waiting
        {PLACES}

NODE      STATE             AGE  REASON
bad       upgrade-failed    90s  swap: the kernel refused the module
busy1     drain-required    90s  1 pod is left
busy2     drain-required    90s  1 pod is left
off       upgrade-required  90s  the node is not ready
40 nodes  upgrade-required  10m  {PLACES}
"""
    t.equal(re.sub(r"9\ds", "90s", shown.stdout), want, "fleet status lists hosts that are not done")
    every = site.ctl("--all").stdout
    t.ok("done229" in every and "wait39" in every and "no-gpu" not in every,
         "fleet status --all lists each host with a GPU", every[-300:])
    document = json.loads(site.ctl("--json").stdout)
    t.equal((len(document["nodes"]), document["leader"]["name"]), (274, "gpu01"),
            "fleet status --json has all hosts and the leader")
    t.equal({call[0] for call in site.api.calls}, {"GET"}, "fleet status only reads from the API server")
    lists = [call for call in site.api.calls if call[1] == NODES and "watch" not in call[2]]
    t.equal(len(lists), 3 * 3, "fleet status lists Nodes once, in pages")


def check_hostile(t, site):
    """Other clients can write any text to a Node."""
    site.node("evil", "upgrade-failed", "\033[2J\n" + "x" * 100_000, version="\033]0;owned\007")
    shown = site.ctl().stdout
    t.ok("\033" not in shown and "\007" not in shown and "evil" in shown,
         "fleet status escapes control characters of Nodes", shown[-300:])
    t.ok(max(map(len, shown.splitlines())) < 5000, "fleet status shortens long texts of Nodes")
    site.api.drop(NODES, "evil")


def check_lines(t, site):
    """--follow without a terminal prints a line for each change."""
    with open(os.path.join(site.directory, "lines"), "w+", encoding="utf-8") as out:
        following = start([*site.command, "--watch"], env=site.environment, stdout=out, stderr=out)

        def has(text):
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                out.seek(0)
                if text in out.read():
                    return True
                time.sleep(0.05)
            return False

        t.ok(has("40 nodes"), "--follow prints the table first")
        site.node("busy1", "pod-restart-required", "swaps")
        t.ok(has(f"busy1 pod-restart-required {NEW}: swaps\n"), "--follow prints a changed Node")
        site.node("busy1", "upgrade-done")
        site.api.drop(LEASES, "gpuhost-upgrade-busy1")
        t.ok(has(f"busy1 upgrade-done {NEW}\n") and has("pool default: 231 of 274 done, 1 failed, 1 under way, 41 waiting"),
             "--follow prints changed pools")
        for number in range(50):
            site.node("busy2", "drain-required", f"{number} pods are left")
        t.ok(has("49 pods are left"), "--follow prints the last of many changes")
        out.seek(0)
        t.ok(out.read().count("pods are left") < 10, "--follow prints frequent changes once per second")
        watches = site.api.watches()
        site.api.stop()
        t.ok(has("problem: "), "--follow reports a stopped server")
        site.node("wait00", "upgrade-done")
        site.api.start()
        t.ok(has(f"wait00 upgrade-done {NEW}\n") and site.api.watches() > watches,
             "--follow prints changes missed during a disconnection")
        t.equal(end(following, signal.SIGTERM), -signal.SIGTERM, "--follow runs until SIGTERM")


RENEWING = r"""#!/bin/sh
# Prints a document, and loses its access until it is started again.
document() { echo "{\"server\": \"s\", \"leader\": null, \"policy_problems\": [], \"nodes\": [], \"pools\": [{\"name\": \"p\", \"hosts\": 2, \"done\": $1}]}"; }
count=$(cat starts 2>/dev/null || echo 0)
echo $((count + 1)) >starts
case $count in
0) document 1; echo '{"error": {"code": "access-denied", "message": "expired"}}'; exec sleep 60 ;;
1) echo '{"error": {"code": "access-denied", "message": "still expired"}}'; exit 1 ;;
*) document 2; exec sleep 60 ;;
esac
"""


def check_renewed(t, site):
    """--watch starts gpuhost-cluster again, as the same user, if the API server refuses its credentials."""
    directory = os.path.join(site.directory, "renewing")
    write(f"{directory}/gpuhost-cluster", RENEWING)
    os.chmod(f"{directory}/gpuhost-cluster", 0o755)
    more = site.environment | {"PATH": f"{directory}:{site.environment['PATH']}"}
    with open(os.path.join(site.directory, "renewed"), "w+", encoding="utf-8") as out:
        following = start([*site.command, "--watch"], env=more, cwd=directory, stdout=out, stderr=out)
        deadline = time.monotonic() + PATIENCE
        text = ""
        while "2 of 2 done" not in text and time.monotonic() < deadline:
            time.sleep(0.1)
            out.seek(0)
            text = out.read()
        t.ok(text.endswith("problem: expired\nproblem: still expired\npool p: 2 of 2 done\n"), "--watch reads renewed credentials", text)
        t.equal(end(following, signal.SIGTERM), -signal.SIGTERM, "--watch runs on after an error of access")


def check_policy(t, site):
    """A changed policy is used while --follow runs."""
    with open(os.path.join(site.directory, "json"), "w+", encoding="utf-8") as out:
        following = start([*site.command, "--watch", "--json=short"], env=site.environment, stdout=out, stderr=out)

        def last(condition):
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                out.seek(0)
                lines = out.read().split("\n")[:-1]  # the last line may be incomplete
                if lines and condition(json.loads(lines[-1])):
                    return True
                time.sleep(0.05)
            return False

        t.ok(last(lambda one: [pool["name"] for pool in one["pools"]] == ["default"]),
             "--follow --json prints one document per line")
        site.policy(pools=[{"name": "lab", "nodeSelector": {"tier": "lab"}}])
        t.ok(last(lambda one: [pool["hosts"] for pool in one["pools"]] == [0, 274]),
             "--follow assigns Nodes to pools of a new policy")
        site.policy()
        t.ok(last(lambda one: len(one["pools"]) == 1), "--follow uses the earlier policy again")
        end(following, signal.SIGTERM)


def check_terminal(t, site):
    terminal = Terminal([*site.command, "--watch"], env=site.environment)
    t.ok(terminal.eventually("39 nodes"), "--follow paints a table on a terminal", terminal.text)
    site.node("busy2", "validation-required", "the driver gets ready")
    t.ok(terminal.eventually("the driver gets ready"),
         "--follow repaints the table after a change", terminal.text)
    t.ok(all(len(row) <= 80 for row in terminal.rows()) and len(terminal.rows()) < 24,
         "--follow fits the table into the terminal", *terminal.rows())
    before = terminal.text.count("\033[H")
    time.sleep(2.5)
    terminal.read()
    t.ok(before + 2 <= terminal.text.count("\033[H") <= before + 5, "--follow repaints once per second")
    t.equal(terminal.end(signal.SIGINT), -signal.SIGINT, "Ctrl-C ends --follow with SIGINT")
    t.ok(terminal.text.count("\033[?1049h") == terminal.text.count("\033[?1049l") == 1 and
         "39 nodes" in terminal.text.rpartition("\033[?1049l")[2],
         "Ctrl-C leaves the last table on the terminal", terminal.text[-500:])


def check_reader_gone(t, site):
    """gpuhost-cluster ends when its reader closes the pipe."""
    command = [os.path.join(tap.TOP_BUILDDIR, "gpuhost-cluster"), "--fleet", "--follow", f"--root={site.root}"]
    reader, writer = os.pipe()
    program = start(command, env=site.environment, stdout=writer)
    os.close(writer)
    os.read(reader, 10)
    os.close(reader)
    t.equal(wait(program), 0, "--follow exits with 0 when its reader closes")


def check_leader(t, site):
    site.lease("gpuhost-leader", renewed=700)
    t.ok("Leader: gpu01, silent for 11m: no upgrade begins" in site.ctl().stdout,
         "fleet status reports a leader with an expired Lease")
    site.api.drop(LEASES, "gpuhost-leader")
    t.ok("Leader: none: hosts serve, but no upgrade begins\n  Hint: On a host that shall lead, set Candidate=yes" in site.ctl().stdout,
         "fleet status says how to get a leader")


def check_plugin(t, site):
    """kubectl-gpuhost, with a kubectl that prints the kubeconfig of an administrator."""
    directory = f"{site.directory}/plugin"
    etc = os.path.dirname(site.kubeconfig)
    document = json.loads(read(site.kubeconfig))
    encoded = {name: base64.b64encode(read(f"{etc}/{name}").encode()).decode() for name in ("ca.pem", "cert.pem", "key.pem")}
    document["clusters"][0]["cluster"] = {"server": site.api.url, "certificate-authority-data": encoded["ca.pem"]}
    document["users"][0]["user"] = {"client-certificate-data": encoded["cert.pem"], "client-key-data": encoded["key.pem"]}
    flat = f"{directory}/flat"
    write(flat, json.dumps(document))
    write(f"{directory}/kubectl", f'#!/bin/sh\nprintf "%s|" "$@" >{directory}/words\ncat {flat}\n')
    os.chmod(f"{directory}/kubectl", 0o755)
    os.mkdir(f"{directory}/run")
    more = {**site.environment, "PATH": f"{directory}:{site.environment['PATH']}", "XDG_RUNTIME_DIR": f"{directory}/run"}
    plugin = os.path.join(tap.TOP_SRCDIR, "packaging/kubectl/kubectl-gpuhost")
    asked = run([plugin, "status", "--context", "c d", "--all", "--kubeconfig=/a", "--json"], env=more)
    t.equal((asked.returncode, asked.stderr, asked.stdout), (0, "", site.ctl("--all", "--json").stdout), "kubectl gpuhost shows what fleet status shows")
    t.equal(read(f"{directory}/words"), "config|view|--raw|--minify|--flatten|--kubeconfig=/a|--context=c d|", "kubectl gpuhost asks kubectl for the context")
    asked = run([plugin], env=more)
    head = site.ctl().stdout.partition("\n\n")[0]  # the table has ages
    t.equal((asked.returncode, asked.stdout.partition("\n\n")[0]), (0, head), "kubectl gpuhost without words shows the status")
    following = start([plugin, "--context=c d", "watch", "--json"], env=more, stdout=subprocess.PIPE, text=True)
    t.ok("nodes" in json.loads(following.stdout.readline()), "kubectl gpuhost watch follows")
    t.equal(os.listdir(f"{directory}/run"), [], "no file has the credentials meanwhile")
    following.send_signal(signal.SIGTERM)
    t.equal(wait(following), -signal.SIGTERM, "kubectl gpuhost watch ends by a signal")
    kubectl = read(f"{directory}/kubectl")
    write(f"{directory}/kubectl", kubectl + "kill -TERM $PPID\nsleep 0.1\n")
    t.equal((run([plugin], env=more).returncode, os.listdir(f"{directory}/run")), (-signal.SIGTERM, []), "no file has the credentials after a signal")
    write(f"{directory}/kubectl", kubectl)
    document["users"][0]["user"] = {"exec": {"command": "aws"}}
    write(flat, json.dumps(document))
    asked = run([plugin], env=more)
    t.ok(asked.returncode == 8 and "the kubeconfig: user 'host': has exec" in asked.stderr and "as root" not in asked.stderr,
         "kubectl gpuhost refuses a kubeconfig with a plug-in", asked.returncode, asked.stderr)
    asked = [run([plugin, *words], env=more) for words in (["drain"], ["--context"], ["watch", "-h"], ["status", "watch"])]
    t.equal([one.returncode for one in asked], [2, 2, 0, 2], "kubectl gpuhost refuses unknown commands")
    t.ok("kubectl gpuhost [status|watch]" in asked[2].stdout and max(map(len, asked[2].stdout.splitlines())) <= 80, "kubectl gpuhost has a help text", asked[2].stdout)
    asked = run([*site.command, f"--kubeconfig={site.kubeconfig}"], env=site.environment)
    t.ok(asked.returncode == INVALID and "--root cannot be used" in asked.stderr, "--kubeconfig with --root is refused", asked.stderr)
    command = [*site.command[:3], "--kubeconfig=kubeconfig", "--json"]
    t.equal(run(command, env=site.environment, cwd=etc).stdout, site.ctl("--json").stdout, "--kubeconfig may be a relative path")
    write(f"{etc}/policy.yaml", "rollout: {wave: 1}\n")
    own = [f"{os.path.abspath(tap.TOP_BUILDDIR)}/gpuhost-cluster", "--fleet", f"--root={site.root}"]
    asked = [json.loads(run([*own, *words], env=site.environment).stdout) for words in ([], [f"--kubeconfig={site.kubeconfig}"])]
    t.equal([bool(one.get("policy_problems")) for one in asked], [True, False], "--kubeconfig leaves out this host's policy")
    os.unlink(f"{etc}/policy.yaml")


def check_errors(t, site):
    site.api.fail(403, "GET", NODES)
    asked = site.ctl()
    t.ok(asked.returncode == DENIED and "Hint: Apply the manifests" in asked.stderr and not asked.stdout,
         "fleet status with forbidden Nodes exits with 12", asked.stderr)
    site.api.fail(403, "GET", CONFIG_MAPS)
    asked = site.ctl()
    t.ok(asked.returncode == DENIED and "Hint: Apply the manifests" in asked.stderr,
         "fleet status with a forbidden policy exits with 12", asked.returncode, asked.stderr)
    site.api.fail(500, "GET", f"{NODES}?limit")
    site.api.fail(429, "GET", LEASES, Retry_After=1)
    t.equal(site.ctl().returncode, 0, "fleet status repeats requests after status 500 and 429")
    site.api.stop()
    began = time.monotonic()
    asked = site.ctl()
    t.ok(asked.returncode == FAILED and "Connection refused" in asked.stderr and f"Hint: Check the connection to {site.api.url}." in asked.stderr,
         "fleet status reports an unreachable server", asked.returncode, asked.stderr)
    t.ok(time.monotonic() - began < 10, "fleet status reports an unreachable server within 10 s")
    document = json.loads(site.fleet().stdout)
    t.ok(document["error"]["code"] == "failed" and document["error"]["hint"],
         "gpuhost-cluster --fleet prints errors as JSON", document)
    os.unlink(site.kubeconfig)
    asked = site.ctl()
    t.ok(asked.returncode == NOT_FOUND and "cluster join" in asked.stderr,
         "fleet status without a kubeconfig prints 'cluster join'", asked.stderr)
    asked = run([*site.command], env={**site.environment, "PATH": "/nonexistent"})
    t.ok(asked.returncode == NOT_FOUND and "package gpuhostd" in asked.stderr,
         "fleet status without gpuhost-cluster names its package", asked.stderr)


def main():
    t = tap.Tap()
    site = Site()
    try:
        for check in (check_table, check_hostile, check_lines, check_renewed, check_policy, check_terminal, check_reader_gone, check_plugin, check_leader, check_errors):
            check(t, site)
    finally:
        site.close()
    t.done()


main()
