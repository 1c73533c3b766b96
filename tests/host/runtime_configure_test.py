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
    t.equal(host.json("plan", "--only", "runtime")["steps"], [], "no other run does it")
    write(host.path(CONFIG), PLAIN.replace("3.9", "4.1"))
    run = host.ctl("apply", "--only", "runtime")
    t.ok(run.returncode == 0 and DROP_IN in read(host.path(CONFIG)) and calls(host) == count, "nor one that has something to write", run.stderr)
    systemctl(host, "restart")
    t.ok(not state(host)["restart_wanted"] and "enable_cdi" in loaded(host), "until it was done")
    host.ctl("runtime", "restore", check=0)


def check_edited_meanwhile(t, host):
    """Between the plan and the write; and while a restart fails."""
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")
    write(host.path("/fake-containerd/edit-at-dump"), "# of a person\n")
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and "was changed meanwhile" in run.stderr, "what somebody writes meanwhile is not written over", run.returncode, run.stderr)
    t.ok(read(host.path(CONFIG)) == PLAIN + "# of a person\n" and not os.path.exists(host.path(DROP_IN)), "and nothing of ours is left", files(host))
    run = host.ctl("apply", "--only", "runtime")
    t.ok(run.returncode == 0 and "# of a person" in read(host.path(CONFIG)) and "enable_cdi" in loaded(host), "the next apply does it", run.stderr)
    host.ctl("runtime", "restore", check=0)
    write(host.path("/fake-containerd/broken"), "# of another person\n")
    run = host.ctl("runtime", "configure")
    os.unlink(host.path("/fake-containerd/broken"))
    t.ok(run.returncode != 0 and "# of another person" in read(host.path(CONFIG)) and dump(host) is not None,
         "a file that somebody has written since stays, with what it imports", run.stderr, files(host))
    systemctl(host, "restart")
    run = host.ctl("runtime", "restore")
    t.ok(run.returncode == 0 and DROP_IN not in read(host.path(CONFIG)) and not os.path.exists(host.path(DROP_IN)) and dump(host) is not None,
         "restore then takes both out", run.stderr, read(host.path(CONFIG)))
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")


def check_secrets(t, host):
    os.chmod(host.path(CONFIG), 0o600)
    host.ctl("runtime", "configure", check=0)
    modes = [os.stat(host.path(path)).st_mode & 0o777 for path in (CONFIG, DROP_IN)]
    t.equal(modes, [0o600, 0o600], "what repeats a file of root's own is of root alone")
    host.ctl("runtime", "restore", check=0)
    os.chmod(host.path(CONFIG), 0o644)


def check_ready_waits(t, host):
    """systemd would start it only behind gpuhost-ready, which waits for us."""
    count = calls(host)
    write(host.path("/fake-containerd/ready-waits"), "")
    run = host.ctl("runtime", "configure")
    os.unlink(host.path("/fake-containerd/ready-waits"))
    t.ok(run.returncode == 0 and calls(host) == count and "gpuhost-ready.service" in state(host)["restart_text"], "no restart that waits for itself",
         run.stderr, state(host))
    host.ctl("runtime", "configure", check=0)
    t.equal(calls(host), count + 1, "it is restarted when somebody asks for it then")
    host.ctl("runtime", "restore", check=0)


def check_rewritten(t, host):
    """By the service that starts it, as k0s does."""
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")
    write(host.path("/fake-containerd/written-at-start"), PLAIN)
    count = calls(host)
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and f"'{CONFIG}' is rewritten by the service that starts it" in run.stderr,
         "a file that the restart rewrites is an error", run.returncode, run.stderr)
    t.ok(read(host.path(CONFIG)) == PLAIN and not os.path.exists(host.path(DROP_IN)), "nothing of ours is left", files(host))
    t.equal(calls(host), count + 1, "one restart was enough to know")
    t.ok("is rewritten" in state(host)["text"] and not state(host)["restart_wanted"], "status says it", state(host))
    write(host.path(CONFIG), PLAIN + "# of k0s\n")
    run = host.ctl("apply", "--only", "runtime")
    t.ok("is rewritten" in run.stdout + run.stderr and calls(host) == count + 1, "apply does not try again", run.stdout, run.stderr)
    os.unlink(host.path("/fake-containerd/written-at-start"))
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode == 0 and "enable_cdi" in loaded(host), "a person's request does", run.stderr)
    host.ctl("runtime", "restore", check=0)
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")


def check_deckhouse(t, host):
    write(host.path("/etc/containerd/deckhouse.toml"), PLAIN)
    run = host.ctl("runtime", "configure")
    t.ok("Deckhouse" in run.stdout + run.stderr and read(host.path(CONFIG)) == PLAIN, "what Deckhouse writes is left to it", run.stdout, run.stderr)
    os.unlink(host.path("/etc/containerd/deckhouse.toml"))


def check_names(t, host):
    os.unlink(host.path("/var/lib/gpuhost/runtime.json"))
    host.ctl("runtime", "configure", "containerd", check=0)
    t.equal(host.json("plan", "--only", "runtime")["reasons"], ["nobody has looked at container runtimes yet"],
            "to configure one says nothing about the others")
    host.ctl("apply", "--only", "runtime", check=0)


