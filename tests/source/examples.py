# SPDX-License-Identifier: Apache-2.0
"""Checks the files that docs/examples offers to copy: by the programs that read them, and against the sources that
define their names. tests/host/cluster_test.py gives the policy to gpuhost-cluster."""
import base64
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile

from programs import environment, run
from sources import changed, check, load
from tap import TOP_BUILDDIR, TOP_SRCDIR, Tap

sys.path.insert(0, os.path.join(TOP_SRCDIR, "tests/host"))
from image_files import Layout, pack  # pylint: disable=wrong-import-position

try:
    import yaml
except ImportError:
    yaml = None

EXAMPLES, PAGE, FRAGMENT = "docs/examples/", "docs/how-to/examples.md", "docs/local.mk"
KUBERNETES, RIGHTS = EXAMPLES + "kubernetes/", "packaging/kubernetes/"
SCHEMAS = "docs/reference/schemas/"
ALERTS, METRICS, DASHBOARD = EXAMPLES + "prometheus/gpuhost.rules.yaml", "docs/reference/metrics.md", EXAMPLES + "grafana/gpuhost.json"
MONITORING = "docs/how-to/monitoring.md"
ROLE, USER_DATA, KICKSTART = EXAMPLES + "ansible/roles/gpuhost/", EXAMPLES + "cloud-init/user-data.yaml", EXAMPLES + "kickstart/gpuhost.ks"
INSTALL = "packaging/release/install"
POLICY, FIELDS, SOURCE = KUBERNETES + "policy.yaml", "daemon/cluster/policy/fields.cpp", "daemon/cluster/policy/texts.hpp"
APPROVER = KUBERNETES + "approve-requests.sh"
GPUHOSTCTL = os.path.join(TOP_BUILDDIR, "gpuhostctl")
MACHINES, CONDITIONS = EXAMPLES + "cluster-api/gpu-workers.yaml", "man/gpuhost-cluster.8.scd"
BESIDE = (EXAMPLES + "karpenter/nodepool.yaml", EXAMPLES + "node-readiness/rule.yaml", MACHINES)
KINDS = {"Kustomization": "kustomize.config.k8s.io/v1beta1", "RoleBinding": "rbac.authorization.k8s.io/v1", "ConfigMap": "v1", "Secret": "v1"}
PROMQL = {"absent", "and", "bool", "by", "count", "last_over_time", "max", "min", "on", "or", "rate", "sum", "time", "unless"}
OF_NODE = {f"node_filesystem_{name}_bytes": {"instance", "mountpoint"} for name in ("avail", "size")} | {
    "node_textfile_mtime_seconds": {"instance", "file"}}
COLUMNS, SOURCE_VARIABLE = 24, {"type": "prometheus", "uid": "${datasource}"}  # of Grafana
MODULES = {f"ansible.builtin.{name}" for name in ("assert", "command", "copy", "file", "meta", "systemd")}
OF_TASKS = {"name", "block", "when", "loop", "notify", "register", "changed_when", "failed_when", "check_mode"}
PRIVATE = {"path": "/var/cache/gpuhost-install", "state": "directory", "owner": "root", "group": "root", "mode": "0700"}
VERSION = ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", "gpuhostd"]
COMMANDS = {"dpkg-query", "gpuhostctl", f"{PRIVATE['path']}/release/install"}
CLOUD_KEYS, FILE_KEYS = {"write_files", "runcmd"}, {"path", "permissions", "encoding", "content"}


def examples(tree, ending=""):
    return {path: text for path, text in tree.items() if path.startswith(EXAMPLES) and path.endswith(ending)}


def documents(text):
    """Returns the objects of a YAML text."""
    return [one for one in yaml.safe_load_all(text) if one]


