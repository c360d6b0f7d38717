"""Where a chain ends: nothing is ever glued over a gap."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.spark_job import JobStage
from tests.worlds.backup_world import BACKUP, FULL, NEXT, BackupWorld
from tests.worlds.purge_world import NAMESPACE, TOPICS
from tests.worlds.verification_world import why

CONTINUES: dict[str, Any] = {"parentRef": {"name": "full"}}
OTHER = Key(NAMESPACE, "other")


def after_a_full_one() -> BackupWorld:
    world = BackupWorld()
    assert world.backed_up().status.stage is JobStage.COMPLETED
    return world


def refused(world: BackupWorld, **spec: Any) -> tuple[str, str]:
    """The reason and the sentence of an incremental one that wrote nothing."""
    before = dict(world.stored)
    found = world.backed_up(NEXT, **{**CONTINUES, **spec})
    assert (found.status.stage, found.status.manifest, world.stored) == (JobStage.FAILED, None, before)
    return why(found)


def test_a_topic_that_was_made_again_ends_the_chain() -> None:
    world = after_a_full_one()
    world.foreign.add("wal_1")
    world.kafka.topics.pop("wal_1")
    world.kafka.add_topic("wal_1", replicas=(1, 2, 3), configs={"min.insync.replicas": "2"}).log.now = world.time.now
    world.write("wal_1", 60)
    assert refused(world)[0] == "ChainEnded"


def test_records_that_were_deleted_before_they_were_backed_up_end_the_chain() -> None:
    world = after_a_full_one()
    for region in list(world.data_plane.regions):
        world.write("wal_1", 10)
        world.flush(region)
    for region in list(world.data_plane.regions):
        world.flush(region)
    world.start_run(flush={"whenBehindEntries": 1, "timeout": "10m"})
    world.settle()
    start = world.log_starts()["wal_1"]
    assert start > 40
    assert refused(world) == (
        "ChainEnded",
        f"records of topic wal_1 from 40 to {start} were deleted before they were backed up",
    )


def test_a_log_that_lost_its_tail_ends_the_chain() -> None:
    world = after_a_full_one()
    world.foreign.add("wal_1")
    world.kafka.topics["wal_1"].log.end = 30
    assert refused(world)[0] == "ChainEnded"


def metadata_of_an_older_copy(world: BackupWorld) -> None:
    """The markers go back, and a person says that they are right; the log still has what they do not skip."""
    world.markers.clear()
    for topic in TOPICS:
        world.store.put_topic(topic, 10)


def after_a_full_one_behind_the_marker() -> BackupWorld:
    world = BackupWorld()
    for topic in TOPICS:
        world.store.put_topic(topic, 30)
    for region in list(world.data_plane.regions):
        world.flush(region)
    found = world.backed_up()
    assert {(row.start, row.chain_start) for row in found.status.topics} == {(31, 31)}
    return world


def test_metadata_of_an_older_copy_end_the_chain() -> None:
    """Else every backup would go on Completed, and none could be restored: the chain never has 11 to 30."""
    world = after_a_full_one_behind_the_marker()
    metadata_of_an_older_copy(world)
    assert refused(world) == ("ChainEnded", "topic wal_0 is read from 11 on, and the chain begins at 31")
    found = world.backed_up(OTHER)
    assert (found.status.stage, {row.start for row in found.status.topics}) == (JobStage.COMPLETED, {11})


def test_where_the_chain_begins_is_known_of_every_backup_of_it() -> None:
    world = after_a_full_one_behind_the_marker()
    found = world.backed_up(NEXT, **CONTINUES)
    assert {(row.start, row.chain_start) for row in found.status.topics} == {(40, 31)}
    metadata_of_an_older_copy(world)
    found = world.backed_up(OTHER, parentRef={"name": "next"})
    assert why(found) == ("ChainEnded", "topic wal_0 is read from 11 on, and the chain begins at 31")


@pytest.mark.parametrize(("parent", "end"), [("full", "ChainEnded"), ("next", "BackedUp")])
def test_a_backup_of_an_operator_that_did_not_say_it_is_continued_where_nobody_knows(parent: str, end: str) -> None:
    """A full one begins the chain; of another one there is no knowing, as before."""
    world = after_a_full_one_behind_the_marker()
    keys = [FULL] if parent == "full" else [FULL, NEXT]
    if parent == "next":
        world.backed_up(NEXT, **CONTINUES)
    for key in keys:
        found = world.walbackup(key)
        rows = tuple(row.model_copy(update={"chain_start": None}) for row in found.status.topics)
        world.kube.replace_status(found, found.status.model_copy(update={"topics": rows}))
    metadata_of_an_older_copy(world)
    found = world.backed_up(OTHER, parentRef={"name": parent})
    assert why(found)[0] == end


def test_a_version_that_is_not_known_for_a_moment_ends_no_chain() -> None:
    world = after_a_full_one_behind_the_marker()
    world.data_plane.versions[1] = ""
    found = world.backed_up(NEXT, **CONTINUES)
    assert (found.status.stage, {row.chain_start for row in found.status.topics}) == (JobStage.COMPLETED, {31})


def test_a_topic_that_is_new_joins_the_chain_from_where_a_restart_would_read() -> None:
    world = BackupWorld()
    world.backed_up(topics=["wal_0", "wal_1"])
    world.write("wal_0", 3)
    found = world.backed_up(NEXT, **CONTINUES)
    assert [(row.name, row.start, row.end) for row in found.status.topics] == [
        ("wal_0", 40, 43),
        ("wal_1", 40, 40),
        ("wal_2", 1, 40),
    ]


@pytest.mark.parametrize(
    ("sentence", "disturb"),
    [
        ("is not there", lambda world: world.kube.remove(FULL, WALBackup)),
        (
            "is kept at s3://wal/greptimedb, and the WALCluster declares s3://elsewhere",
            lambda world: world.declare({**BACKUP, "storage": {"s3": {"bucket": "elsewhere"}}}),
        ),
        ("is continued by other already", lambda world: world.backed_up(OTHER, **CONTINUES)),
    ],
)
def test_a_parent_that_cannot_be_continued_is_refused_in_one_sentence(sentence: str, disturb: Any) -> None:
    world = after_a_full_one()
    disturb(world)
    reason, message = refused(world)
    assert reason == "ParentUnusable"
    assert sentence in message


def test_a_parent_that_failed_is_not_continued() -> None:
    world = BackupWorld(damaged=True)
    world.backed_up()
    world.damaged = False
    assert refused(world) == (
        "ParentUnusable",
        "WALBackup full is Failed: only one that is Completed, and wrote something, is continued",
    )


def test_a_parent_that_somebody_changed_in_the_store_is_refused() -> None:
    world = after_a_full_one()
    ((place, content),) = world.stored.items()
    world.stored[place] = content + b" "
    world.forged.add(place)
    world.back_up(NEXT, **CONTINUES)
    found = world.settle_backup(NEXT)
    assert (why(found)[0], found.status.manifest) == ("ChainEnded", None)


def test_of_two_that_continue_one_parent_the_older_one_does() -> None:
    world = after_a_full_one()
    world.back_up(NEXT, **CONTINUES)
    world.time.time += timedelta(seconds=60)
    younger = world.backed_up(OTHER, **CONTINUES)
    assert why(younger) == ("ParentUnusable", "WALBackup full is continued by next already")
    assert world.settle_backup(NEXT).status.stage is JobStage.COMPLETED


def test_one_that_failed_and_wrote_nothing_is_in_nobodys_way() -> None:
    world = after_a_full_one()
    world.damaged = True
    world.backed_up(OTHER, **CONTINUES)
    world.damaged = False
    assert world.backed_up(NEXT, **CONTINUES).status.stage is JobStage.COMPLETED
