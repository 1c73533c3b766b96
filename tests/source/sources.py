# SPDX-License-Identifier: Apache-2.0
"""Loads the tree as {path: text}, and runs source checks: rules over such a tree, with trees that they
must refuse."""
import os

from tap import TOP_SRCDIR, Tap

TOP_FILES = ("Makefile.am", "configure.ac", "CONTRIBUTING.md", "HACKING.md", "README.md", "SECURITY.md", "NEWS", "bootstrap")
SKIPPED = ("__pycache__", ".deps", ".dirstamp", "html")  # html: what make html writes


def is_text(path):
    with open(path, "rb") as file:
        return b"\0" not in file.read(4096)


def top_folders():
    """Returns the folders with a local.mk; build directories and unpacked tarballs have none."""
    return sorted(name for name in os.listdir(TOP_SRCDIR) if os.path.isfile(os.path.join(TOP_SRCDIR, name, "local.mk")))


def load():
    paths = [name for name in TOP_FILES if os.path.isfile(os.path.join(TOP_SRCDIR, name))]
    for folder in top_folders():
        for directory, subdirectories, names in os.walk(os.path.join(TOP_SRCDIR, folder)):
            subdirectories[:] = [name for name in subdirectories if name not in SKIPPED]
            paths += [os.path.relpath(os.path.join(directory, name), TOP_SRCDIR) for name in names]
    tree = {}
    for path in sorted(paths):
        full = os.path.join(TOP_SRCDIR, path)
        if os.path.isfile(full) and is_text(full):
            with open(full, encoding="utf-8", errors="replace") as file:
                tree[path] = file.read()
    return tree


def changed(tree, path, old, new):
    assert old in tree[path], (path, old)
    return tree | {path: tree[path].replace(old, new)}


def is_cpp(path):
    return path.endswith((".cpp", ".hpp", ".c", ".h"))


def check(tap, name, rule, bad_trees):
    """Runs `rule(tree)`, which yields violations: none in the real tree, some in each of `bad_trees`,
    {why: tree}."""
    violations = list(rule(load()))
    tap.ok(not violations, name, *violations)
    for why, tree in bad_trees.items():
        tap.ok(list(rule(tree)), f"{name}: refuses {why}")


def main(*checks):
    tap = Tap()
    for name, rule, bad_trees in checks:
        check(tap, name, rule, bad_trees)
    tap.done()
