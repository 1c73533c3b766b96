# SPDX-License-Identifier: Apache-2.0
"""A fake containerd 1.7: its program prints its version and dumps its configuration as containerd does. A
fake systemctl restarts it and writes its process to /proc. The loaded configuration is in
/fake-containerd/loaded."""
import os

from fake_host import write

CONFIG, DROP_IN = "/etc/containerd/config.toml", "/etc/containerd/conf.d/zz-gpuhost.toml"
UNIT = "containerd.service"
PLAIN = """version = 2 # of the site
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.site/pause:3.9" # no other is here
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
"""

CONTAINERD = '''#!/usr/bin/env python3
"""containerd --version; containerd [--config FILE] config dump: merges files as 1.7 does, a plugin's table as a whole."""
import glob, json, os, sys, tomllib

ROOT = os.environ["FAKE_ROOT"]

def place(path):
    return path if path.startswith(ROOT + "/") else ROOT + path

def load(path):
    with open(place(path), "rb") as file:
        return tomllib.load(file)

def toml(table, head=""):
    def text(value):
        return "[" + ", ".join(map(text, value)) + "]" if isinstance(value, list) else json.dumps(value)
    lines = [f"{json.dumps(key)} = {text(value)}" for key, value in table.items() if not isinstance(value, dict)]
    for key, value in table.items():
        if isinstance(value, dict):
            name = head + ("." if head else "") + json.dumps(key)
            lines += [f"[{name}]"] + toml(value, name)
    return lines

if sys.argv[1:] == ["--version"]:
    print("containerd github.com/containerd/containerd 1.7.24 0000")
    sys.exit()
edit = ROOT + "/fake-containerd/edit-at-dump"
if os.path.exists(edit):
    with open(edit) as wanted, open(place("/etc/containerd/config.toml"), "a") as file:
        file.write(wanted.read())
    os.unlink(edit)
config = sys.argv[sys.argv.index("--config") + 1] if "--config" in sys.argv else "/etc/containerd/config.toml"
merged, pending = {}, [config] if "--config" in sys.argv or os.path.exists(place(config)) else []
while pending:
    file = load(pending.pop(0))
    for pattern in file.pop("imports", []):
        found = sorted(glob.glob(place(pattern)))
        if not found and "*" not in pattern:
            sys.exit("containerd: no such file: " + pattern)
        pending += found
    merged.setdefault("plugins", {}).update(file.pop("plugins", {}))
    merged |= file
print("\\n".join(toml(merged)))
'''

SYSTEMCTL = """#!/bin/sh
# restart UNIT: starts a new process that loads the current configuration, unless it is broken.
root={root}
state=$root/fake-containerd
[ "$1" != show ] || [ ! -e $state/ready-waits ] || echo ActiveState=activating
[ "$1" = restart ] || [ "$1" = start ] || exit 0
echo "$1 $3" >>$state/calls
old=$(cat $state/pid 2>/dev/null)
[ -z "$old" ] || rm -rf $root/proc/$old
: >$state/pid
export FAKE_ROOT=$root
if [ -e $state/broken ] && grep -q gpuhost $root/etc/containerd/config.toml; then
    cat $state/broken >>$root/etc/containerd/config.toml
    echo "Job for $3 failed because the control process exited with error code." >&2
    exit 1
fi
[ ! -e $state/written-at-start ] || cp $state/written-at-start $root/etc/containerd/config.toml
$root/usr/bin/containerd config dump >$state/loaded || exit 1
pid=$(($(cat $state/last) + 1))
echo $pid >$state/last
echo $pid >$state/pid
mkdir $root/proc/$pid
printf '/usr/bin/containerd\\0' >$root/proc/$pid/cmdline
printf 'Uid:\\t0\\t0\\t0\\t0\\nNSpid:\\t%s\\n' $pid >$root/proc/$pid/status
echo "0::/system.slice/$3" >$root/proc/$pid/cgroup
echo "$pid (containerd) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 $pid 0 0" >$root/proc/$pid/stat
ln -s / $root/proc/$pid/root
ln -s /usr/bin/containerd $root/proc/$pid/exe
"""


def install_containerd(host, config=PLAIN):
    """Installs a containerd and starts it with `config`."""
    for path, text in (("/usr/bin/containerd", CONTAINERD), ("/usr/bin/systemctl", SYSTEMCTL.format(root=host.root))):
        write(host.path(path), text)
        os.chmod(host.path(path), 0o755)
    write(host.path(f"/usr/lib/systemd/system/{UNIT}"), "[Service]\nExecStart=/usr/bin/containerd\n")
    write(host.path(CONFIG), config)
    write(host.path("/fake-containerd/last"), "5000\n")
    systemctl(host, "start")


def systemctl(host, verb):
    """Runs systemctl and discards its errors."""
    if os.system(f"{host.path('/usr/bin/systemctl')} {verb} -- {UNIT} 2>/dev/null") != 0:
        raise AssertionError(f"systemctl {verb} fails")


def calls(host, verb="restart"):
    return host.read("/fake-containerd/calls").split("\n").count(f"{verb} {UNIT}")


def loaded(host):
    """Returns the configuration that containerd has loaded."""
    return host.read("/fake-containerd/loaded")


def dump(host):
    """Returns the configuration that containerd would load now, or None if it would not start."""
    stream = os.popen(f"FAKE_ROOT={host.root} {host.path('/usr/bin/containerd')} config dump 2>/dev/null")
    text = stream.read().strip()
    return None if stream.close() else text
