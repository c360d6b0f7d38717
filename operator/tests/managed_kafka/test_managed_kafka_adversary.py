"""Before each call of the operator the world makes one move: disks, volumes, records, pods and objects go.

Judged by the disks themselves: what was acknowledged and is still on one of them is never truncated, no directory id
is on two, no template changes. At the end all is well, or the condition says what a person has to mend. ADVERSARY=all
lives all calls times moves; without it each so-manieth of them.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable

import pytest

from tests.managed_kafka.test_managed_kafka_crash import (
    gets_a_broker_more,
    gets_other_clients,
    is_applied_again,
    loses_a_disk,
    loses_a_volume,
    new,
)
from tests.support.golden import compare_counts
from tests.support.moves import of
from tests.worlds.managed_world import CHANGES, WAL, ManagedWorld
from tests.worlds.purge_world import Calls

LIVES_ALL = os.environ.get("ADVERSARY") == "all"
EVERY = 1 if LIVES_ALL else 151
ENDS = {"AllOnline", "RollingNodes", "VolumeLost", "IdentityUnclear"}
"""Nobody restarts what an edit is about in this world: that stands as RollingNodes."""

Move = Callable[[ManagedWorld], object]


def another_operator_acts(world: ManagedWorld) -> None:
    """A leader that slept: what this one decides now is old by the time it acts."""
    process = world.process()
    for _ in range(25):
        if process.tick(WAL).after != 0:
            world.go_on()


def somebody_edits_the_spec(world: ManagedWorld) -> None:
    edited = copy.deepcopy(world.spec)
    edited["kafka"]["managed"]["config"] = {"num.io.threads": "3"}
    world.kube.apply(WAL, edited)


def a_broker_is_away(world: ManagedWorld) -> None:
    world.held.add(1)
    world.kill(1)
    world.go_on()


def a_broker_is_back(world: ManagedWorld) -> None:
    world.held.clear()
    world.go_on()


def no_quorum(world: ManagedWorld) -> None:
    for node in (100, 101):
        world.kill(node)
    world.elect()


MOVES: tuple[Move, ...] = (
    *(of("lose_disk", node) for node in (0, 2, 3, 101)),
    *(of("empty_disk", node) for node in (1, 2, 102)),
    *(of("lose_volume", node) for node in (1, 2, 3, 100)),
    *(of("kill", node) for node in (0, 102)),
    *(of("lose_record", name) for name in ("wal-kafka-identity", "wal-kafka-format")),
    of("delete_and_apply"),
    of("scale", 4),
    *(of("scale_set", node) for node in (2, 101)),
    of("forget_status"),
    of("open_policy"),
    of("remove_policy"),
    of("go_on"),
    another_operator_acts,
    somebody_edits_the_spec,
    a_broker_is_away,
    a_broker_is_back,
    no_quorum,
)
LIVES: tuple[Callable[[], ManagedWorld], ...] = (
    new,
    loses_a_disk,
    loses_a_volume,
    is_applied_again,
    gets_a_broker_more,
    gets_other_clients,
)


def lived(start: ManagedWorld, at: int, move: Move) -> ManagedWorld:
    """One life, with one move right before a call."""
    world = copy.deepcopy(start)
    calls = Calls(world.check, CHANGES)
    calls.make_before(at, lambda: move(world))
    world.live(calls, ticks=90)
    world.held.clear()
    world.scale_back()
    world.live()
    return world


@pytest.mark.timeout(10_000 if LIVES_ALL else 300)
@pytest.mark.parametrize("begin", LIVES, ids=lambda each: each.__name__)
def test_no_move_before_any_call_loses_what_is_on_a_disk(begin: Callable[[], ManagedWorld]) -> None:
    start = begin()
    calm = copy.deepcopy(start)
    calls = Calls(calm.check, CHANGES)
    calm.live(calls)
    pairs = [(at, move) for at in range(len(calls.names)) for move in MOVES]
    unavoidable, told, tried = 0, 0, 0
    for at, move in pairs[::EVERY]:
        world = lived(start, at, move)
        condition = world.condition()
        assert condition is not None
        assert world.is_policy_as_declared() or condition[1] == "IdentityUnclear"
        assert condition[1] in ENDS, (begin.__name__, at, move.__name__, condition)
        unavoidable += world.unavoidable
        told += condition[1] != "AllOnline"
        tried += 1
    print(  # noqa: T201 - the count is the evidence
        f"{begin.__name__}: calls {len(calls.names)}, moves {len(MOVES)}, pairs {len(pairs)}, lived {tried}, "
        f"0 violations, {told} ended with a sentence for a person, {unavoidable} that nobody could see"
    )
    compare_counts("managed kafka adversary", begin.__name__, {"pairs": len(pairs), "moves": len(MOVES)})
