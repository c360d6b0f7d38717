"""The metric of conditions: one series for each condition of each object, of every kind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Gauge

from seawall.api.meta import Condition, Key
from seawall.domain.times import CONDITIONS_UNREAD_SECONDS

_Labels = tuple[str, ...]


class ConditionTelemetry:
    """Conditions as the last tick of an object left them.

    Ticks of many objects call this at once. What an object's series are is remembered, because to look them up in the
    gauge takes as long as there are series.

    Args:
        registry: where the metric is published.
        monotonic: the clock by which an object has not been read for too long.
    """

    def __init__(self, registry: CollectorRegistry, monotonic: Callable[[], float]) -> None:
        self._lock = threading.Lock()
        self._monotonic = monotonic
        self._unread: dict[tuple[str, Key], float] = {}
        """Since when objects cannot be read, as far as their ticks tell."""
        self._series: dict[tuple[str, Key], frozenset[_Labels]] = {}
        self._gauge = Gauge(
            "seawall_object_condition",
            "1 for what each condition of an object says: its status and its reason",
            ["kind", "namespace", "name", "type", "status", "reason"],
            registry=registry,
        )

    def measure(self, kind: str, key: Key, conditions: Sequence[Condition]) -> None:
        """Replaces the series of one object."""
        now = frozenset((kind, key.namespace, key.name, at.type, at.status, at.reason) for at in conditions)
        with self._lock:
            self._unread.pop((kind, key), None)
            before = self._series.pop((kind, key), frozenset())
            for labels in before - now:
                self._gauge.remove(*labels)
            for labels in now - before:
                self._gauge.labels(*labels).set(1)
            if now:
                self._series[kind, key] = now

    def miss(self, kind: str, key: Key) -> None:
        """An object could not be read. After a while nobody knows what it says any more: it has no series then."""
        now = self._monotonic()
        with self._lock:
            since = self._unread.setdefault((kind, key), now)
        if now - since >= CONDITIONS_UNREAD_SECONDS:
            self.measure(kind, key, ())

    def clear(self) -> None:
        """Forgets everything: who does not lead knows nothing."""
        with self._lock:
            self._series.clear()
            self._unread.clear()
            self._gauge.clear()
