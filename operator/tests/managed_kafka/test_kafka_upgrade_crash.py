"""An upgrade dies at every call to the outside, and features are finalized before every call of a way back.

Judged as each node goes: with its next release it can read what is finalized (V1), beside all that a roll is judged by.
In the end all nodes run what is declared. ADVERSARY=all lives all calls times moves; without it each so-manieth.
"""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass
from typing import Any

import pytest

from seawall.domain.kafka_nodes.gate import KafkaAction, RenewTemplate
from seawall.domain.rollout.actions import Evict
from seawall.reconciler import Reconciler
from tests.managed_kafka.test_kafka_roll_crash import LEFT, another_operator_acts, end_state, ends, two_are_left
from tests.managed_kafka.test_kafka_upgrade import BROUGHT_UP, upgraded
from tests.support.deaths import die_at_every_call
from tests.support.golden import compare_counts
from tests.support.moves import calls_with, of
from tests.worlds.kafka_roll_world import CHANGES
from tests.worlds.kafka_upgrade_world import NEWER, OLDER, UpgradeWorld
from tests.worlds.managed_world import WAL
from tests.worlds.purge_world import Calls

LIVES_ALL = os.environ.get("ADVERSARY") == "all"
EVERY = 1 if LIVES_ALL else 151
MOVES = (
    of("finalize"),
    of("edit"),
    of("kill", 1),
    of("forget_status"),
    of("go_on"),
    another_operator_acts,
)
"""`edit` is back to the newer version, which is that of all worlds of a roll."""


def is_upgraded() -> UpgradeWorld:
    """Two nodes are left."""
    world = copy.deepcopy(BROUGHT_UP)
    world.edit(version=NEWER)
    two_are_left(world)
    return world


def goes_back() -> UpgradeWorld:
    """No node has gone yet."""
    world = upgraded()
    world.edit(version=OLDER)
    return world


def test_a_death_at_any_call_of_an_upgrade_restarts_each_node_once() -> None:
    world = is_upgraded()
    worlds = die_at_every_call(world, ends, end_state, CHANGES)
    assert world.evicted == LEFT
    assert set(world.releases.values()) == {"4.3"}
    assert worlds > 15


def lived(at: int, move: Any) -> UpgradeWorld:
    """One life, with one move right before a call; then somebody declares what can be."""
    world = goes_back()
    younger = {"partitions": "is_unseen", "get": "is_unread", "features": "is_level_unread"}
    world.live(calls_with(move, at, world, CHANGES, younger), ticks=25)
    world.is_unseen = world.is_unread = world.is_level_unread = False
    world.edit(version=world.newest_of_finalized())
    world.live(until=lambda: world.is_as_declared() and world.entry() is None)
    return world


@pytest.mark.timeout(10_000 if LIVES_ALL else 300)
def test_no_finalization_before_any_call_lets_a_node_go_that_would_not_come_back() -> None:
    calm = goes_back()
    calls = Calls(calm.check, CHANGES)
    calm.live(calls, until=lambda: bool(calm.evicted))
    pairs = [(at, move) for at in range(len(calls.names)) for move in MOVES]
    tried = [lived(at, move) for at, move in pairs[::EVERY]]
    print(f"calls {len(calls.names)}, moves {len(MOVES)}, pairs {len(pairs)}, lived {len(tried)}, 0 violations")  # noqa: T201 - the count is the evidence
    compare_counts("kafka upgrade adversary", "goes_back", {"pairs": len(pairs), "moves": len(MOVES)})


@dataclass
class Late:
    """The controller, right before one of whose acts features are finalized."""

    world: UpgradeWorld
    controller: Any
    act: type[KafkaAction]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.controller, name)

    def perform(self, obj: Any, action: KafkaAction) -> Any:
        """One action."""
        if isinstance(action, self.act):
            self.world.finalize()
        return self.controller.perform(obj, action)


@pytest.mark.parametrize(("act", "next_release"), [(RenewTemplate, "4.3"), (Evict, "4.2")])
def test_right_before_a_node_goes_what_is_finalized_is_asked_for_again(
    act: type[KafkaAction], next_release: str
) -> None:
    world = goes_back()
    process = world.process()
    process = Reconciler(Late(world, process.controller, act), process.may_write)
    for _ in range(25):
        if process.tick(WAL).after != 0:
            world.pass_time()
    assert world.newest_of_finalized() == NEWER, "there was such an act"
    assert (world.evicted, world.next_release(101)) == ([], next_release)
