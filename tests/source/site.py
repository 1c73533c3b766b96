# SPDX-License-Identifier: Apache-2.0
"""Checks that mkdocs makes the site without a warning, and that its links and navigation are complete."""
import glob
import os
import shutil
import tempfile

from programs import environment, run
from tap import TOP_BUILDDIR, TOP_SRCDIR, Tap

MAKE_SITE = os.path.join(TOP_SRCDIR, "docs/make_site.py")
BROKEN = """# Home
[gone](gone.md), [no such place](other.md#gone), [elsewhere](https://site.example/), gpuhost(7)
"""


def make(python, source, output, *manuals):
    return run([python, MAKE_SITE, source, output, *manuals], env=environment())


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    tap = Tap()
    missing = [name for name in ("mkdocs", "mandoc") if not shutil.which(name)]
    if missing:
        tap.skip("the site", f"{' and '.join(missing)} not installed")
        tap.done()
    manuals = sorted({os.path.basename(page): page for directory in (TOP_SRCDIR, TOP_BUILDDIR)
                      for page in glob.glob(os.path.join(directory, "man", "*.[1-8]"))}.values())
    python = os.environ.get("PYTHON", "python3")
    with tempfile.TemporaryDirectory() as scratch:
        made = make(python, TOP_SRCDIR, os.path.join(scratch, "site"), *manuals)
        tap.ok(made.returncode == 0, "the site has no warning, no dead link and no link to elsewhere", made.stderr)
        if made.returncode == 0:
            with open(os.path.join(scratch, "site/reference/man/gpuhostctl.1.html"), encoding="utf-8") as file:
                tap.ok('<a href="gpuhostd.8.html">gpuhostd(8)</a>' in file.read(), "manual pages link each other")

        broken = os.path.join(scratch, "broken")
        write(os.path.join(broken, "mkdocs.yml"), "site_name: x\ndocs_dir: docs\nuse_directory_urls: false\nnav: [index.md]\n")
        write(os.path.join(broken, "docs/index.md"), BROKEN)
        write(os.path.join(broken, "docs/other.md"), "# Other\n")
        made = make(python, broken, os.path.join(scratch, "out"))
        tap.ok(made.returncode != 0, "a site with mistakes is refused")
        for why, text in (("a dead link", "dead link: gone.md"), ("a dead link to a place", "no such place in the page: other.html#gone"),
                          ("a link to elsewhere", "link to elsewhere: https://site.example/"), ("a page that is not in nav", "mkdocs.yml: other.md")):
            tap.ok(text in made.stderr, f"{why} is reported", made.stderr)
    tap.done()


main()
