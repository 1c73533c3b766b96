# SPDX-License-Identifier: Apache-2.0
"""The alerts of docs/examples, run by promtool's code on the samples of rules/gpuhost.rules.test.yaml."""

import os
import re
import tempfile
from pathlib import Path

import programs
import yaml
from node import TESTS, binaries
from ran_with import ran_program
from rig.case import case

RULES = TESTS.parent / "docs/examples/prometheus/gpuhost.rules.yaml"
TEST = TESTS / "cluster/rules/gpuhost.rules.test.yaml"


def promtool():
    program = binaries.built(binaries.PROMETHEUS) / "prometheus"
    ran_program(program)
    return program


def minutes(text):
    return sum(int(number) * {"m": 1, "h": 60, "d": 1440}[unit] for number, unit in re.findall(r"(\d+)([mhd])", text))


def without(expression, pattern):
    for match in re.finditer(pattern, expression):
        yield expression[:match.start()] + expression[match.end():]


def changed(rule):
    """Yields (description, rule) of wrong rules that the test must find."""
    lasts = minutes(rule.get("for", "0m"))
    for time in {lasts + 1, lasts - 1} - {-1}:
        yield f"for {time} minutes", rule | {"for": f"{time}m"}
    for name, text in rule["annotations"].items():
        yield f"another {name}", rule | {"annotations": rule["annotations"] | {name: text + "."}}
    yield "never", rule | {"expr": "vector(0) == 1"}
    for expression in without(rule["expr"], r'\w+(=~|!~|!=|=)"[^"]*",? ?'):
        yield f"without a matcher: {expression}", rule | {"expr": expression}
    for expression in without(rule["expr"], r" (==|<|>) [\d* ]*\d"):
        yield f"without a comparison: {expression}", rule | {"expr": expression}


def mutants():
    """Yields (description, document of rules, document of the test)."""
    # Without types, because 0x20 in a test is not a number.
    rules, test = (yaml.load(path.read_text(), yaml.BaseLoader) for path in (RULES, TEST))
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        of_alert = test | {"rule_files": ["rules.yaml"], "tests": [one for one in test["tests"] if re.match(rf"{rule['alert']}\b", one["name"])]}
        for description, wrong in changed(rule):
            yield f"{rule['alert']} {description}", {"groups": [{"name": "changed", "rules": [wrong]}]}, of_alert


@case("the alerts fire after their time, near misses do not", start="node")
def alerts(_node):
    done = programs.run([promtool(), "test", TEST])
    assert done.returncode == 0, done.stdout + done.stderr


@case("promtool finds alerts that are changed", start="node")
def changed_alerts(_node):
    with tempfile.TemporaryDirectory() as scratch:
        files = {}
        every, first = (1, 0) if os.environ.get("FULL") == "1" else (4, int(os.environ.get("SEED", "535")) % 4)
        for number, (description, rules, test) in enumerate(mutants()):
            if number % every != first:
                continue
            place = Path(scratch, str(number))
            place.mkdir()
            (place / "rules.yaml").write_text(yaml.safe_dump(rules))
            (place / "test.yaml").write_text(yaml.safe_dump(test))
            files[place / "test.yaml"] = description
        done = programs.run([promtool(), "test", *files])
        results = re.findall(r"^Processing test file: (\S+)\n(?:  (SUCCESS))?", done.stdout, re.M)
        assert len(results) == len(files) > 20, f"{len(results)} of {len(files)}: {done.stderr}"
        missed = [files[Path(path)] for path, result in results if result]
        assert not missed, "\n".join(missed)
