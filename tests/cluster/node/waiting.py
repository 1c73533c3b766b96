# SPDX-License-Identifier: Apache-2.0
"""Waits with a deadline and a description."""

import time

PATIENCE = 90


def eventually(what, ask, seconds=PATIENCE):
    """Calls `ask` until its result is true; returns the result. `what` is the description of the wait, or
    a function that returns it with the current state."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.1)
    return answer