def check_gone(t, host):
    """It is configured, and its package is removed."""
    for path in "/usr/bin/containerd", "/usr/lib/systemd/system/containerd.service":
        os.rename(host.path(path), host.path(path + ".away"))
    os.system(f"rm -rf {host.path('/proc')}/{host.read('/fake-containerd/pid')}")
    host.ctl("apply", "--only", "runtime", check=0)
    t.equal(host.json("plan", "--only", "runtime")["steps"], [], "one that has gone is looked at once")
    run = host.ctl("runtime", "restore", "containerd")
    t.ok(run.returncode == 0 and read(host.path(CONFIG)) == PLAIN and not os.path.exists(host.path(DROP_IN)), "and its files are restored",
         run.stderr, read(host.path(CONFIG)))
    for path in "/usr/bin/containerd", "/usr/lib/systemd/system/containerd.service":
        os.rename(host.path(path + ".away"), host.path(path))
    systemctl(host, "start")


def check_links(t, host):
    os.rename(host.path(CONFIG), host.path("/etc/containerd/site.toml"))
    os.symlink("site.toml", host.path(CONFIG))
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and "is a link" in run.stderr and os.path.islink(host.path(CONFIG)), "a link stays one", run.stderr)
    write(host.path("/etc/containerd/site.toml"), 'imports = ["/etc/containerd/conf.d/*.toml"]\n' + PLAIN)
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode == 0 and os.path.islink(host.path(CONFIG)) and os.path.exists(host.path(DROP_IN)),
         "one that imports the file of ours need not change", run.stderr)
    host.ctl("runtime", "restore", check=0)
    os.rename(host.path("/etc/containerd/site.toml"), host.path(CONFIG))
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")


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
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/runtime.conf"), "[Runtime]\nManage=no\n")
    host.ctl("reload", check=0)
    t.equal(host.json("plan", "--only", "runtime")["steps"], [], "with Manage=no apply leaves it alone")


def check_registry_hosts(t, host):
    """Images of bundles change the configuration too. GPUs do not depend on that."""
    settings, hosts = host.path("/etc/gpuhost/gpuhostd.conf.d/runtime.conf"), host.path("/etc/containerd/certs.d/a.example/hosts.toml")
    ours = "# Written by gpuhostd; changes are lost.\n"
    with_cdi = PLAIN.replace("\n  sandbox_image", "\n  enable_cdi = true\n  sandbox_image")
    write(settings, "[Runtime]\nClasses=none\n")
    host.ctl("reload", check=0)
    write(host.path(CONFIG), with_cdi)
    systemctl(host, "restart")
    host.ctl("runtime", "configure", check=0)
    write(hosts, ours)
    os.rename(host.path(CONFIG), host.path(CONFIG) + ".site")
    os.symlink("config.toml.site", host.path(CONFIG))
    run = host.ctl("apply", "--only", "runtime")
    t.ok(run.returncode == 0 and "pods are not led to this host's images" in run.stdout + run.stderr and "is a link" in run.stdout + run.stderr,
         "a file that is a link leaves images out, and says so", run.stdout, run.stderr)
    t.equal(state(host)["state"], "ready", "which is no problem of GPUs")
    os.rename(host.path(CONFIG) + ".site", host.path(CONFIG))
    write(settings, "[Runtime]\nClasses=none\nRestart=no\n")
    host.ctl("reload", check=0)
    run = host.ctl("apply", "--only", "runtime")
    t.ok("'plugins.io.containerd.grpc.v1.cri.registry' would change too" in run.stdout + run.stderr and state(host)["state"] == "ready",
         "nor is a change that containerd's own program refuses", run.stdout, run.stderr, state(host))
    with_cdi += '  [plugins."io.containerd.grpc.v1.cri".registry]\n    config_path = ""\n'
    write(host.path(CONFIG), with_cdi)
    systemctl(host, "restart")
    count = calls(host)
    run = host.ctl("apply", "--only", "runtime")
    t.ok("config_path" in host.read(DROP_IN) and calls(host) == count and state(host)["restart_wanted"], "certs.d waits for a restart",
         run.stdout, run.stderr, state(host))
    t.ok(not state(host)["withholds_gpus"], "which GPUs do not wait for")
    systemctl(host, "restart")
    os.unlink(hosts)
    t.equal(host.json("plan", "--only", "runtime")["steps"], [], "without images the configuration stays")
    host.ctl("runtime", "configure", check=0)
    t.ok("config_path" in host.read(DROP_IN), "also when it is asked for", files(host))
    host.ctl("runtime", "restore", check=0)
    t.ok(read(host.path(CONFIG)) == with_cdi and not os.path.exists(host.path(DROP_IN)), "restore takes it out", files(host))
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")


def main():
    t = tap.Tap()
    host = FakeHost(gpus=())
    try:
        host.install()
        install_containerd(host)
        host.start_daemon()
        host.settle()
        for check in (check_first, check_apply, check_foreign, check_broken, check_no_start, check_restart_by_hand, check_edited_meanwhile,
                      check_secrets, check_ready_waits, check_rewritten, check_deckhouse, check_names, check_gone, check_links, check_registry_hosts, check_settings):
            check(t, host)
        if t.failed:
            print("\n".join("# " + line for line in host.tail().splitlines()))
    finally:
        host.close()
    t.done()


main()
