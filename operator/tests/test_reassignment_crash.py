"""The operator dies at every call to the outside of a reassignment, before it and after it, when its answer is lost.

What a process knows dies with it, so a death leaves the world as it is at that moment: at each of the N calls of one
undisturbed run the world is copied, and a new process finishes the run in the copy. Between two changes the world is
the same, however many calls only read: such copies are run once. The end must be the same, no throttle may be left,
and the world checks after every step that writes go on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tests.reassignment_world import CHANGES, World
from tests.support.watched import watched

THREE = ((1, 2, 3), (2, 3, 1), (3, 1, 2))


def grow() -> World:
    """The replication factor grows from 1 to 3."""
    world = World(pace=3)
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


class Deaths:
    """Copies the world as a death before or after each call would leave it."""

    def __init__(self, world: World) -> None:
        self.calls, self.deaths, self.changes = 0, 0, 0
        self.worlds: dict[tuple[int, datetime], World] = {}
        self._world = world

    def guard(self, port: Any) -> Any:
        """The same port, each of whose calls may be the last."""
        return watched(self, port)

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        self.calls += 1
        self._die()
        answer = function(*args, **kwargs)
        self.changes += name in CHANGES
        self._die()
        return answer

    def _die(self) -> None:
        self.deaths += 1
        key = self.changes, self._world.time.time
        if key not in self.worlds:
            self.worlds[key] = copy.deepcopy(self._world)


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


@pytest.mark.parametrize("scenario", [grow, abort, shrink, balance], ids=lambda scenario: scenario.__name__)
def test_a_death_at_any_call_of_a_reassignment_changes_nothing_about_the_end(scenario: Callable[[], World]) -> None:
    undisturbed = scenario()
    deaths = Deaths(undisturbed)
    undisturbed.settle(undisturbed.process(deaths))
    assert undisturbed.is_unthrottled()
    wanted = end_state(undisturbed)
    failures = []
    for at, left in deaths.worlds.items():
        left.settle()
        if end_state(left) != wanted or not left.is_unthrottled():
            failures.append(at)
    counts = f"calls {deaths.calls}, deaths {deaths.deaths} ({len(deaths.worlds)} worlds), failures {len(failures)}"
    print(f"{scenario.__name__}: {counts}")  # noqa: T201 - the count is the evidence
    assert deaths.deaths == 2 * deaths.calls
    assert not failures
    assert len(deaths.worlds) > 8
