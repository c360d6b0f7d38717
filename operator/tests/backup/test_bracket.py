"""Restore points: the log is held, a person takes a snapshot, and the log is backed up to beyond it."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import SNAPSHOT_ANNOTATION, ConditionType, Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.domain.conditions import find_condition
from tests.support.deaths import die_at_every_call
from tests.worlds.backup_world import FULL, NEXT
from tests.worlds.point_world import BORN, BRACKET, NAME, PointWorld, logs_of
from tests.worlds.purge_world import NAMESPACE, TOPICS
from tests.worlds.verification_world import why

CHANGES = frozenset({"create", "delete", "replace_status", "write_config_map"})
HELD = Key(NAMESPACE, "full-1")


def status_of(obj: WALBackup, kind_: ConditionType) -> tuple[str, str]:
    found = find_condition(obj.status.conditions, kind_)
    assert found is not None
    return found.status, found.reason


def annotate(world: PointWorld, key: Key = FULL) -> None:
    raw = world.kube._objects[("WALBackup", key)]["spec"]
    world.kube.apply(key, raw, kind=WALBackup, annotations={SNAPSHOT_ANNOTATION: NAME})


def test_a_point_has_all_that_its_snapshot_may_need() -> None:
    world = PointWorld()
    found = world.backed_up(bracket=BRACKET)
    assert (found.status.stage, why(found)[0]) == (JobStage.COMPLETED, "BackedUp")
    point = found.status.restore_point
    assert (point.name, point.snapshot) == ("before-upgrade", NAME)
    assert point.held_time < point.snapshot_time < found.status.completion_time
    assert status_of(found, ConditionType.BRACKETED)[0] == "False"
    assert logs_of(world, found) == dict.fromkeys(TOPICS, (1, 48))
    held = world.kube.get_config_map(HELD)
    assert held is not None
    asked = json.loads(gzip.decompress(held.binary_data["request.json.gz"]))["restorePoint"]
    assert (asked["name"], asked["snapshot"], asked["readsFrom"]) == (point.name, NAME, dict.fromkeys(TOPICS, 1))
    assert world.holds() == []


def test_while_the_snapshot_is_taken_no_purge_takes_what_it_may_need() -> None:
    world = PointWorld(takes=False)
    world.back_up(bracket=BRACKET)
    found = world.settle_bracket()
    assert status_of(found, ConditionType.WAITING) == ("True", "AwaitingSnapshot")
    world.live_on()
    world.start_run(flush={"whenBehindEntries": 1, "timeout": "10m"})
    world.settle()
    assert max(world.log_starts().values()) == 1
    world.takes, world.is_busy = True, False
    assert world.settle_backup().status.stage is JobStage.COMPLETED


def test_a_point_may_continue_another_backup() -> None:
    world = PointWorld()
    assert world.backed_up().status.stage is JobStage.COMPLETED
    for topic in TOPICS:
        world.write(topic, 3)
    found = world.backed_up(NEXT, bracket=BRACKET, parentRef={"name": "full"})
    assert found.status.stage is JobStage.COMPLETED
    assert logs_of(world, found) == dict.fromkeys(TOPICS, (1, 51))


def test_a_topic_that_no_region_writes_to_is_in_it_and_may_become_used_meanwhile() -> None:
    world = PointWorld()
    drop_regions(world)
    world.back_up(bracket=BRACKET)
    process = world.backer()
    found = world.settle_bracket(process=process)
    assert found.status.restore_point is not None
    assert [row.name for row in found.status.restore_point.topics] == list(TOPICS)
    world.add_region(TOPICS[0], BORN, datanode=0)
    world.data_plane.regions[BORN].flushed = 0
    assert world.settle_backup(process=process).status.stage is JobStage.COMPLETED
    assert logs_of(world, world.walbackup())[TOPICS[0]] == (1, 48)


def test_a_snapshot_that_was_there_before_the_log_was_held_does_not_count() -> None:
    world = PointWorld(takes=False)
    world.back_up(bracket=BRACKET)
    annotate(world)
    process = world.backer()
    found = world.settle_backup(process=process, ticks=60)
    assert (why(found)[0], found.status.restore_point) == ("SnapshotTooEarly", None)
    assert status_of(found, ConditionType.BRACKETED)[0] == "False"
    world.back_up(bracket=BRACKET)  # without the annotation
    world.takes = True
    assert world.settle_backup(process=process).status.stage is JobStage.COMPLETED


def test_a_snapshot_that_takes_too_long_makes_no_point() -> None:
    world = PointWorld(takes=False)
    world.back_up(bracket={**BRACKET, "timeout": "10m"})
    process = world.backer()
    world.settle_bracket(process=process)
    assert not world.wait(500, process).status.is_over
    world.wait(100, process)
    found = world.settle_backup(process=process)
    assert why(found) == ("BracketTimedOut", "nobody said within 0:10:00 that the snapshot is taken")
    assert (world.holds(), world.spark.specs, found.status.manifest) == ([], {}, None)


def test_a_driver_that_dies_needs_no_other_snapshot() -> None:
    world = PointWorld(dies=1)
    found = world.backed_up(bracket=BRACKET)
    assert (found.status.stage, found.status.attempt, len(world.people.taken)) == (JobStage.COMPLETED, 2, 1)


def test_a_hold_that_is_lost_meanwhile_costs_the_point_only_if_the_log_was_cut() -> None:
    world = PointWorld(takes=False)
    world.back_up(bracket=BRACKET)
    process = world.backer()
    world.settle_bracket(process=process)
    world.live_on()
    world.kube.remove(HELD, WALHold)
    world.takes, world.is_busy = True, False
    assert world.settle_backup(process=process).status.stage is JobStage.COMPLETED

    world = PointWorld(takes=False)
    world.back_up(bracket=BRACKET)
    process = world.backer()
    world.settle_bracket(process=process)
    world.live_on()
    world.kube.remove(HELD, WALHold)
    world.start_run(flush={"whenBehindEntries": 1, "timeout": "10m"})
    world.settle()
    assert max(world.log_starts().values()) > 1
    world.takes = True
    found = world.settle_backup(process=process)
    assert (why(found)[0], found.status.manifest) == ("PointLost", None)
    assert "begins at 45 now, and the snapshot may need it from 1: take another snapshot" in why(found)[1]


def test_a_topic_that_is_made_again_meanwhile_costs_the_point() -> None:
    world = PointWorld(is_busy=False)
    world.back_up(bracket=BRACKET)
    process = world.backer()
    world.settle_bracket(process=process)
    world.foreign.add(TOPICS[1])
    world.kafka.topics.pop(TOPICS[1])
    made = world.kafka.add_topic(TOPICS[1], replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
    made.log.now = world.time.now
    world.write(TOPICS[1], 60)
    found = world.settle_backup(process=process)
    assert (found.status.stage, found.status.manifest) == (JobStage.FAILED, None)
    assert why(found)[0] == "PointLost"


def test_a_topic_that_is_not_there_begins_no_bracket() -> None:
    world = PointWorld()
    world.foreign.add("wal_1")
    del world.kafka.topics["wal_1"]
    found = world.backed_up(bracket=BRACKET)
    assert why(found) == ("NotAllBackedUp", "it would be no restore point: wal_1 OffsetsUnknown")
    assert (found.status.restore_point, world.people.taken) == (None, {})


def test_an_image_that_knows_no_restore_points_makes_none() -> None:
    found = PointWorld(old_image=True).backed_up(bracket=BRACKET)
    assert (found.status.stage, why(found)[0]) == (JobStage.FAILED, "RequestRefused")
    assert "the image wrote a backup and no restore point" in why(found)[1]


def test_a_topic_that_the_parent_does_not_have_must_be_there_from_the_beginning() -> None:
    """It is idle at the full backup, and is used, purged and backed up while nobody holds it between two attempts."""
    world = PointWorld()
    drop_regions(world)
    assert world.backed_up().status.stage is JobStage.COMPLETED
    world.dies = 1

    def live_on() -> None:
        world.add_region(TOPICS[0], BORN, datanode=0)
        world.data_plane.regions[BORN].flushed = 0
        for topic in TOPICS:
            world.write(topic, 8)

    world.people.meanwhile = live_on
    world.back_up(NEXT, bracket=BRACKET, parentRef={"name": "full"})
    process = world.backer()
    while world.walbackup(NEXT).status.stage is not JobStage.RELEASING or world.holds():
        world.settle_backup(NEXT, process, ticks=1)
    for region in list(world.data_plane.regions):
        world.flush(region)
    world.store.put_topic(TOPICS[0], world.kafka.topics[TOPICS[0]].log.end - 1)
    world.start_run()
    world.settle()
    found = world.settle_backup(NEXT, process)
    assert (found.status.stage, why(found)[0]) == (JobStage.FAILED, "PointLost")
    assert "and the snapshot may need it from 1" in why(found)[1]


def test_a_region_that_is_silent_after_the_snapshot_costs_nothing() -> None:
    """The marker is beyond the log start, as in mode A between purges; then the last table of a topic is dropped."""
    world = PointWorld(takes=False, is_busy=False)
    for topic in TOPICS:
        world.store.put_topic(topic, 30)
    for region in list(world.data_plane.regions):
        world.flush(region)
    world.back_up(bracket=BRACKET)
    process = world.backer()
    world.settle_bracket(process=process)
    drop_regions(world)
    world.time.time += timedelta(minutes=30)
    world.takes = True
    assert world.settle_backup(process=process).status.stage is JobStage.COMPLETED


def drop_regions(world: PointWorld) -> None:
    for region in [region for topic, region in world.store.snapshot().region_keys if topic == TOPICS[0]]:
        del world.data_plane.regions[region]
        world.store.drop_region(TOPICS[0], region)


def end_state(world: PointWorld) -> Any:
    status = world.walbackup().status
    point = status.restore_point
    return (
        (status.stage, status.outcome, status.attempt, status.topics, status.findings, status.counts, status.message),
        None if point is None else (point.name, point.snapshot, point.topics),
        [(found.type, found.status, found.reason, found.message) for found in status.conditions],
        world.holds(),
        sorted(key.name for key in world.spark.specs),
        world.log_starts(),
    )


@pytest.mark.parametrize("attributes", [{}, {"dies": 1}, {"takes": False}])
def test_a_death_at_any_call_of_a_bracket_changes_nothing_about_the_end(attributes: dict[str, Any]) -> None:
    world = PointWorld(**attributes)
    world.back_up(bracket={**BRACKET, "timeout": "2m"})
    worlds = die_at_every_call(
        world, lambda each, guard: each.settle_backup(FULL, each.backer(guard)), end_state, CHANGES
    )
    assert worlds > 15


def test_two_operators_at_once_make_one_point() -> None:
    world = PointWorld()
    world.back_up(bracket=BRACKET)
    processes = [world.backer(), world.backer()]
    for number in range(400):
        found = world.settle_backup(FULL, processes[number % 2], ticks=1)
    assert (found.status.stage, found.status.attempt, len(world.stored)) == (JobStage.COMPLETED, 1, 1)
