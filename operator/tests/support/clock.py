"""The time of worlds on the in-memory ports: it passes only when the test says so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from seawall.domain.clocks import ServerTime, TrustedTime

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@dataclass
class Time:
    """The clocks of the operator, the API server's, and the database's. It passes the contract of the port Clock."""

    time: datetime = START
    ahead: timedelta = timedelta(0)
    """By how much the operator's wall clock is ahead of all others."""
    is_silent: bool = False
    """Whether the answers of the API server tell no time any more; else it answers all the time."""
    heard: datetime | None = None
    """When it last told its time; None: it has not yet."""

    def __post_init__(self) -> None:
        self._began = self.time

    def now(self) -> datetime:
        """The operator's wall clock."""
        return self.time + self.ahead

    def trusted(self) -> TrustedTime:
        """The operator's wall clock and the API server's."""
        if not self.is_silent:
            self.heard = self.time
        heard = None if self.heard is None else ServerTime(self.time, timedelta(0), self.time - self.heard)
        return TrustedTime(self.now(), heard)

    def milliseconds(self) -> int:
        """The monotonic clock."""
        return (self.time - self._began) // timedelta(milliseconds=1)
