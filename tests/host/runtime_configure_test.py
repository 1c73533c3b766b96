# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl runtime configure, runtime unconfigure and apply with a fake containerd (runtime_files.py)."""
import json
import os

from fake_host import read, run_checks, write
from runtime_files import CONFIG, DROP_IN, PLAIN, calls, dump, install_containerd, loaded, systemctl


def files(host):
    return host.read(CONFIG), host.read(DROP_IN)


def state(host):
    return next(one for one in host.json("status")["components"]["runtime"]["observed"]["runtimes"] if one["name"] == "containerd")


def check_first(t, host):
    t.equal(host.json("status")["components"]["runtime"]["plan"]["reasons"], ["container runtimes have not been inspected yet"],
            "status reports runtimes that were never observed")
    t.equal(calls(host), 0, "the start of the daemon restarts no runtime")
    run = host.ctl("runtime", "configure", "nothing")
    t.ok(run.returncode == 4 and "container runtime 'nothing' not found" in run.stderr,
         "runtime configure of an unknown runtime is refused", run.returncode, run.stderr)
    rooted = f"--root={host.root}"
    run = host.ctl("runtime", "configure", "containerd", "--dry-run", rooted)
    t.ok(run.returncode == 0 and host.read(CONFIG) == PLAIN.strip() and not os.path.exists(host.path(DROP_IN)),
         "runtime configure --dry-run changes nothing", run.stderr)
    t.equal(run.stdout, "containerd: by hand: its version is not known\n",
            "runtime configure --dry-run --root runs no program")
    run = host.ctl("runtime", "configure", "nothing", "--dry-run", rooted)
    t.ok(run.returncode == 4 and "container runtime 'nothing' not found" in run.stderr,
         "runtime configure --dry-run of an unknown runtime is refused", run.returncode, run.stderr)
    run = host.ctl("runtime", "configure", rooted)
    t.ok(run.returncode == 2 and "add --dry-run" in run.stderr and calls(host) == 0,
         "runtime configure --root without --dry-run is refused", run.returncode, run.stderr)


def check_apply(t, host):
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and "enable_cdi" in loaded(host),
         "apply enables CDI in containerd", run.stderr, loaded(host))
    t.equal(calls(host), 1, "apply restarts containerd once")
    config = read(host.path(CONFIG))
    t.equal(config.replace(f'imports = ["{DROP_IN}"]\n', ""), PLAIN,
            "apply adds only an import to config.toml")
    t.ok("pause:3.9" in host.read(DROP_IN), "the drop-in repeats the plugin's table")
    t.equal(loaded(host), dump(host), "containerd has loaded the configuration")
    run = host.ctl("apply")
    t.ok("othing" in run.stdout + run.stderr and calls(host) == 1,
         "a second apply restarts nothing", run.stdout, run.stderr)
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode == 0 and calls(host) == 1,
         "runtime configure of a configured runtime restarts nothing", run.stderr)
    t.ok("containerd" in host.ctl("status").stdout, "status lists containerd")


def check_foreign(t, host):
    write(host.path(CONFIG), PLAIN.replace("3.9", "4.0"))
    t.ok(any(CONFIG in reason for reason in host.plan()["reasons"]),
         "plan reports a config.toml that another program wrote")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and "pause:4.0" in loaded(host) and "enable_cdi" in loaded(host) and calls(host) == 2,
         "apply restores the import and keeps foreign changes", run.stderr, loaded(host))
    write(host.path(CONFIG), read(host.path(CONFIG)) + "[debug]\nlevel = \"debug\"\n")
    systemctl(host, "restart")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and calls(host) == 3,
         "foreign changes that are loaded cause no restart", run.stderr, calls(host))
    run = host.ctl("runtime", "unconfigure")
    t.ok(run.returncode == 0 and read(host.path(CONFIG)) == PLAIN.replace("3.9", "4.0") + "[debug]\nlevel = \"debug\"\n",
         "runtime unconfigure keeps foreign changes", run.stderr, read(host.path(CONFIG)))
    t.ok(not os.path.exists(host.path(DROP_IN)) and "enable_cdi" not in loaded(host),
         "runtime unconfigure removes the drop-in")


