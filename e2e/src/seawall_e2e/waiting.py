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
FIRST_LINES, LAST_LINES, LONGEST_LINE = 40, 20, 400
"""Of an explanation: who reads of a failure in CI sees its end, and what is longest is cut in its middle anyway."""


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


class Bound:
    """So many seconds of a quiet machine have passed since it was made: one in which it is busy counts for less.

    By what the machine is like at the end alone, a bound would shrink when others have done: who had waited for longer
    than that would fail in the moment in which all gets quick.
    """

    def __init__(self, within: float) -> None:
        self._within, self._began, self._counted = within, time.monotonic(), 0.0
        self._seen = self._began

    @property
    def seconds(self) -> float:
        """Since it was made, as a clock on the wall has them."""
        return time.monotonic() - self._began

    def is_over(self) -> bool:
        """Whether they have passed."""
        now, times = time.monotonic(), patience()
        self._counted += (now - self._seen) / times
        self._seen = now
        # The load is of the last minute, and says too little of one in which others have just begun.
        return min(self._counted, (now - self._began) / times) > self._within


def explained(explain: Callable[[], object]) -> str:
    """What somebody can say of it, for people; one who cannot hides nothing of what went wrong before."""
    try:
        lines = [
            line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} …" for line in str(explain()).split("\n")
        ]
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not why anybody waited in vain
        return f"nobody can explain it: {error!r}"[:LONGEST_LINE]
    if (left_out := len(lines) - FIRST_LINES - LAST_LINES) > 1:
        lines[FIRST_LINES:-LAST_LINES] = [f"… {left_out} lines …"]
    return "\n".join(lines)


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
    first, bound = time.monotonic(), Bound(within)
    while True:
        began = time.monotonic()
        found = look()
        now = time.monotonic()
        if found:
            if now > first + LONG:
                print(f"waited {now - first:5.1f} s: {what}", flush=True)
            return found
        if bound.is_over():
            raise WaitedInVain(f"not within {now - first:.0f} s: {what}\n{explained(explain)}".rstrip())
        time.sleep(max(every, min(2 * (now - began), LONGEST_PAUSE), min((now - first) / 20, RARELY)))
