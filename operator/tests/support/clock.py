"""The time of worlds on the in-memory ports: it passes only when the test says so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@dataclass
class Time:
    """Both clocks of the operator, and the database's."""

    time: datetime = START

    def __post_init__(self) -> None:
        self._began = self.time

    def now(self) -> datetime:
        """The wall clock."""
        return self.time

    def milliseconds(self) -> int:
        """The monotonic clock."""
        return (self.time - self._began) // timedelta(milliseconds=1)
