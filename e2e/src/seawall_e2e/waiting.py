"""Waits with a bound: nothing in the tests, the demo and the benchmarks hangs."""

from __future__ import annotations

import os
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

CROWDED = 3.0
"""Runnable processes for each processor, from which on all takes longer."""
MOST_PATIENCE = 4.0


class WaitedInVain(AssertionError):  # noqa: N818 - named for what happened
    """Something did not become so within its time."""


def patience(load: float | None = None) -> float:
    """By how much longer something may take before it counts as hanging: what is waited for shares the processors.

    A bound tells what hangs, not how fast a machine is. A run on a slower one failed by bounds alone, with nothing
    wrong; how fast things are is the matter of benchmarks.

    Args:
        load: runnable processes, as the last minute had them; None: those of this machine now.
    """
    runnable = os.getloadavg()[0] if load is None else load
    return min(max(1.0, runnable / (os.cpu_count() or 1) / CROWDED), MOST_PATIENCE)


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
        if now > first + within * patience():
            raise WaitedInVain(f"not within {now - first:.0f} s: {what}\n{explain()}".rstrip())
        time.sleep(max(every, min(2 * (now - began), LONGEST_PAUSE), min((now - first) / 20, RARELY)))
