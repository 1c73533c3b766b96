# SPDX-License-Identifier: Apache-2.0
"""The schemas of docs/reference/schemas are valid, documents.py refuses documents that do not match them, and
verbs and methods that change nothing return documents that do."""
import json

import documents
import programs
import tap
from fake_host import NEW, FakeHost, prepare

STEP = {"kind": "k", "summary": "s", "args": {"any": {"key": 1}}}
PROBLEM = {"code": "already-exists", "text": "t", "hint": "", "details": {"paths": ["/a"]}}
PLAN = {"kind": "k", "title": "t", "steps": [STEP], "reasons": [], "problems": [PROBLEM], "changes_host": True}
STATUS = {"server": "s", "user": "u", "node": "n", "state": "joining", "error": None, "request": ""}
CREDENTIALS = {"files": {"/a": "text"}, "problems": []}
# Arguments of each method that returns JSON, as busctl expects them.
METHODS = {
    "Manager.Describe": (), "Manager.Plan": ("a{sv}", "0"), "Manager.GetKubeletCredentials": (), "Manager.RequestUpgrade": ("s", ""),
    "Driver.List": (), "Driver.History": (), "Driver.Holders": (), "Driver.Plan": ("sasa{sv}", "swap", "1", NEW, "0"),
    "Bundle.List": (), "Bundle.Plan": ("sasa{sv}", "remove", "1", "none", "0"),
    "Runtime.Plan": ("sasa{sv}", "configure", "0", "0"), "Toolkit.List": (), "Toolkit.Plan": ("sasa{sv}", "remove", "1", "1.17.9", "0"),
    "Devices.Plan": ("sasa{sv}", "mark", "1", "GPU-none", "1", "reason", "s", "a test"), "Operation.Describe": (),
}
# Verbs that change nothing; those that read the host's files have its root.
OF_DAEMON = ("status", "operation list", "operation show 1", "driver list", f"driver show {NEW}", "driver history", "bundle list", "toolkit list",
             "apply --dry-run", "driver rollback --dry-run")
OF_FILES = ("doctor", "config cat", "config show", "config check", "secure-boot status", "cdi list", "cdi validate", "cdi show nvidia.com/gpu=0", "image list", "image policy a:1",
            "runtime show", "runtime verify", "runtime configure --dry-run", "toolkit show")


def refused(words, text):
    """Returns why an output of gpuhostctl is refused; empty if it is not."""
    try:
        documents.check_command(["/usr/bin/gpuhostctl", *words], text)
    except (documents.BadDocument, json.JSONDecodeError) as error:
        return str(error)
    return ""


def check_schemas(t):
    validator = documents.jsonschema.Draft202012Validator
    for name, schema in documents.schemas().items():
        errors = [error.message for error in validator(validator.META_SCHEMA).iter_errors(schema)]
        t.ok(not errors, f"{name} is a valid schema", *errors)


def check_documents(t):
    good = [("plan", PLAN), ("cluster-status", STATUS), ("kubelet-credentials", CREDENTIALS), ("operation-list", [])]
    for name, document in good:
        t.equal(documents.problems(name, document), [], f"a document of {name} is accepted")
    bad = [
        ("a key that no schema names", "plan", PLAN | {"new": 1}, "$: no schema names the key 'new'"),
        ("such a key in a part", "plan", PLAN | {"steps": [STEP | {"new": 1}]}, "$.steps[0]: no schema names the key 'new'"),
        ("such a key in an alternative", "plan", PLAN | {"problems": [PROBLEM | {"details": {"paths": [], "new": 1}}]},
         "$.problems[0].details: no schema names the key 'new'"),
        ("a missing key", "plan", {key: value for key, value in PLAN.items() if key != "steps"}, "$: 'steps' is a required property"),
        ("another type", "plan", PLAN | {"title": 1}, "$.title: 1 is not of type 'string'"),
        ("a missing key of a state", "cluster-status", STATUS | {"state": "connected"}, "$: 'taints' is a required property"),
        ("another type in a map", "kubelet-credentials", CREDENTIALS | {"files": {"/a": 1}}, "is not of type 'string'"),
    ]
    for why, name, document, wanted in bad:
        found = documents.problems(name, document)
        t.ok(any(wanted in line for line in found), f"{why} is refused", *found)


def check_outputs(t):
    plan, started = json.dumps(PLAN), json.dumps({"id": 1})
    t.equal(refused(["driver", "swap", "1.2", "--json"], plan), "", "a document of the verb is accepted")
    t.equal(refused(["driver", "swap", "1.2", "--no-wait", "--json=short"], started), "", "another document of the verb is accepted")
    t.ok("doctor.schema.json" in refused(["doctor", "--json"], plan), "a document of another verb is refused")
    t.ok("no schema" in refused(["driver", "new", "--json"], plan), "JSON of a verb without a schema is refused")
    t.ok(refused(["driver", "swap", "--json"], started + "\n" + json.dumps({"id": -1})), "the second of two documents is checked")
    for option in ("--json", "-j", "-jq", "-qj"):
        t.ok(refused(["driver", "swap", option], "text"), f"text with {option} is refused")
    for words in (["driver", "swap"], ["driver", "swap", "--json", "--help"]):
        t.equal(refused(words, "text"), "", f"text of '{' '.join(words)}' is accepted")
    t.ok(refused(["cdi", "generate"], "{}"), "JSON without --json is checked")


def check_verbs(t, host):
    for line, words in [(line, line.split()) for line in OF_DAEMON] + [(line, [*line.split(), f"--root={host.root}"]) for line in OF_FILES]:
        run = host.ctl(*words, "--json")
        t.ok(run.stdout, f"{line} --json prints a document of its schema", run.stderr)


def check_methods(t, host):
    host.add_process(4242, "python3", "job.service")
    t.equal(set(METHODS), {word for schema in documents.schemas().values() for word in schema.get("x-methods", [])},
            "the table of arguments has all methods")
    for method, arguments in METHODS.items():
        interface, name = method.split(".")
        path = "/org/gpuhost1" + {"Manager": "", "Operation": "/operation/_1"}.get(interface, "/" + interface.lower())
        run = programs.run(["busctl", f"--address={host.address}", "--json=short", "call", "org.gpuhost1", path, f"org.gpuhost1.{interface}", name,
                            *arguments])
        t.ok(run.returncode == 0, f"{method} returns a document of its schema", run.stderr)


def check_host(t):
    host = FakeHost()
    try:
        prepare(host)
        host.start_daemon()
        host.settle()
        check_verbs(t, host)
        check_methods(t, host)
    finally:
        host.close()


def main():
    t = tap.Tap()
    if documents.jsonschema is None:
        t.skip("documents match their schemas", "python3-jsonschema is not installed")
    else:
        check_schemas(t)
        check_documents(t)
        check_outputs(t)
        check_host(t)
    t.done()


main()
