# SPDX-License-Identifier: Apache-2.0
"""Checks that messages.hpp and the journal's catalog have the same message IDs, each once."""
import re

from sources import main

HEADER = "daemon/base/messages.hpp"
CATALOG = "systemd/gpuhost.catalog"


def header_ids(tree):
    return re.findall(r'"([0-9a-f]{32})"', tree.get(HEADER, ""))


def catalog_ids(tree):
    return re.findall(r"^-- ([0-9a-f]{32})$", tree.get(CATALOG, ""), re.M)


def same_rule(tree):
    header, catalog = set(header_ids(tree)), set(catalog_ids(tree))
    for identifier in sorted(header - catalog):
        yield f"{identifier} is in {HEADER} but not in {CATALOG}"
    for identifier in sorted(catalog - header):
        yield f"{identifier} is in {CATALOG} but not in {HEADER}"
    if not header:
        yield f"no message id found in {HEADER}"


def unique_rule(tree):
    for ids in (header_ids(tree), catalog_ids(tree)):
        for identifier in {i for i in ids if ids.count(i) > 1}:
            yield f"{identifier} is used twice"


def text_rule(tree):
    """Each entry has a subject and a text."""
    for entry in re.split(r"^-- ", tree.get(CATALOG, ""), flags=re.M)[1:]:
        head, _, body = entry.partition("\n\n")
        if not re.search(r"^Subject: \S", head, re.M) or not body.strip():
            yield f"{entry.splitlines()[0]}: no subject or no text"


A, B = "0" * 32, "1" * 32
main(
    ("the header and the catalog have the same IDs", same_rule, {
        "an ID without an entry": {HEADER: f'"{A}" "{B}"', CATALOG: f"-- {A}\nSubject: a\n\ntext\n"},
        "an entry without an ID": {HEADER: f'"{A}"', CATALOG: f"-- {A}\nSubject: a\n\nt\n-- {B}\nSubject: b\n\nt\n"},
        "an empty header": {},
    }),
    ("message IDs are unique", unique_rule, {"an ID used twice": {HEADER: f'"{A}" "{A}"'}}),
    ("catalog entries have a subject and a text", text_rule, {
        "an entry without a text": {CATALOG: f"-- {A}\nSubject: a\n"},
        "an entry without a subject": {CATALOG: f"-- {A}\n\ntext\n"},
    }),
)
