# SPDX-License-Identifier: Apache-2.0
"""The GoogleTest main speaks cmocka's formats: against what is written here, and against cmocka itself if it is there."""
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
    """What is left when the words of a failure and cmocka's own bugs (see printer.hpp) are taken out."""
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
    tap.equal(re.sub(r"# \S+:\d+: error", "# FILE:LINE: error", result.stdout), TAP, "TAP, word by word")
    tap.ok(result.returncode != 0, "a failed test fails the program")
    tap.equal(run(SAMPLE, CMOCKA_MESSAGE_OUTPUT="tap").stdout, result.stdout, "formats are written in any case")


def check_xml(tap):
    with tempfile.TemporaryDirectory() as directory:
        result = run(SAMPLE, CMOCKA_MESSAGE_OUTPUT="XML", CMOCKA_XML_FILE=f"{directory}/%g.xml")
        tap.equal(os.listdir(directory), ["sample.xml"], "%g in CMOCKA_XML_FILE is the suite")
        tap.equal(result.stdout, "", "XML in a file leaves stdout alone")
        suite = ElementTree.parse(f"{directory}/sample.xml").getroot().find("testsuite")
        tap.equal([suite.get(k) for k in ("tests", "failures", "skipped")], ["3", "1", "1"], "XML counts")
        tap.ok("]]> is not <&>" in suite.find(".//failure").text, "XML carries any text")
        result = run(SAMPLE, CMOCKA_MESSAGE_OUTPUT="tap,XML", CMOCKA_XML_FILE=f"{directory}/all.xml")
        tap.ok(os.path.exists(f"{directory}/all.xml") and result.stdout.startswith("1..3"), "two formats at once")


def check_filters(tap):
    def names(**environment):
        return re.findall(r"ok \d+ - sample\.(\w+)", run(SAMPLE, CMOCKA_MESSAGE_OUTPUT="TAP", **environment).stdout)

    tap.equal(names(CMOCKA_TEST_FILTER="*d"), ["good", "bad", "skipped"], "filter: * is any run of characters")
    tap.equal(names(CMOCKA_TEST_FILTER="?ad"), ["bad"], "filter: ? is one character")
    tap.equal(names(CMOCKA_TEST_FILTER="sample.g*"), ["good"], "filter: the full name matches too")
    tap.equal(names(CMOCKA_TEST_FILTER="goo"), [], "filter: the whole name has to match")
    tap.equal(names(CMOCKA_SKIP_FILTER="b*"), ["good", "skipped"], "skip filter")
    tap.equal(names(CMOCKA_TEST_FILTER="*ood", CMOCKA_SKIP_FILTER="g*"), [], "both filters")
    tap.equal(names(CMOCKA_TEST_FILTER="-good"), [], "GoogleTest's own signs mean nothing")


def check_twin(tap, form):
    if not os.path.exists(CMOCKA):
        tap.skip(f"{form} as cmocka writes it", "built without cmocka")
        return
    ours, theirs = (run(program, CMOCKA_MESSAGE_OUTPUT=form) for program in (SAMPLE, CMOCKA))
    tap.equal(skeleton(ours.stdout), skeleton(theirs.stdout), f"{form} as cmocka writes it")
    tap.equal(skeleton(ours.stderr), skeleton(theirs.stderr), f"{form} as cmocka writes it on stderr")


def main():
    tap = Tap()
    check_tap(tap)
    check_xml(tap)
    check_filters(tap)
    for form in ("STDOUT", "STANDARD", "nonsense", "TAP", "XML", "SUBUNIT"):
        check_twin(tap, form)
    tap.ok("[==========] Running" in run(SAMPLE).stdout, "without CMOCKA_MESSAGE_OUTPUT it is GoogleTest's own output")
    tap.done()


main()