def inside(directory, path):
    """Returns a path in the directory, whose parent it makes."""
    full = os.path.join(directory, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    return full


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


# All files

def listed_rule(tree):
    for path in examples(tree):
        if f"(../{path.removeprefix('docs/')})" not in tree.get(PAGE, ""):
            yield f"{path} is not in {PAGE}"
        if f"%D%/{path.removeprefix('docs/')} " not in tree.get(FRAGMENT, ""):
            yield f"{path} is not in {FRAGMENT}"


def comments_rule(tree):
    pages = {os.path.basename(path).removesuffix(".scd") for path in tree if path.startswith("man/")}
    for path, text in examples(tree).items():
        if path.startswith(ROLE):
            continue  # the playbook's comment is about the role
        if path.endswith(".json"):  # without comments; Grafana shows the description
            text = f"#\n# Change: \n# {json.loads(text)['description']}\n"
        comment = re.match(r"(?:#.*\n)+", text)
        named = re.findall(r"([\w.-]+)\((\d)\)", comment[0] if comment else "")
        if not comment or "\n# Change: " not in comment[0] or not any(f"{name}.{number}" in pages for name, number in named):
            yield f"{path} does not begin with a comment that has 'Change:' and a manual page"


def yaml_rule(tree):
    for path, text in examples(tree, ".yaml").items():
        try:
            documents(text)
        except yaml.YAMLError as why:
            yield f"{path}: {why}"


# Specifications of bundles and drop-ins, by gpuhostctl

def add_inputs(directory, text):
    """Makes the files that a specification names."""
    for key, value in re.findall(r"^(Packages|Files|Layout|Archive)=(.+)$", text, re.M):
        path = inside(directory, value.replace("*", "a_1_amd64"))
        if key in ("Packages", "Files"):
            write(path, value)
        elif not os.path.exists(path):
            layout = Layout(path if key == "Layout" else path + ".layout")
            layout.tag(layout.add_index({"amd64": [pack({"a": (b"x", 0o644)})]}), "registry.example/team/app:v1")
            if key == "Archive":
                run(["tar", "-cf", path, "-C", path + ".layout", "."], check=True)


def specifications_rule(tree):
    for path, text in examples(tree, ".spec").items():
        with tempfile.TemporaryDirectory() as directory:
            write(inside(directory, "a.spec"), text)
            add_inputs(directory, text)
            made = run([GPUHOSTCTL, "bundle", "create", "a.spec", "--dry-run"], cwd=directory)
            if made.returncode:
                yield f"{path}: {made.stderr}"


def config_problems(path, text):
    with tempfile.TemporaryDirectory() as directory:
        file = inside(directory, "a.conf")
        write(file, text)
        checked = run([GPUHOSTCTL, "config", "check", file])
        if checked.returncode:
            yield f"{path}: {checked.stdout}{checked.stderr}"


def drop_ins_rule(tree):
    for path, text in examples(tree, ".conf").items():
        yield from config_problems(path, text)


def verbs_problems(path, commands):
    """Checks lists of words that begin with gpuhostctl: verb and options exist."""
    for words in commands:
        verb = [word for word in words[1:3] if re.fullmatch(r"[a-z-]+", word) and not word.startswith("-")]
        shown = run([GPUHOSTCTL, *verb, "--help"])
        options = [word.partition("=")[0] for word in words if word.startswith("--")]
        if shown.returncode or not verb or any(not re.search(rf"{option}(?![\w-])", shown.stdout) for option in options):
            yield f"{path}: {' '.join(words)}: {shown.stderr or 'unknown option'}"


def script_problems(path, script):
    parsed = run(["sh", "-n"], input=script)
    if parsed.returncode:
        yield f"{path}: {parsed.stderr}"
    yield from verbs_problems(path, [line.split() for line in re.findall(r"^(?:ExecStart=/usr/bin/)?(gpuhostctl .+)$", script, re.M)])


# Kubernetes

def manifests(tree):
    """Returns {(kind, namespace, name): object} of the package's rights."""
    objects = [one for path, text in tree.items() if re.fullmatch(RIGHTS + r"[\w-]+\.yaml", path) for one in documents(text)]
    return {(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in objects}


def kustomization_rule(tree):
    here = {path.removeprefix(KUBERNETES) for path in examples(tree, ".yaml") if path.startswith(KUBERNETES)}
    wanted = here - {"kustomization.yaml"} | {path.removeprefix(RIGHTS) for path in tree if re.fullmatch(RIGHTS + r"[\w-]+\.yaml", path)}
    for path in (KUBERNETES + name for name in sorted(here)):
        for one in documents(tree[path]):
            if KINDS.get(one.get("kind")) != one.get("apiVersion"):
                yield f"{path}: unknown kind {one.get('apiVersion')} {one.get('kind')}"
    listed = documents(tree[KUBERNETES + "kustomization.yaml"])[0]["resources"]
    if sorted(listed) != sorted(wanted):
        yield f"the kustomization has {sorted(listed)}, the files are {sorted(wanted)}"


def candidates_rule(tree):
    for one in documents(tree[KUBERNETES + "candidates.yaml"]):
        role = one["roleRef"]
        if (role["kind"], one["metadata"]["namespace"], role["name"]) not in manifests(tree):
            yield f"no {role['kind']} {role['name']} in {RIGHTS}"
        for subject in one["subjects"]:
            if subject["kind"] != "User" or not re.fullmatch(r"gpuhost:host:[a-z0-9.-]+", subject["name"]):
                yield f"{subject} is not a host"


def token_rule(tree):
    """Nobody can use the template before it is changed."""
    one = documents(tree[KUBERNETES + "bootstrap-token.yaml"])[0]
    data = one["stringData"]
    groups = {subject["name"] for each in manifests(tree).values() for subject in each.get("subjects", [])}
    if (one["type"], one["metadata"]) != ("bootstrap.kubernetes.io/token", {"name": f"bootstrap-token-{data['token-id']}", "namespace": "kube-system"}):
        yield "the Secret is not a token"
    if data["auth-extra-groups"] not in groups:
        yield f"{RIGHTS} has no rights for {data['auth-extra-groups']}"
    if re.fullmatch(r"[a-z0-9]{16}", data["token-secret"]) or data["expiration"] > "2026-06":
        yield "the template is a valid token"


def leaves(value, prefix=""):
    for key, member in value.items():
        yield from leaves(member, f"{prefix}{key}.") if isinstance(member, dict) else [prefix + key]


def policy_rule(tree):
    one = documents(tree[POLICY])[0]
    constants = dict(re.findall(r'constexpr const char\* (\w+) = "([^"]+)"', tree[SOURCE]))
    if one["metadata"]["name"] != constants["config_map"] or list(one["data"]) != [constants["config_map_key"]] or \
            f"/namespaces/{one['metadata']['namespace']}/" not in constants["config_maps_path"]:
        yield "hosts read another ConfigMap"
    policy = yaml.safe_load(one["data"]["policy.yaml"])
    known = re.findall(r'PolicyField\{"([\w.]+)"', tree[FIELDS])
    yield from (f"unknown field {path}" for path in leaves(policy) if path not in known)
    for gate in policy["rollout"]["gates"]:
        for alert in (rule["alert"] for group in documents(tree[ALERTS])[0]["groups"] for rule in group["rules"]):
            if not any(re.fullmatch(pattern, alert) for pattern in gate["ignoreAlerts"]):
                yield f"gate {gate['name']} does not ignore {alert}"


# Other controllers. tests/cluster/scenarios/examples.py gives the manifests to their definitions.

def machines_rule(tree):
    specs = [one["spec"]["template"]["spec"] for one in documents(tree[MACHINES]) if one["kind"] == "KubeadmConfigTemplate"]
    files = {file["path"] for spec in specs for file in spec["files"]}
    for command in (command for spec in specs for command in spec["preKubeadmCommands"] + spec["postKubeadmCommands"]):
        yield from script_problems(MACHINES, command)
        yield from (f"{MACHINES}: no file {path}" for path in re.findall(r"/run/\S+", command) if path not in files)


def beside_rule(tree):
    for path in BESIDE:
        known = set(re.findall(r"gpuhost\.io/[\w-]+", tree[CONDITIONS]))
        yield from (f"{path}: no {name} in {CONDITIONS}" for name in sorted(set(re.findall(r"\bgpuhost\.io/[\w-]+", tree[path])) - known))


# Prometheus

def known_metrics(tree):
    """Returns {name: labels}. Two programs may have metrics of one name; node_exporter has some that the alerts need."""
    found = dict(OF_NODE)
    for name, labels in re.findall(r"^\| `(\w+)` \| \w+ \| (.*?) \|", tree[METRICS], re.M):
        found[name] = found.get(name, {"instance"}) | set(re.findall(r"`(\w+)`", labels))
    return found


def expression_problems(text, known):
    expression = re.sub(r'"[^"]*"', '""', text)
    for name, matchers in re.findall(r"(\w+)\{([^}]*)\}", expression):
        if unknown := set(re.findall(r"(\w+) *[!=]", matchers)) - known.get(name, set()):
            yield f"{name} has no label {', '.join(sorted(unknown))}"
    names = set(re.findall(r"(?<![$\d])\b[a-zA-Z_]\w*", re.sub(r"\{[^}]*\}|\b(by|on) *\([^)]*\)", "", expression))) - PROMQL
    yield from (f"no metric {name} in {METRICS}" for name in sorted(names - set(known)))
    if not names & set(known):
        yield "no metric of gpuhost"


def alerts_rule(tree):
    known = known_metrics(tree)
    for rule in (rule for group in documents(tree[ALERTS])[0]["groups"] for rule in group["rules"]):
        yield from (f"{rule['alert']}: {problem}" for problem in expression_problems(rule["expr"], known))
        if (total := re.search(r"\bsum\((\w+)\) == 0", rule["expr"])) and f"or absent({total[1]})" not in rule["expr"]:
            yield f"{rule['alert']}: a sum of nothing is not 0"
        if {"summary", "description"} != set(rule.get("annotations", {})):
            yield f"{rule['alert']} has no summary, or no description"
        if not re.search(rf"^\|.*\b{rule['alert']}\b.*\|$", tree[MONITORING], re.M):
            yield f"{rule['alert']} is not in the table of {MONITORING}"


def panel_problems(panel, known, variables):
    place = panel["gridPos"]
    if place["x"] < 0 or place["x"] + place["w"] > COLUMNS:
        yield "is outside of the grid"
    if panel["type"] == "row":
        return
    if panel.get("datasource") != SOURCE_VARIABLE:
        yield "has another data source"
    if not panel.get("targets") or len({target["refId"] for target in panel["targets"]}) != len(panel["targets"]):
        yield "has no query, or two with one name"
    if "unit" not in panel["fieldConfig"]["defaults"]:
        yield "has no unit"
    for target in panel.get("targets", []):
        yield from expression_problems(target["expr"], known)
        yield from (f"no variable {name}" for name in re.findall(r"\$(\w+)", target["expr"]) if name not in variables)


def dashboard_rule(tree):
    try:
        dashboard = json.loads(tree[DASHBOARD])
    except ValueError as why:
        yield f"{DASHBOARD}: {why}"
        return
    known, panels = known_metrics(tree), dashboard["panels"]
    variables = {one["name"] for one in dashboard["templating"]["list"]} | {"__rate_interval"}
    cells = {}
    for panel in panels:
        yield from (f"{panel['title']}: {problem}" for problem in panel_problems(panel, known, variables))
        place = panel["gridPos"]
        for cell in ((x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])):
            if cells.setdefault(cell, panel["title"]) != panel["title"]:
                yield f"{panel['title']} is on {cells[cell]}"
                break
    if len({panel["id"] for panel in panels}) != len(panels) or len({panel["title"] for panel in panels}) != len(panels):
        yield "two panels have one number or title"
    for one in dashboard["templating"]["list"]:
        if one["type"] == "query":
            yield from expression_problems(re.sub(r"^label_values\((\w+), \w+\)$", r"\1", one["query"]["query"]), known)


# Ansible

def tasks_of(tasks):
    for task in tasks:
        yield task
        yield from tasks_of(task.get("block", []))


def directory_problems(tasks):
    """Checks that files are below /etc/gpuhost or in a directory that only root can change, made in the same block."""
    for each in [tasks, *(task["block"] for task in tasks if "block" in task)]:
        made = False
        for task in each:
            made = made or task.get("ansible.builtin.file") == PRIVATE
            for path in re.findall(r"'(/[^']+)'", str({key: value for key, value in task.items() if key != "block"})):
                if not path.startswith("/etc/gpuhost/") and not (made and f"{path}/".startswith(f"{PRIVATE['path']}/")):
                    yield f"{task.get('name')}: others may be able to change {path}"


def version_problems(tasks):
    """Checks that the installed version is read again and compared after each install."""
    commands = [task.get("ansible.builtin.command", {}).get("argv", [""]) for task in tasks]
    for install in (index for index, words in enumerate(commands) if words[0].endswith("/install")):
        read = [task["register"] for task, words in zip(tasks[install:], commands[install:]) if words == VERSION]
        compared = [task["ansible.builtin.assert"]["that"] for task in tasks[install:] if "ansible.builtin.assert" in task]
        if not read or compared != [f"{read[0]}.stdout == 'installed ' ~ gpuhost_version"]:
            yield f"{tasks[install]['name']}: may install nothing and succeed"


def members(schema, root):
    """Returns {name: schema} of an object's members, or of those of an array's items."""
    if reference := re.fullmatch(r"#/\$defs/(\w+)", schema.get("$ref", "")):
        return members(root["$defs"][reference[1]], root)
    found = dict(schema.get("properties", {}))
    for other in [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        found |= members(other, root)
    return found


def documents_problems(tree, tasks):
    """Checks the members of gpuhostctl's JSON documents that conditions read."""
    schemas = {verb: schema for path, text in tree.items() if path.startswith(SCHEMAS) for schema in [json.loads(text)] for verb in schema.get("x-verbs", [])}
    commands = {task["register"]: task["ansible.builtin.command"]["argv"] for task in tasks if "register" in task}
    conditions = [(task, key, one) for task in tasks for key in ("when", "changed_when") for one in
                  (task[key] if isinstance(task.get(key), list) else [task.get(key)])]
    for task, key, condition in conditions:
        for variable, filters, member in re.findall(r"\((\w+)\.stdout(.*?)\| from_json\)\.(\w+)", str(condition)):
            root = next((schema for verb, schema in schemas.items() if verb.split() == commands.get(variable, [])[1:1 + len(verb.split())]), {})
            known = members(root, root)
            read = {name for name in [member, *re.findall(r'"(\w+)":', filters)] if name not in known}
            read |= set(re.findall(r"selectattr\('(\w+)'", condition)) - set(members(known.get(member, {}), root))
            yield from (f"{task['name']}: its document has no member {name}" for name in sorted(read))
            if key == "changed_when" and "| default(" not in filters:
                yield f"{task['name']}: a command that fails may print no document"


def ansible_rule(tree):
    defaults = set(documents(tree[ROLE + "defaults/main.yaml"])[0])
    tasks = {path: list(tasks_of(documents(tree[path])[0])) for path in (ROLE + "tasks/main.yaml", ROLE + "handlers/main.yaml")}
    registered = {task["register"] for each in tasks.values() for task in each if "register" in task}
    for path, each in tasks.items():
        for task in each:
            where = f"{path}: {task.get('name')}"
            modules = set(task) - OF_TASKS
            if "name" not in task or len(modules) != (0 if "block" in task else 1) or not modules <= MODULES:
                yield f"{where}: is not a task of one module: {sorted(modules)}"
            words = [str(word) for word in task.get("ansible.builtin.command", {}).get("argv", [])]
            if "ansible.builtin.command" in task and (not words or words[0] not in COMMANDS or "changed_when" not in task):
                yield f"{where}: another command, or no changed_when"
            if words[:1] == ["dpkg-query"] and words != VERSION or re.search(r"installed\.(rc|stdout != gpu)", str(task)):
                yield f"{where}: a package that was removed counts as installed"
            if words[:1] == ["gpuhostctl"]:
                yield from verbs_problems(where, [words])
        yield from (f"{path}: {why}" for why in [*directory_problems(documents(tree[path])[0]), *version_problems(each), *documents_problems(tree, each)])
        for variable in sorted(set(re.findall(r"\bgpuhost_\w+", tree[path])) - defaults - registered):
            yield f"{path}: {variable} has no default"
        handlers = {task["name"] for task in tasks[ROLE + "handlers/main.yaml"]}
        yield from (f"{path}: no handler {task['notify']}" for task in each if task.get("notify", task["name"]) not in handlers and "notify" in task)


# The first boot

def release_problems(tree, script):
    """Checks that a script verifies a copy of the release, as the comment of its install says, before it runs it."""
    safe = re.search(r"^# +(gpgv .* && \./install .*)$", tree[INSTALL], re.M)[1].replace("FILE", "/etc/gpuhost/release.gpg").split(" && ")
    lines = [line.strip() for line in script.splitlines()]
    mounted = re.search(r"^mount .* (/\S+)$", script, re.M)[1]
    first = lines.index(safe[0]) if safe[0] in lines else 0
    copied = re.findall(r"^cp -rL (\S+) (\S+)$", script, re.M)
    if lines[0] != "set -eu" or lines[first:first + len(safe)] != safe or any(line.startswith(mounted) for line in lines):
        yield f"{USER_DATA}: does not check the release before it runs its install"
    if len(copied) != 1 or not copied[0][0].startswith(mounted) or lines[first - 1] != f"cd {copied[0][1]}":
        yield f"{USER_DATA}: does not check a copy of the release"


def cloud_rule(tree):
    text = tree[USER_DATA]
    config = documents(text)[0]
    if not text.startswith("#cloud-config\n") or set(config) != CLOUD_KEYS:
        yield "is not the user data of cloud-init"
    for file in config.get("write_files", []):
        if not {"path", "content"} <= set(file) <= FILE_KEYS:
            yield f"unknown keys of a file: {sorted(file)}"
        if file["path"].startswith("/etc/gpuhost/gpuhostd.conf.d/"):
            yield from config_problems(file["path"], file["content"])
    for script in config.get("runcmd", []):
        yield from script_problems(USER_DATA, script)
        yield from release_problems(tree, script)


def kickstart_rule(tree):
    sections = re.findall(r"^%post .*\n((?:(?!%).*\n)*)%end$", tree[KICKSTART], re.M)
    if not sections or len(sections) * 2 != len(re.findall(r"^%", tree[KICKSTART], re.M)):
        yield "a section has no end"
    for script in sections:
        yield from script_problems(KICKSTART, script)
        for path, text in re.findall(r"^cat >(\S+\.conf) <<END\n(.*?)^END$", script, re.M | re.S):
            yield from config_problems(path, text)


# The approver

KUBECTL = """#!/bin/sh
case $1 in get) cat requests.list ;; *) echo "$2 $3" ;; esac
"""


def request(directory, subject):
    """Returns a certificate request for the subject in base64, and the digits for its name."""
    run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject, "-keyout", "a.key", "-out", "a.csr"],
        cwd=directory, check=True)
    public = run(["openssl", "pkey", "-in", "a.key", "-pubout", "-outform", "DER"], cwd=directory, check=True, text=False, stdin=None).stdout
    with open(os.path.join(directory, "a.csr"), "rb") as file:
        return base64.b64encode(file.read()).decode(), hashlib.sha256(public).hexdigest()[:12]


