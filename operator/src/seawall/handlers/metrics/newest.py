"""A gauge of when something last ended well, of which one hears in any order."""

from __future__ import annotations

import threading
from datetime import datetime

from prometheus_client import Gauge

from seawall.api.meta import Key
from seawall.handlers.metrics.object_labels import labels_of


class Newest:
    """The newest time of each object, published as long as the object is there.

    What ended may outlive it, and is heard of again and again: a WALVerification by hand, say. So is what ended before
    this process has met the object: it is published then. Several threads call this at once.
    """

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._lock = threading.Lock()
        self._times: dict[Key, datetime] = {}
        self._there: set[Key] = set()

    def measure(self, key: Key, ended: datetime) -> None:
        """Keeps the newest."""
        with self._lock:
            self._times[key] = max(ended, self._times.get(key, ended))
            self._publish(key)

    def meet(self, key: Key) -> None:
        """The object is there."""
        with self._lock:
            if key not in self._there:
                self._there.add(key)
                self._publish(key)

    def forget(self, key: Key) -> None:
        """Removes what is known of one object, which is gone."""
        with self._lock:
            self._there.discard(key)
            self._times.pop(key, None)
            self._gauge.remove_by_labels(labels_of(key))

    def clear(self) -> None:
        """Removes all."""
        with self._lock:
            self._there.clear()
            self._times.clear()
            self._gauge.clear()

    def _publish(self, key: Key) -> None:
        if key in self._there and key in self._times:
            self._gauge.labels(key.namespace, key.name).set(self._times[key].timestamp())