def check_broken(t, host):
    host.ctl("runtime", "configure", check=0)
    before = files(host)
    write(host.path(CONFIG), "version = 2\n[plugins\n")
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and "configuration is not valid" in run.stderr and host.read(CONFIG) == "version = 2\n[plugins",
         "runtime configure fails on invalid TOML and keeps it", run.stderr)
    rooted = f"--root={host.root}"
    dry = host.ctl("runtime", "configure", "--dry-run", rooted)
    t.ok(dry.returncode == run.returncode and "containerd: refused: " in dry.stdout,
         "runtime configure --dry-run exits as the refused request", dry.returncode, dry.stdout)
    document = json.loads(host.ctl("runtime", "configure", "--dry-run", "--json", rooted).stdout)
    t.equal(document["runtimes"][0]["problem"]["code"], "refused",
            "runtime configure --dry-run --json has the code of the problem")
    run = host.ctl("apply")
    t.ok(run.returncode == 0 and "configuration is not valid" in run.stdout + run.stderr,
         "apply succeeds and reports invalid TOML", run.stdout, run.stderr)
    t.equal(state(host)["state"], "problem", "status reports invalid TOML as problem")
    t.equal(host.plan()["steps"], [], "the plan is empty while the TOML is invalid")
    write(host.path(CONFIG), before[0] + "\n")
    host.ctl("apply", check=0)
    t.equal(state(host)["state"] != "problem", True, "apply after a repair of the TOML clears the problem")
    host.ctl("runtime", "unconfigure", check=0)


def check_no_start(t, host):
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")
    write(host.path("/fake-containerd/broken"), "")
    count = calls(host)
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and "in effect again" in run.stderr,
         "a failing restart makes runtime configure fail", run.returncode, run.stderr)
    t.ok(read(host.path(CONFIG)) == PLAIN and not os.path.exists(host.path(DROP_IN)),
         "a failing restart restores the files", files(host))
    t.ok(loaded(host) == dump(host) and host.read("/fake-containerd/pid"),
         "a failing restart leaves containerd running")
    t.equal(calls(host), count + 2, "a failing restart causes one more restart")
    t.equal(state(host)["state"], "problem", "status reports the failed restart as problem")
    os.unlink(host.path("/fake-containerd/broken"))


def check_restart_by_hand(t, host):
    count = calls(host)
    run = host.ctl("runtime", "configure", "--no-restart")
    t.ok(run.returncode == 0 and calls(host) == count and "restart it yourself with" in run.stdout + run.stderr,
         "--no-restart writes the files without a restart",
         run.stdout, run.stderr)
    t.ok(state(host)["restart_wanted"], "status --json requests a restart after --no-restart")
    t.equal(host.plan("--only", "runtime")["steps"], [], "the plan has no restart after --no-restart")
    write(host.path(CONFIG), PLAIN.replace("3.9", "4.1"))
    run = host.ctl("apply", "--only", "runtime")
    t.ok(run.returncode == 0 and DROP_IN in read(host.path(CONFIG)) and calls(host) == count,
         "apply with changed files does not restart after --no-restart", run.stderr)
    systemctl(host, "restart")
    t.ok(not state(host)["restart_wanted"] and "enable_cdi" in loaded(host),
         "a manual restart clears the requested restart")
    host.ctl("runtime", "unconfigure", check=0)


def check_edited_meanwhile(t, host):
    """config.toml changes between plan and write, or during a failing restart."""
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")
    write(host.path("/fake-containerd/edit-at-dump"), "# of a person\n")
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and "was changed meanwhile" in run.stderr,
         "runtime configure fails when config.toml changes meanwhile", run.returncode, run.stderr)
    t.ok(read(host.path(CONFIG)) == PLAIN + "# of a person\n" and not os.path.exists(host.path(DROP_IN)),
         "the failed runtime configure leaves no drop-in", files(host))
    run = host.ctl("apply", "--only", "runtime")
    t.ok(run.returncode == 0 and "# of a person" in read(host.path(CONFIG)) and "enable_cdi" in loaded(host),
         "the next apply configures the changed config.toml", run.stderr)
    host.ctl("runtime", "unconfigure", check=0)
    write(host.path("/fake-containerd/broken"), "# of another person\n")
    run = host.ctl("runtime", "configure")
    os.unlink(host.path("/fake-containerd/broken"))
    t.ok(run.returncode != 0 and "# of another person" in read(host.path(CONFIG)) and dump(host) is not None,
         "a failing restart keeps a config.toml changed meanwhile", run.stderr, files(host))
    systemctl(host, "restart")
    run = host.ctl("runtime", "unconfigure")
    t.ok(run.returncode == 0 and DROP_IN not in read(host.path(CONFIG)) and not os.path.exists(host.path(DROP_IN)) and dump(host) is not None,
         "runtime unconfigure after a failing restart removes import and drop-in", run.stderr, read(host.path(CONFIG)))
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")


