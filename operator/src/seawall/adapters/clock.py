"""Wall clock time, the API server's beside it by the dates of its answers, and time that only rises."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from seawall.domain.clocks import ServerTime, TrustedTime

_HALF_A_SECOND = timedelta(seconds=0.5)
"""A Date is cut to whole seconds: on average half a second is missing, and it may be half a second more or less."""


def since_boot() -> float:
    """Seconds that also count while the machine sleeps: what was heard or held before it slept is old afterwards."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class _Heard:
    """An answer: what its Date said, in the middle of the time between request and answer, give or take half of it."""

    time: datetime
    at: float
    give_or_take: float


class ServerDates:
    """The newest Date of the API server; safe to use from many threads.

    What passes after it is measured by a monotonic clock: so a wall clock that jumps is noticed at once.

    Args:
        monotonic: seconds since an arbitrary moment.
    """

    def __init__(self, monotonic: Callable[[], float] = since_boot) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._newest: _Heard | None = None

    def begin(self) -> float:
        """The moment before a request, for `hear`."""
        return self._monotonic()

    def hear(self, begun: float, date: str | None) -> None:
        """An answer has begun to arrive. A Date that makes no sense, or is missing, tells nothing."""
        ended = self._monotonic()
        said = None if date is None else _parsed(date)
        if said is None:
            return
        found = _Heard(said + _HALF_A_SECOND, (begun + ended) / 2, (ended - begun) / 2)
        with self._lock:
            if self._newest is None or found.at > self._newest.at:
                self._newest = found

    def newest(self) -> ServerTime | None:
        """What the API server's clock says now; None: it has not told yet."""
        with self._lock:
            heard = self._newest
        if heard is None:
            return None
        age = timedelta(seconds=self._monotonic() - heard.at)
        return ServerTime(heard.time + age, _HALF_A_SECOND + timedelta(seconds=heard.give_or_take), age)


def _parsed(date: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(date)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


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
        """Milliseconds since the machine started: a sleep is a pause in which nobody looked."""
        return int(since_boot() * 1_000)
