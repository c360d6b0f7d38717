"""What Kafka tells an error of, in metadata of all topics: nobody may take it for a topic that there is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from seawall.adapters.kafka import admin as kafka_admin
from seawall.adapters.kafka import raw_cluster
from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.adapters.kafka.logs import ConfluentKafkaLogs
from seawall.adapters.kafka.topic_answers import failure_of
from seawall.domain.errors import NotSupported
from seawall.domain.kafka import KafkaConnection, KafkaView, NewTopic
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.partitions import Partition, PartitionId
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

UNKNOWN, LEADERLESS = KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE


def described(name: str, error: int = 0) -> SimpleNamespace:
    """A topic of a MetadataResponse: with an error it has no partitions."""
    whole = SimpleNamespace(
        partition_index=0, replica_nodes=[1, 2], isr_nodes=[1], leader_id=1, eligible_leader_replicas=[2]
    )
    return SimpleNamespace(name=name, error_code=error, partitions=[] if error else [whole])


def broker_with(*topics: SimpleNamespace) -> Any:
    """Connections to a broker that describes these topics."""
    answer = SimpleNamespace(topics=list(topics), next_cursor=None)
    return SimpleNamespace(describe_topics=lambda _: answer, ask_any=lambda _: answer)


def of_all_topics_only_those_that_come_or_go_are_left_out() -> None:
    kafka = broker_with(described("wal_0"), described("wal_1", UNKNOWN), described("wal_2", LEADERLESS))
    found = raw_cluster.partitions(kafka, None)
    assert found["wal_0"] == (Partition(PartitionId("wal_0", 0), (1, 2), frozenset({1}), 1),)
    assert "wal_1" not in found
    leaderless = found.get("wal_2")
    assert isinstance(leaderless, TopicFailure)
    assert leaderless.why is TopicTrouble.UNANSWERED


def test_of_all_topics_only_those_that_come_or_go_are_left_out() -> None:
    of_all_topics_only_those_that_come_or_go_are_left_out()
    mutants = (
        rewritten(raw_cluster, "partitions", "topic.error_code not in UNKNOWN_TOPIC", "not topic.error_code"),
        rewritten(raw_cluster, "partitions", "if topics is not None or topic.error_code not in UNKNOWN_TOPIC", ""),
    )
    assert find_survivors([(each, of_all_topics_only_those_that_come_or_go_are_left_out) for each in mutants]) == []


def test_of_a_topic_with_an_error_nobody_is_known_to_be_eligible() -> None:
    kafka = broker_with(described("wal_0"), described("wal_1", LEADERLESS))
    assert raw_cluster.eligible_leaders(kafka) == {PartitionId("wal_0", 0): {2}}


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch) -> ConfluentKafkaAdmin:
    """Of a Kafka that takes every topic, and whose metadata show none."""
    monkeypatch.setattr(kafka_admin, "LED_TIMEOUT", 0.1)
    monkeypatch.setattr(ConfluentKafkaAdmin, "_in_batches", lambda *_, **__: None)
    monkeypatch.setattr(ConfluentKafkaAdmin, "view", lambda _: KafkaView("kafka", frozenset({1}), {}))
    return ConfluentKafkaAdmin(KafkaConnection(("127.0.0.1:1",)))


def answers(patch: pytest.MonkeyPatch, code: int) -> None:
    """Whoever describes topics by their names gets this."""
    patch.setattr(
        ConfluentKafkaLogs,
        "describe_topics",
        lambda _, topics: {each: failure_of(each, KafkaError(code)) for each in topics},
    )


def test_a_topic_that_may_be_created_and_not_described_is_a_refusal(
    created: ConfluentKafkaAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(NotSupported, match=r"refused topic wal_0: .*authorization failed.* right Describe"):
        created.create_topics([NewTopic("wal_0", 1, {})])


def test_a_topic_that_brokers_are_slow_to_show_is_created_all_the_same(
    created: ConfluentKafkaAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, UNKNOWN)
    created.create_topics([NewTopic("wal_0", 1, {})])
