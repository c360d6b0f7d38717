"""Where topics are made, in a world in memory: even from the first day, and said where that cannot be."""

from __future__ import annotations

from collections import Counter

import pytest

from seawall.api.meta import Condition, ConditionType
from seawall.domain.conditions import find_condition
from seawall.domain.errors import Refused
from tests.fakes.kafka_reassigner import FakeReassigner
from tests.worlds.reassignment_world import World


def made(world: World, first: int = 6) -> list[tuple[int, ...]]:
    """The replicas of the topics that were not there at the beginning."""
    return [on for name, on in world.placed().items() if int(name.removeprefix("wal_")) >= first]


def grown(world: World, count: int, **reassignment: object) -> World:
    """Somebody adds topics to the pool."""
    world.declare(reassignment, count=count)
    world.settle()
    return world


def test_a_pool_that_grows_evens_out_what_is_there() -> None:
    world = grown(World(lambda _: (1,)), 15)
    assert Counter(broker for on in made(world) for broker in on) == {2: 3, 3: 3, 4: 3}
    assert world.reported("TopicsCreated") == ["TopicsCreated: Created 9 topics (wal_6 … wal_14)"]
    assert world.status() is None, "nothing has to be moved then"


def test_an_excluded_broker_gets_no_new_topic() -> None:
    world = grown(World(lambda _: (1, 2)), 10, excludeBrokers=[4])
    assert all(4 not in on for on in made(world))


def test_a_broker_that_is_down_gets_nothing_and_the_event_says_so() -> None:
    world = World(lambda _: (1, 2))
    world.kafka.offline = {4}
    world.declare(count=8)
    world.rounds(4)
    assert all(4 not in on for on in made(world))
    assert world.reported("TopicsCreated") == [
        "TopicsCreated: Created 2 topics (wal_6, wal_7); none is on broker 4, which is not online"
    ]


def test_topics_that_may_be_created_and_not_described_are_not_created_for_ever() -> None:
    """Metadata leave them out without an error, so that they were missing at each look."""
    world = World(lambda _: (1, 2))
    world.kafka.refuses_topics = {"wal_6"}
    world.declare(count=7)
    world.rounds(30)
    assert world.reported("TopicsCreated") == []
    found = ready(world)
    assert found.reason == "NotSupportedByKafka"
    assert "refused topic wal_6" in found.message
    assert "without the right Describe" in found.message
    world.kafka.refuses_topics.clear()
    world.settle()
    assert ready(world).status == "True"


def ready(world: World) -> Condition:
    """What is told first."""
    found = find_condition(world.cluster().status.conditions, ConditionType.READY)
    assert found is not None
    return found


def test_kafka_chooses_where_seawall_may_not_see_the_brokers_and_the_event_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(lambda _: (1, 2))

    def refuses(_: FakeReassigner) -> None:
        raise Refused("Kafka refused to describe the cluster: Cluster authorization failed.")

    monkeypatch.setattr(FakeReassigner, "brokers", refuses)
    world.declare(count=7)
    world.rounds(4)
    assert len(made(world)) == 1
    assert world.reported("TopicsCreated") == [
        (
            "TopicsCreated: Created topic wal_6; Kafka chose their brokers: Kafka refused to describe the cluster:"
            " Cluster authorization failed."
        )
    ]
