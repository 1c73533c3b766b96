# SPDX-License-Identifier: Apache-2.0
"""Checks that man formats each manual page without a warning."""
import glob
import os
import shutil
import tempfile

from programs import environment, run
from tap import TOP_BUILDDIR, TOP_SRCDIR, Tap


def warnings(page):
    return run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page],
               env=environment(LC_ALL="C.UTF-8", MANWIDTH="80", MANROFFSEQ="")).stderr


def main():
    tap = Tap()
    pages = sorted({os.path.basename(page): page for directory in (TOP_SRCDIR, TOP_BUILDDIR)
                    for page in glob.glob(os.path.join(directory, "man", "*.[1-8]"))}.values())
    if not shutil.which("man"):
        tap.skip("manual pages", "man is not installed")
        tap.done()
    tap.ok(pages, "manual pages are found")
    for page in pages:
        found = warnings(page)
        tap.ok(not found, f"{os.path.basename(page)} is formatted without warnings", found)
    with tempfile.NamedTemporaryFile("w", suffix=".1") as broken:
        broken.write(".TH A 1\n.SH NAME\na \\- b\n.nosuchmacro\n")
        broken.flush()
        tap.ok(warnings(broken.name), "a page with an unknown macro causes a warning")
    tap.done()


main()
