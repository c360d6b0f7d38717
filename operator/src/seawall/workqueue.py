"""A keyed work queue: one entry per object, never two ticks at once for one object, backoff, periodic resync.

It lives in one asyncio loop; the ticks themselves block and run in a thread pool. Everything in it may be lost: after a
restart the first listing fills it again.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass

from seawall.api.meta import Key
from seawall.domain.times import QUEUE_ALIGNED_PART, QUEUE_ALIGNED_SECONDS, QUEUE_BACKOFF_SECONDS
from seawall.reconciler import Outcome, Ticked

_log = logging.getLogger(__name__)

FREE_STEPS = 8
"""Steps that an object may take one after another before pauses set in: enough to create, check and record."""


def aligned(now: float, pause: float) -> float:
    """When a pause of about so many seconds ends: not later, and not more than QUEUE_ALIGNED_PART of it earlier.

    Objects that pause for as long come together then, a part of them at a time. Those on one Kafka share what they ask
    it at once (`adapters/kafka/shared_answers.py`); one after another, each would ask for the topics of all.
    """
    grid = pause * QUEUE_ALIGNED_PART
    return (now + pause) // grid * grid


@dataclass(slots=True)
class _Entry:
    due: float
    family: Key | None = None
    is_running: bool = False
    woken: bool = False
    steps: int = 0
    errors: int = 0


def _waits_since(found: tuple[Key, _Entry]) -> float:
    """Where not all of a family are ticked, who has waited for longest comes first."""
    entry = found[1]
    return 0.0 if entry.family is None else entry.due


class WorkQueue:
    """Runs `tick` for each key when it is due.

    Args:
        tick: blocks; raises nothing but bugs and SeawallError, which are logged and retried with backoff.
        executor: where ticks run; its size bounds how many run at once.
        resync: seconds after which an object that waits for nothing is looked at again.
        family_limit: how many objects of one family are ticked at once: whoever is slow, as their Kafka or database,
            is slow for all of them, and keeps a thread each busy.
    """

    def __init__(
        self, tick: Callable[[Key], Ticked], executor: Executor, resync: float, family_limit: float = math.inf
    ) -> None:
        self._tick = tick
        self._executor = executor
        self._resync = resync
        self._family_limit = family_limit
        self._entries: dict[Key, _Entry] = {}
        self._running: Counter[Key | None] = Counter()
        self._changed = asyncio.Event()
        self._active = False

    def wake(self, key: Key, family: Key | None = None) -> None:
        """Makes `key` due now; None: of which family it is stays as it is known. Call it in the loop's thread."""
        now = asyncio.get_running_loop().time()
        entry = self._entries.setdefault(key, _Entry(now))
        entry.family = family or entry.family
        entry.due = min(entry.due, now)
        entry.woken = entry.woken or entry.is_running
        entry.steps = 0
        self._changed.set()

    def set_active(self, *, active: bool) -> None:
        """Starts or stops handing out work: only the leader's queue is active. Running ticks end by themselves."""
        if active and not self._active:
            now = asyncio.get_running_loop().time()
            for entry in self._entries.values():
                entry.due, entry.woken = now, entry.woken or entry.is_running
        self._active = active
        self._changed.set()

    async def run(self) -> None:
        """Hands out work until it is cancelled."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as ticks:
            while True:
                self._changed.clear()
                now = loop.time()
                due = [found for found in self._entries.items() if not found[1].is_running and found[1].due <= now]
                for key, entry in sorted(due, key=_waits_since) if self._active else ():
                    if not self._is_full(entry.family):
                        entry.is_running, entry.woken = True, False
                        self._running[entry.family] += 1
                        ticks.create_task(self._run_one(key, entry, entry.family))
                await self._until_next(now)

    def _is_full(self, family: Key | None) -> bool:
        """Whether none more of a family is ticked until one of its ticks ends, which tells that something changed."""
        return family is not None and self._running[family] >= self._family_limit

    async def _until_next(self, now: float) -> None:
        entries, full = self._entries.values() if self._active else (), set(filter(self._is_full, self._running))
        dues = [entry.due for entry in entries if not entry.is_running and entry.family not in full]
        # Not asyncio.wait_for: that of Python 3.11 forgets that it is cancelled while what it waits for has just come.
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, min(dues) - now) if dues else None):
                await self._changed.wait()

    async def _run_one(self, key: Key, entry: _Entry, family: Key | None) -> None:
        loop = asyncio.get_running_loop()
        try:
            ticked = await loop.run_in_executor(self._executor, self._tick, key)
        except Exception:  # noqa: BLE001 - the outermost handler: whatever it was, the object is tried again
            _log.exception("%s: tick failed", key)
            ticked = Ticked(Outcome.ERROR)
        entry.is_running = False
        self._running[family] -= 1
        if not self._running[family]:
            del self._running[family]
        if ticked.outcome is Outcome.GONE and not entry.woken:
            del self._entries[key]
        else:
            entry.due = loop.time() if entry.woken else self._due(loop.time(), entry, ticked)
        self._changed.set()

    def _due(self, now: float, entry: _Entry, ticked: Ticked) -> float:
        pause = self._pause(entry, ticked)
        is_long = ticked.after is None or pause >= QUEUE_ALIGNED_SECONDS
        return now + pause if ticked.outcome is Outcome.ERROR or not is_long else aligned(now, pause)

    def _pause(self, entry: _Entry, ticked: Ticked) -> float:
        if ticked.outcome is Outcome.ERROR:
            entry.errors += 1
            return QUEUE_BACKOFF_SECONDS[min(entry.errors, len(QUEUE_BACKOFF_SECONDS) - 1)] * random.uniform(0.8, 1.2)  # noqa: S311
        entry.errors = 0
        if ticked.outcome is Outcome.WAITING or (ticked.outcome is Outcome.RECORDED and ticked.after != 0):
            entry.steps = 0
        else:
            entry.steps += 1
        if ticked.after is None:
            return self._resync
        excess = max(0, entry.steps - FREE_STEPS)
        return max(ticked.after, QUEUE_BACKOFF_SECONDS[min(excess, len(QUEUE_BACKOFF_SECONDS) - 1)])
