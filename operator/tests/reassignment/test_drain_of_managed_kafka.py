"""A broker of a Kafka that Seawall runs is drained of all topics; of another Kafka only the pool leaves it."""

from __future__ import annotations

from functools import partial

import pytest

from seawall.observe import partitions
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.reassignment_world import TOPICS, World

OTHERS = {"theirs": (3, 1), "alone": (3,), "__consumer_offsets": (3, 4, 1)}
Patch = pytest.MonkeyPatch


def with_others(*, is_managed: bool = True) -> World:
    world = World(lambda number: (number % 3 + 1, (number + 1) % 3 + 1, 4), is_managed=is_managed)
    for name, replicas in OTHERS.items():
        min_isr = str(max(1, len(replicas) - 1))
        world.kafka.add_topic(name, replicas=replicas, configs={"min.insync.replicas": min_isr}).log.append(7)
    world.settle()
    return world


def on(world: World, broker: int) -> set[str]:
    return {name for name, replicas in world.placed().items() if broker in replicas}


def test_all_topics_leave_an_excluded_broker_and_keep_as_many_replicas_as_they_have() -> None:
    world = with_others()
    assert on(world, 3) >= OTHERS.keys()
    world.declare({"excludeBrokers": [3]})
    world.settle()
    assert on(world, 3) == set()
    assert {name: len(world.placed()[name]) for name in OTHERS} == {name: len(some) for name, some in OTHERS.items()}
    assert world.run().why == ("Drain",)
    assert world.is_unthrottled()


def test_of_a_kafka_that_somebody_else_runs_other_topics_stay() -> None:
    world = with_others(is_managed=False)
    world.declare({"excludeBrokers": [3]})
    world.settle()
    assert on(world, 3) == OTHERS.keys()


def test_others_stay_where_nothing_is_excluded() -> None:
    world = with_others()
    world.annotate(rebalance="1")
    world.settle()
    assert {name: world.placed()[name] for name in OTHERS} == OTHERS


def test_a_topic_that_somebody_makes_there_meanwhile_leaves_too() -> None:
    world = with_others()
    world.declare({"excludeBrokers": [3]})
    world.settle(until=lambda: world.stage() == "Ongoing")
    world.kafka.add_topic("late", replicas=(3, 2))
    world.settle()
    assert on(world, 3) == set()


def test_fewer_brokers_than_replicas_of_any_topic_is_said_in_one_sentence() -> None:
    world = with_others()
    world.kafka.add_topic("wide", replicas=(1, 2, 3, 4))
    world.declare({"excludeBrokers": [3]})
    world.rounds(4)
    found = world.status()
    assert found is not None
    assert found.infeasible == "excludeBrokers leaves 3 brokers, and 4 replicas need more"
    assert on(world, 3) >= OTHERS.keys()


def test_others_are_asked_for_their_own_min_isr() -> None:
    world = with_others()
    world.kafka.topics["__consumer_offsets"].catching_up = {(0, 3), (0, 4)}
    world.kafka.topics["__consumer_offsets"].configs["min.insync.replicas"] = "1"
    world.declare({"excludeBrokers": [3]})
    world.settle(until=lambda: on(world, 3) == set())  # one in sync is what it needs


@pytest.mark.parametrize("is_own", [True, False])
def test_nothing_leaves_while_another_topic_is_under_its_min_isr_or_the_default_of_all(*, is_own: bool) -> None:
    world = with_others()
    if not is_own:
        del world.kafka.topics["__consumer_offsets"].configs["min.insync.replicas"]
        world.kafka.defaults["min.insync.replicas"] = "2"
    world.kafka.topics["__consumer_offsets"].catching_up = {(0, 1), (0, 4)}
    world.declare({"excludeBrokers": [3]})
    world.rounds(8)
    assert world.run().message == "1 partition (__consumer_offsets-0) under min.insync.replicas, or without a leader"
    assert world.kafka.moves.ongoing == {}


def test_the_pool_alone_decides_when_loads_are_evened_out() -> None:
    world = with_others()
    world.declare({"excludeBrokers": [3]})
    world.settle()
    world.declare({"excludeBrokers": []})
    world.annotate(rebalance="1")
    world.settle()
    assert on(world, 3) == set(TOPICS) & on(world, 3) != set()


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(partitions, "_topics_to_drain", "spec.kafka.managed is None or not excluded", "True"),
        test_all_topics_leave_an_excluded_broker_and_keep_as_many_replicas_as_they_have,
    ),
    (
        rewritten(partitions, "_topics_to_drain", "spec.kafka.managed is None or not excluded", "not excluded"),
        test_of_a_kafka_that_somebody_else_runs_other_topics_stay,
    ),
    (
        rewritten(partitions, "_others_under_min_isr", "isinstance(needed, int)", "False"),
        test_others_are_asked_for_their_own_min_isr,
    ),
    (
        rewritten(partitions, "_others_under_min_isr", "found.extend(find", "tuple(find"),
        partial(test_nothing_leaves_while_another_topic_is_under_its_min_isr_or_the_default_of_all, is_own=False),
    ),
)


def test_each_guard_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
