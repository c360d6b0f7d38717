"""Brokers that have not heard of the end of a move: for a while they show its partition as it was before."""

from __future__ import annotations

import pytest

from tests.reassignment.test_reassignment_min_isr import MIN_ISR
from tests.reassignment.test_reassignment_run import of_three, raising, stages
from tests.worlds.reassignment_world import World

ANSWERS = (1, 2, 3, 5, 9)
"""For so many answers: of one and the same tick, and of some one after another."""


def late(world: World, answers: int) -> World:
    world.kafka.moves.late = answers
    return world


def ended_well(world: World) -> None:
    assert world.run().message is not None
    assert "left alone" not in str(world.lines), "a move of its own is taken for somebody else's"
    assert world.is_unthrottled()
    world.rounds(8)
    assert stages(world).count("ReassignmentCompleted") == 1


@pytest.mark.parametrize("answers", ANSWERS)
def test_a_growth_ends_as_planned(answers: int) -> None:
    world = late(raising(), answers)
    world.settle()
    assert world.factors() == {3}
    ended_well(world)


@pytest.mark.parametrize("answers", ANSWERS)
def test_a_broker_is_drained_once(answers: int) -> None:
    world = late(World(of_three), answers)
    world.declare({"excludeBrokers": [3]})
    world.settle()
    assert all(3 not in replicas for replicas in world.placed().values())
    assert world.factors() == {3}
    ended_well(world)


@pytest.mark.parametrize("answers", ANSWERS)
def test_replicas_go_once(answers: int) -> None:
    world = late(World(of_three), answers)
    world.declare(replicationFactor=2)
    world.settle()
    assert world.factors() == {2}
    ended_well(world)


@pytest.mark.parametrize("answers", ANSWERS)
def test_a_topic_of_kafkas_own_gets_its_replicas_in_one_run(answers: int) -> None:
    """One partition after another leaves its only broker: while it is shown with that one as well, it has four."""
    world = World(of_three, most=1, internal_topics={"repair": True})
    offsets = world.kafka.add_topic("__consumer_offsets", replicas=(4,), partitions=3, configs={MIN_ISR: "1"})
    late(world, answers).declare({"excludeBrokers": [4]})
    world.settle()
    assert [sorted(offsets.replicas_of(number)) for number in range(3)] == [[1, 2, 3]] * 3
    assert "ReassignmentAborting" not in stages(world)
    ended_well(world)


@pytest.mark.parametrize("answers", ANSWERS)
def test_an_abort_gives_all_partitions_their_replicas_back(answers: int) -> None:
    world = late(raising(), answers)
    before = world.placed()
    world.settle(until=lambda: world.stage() == "Ongoing" and world.placed()["wal_3"] != before["wal_3"])
    world.annotate(abort_reassignment="not now")
    world.settle()
    assert world.placed() == before
    assert world.is_unthrottled()
    assert stages(world)[-2:] == ["ReassignmentAborting", "ReassignmentAborted"]
