"""Since when each look of a process has found something: what one look alone must not decide."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from seawall.api.meta import Key
from seawall.domain.times import MANAGED_KAFKA_LONGEST_BREAK

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Known(Generic[T]):
    """What was found, each since when, and when that was noted last."""

    first: dict[T, int]
    noted: int


@dataclass(frozen=True, slots=True)
class Since(Generic[T]):
    """By object what its looks have found without a gap. It is in memory only: a process that begins waits again.

    A time in which nobody looked shows nothing: after one that is longer than `longest_break` all begins anew. So it
    does after a look that took so long itself: its process was frozen, and what it read first is of before.
    """

    longest_break: timedelta = MANAGED_KAFKA_LONGEST_BREAK
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[Key, _Known[T]] = field(default_factory=dict)

    def note(self, key: Key, found: Iterable[T], begun: int, now: int) -> dict[T, timedelta]:
        """Notes what a look has found; what it has not found is forgotten.

        Args:
            key: the object.
            found: what the look has found.
            begun: when the look began, in milliseconds of a stopwatch.
            now: when it has found it.

        Returns:
            For how long each has been found.
        """
        with self._lock:
            known = self._known.get(key)
            before = known.first if known is not None and self._goes_on(known.noted, begun, now) else {}
            first = {each: before.get(each, now) for each in found}
            self._known[key] = _Known(first, now)
            return {each: timedelta(milliseconds=now - since) for each, since in first.items()}

    def _goes_on(self, noted: int, begun: int, now: int) -> bool:
        """Whether somebody looked all the time since a look was noted."""
        between, within = timedelta(milliseconds=begun - noted), timedelta(milliseconds=now - begun)
        return between <= self.longest_break and within <= MANAGED_KAFKA_LONGEST_BREAK

    def forget(self, key: Key) -> None:
        """Forgets an object."""
        with self._lock:
            self._known.pop(key, None)
