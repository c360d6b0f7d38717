"""Since when each look of a process has found something: what one look alone must not decide."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from seawall.api.meta import Key

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Since(Generic[T]):
    """By object what its looks have found without a gap. It is in memory only: a process that begins waits again."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _first: dict[Key, dict[T, int]] = field(default_factory=dict)

    def note(self, key: Key, found: Iterable[T], now: int) -> dict[T, timedelta]:
        """Notes what a look has found at `now` (milliseconds of a stopwatch); what it has not found is forgotten.

        Returns:
            For how long each has been found.
        """
        with self._lock:
            before = self._first.get(key, {})
            self._first[key] = {each: before.get(each, now) for each in found}
            return {each: timedelta(milliseconds=now - first) for each, first in self._first[key].items()}

    def forget(self, key: Key) -> None:
        """Forgets an object."""
        with self._lock:
            self._first.pop(key, None)
