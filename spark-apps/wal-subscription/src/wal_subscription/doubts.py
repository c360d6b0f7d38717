"""What must be found for long before it counts, and how long who came to nothing waits: the same for each sink."""

from __future__ import annotations

from collections.abc import Mapping

from wal_subscription.stops import Reason, Stop

CERTAIN_SECONDS: Mapping[Reason, float] = {
    Reason.SOURCE_GAP: 5.0,
    Reason.IDENTITY_FENCE_BROKEN: 10.0,
    Reason.TARGET_LOST: 10.0,
    Reason.DIVERGED: 30.0,
}
"""So long it must be found again and again: a broker that has just started may know less than the others do."""
_MOST_PAUSE_SECONDS = 10.0
_PAUSE_SECONDS = 0.5


class Doubts:
    """Since when something seems to be so."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[Reason, float]] = {}

    def is_certain(self, stop: Stop, now: float) -> bool:
        """Whether it was found for long enough."""
        reason, since = self._since.get(stop.topic, (stop.reason, now))
        if reason is not stop.reason:
            since = now
        self._since[stop.topic] = (stop.reason, since)
        return now - since >= CERTAIN_SECONDS[stop.reason]

    def end(self, topic: str) -> None:
        """It is not so."""
        self._since.pop(topic, None)


class Pauses:
    """Topics that came to nothing wait, longer each time."""

    def __init__(self) -> None:
        self._troubles: dict[str, tuple[int, float]] = {}

    def is_over(self, topic: str, now: float) -> bool:
        """Whether it may be tried."""
        return self._troubles.get(topic, (0, now))[1] <= now

    def begin(self, topic: str, now: float) -> None:
        """It came to nothing."""
        times = self._troubles.get(topic, (0, now))[0] + 1
        pause = min(_MOST_PAUSE_SECONDS, _PAUSE_SECONDS * 2 ** min(times - 1, 9))
        self._troubles[topic] = (times, now + pause)

    def end(self, topic: str) -> None:
        """It came to something."""
        self._troubles.pop(topic, None)

    def __contains__(self, topic: object) -> bool:
        return topic in self._troubles
