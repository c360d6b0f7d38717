"""What the log of a run says now and then, and when a run that found topics that must stop is over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from wal_subscription.stops import Stop

LOG = logging.getLogger(__name__)
GATHER_SECONDS = 10.0
"""So long the other topics go on when one must not: what stops together is told together."""
_REPORT_SECONDS = 30.0


class Stops:
    """The topics that must not go on."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.found: list[Stop] = []
        self._clock = clock
        self._ends_at: float | None = None

    def add(self, stops: Sequence[Stop]) -> None:
        """More of them."""
        for stop in stops:
            LOG.error("Topic %s stops at offset %s: %s: %s", stop.topic, stop.offset, stop.reason, stop.message)
        if stops and self._ends_at is None:
            self._ends_at = self._clock() + GATHER_SECONDS
        self.found += stops

    @property
    def is_time_to_tell(self) -> bool:
        """Whether what goes on has gone on for long enough."""
        return bool(self.found) and self._clock() >= (self._ends_at or 0.0)


class Report:
    """What the log says now and then."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._written = clock, clock()
        self._records = self._stretches = 0
        self._troubles: dict[str, int] = {}

    def count(self, records: int, trouble: str | None) -> None:
        """A stretch."""
        self._stretches += 1
        self._records += records
        if trouble is not None:
            self.say(trouble)

    def say(self, trouble: str) -> None:
        """What may pass: at once when it is new, and counted."""
        if trouble not in self._troubles:
            LOG.warning("%s", trouble)
        self._troubles[trouble] = self._troubles.get(trouble, 0) + 1

    def write(self) -> None:
        """If it is time to."""
        if self._clock() - self._written < _REPORT_SECONDS:
            return
        times = sum(self._troubles.values())
        LOG.info("%d records in %d stretches; %d of them ended early", self._records, self._stretches, times)
        self._records = self._stretches = 0
        self._troubles.clear()
        self._written = self._clock()
