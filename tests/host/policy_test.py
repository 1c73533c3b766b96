# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl cluster policy --check: a policy in a file, without a cluster and without a daemon."""
import json
import os
import shutil

import tap
from fake_host import scratch, write
from programs import environment, run

EXAMPLE = os.path.join(tap.TOP_SRCDIR, "docs/examples/kubernetes/policy.yaml")
CTL = os.path.join(tap.TOP_BUILDDIR, "gpuhostctl")
INVALID, NOT_FOUND, BAD = 2, 4, 9


def check(path, *more):
    return run([CTL, "cluster", "policy", f"--check={path}", *more], env=environment(NO_COLOR="1", LC_ALL="C.UTF-8"))


def check_example(t, path):
    shown = check(EXAMPLE)
    t.equal((shown.returncode, shown.stderr, shown.stdout.splitlines()[0]), (0, "", f"{EXAMPLE}: no mistakes."), "the policy of the examples has no mistakes")
    t.ok("FROM" in shown.stdout and '\n  Pool: default\n  Wave: {"name":"canary"' in shown.stdout and "\nWindow: " in shown.stdout, "values, and waves and windows of the pool, are shown", shown.stdout)
    with open(EXAMPLE, encoding="utf-8") as file:
        text = file.read()
    lines = text.splitlines()
    line = next(number for number, one in enumerate(lines, 1) if "failureBudget" in one)
    write(path, text.replace("failureBudget", "failureBugdet"))
    found = f"{path}:{line}: ConfigMap gpuhost/gpuhost-policy: unknown field rollout.failureBugdet (did you mean 'rollout.failureBudget'?)"
    shown = check(path)
    t.equal((shown.returncode, shown.stdout.splitlines()[:2]), (BAD, [found, "No upgrade begins as long as there are problems."]),
            "a mistake is shown with its line and the right name")
    t.ok("1 mistake found" in shown.stderr and "gpuhost-policy(5)" in shown.stderr, "the error names the page", shown.stderr)
    shown = check(path, "--json=short")
    problems = json.loads(shown.stdout)["problems"]
    t.equal((shown.returncode, [(one["path"], one["line"]) for one in problems]), (BAD, [("rollout.failureBugdet", line)]),
            "--json has the path and the line of a mistake")


def check_kubectl(t, path):
    """What 'kubectl get -o json' prints is read, too."""
    text = "rollout:\n  pools:\n  - {name: a, nodeSelector: {tier: canary}, driver: {version: 550.163.01}}\n"
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gpuhost-policy", "namespace": "gpuhost"}, "data": {"policy.yaml": text}}
    write(path, json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"kind": "Namespace", "apiVersion": "v1"}, config_map]}, indent=4))
    shown = check(path, "--json")
    t.equal((shown.returncode, [pool["name"] for pool in json.loads(shown.stdout)["pools"]]), (0, ["a", "default"]), "a list in JSON is read")
    shown = check(path)
    t.ok('\nPool: a, Nodes with {"tier":"canary"}\nFIELD           VALUE       FROM\ndriver.version  550.163.01  pool \'a\'\n' in shown.stdout,
         "a pool is shown with its own values", shown.stdout)


def check_refusals(t, path):
    shown = check(path + ".absent")
    t.ok(shown.returncode == NOT_FOUND and path in shown.stderr, "a file that does not exist is refused", shown.stderr)
    t.equal(check(os.path.dirname(path)).returncode, INVALID, "a directory is refused")
    shown = check(path, "--root=/")
    t.ok(shown.returncode == INVALID and "--root cannot be used with --check" in shown.stderr, "--root with --check is refused", shown.stderr)
    write(path, "kind: NVIDIADriver\nmetadata: {name: a100}\n")
    shown = check(path)
    t.ok(shown.returncode == BAD and "NVIDIADriver a100: rollout.pools replaces it" in shown.stderr, "a file without a policy is refused", shown.stderr)
    for text, name in (("#" * (4 << 20) + "\n", "more than 4 MiB are refused"), ("a: b: c\n", "a text that is no YAML is refused"), ("\x01", "control characters are refused")):
        write(path, text)
        shown = check(path)
        t.ok(shown.returncode == BAD and not shown.stdout and path in shown.stderr, name, shown.returncode, shown.stdout, shown.stderr[:500])


def main():
    t = tap.Tap()
    directory = scratch()
    try:
        for one in (check_example, check_kubectl, check_refusals):
            one(t, os.path.join(directory, "policy.yaml"))
    finally:
        shutil.rmtree(directory)
    t.done()


main()
