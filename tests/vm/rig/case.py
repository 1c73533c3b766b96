# SPDX-License-Identifier: Apache-2.0
"""Cases and the states of the host that they start from.

One case makes a state, which is saved as a snapshot of the running guest. Each case starts from a snapshot,
so it never sees changes of another case and never waits for a boot. A case may add further cases when their
number is known only at run time (for example one for each record of a journal).

With a time limit a sample runs: first the cases that others build on, in their order. Then as many of the
independent cases run as fit.
"""

import os
import random
import time
from dataclasses import dataclass
from typing import Callable, Optional

from .system import DEBIAN_12


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable
    start: str             # state that it starts from
    makes: Optional[str]   # state that it makes for other cases
    full: bool             # runs only with FULL=1
    independent: bool      # no other case builds on it
    systems: tuple         # of the guest that it runs in


_waiting = []


def case(name, start, makes=None, full=False, independent=False, systems=(DEBIAN_12,)):
    def register(function):
        _waiting.append(Case(name, function, start, makes, full, independent, systems))
        return function
    return register


def add(name, function, start, full=False):
    """Registers an independent case at run time."""
    _waiting.append(Case(name, function, start, None, full, True, (DEBIAN_12,)))


def restrict(wanted):
    """Removes all cases but the wanted ones, which therefore are not reported as unreached."""
    _waiting[:] = [one for one in _waiting if wanted(one)]


def restrict_to(name):
    """Removes all cases but those with this text in their names, and those that make the states for them."""
    states = {one.start for one in _waiting if name in one.name}
    while more := {one.start for one in _waiting if one.makes in states} - states:
        states |= more
    restrict(lambda one: name in one.name or one.makes in states)


def remove(state):
    """Removes the cases that make this state, and all that build on it."""
    restrict(lambda one: one.makes != state)
    for made in {one.makes for one in _waiting if one.start == state and one.makes}:
        remove(made)
    restrict(lambda one: one.start != state)


class Sample:
    """Chooses the next of the `wanted` cases. Without `minutes` all run, in their order. With a limit the
    independent cases run last, in an order that SEED decides; report() names those that did not fit.
    FULL=1 removes the limit and adds cases."""
    def __init__(self, minutes, is_independent=lambda one: one.independent, wanted=lambda one: True, seed=None):
        self.is_full = os.environ.get("FULL") == "1"
        self.minutes = None if self.is_full else minutes
        self.wanted = wanted
        self.deadline = time.monotonic() + minutes * 60 if self.minutes is not None else None
        self.seed = int(os.environ.get("SEED", "535")) if seed is None else seed
        self.chance = random.Random(self.seed)
        self.is_independent = is_independent
        self.left = []

    def next_case(self, states):
        """Removes and returns a case that starts from one of `states`; None when none is left."""
        while able := [one for one in _waiting if one.start in states]:
            if self.deadline is not None:
                able = [one for one in able if not self.is_independent(one)] or [self.chance.choice(able)]
            one = able[0]
            _waiting.remove(one)
            if one.full and not self.is_full or not self.wanted(one):
                continue
            if self.deadline is None or not self.is_independent(one) or time.monotonic() <= self.deadline:
                return one
            self.left.append(one.name)
        return None

    def report(self, tap):
        if self.left:
            tap.comment(f"{len(self.left)} more cases did not fit into {self.minutes} minutes with SEED={self.seed}: {'; '.join(self.left)}")


def unreached():
    """Returns the cases whose state no other case made."""
    return list(_waiting)
