# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl runtime configure and restore, and apply, on a containerd that a test plays (runtime_files.py)."""
import os

import tap
from fake_host import FakeHost, read, write
from runtime_files import CONFIG, DROP_IN, PLAIN, calls, dump, install_containerd, loaded, systemctl


def files(host):
    return host.read(CONFIG), host.read(DROP_IN)


def state(host):
    return next(one for one in host.json("status")["components"]["runtime"]["observed"]["runtimes"] if one["name"] == "containerd")


def check_first(t, host):
    t.equal(host.json("status")["components"]["runtime"]["plan"]["reasons"], ["nobody has looked at container runtimes yet"],
            "a host that nobody has configured says so")
    t.equal(calls(host), 0, "and starting the daemon restarts nothing")
    run = host.ctl("runtime", "configure", "nothing")
    t.ok(run.returncode == 4 or "no container runtime 'nothing'" in run.stderr, "a runtime that is not here is refused", run.returncode, run.stderr)
    run = host.ctl("runtime", "configure", "containerd", "--dry-run")
    t.ok(run.returncode == 0 and host.read(CONFIG) == PLAIN.strip() and not os.path.exists(host.path(DROP_IN)), "a dry run changes nothing", run.stderr)


def check_apply(t, host):
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and "enable_cdi" in loaded(host), "apply has it load CDI", run.stderr, loaded(host))
    t.equal(calls(host), 1, "with one restart")
    config = read(host.path(CONFIG))
    t.equal(config.replace(f'imports = ["{DROP_IN}"]\n', ""), PLAIN, "its file is as it was but for an import")
    t.ok("pause:3.9" in host.read(DROP_IN), "the file of ours repeats its table")
    t.equal(loaded(host), dump(host), "it has loaded what is there")
    run = host.ctl("apply")
    t.ok("othing" in run.stdout + run.stderr and calls(host) == 1, "a second apply does nothing", run.stdout, run.stderr)
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode == 0 and calls(host) == 1, "nor does asking for it", run.stderr)
    t.ok("containerd" in host.ctl("status").stdout, "status says what it is like")


def check_foreign(t, host):
    write(host.path(CONFIG), PLAIN.replace("3.9", "4.0"))
    t.ok(any(CONFIG in reason for reason in host.json("plan")["reasons"]), "a file that another program writes is seen")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and "pause:4.0" in loaded(host) and "enable_cdi" in loaded(host) and calls(host) == 2,
         "it is imported again, with what is new", run.stderr, loaded(host))
    write(host.path(CONFIG), read(host.path(CONFIG)) + "[debug]\nlevel = \"debug\"\n")
    systemctl(host, "restart")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and calls(host) == 3, "what somebody added and loaded costs no restart", run.stderr, calls(host))
    run = host.ctl("runtime", "restore")
    t.ok(run.returncode == 0 and read(host.path(CONFIG)) == PLAIN.replace("3.9", "4.0") + "[debug]\nlevel = \"debug\"\n",
         "restore leaves what others wrote", run.stderr, read(host.path(CONFIG)))
    t.ok(not os.path.exists(host.path(DROP_IN)) and "enable_cdi" not in loaded(host), "and nothing of ours")


def check_broken(t, host):
    host.ctl("runtime", "configure", check=0)
    before = files(host)
    write(host.path(CONFIG), "version = 2\n[plugins\n")
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and "configuration is wrong" in run.stderr and host.read(CONFIG) == "version = 2\n[plugins",
         "a file that is no TOML is refused, and left", run.stderr)
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and "configuration is wrong" in run.stdout + run.stderr, "apply goes on without it, and says so", run.stdout, run.stderr)
    t.equal(state(host)["state"], "problem", "as status does")
    t.equal(host.json("plan")["steps"], [], "until it is mended")
    write(host.path(CONFIG), before[0] + "\n")
    host.ctl("apply", check=0)
    t.equal(state(host)["state"] != "problem", True, "then it is well again")
    host.ctl("runtime", "restore", check=0)


def check_no_start(t, host):
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")
    write(host.path("/fake-containerd/broken"), "")
    count = calls(host)
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and "in force again" in run.stderr, "one that does not start with it is an error", run.returncode, run.stderr)
    t.ok(read(host.path(CONFIG)) == PLAIN and not os.path.exists(host.path(DROP_IN)), "its files are as they were", files(host))
    t.ok(loaded(host) == dump(host) and host.read("/fake-containerd/pid"), "and it runs again")
    t.equal(calls(host), count + 2, "after one restart more")
    t.equal(state(host)["state"], "problem", "status says it")
    os.unlink(host.path("/fake-containerd/broken"))


def check_restart_by_hand(t, host):
    count = calls(host)
    run = host.ctl("runtime", "configure", "--no-restart")
    t.ok(run.returncode == 0 and calls(host) == count and "restart it yourself by" in run.stdout + run.stderr, "with --no-restart a person does it",
         run.stdout, run.stderr)
    t.ok(state(host)["restart_wanted"], "which status wants")
    systemctl(host, "restart")
    t.ok(not state(host)["restart_wanted"] and "enable_cdi" in loaded(host), "until it was done")
    host.ctl("runtime", "restore", check=0)


def check_links(t, host):
    os.rename(host.path(CONFIG), host.path("/etc/containerd/site.toml"))
    os.symlink("site.toml", host.path(CONFIG))
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and "is a link" in run.stderr and os.path.islink(host.path(CONFIG)), "a link stays one", run.stderr)
    os.rename(host.path("/etc/containerd/site.toml"), host.path(CONFIG))


def check_settings(t, host):
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/runtime.conf"), "[Runtime]\nClasses=nvidia\nDefaultClass=nvidia\n")
    host.ctl("reload", check=0)
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and "none is used here" in run.stderr, "a class without its program is refused", run.stderr)
    write(host.path("/usr/bin/nvidia-container-runtime"), "#!/bin/sh\n")
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode == 0 and '"default_runtime_name" = "nvidia"' in loaded(host) and loaded(host).count('"SystemdCgroup" = true') == 2,
         "with it there is a class, whose cgroups are as the default's", run.stderr, loaded(host))
    run = host.ctl("runtime", "restore")
    t.ok(run.returncode == 0 and "nvidia" not in loaded(host) and read(host.path(CONFIG)) == PLAIN, "restore brings back the earlier default",
         run.stderr, loaded(host))
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/runtime.conf"), "[Runtime]\nConfigure=no\n")
    host.ctl("reload", check=0)
    t.equal(host.json("plan", "--only", "runtime")["steps"], [], "with Configure=no apply leaves it alone")


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        host.install()
        install_containerd(host)
        host.start_daemon()
        host.settle()
        for check in (check_first, check_apply, check_foreign, check_broken, check_no_start, check_restart_by_hand, check_links, check_settings):
            check(t, host)
        if t.failed:
            print("\n".join("# " + line for line in host.tail().splitlines()))
    finally:
        host.close()
    t.done()


main()
