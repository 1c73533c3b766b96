# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl doctor: on a mounted system, beside a daemon, and without one."""
import json
import os

from fake_host import OLD, run_checks, write

BAD = 9


def doctor(host, *words):
    """Exit status, check → (result, text)."""
    run = host.ctl("doctor", "--json", *words)
    found = json.loads(run.stdout)
    return run.returncode, {check["check"]: (check["result"], check["text"]) for check in found["checks"]}


def mounted(host):
    return doctor(host, f"--root={host.root}")


def check_mounted(t, host):
    status, found = mounted(host)
    t.equal((status, found["driver"]), (0, ("ok", f"selected is {OLD}")), "a mounted system is looked at by its files")
    t.equal([found[name][0] for name in ("daemon", "units", "gpus", "runtimes")], ["skipped"] * 4, "what would have to run is skipped")
    t.equal(found["kernels"][0], "ok", "its kernel has modules")


def check_planted(t, host):
    """Each harm is found, and gone when it is."""
    shadow = "/usr/lib/x86_64-linux-gnu/libcuda.so.535.1.1"
    for check, path, content in (("modprobe", "/etc/modprobe.d/other.conf", "install nvidia /bin/false\n"),
                                 ("trust", "/etc/gpuhost/trust.d/site.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
                                 ("libraries", shadow, "an ELF file\n"),
                                 ("store", f"/var/lib/gpuhost/driver/{OLD}/userland/{'a' * 64}/manifest.json", "{")):
        write(host.path(path), content)
        status, found = mounted(host)
        t.ok(status == BAD and found[check][0] == "error", f"{check}: {path} is an error", status, found[check])
        os.remove(host.path(path))
        if check == "store":
            os.rmdir(os.path.dirname(host.path(path)))
        status, found = mounted(host)
        t.ok(status == 0 and found[check][0] != "error", f"{check}: and is none when it has gone", status, found[check])
    other = "6.12.0-1-amd64"
    write(host.path(f"/lib/modules/{other}/modules.order"), "")
    write(host.path(f"/lib/modules/{other}/kernel/drivers/gpu/drm/nouveau/nouveau.ko.xz"), "")
    found = mounted(host)[1]
    t.ok(found["kernels"][0] == "warning" and other in found["kernels"][1], "a kernel with nothing to boot with is told of", found["kernels"])


def check_daemon(t, host):
    found = doctor(host)[1]
    t.equal((found["daemon"][0], found["version"][0]), ("ok", "ok"), "a daemon that answers is asked")
    text = host.ctl("doctor").stdout
    t.ok("\nok       version" in text and "Next: " in text, "for people, too", text)
    host.kill_daemon()
    status, found = doctor(host)
    t.ok(status == BAD and found["daemon"][0] == "error", "without a daemon that is its own error", status, found["daemon"])
    t.equal((found["operation"][0], found["store"][0]), ("skipped", "ok"), "and the rest is looked at all the same")


run_checks(check_mounted, check_planted, check_daemon)
