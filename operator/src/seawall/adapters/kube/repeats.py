"""What was said a moment ago."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable


class Repeats:
    """Remembers what was said for a while; safe to use from many threads.

    Args:
        seconds: for how long.
        monotonic: the clock.
    """

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._said: dict[Hashable, float] = {}

    def is_new(self, changed_status: Hashable) -> bool:
        """Whether this was not said lately; if so, it is said now."""
        now = self._monotonic()
        with self._lock:
            self._said = {old: when for old, when in self._said.items() if now - when < self._seconds}
            is_new = changed_status not in self._said
            if is_new:
                self._said[changed_status] = now
        return is_new

    def forget(self, changed_status: Hashable) -> None:
        """It was not said after all."""
        with self._lock:
            self._said.pop(changed_status, None)
