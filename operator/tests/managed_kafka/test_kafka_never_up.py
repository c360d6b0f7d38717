"""Several nodes are broken by what they began with: an edit mends those that never came up, a word the others."""

from __future__ import annotations

import copy

import pytest

from seawall.api.v1alpha1.rollout import RollStage
from tests.managed_kafka import test_kafka_stalled as stalled
from tests.worlds.kafka_roll_world import CRASHES, NO_IMAGE
from tests.worlds.kafka_whole_world import BROKER_POOL, CONTROLLER_POOL, WholeWorld
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAL

ALL = (*CONTROLLERS, *BROKERS)


@pytest.fixture
def world() -> WholeWorld:
    return copy.deepcopy(stalled.BROUGHT_UP)


def uids(world: WholeWorld) -> dict[int, str]:
    return {node: pod.uid for node, pod in world.objects.pods[WAL].items()}


def break_all(world: WholeWorld, trouble: str) -> None:
    """Nobody runs, and nothing that is declared."""
    for which in (CONTROLLER_POOL, BROKER_POOL):
        world.breaks(which, trouble)


def mend_all(world: WholeWorld, *options: str) -> None:
    """Somebody edits it all."""
    for which in (CONTROLLER_POOL, BROKER_POOL):
        world.give_options(which, *options)


@pytest.mark.parametrize("trouble", [NO_IMAGE, CRASHES])
def test_a_first_start_with_a_wrong_spec_is_mended_by_an_edit(trouble: str) -> None:
    world = WholeWorld()
    break_all(world, trouble)
    world.rolls = world.changes = True
    world.live(ticks=100)
    assert set(uids(world)) == set(ALL)
    assert not world.running
    mend_all(world)
    world.live(ticks=400, until=lambda: world.is_whole() and bool(world.kafka.logs))
    assert world.is_as_declared()
    assert world.evicted == []


def test_controllers_that_join_and_never_came_up_are_mended_by_an_edit(world: WholeWorld) -> None:
    before = uids(world)
    world.breaks(CONTROLLER_POOL)
    world.annotate(paused="true")  # nobody is rolled before the others join
    world.pools(controllers=5)
    world.give_options(CONTROLLER_POOL, "-XX:+Wrong")
    world.annotate(paused="false")
    world.live(ticks=200)
    assert {node: uid for node, uid in uids(world).items() if node in ALL} == before
    world.give_options(CONTROLLER_POOL)
    world.live(ticks=1_500, until=world.is_whole)
    assert set(world.votes()) == {100, 101, 102, 103, 104}


def applied_again(world: WholeWorld, trouble: str) -> WholeWorld:
    """Over the volumes of before, with a wrong manifest."""
    break_all(world, trouble)
    world.delete_and_apply()
    world.live(ticks=100)
    assert not world.running
    assert set(uids(world)) == set(ALL)
    return world


def test_what_is_applied_again_with_a_wrong_spec_is_mended_by_an_edit_and_a_word(world: WholeWorld) -> None:
    applied_again(world, NO_IMAGE)
    before = uids(world)
    mend_all(world)
    world.live(ticks=100)
    assert uids(world) == before, "Kafka is silent: nobody knows what a restart takes away"
    world.answer_for_it()
    world.live(ticks=1_000, until=world.is_whole)
    assert world.is_as_declared()
    assert sorted(world.evicted) == sorted(ALL)


def test_what_a_budget_keeps_meanwhile_people_delete(world: WholeWorld) -> None:
    applied_again(world, CRASHES)
    mend_all(world)
    world.answer_for_it()
    world.live(ticks=200, until=lambda: "kubectl delete pod wal-100-0 -n db" in world.roll().message)
    world.kill(100)
    world.live(ticks=200, until=lambda: "kubectl delete pod wal-101-0 -n db" in world.roll().message)
    for node in set(ALL) - world.running:  # all templates are new by then
        world.kill(node)
    world.live(ticks=400, until=world.is_whole)
    assert world.is_as_declared()


def test_a_second_wrong_edit_stops_at_one_node(world: WholeWorld) -> None:
    applied_again(world, NO_IMAGE)
    before = uids(world)
    world.answer_for_it()
    mend_all(world, "-XX:+Wrong", "-XX:+More")
    world.live(ticks=800, until=lambda: world.roll().stage is RollStage.STALLED)
    after = uids(world)
    assert len({node for node in ALL if before[node] != after[node]}) == 1
    mend_all(world)
    world.live(ticks=1_000, until=world.is_whole)


def test_one_that_runs_is_not_made_anew_because_kafka_has_not_heard_of_it_yet() -> None:
    world = WholeWorld()
    world.held.update(BROKERS)
    world.live(ticks=60)
    before = {node: uid for node, uid in uids(world).items() if node in CONTROLLERS}
    assert world.running == set(CONTROLLERS)
    world.give_options(CONTROLLER_POOL, "-XX:+Good")
    world.live(ticks=60)
    assert {node: uid for node, uid in uids(world).items() if node in CONTROLLERS} == before


def test_one_that_somebody_scaled_to_0_stays_so() -> None:
    world = WholeWorld()
    world.breaks(BROKER_POOL)
    world.live(ticks=60)
    world.scale_set(0)
    world.give_options(BROKER_POOL)
    world.live(ticks=60)
    assert 0 not in uids(world)
    world.scale_back()
    world.live(ticks=400, until=lambda: world.says("AllOnline"))
