"""The removal of a broker dies at every call to the outside, and the world moves before every call.

Judged after each call by `worlds/kafka_removal_world.py` (K5, K6, and all that holds of nodes). In the end the broker
is out, and the same is there whoever died. ADVERSARY=all lives all calls times moves; without it each so-manieth of
them.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind
from tests.managed_kafka.test_kafka_removal import BROUGHT_UP, names
from tests.managed_kafka.test_managed_kafka_crash import identity
from tests.support.deaths import die_at_every_call
from tests.support.golden import compare_counts
from tests.support.moves import calls_with, of
from tests.worlds.kafka_removal_world import CHANGES, RemovalWorld
from tests.worlds.managed_world import WAITS, WAL
from tests.worlds.purge_world import Calls, Guard

LIVES_ALL = os.environ.get("ADVERSARY") == "all"
EVERY = 1 if LIVES_ALL else 211
Move = Callable[[RemovalWorld], object]


def is_to_lose_one() -> RemovalWorld:
    world = copy.deepcopy(BROUGHT_UP)
    world.scale(3)
    return world


def is_empty() -> RemovalWorld:
    world = is_to_lose_one()
    world.live(until=lambda: world.on(3) == set())
    return world


def end_state(world: RemovalWorld) -> Any:
    return (
        world.condition(),
        names(world, 3),
        world.kafka.moves.unregistered,
        {node: record.removed for node, record in identity(world).nodes.items()},
        sorted(world.objects.pods[WAL]),
        world.entry(),
    )


@pytest.mark.parametrize("begin", [is_empty])
def test_a_death_at_any_call_takes_the_broker_out_all_the_same(begin: Callable[[], RemovalWorld]) -> None:
    def live(world: RemovalWorld, guard: Guard | None) -> None:
        world.live(guard)

    world = begin()
    worlds = die_at_every_call(world, live, end_state, CHANGES)
    assert world.is_done()
    assert world.says("AllOnline")
    assert worlds > 20


def another_operator_acts(world: RemovalWorld) -> None:
    """A leader that slept: what this one decides now is old by the time it acts."""
    processes = world.processes()
    for _ in range(25):
        if all(process.tick(WAL).after != 0 for process in processes):
            world.go_on()


def a_datanode_goes(world: RemovalWorld) -> None:
    """Its controller writes the journal, where nothing is in it."""
    kind, now = DisruptionKind.DATANODE_RESTART, world.time.time
    if world.entry() is None:
        world.write_entry(Disruption(kind=kind, name="datanode-1", uid="uid", start_time=now, budget_seconds=60))


def somebody_empties_the_journal(world: RemovalWorld) -> None:
    world.write_entry(None)


def is_paused(world: RemovalWorld) -> None:
    world.kube.apply(WAL, world.spec, annotations={"seawall.dev/paused": "true"})


MOVES: tuple[Move, ...] = (
    of("put_topic", 3, 0),
    of("put_topic", 3),
    of("scale", 4),
    of("scale", 5),
    of("kill", 0),
    of("kill", 3),
    of("lose_disk", 3),
    of("scale_set", 2),
    of("scale_set", 3),
    of("forget_status"),
    of("go_on"),
    of("delete_and_apply"),
    another_operator_acts,
    a_datanode_goes,
    somebody_empties_the_journal,
    is_paused,
)


def lived(start: RemovalWorld, at: int, move: Move) -> RemovalWorld:
    """One life, with one move right before a call; then the fault is over."""
    world = copy.deepcopy(start)
    calls = calls_with(move, at, world, CHANGES, {"partitions": "is_unseen"})
    world.live(calls, ticks=90)
    world.is_unseen = False
    entry = world.entry()
    if entry is not None and entry.kind == DisruptionKind.DATANODE_RESTART:
        world.write_entry(None)
    world.kube.apply(WAL, world.spec)
    world.scale_back()
    world.live()
    return world


@pytest.mark.timeout(10_000 if LIVES_ALL else 300)
def test_no_move_before_any_call_stops_or_forgets_what_is_needed() -> None:
    start = is_empty()
    calm = copy.deepcopy(start)
    calls = Calls(calm.check, CHANGES)
    calm.live(calls)
    pairs = [(at, move) for at in range(len(calls.names)) for move in MOVES]
    told, tried = 0, 0
    for at, move in pairs[::EVERY]:
        world = lived(start, at, move)
        condition = world.condition()
        assert condition is not None
        assert world.is_done() or condition[1] in {"VolumeLost", "RemovalRefused"}, (at, move.__name__, condition)
        told += not world.is_done()
        tried += 1
    print(  # noqa: T201 - the count is the evidence
        f"calls {len(calls.names)}, moves {len(MOVES)}, pairs {len(pairs)}, lived {tried}, 0 violations, {told} told"
    )
    compare_counts("kafka removal adversary", "is_empty", {"pairs": len(pairs), "moves": len(MOVES)})


def test_two_operators_at_once_take_one_broker_out_once() -> None:
    world = is_to_lose_one()
    processes = [*world.processes(), *world.processes()]
    for number in range(1200):
        if processes[number % 4].tick(WAL).after != 0 and number % 4 == 3:
            world.go_on()
            world.time.time += timedelta(seconds=WAITS)
        if world.is_done() and number > 100:
            break
    world.live()
    assert world.is_done()
    assert world.kafka.moves.unregistered == {3}
