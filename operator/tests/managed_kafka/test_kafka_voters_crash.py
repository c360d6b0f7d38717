"""Who changes votes dies at every call to the outside, and the world moves before every call.

Judged after each call by `worlds/kafka_voters_world.py` (K1, K3, and all that holds of nodes). In the end all that are
declared vote, with the disks that they have. ADVERSARY=all lives all calls times moves; without it each so-manieth.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.v1alpha1.disruption import DisruptionKind
from tests.managed_kafka.test_kafka_voters import BROUGHT_UP, five, follower
from tests.managed_kafka.test_managed_kafka_crash import identity
from tests.support.deaths import die_at_every_call
from tests.support.golden import compare_counts
from tests.support.moves import calls_with, of
from tests.worlds.kafka_voters_world import CHANGES, VotersWorld
from tests.worlds.managed_world import WAITS, WAL
from tests.worlds.purge_world import Calls, Guard

LIVES_ALL = os.environ.get("ADVERSARY") == "all"
EVERY = 1 if LIVES_ALL else 509
Move = Callable[[VotersWorld], object]
LOST, OTHER, LEADER = 101, 102, 100
TOLD = {"VolumeLost", "NodesNotOnline", "ChangingVoters", "FormerLife", "BringingUp", "ScalingUp"}


def has_lost_a_disk() -> VotersWorld:
    """It is known to be lost, and waits for another look."""
    world = copy.deepcopy(BROUGHT_UP)
    assert follower(world) == LOST
    world.lose_disk(LOST)
    world.live(until=lambda: world.change() is not None)
    return world


def gets_two_more() -> VotersWorld:
    world = copy.deepcopy(BROUGHT_UP)
    world.controllers(5)
    return world


def loses_one_more() -> VotersWorld:
    """The fifth is out; the fourth votes."""
    world = five()
    world.controllers(3)
    world.live(until=lambda: 104 in world.removed())
    return world


def is_settled(world: VotersWorld) -> bool:
    """All is as it is declared, and is said to be."""
    return world.is_done() and (world.says("AllOnline") or world.says("RollingNodes")) and not world.tokens()


def end_state(world: VotersWorld) -> Any:
    return (
        world.condition(),
        set(world.votes()),
        world.living(),
        world.entry(),
        world.change(),
        {node: record.removed for node, record in identity(world).nodes.items()},
        sorted(world.objects.pods[WAL]),
    )


@pytest.mark.parametrize("begin", [has_lost_a_disk, gets_two_more, loses_one_more])
def test_a_death_at_any_call_changes_the_votes_all_the_same(begin: Callable[[], VotersWorld]) -> None:
    def live(world: VotersWorld, guard: Guard | None) -> None:
        world.live(guard, ticks=800, until=lambda: is_settled(world))

    world = begin()
    worlds = die_at_every_call(world, live, end_state, CHANGES)
    assert is_settled(world)
    assert worlds > 20


def another_operator_acts(world: VotersWorld) -> None:
    """A leader that slept: what this one decides now is old by the time it acts."""
    processes = world.processes()
    for _ in range(25):
        if all(process.tick(WAL).after != 0 for process in processes):
            world.go_on()


def a_datanode_goes(world: VotersWorld) -> None:
    """Its controller writes the journal, where nothing is in it."""
    world.disrupt(DisruptionKind.DATANODE_RESTART, "datanode-1")


def somebody_empties_the_journal(world: VotersWorld) -> None:
    world.write_entry(None)


def is_paused(world: VotersWorld) -> None:
    world.kube.apply(WAL, world.spec, annotations={"seawall.dev/paused": "true"})


def loses(node: int) -> Move:
    def move(world: VotersWorld) -> None:
        world.lose_disk(node)
        world.elect()

    move.__name__ = f"loses {node}"
    return move


MOVES: tuple[Move, ...] = (
    loses(LOST),
    loses(OTHER),
    of("lose_volume", LOST),
    of("crash", LOST),
    of("crash", OTHER),
    of("crash", LEADER),
    of("falls_behind", OTHER, 8),
    of("forget_status"),
    of("go_on"),
    another_operator_acts,
    a_datanode_goes,
    somebody_empties_the_journal,
    is_paused,
)


def lived(start: VotersWorld, at: int, move: Move) -> VotersWorld:
    """One life, with one move right before a call; then the fault is over."""
    world = copy.deepcopy(start)
    calls = calls_with(move, at, world, CHANGES, {"quorum": "is_unseen", "get": "is_unread"})
    world.live(calls, ticks=120)
    world.is_unseen = world.is_unread = False
    entry = world.entry()
    if entry is not None and entry.kind == DisruptionKind.DATANODE_RESTART:
        world.write_entry(None)
    world.kube.apply(WAL, world.spec)
    world.live(ticks=1200)
    return world


@pytest.mark.timeout(10_000 if LIVES_ALL else 300)
@pytest.mark.parametrize("begin", [has_lost_a_disk, gets_two_more, loses_one_more])
def test_no_move_before_any_call_changes_two_votes_or_that_of_a_disk_that_is_there(
    begin: Callable[[], VotersWorld],
) -> None:
    start = begin()
    calm = copy.deepcopy(start)
    calls = Calls(calm.check, CHANGES)
    calm.live(calls, ticks=800)
    pairs = [(at, move) for at in range(len(calls.names)) for move in MOVES]
    told, tried = 0, 0
    for at, move in pairs[::EVERY]:
        world = lived(start, at, move)
        condition = world.condition()
        assert condition is not None
        assert world.is_done() or condition[1] in TOLD, (at, move.__name__, condition)
        told += not world.is_done()
        tried += 1
    print(  # noqa: T201 - the count is the evidence
        f"calls {len(calls.names)}, moves {len(MOVES)}, pairs {len(pairs)}, lived {tried}, 0 violations, {told} told"
    )
    compare_counts("kafka voters adversary", begin.__name__, {"pairs": len(pairs), "moves": len(MOVES)})


def test_two_operators_at_once_replace_one_disk_once() -> None:
    world = has_lost_a_disk()
    processes = [*world.processes(), *world.processes()]
    for number in range(1200):
        turn = number % len(processes)
        if processes[turn].tick(WAL).after != 0 and turn == len(processes) - 1:
            world.go_on()
            world.time.time += timedelta(seconds=WAITS)
        if world.is_done() and number > 200:
            break
    assert world.is_done()
