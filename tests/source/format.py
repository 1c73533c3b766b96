# SPDX-License-Identifier: Apache-2.0
"""Checks that clang-format changes no source. `make format` applies it."""
import os
import shutil

from programs import run
from sources import TOP_SRCDIR, Tap, is_cpp, load

CLANG_FORMAT = os.environ.get("CLANG_FORMAT", "clang-format-14")


def complaints(*arguments, text=""):
    result = run([CLANG_FORMAT, "--dry-run", "--Werror", "--style=file", *arguments], cwd=TOP_SRCDIR, input=text,
                 timeout=300)  # all sources at once
    return result.stderr if result.returncode else ""


def main():
    tap = Tap()
    if not shutil.which(CLANG_FORMAT):
        tap.skip("clang-format", f"{CLANG_FORMAT} is not installed")
        tap.done()
    found = complaints(*[path for path in load() if is_cpp(path) and not path.startswith("tests/vm/guest/")])
    tap.ok(not found, "every source is formatted", found)
    tap.ok(complaints("--assume-filename=a.cpp", text="int  x ;\n"), "every source is formatted: refuses two spaces")
    tap.done()


main()
