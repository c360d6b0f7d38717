"""Series of one object are removed without a search among those of all others: its ticks replace them all the time."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from seawall.api.meta import Key
from seawall.handlers.metrics.object_labels import OBJECT, ObjectCounter, ObjectGauge, labels_of
from seawall.handlers.metrics.telemetry import Telemetry

ONE, OTHER = Key("db", "one"), Key("db", "other")


def published(registry: CollectorRegistry) -> set[tuple[str, ...]]:
    return {tuple(sample.labels.values()) for metric in registry.collect() for sample in metric.samples}


@pytest.fixture
def unsearched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search among all series is an error."""

    def search(self: MetricWrapperBase, labels: dict[str, str]) -> None:
        raise AssertionError(f"all series of {self} are searched for {labels}")

    monkeypatch.setattr(MetricWrapperBase, "remove_by_labels", search)


@pytest.mark.usefixtures("unsearched")
@pytest.mark.parametrize("kind", [ObjectGauge, ObjectCounter])
def test_series_of_one_object_go_and_those_of_others_stay(kind: type[ObjectGauge | ObjectCounter]) -> None:
    registry = CollectorRegistry()
    metric = kind("seawall_parts", "", [*OBJECT, "part"], registry=registry)
    for key in (ONE, OTHER):
        metric.labels(key.namespace, key.name, 1).inc()
        metric.labels(**labels_of(key), part="b").inc()
    metric.remove_by_labels(labels_of(ONE))
    assert published(registry) == {("db", "other", "1"), ("db", "other", "b")}
    metric.remove_by_labels(labels_of(ONE))
    metric.labels(*labels_of(ONE).values(), "c").inc()
    assert ("db", "one", "c") in published(registry)
    metric.remove_by_labels(labels_of(ONE))
    assert ("db", "one", "c") not in published(registry)
    metric.clear()
    assert not published(registry)


@pytest.mark.usefixtures("unsearched")
def test_a_metric_without_series_has_none_to_remove() -> None:
    ObjectGauge("seawall_parts", "", OBJECT, registry=CollectorRegistry()).remove_by_labels(labels_of(ONE))


def test_other_labels_are_searched_for() -> None:
    registry = CollectorRegistry()
    gauge = ObjectGauge("seawall_parts", "", [*OBJECT, "part"], registry=registry)
    gauge.labels("db", "one", "a").set(1)
    gauge.labels("db", "one", "b").set(1)
    gauge.remove_by_labels({"part": "a"})
    assert published(registry) == {("db", "one", "b")}


def test_every_metric_of_objects_is_one() -> None:
    registry = Telemetry(per_topic=True).registry
    found = [each for each in registry._collector_to_names if isinstance(each, MetricWrapperBase)]
    of_objects = [each for each in found if list(each._labelnames[:2]) == OBJECT]
    assert len(of_objects) > 40
    assert [each for each in of_objects if not isinstance(each, ObjectGauge | ObjectCounter)] == []
