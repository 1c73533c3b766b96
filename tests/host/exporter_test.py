# SPDX-License-Identifier: Apache-2.0
"""gpuhost-exporter beside the real gpuhostd: on a socket of systemd, into a file, and to stdout."""
import contextlib
import os
import re
import signal
import socket
import stat
import time

from prometheus_client.parser import text_string_to_metric_families

import tap
from fake_host import GPUS, NEW, read, run_checks
from programs import run
from registry_service import RegistryService, listening

PAGE = os.path.join(tap.TOP_SRCDIR, "docs/reference/metrics.md")
ANSWER_TIME = 4  # seconds, as in the program
TYPE = "text/plain; version=0.0.4; charset=utf-8"


def program(*arguments):
    return [os.path.join(tap.TOP_BUILDDIR, "gpuhost-exporter"), *arguments]


class Exporter(RegistryService):
    """gpuhost-exporter on a listening socket, as with gpuhost-metrics.socket."""

    def start(self, *more):
        """Starts the program with the socket and more listening sockets."""
        self.process = listening(self.socket, program(*self.arguments), *more, env=self.environment, stdout=self.log, stderr=self.log)

    def scrape(self):
        """Returns the text and the seconds until it arrived."""
        began = time.monotonic()
        answer = self.ask("/metrics")
        return answer.body.decode(), time.monotonic() - began


def cpu_time(pid):
    """Returns the seconds of CPU time that a process has used."""
    user, system = read(f"/proc/{pid}/stat").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def serving(host, *arguments):
    service = Exporter(host.root, host.log, *arguments, environment=host.environment)
    service.start()
    try:
        yield service
    finally:
        service.close()


def values(text):
    """Returns {(name, {label: value}): number}, with the labels as a frozenset."""
    return {(sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text) for sample in family.samples}


def value(text, name, **labels):
    return values(text).get((name, frozenset(labels.items())))


