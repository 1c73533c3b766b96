# SPDX-License-Identifier: Apache-2.0
"""Checks the Helm chart without Helm: its schema has the fields of the policy that gpuhost-cluster reads, and its
values are valid. tests/cluster/scenarios/chart.py renders and installs it."""
import json
import re

from sources import changed, Tap, check, load

try:
    import jsonschema
    import yaml
except ImportError:
    jsonschema = yaml = None

CHART, RIGHTS = "packaging/helm/gpuhost/", "packaging/kubernetes/"
SCHEMA, VALUES, POLICY = CHART + "values.schema.json", CHART + "values.yaml", "docs/examples/kubernetes/policy.yaml"
CODE = "daemon/cluster/policy/"
KINDS = {"Boolean": {"type": "boolean"}, "Count": {"$ref": "#/definitions/count"}, "Seconds": {"$ref": "#/definitions/count"},
         "CountOrShare": {"$ref": "#/definitions/share"}, "Text": {"type": "string"}, "Version": {"type": "string"},
         "ToolkitImage": {"type": "string"}, "List": {"type": "array"}}
ENV = "driver.manager.env"
WRONG = (
    {"policies": {}}, {"policy": {"driver": {"version": 535.10}}}, {"policy": {"driver": {"version": "550"}}},
    {"policy": {"driver": {"upgradePolicy": {"autoUpgrade": "yes"}}}}, {"policy": {"driver": {"upgradePolicy": {"maxUnavailable": "101%"}}}},
    {"policy": {"rollout": {"reboot": "always"}}}, {"policy": {"rollout": {"windows": [{"start": "25:00", "end": "04:00"}]}}},
    {"policy": {"rollout": {"windows": [{"days": ["Mo"], "start": "22:00", "end": "04:00"}]}}}, {"policy": {"rollout": {"pools": [{"name": "default"}]}}},
    {"policy": {"rollout": {"gates": [{"name": "a", "url": "https://a", "query": "b", "caFile": "../a"}]}}}, {"policy": {"toolkit": {"version": "latest"}}},
    {"candidates": ["GPU01"]}, {"candidates": ["gpu01", "gpu01"]}, {"bootstrapToken": {"id": "abc"}}, {"bootstrapToken": {"secret": "0123456789abcdef"}},
    {"bootstrapToken": {"expiration": "tomorrow"}}, {"evictAs": "node"},
)


def schema_of(tree):
    return json.loads(tree[SCHEMA])


