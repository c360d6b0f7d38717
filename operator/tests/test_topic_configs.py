"""Configs that looks share: how old they may be, and when they are read anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from seawall.controllers.topic_configs import FRESH_FOR_MS, RecentConfigs
from seawall.domain.kafka import Configs
from seawall.domain.topics.actions import ConfigChange
from tests.fakes.kafka import FakeKafka
from tests.purge_world import Calls, World


class Asked(FakeKafka):
    """Remembers what it was asked to describe."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[str]] = []

    def describe_configs(self, topics: Sequence[str]) -> Mapping[str, Configs]:
        self.asked.append(list(topics))
        return super().describe_configs(topics)


@pytest.fixture
def kafka() -> Asked:
    kafka = Asked()
    for name in ("wal_0", "wal_1"):
        kafka.add_topic(name, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
    return kafka


def ids(kafka: Asked) -> dict[str, str]:
    return {name: topic.log.topic_id for name, topic in kafka.topics.items()}


def test_within_half_a_minute_kafka_is_asked_once(kafka: Asked) -> None:
    recent = RecentConfigs()
    first = recent.read(kafka, ids(kafka), 0)
    assert recent.read(kafka, ids(kafka), FRESH_FOR_MS - 1) == first
    assert kafka.asked == [["wal_0", "wal_1"]]
    assert first["wal_1"]["min.insync.replicas"] == "2"


def test_after_half_a_minute_they_are_read_anew(kafka: Asked) -> None:
    recent = RecentConfigs()
    recent.read(kafka, ids(kafka), 0)
    kafka.alter_configs([ConfigChange("wal_0", set={"min.insync.replicas": "3"})])
    assert recent.read(kafka, ids(kafka), FRESH_FOR_MS)["wal_0"]["min.insync.replicas"] == "3"


def test_a_recreated_or_new_topic_is_not_taken_for_the_one_that_was_read(kafka: Asked) -> None:
    recent = RecentConfigs()
    recent.read(kafka, ids(kafka), 0)
    kafka.delete_topics(["wal_0"])
    kafka.add_topic("wal_0", replicas=(1, 2, 3), configs={"cleanup.policy": "compact"})
    assert recent.read(kafka, ids(kafka), 1)["wal_0"] == {"cleanup.policy": "compact"}
    kafka.add_topic("wal_2", replicas=(1, 2, 3), configs={"min.insync.replicas": "1"})
    assert recent.read(kafka, ids(kafka), 2).keys() == {"wal_0", "wal_1", "wal_2"}


def test_a_topic_that_kafka_does_not_know_yet_has_none_and_is_asked_for_again(kafka: Asked) -> None:
    recent = RecentConfigs()
    known = ids(kafka)
    assert recent.read(kafka, known | {"wal_9": "an-id"}, 0).keys() == known.keys()
    recent.read(kafka, known | {"wal_9": "an-id"}, 1)
    assert kafka.asked == [["wal_0", "wal_1", "wal_9"]] * 2


def test_looks_of_a_walcluster_share_them() -> None:
    world = World()
    calls = Calls(world.check)
    looks = world.looks(calls)
    for _ in range(3):
        looks.look(world.cluster())
    assert calls.names.count("describe_configs") == 1
    assert calls.names.count("describe_offsets") == 3
