"""The metric of conditions: one series for each condition of each object, of every kind."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Gauge

from seawall.api.meta import Condition, Key

_Labels = tuple[str, ...]


class ConditionTelemetry:
    """Conditions as the last tick of an object left them.

    Ticks of many objects call this at once. What an object's series are is remembered, because to look them up in the
    gauge takes as long as there are series.

    Args:
        registry: where the metric is published.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lock = threading.Lock()
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
            before = self._series.pop((kind, key), frozenset())
            for labels in before - now:
                self._gauge.remove(*labels)
            for labels in now - before:
                self._gauge.labels(*labels).set(1)
            if now:
                self._series[kind, key] = now

    def clear(self) -> None:
        """Forgets everything: who does not lead knows nothing."""
        with self._lock:
            self._series.clear()
            self._gauge.clear()
