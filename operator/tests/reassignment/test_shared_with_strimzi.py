"""Reassignments beside Strimzi: its topics are not moved, and nothing is while Cruise Control moves."""

from __future__ import annotations

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.controllers.permission import require_unmanaged
from seawall.domain.conditions import find_condition
from seawall.domain.errors import Refused
from tests.reassignment.test_reassignment_run import THREE, raising, reason_of
from tests.reassignment.test_rebalance import led, restarted
from tests.worlds.reassignment_world import TOPICS, World

REBALANCE, TOPIC = Key("kafka", "even"), Key("kafka", "wal-0")


def factors(world: World) -> dict[str, int]:
    """Replicas of each topic."""
    return {name: len(world.kafka.topics[name].replicas) for name in TOPICS}


def test_nothing_moves_while_a_rebalance_runs_and_then_all_does() -> None:
    world = raising()
    world.strimzi.put_rebalance(REBALANCE, state="Rebalancing")
    world.rounds(30)
    assert world.stage() == "Pending"
    assert reason_of(world) == ("Reassigning", "KafkaRebalance kafka/even moves replicas")
    assert set(factors(world).values()) == {1}
    world.strimzi.put_rebalance(REBALANCE, state="Ready")
    world.settle()
    assert set(factors(world).values()) == {3}
    assert reason_of(world)[0] == "Ready"


def test_a_run_under_way_submits_no_more_while_a_rebalance_runs() -> None:
    world = raising()
    world.settle(until=lambda: world.stage() == "Ongoing" and any(count > 1 for count in factors(world).values()))
    world.strimzi.put_rebalance(REBALANCE, state="Rebalancing")
    world.rounds(10)
    before = factors(world)
    assert 1 in before.values()
    world.rounds(20)
    assert factors(world) == before, "what was on its way has arrived, and no more was submitted"
    assert "it waits: KafkaRebalance kafka/even moves replicas" in world.run().message
    world.strimzi.put_rebalance(REBALANCE, state="Stopped")
    world.settle()
    assert set(factors(world).values()) == {3}


def test_a_topic_that_a_kafka_topic_manages_is_not_moved_and_the_others_are() -> None:
    world = World()
    world.strimzi.put_topic(TOPIC, "wal_0")
    world.declare(replicationFactor=3)
    world.settle()
    assert factors(world) == {**dict.fromkeys(TOPICS, 3), "wal_0": 1}
    reason, message = reason_of(world)
    assert reason == "TopicsManagedByStrimzi"
    assert "KafkaTopic kafka/wal-0 manages topic wal_0" in message
    world.strimzi.put_topic(TOPIC, "wal_0", managed="false")
    world.settle()
    assert factors(world)["wal_0"] == 3
    assert reason_of(world)[0] == "Ready"


def test_a_kafka_topic_that_comes_after_the_plan_stops_it_before_it_begins() -> None:
    world = raising()
    world.settle(until=lambda: world.stage() == "Pending")
    world.strimzi.put_topic(TOPIC, "wal_0")
    world.rounds(20)
    assert set(factors(world).values()) == {1}
    assert "KafkaTopic kafka/wal-0 manages topic wal_0" in world.run().message
    world.strimzi.delete_topic(TOPIC)
    world.settle()
    assert set(factors(world).values()) == {3}


def test_without_the_right_to_look_nothing_is_moved_and_the_run_says_why() -> None:
    world = raising()
    world.strimzi.is_installed = world.strimzi.is_forbidden = True
    world.rounds(20)
    assert set(factors(world).values()) == {1}
    assert "what Strimzi manages cannot be read" in world.run().message


def test_who_does_not_answer_for_strimzi_keeps_nobody_from_guarding() -> None:
    world = World()
    world.settle()
    world.strimzi.is_installed = world.strimzi.is_silent = True
    world.kafka.topics["wal_0"].configs["retention.ms"] = "604800000"
    world.rounds(10)
    assert world.kafka.topics["wal_0"].configs["retention.ms"] == "-1"
    shared = find_condition(world.cluster().status.conditions, ConditionType.SHARED_WITH_STRIMZI)
    assert shared is not None
    assert (shared.status, shared.reason) == ("Unknown", "StrimziUnknown")
    world.declare(replicationFactor=3)
    world.rounds(10)
    assert set(factors(world).values()) == {1}, "nothing is moved"


def test_at_the_end_of_a_run_no_leader_is_elected_while_a_rebalance_runs() -> None:
    world = raising()
    world.settle(until=lambda: world.stage() == "Verifying")
    world.strimzi.put_rebalance(REBALANCE, state="Rebalancing")
    said = len(world.lines)
    world.rounds(30)
    assert not [line for line in world.lines[said:] if "LeadersElected" in line]


@pytest.mark.parametrize("trouble", ["is_forbidden", "is_silent"])
def test_topics_are_made_and_removed_only_by_who_knows_whose_they_are_and_guarded_by_all(trouble: str) -> None:
    world = World()
    world.settle()
    world.strimzi.is_installed = True
    setattr(world.strimzi, trouble, True)
    with pytest.raises(Refused, match="what Strimzi manages"):
        require_unmanaged(world.strimzi, world.cluster(), ["wal_0"])
    require_unmanaged(world.strimzi, world.cluster(), ["wal_0"], may_be_unknown=True)
    world.strimzi.put_topic(TOPIC, "wal_0")
    setattr(world.strimzi, trouble, False)
    with pytest.raises(Refused, match="KafkaTopic kafka/wal-0 manages topic wal_0"):
        require_unmanaged(world.strimzi, world.cluster(), ["wal_0"], may_be_unknown=True)


def test_preferred_leaders_that_are_asked_for_wait_until_a_rebalance_is_over() -> None:
    world = World(lambda number: THREE[number % 3], brokers=3)
    restarted(world, 2)
    before = led(world)
    world.strimzi.put_rebalance(REBALANCE, state="Rebalancing")
    world.annotate(rebalance="after the restart")
    world.rounds(20)
    assert led(world) == before
    world.strimzi.put_rebalance(REBALANCE, state="Ready")
    world.settle()
    assert led(world) == [1, 2, 3, 1, 2, 3]
    assert world.run().rebalanced_for == "after the restart"