def approver_rule(tree):
    """Runs the script with real requests and a kubectl that prints what it is told."""
    signer, usages, joining = "kubernetes.io/kube-apiserver-client", "digital signature,client auth,", '"system:bootstrap:abcdef"'
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(os.path.join(directory, "bin"))
        write(os.path.join(directory, "bin/kubectl"), KUBECTL)
        os.chmod(os.path.join(directory, "bin/kubectl"), 0o755)
        write(os.path.join(directory, "a.sh"), tree[APPROVER])
        good, digits = request(directory, "/O=gpuhost:hosts/CN=gpuhost:host:gpu01")
        admin, admin_digits = request(directory, "/O=system:masters/CN=gpuhost:host:gpu01")
        both, both_digits = request(directory, "/O=gpuhost:hosts/O=system:masters/CN=gpuhost:host:gpu01")
        # OpenSSL skips the rest of a long line, and Go does not: OpenSSL reads the first request, Go the second.
        manager, _ = request(directory, "/CN=system:kube-controller-manager")
        two = base64.b64encode(b"x" * 254 + base64.b64decode(good) + base64.b64decode(manager)).decode()
        name, unlike, named = f"gpuhost-gpu01-{digits}", "not a request of gpuhost-cluster", f"gpuhost-gpu01-{digits}\n"
        for row, listed, revoked, wanted in (
            ((name, signer, good, usages, joining), named, "", f"approve {name}"),
            ((name, signer, good, usages, joining), "", "", "not in the file requests"),
            ((name, signer, good, usages, '"gpuhost:host:gpu01"'), "", "", f"approve {name}"),
            ((name, signer, good, usages, '"gpuhost:host:gpu02"'), "", "", "not in the file requests"),
            ((name, signer, good, usages, '"gpuhost:host:gpu01"'), named, "gpu01\n", f"deny {name}"),
            (("gpuhost-gpu01-0123456789ab", signer, good, usages, joining), "gpuhost-gpu01-0123456789ab\n", "", unlike),
            ((f"gpuhost-gpu02-{digits}", signer, good, usages, joining), f"gpuhost-gpu02-{digits}\n", "", unlike),
            ((name, "kubernetes.io/kubelet-serving", good, usages, joining), named, "", unlike),
            ((name, signer, good, usages + "cert sign,", joining), named, "", unlike),
            ((f"gpuhost-gpu01-{admin_digits}", signer, admin, usages, joining), f"gpuhost-gpu01-{admin_digits}\n", "", unlike),
            ((f"gpuhost-gpu01-{both_digits}", signer, both, usages, joining), f"gpuhost-gpu01-{both_digits}\n", "", unlike),
            ((name, signer, "bm90aGluZwo=", usages, joining), named, "", unlike),
            ((name, signer, two, usages, joining), named, "", unlike),
        ):
            write(os.path.join(directory, "requests.list"), "|".join(row) + "\n")
            write(os.path.join(directory, "requests"), listed)
            write(os.path.join(directory, "revoked"), revoked)
            ran = run(["sh", "a.sh"], cwd=directory, env=environment(PATH=f"{directory}/bin:{os.environ['PATH']}"))
            if ran.returncode or wanted not in ran.stdout or len(ran.stdout.splitlines()) != 1:
                yield f"{row[0]} of {row[4]}, signer {row[1]}: {ran.returncode} {ran.stdout}{ran.stderr}, not: {wanted}"


