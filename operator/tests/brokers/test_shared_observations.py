"""WALClusters on one Kafka share looks at its brokers, and none is decided by an older one than if it were alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers import brokers
from seawall.domain.brokers.reasons import Reason
from seawall.domain.brokers.view import NothingObserved
from seawall.domain.kafka import KafkaConnection
from seawall.domain.times import BROKERS_PERIOD_SECONDS
from seawall.observe.shared_brokers import BrokersObserver
from seawall.reconciler import Outcome
from tests.brokers.test_brokers import KEY, SPEC, World
from tests.support.clock import Time

OTHERS = tuple(Key("wal", f"db-{number}") for number in range(9))
REPAIRS: dict[str, Any] = {"internalTopics": {"repair": True}}
KAFKA = KafkaConnection(("kafka:9092",))
NOTHING = NothingObserved(Reason.NOT_ASKED, "")


def spec_of(key: Key, **more: Any) -> dict[str, Any]:
    return {**SPEC, "topics": {"prefix": key.name, "count": 3}, **more}


class Fleet(World):
    """Several WALClusters on one Kafka, whose ticks come as their pauses end."""

    def __init__(self) -> None:
        super().__init__()
        self.keys = (KEY, *OTHERS)
        for key in OTHERS:
            self.kube.apply(key, spec_of(key))
        for key in self.keys:
            self.settle_one(key)

    def settle_one(self, key: Key) -> float:
        """Until this one waits; for how long it does."""
        for _ in range(20):
            tended, seen = self.topics.tick(key), self.brokers.tick(key)
            if tended.outcome is seen.outcome is Outcome.WAITING:
                assert seen.after is not None
                return seen.after
        raise AssertionError("it never waits")

    def run(self, seconds: float) -> None:
        """Each is ticked when it wants to be, for so long."""
        due = {key: self.time.time + timedelta(seconds=self.settle_one(key)) for key in self.keys}
        end = self.time.time + timedelta(seconds=seconds)
        while (key := min(due, key=lambda each: due[each])) and due[key] <= end:
            self.time.time = max(self.time.time, due[key])
            due[key] = self.time.time + timedelta(seconds=self.settle_one(key))
        self.time.time = end

    @property
    def observed(self) -> int:
        return self.kafka.requests["sizes"]


def test_many_wal_clusters_on_one_kafka_take_one_look_in_each_period() -> None:
    fleet = Fleet()
    fleet.run(300)
    before = fleet.observed
    fleet.run(10 * BROKERS_PERIOD_SECONDS)
    assert fleet.observed - before in {10, 11}


def test_each_hears_of_a_broker_that_died_within_the_period_although_another_looked_before() -> None:
    fleet = Fleet()
    fleet.run(300)
    fleet.settle_one(KEY)
    fleet.kafka.offline.add(3)
    fleet.run(BROKERS_PERIOD_SECONDS)
    for key in fleet.keys:
        found = fleet.kube.get(WALCluster, key)
        assert found is not None
        assert found.status.kafka is not None
        assert found.status.kafka.brokers.online == 2


def test_what_an_object_says_anew_is_looked_at_anew() -> None:
    fleet = Fleet()
    fleet.run(300)
    fleet.settle_one(KEY)
    before = fleet.observed
    fleet.kube.apply(OTHERS[0], spec_of(OTHERS[0], internalTopics={"replicationFactor": 2}))
    fleet.settle_one(OTHERS[0])
    assert fleet.observed == before + 1


def repaired_meanwhile() -> int:
    """How often is corrected what somebody has corrected since another WALCluster looked."""
    world = Fleet()
    own = world.kafka.add_topic("__transaction_state", replicas=(1, 2, 3), configs={"min.insync.replicas": "3"})
    other = OTHERS[0]
    world.kube.apply(other, spec_of(other, **REPAIRS), annotations={"seawall.dev/paused": "true"})
    world.run(300)
    world.time.time += timedelta(seconds=world.settle_one(KEY))
    world.settle_one(KEY)  # sees 3
    own.configs["min.insync.replicas"] = "2"
    controller: Any = world.brokers.controller
    kept = controller._kept[other]
    world.kube.apply(other, spec_of(other, **REPAIRS))
    cluster = world.kube.get(WALCluster, other)
    assert cluster is not None
    # As if the period had ended just now, with what the object says unchanged.
    controller._kept[other] = replace(kept, until=0, observed_from=brokers._observed_from(cluster))
    world.settle_one(other)
    return world.kafka.requests.get("alter_configs", 0)


def test_nothing_is_corrected_by_what_was_seen_for_another_object() -> None:
    assert repaired_meanwhile() == 0


def test_who_corrects_by_a_shared_look_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokers, "would_repair", lambda *_: False)
    assert repaired_meanwhile() == 1


def test_a_connection_that_nobody_uses_keeps_no_look() -> None:
    observer, other = BrokersObserver(Time()), KafkaConnection(("other:9092",))
    for key in OTHERS[:2]:
        observer.observe(key, KAFKA, 0, lambda: NOTHING)
    observer.observe(OTHERS[0], other, 0, lambda: NOTHING)
    observer.forget(OTHERS[1])
    assert list(observer._shared) == [other]
    observer.forget(OTHERS[0])
    observer.forget(OTHERS[0])
    assert not observer._shared


def test_other_credentials_are_another_look() -> None:
    observer, seen = BrokersObserver(Time()), list[str]()

    def ask(name: str) -> NothingObserved:
        seen.append(name)
        return NOTHING

    observer.observe(OTHERS[0], KAFKA, 0, lambda: ask("one"))
    assert observer.observe(OTHERS[1], KAFKA, 0, lambda: ask("shares")).is_older
    observer.observe(OTHERS[2], KafkaConnection(KAFKA.bootstrap_servers, password="other"), 0, lambda: ask("other"))
    assert seen == ["one", "other"]


def test_who_waits_for_a_look_that_began_too_early_takes_one_of_its_own() -> None:
    began, goes_on = threading.Event(), threading.Event()
    observer = BrokersObserver(Time())

    def slow() -> NothingObserved:
        began.set()
        assert goes_on.wait(10)
        return NOTHING

    own = NothingObserved(Reason.NOT_ASKED, "its own")
    with ThreadPoolExecutor() as pool:
        first = pool.submit(observer.observe, OTHERS[0], KAFKA, None, slow)
        assert began.wait(10)
        second = pool.submit(observer.observe, OTHERS[1], KAFKA, None, lambda: own)
        goes_on.set()
        assert first.result(10).found is NOTHING
        assert second.result(10).found is own
