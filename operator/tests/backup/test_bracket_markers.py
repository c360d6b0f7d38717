"""Restore points whose database goes back behind what was recorded: an older copy of its metadata is in them."""

from __future__ import annotations

import pytest

from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.domain.backup import kind
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.point_world import BRACKET, NAME, PointWorld
from tests.worlds.purge_world import TOPICS
from tests.worlds.verification_world import why


def bracketed_behind_markers(mode: str = "Logical") -> PointWorld:
    """The log is held from 31 on, and nobody takes a snapshot yet."""
    world = PointWorld(takes=False, is_busy=False, auto_prune=mode)
    for topic in TOPICS:
        world.store.put_topic(topic, 30)
    for region in list(world.data_plane.regions):
        world.flush(region)
    world.back_up(bracket=BRACKET)
    world.settle_bracket()
    point = world.walbackup().status.restore_point
    assert point is not None
    assert {row.reads_from for row in point.topics} == {31}
    return world


def go_back(world: PointWorld) -> None:
    """The metadata are replaced by an older copy."""
    world.markers.clear()
    world.store.put_topic(TOPICS[1], 10)


def assert_went_back(found: WALBackup) -> None:
    assert (found.status.stage, why(found)[0], found.status.manifest) == (JobStage.FAILED, "PointLost", None)
    said = f"the pruned marker of topic {TOPICS[1]} went back to 10, and the log was held from 31 on"
    assert said in why(found)[1]


@pytest.mark.parametrize("mode", ["Logical", "Disabled"])
def test_metadata_that_went_back_meanwhile_cost_the_point(mode: str) -> None:
    """Their revision was raised, as etcd's restore can, and Seawall began anew: nobody else notices."""
    world = bracketed_behind_markers(mode)
    go_back(world)
    world.takes = True
    assert_went_back(world.settle_backup())


def test_markers_that_rose_again_before_the_snapshot_was_named_cost_the_point() -> None:
    """The snapshot has them as they were in between."""
    world = bracketed_behind_markers()
    go_back(world)
    world.settle_backup(ticks=6)
    for topic in TOPICS:
        world.write(topic, 20)
        world.store.put_topic(topic, 35)
    world.takes = True
    assert_went_back(world.settle_backup())


def went_back_while_nobody_could_look() -> None:
    """A database that is silent hinders no snapshot, and is looked at once it answers again."""
    world = bracketed_behind_markers()
    go_back(world)
    world.data_plane.is_silent, world.takes = True, True
    found = world.settle_backup(ticks=30)
    assert (found.status.restore_point.snapshot, why(found)[0]) == (NAME, "CannotLook")
    world.data_plane.is_silent = False
    assert_went_back(world.settle_backup())


def test_metadata_that_went_back_while_nobody_could_look_cost_the_point() -> None:
    went_back_while_nobody_could_look()


def test_a_marker_that_went_back_is_missed() -> None:
    unseen = rewritten(kind.Backup, "_selection", "if selection.fallen is not None:", "if False:")
    assert not find_survivors([(unseen, went_back_while_nobody_could_look)])
