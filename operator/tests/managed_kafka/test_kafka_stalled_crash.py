"""An operator dies at every call while what is stalled, or never came up, is mended: the end is the same."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import pytest

from tests.managed_kafka import test_kafka_never_up as never_up
from tests.managed_kafka import test_kafka_stalled as stalled
from tests.support.deaths import WorldsLeft
from tests.worlds.kafka_roll_world import CRASHES, NO_IMAGE
from tests.worlds.kafka_voters_world import CHANGES as BASE
from tests.worlds.kafka_whole_world import BROKER_POOL, WholeWorld

CHANGES = BASE | {"renew_template", "evict"}


def all_that_never_came_up() -> WholeWorld:
    world = WholeWorld()
    never_up.break_all(world, CRASHES)
    world.rolls = world.changes = True
    world.live(ticks=60)
    never_up.mend_all(world)
    return world


def what_was_applied_again() -> WholeWorld:
    world = never_up.applied_again(copy.deepcopy(stalled.BROUGHT_UP), NO_IMAGE)
    never_up.mend_all(world)
    world.answer_for_it()
    return world


def one_that_is_stalled_and_leaves() -> WholeWorld:
    world = copy.deepcopy(stalled.FOUR_BROKERS)
    world.stalls(3)
    world.pools(brokers=3)
    world.live(until=lambda: world.on(3) == set())
    return world


def one_that_is_stalled_beside_a_lost_disk() -> WholeWorld:
    world = copy.deepcopy(stalled.BROUGHT_UP)
    world.breaks(BROKER_POOL)
    world.live(ticks=400, until=lambda: world.roll().reason == "RestartTookTooLong")
    world.lose_disk(stalled.follower(world))
    world.give_options(BROKER_POOL)
    return world


def one_that_leaves_with_its_vote_and_is_lost() -> WholeWorld:
    world = copy.deepcopy(stalled.FIVE_CONTROLLERS)
    world.annotate(restart_kafka="1")
    world.live(ticks=1_000, until=lambda: world.restarts() == "wal-1-0")
    world.holds(104)
    world.pools(controllers=3)
    return world


def are_out(world: WholeWorld) -> bool:
    """Both controllers are that were to leave."""
    return world.removed() == {103, 104} and world.removal() is None


def is_out(world: WholeWorld) -> bool:
    """Broker 3 is, and others may be restarted."""
    return world.removed() == {3} and world.removal() is None


LIVES: tuple[tuple[Callable[[], WholeWorld], Callable[[WholeWorld], bool]], ...] = (
    (all_that_never_came_up, WholeWorld.is_whole),
    (what_was_applied_again, WholeWorld.is_whole),
    (one_that_is_stalled_and_leaves, is_out),
    (one_that_is_stalled_beside_a_lost_disk, WholeWorld.is_done),
    (one_that_leaves_with_its_vote_and_is_lost, are_out),
)


@pytest.mark.parametrize(("begin", "until"), LIVES)
def test_a_death_at_any_call_mends_all_the_same(
    begin: Callable[[], WholeWorld], until: Callable[[WholeWorld], bool]
) -> None:
    world = begin()
    left = WorldsLeft(world, CHANGES)
    world.live(left, ticks=800, until=lambda: until(world))
    ends = {(frozenset(world.votes()), frozenset(world.removed()))}
    for copied in left.worlds.values():
        copied.live(ticks=800, until=partial(until, copied))
        ends.add((frozenset(copied.votes()), frozenset(copied.removed())))
    assert len(ends) == 1
    assert len(left.worlds) > 10
