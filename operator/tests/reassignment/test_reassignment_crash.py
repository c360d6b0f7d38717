"""The operator dies at every call to the outside of a reassignment: the next one ends at the same place.

No throttle may be left, and the world checks after every change and step that writes go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seawall.domain.partitions import NO_RATES, Replica, ThrottledReplicas
from tests.fakes.kafka_reassigner import FakeReassigner
from tests.support.deaths import die_at_every_call
from tests.worlds.reassignment_world import CHANGES, World

THREE = ((1, 2, 3), (2, 3, 1), (3, 1, 2))


def grow() -> World:
    """The replication factor grows from 1 to 3."""
    world = World(pace=3)
    world.declare(replicationFactor=3)
    return world


def grow_among_lists() -> World:
    """The same, and somebody else had throttled a topic and all of another."""
    world = World(pace=3)
    lists = {"wal_0": ThrottledReplicas(frozenset({Replica(0, 1)})), "wal_3": ThrottledReplicas(every_follower=True)}
    FakeReassigner(world.kafka).alter_throttles(None, lists)
    world.declare(replicationFactor=3)
    return world


def abort() -> World:
    """The same is aborted in mid-move, when some topics have arrived and others are on their way."""
    world = grow()
    world.settle(until=lambda: world.factors() == {1, 3} and len(world.kafka.moves.ongoing) > 1)
    world.annotate(abort_reassignment="")
    return world


def shrink() -> World:
    """The replication factor falls from 3 to 2."""
    world = World(lambda number: THREE[number % 3])
    world.declare(replicationFactor=2)
    return world


def balance() -> World:
    """A fourth broker has joined, and somebody asks for a balance once."""
    world = World(lambda number: THREE[number % 3])
    world.annotate(rebalance="now")
    return world


def end_state(world: World) -> Any:
    """What must be the same, however often a process died on the way. Rates are put back to what stood before."""
    run = world.run()
    configs = {name: topic.configs for name, topic in world.kafka.topics.items()}
    return (
        world.placed(),
        configs,
        world.kafka.moves.rates,
        world.kafka.moves.ongoing,
        (run.stage, run.partitions, run.bytes, run.bytes_left, run.message, run.refused, run.rebalanced_for),
        world.cluster().metadata.finalizers,
        [(found.type, found.status, found.reason, found.message) for found in world.cluster().status.conditions],
    )


SCENARIOS = (grow, grow_among_lists, abort, shrink, balance)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_death_at_any_call_of_a_reassignment_changes_nothing_about_the_end(scenario: Callable[[], World]) -> None:
    world = scenario()
    before = _lists(world)
    worlds = die_at_every_call(world, lambda each, guard: each.settle(each.process(guard)), end_state, CHANGES)
    assert _lists(world) == before, "none of ours is left, and what others had is there again"
    assert world.kafka.moves.rates == NO_RATES
    assert worlds > 8


def _lists(world: World) -> dict[str, dict[str, str]]:
    """What is throttled, as Kafka has it, of topics of which anything is, but for those that are on their way."""
    return {
        name: found
        for name, topic in sorted(world.kafka.topics.items())
        if (found := {key: value for key, value in topic.configs.items() if "throttled" in key})
        and all(partition.topic != name for partition in world.kafka.moves.ongoing)
    }
