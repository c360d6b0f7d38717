"""A roll of a managed Kafka dies at every call to the outside, and the world moves before every call.

Judged as each node goes (`worlds/kafka_roll_world.py`): one at a time, writes go on, voters are caught up, and only its
template is another one. In the end all nodes run as they are declared. ADVERSARY=all lives all calls times moves;
without it each so-manieth of them.
"""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind
from tests.managed_kafka.test_kafka_roll import BROUGHT_UP, CONFIG
from tests.support.deaths import die_at_every_call
from tests.support.golden import compare_counts
from tests.support.moves import calls_with, of
from tests.worlds.kafka_roll_world import CHANGES, RollWorld
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAL
from tests.worlds.purge_world import Calls, Guard

LIVES_ALL = os.environ.get("ADVERSARY") == "all"
EVERY = 1 if LIVES_ALL else 331
LEFT = [2, 100]
"""A broker, and the active controller: the others have gone before, and went alike."""
Move = Callable[[RollWorld], object]


def is_edited() -> RollWorld:
    world = copy.deepcopy(BROUGHT_UP)
    world.edit(config=CONFIG)
    return two_are_left(world)


def is_asked_for() -> RollWorld:
    world = copy.deepcopy(BROUGHT_UP)
    world.annotate(restart_kafka="1")
    return two_are_left(world)


def two_are_left(world: RollWorld) -> RollWorld:
    world.live(until=lambda: len(world.evicted) == 4 and world.entry() is None)
    world.evicted.clear()
    return world


def ends(world: RollWorld, guard: Guard | None = None) -> None:
    world.live(guard, until=world.is_rolled)


def end_state(world: RollWorld) -> Any:
    pods = world.objects.pods[WAL].items()
    made_of = {node: (pod.template, pod.spec_hash, pod.certificate, pod.is_ready) for node, pod in pods}
    return world.roll().stage, world.roll().restarted, Counter(world.evicted), made_of, world.entry()


@pytest.mark.parametrize("begin", [is_edited, is_asked_for])
def test_a_death_at_any_call_restarts_each_node_once(begin: Callable[[], RollWorld]) -> None:
    world = begin()
    worlds = die_at_every_call(world, ends, end_state, CHANGES)
    assert world.evicted == LEFT
    assert worlds > 15


def another_operator_acts(world: RollWorld) -> None:
    """A leader that slept: what this one decides now is old by the time it acts."""
    process = world.process()
    for _ in range(12):
        if process.tick(WAL).after != 0:
            world.go_on()


def somebody_edits_the_spec(world: RollWorld) -> None:
    world.edit(config={"num.io.threads": "4"})


def a_datanode_goes(world: RollWorld) -> None:
    """Its controller writes the journal, where nothing is in it."""
    kind, now = DisruptionKind.DATANODE_RESTART, world.time.time
    if world.entry() is None:
        world.write_entry(Disruption(kind=kind, name="datanode-1", uid="uid", start_time=now, budget_seconds=60))


def a_broker_falls_behind(world: RollWorld) -> None:
    world.behind[1] = 5
    for log in world.kafka.logs.values():
        log.isr.discard(1)


def a_person_drains(world: RollWorld) -> None:
    world.drain(2)


def the_pod_of_the_journal_is_made_anew(world: RollWorld) -> None:
    entry = world.entry()
    if entry is not None and entry.kind == DisruptionKind.KAFKA_NODE_RESTART:
        world.kill(int(entry.name.split("-")[1]))
        for _ in range(3):
            world.go_on()


def time_passes(world: RollWorld) -> None:
    for _ in range(4):
        world.pass_time()


def is_paused(world: RollWorld) -> None:
    world.annotate(paused="true")


MOVES: tuple[Move, ...] = (
    *(of("kill", node) for node in (0, 2, 100, 101)),
    of("forget_status"),
    of("go_on"),
    another_operator_acts,
    somebody_edits_the_spec,
    a_datanode_goes,
    a_broker_falls_behind,
    a_person_drains,
    the_pod_of_the_journal_is_made_anew,
    time_passes,
    is_paused,
)


def lived(start: RollWorld, at: int, move: Move) -> RollWorld:
    """One life, with one move right before a call; then the fault is over."""
    world = copy.deepcopy(start)
    calls = calls_with(move, at, world, CHANGES, {"partitions": "is_unseen", "get": "is_unread"})
    world.live(calls, ticks=60)
    world.is_unseen = world.is_unread = False
    settle(world)
    return world


def settle(world: RollWorld) -> None:
    entry = world.entry()
    if entry is not None and entry.kind == DisruptionKind.DATANODE_RESTART:
        world.write_entry(None)
    world.annotate(paused="false")
    world.live(until=lambda: world.is_as_declared() and world.entry() is None)


@pytest.mark.timeout(10_000 if LIVES_ALL else 300)
def test_no_move_before_any_call_lets_two_nodes_go() -> None:
    start = is_edited()
    calm = copy.deepcopy(start)
    calls = Calls(calm.check, CHANGES)
    ends(calm, calls)
    pairs = [(at, move) for at in range(len(calls.names)) for move in MOVES]
    tried = 0
    for at, move in pairs[::EVERY]:
        world = lived(start, at, move)
        assert set(world.evicted) >= set(LEFT) - away_by_itself(move), (at, move.__name__)
        tried += 1
    print(f"calls {len(calls.names)}, moves {len(MOVES)}, pairs {len(pairs)}, lived {tried}, 0 violations")  # noqa: T201 - the count is the evidence
    compare_counts("kafka roll adversary", "is_edited", {"pairs": len(pairs), "moves": len(MOVES)})


def away_by_itself(move: Move) -> set[int]:
    """Whose pod may be made anew without an eviction, with the template that it was to have."""
    return {0, 2, 100, 101} if "kill" in move.__name__ or "anew" in move.__name__ else set()


def test_two_operators_at_once_restart_each_node_once() -> None:
    world = copy.deepcopy(BROUGHT_UP)
    world.edit(config=CONFIG)
    processes = [world.process(), world.process()]
    for number in range(900):
        if processes[number % 2].tick(WAL).after != 0:
            world.pass_time()
        if world.is_rolled():
            break
    assert world.is_rolled()
    assert Counter(world.evicted) == Counter((*CONTROLLERS, *BROKERS))
    found = world.kube.get(WALCluster, WAL)
    assert found is not None
    assert found.status.disruption is None
