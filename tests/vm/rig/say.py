# SPDX-License-Identifier: Apache-2.0
"""Progress: one line for each long step, with its duration."""

import sys
import time
from contextlib import contextmanager


def line(text):
    print(text, file=sys.stderr, flush=True)


@contextmanager
def step(text):
    line(f"... {text}")
    start = time.monotonic()
    yield
    line(f"    done in {time.monotonic() - start:.0f} s")
