# SPDX-License-Identifier: Apache-2.0
"""Manual pages format without a warning."""
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
        tap.skip("manual pages", "no man")
        tap.done()
    tap.ok(pages, "there are pages")
    for page in pages:
        found = warnings(page)
        tap.ok(not found, os.path.basename(page), found)
    with tempfile.NamedTemporaryFile("w", suffix=".1") as broken:
        broken.write(".TH A 1\n.SH NAME\na \\- b\n.nosuchmacro\n")
        broken.flush()
        tap.ok(warnings(broken.name), "refuses an unknown macro")
    tap.done()


main()
