# SPDX-License-Identifier: Apache-2.0
"""Checks the JSON Schemas of docs/reference/schemas: that each verb and method with JSON has one, and that each
is complete in itself. tests/support/documents.py validates documents against them."""
import json
import re
import xml.etree.ElementTree as ElementTree

import documents
from sources import main

FOLDER = "docs/reference/schemas/"
LIST = "docs/local.mk"
COMPLETION = "packaging/completion/_gpuhostctl"
INTERFACE = "systemd/org.gpuhost1.xml"
ERRORS = "daemon/base/error.cpp"


def schemas(tree):
    """Returns {name: schema}."""
    return {path[len(FOLDER):].removesuffix(documents.SUFFIX): json.loads(text) for path, text in tree.items() if path.startswith(FOLDER)}


def parts(schema):
    """Yields the schema and all schemas in it."""
    yield schema
    for value in schema.values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield from parts(one)


def named(tree, keyword):
    return {word for schema in schemas(tree).values() for word in schema.get(keyword, ())}


def json_verbs(tree):
    """Returns the verbs with --json, of the options in the completion for zsh."""
    options = tree.get(COMPLETION, "").partition("_gpuhostctl_options=(")[2]
    verbs = re.findall(r"^ {4}'([a-z][a-z -]*)' '(.*?)(?=^ {4}'[a-z]|^\)|\Z)", options, re.M | re.S)
    return {verb for verb, own in verbs if re.search(r"^(\([^)]*\))?--json\b", own, re.M)}


def json_methods(tree):
    """Returns the methods that return JSON, such as "Driver.List"."""
    root = ElementTree.fromstring(tree.get(INTERFACE, "<node/>"))
    return {f"{interface.get('name').rpartition('.')[2]}.{method.get('name')}" for interface in root.iter("interface")
            for method in interface.iter("method") for argument in method.iter("arg")
            if (argument.get("name"), argument.get("direction")) == ("json", "out")}


def same(wanted, found, what):
    for one in sorted(wanted - found):
        yield f"{what} {one} has no schema in {FOLDER}"
    for one in sorted(found - wanted):
        yield f"{what} {one} of a schema does not exist, or prints no JSON"


def verbs_rule(tree):
    yield from same(json_verbs(tree) | documents.ALWAYS_JSON, named(tree, "x-verbs"), "verb")


def methods_rule(tree):
    yield from same(json_methods(tree), named(tree, "x-methods"), "method")


def used_rule(tree):
    """Each schema is a document's, or a part of one."""
    all_of = schemas(tree)
    references = {part["$ref"].partition("#")[0].removesuffix(documents.SUFFIX)
                  for schema in all_of.values() for part in parts(schema) if isinstance(part.get("$ref"), str)}
    for name, schema in all_of.items():
        if not schema.get("x-verbs") and not schema.get("x-methods") and name not in references:
            yield f"{FOLDER}{name}: of no verb, method or other schema"
        if f"%D%/reference/schemas/{name}{documents.SUFFIX}" not in tree.get(LIST, ""):
            yield f"{FOLDER}{name}: not in {LIST}"


def form_rule(tree):
    all_of = schemas(tree)
    for name, schema in all_of.items():
        for key in ("$schema", "title", "description"):
            if not schema.get(key):
                yield f"{name}: no {key}"
        for part in parts(schema):
            if isinstance(part.get("required"), list) and isinstance(part.get("properties"), dict):
                yield from (f"{name}: '{key}' is required, but not described" for key in part["required"] if key not in part["properties"])
            if isinstance(part.get("$ref"), str) and not leads(all_of, part["$ref"], name):
                yield f"{name}: {part['$ref']} does not exist"


def leads(all_of, reference, name):
    """Returns true if a reference of the schema `name` leads to a schema."""
    target = {"$defs": all_of}
    for word in documents.local(reference, name).split("/")[1:]:
        target = target.get(word, {})
    return bool(target)


def errors_rule(tree):
    codes = re.findall(r'Errc::\w+, "([\w-]+)"', tree.get(ERRORS, ""))
    written = schemas(tree).get("common", {}).get("$defs", {}).get("code", {}).get("enum")
    if codes != written:
        yield f"{ERRORS} has the errors {codes}, {FOLDER}common has {written}"


def file(name, **schema):
    return {f"{FOLDER}{name}{documents.SUFFIX}": json.dumps({"$schema": "s", "title": "t", "description": "d", **schema})}


OPTIONS = "_gpuhostctl_options=(\n    'a b' '--x[text]\n(-j --json)--json=-[text]'\n    'c' '--y[--json]'\n)\n"
METHOD = '<node><interface name="org.gpuhost1.A"><method name="B"><arg name="json" direction="out"/></method></interface></node>'
ALWAYS = {"x-verbs": sorted(documents.ALWAYS_JSON)}
LISTED = {LIST: "%D%/reference/schemas/a.schema.json"}
main(
    ("each verb of gpuhostctl with --json has a schema", verbs_rule, {
        "a verb without a schema": {COMPLETION: OPTIONS, **file("a", **ALWAYS)},
        "a schema of a verb without --json": {COMPLETION: OPTIONS, **file("a", **{"x-verbs": ["a b", "c", *ALWAYS["x-verbs"]]})},
    }),
    ("each method of org.gpuhost1 that returns JSON has a schema", methods_rule, {
        "a method without a schema": {INTERFACE: METHOD},
        "a schema of a removed method": {INTERFACE: METHOD, **file("a", **{"x-methods": ["A.B", "A.C"]})},
    }),
    ("each schema is used and installed", used_rule, {
        "a schema of no document": {**LISTED, **file("a")},
        "a schema that is not installed": file("a", **ALWAYS),
    }),
    ("each schema is complete", form_rule, {
        "a schema without a title": file("a", title=""),
        "a required key that is not described": file("a", required=["x"], properties={}),
        "a reference to nothing": file("a", items={"$ref": "#/$defs/x"}),
    }),
    ("the schemas have every error", errors_rule, {
        "an error that the schemas lack": {ERRORS: 'Errc::Busy, "busy"', **file("common", **{"$defs": {"code": {"enum": []}}})},
    }),
)
