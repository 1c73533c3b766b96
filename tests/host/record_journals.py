# SPDX-License-Identifier: Apache-2.0
"""Records operations for journals_test.py, at each gate of their workers (fake_worker.cpp): a swap, an undone
swap, an import of a driver, and a removal. Run it once for each release, with the programs built for it:

TOP_BUILDDIR=build PYTHONPATH=tests/support:tests/host tests/host/record_journals.py
tests/host/journals/VERSION
"""
import json
import os
import shutil
import sys

import trees
from crash import Case, Recording
from driver_files import write_driver
from fake_host import NEW, FakeHost, prepare

OPERATION = 6  # after four imports and the first load
THIRD = "560.35.03"


def write(directory, name, value):
    with open(os.path.join(directory, name), "w") as file:
        for line in value:
            print(json.dumps(line, sort_keys=True), file=file)


def changes(recording, start):
    """Yields the changes of the tree at each gate. An undone operation begins with its first undo."""
    undone = any(moment.where.startswith("undo") for moment in recording.moments)
    for moment in recording.moments:
        if not undone or moment.where.startswith(("undo", "end")):
            after = trees.read(moment.tree, recording.host.root)
            yield {"where": moment.where, "changes": trees.difference(start, after)}
            start = after


def main():
    directory = sys.argv[1]
    os.makedirs(directory)
    host = FakeHost()
    try:
        prepare(host)
        _, packages = write_driver(os.path.join(host.scratch, THIRD), THIRD)
        start = trees.read(host.root)
        write(directory, "start.json", [start])

        def record(name, *words, failing=None):
            shutil.rmtree(os.path.join(host.scratch, f"start-{OPERATION}"), ignore_errors=True)
            trees.make(host.root, start)
            if host.journal(OPERATION):
                raise RuntimeError("the tree has unexpected operations")
            recording = Recording(Case(host, OPERATION, words, None, None), name, failing)
            if recording.records[0]["plan"]["kind"] != ".".join(words[:2]):
                raise RuntimeError(f"recorded an unexpected operation: {recording.records[0]['plan']}")
            write(directory, name + ".jsonl", changes(recording, start))
            return recording

        swap = record("swap", "driver", "swap", NEW)
        last = next(moment for moment in swap.moments if moment.where == "apply driver.validate after")
        record("swap-back", "driver", "swap", NEW, failing=last)
        record("import", "driver", "import", *packages)
        record("removal", "driver", "remove", NEW)
    finally:
        host.close()


if __name__ == "__main__":
    main()
