"""Restore points that continue a backup: the chain must have all that their snapshots may need."""

from __future__ import annotations

from typing import Any

from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.reconciler import Reconciler
from tests.worlds.backup_world import NEXT
from tests.worlds.point_world import BRACKET, PointWorld, logs_of
from tests.worlds.purge_world import TOPICS
from tests.worlds.verification_world import why


def continued_behind_the_marker(**bracket: Any) -> PointWorld:
    """A point that continues a full backup, and begins while not every datanode has said its version."""
    world = PointWorld(is_busy=False)
    for topic in TOPICS:
        world.store.put_topic(topic, 30)
    for region in list(world.data_plane.regions):
        world.flush(region)
    full = world.backed_up()
    assert {row.start for row in full.status.topics} == {31}
    world.data_plane.versions[1] = ""
    world.back_up(NEXT, bracket={**BRACKET, **bracket}, parentRef={"name": "full"}, timeout="1h")
    return world


def test_a_point_waits_until_it_is_known_what_its_chain_must_have() -> None:
    """Else it would say that its snapshot may need the log from its start, and nobody could go back to it."""
    world = continued_behind_the_marker()
    process = world.backer()
    found = world.settle_backup(NEXT, process, ticks=30)
    said = "it waits until it is known what the database reads of topic wal_0 (VersionUnknown)"
    assert (why(found), found.status.restore_point) == (("WaitingForReports", said), None)
    world.data_plane.versions.clear()
    found = world.settle_backup(NEXT, process)
    assert (found.status.stage, why(found)[0]) == (JobStage.COMPLETED, "BackedUp")
    assert {row.reads_from for row in found.status.restore_point.topics} == {31}
    assert logs_of(world, found) == dict.fromkeys(TOPICS, (31, 40))


def test_a_point_whose_chain_may_not_have_all_of_it_is_none() -> None:
    world = continued_behind_the_marker(timeout="1m")
    found = world.settle_backup(NEXT)
    said = "topic wal_0 may be read from 0 on (VersionUnknown), and the chain begins at 31: make a full backup"
    assert (why(found), found.status.restore_point, world.holds()) == (("ChainEnded", said), None, [])


def test_a_bracket_that_began_before_its_chain_costs_the_point() -> None:
    """As an operator of before recorded it."""
    world = continued_behind_the_marker()
    world.data_plane.versions.clear()
    process = world.backer()
    found = world.settle_bracket(NEXT, process)
    point = found.status.restore_point
    assert point is not None
    rows = tuple(row.model_copy(update={"reads_from": 0}) for row in point.topics)
    world.kube.replace_status(
        found, found.status.model_copy(update={"restore_point": point.model_copy(update={"topics": rows})})
    )
    found = world.settle_backup(NEXT, process)
    assert why(found)[0] == "PointLost"
    assert "begins at 31 now, and the snapshot may need it from 0: take another snapshot" in why(found)[1]


def nearly_all_of_it(world: PointWorld, process: Reconciler[Any, Any, Any, Any]) -> WALBackup:
    """Of four hours ten minutes are left; holds are looked at all the while, or their time would not count."""
    return [world.wait(300, process, NEXT) for _ in range(46)][-1]


def test_a_hold_lasts_as_long_as_both_waits_of_its_point() -> None:
    """For what its chain must have, and then for the snapshot: each may take almost all the time that there is."""
    world = continued_behind_the_marker(timeout="4h")
    process = world.backer()
    world.settle_backup(NEXT, process, ticks=30)
    assert why(nearly_all_of_it(world, process))[0] == "WaitingForReports"
    world.data_plane.versions.clear()
    world.settle_bracket(NEXT, process)
    world.takes = False
    nearly_all_of_it(world, process)
    for topic in TOPICS:
        world.write(topic, 20)
    for region in list(world.data_plane.regions):
        world.flush(region)
    for topic in TOPICS:
        world.store.put_topic(topic, 50)
    world.start_run()
    world.settle()
    assert world.log_starts() == dict.fromkeys(TOPICS, 40)
    world.takes = True
    found = world.settle_backup(NEXT, process)
    assert (found.status.stage, found.status.attempt, why(found)[0]) == (JobStage.COMPLETED, 1, "BackedUp")
