"""Series about one of our objects: their labels, and metrics that find them without a search among all others.

prometheus_client looks through all series of a metric to remove those of one object. With n objects, each of which has
its series replaced by its ticks, that is n times n work.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, Self

from prometheus_client import Counter, Gauge
from prometheus_client.metrics import MetricWrapperBase

from seawall.api.meta import Key

OBJECT = ["namespace", "name"]
Series = Mapping[tuple[str, ...], float]
"""The values of one gauge for one object, by the labels that its series have besides those of the object."""
_FIRST = threading.Lock()
"""Of who makes the first series of a metric."""


def labels_of(key: Key) -> dict[str, str]:
    """By which all series of an object are found, whatever labels they have besides."""
    return {"namespace": key.namespace, "name": key.name}


class _Series:
    """The label values of the series that there are, by object; several threads use it at once."""

    __slots__ = ("_by_object", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_object: dict[tuple[str, ...], set[tuple[str, ...]]] = {}

    def add(self, values: tuple[str, ...]) -> None:
        """One series, whose first two labels are the object's."""
        with self._lock:
            self._by_object.setdefault(values[: len(OBJECT)], set()).add(values)

    def take(self, owner: tuple[str, ...]) -> set[tuple[str, ...]]:
        """Those of an object, which are forgotten."""
        with self._lock:
            return self._by_object.pop(owner, set())

    def keep(self, owner: tuple[str, ...], kept: Collection[tuple[str, ...]]) -> set[tuple[str, ...]]:
        """Those of an object beyond these, which are forgotten."""
        with self._lock:
            found = self._by_object.get(owner, set())
            gone = found.difference(kept)
            found -= gone
            if not found:
                self._by_object.pop(owner, None)
            return gone

    def clear(self) -> None:
        """Forgets all."""
        with self._lock:
            self._by_object.clear()


class _OfObjects(MetricWrapperBase):
    """A metric whose labels begin with OBJECT: the series of one object are removed without a search."""

    _series: _Series | None = None
    """Of the metric itself; each of its series is of this class, too, and has none."""

    def labels(self, *values: Any, **named: Any) -> Self:
        """One series."""
        if self._series is None:
            with _FIRST:
                self._series = self._series or _Series()
        series = super().labels(*values, **named)
        given = values or tuple(named[name] for name in self._labelnames)
        self._series.add(tuple(map(str, given)))
        return series

    def remove_by_labels(self, labels: dict[str, str]) -> None:
        """Removes the series with these labels."""
        if list(labels) != OBJECT:
            super().remove_by_labels(labels)
            return
        for values in self._series.take(tuple(labels.values())) if self._series is not None else ():
            self.remove(*values)

    def clear(self) -> None:
        """Removes all series."""
        super().clear()
        if self._series is not None:
            self._series.clear()


class ObjectGauge(_OfObjects, Gauge):
    """A gauge of objects."""

    def replace(self, key: Key, series: Series) -> None:
        """All series of an object, by the labels that they have besides.

        What stays is never away: a scrape between a removal and its return would end an alert, or begin its `for` anew.
        """
        owner = key.namespace, key.name
        for labels, value in series.items():
            self.labels(*owner, *labels).set(value)
        if self._series is not None:
            for values in self._series.keep(owner, {(*owner, *labels) for labels in series}):
                self.remove(*values)


class ObjectCounter(_OfObjects, Counter):
    """A counter of objects."""


def set_or_remove(gauge: ObjectGauge, key: Key, value: float | None) -> None:
    """The only series of an object; None: it has none."""
    if value is None:
        gauge.remove_by_labels(labels_of(key))
    else:
        gauge.labels(key.namespace, key.name).set(value)


def set_expected(
    last: ObjectGauge, period: ObjectGauge, key: Key, last_time: datetime | None, time: timedelta | None
) -> None:
    """What is expected again and again. While a schedule cannot be read the period before stays: it is late by that."""
    if last_time is None:
        last.remove_by_labels(labels_of(key))
        period.remove_by_labels(labels_of(key))
        return
    last.labels(key.namespace, key.name).set(last_time.timestamp())
    if time is not None:
        period.labels(key.namespace, key.name).set(time.total_seconds())
