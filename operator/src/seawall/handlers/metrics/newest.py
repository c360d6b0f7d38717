"""A gauge of when something last ended well, of which one hears in any order."""

from __future__ import annotations

from datetime import datetime

from prometheus_client import Gauge

from seawall.api.meta import Key
from seawall.handlers.metrics.object_labels import labels_of


class Newest:
    """The newest time of each object."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._times: dict[Key, datetime] = {}

    def measure(self, key: Key, ended: datetime) -> None:
        """Keeps the newest."""
        self._times[key] = max(ended, self._times.get(key, ended))
        self._gauge.labels(key.namespace, key.name).set(self._times[key].timestamp())

    def forget(self, key: Key) -> None:
        """Removes what is known of one object."""
        self._gauge.remove_by_labels(labels_of(key))
        self._times.pop(key, None)

    def clear(self) -> None:
        """Removes all."""
        self._gauge.clear()
        self._times.clear()
