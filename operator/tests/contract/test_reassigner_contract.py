"""What every PartitionReassigner does."""

from __future__ import annotations

from seawall.domain.kafka_log import TopicTrouble
from seawall.domain.partitions import PartitionId, Rates, Throttles, throttled_replicas
from tests.fakes.kafka import FakeKafka
from tests.fakes.kafka_moves import advance
from tests.fakes.kafka_reassigner import FakeReassigner

FIRST = PartitionId("a", 0)


def test_a_replication_factor_grows_one_replica_after_another() -> None:
    kafka = FakeKafka(brokers=3)
    kafka.add_topic("a", replicas=[1])
    reassigner = FakeReassigner(kafka)
    assert reassigner.reassign({FIRST: (2, 1, 3)}) == {}
    (moving,) = reassigner.ongoing().values()
    assert (moving.target, moving.original, moving.adding) == ((2, 1, 3), frozenset({1}), frozenset({2, 3}))
    assert advance(kafka) == 1
    (now,) = reassigner.partitions(["a"])["a"]  # type: ignore[misc]
    assert now.isr == {1, 2}
    assert advance(kafka) == 1
    assert reassigner.ongoing() == {}
    (then,) = reassigner.partitions()["a"]  # type: ignore[misc]
    assert (then.replicas, then.isr, then.leader) == ((2, 1, 3), frozenset({1, 2, 3}), 1)
    assert reassigner.elect_preferred_leaders([FIRST]) == {}
    (led,) = reassigner.partitions()["a"]  # type: ignore[misc]
    assert led.leader == 2


def test_a_cancelled_move_restores_the_replicas() -> None:
    kafka = FakeKafka(brokers=3)
    kafka.add_topic("a", replicas=[1, 2])
    reassigner = FakeReassigner(kafka)
    assert reassigner.reassign({FIRST: (3, 2)}) == {}
    assert reassigner.reassign({FIRST: None}) == {}
    assert reassigner.reassign({FIRST: None}) == {}
    (now,) = reassigner.partitions()["a"]  # type: ignore[misc]
    assert (now.replicas, now.isr) == ((1, 2), frozenset({1, 2}))


def test_a_refused_move_leaves_the_others_alone() -> None:
    kafka = FakeKafka(brokers=3)
    kafka.add_topic("a", replicas=[1])
    reassigner = FakeReassigner(kafka)
    gone = PartitionId("gone", 0)
    failures = reassigner.reassign({gone: (1, 2), FIRST: (1, 2)})
    assert {partition: failure.why for partition, failure in failures.items()} == {gone: TopicTrouble.UNKNOWN_TOPIC}
    assert reassigner.ongoing().keys() == {FIRST}


def test_throttles_are_set_seen_and_removed() -> None:
    kafka = FakeKafka(brokers=3)
    kafka.add_topic("a", replicas=[1])
    reassigner = FakeReassigner(kafka)
    wanted = throttled_replicas({FIRST: ((1,), (1, 2, 3))})
    reassigner.set_throttles(1_000_000, wanted)
    assert reassigner.throttles(["a", "gone"]) == Throttles(Rates(1_000_000, 1_000_000), {}, wanted)
    reassigner.clear_throttles(["a", "gone"])
    assert reassigner.throttles(["a"]) == Throttles()
