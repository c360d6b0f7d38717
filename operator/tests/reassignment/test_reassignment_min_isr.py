"""min.insync.replicas and replicas are two controllers': whatever the order of their calls is, writes go on.

The world checks after every change that as many replicas are in sync as min.insync.replicas wants.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from seawall.reconciler import Outcome, Reconciler
from tests.fakes.kafka_moves import advance
from tests.reassignment.test_reassignment_run import reason_of
from tests.support.watched import watched
from tests.worlds.reassignment_world import TOPICS, WAL, World

MIN_ISR = "min.insync.replicas"


def min_isr(world: World) -> set[str]:
    """What is set on the topics of the pool."""
    return {world.kafka.topics[name].configs[MIN_ISR] for name in TOPICS}


def two_in_sync() -> World:
    """The replication factor grows from 1 to 3, and of two topics on their way one new replica is in sync."""
    world = World(pace=0)
    world.declare(replicationFactor=3)
    world.settle(until=lambda: len(world.kafka.moves.ongoing) == 2)
    assert advance(world.kafka) == 2
    world.rounds(2)
    return world


def abort(world: World) -> None:
    """A person aborts."""
    world.annotate(abort_reassignment="")


def shrink(world: World) -> None:
    """A person declares the old replication factor again."""
    world.declare(replicationFactor=1)


def grow_less(world: World) -> None:
    """A person declares another one."""
    world.declare(replicationFactor=2)


def delete(world: World) -> None:
    """A person deletes the WALCluster."""
    world.kube.remove(WAL)


def test_min_insync_replicas_is_raised_once_no_abort_can_take_replicas_back() -> None:
    world = World()
    world.declare(replicationFactor=3)
    world.settle(until=lambda: world.stage() == "Verifying")
    assert world.factors() == {3}
    assert (min_isr(world), world.run().most_min_in_sync_replicas) == ({"1"}, 1)
    world.settle()
    assert (min_isr(world), world.run().most_min_in_sync_replicas) == ({"2"}, None)


@pytest.mark.parametrize("end", [abort, shrink, grow_less, delete], ids=lambda end: end.__name__)
def test_a_growth_that_ends_early_stops_no_writes(end: Callable[[World], None]) -> None:
    world = two_in_sync()
    assert min_isr(world) == {"1"}
    end(world)
    world.pace = 2
    world.settle()
    assert world.kafka.moves.ongoing == {}
    assert world.is_unthrottled()
    assert world.factors() == {2 if end is grow_less else 1}


@pytest.mark.parametrize("end", [grow_less, delete], ids=lambda end: end.__name__)
def test_a_move_is_not_cancelled_while_min_insync_replicas_needs_its_new_replicas(end: Callable[[World], None]) -> None:
    """Somebody has raised it by hand, and nobody lowers it: the move arrives, under its throttle."""
    world = two_in_sync()
    moving = {found.topic for found in world.kafka.moves.ongoing}
    for name in moving:
        world.kafka.topics[name].configs[MIN_ISR] = "2"
    world.kafka.refuse = lambda _topic, key, _value: "no" if key == MIN_ISR else None
    end(world)
    world.rounds(6)
    assert {found.topic for found in world.kafka.moves.ongoing} == moving
    assert "it waits: min.insync.replicas of wal_0 is 2, and wal_0-0 would have 1 in sync" in world.run().message
    world.kafka.refuse = lambda *_: None
    world.pace = 2
    world.settle()
    assert world.kafka.moves.ongoing == {}
    assert world.is_unthrottled()


def test_an_abort_lowers_min_insync_replicas_before_it_cancels() -> None:
    world = two_in_sync()
    before = {name: (number % 3 + 1,) for number, name in enumerate(TOPICS)}
    for found in world.kafka.moves.ongoing:
        world.kafka.topics[found.topic].configs[MIN_ISR] = "2"
    world.lines.clear()
    abort(world)
    world.settle()
    assert [line.split(":")[0] for line in world.lines if line.startswith(("Configs", "Moves"))] == [
        *("ConfigsRepaired", "MovesCancelled"),
    ]
    assert world.placed() == before


@dataclass
class Between:
    """Lets something happen right before one call of a tick."""

    at: int
    make: Callable[[], None]
    names: list[str] = field(default_factory=list)

    def guard(self, port: Any) -> Any:
        """The same port, each call of which is counted."""
        return watched(self, port)

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        self.names.append(name)
        if len(self.names) == self.at:
            self.make()
        return function(*args, **kwargs)


def tick(process: Reconciler[Any, Any, Any, Any], world: World) -> None:
    """Until it waits; the world checks each."""
    for _ in range(20):
        outcome = process.tick(WAL).outcome
        world.check(outcome.value)
        if outcome not in {Outcome.RECORDED, Outcome.ACTED, Outcome.CONFLICT}:
            return
    raise AssertionError("it never waits")


def cancelling() -> World:
    """A move is to be cancelled."""
    world = two_in_sync()
    abort(world)
    return world


def returning() -> World:
    """Replicas that have arrived are to go again."""
    world = two_in_sync()
    advance(world.kafka)
    assert not world.kafka.moves.ongoing
    abort(world)
    return world


def planned() -> World:
    """It has not begun."""
    world = World(pace=0)
    world.declare(replicationFactor=3)
    world.settle(until=lambda: world.stage() == "Pending")
    return world


def raise_by_hand(world: World) -> None:
    """Where two are in sync: no writes stop by that."""
    for topic in world.kafka.topics.values():
        if len(world.kafka.led(topic, 0)[0]) > 1:
            topic.configs[MIN_ISR] = "2"


def tick_until_reassigned(world: World, between: Between) -> None:
    """A new process, for a few ticks at most."""
    moves = world.process(between)[1]
    for _ in range(4):
        if "reassign" in between.names:
            break
        moves.tick(WAL)


@pytest.mark.parametrize("begin", [cancelling, returning], ids=lambda begin: begin.__name__)
def test_min_insync_replicas_is_read_again(begin: Callable[[], World]) -> None:
    """Somebody raises it before any call; once the object is read, right before the act, nobody knew."""
    start, at, unknowable = begin(), 0, 0
    while True:
        at += 1
        world = copy.deepcopy(start)
        between = Between(at, partial(raise_by_hand, world))
        tick_until_reassigned(world, between)
        if len(between.names) < at:
            break
        if "reassign" in between.names[at - 1 : at + 1]:
            unknowable += 1
        else:
            world.check(f"min.insync.replicas was raised before call {at}, {between.names[at - 1]}")
    assert at > 20
    assert unknowable == 2


@pytest.mark.parametrize("begin", [cancelling, returning], ids=lambda begin: begin.__name__)
def test_what_kafka_does_not_tell_of_right_before_the_act_is_not_changed(begin: Callable[[], World]) -> None:
    """Whether replicas may go is not known then: a broker has not heard of the topic, or a right was taken away."""
    start, at, blind = begin(), 0, 0
    while True:
        at += 1
        world = copy.deepcopy(start)
        between = Between(at, partial(world.kafka.refuses_topics.update, TOPICS))
        tick_until_reassigned(world, between)
        if len(between.names) < at:
            break
        if "reassign" in between.names:
            assert "partitions" not in between.names[at - 1 : between.names.index("reassign")], f"before call {at}"
        else:
            blind += 1
    assert blind > 5


def test_two_controllers_that_act_at_once_never_stop_writes() -> None:
    """Before any call of the one that tends topics the other begins a growth, which is aborted when replicas arrive."""
    start, at = planned(), 0
    while True:
        at += 1
        world = copy.deepcopy(start)
        other = world.process()[1]

        def grow(world: World = world, other: Reconciler[Any, Any, Any, Any] = other) -> None:
            tick(other, world)
            advance(world.kafka)
            world.check("replicas arrive")

        between = Between(at, grow)
        manages = world.process(between)[0]
        tick(manages, world)
        if len(between.names) < at:
            break
        assert len(world.kafka.moves.ongoing) == 2
        assert min_isr(world) == {"1"}, f"raised in a run that began before call {at}, {between.names[at - 1]}"
        abort(world)
        tick(other, world)
        tick(manages, world)
        assert world.kafka.moves.ongoing == {}
    assert at > 5


def grown() -> World:
    """A growth is over, and min.insync.replicas is about to be raised."""
    world = World(pace=2)
    world.declare(replicationFactor=3)
    world.settle(until=lambda: reason_of(world)[0] == "RepairingConfigs")
    assert min_isr(world) == {"1"}
    return world


def test_min_insync_replicas_is_not_raised_for_replicas_that_have_begun_to_go() -> None:
    """A person takes the growth back before any call of the tick that raises it; only before the act nobody knew."""
    start, at, unknowable = grown(), 0, 0
    while True:
        at += 1
        world = copy.deepcopy(start)
        manages, other = world.process()

        def take_back(world: World = world, other: Reconciler[Any, Any, Any, Any] = other) -> None:
            shrink(world)
            tick(other, world)

        between = Between(at, take_back)
        world.process(between)[0].tick(WAL)
        if "alter_configs" in between.names[: at - 1]:
            break
        assert 1 in world.factors()
        if between.names[at - 1] == "alter_configs":
            unknowable += 1
        else:
            world.check(f"replicas went before call {at}, {between.names[at - 1]}")
        while manages.tick(WAL).outcome in {Outcome.RECORDED, Outcome.ACTED}:
            pass
        world.check("it is lowered at once")
    assert at > 5
    assert unknowable == 1