def resolved(schema, root):
    return root["definitions"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def leaves(schema, root, prefix=""):
    """Yields (path of a field, its schema)."""
    for name, member in schema["properties"].items():
        inner = resolved(member, root)
        if prefix + name == ENV:
            yield from ((f"{ENV}.{each}", None) for each in inner["items"]["properties"]["name"]["enum"])
        elif "properties" in inner:
            yield from leaves(inner, root, f"{prefix}{name}.")
        else:
            yield prefix + name, member


def fields_rule(tree):
    root = schema_of(tree)
    found = dict(leaves(root["properties"]["policy"], root))
    known = re.findall(r'PolicyField\{"([\w.]+)", (\w+), [^}]*?(?:, "([^"]*)")?\}', tree[CODE + "fields.cpp"])
    for path, kind, choices in known:
        wanted = {"enum": choices.split()} if kind == "Choice" else KINDS[kind]
        if path not in found:
            yield f"{SCHEMA} has no field {path}"
        elif found[path] is not None and not wanted.items() <= found[path].items():
            yield f"{SCHEMA}: {path} is {found[path]}, not {wanted}"
    yield from (f"{SCHEMA} has an unknown field {path}" for path in sorted(set(found) - {path for path, _, _ in known}))


# Lists of the policy, each with a member that only its elements have.
LISTS = {"waves": "soakSeconds", "pools": "driver", "gates": "query", "windows": "timeZone"}


def known_members(tree):
    """Returns {list: members of its elements} as the code reads them."""
    code = "".join(tree[f"{CODE}{name}.cpp"] for name in ("policy", "gate", "windows"))
    sets = [set(re.findall(r'"(\w+)"', text)) for text in re.findall(r'\{("(?:name|days)",[^}]*)\}', code)]
    return {name: next((one for one in sets if own in one), set()) for name, own in LISTS.items()}


def members_rule(tree):
    rollout = schema_of(tree)["definitions"]["rollout"]["properties"]
    for name, members in known_members(tree).items():
        found = set(rollout[name]["items"]["properties"])
        yield from (f"{SCHEMA}: an element of {name} has no {one}" for one in sorted(members - found))
        yield from (f"{SCHEMA}: an element of {name} has an unknown {one}" for one in sorted(found - members))


def mistakes(tree, values):
    return [one.message for one in jsonschema.Draft7Validator(schema_of(tree)).iter_errors(values)]


def values_rule(tree):
    given = yaml.safe_load(tree[VALUES])
    yield from (f"{VALUES}: {why}" for why in mistakes(tree, given))
    if set(given) | {"global"} != set(schema_of(tree)["properties"]):
        yield f"{VALUES} has {sorted(given)}, which are not the values of {SCHEMA}"
    example = re.sub(r"^# ?", "", re.search(r"^# policy:\n(?:#.*\n)+", tree[VALUES], re.M)[0], flags=re.M)
    yield from (f"{VALUES}: the example: {why}" for why in mistakes(tree, yaml.safe_load(example)))
    policy = yaml.safe_load(yaml.safe_load(tree[POLICY])["data"]["policy.yaml"])
    yield from (f"{POLICY}: {why}" for why in mistakes(tree, {"policy": policy}))


def wrong_rule(tree):
    yield from (f"{SCHEMA} accepts {one}" for one in WRONG if not mistakes(tree, one))


def manifests_rule(tree):
    for path in tree:
        if re.fullmatch(RIGHTS + r"(evict/)?[\w-]+\.yaml", path) and f'"{path.rpartition("/")[2]}"' not in tree[CHART + "templates/rights.yaml"]:
            yield f"{path} is not in the chart"


def installed_rule(tree):
    for path in tree:
        if path.startswith(CHART) and f"%D%/{path.removeprefix('packaging/')}" not in tree["packaging/local.mk"] and path != CHART + "Chart.yaml":
            yield f"{path} is not in packaging/local.mk"


def main():
    tap = Tap()
    tree = load()
    bad = lambda *words: changed(tree, *words)  # noqa: E731
    check(tap, "the chart has each manifest", manifests_rule, {
        "a new manifest": tree | {RIGHTS + "new.yaml": ""}, "a new one of evictions": tree | {RIGHTS + "evict/new.yaml": ""}})
    check(tap, "each file of the chart is installed", installed_rule, {"a new template": tree | {CHART + "templates/new.yaml": ""}})
    check(tap, "the chart's schema has the policy's fields", fields_rule, {
        "a new field": bad(CODE + "fields.cpp", "driver.enabled", "driver.new"),
        "another type": bad(SCHEMA, '"rollback": {"type": "boolean"}', '"rollback": {"type": "string"}'),
        "another choice": bad(SCHEMA, '["keep", "release"]', '["keep"]'),
    })
    check(tap, "the chart's schema has the members of lists", members_rule, {
        "a new member": bad(CODE + "policy.cpp", '"size", "soakSeconds"', '"size", "new", "soakSeconds"'),
        "an unknown member": bad(SCHEMA, '"timeZone"', '"zone"'),
    })
    if jsonschema is None:
        tap.skip("the chart's values are valid", "python3-jsonschema or python3-yaml is not installed")
        tap.done()
        return
    check(tap, "the chart's values are valid", values_rule, {
        "another value": bad(VALUES, "candidates: []", "leaders: []"),
        "a wrong example": bad(VALUES, "#       autoUpgrade: true", "#       autoUpgrade: maybe"),
    })
    check(tap, "the chart's schema refuses wrong values", wrong_rule, {"a schema without patterns": bad(SCHEMA, '"pattern"', '"title"')})
    tap.done()


main()
