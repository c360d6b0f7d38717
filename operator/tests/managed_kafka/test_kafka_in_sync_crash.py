"""Who says that nodes are in sync dies at every call to the outside, and the world moves before every call.

Somebody drains machine by machine meanwhile. What is said is judged as it is said, and each eviction that a budget lets
through as it happens (`worlds/in_sync_world.py`). In the end all are in sync, and count. ADVERSARY=all lives all calls
times moves; without it each so-manieth of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.managed_kafka.test_kafka_in_sync import brought_up
from tests.support.deaths import die_at_every_call
from tests.support.golden import compare_counts
from tests.support.moves import calls_with, of
from tests.worlds.in_sync_world import CHANGES, InSyncWorld
from tests.worlds.managed_world import WAL
from tests.worlds.purge_world import Calls, Guard

LIVES_ALL = os.environ.get("ADVERSARY") == "all"
EVERY = 1 if LIVES_ALL else 331
Move = Callable[[InSyncWorld], object]


def ends(world: InSyncWorld, guard: Guard | None = None) -> None:
    """All six are said to be in sync, one broker after another is drained, and all count again."""
    world.is_drained = False
    world.live(guard, until=world.is_all_ready)
    world.is_drained = True
    world.live(guard, until=lambda: {0, 1} <= set(world.evicted))
    world.is_drained = False
    world.live(guard, until=world.is_all_ready)


def end_state(world: InSyncWorld) -> Any:
    return world.ready(), world.told(), world.violations, {node: world.reason_of(node) for node in world.ready()}


def test_a_death_at_any_call_ends_with_all_in_sync_and_no_two_away() -> None:
    worlds = die_at_every_call(brought_up(), ends, end_state, CHANGES)
    assert worlds > 15


def another_operator_acts(world: InSyncWorld) -> None:
    """A leader that slept: what this one decided is old by the time it acts."""
    process = world.gate_keeper()
    for _ in range(6):
        if process.tick(WAL).after != 0:
            world.pass_time()


def another_pod_has_its_name(world: InSyncWorld) -> None:
    world.kill(1)
    world.go_on()
    world.go_on()


def time_passes(world: InSyncWorld) -> None:
    for _ in range(3):
        world.pass_time()


MOVES: tuple[Move, ...] = (
    *(of("kill", node) for node in (0, 2, 101)),
    *(of("crash", node) for node in (0, 1, 101)),
    of("falls_behind", 1, 5),
    of("falls_behind", 102, 5),
    *(of("drain", node) for node in (1, 100)),
    of("forget_status"),
    of("go_on"),
    another_operator_acts,
    another_pod_has_its_name,
    time_passes,
)


def lived(at: int, move: Move) -> InSyncWorld:
    """One life, with one move right before a call; then the fault is over."""
    world = brought_up()
    calls = calls_with(move, at, world, CHANGES, {"partitions": "is_unseen"})
    ends(world, calls)
    return world


@pytest.mark.timeout(10_000 if LIVES_ALL else 300)
def test_no_move_before_any_call_lets_two_go() -> None:
    calm = brought_up()
    calls = Calls(calm.check, CHANGES)
    ends(calm, calls)
    pairs = [(at, move) for at in range(len(calls.names)) for move in MOVES]
    tried = [lived(at, move) for at, move in pairs[::EVERY]]
    assert [world.violations for world in tried if world.violations] == []
    print(f"calls {len(calls.names)}, moves {len(MOVES)}, pairs {len(pairs)}, lived {len(tried)}, 0 violations")  # noqa: T201 - the count is the evidence
    compare_counts("kafka in-sync adversary", "drained", {"pairs": len(pairs), "moves": len(MOVES)})


def test_two_operators_at_once_say_the_same() -> None:
    world = brought_up()
    processes = [world.gate_keeper(), world.gate_keeper()]
    world.is_drained = True
    for number in range(200):
        if processes[number % 2].tick(WAL).after != 0:
            world.pass_time()
        if len(world.evicted) > 6:
            break
    assert len(world.evicted) > 6
    assert world.violations == []
