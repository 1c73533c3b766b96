# SPDX-License-Identifier: Apache-2.0
"""Tests that the GoogleTest main() prints cmocka's formats: compares with expected text, and with cmocka
if it is installed."""
import os
import re
import tempfile
import xml.etree.ElementTree as ElementTree

import programs
from tap import TOP_BUILDDIR, Tap

SAMPLE = os.path.join(TOP_BUILDDIR, "tests/support/sample")
CMOCKA = os.path.join(TOP_BUILDDIR, "tests/support/sample-cmocka")


def run(program, **environment):
    clean = {k: v for k, v in programs.environment().items() if not k.startswith(("CMOCKA_", "GTEST_"))}
    return programs.run([program], env=clean | environment)


def skeleton(text):
    """Returns the output without texts of failures, times, and cmocka's own bugs (see printer.hpp)."""
    text = re.sub(r' time="[0-9.]+"', "", text)
    text = re.sub(r"<!\[CDATA\[.*?\]\]></failure>", "…</failure>", text, flags=re.S)
    text = re.sub(r"failure: (\S+) \[\n.*?\n\]", r"failure: \1 […]", text, flags=re.S)
    text = re.sub(r"^(\[ +LINE +\] --- |# ).*: error: Failure!$", r"\1…", text, flags=re.M)
    text = re.sub(r"^(\[ +ERROR +\] --- ).*\n(?:(?!\[).*\n)*", r"\1…\n", text, flags=re.M)
    text = re.sub(r"^# (?!…|ok|not ok).*\n", "", text, flags=re.M)
    text = re.sub(r"^(?:not )?ok (\d+) (?:- (\S+) )?# SKIP.*$", r"skip \1", text, flags=re.M)
    return re.sub(r'(?<=testcase name=")sample\.', "", text)


TAP = """1..3
ok 1 - sample.good
not ok 2 - sample.bad
# Failed
# a ]]> is not <&>
# FILE:LINE: error: Failure!
ok 3 - sample.skipped # SKIP no device here
# not ok - sample
"""


def check_tap(tap):
    result = run(SAMPLE, CMOCKA_MESSAGE_OUTPUT="TAP")
    tap.equal(re.sub(r"# \S+:\d+: error", "# FILE:LINE: error", result.stdout), TAP, "TAP output equals the expected text")
    tap.ok(result.returncode != 0, "a failed test fails the program")
    tap.equal(run(SAMPLE, CMOCKA_MESSAGE_OUTPUT="tap").stdout, result.stdout, "the name of a format is accepted in any case")


def check_xml(tap):
    with tempfile.TemporaryDirectory() as directory:
        result = run(SAMPLE, CMOCKA_MESSAGE_OUTPUT="XML", CMOCKA_XML_FILE=f"{directory}/%g.xml")
        tap.equal(os.listdir(directory), ["sample.xml"], "%g in CMOCKA_XML_FILE is replaced by the suite")
        tap.equal(result.stdout, "", "with XML in a file stdout is empty")
        suite = ElementTree.parse(f"{directory}/sample.xml").getroot().find("testsuite")
        tap.equal([suite.get(k) for k in ("tests", "failures", "skipped")], ["3", "1", "1"], "XML has the numbers of tests, failures and skips")
        tap.ok("]]> is not <&>" in suite.find(".//failure").text, "XML preserves text with markup")
        result = run(SAMPLE, CMOCKA_MESSAGE_OUTPUT="tap,XML", CMOCKA_XML_FILE=f"{directory}/all.xml")
        tap.ok(os.path.exists(f"{directory}/all.xml") and result.stdout.startswith("1..3"), "two formats can be combined")


def check_filters(tap):
    def names(**environment):
        return re.findall(r"ok \d+ - sample\.(\w+)", run(SAMPLE, CMOCKA_MESSAGE_OUTPUT="TAP", **environment).stdout)

    tap.equal(names(CMOCKA_TEST_FILTER="*d"), ["good", "bad", "skipped"], "filter: * matches any characters")
    tap.equal(names(CMOCKA_TEST_FILTER="?ad"), ["bad"], "filter: ? matches one character")
    tap.equal(names(CMOCKA_TEST_FILTER="sample.g*"), ["good"], "filter: the full name matches, too")
    tap.equal(names(CMOCKA_TEST_FILTER="goo"), [], "filter: a part of a name does not match")
    tap.equal(names(CMOCKA_SKIP_FILTER="b*"), ["good", "skipped"], "the skip filter excludes tests")
    tap.equal(names(CMOCKA_TEST_FILTER="*ood", CMOCKA_SKIP_FILTER="g*"), [], "the skip filter applies to the result of the test filter")
    tap.equal(names(CMOCKA_TEST_FILTER="-good"), [], "filter: GoogleTest's operators have no meaning")


def check_twin(tap, form):
    if not os.path.exists(CMOCKA):
        tap.skip(f"{form}: stdout equals cmocka's", "built without cmocka")
        return
    ours, theirs = (run(program, CMOCKA_MESSAGE_OUTPUT=form) for program in (SAMPLE, CMOCKA))
    tap.equal(skeleton(ours.stdout), skeleton(theirs.stdout), f"{form}: stdout equals cmocka's")
    tap.equal(skeleton(ours.stderr), skeleton(theirs.stderr), f"{form}: stderr equals cmocka's")


def main():
    tap = Tap()
    check_tap(tap)
    check_xml(tap)
    check_filters(tap)
    for form in ("STDOUT", "STANDARD", "nonsense", "TAP", "XML", "SUBUNIT"):
        check_twin(tap, form)
    tap.ok("[==========] Running" in run(SAMPLE).stdout, "without CMOCKA_MESSAGE_OUTPUT the output is GoogleTest's")
    tap.done()


main()
