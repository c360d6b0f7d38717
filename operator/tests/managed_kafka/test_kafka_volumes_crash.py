"""Who lets volumes grow dies at every call to the outside, and the world moves before every call.

Judged as claims grow (`worlds/kafka_volumes_world.py`): none asks for less than before, none that the identity does not
know is touched, none asks for what nobody declared, no template changes. In the end all have what is declared, or it is
said why not. ADVERSARY=all lives all calls times moves; without it each so-manieth of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.managed_kafka.test_kafka_volumes import SENTENCE, brought_up
from tests.support.deaths import die_at_every_call
from tests.support.golden import compare_counts
from tests.support.moves import of
from tests.worlds.kafka_volumes_world import CHANGES, GI, VolumesWorld
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAL
from tests.worlds.purge_world import Calls, Guard

LIVES_ALL = os.environ.get("ADVERSARY") == "all"
EVERY = 1 if LIVES_ALL else 41
Move = Callable[[VolumesWorld], object]


def larger() -> VolumesWorld:
    """Larger volumes are declared."""
    world = brought_up()
    world.grow("2Gi")
    return world


def is_full() -> VolumesWorld:
    """The same, because the disk of a broker is full."""
    world = brought_up()
    world.fill(0)
    world.live()
    world.grow("2Gi")
    return world


def is_refused() -> VolumesWorld:
    """The same, and the class of one does not allow it."""
    world = larger()
    world.objects.refuses["data-wal-1"] = SENTENCE
    return world


def end_state(world: VolumesWorld) -> Any:
    sizes = {node: world.size(node) for node in (*BROKERS, *CONTROLLERS)}
    return sizes, world.told(), world.condition(), world.violations, sorted(world.grown), world.running


@pytest.mark.parametrize(
    ("begin", "reason"), [(larger, "AllSized"), (is_full, "AllSized"), (is_refused, "ChangeRefused")]
)
def test_a_death_at_any_call_ends_with_the_same_sizes(begin: Callable[[], VolumesWorld], reason: str) -> None:
    def live(world: VolumesWorld, guard: Guard | None) -> None:
        world.live(guard, ticks=60)

    world = begin()
    worlds = die_at_every_call(world, live, end_state, CHANGES)
    told = world.told()
    assert told is not None
    assert told[1] == reason
    assert len(world.grown) == len(set(world.grown)), "each claim is asked once"
    assert worlds > 2


def another_operator_acts(world: VolumesWorld) -> None:
    """A leader that slept: what this one decided is old by the time it acts."""
    process = world.grower()
    for _ in range(8):
        if process.tick(WAL).after != 0:
            world.go_on()


def a_claim_grows_by_hand(world: VolumesWorld) -> None:
    world.claim_grows(1, 5 * GI)


def it_is_paused_for_a_while(world: VolumesWorld) -> None:
    world.kube.apply(WAL, world.spec, annotations={"seawall.dev/paused": "true"})
    another_operator_acts(world)
    world.kube.apply(WAL, world.spec)


MOVES: tuple[Move, ...] = (
    *(of("lose_volume", node) for node in (0, 2, 100)),
    *(of("another_claim", node) for node in (1, 101)),
    *(of("lose_disk", node) for node in (1, 2)),
    *(of("kill", node) for node in (0, 102)),
    of("fill", 2),
    of("grow", "3Gi"),
    of("grow", "2Gi", "controllers"),
    of("scale", 4),
    of("forget_status"),
    of("lose_record", "wal-kafka-identity"),
    of("delete_and_apply"),
    of("go_on"),
    another_operator_acts,
    a_claim_grows_by_hand,
    it_is_paused_for_a_while,
)
IS_TOLD = ("VolumeLost", "IdentityUnclear", "NodesNotOnline")
"""What keeps a volume from being as large as declared, in KafkaNodesHealthy: it is lost, or not this Kafka's."""


def lived(at: int, move: Move) -> VolumesWorld:
    """One life, with one move right before a call."""
    world = larger()
    calls = Calls(world.check, CHANGES)
    calls.make_before(at, lambda: move(world))
    world.live(calls, ticks=60)
    world.live()
    return world


@pytest.mark.timeout(10_000 if LIVES_ALL else 300)
def test_no_move_before_any_call_lets_a_wrong_claim_grow() -> None:
    calm = larger()
    calls = Calls(calm.check, CHANGES)
    calm.live(calls)
    pairs = [(at, move) for at in range(len(calls.names)) for move in MOVES]
    tried = 0
    for at, move in pairs[::EVERY]:
        world = lived(at, move)
        assert world.is_sized() or any(map(world.says, IS_TOLD)), (at, move.__name__, world.told(), world.condition())
        tried += 1
    print(f"calls {len(calls.names)}, moves {len(MOVES)}, pairs {len(pairs)}, lived {tried}, 0 violations")  # noqa: T201 - the count is the evidence
    compare_counts("kafka volumes adversary", "larger", {"pairs": len(pairs), "moves": len(MOVES)})


def test_two_operators_at_once_ask_each_claim_once() -> None:
    world = larger()
    processes = [world.grower(), world.grower()]
    for number in range(60):
        if processes[number % 2].tick(WAL).after != 0:
            world.go_on()
    assert world.is_sized()
    assert sorted(world.grown) == ["data-wal-0", "data-wal-1", "data-wal-2"]
