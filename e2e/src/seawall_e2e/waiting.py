"""Waits with a bound: nothing in the tests, the demo and the benchmarks hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

FoundT = TypeVar("FoundT")

BOUND = 90.0
"""Seconds; far beyond what anything waited for takes on a quiet machine."""
LONGEST_PAUSE = 1.0
"""Between two looks, in seconds."""


class WaitedInVain(AssertionError):  # noqa: N818 - named for what happened
    """Something did not become so within its time."""


def wait_until(
    look: Callable[[], FoundT | None],
    what: str,
    *,
    within: float = BOUND,
    every: float = 0.1,
    explain: Callable[[], object] = lambda: "",
) -> FoundT:
    """Looks every few moments until there is something to see, and returns it.

    A look that takes long (a process of kubectl) is followed by a longer pause, so that waiting does not keep
    the machine busy.

    Raises:
        WaitedInVain: there was not, within so many seconds; `what` and `explain` make up the message.
    """
    deadline = time.monotonic() + within
    while True:
        began = time.monotonic()
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise WaitedInVain(f"not within {within:g} s: {what}\n{explain()}".rstrip())
        time.sleep(max(every, min(2 * (time.monotonic() - began), LONGEST_PAUSE)))
