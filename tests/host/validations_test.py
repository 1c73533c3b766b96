# SPDX-License-Identifier: Apache-2.0
"""Validation files, for which NVIDIA's operands in Kubernetes wait: swaps, boots, foreign writes,
settings."""
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
    """Returns {name: text} of the validation files."""
    directory = host.path(VALIDATIONS)
    return {name: read(os.path.join(directory, name)) for name in (os.listdir(directory) if os.path.isdir(directory) else [])}


def configure(host, text):
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/validations.conf"), text)
    assert host.ctl("reload").returncode == 0


def swap(host, version, decide=None):
    """Runs a swap. Returns its result and [(gate, loaded driver, validation files)]."""
    seen = []

    def look(where, count):
        seen.append((where, host.loaded().get("nvidia"), sorted(there(host))))
        return decide(where, count) if decide else "go"

    gates = Gates(host, look)
    run = host.ctl("driver", "swap", version)
    gates.close()
    return run, seen


def check_swap(t, host):
    t.equal(there(host), BOTH, "a ready host has both validation files")
    run, seen = swap(host, NEW)
    t.ok(run.returncode == 0 and there(host) == BOTH,
         "both validation files exist after a swap", run.stderr, there(host))
    wrong = [one for one in seen if one[2] and one[1] not in (OLD, NEW)]
    changes = [one[0] for one in seen if not one[2]]
    t.ok(not wrong and any("modules.converge" in where for where in changes) and any("driver.validate" in where for where in changes),
         "validation files are missing between unload and validation", wrong, changes)
    t.equal(host.plan()["steps"], [], "the plan is empty after a swap")


def check_killed(t, host):
    """The worker dies in a step of CDI, and in one between them."""
    for step in ("cdi.withdraw", "modules.converge", "cdi.publish"):
        version = OLD if host.loaded()["nvidia"] == NEW else NEW
        run, seen = swap(host, version, lambda where, count, step=step: None if step in where and count == 1 and "preflight" not in where else "go")
        runs = host.loaded()["nvidia"]
        t.ok(seen and there(host) == BOTH and host.plan()["steps"] == [],
             f"both files exist after a worker's death in {step} ({runs} runs)", run.stderr, there(host))


def check_back(t, host):
    runs = host.loaded()["nvidia"]
    other = OLD if runs == NEW else NEW
    write(host.path("/fake-kernel/control"), f"load nvidia_uvm@{other} errno 22\n")
    run, _ = swap(host, other)
    os.unlink(host.path("/fake-kernel/control"))
    t.ok(run.returncode != 0 and host.loaded()["nvidia"] == runs and there(host) == BOTH,
         "an undone swap restores both validation files", run.stderr, there(host))


def check_drift(t, host):
    for name in BOTH:
        os.unlink(host.path(f"{VALIDATIONS}/{name}"))
        shown = host.ctl("status").stdout
        t.ok(f"{name}' is missing" in shown, f"status reports a deleted {name}", shown)
        run = host.ctl("apply", "--only", "cdi")
        t.ok(run.returncode == 0 and there(host) == BOTH,
             f"apply --only=cdi restores a deleted {name}", run.stderr)
        write(host.path(f"{VALIDATIONS}/{name}"), BOTH[name])
        t.equal(host.plan()["steps"], [], f"the plan is empty after the validator rewrites {name}")


def check_others(t, host):
    write(host.path(f"{VALIDATIONS}/driver-ready"), CONTAINER)
    write(host.path(f"{VALIDATIONS}/cuda-ready"), "")
    t.ok("driver-ready belongs to another program" in host.ctl("status").stdout and host.plan()["steps"] == [],
         "status reports a foreign driver-ready; the plan is empty")
    other = OLD if host.loaded()["nvidia"] == NEW else NEW
    run, seen = swap(host, other)
    t.ok(run.returncode == 0 and there(host)["driver-ready"] == CONTAINER and all("cuda-ready" in one[2] for one in seen),
         "a swap keeps foreign validation files", run.stderr)
    os.unlink(host.path(f"{VALIDATIONS}/cuda-ready"))
    os.unlink(host.path(f"{VALIDATIONS}/driver-ready"))
    host.ctl("apply", check=0)
    t.equal(there(host), BOTH, "apply writes driver-ready after the foreign one is removed")


def check_runtime(t, host):
    run = host.ctl("runtime", "unconfigure")
    t.ok(run.returncode == 0 and sorted(there(host)) == ["driver-ready"],
         "runtime unconfigure removes toolkit-ready", run.stderr, there(host))
    run = host.ctl("runtime", "configure", "containerd")
    t.ok(run.returncode == 0 and there(host) == BOTH,
         "runtime configure writes toolkit-ready", run.stderr, there(host))
    t.equal(host.plan()["steps"], [], "the plan is empty after runtime configure")
    good = read(host.path(CONFIG))
    write(host.path(CONFIG), "version = [\n")
    host.ctl("apply")
    t.equal(sorted(there(host)), ["driver-ready"], "an unconfigurable runtime has no toolkit-ready")
    write(host.path(CONFIG), good)
    host.ctl("apply", check=0)
    t.equal(there(host), BOTH, "a repaired runtime gets toolkit-ready")


def check_settings(t, host):
    configure(host, "[Cluster]\nStatusFiles=no\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and there(host) == {},
         "StatusFiles=no removes the validation files", run.stderr, there(host))
    write(host.path(f"{VALIDATIONS}/toolkit-ready"), "")
    other = OLD if host.loaded()["nvidia"] == NEW else NEW
    run, _ = swap(host, other)
    t.ok(run.returncode == 0 and there(host) == {"toolkit-ready": ""},
         "StatusFiles=no keeps the validator's files", run.stderr, there(host))
    configure(host, "[CDI]\nManage=no\n")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and there(host) == BOTH,
         "[CDI] Manage=no keeps the validation files", run.stderr, there(host))
    configure(host, "")
    host.ctl("apply", check=0)


def check_boot(t, host):
    host.kill_daemon()
    host.boot()
    systemctl(host, "restart")
    t.equal(there(host), {}, "a boot clears the validation files")
    host.start_daemon()
    host.settle()
    t.equal((there(host), host.json("status")["ready"]), (BOTH, True),
            "validation files exist before the host is ready")


def with_containerd(t, host):
    shutil.copy(host.path("/usr/bin/systemctl"), host.path("/usr/bin/systemctl-of-driver"))
    install_containerd(host)
    os.rename(host.path("/usr/bin/systemctl"), host.path("/usr/bin/systemctl-of-containerd"))
    write(host.path("/usr/bin/systemctl"), f'#!/bin/sh\ncase "$*" in *{CLIENT}*) exec {host.root}/usr/bin/systemctl-of-driver "$@" ;; esac\n'
          f'exec {host.root}/usr/bin/systemctl-of-containerd "$@"\n')
    os.chmod(host.path("/usr/bin/systemctl"), 0o755)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and there(host) == BOTH and host.plan()["steps"] == [],
         "one apply configures the runtime and writes both files", run.stderr, there(host))


run_checks(with_containerd, check_swap, check_killed, check_back, check_drift, check_others, check_runtime, check_settings, check_boot)
