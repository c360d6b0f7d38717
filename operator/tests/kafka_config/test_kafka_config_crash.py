"""The operator dies at every call while configs are set and taken back, and before each call the world moves.

One life of each kind ends at the same place after a death at any call. ADVERSARY=all lives all calls times moves;
without it each so-manieth of them, but all moves right before a config is changed.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.kafka_config.test_kafka_config import brought_up
from tests.support.deaths import die_at_every_call
from tests.support.golden import compare_counts
from tests.worlds.kafka_config_world import FOREIGN, KEPT, LARGEST, KafkaConfigWorld
from tests.worlds.managed_moves import all_is_applied_again, another_operator_acts, status_goes
from tests.worlds.managed_world import CHANGES
from tests.worlds.purge_world import Calls, Guard

LIVES_ALL = os.environ.get("ADVERSARY") == "all"
EVERY = 1 if LIVES_ALL else 29
Move = Callable[[KafkaConfigWorld], object]


def edited() -> KafkaConfigWorld:
    """One value is another one, one is gone."""
    world = brought_up()
    world.set_config(message_max_bytes="3000000", log_roll_ms="60000")
    return world


def emptied() -> KafkaConfigWorld:
    """None is declared any more."""
    world = brought_up()
    world.set_config()
    return world


def end_state(world: KafkaConfigWorld) -> Any:
    return (world.condition(), world.told(), world.recorded(), sorted(world.kafka.defaults.items()), world.tokens())


@pytest.mark.parametrize("begin", [KafkaConfigWorld, edited, emptied])
def test_a_death_at_any_call_leaves_the_same_configs(begin: Callable[[], KafkaConfigWorld]) -> None:
    def live(world: KafkaConfigWorld, guard: Guard | None) -> None:
        world.live(guard)

    world = begin()
    assert die_at_every_call(world, live, end_state, CHANGES) > 5
    assert world.is_applied()
    assert world.kafka.defaults == world.declared()


def another_value(world: KafkaConfigWorld) -> None:
    world.set_config(message_max_bytes="4000000")


def nothing_is_declared(world: KafkaConfigWorld) -> None:
    world.set_config()


def somebody_sets_ours(world: KafkaConfigWorld) -> None:
    world.set_default(LARGEST, "5")


def somebody_takes_ours_back(world: KafkaConfigWorld) -> None:
    world.set_default(KEPT, None)


def somebody_sets_another(world: KafkaConfigWorld) -> None:
    world.set_default(*FOREIGN)


def another_kafka_answers(world: KafkaConfigWorld) -> None:
    """Its addresses lead elsewhere: who asks right before the act finds out."""
    world.kafka.cluster_id = "another"


MOVES: tuple[Move, ...] = (
    another_value,
    nothing_is_declared,
    somebody_sets_ours,
    somebody_takes_ours_back,
    somebody_sets_another,
    another_kafka_answers,
    all_is_applied_again,
    status_goes,
    another_operator_acts,
)


def lived(start: KafkaConfigWorld, at: int, move: Move) -> KafkaConfigWorld:
    """One life, with one move right before a call."""
    world = copy.deepcopy(start)
    own, calls = world.kafka.cluster_id, Calls(world.check, CHANGES)
    calls.make_before(at, lambda: move(world))
    world.live(calls, ticks=90)
    world.kafka.cluster_id = own
    world.live(until=world.is_applied)
    return world


@pytest.mark.timeout(10_000 if LIVES_ALL else 300)
@pytest.mark.parametrize("begin", [edited, emptied])
def test_no_move_before_any_call_sets_what_nobody_declares(begin: Callable[[], KafkaConfigWorld]) -> None:
    start = begin()
    calm = copy.deepcopy(start)
    calls = Calls(calm.check, CHANGES)
    calm.live(calls)
    pairs = [(at, move) for at in range(len(calls.names)) for move in MOVES]
    acts = {at for at, name in enumerate(calls.names) if name == "alter_default_configs"}
    assert acts
    chosen = [pair for number, pair in enumerate(pairs) if number % EVERY == 0 or pair[0] in acts]
    for at, move in chosen:
        world = lived(start, at, move)
        left = {key for key in world.kafka.defaults if key not in {*world.declared(), *world.strangers}}
        if move in {status_goes, all_is_applied_again}:
            continue  # what is ours is known by the status alone (docs/kafka.md#configs)
        assert not left, (at, move.__name__)
    print(  # noqa: T201 - the count is the evidence
        f"{begin.__name__}: calls {len(calls.names)}, moves {len(MOVES)}, pairs {len(pairs)}, "
        f"lived {len(chosen)}, 0 violations"
    )
    compare_counts("kafka config adversary", begin.__name__, {"pairs": len(pairs), "moves": len(MOVES)})
