# SPDX-License-Identifier: Apache-2.0
"""packaging/selinux: the policy compiles, and its paths match the files that the daemon creates."""
import os
import re
import shutil
import subprocess

import tap
from fake_host import NEW, OLD, FakeHost, prepare
from toolkit_files import write_debs

DEVEL = "/usr/share/selinux/devel/Makefile"
POLICY = os.path.join(tap.TOP_SRCDIR, "packaging", "selinux")
STORES = ("/var/lib/gpuhost/driver", "/var/lib/gpuhost/toolkit")


def source(name):
    with open(os.path.join(POLICY, name), encoding="utf-8") as file:
        return file.read()


def contexts():
    """Returns [(regular expression, type)] in libselinux's order: by the length of the literal prefix. The
    last match wins."""
    lines = re.findall(r"^(/\S+)\s.*gen_context\(system_u:object_r:(\w+),s0\)$", source("gpuhost.fc"), re.M)
    return sorted(lines, key=lambda line: len(re.match(r"[^.^$?*+|\[({]*", line[0])[0]))


def labelled(rules, path):
    """Returns the type that restorecon would set."""
    return next((label for pattern, label in reversed(rules) if re.fullmatch(pattern, path)), None)


def created(host, transitions, path):
    """Returns the type at creation: that of the directory, except where the policy has a transition."""
    label, at = "gpuhost_var_lib_t", "/var/lib/gpuhost"
    for name in path.split("/")[4:]:
        at = f"{at}/{name}"
        if os.path.isdir(host.path(at)) and not os.path.islink(host.path(at)):
            label = transitions.get((label, name), label)
    return label


def paths(host, below):
    for directory, names, files in os.walk(host.path(below)):
        for name in [*names, *files]:
            yield os.path.join(directory, name)[len(host.root):]


def check_compiles(t, scratch):
    if not os.path.exists(DEVEL) or not shutil.which("checkmodule") or not shutil.which("semodule_package"):
        t.skip("the policy module compiles", "no selinux-policy-dev, checkpolicy and semodule-utils")
        return
    shutil.copytree(POLICY, scratch)
    made = subprocess.run(["make", "-f", DEVEL, "gpuhost.pp"], cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, timeout=300)
    t.ok(made.returncode == 0 and os.path.getsize(os.path.join(scratch, "gpuhost.pp")) > 0,
         "the policy module compiles", made.stdout, made.stderr)


def check_paths(t, host):
    rules = contexts()
    there = [*paths(host, "/var/lib/gpuhost"), *paths(host, "/run/gpuhost")]
    unused = [pattern for pattern, _ in rules if not pattern.startswith("/usr/") and not any(re.fullmatch(pattern, path) for path in there)]
    t.equal(unused, ["/var/lib/gpuhost/(catalogue|store)(/.*)?"],
            "each path of the policy exists, except for bundles")
    store = f"/var/lib/gpuhost/driver/{NEW}"
    for pattern, wanted in ((r"/userland/[^/]+/lib/libcuda\.so\..*", "lib_t"), (r"/userland/[^/]+/bin/nvidia-smi", "bin_t"),
                            (r"/userland/[^/]+/firmware/.*\.bin", "lib_t"), (r"/modules/.*/nvidia\.ko", "modules_object_t"),
                            (r"/userland/[^/]+/manifest\.json", "gpuhost_var_lib_t")):
        found = {labelled(rules, path) for path in there if re.fullmatch(re.escape(store) + pattern, path)}
        t.equal(found, {wanted}, f"{pattern} has type {wanted}")


def check_transitions(t, host):
    """Sets keep the types of their staging directory: these must equal the types that restorecon sets."""
    rules = contexts()
    lines = re.findall(r'filetrans_pattern\(\w+, (\w+), (\w+), dir, "(\w+)"\)', source("gpuhost.te"))
    transitions = {(parent, name): label for parent, label, name in lines}
    t.ok(len(transitions) == 4, "the policy has four directory transitions", transitions)
    for store in STORES:
        both = [(path, created(host, transitions, path), labelled(rules, path)) for path in paths(host, store)]
        wrong = [f"{path}: {first}, and {then}" for path, first, then in both if first != then]
        t.ok(not wrong, f"files created in {store} have restorecon's types", *wrong[:5])


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        check_compiles(t, os.path.join(host.scratch, "selinux"))
        prepare(host)
        host.start_daemon()
        host.settle()
        host.ctl("toolkit", "import", *write_debs(os.path.join(host.scratch, "toolkit"), "1.18.1"), check=0)
        check_paths(t, host)
        check_transitions(t, host)
    finally:
        host.close()
    t.done()


main()