def check_secrets(t, host):
    os.chmod(host.path(CONFIG), 0o600)
    host.ctl("runtime", "configure", check=0)
    modes = [os.stat(host.path(path)).st_mode & 0o777 for path in (CONFIG, DROP_IN)]
    t.equal(modes, [0o600, 0o600], "the drop-in gets the mode of config.toml")
    host.ctl("runtime", "unconfigure", check=0)
    os.chmod(host.path(CONFIG), 0o644)


def check_ready_waits(t, host):
    """systemd starts containerd only after gpuhost-ready, which waits for gpuhostd."""
    count = calls(host)
    write(host.path("/fake-containerd/ready-waits"), "")
    run = host.ctl("runtime", "configure")
    os.unlink(host.path("/fake-containerd/ready-waits"))
    t.ok(run.returncode == 0 and calls(host) == count and "gpuhost-ready.service" in state(host)["restart_text"],
         "a restart that waits for gpuhost-ready is postponed",
         run.stderr, state(host))
    host.ctl("runtime", "configure", check=0)
    t.equal(calls(host), count + 1, "runtime configure restarts a postponed runtime")
    host.ctl("runtime", "unconfigure", check=0)


def check_rewritten(t, host):
    """The service rewrites config.toml at its start, as k0s does."""
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")
    write(host.path("/fake-containerd/written-at-start"), PLAIN)
    count = calls(host)
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and f"'{CONFIG}' is rewritten by the service that starts the runtime" in run.stderr,
         "runtime configure fails when the restart rewrites config.toml", run.returncode, run.stderr)
    t.ok(read(host.path(CONFIG)) == PLAIN and not os.path.exists(host.path(DROP_IN)),
         "a rewritten config.toml leaves no drop-in", files(host))
    t.equal(calls(host), count + 1, "a rewritten config.toml costs one restart")
    t.ok("is rewritten" in state(host)["text"] and not state(host)["restart_wanted"],
         "status reports the rewritten config.toml, without a restart", state(host))
    write(host.path(CONFIG), PLAIN + "# of k0s\n")
    run = host.ctl("apply", "--only", "runtime")
    t.ok("is rewritten" in run.stdout + run.stderr and calls(host) == count + 1,
         "apply does not repeat a rewritten configuration", run.stdout, run.stderr)
    os.unlink(host.path("/fake-containerd/written-at-start"))
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode == 0 and "enable_cdi" in loaded(host),
         "runtime configure repeats a rewritten configuration", run.stderr)
    host.ctl("runtime", "unconfigure", check=0)
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")


def check_deckhouse(t, host):
    write(host.path("/etc/containerd/deckhouse.toml"), PLAIN)
    run = host.ctl("runtime", "configure")
    t.ok("Deckhouse" in run.stdout + run.stderr and read(host.path(CONFIG)) == PLAIN,
         "runtime configure leaves Deckhouse's configuration unchanged", run.stdout, run.stderr)
    os.unlink(host.path("/etc/containerd/deckhouse.toml"))


def check_names(t, host):
    os.unlink(host.path("/var/lib/gpuhost/runtime.json"))
    host.ctl("runtime", "configure", "containerd", check=0)
    t.equal(host.plan("--only", "runtime")["reasons"], ["container runtimes have not been inspected yet"],
            "configuring one runtime leaves the others unobserved")
    host.ctl("apply", "--only", "runtime", check=0)


def check_gone(t, host):
    """The package of a configured runtime is removed."""
    for path in "/usr/bin/containerd", "/usr/lib/systemd/system/containerd.service":
        os.rename(host.path(path), host.path(path + ".away"))
    os.system(f"rm -rf {host.path('/proc')}/{host.read('/fake-containerd/pid')}")
    host.ctl("apply", "--only", "runtime", check=0)
    t.equal(host.plan("--only", "runtime")["steps"], [],
            "the plan is empty after a runtime was removed")
    run = host.ctl("runtime", "unconfigure", "containerd")
    t.ok(run.returncode == 0 and read(host.path(CONFIG)) == PLAIN and not os.path.exists(host.path(DROP_IN)),
         "runtime unconfigure works for a removed runtime",
         run.stderr, read(host.path(CONFIG)))
    for path in "/usr/bin/containerd", "/usr/lib/systemd/system/containerd.service":
        os.rename(host.path(path + ".away"), host.path(path))
    systemctl(host, "start")


