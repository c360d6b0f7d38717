"""Where new topics are made: as declared, else as near as it goes, and said."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.domain.kafka import NewTopic
from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId
from seawall.domain.topics.actions import CreateTopics
from seawall.domain.topics.placing import with_replicas
from tests.domain.builders import make_spec

ONE_RACK = (Broker(1, "a", BrokerState.ONLINE), Broker(2, "a", BrokerState.ONLINE), Broker(3, "a", BrokerState.ONLINE))


def placed(*brokers: Broker, factor: int = 2, **reassignment: Any) -> tuple[list[tuple[int, ...]], str]:
    """The replicas of two new topics, and what is said."""
    topics = [NewTopic(name, factor, {}) for name in ("wal_0", "wal_1")]
    found, note = with_replicas(make_spec(reassignment=reassignment), topics, [], brokers)
    return [topic.replicas for topic in found], note


def test_what_is_as_declared_is_no_news() -> None:
    replicas, note = placed(*ONE_RACK)
    assert note == ""
    assert sorted(broker for on in replicas for broker in on) in ([1, 1, 2, 3], [1, 2, 2, 3], [1, 2, 3, 3])
    replicas, note = placed(*ONE_RACK, excludeBrokers=[1])
    assert note == ""
    assert sorted(replicas) == [(2, 3), (3, 2)]


def test_a_broker_that_is_not_online_gets_nothing_and_is_named() -> None:
    down = Broker(2, "a", BrokerState.FENCED)
    replicas, note = placed(ONE_RACK[0], down, ONE_RACK[2])
    assert sorted(replicas) == [(1, 3), (3, 1)]
    assert note == "none is on broker 2, which is not online"


@pytest.mark.parametrize(
    ("reassignment", "on", "said"),
    [
        ({"racks": "Required"}, {1, 2, 3}, "not as declared: "),
        ({"racks": "Required", "excludeBrokers": [1]}, {2, 3}, "not as declared: "),
        ({"excludeBrokers": [1, 2]}, {1, 2, 3}, "not as declared: "),
        ({"excludeBrokers": [1, 9]}, {2, 3}, ""),
    ],
)
def test_what_cannot_be_as_declared_is_given_up_step_by_step_and_said(
    reassignment: dict[str, Any], on: set[int], said: str
) -> None:
    """Racks first, then exclusions; a slip in excludeBrokers excludes nobody else."""
    replicas, note = placed(*ONE_RACK, **reassignment)
    assert {broker for found in replicas for broker in found} == on
    assert note.startswith(said)
    assert bool(note) == bool(said)


def test_too_few_brokers_leave_it_to_kafka_and_are_said() -> None:
    replicas, note = placed(*ONE_RACK[:1])
    assert replicas == [(), ()]
    assert note.startswith("Kafka chose their brokers; not as declared: ")


def test_topics_that_are_there_are_counted_and_not_moved() -> None:
    there = [Partition(PartitionId(f"wal_{number}", 0), (1, 2), frozenset({1, 2}), 1) for number in (5, 6)]
    (topic,), _ = with_replicas(make_spec(), [NewTopic("wal_0", 1, {})], there, ONE_RACK)
    assert topic.replicas == (3,)


def test_the_event_has_what_is_said() -> None:
    topic = NewTopic("wal_0", 1, {})
    assert CreateTopics((topic,), note="none is on broker 2").event().message == (
        "Created topic wal_0; none is on broker 2"
    )
    assert CreateTopics((topic,)).event().message == "Created topic wal_0"
