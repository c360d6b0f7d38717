"""Wall clock time, the API server's beside it, and time that only rises."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from seawall.adapters.server_dates import ServerDates
from seawall.domain.clocks import TrustedTime


def _now() -> datetime:
    return datetime.now(UTC)


class SystemClock:
    """The machine's clock.

    Args:
        dates: what the answers of the API server tell of its clock.
        wall: the machine's clock, in UTC.
    """

    def __init__(self, dates: ServerDates, wall: Callable[[], datetime] = _now) -> None:
        self._dates = dates
        self._wall = wall

    def now(self) -> datetime:
        """The current time in UTC."""
        return self._wall()

    def trusted(self) -> TrustedTime:
        """The current time, and the API server's."""
        return TrustedTime(self._wall(), self._dates.newest())


class MonotonicStopwatch:
    """The machine's monotonic clock."""

    def milliseconds(self) -> int:
        """Milliseconds since the machine started, or so."""
        return time.monotonic_ns() // 1_000_000
