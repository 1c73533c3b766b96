# SPDX-License-Identifier: Apache-2.0
"""Checks that every file of the tree has a licence, has no path of a certain machine, and is part of the
build."""
import re

from sources import is_cpp, main

LICENSED = (".cpp", ".hpp", ".c", ".h", ".py", ".mk", ".am", ".ac", ".m4", ".sh", ".scd", ".service", ".socket", ".in", ".go", ".js", ".css", ".html")
SPDX = "SPDX-License-Identifier: Apache-2.0"
CORPUS = "tests/fuzz/corpus/"  # inputs of parsers
KERNEL_MODULES = "tests/vm/guest/"  # built by kbuild, with a licence that the kernel accepts
# Joined from pieces, so that this file does not match.
MACHINE = re.compile("|".join(r"(?<![\w.$}/])/" + top + r"/\w" for top in ("work", "home")))

HTML = re.compile(r"(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc|<script>|javascript:")


def licence_rule(tree):
    for path, text in tree.items():
        first = "\n".join(text.splitlines()[:3])
        script = text.startswith("#!") and not path.startswith(CORPUS)
        vendored = path.startswith("packaging/autotools/") and not path.endswith(("gpuhost_flags.m4", "git-version"))
        wanted = SPDX.split(":")[0] if path.startswith(KERNEL_MODULES) else SPDX
        if (path.endswith(LICENSED) or script) and not vendored and text and wanted not in first:
            yield f"{path}: '{wanted}' is missing in its first lines"


def machine_rule(tree):
    for path, text in tree.items():
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE.search(line):
                yield f"{path}:{number}: path of a certain machine: {line.strip()}"


def listed_rule(tree):
    fragments = {path.rpartition("/")[0]: text for path, text in tree.items() if path.endswith("/local.mk")}
    named = {place + "/" + name for place, text in fragments.items() for name in re.findall(r"%D%/([\w./-]+)", text)}
    named.update(name for text in fragments.values() for name in re.findall(r"(?<![\w/])[\w./-]+", text))
    for path in tree:
        is_test = path.startswith("tests/") and path.endswith(".py")
        is_page = path.startswith("packaging/cockpit/") and not path.endswith("local.mk")
        if (is_cpp(path) or is_test or is_page) and not path.startswith(KERNEL_MODULES) and path not in named:
            yield f"{path}: not in a local.mk"


def html_rule(tree):
    """The page for Cockpit shows names from outside, so it sets text alone."""
    for path, text in tree.items():
        if path.startswith("packaging/cockpit/") and path.endswith((".js", ".html")):
            for number, line in enumerate(text.splitlines(), 1):
                if found := HTML.search(line):
                    yield f"{path}:{number}: '{found[0]}' parses HTML or code"


main(
    ("every source file names its licence", licence_rule, {
        "a source without a licence": {"kmod/a.cpp": "int x;\n"},
        "a script without a licence": {"packaging/build": "#!/bin/sh\nexit 0\n"},
    }),
    ("no file has a path of a certain machine", machine_rule, {
        "a home directory": {"README.md": "see /home/" + "someone/tree\n"},
        "a work directory": {"daemon/a.cpp": "open(\"/" + "work/x\")\n"},
    }),
    ("the page for Cockpit makes no HTML of text", html_rule, {
        "a text as HTML": {"packaging/cockpit/dom.js": "place.innerHTML = name;\n"},
        "a text as code": {"packaging/cockpit/dom.js": "return eval(name);\n"},
        "a script in the page": {"packaging/cockpit/index.html": "<script>start()</script>\n"},
    }),
    ("every source is in a local.mk", listed_rule, {
        "a source that is not listed": {"kmod/local.mk": "x = %D%/b.cpp\n", "kmod/b.cpp": "", "kmod/a.cpp": ""},
        "a test that is not listed": {"tests/unit/local.mk": "", "tests/unit/base/a_test.cpp": ""},
        "a file of the page for Cockpit that is not listed": {"packaging/cockpit/local.mk": "", "packaging/cockpit/a.js": ""},
        "a test's module that is not listed": {"tests/host/local.mk": "x = %D%/a_test.py\n", "tests/host/a_test.py": "", "tests/host/files.py": ""},
    }),
)
