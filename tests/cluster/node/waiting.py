# SPDX-License-Identifier: Apache-2.0
"""Every wait has a deadline, and says what it waited for."""

import time

PATIENCE = 90


def eventually(what, ask, seconds=PATIENCE):
    """What `ask` answers as soon as that is true; `what` may be a function that says what is the case instead."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.1)
    return answer
