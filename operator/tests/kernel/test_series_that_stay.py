"""What is measured anew and has not changed is never away: a scrape in between would end an alert, or its `for`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics import MetricWrapperBase

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import HoldState
from seawall.api.v1alpha1.reassignment import ReassignmentStage, ReassignmentStatus
from seawall.api.v1alpha1.rollout import RollStage
from seawall.api.v1alpha1.subscription_status import SubscriptionState, WALSubscriptionStatus
from seawall.domain.ledger.numbers import LedgerNumbers
from seawall.handlers.metrics.ledger import WALTelemetry
from seawall.handlers.metrics.object_labels import OBJECT, ObjectGauge
from seawall.handlers.metrics.reassignment import ReassignmentTelemetry
from seawall.handlers.metrics.rollout import RestartTelemetry
from seawall.handlers.metrics.subscription import SubscriptionTelemetry
from tests.brokers import test_brokers as brokers
from tests.support.clock import START

KEY, OTHER = Key("db", "wal"), Key("db", "other")


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The series that were removed, by their labels."""
    found: list[tuple[str, ...]] = []
    remove = MetricWrapperBase.remove

    def remember(gauge: MetricWrapperBase, *labels: Any) -> None:
        found.append(labels)
        remove(gauge, *labels)

    monkeypatch.setattr(MetricWrapperBase, "remove", remember)
    return found


def series_of(gauge: ObjectGauge) -> dict[tuple[str, ...], float]:
    (family,) = gauge.collect()
    return {tuple(sample.labels.values()): sample.value for sample in family.samples}


def test_only_what_is_there_no_more_is_removed(removed: list[tuple[str, ...]]) -> None:
    gauge = ObjectGauge("holds", "", [*OBJECT, "state"], registry=None)
    gauge.replace(OTHER, {("AtRisk",): 7})
    gauge.replace(KEY, {("Active",): 1, ("AtRisk",): 2})
    gauge.replace(KEY, {("AtRisk",): 3, ("Extended",): 1})
    assert removed == [("db", "wal", "Active")]
    expected = {("db", "other", "AtRisk"): 7, ("db", "wal", "AtRisk"): 3, ("db", "wal", "Extended"): 1}
    assert series_of(gauge) == expected
    gauge.replace(KEY, {})
    assert series_of(gauge) == {("db", "other", "AtRisk"): 7}
    gauge.clear()
    gauge.replace(KEY, {("Active",): 1})
    assert series_of(gauge) == {("db", "wal", "Active"): 1}


def numbers() -> LedgerNumbers:
    return LedgerNumbers(
        topics={"Purgeable": 1, "NoPolicy": 2},
        entries=10,
        purgeable_entries=1,
        bytes=1000,
        purgeable_bytes=100,
        holds={HoldState.AT_RISK: 1},
        hold_lags={"audit": 5},
        unreadable_shards=0,
        is_intact=False,
        reasons={"wal_0": "NoPolicy"},
    )


Measured = tuple[CollectorRegistry, Callable[[], object]]


def ledger() -> Measured:
    registry = CollectorRegistry()
    telemetry = WALTelemetry(registry, per_topic=True)
    return registry, lambda: telemetry.measure_ledger(KEY, numbers())


def restarts() -> Measured:
    registry = CollectorRegistry()
    telemetry = RestartTelemetry(registry)

    def measure() -> None:
        telemetry.measure_restart(KEY, {"Serving": 2, "Down": 1}, RollStage.STALLED)
        telemetry.measure_kafka_nodes(KEY, {"Online": 2, "Offline": 1}, RollStage.STALLED)

    return registry, measure


def subscriptions() -> Measured:
    registry = CollectorRegistry()
    telemetry = SubscriptionTelemetry(registry)
    status = WALSubscriptionStatus(state=SubscriptionState.LOST)
    return registry, lambda: telemetry.measure_subscription(KEY, status, 100)


def reassignments() -> Measured:
    registry = CollectorRegistry()
    telemetry = ReassignmentTelemetry(registry)
    run = ReassignmentStatus(stage=ReassignmentStage.ONGOING, progress_time=START, bytes_left=7)
    return registry, lambda: telemetry.measure_reassignment(KEY, run, 3)


def all_brokers() -> Measured:
    world = brokers.World()
    world.settle()
    return world.registry, lambda: world.brokers.tick(brokers.KEY)


@pytest.mark.parametrize("meter", [ledger, restarts, subscriptions, reassignments, all_brokers])
def test_what_has_not_changed_is_not_away_for_a_moment(
    meter: Callable[[], Measured], removed: list[tuple[str, ...]]
) -> None:
    registry, measure = meter()
    measure()
    before = {line for line in generate_latest(registry).splitlines() if b"last_look" not in line}
    removed.clear()
    measure()
    assert removed == []
    assert len(before) > 1
    assert before <= set(generate_latest(registry).splitlines())
