"""A backup dies at every call to the outside: the next process ends at the same place, and so do two at once."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.api.v1alpha1.spark_job import JobStage
from tests.support.deaths import die_at_every_call
from tests.worlds.backup_world import FULL, NEXT, BackupWorld

CHANGES = frozenset({"create", "delete", "replace_status", "write_config_map"})


def end_state(world: BackupWorld) -> Any:
    status = world.walbackup(NEXT).status
    return (
        (status.stage, status.outcome, status.attempt, status.topics, status.findings, status.counts, status.message),
        (status.chain, status.manifest, status.verified is not None),
        [(found.type, found.status, found.reason, found.message) for found in status.conditions],
        world.holds(),
        sorted(key.name for key in world.spark.specs),
        world.stored,
        world.log_starts(),
    )


def an_incremental_one(**attributes: Any) -> BackupWorld:
    world = BackupWorld()
    assert world.backed_up().status.stage is JobStage.COMPLETED
    world.write("wal_1", 7)
    for name, value in attributes.items():
        setattr(world, name, value)
    world.back_up(NEXT, parentRef={"name": FULL.name})
    return world


@pytest.mark.parametrize("attributes", [{}, {"damaged": True}, {"dies_late": 1}])
def test_a_death_at_any_call_of_a_backup_changes_nothing_about_the_end(attributes: dict[str, Any]) -> None:
    world = an_incremental_one(**attributes)
    worlds = die_at_every_call(
        world, lambda each, guard: each.settle_backup(NEXT, each.backer(guard)), end_state, CHANGES
    )
    assert worlds > 15


def test_two_operators_at_once_make_one_chain() -> None:
    world = an_incremental_one()
    processes = [world.backer(), world.backer()]
    for number in range(400):
        found = world.settle_backup(NEXT, processes[number % 2], ticks=1)
    assert (found.status.stage, found.status.attempt) == (JobStage.COMPLETED, 1)
    assert sorted(name for _, name in world.stored) == sorted(
        each.status.manifest.name for each in (world.walbackup(FULL), world.walbackup(NEXT)) if each.status.manifest
    )
