"""The operator dies at every call to the outside of a roll: the next one ends at the same place.

Maintenance may not be left on, nor the finalizer; the world checks after every change and step that never two datanodes
are down.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.rollout.workload import UpdateStrategy
from seawall.reconciler import Outcome
from tests.datanodes.test_restart import render
from tests.datanodes.test_restart_maintenance import GONE, OTHER
from tests.support.deaths import die_at_every_call
from tests.support.golden import compare_text
from tests.worlds.restart_world import CHANGES, SET, WAL, World

GOLDEN = Path(__file__).parents[1] / "domain/datanodes/golden/operator_dies_at_each_step.txt"
MANY = 200
STEPS = frozenset({Outcome.RECORDED, Outcome.ACTED})

LATE = 8.0
"""Seconds: it looks less often, and so dies at fewer calls that only read."""


def ask() -> World:
    """Somebody asks for a restart of all datanodes, and their regions are flushed first."""
    world = World(late=LATE)
    world.settle()
    world.annotate(restart="monday")
    return world


def configure() -> World:
    """The configuration changes, and a partition is lowered for it."""
    world = World(strategy=UpdateStrategy.ROLLING_UPDATE, partition=3, late=LATE)
    world.apply(walConfig={"configMapName": "greptimedb-wal"})
    render(world, 'max_batch_bytes = "1MB"')
    world.settle()
    render(world, 'max_batch_bytes = "512KB"')
    return world


def delete() -> World:
    """The WALCluster is deleted while the database is in maintenance."""
    world = ask()
    world.settle(until=lambda: world.data_plane.maintenance)
    world.kube.deletes_at = world.time.now()
    world.kube.remove(WAL)
    return world


def edit() -> World:
    """The spec names another database while the first one is in maintenance."""
    world = ask()
    world.settle(until=lambda: world.data_plane.maintenance)
    world.add_database(OTHER)
    world.name_metasrv(OTHER)
    return world


def edit_while_a_datanode_replays() -> World:
    """The same, when a pod has gone already."""
    world = ask()
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING)
    world.add_database(OTHER)
    world.name_metasrv(OTHER)
    return world


def remove() -> World:
    """The spec names no database any more."""
    world = ask()
    world.settle(until=lambda: world.data_plane.maintenance)
    world.apply(**GONE)
    return world


def edit_and_delete() -> World:
    """The WALCluster is deleted, and says something else than when its database entered maintenance."""
    world = edit()
    world.kube.deletes_at = world.time.now()
    world.kube.remove(WAL)
    return world


def edit_greptimedb() -> World:
    """Somebody edits a GreptimeDBCluster, and its partition is lowered pod by pod."""
    world = World(is_managed=True, late=LATE)
    world.settle()
    world.edit_greptimedb()
    return world


def edit_greptimedb_in_mid_roll() -> World:
    """Somebody edits it once more, when a pod has gone already."""
    world = edit_greptimedb()
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING)
    world.edit_greptimedb()
    return world


SCENARIOS = (
    ask,
    configure,
    delete,
    edit,
    edit_while_a_datanode_replays,
    remove,
    edit_and_delete,
    edit_greptimedb,
    edit_greptimedb_in_mid_roll,
)


def end_state(world: World) -> Any:
    """What must be the same, however often a process died on the way; who went in which order may differ."""
    found, status = world.kube.get(WALCluster, WAL), world.restart()
    return (
        sorted(world.went),
        len(world.in_maintenance()),
        world.datanodes.statefulsets[SET].partition,
        world.datanodes.statefulsets[SET].template,
        sorted((pod.name, pod.revision, pod.ready) for pod in world.datanodes.running.values()),
        (status.stage, status.restarted, status.done_request, status.config_hash, status.maintenance),
        None if found is None else found.metadata.finalizers,
    )


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_death_at_any_call_of_a_roll_changes_nothing_about_the_end(scenario: Callable[[], World]) -> None:
    world = scenario()
    worlds = die_at_every_call(world, lambda each, guard: each.settle(each.process(guard)), end_state, CHANGES)
    assert world.in_maintenance() == []
    assert worlds > 4


def test_a_death_at_any_call_keeps_no_wal_cluster_whose_database_of_before_is_silent() -> None:
    world = remove()
    world.data_plane.is_silent, world.is_given_up = True, True
    world.kube.deletes_at = world.time.now()
    world.kube.remove(WAL)
    worlds = die_at_every_call(world, lambda each, guard: each.settle(each.process(guard)), end_state, CHANGES)
    assert world.kube.get(WALCluster, WAL) is None
    assert worlds > 4


def test_a_roll_whose_operator_dies_after_each_of_its_steps_goes_on_where_it_was() -> None:
    """Reviewed as a transcript: what the status said, and what was done, by one process after another."""
    world = ask()
    began, reported, processes = world.time.now(), list[str](), 0
    while world.restart().done_request != "monday":
        assert processes < MANY, "\n".join(reported[-24:])
        world.pass_time(timedelta(seconds=LATE))  # until the next one leads
        process = world.process()
        processes += 1
        reported.append(f"# operator {processes}")
        while (ticked := process.tick(WAL)).outcome not in STEPS:
            world.note()
            world.pass_time(timedelta(seconds=ticked.after or LATE))
        world.note()
        world.check()
        seconds = (world.time.now() - began) // timedelta(seconds=1)
        status = world.restart()
        reported += [f"{seconds:4}s {status.stage or '':11} {status.reason}: {status.message}"]
        reported += [f"        event {line}" for line in world.lines]
        world.lines.clear()
    text = "\n".join(reported) + "\n"
    compare_text(GOLDEN, text)
    assert sorted(world.went) == [f"datanode-{number}" for number in range(3)]
    assert not world.data_plane.maintenance
