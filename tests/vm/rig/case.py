# SPDX-License-Identifier: Apache-2.0
"""Cases and the states of the host that they start from.

A state is made once, by a case of its own, and kept as a snapshot of the running guest; each case starts from a
snapshot, so that none sees what another left, and none waits for a boot. A case may add further ones, when what there
is to test is known only once something has run (as many records as a journal has).

Where time is short a sample runs: what others build on in its order, then of what stands apart as much as fits.
"""

import os
import random
import time
from dataclasses import dataclass
from typing import Callable, Optional


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable
    start: str             # state that it starts from
    makes: Optional[str]   # state that it leaves for others
    full: bool             # only with FULL=1
    apart: bool            # nobody minds whether it ran


_waiting = []


def case(name, start, makes=None, full=False, apart=False):
    def register(function):
        _waiting.append(Case(name, function, start, makes, full, apart))
        return function
    return register


def add(name, function, start):
    """A case that is known only now."""
    _waiting.append(Case(name, function, start, None, False, True))


class Sample:
    """Which of the `wanted` cases comes next: with no `minutes` all, in their order. Else those that stand apart come last,
    in an order that SEED decides, and what is left of them when the time is over is named. FULL=1 has no limit, and more
    cases."""
    def __init__(self, minutes, is_apart=lambda one: one.apart, wanted=lambda one: True, seed=None):
        self.is_full = os.environ.get("FULL") == "1"
        self.minutes = None if self.is_full else minutes
        self.wanted = wanted
        self.deadline = time.monotonic() + minutes * 60 if self.minutes is not None else None
        self.seed = int(os.environ.get("SEED", "535")) if seed is None else seed
        self.chance = random.Random(self.seed)
        self.is_apart = is_apart
        self.left = []

    def take(self, states):
        """One whose start is among `states`; None when there is none left."""
        while able := [one for one in _waiting if one.start in states]:
            if self.deadline is not None:
                able = [one for one in able if not self.is_apart(one)] or [self.chance.choice(able)]
            one = able[0]
            _waiting.remove(one)
            if one.full and not self.is_full or not self.wanted(one):
                continue
            if self.deadline is None or not self.is_apart(one) or time.monotonic() <= self.deadline:
                return one
            self.left.append(one.name)
        return None

    def tell(self, tap):
        if self.left:
            tap.comment(f"{len(self.left)} more cases did not fit into {self.minutes} minutes with SEED={self.seed}: {'; '.join(self.left)}")


def stranded():
    """Cases whose state nobody made."""
    return list(_waiting)
