# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl doctor on a mounted system, with a daemon, and without one."""
import json
import os
import tarfile

import programs
import tap
from fake_host import NEW, OLD, run_checks, write

BAD, ROLLED_BACK = 9, 15


def results(found):
    """Returns {check: (result, text)}."""
    return {check["check"]: (check["result"], check["text"]) for check in found["checks"]}


def doctor(host, *words):
    """Returns exit status and results of doctor."""
    run = host.ctl("doctor", "--json", *words)
    return run.returncode, results(json.loads(run.stdout))


def with_programs(host, journalctl, *words):
    """Runs gpuhostctl with this script as journalctl, and a systemctl that fails."""
    tools = os.path.join(host.scratch, "tools")
    for name, script in ("journalctl", journalctl), ("systemctl", "exit 1"):
        write(os.path.join(tools, name), f"#!/bin/sh\n{script}\n")
        os.chmod(os.path.join(tools, name), 0o755)
    environment = {**host.environment, "PATH": tools + ":" + os.environ["PATH"]}
    return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), *words], env=environment)


def doctor_of_report(host):
    path = os.path.join(host.scratch, "report.tar.gz")
    run = with_programs(host, "exit 1", "report", path, "--force")
    if run.returncode != 0:
        raise AssertionError(run.stderr)
    with tarfile.open(path) as archive:
        member = next(member for member in archive if member.name.endswith("/doctor.json"))
        return results(json.load(archive.extractfile(member)))


def mounted(host):
    return doctor(host, f"--root={host.root}")


def check_mounted(t, host):
    status, found = mounted(host)
    t.equal((status, found["driver"]), (0, ("ok", f"selected is {OLD}")),
            "doctor --root checks a mounted system by its files")
    t.equal([found[name][0] for name in ("daemon", "units", "gpus", "runtimes")], ["skipped"] * 4,
            "doctor --root skips checks of running programs")
    t.equal(found["kernels"][0], "ok", "doctor --root finds modules for the kernel")


def check_planted(t, host):
    """Each planted fault is an error until it is removed."""
    shadow = "/usr/lib/x86_64-linux-gnu/libcuda.so.535.1.1"
    for check, path, content in (("modprobe", "/etc/modprobe.d/other.conf", "install nvidia /bin/false\n"),
                                 ("trust", "/etc/gpuhost/trust.d/site.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
                                 ("libraries", shadow, "an ELF file\n"),
                                 ("store", f"/var/lib/gpuhost/driver/{OLD}/userland/{'a' * 64}/manifest.json", "{")):
        write(host.path(path), content)
        status, found = mounted(host)
        t.ok(status == BAD and found[check][0] == "error",
             f"doctor's check {check} reports {path}", status, found[check])
        os.remove(host.path(path))
        if check == "store":
            os.rmdir(os.path.dirname(host.path(path)))
        status, found = mounted(host)
        t.ok(status == 0 and found[check][0] != "error",
             f"doctor's check {check} passes without {path}", status, found[check])
    other = "6.12.0-1-amd64"
    write(host.path(f"/lib/modules/{other}/modules.order"), "")
    write(host.path(f"/lib/modules/{other}/kernel/drivers/gpu/drm/nouveau/nouveau.ko.xz"), "")
    found = mounted(host)[1]
    t.ok(found["kernels"][0] == "warning" and other in found["kernels"][1],
         "doctor warns of a kernel without the driver's modules", found["kernels"])


def check_daemon(t, host):
    found = doctor(host)[1]
    t.equal((found["daemon"][0], found["version"][0]), ("ok", "ok"), "doctor checks a running daemon")
    text = host.ctl("doctor").stdout
    t.ok("\nok       version" in text and "Next: " in text, "doctor prints a table with next steps", text)
    host.kill_daemon()
    status, found = doctor(host)
    t.ok(status == BAD and found["daemon"][0] == "error",
         "doctor reports a daemon that is not running", status, found["daemon"])
    t.equal((found["operation"][0], found["store"][0]), ("skipped", "ok"),
            "doctor checks the store without a daemon")


def check_kernel_log(t, host):
    """The check xid is ok only after the kernel's log was read."""
    xid = "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus."
    for what, script, wanted in (
        ("is empty", "exit 0", ("skipped", "root may read")),
        ("cannot be searched", 'case "$*" in *--grep*) echo no pattern matching >&2; exit 1 ;; *) echo line ;; esac', ("skipped", "no pattern matching")),
        ("search is killed", 'case "$*" in *--grep*) kill -KILL $$ ;; *) echo line ;; esac', ("skipped", "exited with status 137")),
        ("has no such line", 'case "$*" in *--grep*) exit 1 ;; *) echo line ;; esac', ("ok", "no error")),
        ("has two such lines", f'case "$*" in *--grep*) echo "{xid}"; echo "{xid}" ;; *) echo line ;; esac', ("warning", "2 lines with Xid 79 ")),
    ):
        result, text = results(json.loads(with_programs(host, script, "doctor", "--json").stdout))["xid"]
        t.ok(result == wanted[0] and wanted[1] in text,
             f"doctor's check xid is {wanted[0]} when the log {what}", result, text)


def check_owner(t, host):
    settings = host.path("/etc/gpuhost/gpuhostd.conf.d/90-owner.conf")
    for owner in "preinstalled", "off":
        write(settings, f"[Driver]\nVersion={owner}\n")
        found = mounted(host)[1]
        t.ok(found["libraries"][0] == "skipped" and f"Version={owner}" in found["libraries"][1],
             f"Version={owner} skips doctor's check libraries", found["libraries"])
    os.remove(settings)


def check_report(t, host):
    """The doctor.json of a report has the same results."""
    control = host.path("/fake-kernel/control")
    write(control, f"load nvidia@{NEW} no-gpu\n")
    host.ctl("driver", "swap", NEW, check=ROLLED_BACK)
    os.remove(control)
    found = doctor_of_report(host)
    t.ok(found["operation"][0] == "warning" and "rolled-back" in found["operation"][1],
         "a report's doctor.json has the last operation's outcome", found["operation"])
    host.ctl("driver", "swap", NEW, "--dry-run")
    said = host.ctl("status", check=None).stdout
    t.ok(": rolled-back, " in said, "a dry run does not hide a failed operation from status", said)
    own = results(json.loads(with_programs(host, "exit 1", "doctor", "--json").stdout))
    t.equal({check: found[check][0] for check in found}, {check: own[check][0] for check in own},
            "a report's doctor.json equals doctor's results")
    host.kill_daemon()
    found = doctor_of_report(host)
    t.ok(found["daemon"][0] == "error" and "is not running" in found["daemon"][1],
         "a report's doctor.json reports a stopped daemon", found["daemon"])
    host.start_daemon()
    host.settle()


run_checks(check_mounted, check_planted, check_owner, check_kernel_log, check_report, check_daemon)