def main():
    tap = Tap()
    tree = load()
    spec, drop_in, candidates = EXAMPLES + "bundles/images.spec", EXAMPLES + "gpuhostd.conf.d/wait-for-jobs.conf", KUBERNETES + "candidates.yaml"
    tasks = ROLE + "tasks/main.yaml"
    bad = lambda *words: changed(tree, *words)  # noqa: E731
    checks = (
        ((), "each example is in its page and installed", listed_rule, {
            "one that is not listed": tree | {EXAMPLES + "bundles/new.spec": ""},
        }),
        ((), "each example says what to change, and has a manual page", comments_rule, {
            "one without 'Change:'": bad(spec, "# Change: ", "# "),
            "a manual page that does not exist": bad(spec, "gpuhost-bundle(5)", "gpuhost-bundles(5)"),
        }),
        (("apt-ftparchive", "tar"), "gpuhostctl bundle create reads the specifications", specifications_rule, {
            "an unknown key": bad(spec, "Archive=images/tool.tar", "Archives=images/tool.tar"),
            "an unknown section": bad(spec, "[Images]", "[Pictures]"),
        }),
        ((), "gpuhostctl config check accepts the drop-ins", drop_ins_rule, {
            "an unknown key": bad(drop_in, "HolderPolicy", "HoldersPolicy"),
            "an invalid value": bad(drop_in, "=wait", "=await"),
        }),
        (("yaml",), "the YAML files are YAML", yaml_rule, {"a text that is not": bad(candidates, "subjects:", "subjects: [")}),
        (("yaml",), "the kustomization has all manifests, of known kinds", kustomization_rule, {
            "a manifest that is missing": bad(KUBERNETES + "kustomization.yaml", "  - policy.yaml\n", ""),
            "another kind": bad(candidates, "kind: RoleBinding", "kind: RoleBindings"),
        }),
        (("yaml",), "the candidates' role exists", candidates_rule, {
            "another role": bad(candidates, "name: gpuhost-candidate\n", "name: gpuhost-leader\n"),
            "another user": bad(candidates, "gpuhost:host:gpu01", "gpu01"),
        }),
        (("yaml",), "the token has the rights to join, and is a template", token_rule, {
            "another group": bad(KUBERNETES + "bootstrap-token.yaml", "bootstrappers:gpuhost", "bootstrappers:gpu"),
            "a valid secret": bad(KUBERNETES + "bootstrap-token.yaml", "CHANGE-THIS-TEXT", "0123456789abcdef"),
        }),
        (("yaml",), "the policy has known fields, and its gate ignores the alerts", policy_rule, {
            "an unknown field": bad(POLICY, "failureBudget", "failures"),
            "another ConfigMap": bad(POLICY, "name: gpuhost-policy", "name: policy"),
            "an alert that shuts the gate": bad(ALERTS, "GpuHostSilent", "HostSilent"),
        }),
        (("yaml",), "Cluster API's machines run known commands", machines_rule, {
            "an unknown verb": bad(MACHINES, "gpuhostctl upgrade ", "gpuhostctl upgrades "),
            "an unknown option": bad(MACHINES, "--no-wait", "--nowait"),
            "a file that is not there": bad(MACHINES, "rm /run/gpuhost-join-token", "rm /run/gpuhost-token"),
        }),
        ((), "manifests for other controllers have our conditions and taint", beside_rule, {
            "an unknown condition": bad(MACHINES, "gpuhost.io/DriverReady", "gpuhost.io/DriversReady"),
            "an unknown taint": bad(BESIDE[0], "gpuhost.io/not-ready", "gpuhost.io/unready"),
        }),
        (("yaml",), "the alerts have known metrics and labels", alerts_rule, {
            "an unknown metric": bad(ALERTS, "gpuhost_connected ==", "gpuhost_connect =="),
            "an alert that the page does not name": bad(MONITORING, "| GpuHostNotOk |", "| GpuHostOk |"),
            "an alert without a description": bad(ALERTS, "          description: \"'gpuhostctl fleet status' says why it is shut.\"\n", ""),
            "a sum without its absence": bad(ALERTS, " or absent(gpuhost_leader)", ""),
            "an unknown label": bad(ALERTS, 'state="upgrade-failed"', 'status="upgrade-failed"'),
        }),
        ((), "the dashboard has known metrics, and panels with units that do not overlap", dashboard_rule, {
            "a text that is not JSON": bad(DASHBOARD, '"panels": [', '"panels": '),
            "an unknown metric": bad(DASHBOARD, "sum(gpuhost_ok)", "sum(gpuhost_fine)"),
            "an unknown label": bad(DASHBOARD, "by (version) (gpuhost_driver_info)", 'by (version) (gpuhost_driver_info{driver=\\"1\\"})'),
            "an unknown variable": bad(DASHBOARD, "$instance", "$host"),
            "a variable of an unknown metric": bad(DASHBOARD, "label_values(gpuhost_build_info,", "label_values(gpuhost_info,"),
            "a data source of its own": bad(DASHBOARD, '"datasource": {"type": "prometheus", "uid": "${datasource}"}, "gridPos"', '"datasource": null, "gridPos"'),
            "a panel on another": bad(DASHBOARD, '{"x": 3, "y": 1,', '{"x": 2, "y": 1,'),
            "a panel without a unit": bad(DASHBOARD, '"unit": "none", ', ""),
        }),
        (("yaml",), "the Ansible role has modules of ansible-core and known verbs", ansible_rule, {
            "a shell": bad(tasks, "ansible.builtin.copy", "ansible.builtin.shell"),
            "an unknown verb": bad(tasks, "bundle, list", "bundle, lists"),
            "an unknown option": bad(tasks, "--holders=", "--holder="),
            "a version without a status": bad(tasks, "${db:Status-Status} ", ""),
            "a status that is not compared": bad(tasks, "'installed ' ~ ", ""),
            "an exit status for it": bad(tasks, "stdout is match('installed ')", "rc == 0"),
            "an install that changes nothing": bad(tasks, "that: gpuhost_installed_now.stdout == ", "that: true or "),
            "a version from before the install": bad(tasks, "that: gpuhost_installed_now", "that: gpuhost_installed"),
            "a document without a member": bad(tasks, "from_json).bundles", "from_json).bundle"),
            "another member of a bundle": bad(tasks, "'generation', 'ge'", "'generations', 'ge'"),
            "another member in a default": bad(tasks, '{"operations": []}', '{"operation": []}'),
            "a schema that changes": bad(SCHEMAS + "upgrade.schema.json", '"operations"', '"steps"'),
            "an output that is always JSON": bad(tasks, """ | default('{"operations": []}', true)""", ""),
            "a directory for everybody": bad(tasks, "/var/cache/gpuhost-install", "/var/tmp/gpuhost-install"),
            "a file for everybody": bad(tasks, "/var/cache/gpuhost-install/site.bundle", "/var/tmp/site.bundle"),
            "a directory of another mode": bad(tasks, 'mode: "0700"', 'mode: "0755"'),
            "a variable without a default": bad(ROLE + "defaults/main.yaml", "gpuhost_holders:", "gpuhost_holder:"),
            "a handler that does not exist": bad(ROLE + "handlers/main.yaml", "Reload gpuhostd", "Reload"),
        }),
        (("yaml",), "cloud-init's user data has known keys and commands", cloud_rule, {
            "an unknown key": bad(USER_DATA, "runcmd:", "runcommand:"),
            "an unknown setting": bad(USER_DATA, "Version=", "Versions="),
            "an unknown verb": bad(USER_DATA, "gpuhostctl upgrade ", "gpuhostctl upgrades "),
            "a release that is not checked": bad(USER_DATA, "    gpgv --keyring /etc/gpuhost/release.gpg SHA256SUMS.gpg SHA256SUMS\n", ""),
            "checks that are not lines of their own": bad(USER_DATA, "SHA256SUMS.gpg SHA256SUMS\n", "SHA256SUMS.gpg SHA256SUMS &&\n"),
            "a release on the stick": bad(USER_DATA, "cd /root/gpuhost-release", "cd /run/gpuhost-stick/release"),
            "an install on the stick": bad(USER_DATA, "    cp -rL", "    /run/gpuhost-stick/release/install --check\n    cp -rL"),
        }),
        ((), "the kickstart file has whole sections and known commands", kickstart_rule, {
            "a section without an end": bad(KICKSTART, "%end\n", ""),
            "an unknown setting": bad(KICKSTART, "Version=", "Versions="),
            "an unknown verb": bad(KICKSTART, "gpuhostctl upgrade ", "gpuhostctl upgrades "),
        }),
        (("openssl",), "the approver approves what its rule permits", approver_rule, {
            "one that ignores the name": bad(APPROVER, '[ "$name" != "gpuhost-$node-$key" ]', "false"),
            "one that accepts two requests": bad(APPROVER, "cmp -s - ", "test -s "),
            "one that ignores usages": bad(APPROVER, "[ \"$usages\" != 'digital signature,client auth,' ]", "false"),
            "one that approves all": bad(APPROVER, 'grep -qxF -e "$name" requests', "true"),
        }),
    )
    for needed, name, rule, trees in checks:
        missing = [tool for tool in needed if not (yaml if tool == "yaml" else shutil.which(tool))]
        if missing:
            tap.skip(name, f"{' and '.join(missing)} not installed")
        else:
            check(tap, name, rule, trees)
    tap.done()


main()
