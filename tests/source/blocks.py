# SPDX-License-Identifier: Apache-2.0
"""Checks that each command block of README.md and docs/ runs in a test or says why it does not, and that the
comparison of its output notices differences."""
import doc_blocks
from sources import main


def documentation(tree):
    return {path: text for path, text in tree.items() if path == "README.md" or path.startswith("docs/") and path.endswith(".md")}


def blocks_rule(tree):
    for path, text in documentation(tree).items():
        try:
            blocks = doc_blocks.read_page(text)
        except doc_blocks.BadPage as why:
            yield f"{path}: {why}"
            continue
        for block in blocks:
            if block.kind == "setup" and doc_blocks.where(text) is None:
                yield f"{path}:{block.line}: a set-up in a page that does not run"
            if block.kind in doc_blocks.RUN and not block.not_run and doc_blocks.where(text) is None:
                yield f"{path}:{block.line}: a command block neither runs nor says why"
            if any(doc_blocks.TO_FILL in command.output for command in block.commands):
                yield f"{path}:{block.line}: the output is to be filled in"


def same(*pair):
    return doc_blocks.is_same(*(text.splitlines() for text in pair))


def comparison_rule(tree):
    """The tree has pairs of texts only where the check proves that it can fail."""
    for expected, actual in tree.get("same", SAME):
        if not same(expected, actual):
            yield f"differ: {expected!r} {actual!r}"
    for expected, actual in tree.get("other", OTHER):
        if same(expected, actual):
            yield f"are the same: {expected!r} {actual!r}"


def faults(page, status, output):
    """Returns the faults of a page, all of whose commands print that."""
    return doc_blocks.Run(page, lambda command: (status, output), lambda *written: None).faults


def status_rule(tree):
    """The tree has pages whose command fails."""
    for page in tree.get("pages", ("```console\n# a\n```\n", "```console\n# a\n…\n```\n", "```sh\na\n```\n", "```console\n# a\nb\n```\n")):
        if not faults(page, 1, ["c"]):
            yield f"no fault: {page!r}"
        if faults(page, 0, ["b"]):
            yield f"a fault: {page!r}"


SAME = [("done in 0.7 s", "done in 2.25 s"), ("a\n…\nz", "a\nb\nc\nz"), ("a\n…\nz", "a\nz"), ("of …, ready", "of gpu01, ready"),
        ("process 4321 (python3)", "process 99 (python3)"), ("ID  STATE\n7   done", "ID   STATE\n123  done"),
        ("done in 2 min 3.5 s", "done in 0.1 s"), ("a: done", "a: done in 7 s"), ("9  just now", "12  1 min 2 s ago"),
        ("2026-01-02 03:04:05", "2027-11-30 13:14:15"), ("6.7 KiB in 11 blobs", "900 MiB in 11 blobs")]
OTHER = [("done in 0.7 s", "failed in 0.7 s"), ("a\n…\nz", "a\nb"), ("OK: 2 GPUs", "OK: 3 GPUs"), ("550.163.01", "535.261.03"),
         ("12 steps:", "3 steps:"), ("a", "a\nb"), ("a\nb", "a"), ("a.c", "abc"), ("", "a"), ("at 127.0.0.1:299", "at 127.0.0.1:298")]
PAGE = "<!-- test: vm installed -->\n"
main(
    ("each command block runs or says why not", blocks_rule, {
        "commands in a page without a state": {"docs/a.md": "```sh\ntrue\n```\n"},
        "a reason for another block": {"docs/a.md": "(Not run by the tests: x.)\n\n```sh\ntrue\n```\n\n```sh\ntrue\n```\n"},
        "a reason for a later block": {"docs/a.md": "(Not run by the\n  tests: x.)\n\n```ini\na=b\n```\n\n```sh\ntrue\n```\n"},
        "a block without an end": {"docs/a.md": PAGE + "```console\n# true\n"},
        "a transcript that begins with output": {"README.md": PAGE + "```console\ntrue\n```\n"},
        "an indented block": {"docs/a.md": PAGE + "1. a\n\n   ```sh\n   true\n   ```\n"},
        "a block of an unknown kind": {"docs/a.md": PAGE + "```bash\ntrue\n```\n"},
        "commands in a text": {"docs/a.md": PAGE + "```text\n# gpuhostctl status\n```\n"},
        "no reason": {"docs/a.md": "(Not run by the tests.)\n\n```sh\ntrue\n```\n"},
        "output to be filled in": {"docs/a.md": PAGE + "```console\n# true\nOUTPUT\n```\n"},
        "a set-up that does not run": {"docs/a.md": "<!-- test-setup\ntrue\n-->\n"},
    }),
    ("a command that fails is a fault", status_rule, {
        "a page that shows the failure": {"pages": ["```console\n# a\nc\n```\n"]},
    }),
    ("the comparison masks only what varies", comparison_rule, {
        "lines that differ": {"same": OTHER[:1]},
        "lines that are the same": {"other": SAME[:1]},
    }),
)
