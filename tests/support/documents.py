# SPDX-License-Identifier: Apache-2.0
"""Validates documents of gpuhostctl and org.gpuhost1 against the JSON Schemas in docs/reference/schemas, strictly:
a key that no schema names is an error, although readers must accept it."""
import functools
import json
import os
import re

from tap import TOP_SRCDIR

try:
    import jsonschema
except ImportError:
    jsonschema = None

DIRECTORY = os.path.join(TOP_SRCDIR, "docs", "reference", "schemas")
SUFFIX = ".schema.json"
JSON_OPTION = re.compile(r"(--json|-[a-z]*j[a-z]*)(=|$)")
ALWAYS_JSON = {"cdi generate", "inventory export"}  # verbs that print JSON without --json
BRANCHES = ("allOf", "anyOf", "oneOf")
MOST_SHOWN = 5  # problems of one document


class BadDocument(AssertionError):
    """A document does not match its schema."""


@functools.lru_cache(maxsize=None)
def schemas():
    """Returns {name: schema} of all files."""
    found = {}
    for name in sorted(os.listdir(DIRECTORY)):
        if name.endswith(SUFFIX):
            with open(os.path.join(DIRECTORY, name), encoding="utf-8") as file:
                found[name[:-len(SUFFIX)]] = json.load(file)
    return found


def names_of(word):
    """Returns the names of the schemas of the documents of a verb ("driver list") or method ("Driver.List")."""
    return [name for name, schema in schemas().items() if word in schema.get("x-verbs", []) + schema.get("x-methods", [])]


def local(reference, name):
    """Returns a reference from the schema `name` as one into the definitions of combined()."""
    file, _, pointer = reference.partition("#")
    return f"#/$defs/{file.removesuffix(SUFFIX) or name}{pointer}"


def strict(schema, name, of_value=True):
    """Returns the schema with references for combined(). Each schema of a whole value gets
    unevaluatedProperties; a branch or a definition sees keys of its siblings, and gets none."""
    if not isinstance(schema, dict):
        return schema
    made = {}
    for keyword, value in schema.items():
        if keyword == "$ref":
            made[keyword] = local(value, name)
        elif keyword == "properties":
            made[keyword] = {key: strict(one, name) for key, one in value.items()}
        elif keyword in ("items", "additionalProperties"):
            made[keyword] = strict(value, name)
        elif keyword in BRANCHES:
            made[keyword] = [strict(one, name, False) for one in value]
        elif keyword in ("if", "then", "else"):
            made[keyword] = strict(value, name, False)
        elif keyword == "$defs":
            made[keyword] = {key: strict(one, name, False) for key, one in value.items()}
        elif keyword != "$schema":  # with it, jsonschema replaces the validator of problems() by its own
            made[keyword] = value
    if of_value:
        made["unevaluatedProperties"] = False
    return made


@functools.lru_cache(maxsize=None)
def combined():
    """Returns the strict schemas as definitions, so that a validator needs no other file."""
    return {name: strict(schema, name, False) for name, schema in schemas().items()}


def named_keys(validator, schema, instance):
    """Returns the keys of the object that a schema names. jsonschema's own search before version 4.20 does
    not know additionalProperties with a schema, and takes minutes for nested objects."""
    keys = set(schema.get("properties", ()))
    if "additionalProperties" in schema:
        keys |= set(instance)
    if "$ref" in schema:
        target = {"$defs": combined()}
        for word in schema["$ref"].split("/")[1:]:
            target = target[word]
        keys |= named_keys(validator, target, instance)
    for branch in (one for keyword in BRANCHES for one in schema.get(keyword, ())):
        if validator.evolve(schema=branch).is_valid(instance):
            keys |= named_keys(validator, branch, instance)
    return keys


def refuse_unnamed(validator, _, instance, schema):
    """Implements unevaluatedProperties: false."""
    if isinstance(instance, dict):
        for key in sorted(set(instance) - named_keys(validator, schema, instance)):
            yield jsonschema.ValidationError(f"no schema names the key '{key}'")


def text_of(error):
    """Returns an error as "$.path: message", for alternatives the error of the one that fits best."""
    while error.context:
        error = jsonschema.exceptions.best_match(error.context)
    return f"{error.json_path}: {error.message[:300]}"


def problems(name, document):
    """Returns what is wrong with a document of the schema `name`, as lines. Needs jsonschema."""
    validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"unevaluatedProperties": refuse_unnamed})
    whole = {"$ref": f"#/$defs/{name}", "unevaluatedProperties": False, "$defs": combined()}
    return [text_of(error) for error in validator(whole).iter_errors(document)]


def check(word, document):
    """Raises BadDocument unless the document matches one of the schemas of the verb or method."""
    found = {name: problems(name, document) for name in names_of(word)}
    if not found:
        raise BadDocument(f"{word}: no schema in docs/reference/schemas has it in x-verbs or x-methods")
    name = min(found, key=lambda name: (sum(line.startswith("$:") for line in found[name]), len(found[name])))
    if found[name]:
        raise BadDocument("\n".join([f"{word}: not as in {name}{SUFFIX}:", *found[name][:MOST_SHOWN]]))


def verb_of(words):
    """Returns the verb of a command line, as far as options and arguments allow; None if it prints no JSON."""
    plain = [word for word in words if not word.startswith("-")]
    verb = next((" ".join(plain[:n]) for n in (2, 1) if names_of(" ".join(plain[:n]))), " ".join(plain[:2]))
    prints = verb in ALWAYS_JSON or any(JSON_OPTION.match(word) for word in words)
    return verb if prints and "--help" not in words else None


def check_output(words, output):
    """Checks all documents that gpuhostctl printed for these words. Without jsonschema it checks nothing."""
    verb = verb_of(words) if jsonschema else None
    decoder, text = json.JSONDecoder(), (output or "").strip() if verb else ""
    while text:
        document, end = decoder.raw_decode(text)
        check(verb, document)
        text = text[end:].lstrip()


def check_answer(words, output):
    """Checks the JSON that a method of org.gpuhost1 returned to 'busctl --json=short call' with these words."""
    at = words.index("call") if "call" in words and "--json=short" in words else len(words)
    if jsonschema and output and words[at + 1:at + 2] == ["org.gpuhost1"]:
        _, interface, name = words[at + 2:at + 5]
        method = interface.rpartition(".")[2] + "." + name
        answer = json.loads(output)
        if names_of(method):
            check(method, json.loads(answer["data"][0]))


def check_command(command, output):
    """Checks the JSON in the output of any command line with gpuhostctl or busctl."""
    words = [str(word) for word in command]
    for at, word in enumerate(words if isinstance(output, str) else []):
        if os.path.basename(word) in ("gpuhostctl", "busctl"):
            (check_output if os.path.basename(word) == "gpuhostctl" else check_answer)(words[at + 1:], output)
            break
