# SPDX-License-Identifier: Apache-2.0
"""Cases and the states of the host that they start from.

A state is made once, by a case of its own, and kept as a snapshot of the running guest; each case starts from a
snapshot, so that none sees what another left, and none waits for a boot. A case may add further ones, when what there
is to test is known only once something has run (as many records as a journal has).
"""

from dataclasses import dataclass
from typing import Callable, Optional


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable
    start: str             # state that it starts from
    makes: Optional[str]   # state that it leaves for others
    full: bool             # only with FULL=1


_waiting = []


def case(name, start, makes=None, full=False):
    def register(function):
        _waiting.append(Case(name, function, start, makes, full))
        return function
    return register


def add(name, function, start):
    """A case that is known only now."""
    _waiting.append(Case(name, function, start, None, False))


def take(states, chance=None):
    """The next case whose start is among the states that there are; None when there is none left. With `chance`, a
    random.Random, those that make a state come first and then any."""
    able = [one for one in _waiting if one.start in states]
    if chance:
        able = [one for one in able if one.makes] or able and [chance.choice(able)]
    if not able:
        return None
    _waiting.remove(able[0])
    return able[0]


def stranded():
    """Cases whose state nobody made."""
    return list(_waiting)
