"""Bounded waits."""

from __future__ import annotations

import time
from collections.abc import Callable

BOUND = 90.0
"""Far beyond what anything here takes on a quiet machine."""


def wait_until(
    holds: Callable[[], bool],
    what: str,
    *,
    within: float = BOUND,
    every: float = 0.1,
    explain: Callable[[], str] = lambda: "",
) -> float:
    """Waits until it holds and returns the seconds that took; `what` and `explain` make up the error."""
    started = time.monotonic()
    while not holds():
        if time.monotonic() - started > within:
            raise AssertionError(f"not within {within:g} s: {what}\n{explain()}")
        time.sleep(every)
    return time.monotonic() - started
