"""Waits with a bound: nothing in the tests, the demo and the benchmarks hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

FoundT = TypeVar("FoundT")

BOUND = 90.0
"""Seconds; far beyond what anything waited for takes on a quiet machine."""
LONGEST_PAUSE = 1.0
"""After a look that took long, in seconds."""
RARELY = 0.5
"""Between two looks for what is long in coming, in seconds at most."""
LONG = 2.0
"""Seconds; a wait that took longer says so, so that a test's output tells where its time went."""


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

    Waiting does not keep the machine busy: a look that takes long (a process of kubectl) is followed by a longer pause,
    and what has not come for a while is looked for less often, so that it is seen a twentieth of its time later.

    Raises:
        WaitedInVain: there was not, within so many seconds; `what` and `explain` make up the message.
    """
    first = time.monotonic()
    while True:
        began = time.monotonic()
        found = look()
        now = time.monotonic()
        if found:
            if now > first + LONG:
                print(f"waited {now - first:5.1f} s: {what}", flush=True)
            return found
        if now > first + within:
            raise WaitedInVain(f"not within {within:g} s: {what}\n{explain()}".rstrip())
        time.sleep(max(every, min(2 * (now - began), LONGEST_PAUSE), min((now - first) / 20, RARELY)))
