"""The ConfigMaps of the nodes of a managed Kafka: those of before an edit go, and none that a pod may need."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

import pytest

from seawall.api.meta import Key
from seawall.domain.managed_kafka import decide, plan
from seawall.domain.managed_kafka.objects import Manifest, ObjectKind
from tests.managed_kafka import test_kafka_roll as roll
from tests.support.mutants import Mutant, find_survivors, in_a_copy
from tests.support.source_mutants import rewritten
from tests.worlds.kafka_roll_world import RollWorld
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAL

NODES = (*BROKERS, *CONTROLLERS)


@pytest.fixture
def world() -> RollWorld:
    return copy.deepcopy(roll.BROUGHT_UP)


def files(world: RollWorld) -> set[str]:
    """The names of all ConfigMaps of nodes."""
    return {key.name for kind, key in world.objects.made if kind is ObjectKind.CONFIG_MAP}


def files_of_pods(world: RollWorld) -> set[str]:
    """The names of those that pods mount."""
    return {f"wal-{node}-{pod.template}" for node, pod in world.objects.pods[WAL].items()}


def test_files_of_before_an_edit_go_when_all_nodes_run_with_the_new_ones(world: RollWorld) -> None:
    before = files(world)
    assert len(before) == len(NODES)
    world.edit(config=roll.CONFIG)
    world.live(until=lambda: world.entry() is not None)
    roll.rolled(world)
    world.live(until=lambda: len(files(world)) == len(NODES))
    assert files(world) == files_of_pods(world)
    assert not files(world) & before
    evicted = list(world.evicted)
    world.live(ticks=20)
    assert world.evicted == evicted


def test_what_a_node_ran_with_stays_while_it_does_not_come_up_with_other_files(world: RollWorld) -> None:
    before = files(world)
    roll.broken_by_an_edit(world)
    world.live(ticks=40)
    assert before <= files(world)
    world.edit(config=roll.CONFIG)
    roll.rolled(world)
    world.live(until=lambda: len(files(world)) == len(NODES))


def test_files_stay_while_a_pod_that_may_not_go_yet_mounts_them(world: RollWorld) -> None:
    """Its StatefulSet has other files, and its container may begin anew with those that it has."""
    world.edit(config=roll.CONFIG)
    world.live(until=lambda: bool(renewed(world)))
    (node,) = renewed(world)
    other = next(each for each in CONTROLLERS if each != node)
    world.held.add(other)
    world.kill(other)
    world.live(ticks=30)
    assert world.evicted == []
    assert files_of_pods(world) <= files(world)
    world.held.clear()
    world.running.discard(node)
    world.live(until=lambda: {node, other} <= world.running)
    roll.rolled(world)


def renewed(world: RollWorld) -> set[int]:
    """Nodes whose StatefulSets have other files than their pods."""
    return {node for node, pod in world.objects.pods[WAL].items() if roll.declared(world, node) != pod.template}


def test_files_that_others_made_are_left_alone(world: RollWorld) -> None:
    place = (ObjectKind.CONFIG_MAP, Key(WAL.namespace, "wal-2-mine"))
    like = next(made for (kind, _), made in world.objects.made.items() if kind is ObjectKind.CONFIG_MAP)
    found = next(meta for (kind, _), meta in world.objects.meta.items() if kind is ObjectKind.CONFIG_MAP)
    world.objects.made[place] = Manifest(like.kind, "wal-2-mine", {**like.labels}, {})
    world.objects.meta[place] = replace(found, name="wal-2-mine", uid="mine", node=2, owner_uid=None)
    world.edit(config=roll.CONFIG)
    roll.rolled(world)
    world.live(until=lambda: len(files(world)) == len(NODES) + 1)
    world.live(ticks=20)
    assert place in world.objects.made


of = partial(in_a_copy, roll.BROUGHT_UP)


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(plan, "_needed_files", " or pod.is_terminating or not pod.is_ready", ""),
        of(test_what_a_node_ran_with_stays_while_it_does_not_come_up_with_other_files),
    ),
    (
        rewritten(plan, "_needed_files", " or pod.template != runs_with", ""),
        of(test_files_stay_while_a_pod_that_may_not_go_yet_mounts_them),
    ),
    (
        rewritten(plan, "_unused_files", "found.owner_uid == case.cluster.metadata.uid and", ""),
        of(test_files_that_others_made_are_left_alone),
    ),
    (
        rewritten(plan, "plan", "or tuple(RemoveConfig(each) for each in _unused_files(case))", "", decide),
        of(test_files_of_before_an_edit_go_when_all_nodes_run_with_the_new_ones),
    ),
)


def test_each_guard_of_files_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
