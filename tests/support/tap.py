# SPDX-License-Identifier: Apache-2.0
"""TAP from Python: one ok(), equal() or skip() for each check, then done(). The exit status is 1 if a
check failed."""
import os
import sys

TOP_SRCDIR = os.environ.get("top_srcdir", os.path.join(os.path.dirname(__file__), "..", ".."))
TOP_BUILDDIR = os.environ.get("top_builddir", os.getcwd())


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, good, name, *diagnostics):
        self.count += 1
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}", flush=True)
        if not good:
            self.failed += 1
            for text in diagnostics:
                for line in str(text).splitlines():
                    print(f"# {line}", flush=True)
        return good

    def equal(self, got, wanted, name):
        return self.ok(got == wanted, name, f"got:\n{got}", f"wanted:\n{wanted}")

    def skip(self, name, reason):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {reason}", flush=True)

    def done(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(1 if self.failed else 0)