def check_links(t, host):
    os.rename(host.path(CONFIG), host.path("/etc/containerd/site.toml"))
    os.symlink("site.toml", host.path(CONFIG))
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and "is a link" in run.stderr and os.path.islink(host.path(CONFIG)),
         "runtime configure refuses a config.toml that is a link", run.stderr)
    write(host.path("/etc/containerd/site.toml"), 'imports = ["/etc/containerd/conf.d/*.toml"]\n' + PLAIN)
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode == 0 and os.path.islink(host.path(CONFIG)) and os.path.exists(host.path(DROP_IN)),
         "a linked config.toml with a matching import is kept", run.stderr)
    host.ctl("runtime", "unconfigure", check=0)
    os.rename(host.path("/etc/containerd/site.toml"), host.path(CONFIG))
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")


def check_settings(t, host):
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/runtime.conf"), "[Runtime]\nClasses=nvidia\nDefaultClass=nvidia\n")
    host.ctl("reload", check=0)
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode != 0 and "none is in use" in run.stderr,
         "Classes=nvidia without its program is refused", run.stderr)
    write(host.path("/usr/bin/nvidia-container-runtime"), "#!/bin/sh\n")
    run = host.ctl("runtime", "configure")
    t.ok(run.returncode == 0 and '"default_runtime_name" = "nvidia"' in loaded(host) and loaded(host).count('"SystemdCgroup" = true') == 2,
         "Classes=nvidia copies the default class's cgroup driver", run.stderr, loaded(host))
    run = host.ctl("runtime", "unconfigure")
    t.ok(run.returncode == 0 and "nvidia" not in loaded(host) and read(host.path(CONFIG)) == PLAIN,
         "runtime unconfigure restores the default class",
         run.stderr, loaded(host))
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/runtime.conf"), "[Runtime]\nManage=no\n")
    host.ctl("reload", check=0)
    t.equal(host.plan("--only", "runtime")["steps"], [], "Manage=no plans nothing")


def check_registry_hosts(t, host):
    """Imported images change the configuration too. GPU readiness does not depend on that."""
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
    t.ok(run.returncode == 0 and "pods do not use this host's images" in run.stdout + run.stderr and "is a link" in run.stdout + run.stderr,
         "a linked config.toml omits the registry, with a warning", run.stdout, run.stderr)
    t.equal(state(host)["state"], "ready", "an omitted registry keeps the state ready")
    os.rename(host.path(CONFIG) + ".site", host.path(CONFIG))
    write(settings, "[Runtime]\nClasses=none\nRestart=no\n")
    host.ctl("reload", check=0)
    run = host.ctl("apply", "--only", "runtime")
    t.ok("would also affect 'plugins.io.containerd.grpc.v1.cri.registry'" in run.stdout + run.stderr and state(host)["state"] == "ready",
         "a registry change that containerd refuses keeps the state ready", run.stdout, run.stderr, state(host))
    with_cdi += '  [plugins."io.containerd.grpc.v1.cri".registry]\n    config_path = ""\n'
    write(host.path(CONFIG), with_cdi)
    systemctl(host, "restart")
    count = calls(host)
    run = host.ctl("apply", "--only", "runtime")
    t.ok("config_path" in host.read(DROP_IN) and calls(host) == count and state(host)["restart_wanted"],
         "a registry change with Restart=no requests a restart",
         run.stdout, run.stderr, state(host))
    t.ok(not state(host)["withholds_gpus"], "a requested restart for the registry withholds no GPUs")
    systemctl(host, "restart")
    os.unlink(hosts)
    t.equal(host.plan("--only", "runtime")["steps"], [], "removing the images plans nothing")
    host.ctl("runtime", "configure", check=0)
    t.ok("config_path" in host.read(DROP_IN),
         "runtime configure without images keeps config_path", files(host))
    host.ctl("runtime", "unconfigure", check=0)
    t.ok(read(host.path(CONFIG)) == with_cdi and not os.path.exists(host.path(DROP_IN)),
         "runtime unconfigure removes config_path", files(host))
    write(host.path(CONFIG), PLAIN)
    systemctl(host, "restart")


def install(host):
    host.install()
    install_containerd(host)


run_checks(check_first, check_apply, check_foreign, check_broken, check_no_start, check_restart_by_hand, check_edited_meanwhile, check_secrets,
           check_ready_waits, check_rewritten, check_deckhouse, check_names, check_gone, check_links, check_registry_hosts, check_settings, make=install, gpus=())