def documented():
    """Returns {name: labels} of the page's metrics of gpuhost-exporter."""
    with open(PAGE, encoding="utf-8") as file:
        section = re.search(r"^## A host\n(.*?)(?=^## |\Z)", file.read(), re.M | re.S)[1]
    rows = re.findall(r"^\| `(\w+)` \| gauge \| (.*?) \|", section, re.M)
    return {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def check_names(t, text, when):
    """Checks the text by Prometheus' own parser, and its names and labels by the page."""
    families, known = list(text_string_to_metric_families(text)), documented()
    t.ok(all(family.samples and family.documentation and family.type == "gauge" for family in families),
         f"{when}: each family has a type, a meaning and samples", text)
    names = [family.name for family in families]
    t.equal(sorted(set(names) - known.keys()), [], f"{when}: the reference has all metrics")
    t.equal(len(set(names)), len(names), f"{when}: each family is there once")
    wrong = [sample for family in families for sample in family.samples if not set(sample.labels) <= known.get(family.name, set())]
    t.equal(wrong, [], f"{when}: the reference has all labels")


def check_stdout(t, host):
    done = run(program(), env=host.environment)
    t.equal((done.returncode, done.stderr), (0, ""), "gpuhost-exporter prints metrics")
    text = done.stdout
    check_names(t, text, "a host with a driver")
    version = host.json("status")["version"]
    for name, labels, number in (
            ("gpuhost_up", {}, 1), ("gpuhost_build_info", {"program": "gpuhostd", "version": version}, 1),
            ("gpuhost_gpus_served", {}, len(GPUS)), ("gpuhost_gpus_unserved", {}, 0), ("gpuhost_driver_store_versions", {}, 2),
            ("gpuhost_driver_changes", {"outcome": "committed"}, 1), ("gpuhost_operation_running", {}, 0),
            ("gpuhost_last_operation_outcome", {"kind": "driver.swap", "outcome": "committed"}, 1)):
        t.equal(value(text, name, **labels), number, f"{name} {labels or ''}".strip())
    t.equal(value(text, "gpuhost_ok"), float(host.json("status")["verdict"]["ok"]), "gpuhost_ok is the verdict of status")
    with open("/dev/full", "w", encoding="ascii") as full:
        done = run(program(), env=host.environment, stdout=full)
    t.ok(done.returncode == 11 and "writing to stdout: No space left" in done.stderr, "a full stdout is an error", done.stderr)
    for argument in ("--idle-timeout=0", "--idle-timeout=1h", "--idle-timeout=86401"):
        done = run(program(argument), env=host.environment)
        t.ok(done.returncode == 2 and "is not a valid number of seconds" in done.stderr, f"{argument} is refused", done.stderr)


def check_socket(t, host):
    with serving(host) as service:
        answer = service.ask("/metrics")
        t.equal((answer.status, answer.headers["content-type"]), (200, TYPE), "GET /metrics returns the text format")
        host.ctl("driver", "swap", NEW, check=0)
        time.sleep(1)
        text, _ = service.scrape()
        t.ok(value(text, "gpuhost_driver_info", version=NEW, flavour="open") == 1, "a scrape after a swap has the new driver", text)
        t.equal([service.ask(path).status for path in ("/", "/metrics/", "/../etc/passwd")], [404] * 3, "other paths return 404")
        for name, request in (("a request without end", b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 100_000),
                              ("garbage", os.urandom(4096)), ("an empty request", b"\r\n\r\n" * 10)):
            service.raw(request)
            t.ok(service.ask("/metrics").status == 200 and service.process.poll() is None, f"{name} ends no service")
        slow = [socket.create_connection(service.socket.getsockname()) for _ in range(20)]
        try:
            text, took = service.scrape()
            t.ok(value(text, "gpuhost_up") == 1 and took < 25, "20 silent clients delay a scrape by at most 25 s", took)
        finally:
            for one in slow:
                one.close()


def check_silent_daemon(t, host):
    with serving(host) as service:
        host.daemon.send_signal(signal.SIGSTOP)
        text, took = service.scrape()
        t.ok(value(text, "gpuhost_up") == 0 and took < ANSWER_TIME + 3, "a gpuhostd that hangs is reported in time", took, text)
        check_names(t, text, "a gpuhostd that hangs")
        again, took = service.scrape()
        t.ok(again == text and took < 1, "gpuhostd is asked at most once a second", took)
        host.daemon.send_signal(signal.SIGCONT)
        time.sleep(1)
        t.equal(value(service.scrape()[0], "gpuhost_up"), 1, "a gpuhostd that continues is reported")
        host.kill_daemon()
        time.sleep(1)
        text, took = service.scrape()
        t.ok(value(text, "gpuhost_up") == 0 and took < 2, "a gpuhostd that does not run is reported at once", took, text)
        t.equal(host.messages().count("gpuhostd does not answer"), 1, "an error is logged once")
        t.equal(host.messages().count("Check it: systemctl status gpuhostd."), 1, "its hint is logged once")
        host.start_daemon()
        host.settle()
        time.sleep(1)
        t.equal(value(service.scrape()[0], "gpuhost_up"), 1, "a gpuhostd that was started is reported")
    done = run(program(), env=host.environment | {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={host.scratch}/none"})
    t.ok(done.returncode == 0 and value(done.stdout, "gpuhost_up") == 0, "a missing bus is reported", done.stderr)


def check_idle(t, host):
    with serving(host, "--idle-timeout=1") as service:
        with socket.create_connection(service.socket.getsockname()):
            time.sleep(2)
            t.ok(service.process.poll() is None, "an open connection keeps the service")
        t.equal(service.ended(), 0, "the service ends without connections")
        service.start()
        t.equal(service.ask("/metrics").status, 200, "the next start uses the same socket")


def check_two_sockets(t, host):
    """A connection to one socket keeps the service, which must sleep meanwhile."""
    with socket.create_server(("127.0.0.1", 0)) as second:
        service = Exporter(host.root, host.log, "--idle-timeout=1", environment=host.environment)
        service.start(second)
        try:
            with socket.create_connection(second.getsockname()):
                time.sleep(3)
                t.ok(service.process.poll() is None, "a connection to the second socket keeps the service")
                used = cpu_time(service.process.pid)
                t.ok(used < 0.5, "an idle socket beside a used one costs no CPU time", used)
            t.equal(service.ended(), 0, "the service ends when both sockets are idle")
        finally:
            service.close()


def check_textfile_with_socket(t, host):
    with serving(host, "--textfile=metrics.prom") as service:
        t.ok(service.ended() == 2 and "--textfile= does not work with sockets" in host.messages(), "--textfile with a socket is refused",
             service.process.poll())


def check_textfile(t, host):
    directory = os.path.join(host.scratch, "textfile")
    path = os.path.join(directory, "gpuhost.prom")
    done = run(program(f"--textfile={path}"), env=host.environment)
    t.ok(done.returncode == 4 and f"'{directory}/': No such file or directory" in done.stderr and "--collector.textfile.directory" in done.stderr,
         "a missing directory is an error with a hint", done.returncode, done.stderr)
    os.mkdir(directory)
    done = run(program(f"--textfile={path}"), env=host.environment, umask=0o077)
    t.equal((done.returncode, done.stdout + done.stderr, os.listdir(directory)), (0, "", ["gpuhost.prom"]), "--textfile writes one file")
    t.equal(stat.S_IMODE(os.stat(path).st_mode), 0o644, "all users may read the file")
    check_names(t, read(path), "the file")
    host.kill_daemon()
    done = run(program(f"--textfile={path}"), env=host.environment)
    t.equal((done.returncode, value(read(path), "gpuhost_up")), (0, 0), "--textfile without gpuhostd writes gpuhost_up 0")
    host.start_daemon()
    os.rename(directory, directory + ".real")
    os.symlink(directory + ".real", directory)
    done = run(program(f"--textfile={path}"), env=host.environment)
    t.ok(done.returncode == 2 and "has a symbolic link in its path" in done.stderr, "a link to a directory is refused", done.returncode, done.stderr)


run_checks(check_stdout, check_socket, check_silent_daemon, check_idle, check_two_sockets, check_textfile_with_socket, check_textfile)
