"""What looks share of topics: how old it may be, and when it is read anew."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from seawall.adapters.kafka.topic_answers import unanswered
from seawall.domain.kafka import ConfigChange, Configs
from seawall.domain.kafka_log import LogSizes, TopicFailure
from seawall.domain.times import TOPICS_CONFIGS_FRESH_FOR_MS, TOPICS_SIZES_FRESH_FOR_MS
from seawall.observe.memory import RecentTopics
from tests.fakes.kafka import FakeKafka
from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.worlds.purge_world import Calls, World


class Asked(FakeKafka):
    """Remembers what it was asked to describe."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[str]] = []

    def describe_configs(self, topics: Sequence[str]) -> Mapping[str, Configs]:
        self.asked.append(list(topics))
        return super().describe_configs(topics)


class Sized(FakeKafkaLogs):
    """Tells sizes that grow by one byte with each question, of all topics but those that it keeps silent about."""

    asked = 0
    silent = frozenset[str]()

    def describe_sizes(self, topics: Collection[str]) -> Mapping[str, LogSizes | TopicFailure]:
        self.asked += 1
        answer = LogSizes({1: self.asked})
        return {name: unanswered(name, "it is down") if name in self.silent else answer for name in topics}


@pytest.fixture
def kafka() -> Asked:
    kafka = Asked()
    for name in ("wal_0", "wal_1"):
        kafka.add_topic(name, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
    return kafka


def ids(kafka: Asked) -> dict[str, str]:
    return {name: topic.log.topic_id for name, topic in kafka.topics.items()}


def test_within_half_a_minute_kafka_is_asked_once_for_configs(kafka: Asked) -> None:
    recent = RecentTopics()
    first = recent.configs(kafka, ids(kafka), 0)
    assert recent.configs(kafka, ids(kafka), TOPICS_CONFIGS_FRESH_FOR_MS - 1) == first
    assert kafka.asked == [["wal_0", "wal_1"]]
    assert first["wal_1"]["min.insync.replicas"] == "2"


def test_after_half_a_minute_configs_are_read_anew(kafka: Asked) -> None:
    recent = RecentTopics()
    recent.configs(kafka, ids(kafka), 0)
    kafka.alter_configs([ConfigChange("wal_0", set={"min.insync.replicas": "3"})])
    assert recent.configs(kafka, ids(kafka), TOPICS_CONFIGS_FRESH_FOR_MS)["wal_0"]["min.insync.replicas"] == "3"


def test_a_recreated_or_new_topic_is_not_taken_for_the_one_that_was_read(kafka: Asked) -> None:
    recent = RecentTopics()
    recent.configs(kafka, ids(kafka), 0)
    kafka.delete_topics({"wal_0": kafka.topics["wal_0"].log.topic_id})
    kafka.add_topic("wal_0", replicas=(1, 2, 3), configs={"cleanup.policy": "compact"})
    assert recent.configs(kafka, ids(kafka), 1)["wal_0"] == {"cleanup.policy": "compact"}
    kafka.add_topic("wal_2", replicas=(1, 2, 3), configs={"min.insync.replicas": "1"})
    assert recent.configs(kafka, ids(kafka), 2).keys() == {"wal_0", "wal_1", "wal_2"}


def test_a_topic_that_kafka_does_not_know_yet_has_none_and_is_asked_for_again(kafka: Asked) -> None:
    recent = RecentTopics()
    known = ids(kafka)
    assert recent.configs(kafka, known | {"wal_9": "an-id"}, 0).keys() == known.keys()
    recent.configs(kafka, known | {"wal_9": "an-id"}, 1)
    assert kafka.asked == [["wal_0", "wal_1", "wal_9"]] * 2


def test_sizes_are_ten_seconds_old_at_most(kafka: Asked) -> None:
    recent, logs = RecentTopics(), Sized(kafka)

    def size(now: int) -> int:
        return recent.sizes(logs, ids(kafka), now)["wal_1"].by_broker[1]

    moments = (0, TOPICS_SIZES_FRESH_FOR_MS - 1, TOPICS_SIZES_FRESH_FOR_MS, TOPICS_SIZES_FRESH_FOR_MS + 1)
    assert [size(now) for now in moments] == [1, 1, 2, 2]


def test_a_topic_whose_size_kafka_did_not_tell_has_none_and_is_asked_for_again(kafka: Asked) -> None:
    recent, logs = RecentTopics(), Sized(kafka)
    logs.silent = frozenset({"wal_0"})
    assert recent.sizes(logs, ids(kafka), 0).keys() == {"wal_1"}
    logs.silent = frozenset()
    assert recent.sizes(logs, ids(kafka), 1).keys() == {"wal_0", "wal_1"}


@pytest.mark.parametrize("asked", ["describe_configs", "describe_sizes"])
def test_looks_of_a_walcluster_share_them(asked: str) -> None:
    world = World()
    calls = Calls(world.check)
    observer = world.observer(calls)
    for _ in range(3):
        observer.observe(world.cluster())
    assert calls.names.count(asked) == 1
    assert calls.names.count("describe_offsets") == 3
