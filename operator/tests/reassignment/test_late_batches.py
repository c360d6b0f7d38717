"""A leader that freezes while it asks Kafka what it may do: it submits and cancels nothing that a person has stopped.

Another leader may have given the run up meanwhile, and removed its throttle.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import pytest

from tests.reassignment.test_reassignment_min_isr import Between, abort, cancelling
from tests.reassignment.test_reassignment_run import of_three, raising
from tests.worlds.reassignment_world import WAL, World

MOST_TICKS = 12
"""Of one that is stopped before it has acted."""


def copying() -> World:
    """Replicas are to come, under a throttle."""
    return begun(raising(pace=0))


def shrinking() -> World:
    """Replicas are to go, and min.insync.replicas is read last."""
    world = World(of_three, pace=0)
    world.declare(replicationFactor=2)
    return begun(world)


def begun(world: World) -> World:
    """Nothing is submitted yet."""
    world.settle(until=lambda: world.stage() == "Ongoing")
    assert "reassign" not in world.kafka.requests
    return world


def pause(world: World) -> None:
    """A person stops it."""
    world.annotate(paused="true")


def given_up(world: World) -> None:
    """A person aborts, and another leader has done so to the end."""
    abort(world)
    moves = world.process()[1]
    for _ in range(MOST_TICKS):
        if world.stage() == "Aborted":
            return
        moves.tick(WAL)
    raise AssertionError(f"it is not given up: {world.status()}")


def late(start: World, stop: Callable[[World], None]) -> list[str]:
    """The calls before which it was stopped, and replicas were reassigned all the same."""
    at, found = 0, list[str]()
    while True:
        at += 1
        world = copy.deepcopy(start)
        between = Between(at, partial(stop, world))
        moves = world.process(between)[1]
        for _ in range(MOST_TICKS):
            if "reassign" in between.names:
                break
            moves.tick(WAL)
        if between.names[at - 1] == "reassign":  # between the last look at the object and the act nobody could know
            break
        if "reassign" in between.names:
            found.append(between.names[at - 1])
    assert at > 20
    return found


@pytest.mark.parametrize("begin", [copying, shrinking, cancelling], ids=lambda begin: begin.__name__)
def test_what_a_person_has_stopped_is_neither_submitted_nor_cancelled(begin: Callable[[], World]) -> None:
    assert late(begin(), pause) == []


@pytest.mark.parametrize("begin", [copying, shrinking], ids=lambda begin: begin.__name__)
def test_no_batch_follows_an_abort_by_another_leader(begin: Callable[[], World]) -> None:
    assert late(begin(), given_up) == []
