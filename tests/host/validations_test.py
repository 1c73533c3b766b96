# SPDX-License-Identifier: Apache-2.0
"""The files for which NVIDIA's operands in Kubernetes wait, through swaps that end well or not, boots, other programs' writes and changed settings."""
import os
import shutil

from fake_host import CLIENT, NEW, OLD, read, run_checks, write
from gates import Gates
from runtime_files import CONFIG, install_containerd, systemctl

VALIDATIONS = "/run/nvidia/validations"
DRIVER = "IS_HOST_DRIVER=true\nNVIDIA_DRIVER_ROOT=/\nDRIVER_ROOT_CTR_PATH=/host\nNVIDIA_DEV_ROOT=/\nDEV_ROOT_CTR_PATH=/host\n"
CONTAINER = "IS_HOST_DRIVER=false\nNVIDIA_DRIVER_ROOT=/run/nvidia/driver\n"
BOTH = {"driver-ready": DRIVER, "toolkit-ready": ""}


def there(host):
    """Name → text."""
    directory = host.path(VALIDATIONS)
    return {name: read(os.path.join(directory, name)) for name in (os.listdir(directory) if os.path.isdir(directory) else [])}


def configure(host, text):
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/validations.conf"), text)
    assert host.ctl("reload").returncode == 0


def swap(host, version, decide=None):
    """What there was at each gate, and how it ended."""
    seen = []

    def look(where, count):
        seen.append((where, host.loaded().get("nvidia"), sorted(there(host))))
        return decide(where, count) if decide else "go"

    gates = Gates(host, look)
    run = host.ctl("driver", "swap", version)
    gates.close()
    return run, seen


def check_swap(t, host):
    t.equal(there(host), BOTH, "where the driver runs and containers get it operands need not wait")
    run, seen = swap(host, NEW)
    t.ok(run.returncode == 0 and there(host) == BOTH, "after a swap, too", run.stderr, there(host))
    wrong = [one for one in seen if one[2] and one[1] not in (OLD, NEW)]
    changes = [one[0] for one in seen if not one[2]]
    t.ok(not wrong and any("modules.converge" in where for where in changes) and any("driver.validate" in where for where in changes),
         "from before the driver goes until the next one is validated they have to", wrong, changes)
    t.equal(host.json("plan")["steps"], [], "and nothing is left to do")


def check_killed(t, host):
    """A worker that dies at a gate of ours, and at one in between."""
    for step in ("cdi.withdraw", "modules.converge", "cdi.publish"):
        version = OLD if host.loaded()["nvidia"] == NEW else NEW
        run, seen = swap(host, version, lambda where, count, step=step: None if step in where and count == 1 and "preflight" not in where else "go")
        runs = host.loaded()["nvidia"]
        t.ok(seen and there(host) == BOTH and host.json("plan")["steps"] == [], f"whatever becomes of a swap whose worker dies in {step} ({runs} runs)", run.stderr, there(host))


def check_back(t, host):
    runs = host.loaded()["nvidia"]
    other = OLD if runs == NEW else NEW
    write(host.path("/fake-kernel/control"), f"load nvidia_uvm@{other} errno 22\n")
    run, _ = swap(host, other)
    os.unlink(host.path("/fake-kernel/control"))
    t.ok(run.returncode != 0 and host.loaded()["nvidia"] == runs and there(host) == BOTH, "a swap that goes back brings them back", run.stderr, there(host))


def check_drift(t, host):
    for name in BOTH:
        os.unlink(host.path(f"{VALIDATIONS}/{name}"))
        shown = host.ctl("status").stdout
        t.ok(f"{name}' is not there" in shown, f"{name} that somebody took away is missed", shown)
        run = host.ctl("apply", "--only", "cdi")
        t.ok(run.returncode == 0 and there(host) == BOTH, "and comes back", run.stderr)
        write(host.path(f"{VALIDATIONS}/{name}"), BOTH[name])
        t.equal(host.json("plan")["steps"], [], "the validator may write the same")


def check_others(t, host):
    write(host.path(f"{VALIDATIONS}/driver-ready"), CONTAINER)
    write(host.path(f"{VALIDATIONS}/cuda-ready"), "")
    t.ok("driver-ready belongs to another program" in host.ctl("status").stdout and host.json("plan")["steps"] == [], "what says something else is shown, and left alone")
    other = OLD if host.loaded()["nvidia"] == NEW else NEW
    run, seen = swap(host, other)
    t.ok(run.returncode == 0 and there(host)["driver-ready"] == CONTAINER and all("cuda-ready" in one[2] for one in seen), "by a swap too", run.stderr)
    os.unlink(host.path(f"{VALIDATIONS}/cuda-ready"))
    os.unlink(host.path(f"{VALIDATIONS}/driver-ready"))
    host.ctl("apply", check=0)
    t.equal(there(host), BOTH, "until it is gone")


def check_runtime(t, host):
    run = host.ctl("runtime", "restore")
    t.ok(run.returncode == 0 and sorted(there(host)) == ["driver-ready"], "without a runtime that gives GPUs toolkit-ready goes at once", run.stderr, there(host))
    run = host.ctl("runtime", "configure", "containerd")
    t.ok(run.returncode == 0 and there(host) == BOTH, "and comes with it", run.stderr, there(host))
    t.equal(host.json("plan")["steps"], [], "with nothing more to do")
    good = read(host.path(CONFIG))
    write(host.path(CONFIG), "version = [\n")
    host.ctl("apply")
    t.equal(sorted(there(host)), ["driver-ready"], "nor is it there where the runtime can't be configured")
    write(host.path(CONFIG), good)
    host.ctl("apply", check=0)
    t.equal(there(host), BOTH, "until it can")


def check_settings(t, host):
    configure(host, "[Cluster]\nStatusFiles=no\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and there(host) == {}, "with StatusFiles=no ours go", run.stderr, there(host))
    write(host.path(f"{VALIDATIONS}/toolkit-ready"), "")
    other = OLD if host.loaded()["nvidia"] == NEW else NEW
    run, _ = swap(host, other)
    t.ok(run.returncode == 0 and there(host) == {"toolkit-ready": ""}, "and the validator's stay", run.stderr, there(host))
    configure(host, "[CDI]\nManage=no\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and there(host) == BOTH, "where others tell containers of GPUs operands are told all the same", run.stderr, there(host))
    configure(host, "")
    host.ctl("apply", check=0)


def check_boot(t, host):
    host.kill_daemon()
    host.boot()
    systemctl(host, "restart")
    t.equal(there(host), {}, "after a boot nothing is there")
    host.start_daemon()
    host.settle()
    t.equal((there(host), host.json("status")["ready"]), (BOTH, True), "before the host is ready it is again")


def with_containerd(t, host):
    shutil.copy(host.path("/usr/bin/systemctl"), host.path("/usr/bin/systemctl-of-driver"))
    install_containerd(host)
    os.rename(host.path("/usr/bin/systemctl"), host.path("/usr/bin/systemctl-of-containerd"))
    write(host.path("/usr/bin/systemctl"), f'#!/bin/sh\ncase "$*" in *{CLIENT}*) exec {host.root}/usr/bin/systemctl-of-driver "$@" ;; esac\n'
          f'exec {host.root}/usr/bin/systemctl-of-containerd "$@"\n')
    os.chmod(host.path("/usr/bin/systemctl"), 0o755)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and there(host) == BOTH and host.json("plan")["steps"] == [], "one apply that configures a runtime brings both", run.stderr, there(host))


run_checks(with_containerd, check_swap, check_killed, check_back, check_drift, check_others, check_runtime, check_settings, check_boot)
