"""The life of a WALBackup, on the in-memory ports."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_template import BackupLevel
from seawall.api.v1alpha1.spark_job import JobStage, Outcome
from seawall.domain.conditions import find_condition
from seawall.domain.spark_job.selection import _Region as Row
from tests.worlds.backup_world import BACKUP, FULL, NEXT, BackupWorld
from tests.worlds.purge_world import NAMESPACE, TOPICS, WAL
from tests.worlds.verification_world import why

THIRD = Key(NAMESPACE, "third")
CONTINUES: dict[str, Any] = {"parentRef": {"name": "full"}}


def rows(obj: WALBackup) -> list[tuple[str, int, int]]:
    return [(row.name, row.start, row.end) for row in obj.status.topics]


def request_of(world: BackupWorld, name: str) -> Any:
    found = world.kube.get_config_map(Key(NAMESPACE, name))
    assert found is not None
    return json.loads(gzip.decompress(found.binary_data["request.json.gz"]))


def test_a_full_backup_has_all_that_a_restart_would_read() -> None:
    world = BackupWorld()
    found = world.backed_up()
    assert (found.status.stage, found.status.outcome) == (JobStage.COMPLETED, Outcome.PASSED)
    assert why(found)[0] == "BackedUp"
    assert rows(found) == [(name, 1, 40) for name in TOPICS]  # one region of each has flushed nothing
    assert found.status.location == "s3://wal/greptimedb"
    assert found.status.chain == f"full-{found.metadata.uid[:8]}"
    assert found.status.verified.level is BackupLevel.CHECKSUMS
    assert (found.status.counts.records, found.status.topic_counts.total) == (117, 3)
    assert world.holds() == []
    assert world.meters.backed_up[WAL] == found.status.completion_time
    assert [status.outcome for status in world.meters.backups] == [Outcome.PASSED]


def test_the_job_is_told_whose_log_it_is_and_where_it_goes() -> None:
    world = BackupWorld()
    key = {"name": "key", "accessKeyIdKey": "id"}
    s3 = {"bucket": "wal", "endpoint": "https://s3.example", "caSecretRef": {"name": "ca"}, "credentialsSecretRef": key}
    world.declare({**BACKUP, "storage": {"s3": s3}})
    world.kube.secrets |= {Key(NAMESPACE, "key"): {"id": b"a", "secretAccessKey": b"b"}, Key(NAMESPACE, "ca"): {}}
    found = world.backed_up(topics=["wal_1"], verify={"level": "Integrity"})
    assert found.status.outcome is Outcome.PASSED
    request = request_of(world, "full-1")
    assert request["backup"] == {"name": f"full-{found.metadata.uid[:8]}", "attempt": 1}
    assert request["object"] == {"namespace": NAMESPACE, "name": "full", "uid": found.metadata.uid}
    assert (request["version"], request["chain"], request["parent"]) == (1, request["backup"]["name"], None)
    assert (request["verify"], request["kafka"]["clusterId"]) == ("Integrity", "fake-cluster")
    assert request["storage"]["s3"] == {
        "bucket": "wal",
        "prefix": None,
        "region": "us-east-1",
        "endpoint": "https://s3.example",
        "caFile": "/etc/seawall/store/ca/ca.crt",
        "accessKeyIdFile": "/etc/seawall/store/key/accessKeyId",
        "secretAccessKeyFile": "/etc/seawall/store/key/secretAccessKey",
    }
    (topic,) = request["topics"]
    assert (topic["name"], topic["logStart"], topic["from"], topic["to"]) == ("wal_1", 0, 1, 40)
    assert [(region["readsFrom"], region["flushed"]) for region in topic["regions"]][-1] == (1, 0)


def test_the_access_key_is_mounted_by_the_driver_alone_and_the_ca_by_all() -> None:
    world = BackupWorld()
    s3 = {"bucket": "wal", "caSecretRef": {"name": "ca"}, "credentialsSecretRef": {"name": "key"}}
    world.declare({**BACKUP, "storage": {"s3": s3}})
    world.kube.secrets |= {Key(NAMESPACE, "key"): {}, Key(NAMESPACE, "ca"): {}}
    world.backed_up()
    spec = world.spark.specs[Key(NAMESPACE, "full-1")]
    volumes = {
        pod: [each["name"] for each in spec[pod]["template"]["spec"]["volumes"]] for pod in ("driver", "executor")
    }
    assert volumes == {"driver": ["tmp", "store-ca", "request", "store-key"], "executor": ["tmp", "store-ca"]}
    assert spec["mainApplicationFile"] == "local:///opt/seawall/backup.py"
    assert spec["arguments"][0] == "backup"
    assert "key" not in json.dumps(spec["arguments"])


def test_a_claim_is_mounted_by_driver_and_executors() -> None:
    world = BackupWorld()
    world.declare({**BACKUP, "storage": {"persistentVolumeClaim": "backups"}})
    found = world.backed_up()
    assert (found.status.outcome, found.status.location) == (Outcome.PASSED, "claim:backups")
    spec = world.spark.specs[Key(NAMESPACE, "full-1")]
    for pod in ("driver", "executor"):
        mounts = spec[pod]["template"]["spec"]["containers"][0]["volumeMounts"]
        assert {"name": "backups", "mountPath": "/backups"} in mounts
    assert request_of(world, "full-1")["storage"] == {"folder": {"path": "/backups"}}


def test_an_incremental_backup_goes_on_where_its_parent_ended() -> None:
    world = BackupWorld()
    full = world.backed_up()
    for topic in TOPICS:
        world.write(topic, 5)
    found = world.backed_up(NEXT, **CONTINUES)
    assert rows(found) == [(name, 40, 45) for name in TOPICS]
    assert found.status.chain == full.status.chain
    parent = request_of(world, "next-1")["parent"]
    assert parent == {"name": full.status.manifest.name, "digest": full.status.manifest.digest}
    third = world.backed_up(THIRD, parentRef={"name": "next"})
    assert rows(third) == [(name, 45, 45) for name in TOPICS]  # nothing was written: it says so, and the chain goes on
    assert third.status.stage is JobStage.COMPLETED


def test_nothing_is_submitted_before_the_hold_is_granted_and_what_it_holds_stays() -> None:
    world = BackupWorld(slow=10**6)
    world.back_up()
    process = world.backer()
    for _ in range(20):  # nobody grants
        process.tick(FULL)
        world.time.time += timedelta(seconds=5)
    assert (world.holds(), world.spark.specs) == (["full-1"], {})
    world.settle_backup(ticks=30)
    for region in list(world.data_plane.regions):
        world.flush(region)
    world.start_run(flush={"whenBehindEntries": 1, "timeout": "10m"})
    world.settle()
    assert set(world.log_starts().values()) == {1}


def test_a_driver_that_dies_is_tried_again_and_what_it_left_does_not_count() -> None:
    world = BackupWorld(dies_late=1)
    found = world.backed_up()
    assert (found.status.stage, found.status.attempt) == (JobStage.COMPLETED, 2)
    assert len(world.stored) == 2
    assert found.status.manifest.name == f"full-{found.metadata.uid[:8]}-2-000000.json.gz"


def until_released(world: BackupWorld) -> None:
    """Until its first attempt is over."""
    process = world.backer()
    while world.walbackup().status.stage is not JobStage.RELEASING:
        world.settle_backup(process=process, ticks=1)


def settles_soon(world: BackupWorld) -> None:
    """Its second attempt begins in a time in which nobody waits by a wrong clock, and passes."""
    began = world.time.time
    found = world.settle_backup()
    assert (found.status.stage, found.status.attempt) == (JobStage.COMPLETED, 2)
    assert world.time.time - began < timedelta(minutes=5)


def test_a_clock_that_was_ahead_when_an_attempt_ended_keeps_no_backup() -> None:
    world = BackupWorld(dies=1)
    world.back_up(FULL)
    world.settle_backup(ticks=1)
    world.time.ahead = timedelta(days=3)
    until_released(world)
    attempt_time = world.walbackup().status.attempt_time
    assert attempt_time is not None
    assert attempt_time <= world.time.time
    world.time.ahead = timedelta(0)
    settles_soon(world)


def test_the_next_attempt_waits_for_no_time_that_is_to_come() -> None:
    """An older version wrote it, by a clock that was ahead."""
    world = BackupWorld(dies=1)
    world.back_up(FULL)
    until_released(world)
    found = world.walbackup()
    ahead = found.status.model_copy(update={"attempt_time": world.time.time + timedelta(days=3)})
    world.kube.replace_status(found, ahead)
    settles_soon(world)


def test_three_drivers_that_die_end_it_without_a_manifest() -> None:
    world = BackupWorld(dies=3)
    found = world.backed_up()
    assert (why(found)[0], found.status.manifest) == ("Interrupted", None)
    assert "wrote nothing that counts" in why(found)[1]


def test_what_is_damaged_in_the_store_does_not_count() -> None:
    world = BackupWorld(damaged=True)
    found = world.backed_up()
    assert (why(found)[0], found.status.manifest) == ("BackupDamaged", None)
    assert [(each.kind, each.object) for each in found.status.findings] == [("ObjectChanged", "data/0.parquet")]


def test_a_backup_that_proved_less_than_was_asked_for_is_not_completed() -> None:
    world = BackupWorld()
    honest = world._copy

    def lazy(request: Any) -> Any:
        return honest({**request, "verify": "None"})

    world._copy = lazy  # type: ignore[method-assign]
    found = world.backed_up()
    assert why(found) == ("BackupDamaged", "level Checksums was asked for, and the job proved None")


def test_a_walcluster_that_says_nothing_of_backups_allows_none() -> None:
    world = BackupWorld()
    world.declare(None)
    found = world.backed_up()
    assert why(found) == (
        "SparkNotAllowed",
        "WALCluster wal does not say what may back it up: set its spec.backup.spark.image",
    )


def test_a_secret_of_the_store_that_is_missing_stalls_it_until_somebody_makes_it() -> None:
    world = BackupWorld()
    world.declare({**BACKUP, "storage": {"s3": {"bucket": "wal", "credentialsSecretRef": {"name": "key"}}}})
    world.back_up()
    found = world.settle_backup(ticks=60)
    assert why(found) == (
        "ChangeRefused",
        "there is no Secret key, which spec.backup of the WALCluster names for the job",
    )
    world.kube.secrets[Key(NAMESPACE, "key")] = {}
    assert why(world.settle_backup())[0] == "BackedUp"


def test_a_topic_whose_regions_are_silent_is_waited_for_and_then_backed_up_from_its_start() -> None:
    world = BackupWorld()
    silent = next(region for topic, region in world.store.snapshot().region_keys if topic == "wal_1")
    del world.data_plane.regions[silent]
    world.foreign.add("wal_1")
    world.back_up()
    waits = world.settle_backup(ticks=12)
    assert why(waits)[0] == "WaitingForReports"
    found = world.settle_backup()
    assert (found.status.stage, rows(found)[1]) == (JobStage.COMPLETED, ("wal_1", 0, 40))
    assert [row[1] for row in rows(found)] == [1, 0, 1]


def read_from(world: BackupWorld, name: str) -> dict[int, int]:
    """By region of wal_1 where it reads from, as the job was told."""
    topic = next(topic for topic in request_of(world, name)["topics"] if topic["name"] == "wal_1")
    return {region["id"]: region["readsFrom"] for region in topic["regions"]}


def test_a_region_of_which_nobody_knows_where_it_reads_from_is_judged_from_where_the_backup_begins() -> None:
    world = BackupWorld()
    *others, silent = sorted(region for topic, region in world.store.snapshot().region_keys if topic == "wal_1")
    del world.data_plane.regions[silent]
    world.foreign.add("wal_1")
    full = world.backed_up(verify={"level": "Integrity"})
    assert full.status.verified.level is BackupLevel.INTEGRITY
    known = {region: world.data_plane.regions[region].flushed + 1 for region in others}
    assert read_from(world, "full-1") == {**known, silent: 0}
    world.backed_up(NEXT, **CONTINUES)
    assert read_from(world, "next-1") == {**known, silent: 40}


def test_a_region_whose_marker_is_not_known_is_judged_from_what_it_has_flushed() -> None:
    """What lies before that may have numbers that come again, which nobody replays."""
    known = ((None, None), (None, 12), (None, 2), (20, 12))
    rows = [Row(7, reads_from, flushed, is_dropped=False) for reads_from, flushed in known]
    assert [each.at_most_from(5) for each in rows] == [5, 13, 5, 20]


def test_a_topic_that_kafka_has_lost_is_not_left_out_in_silence() -> None:
    world = BackupWorld()
    world.foreign.add("wal_1")
    del world.kafka.topics["wal_1"]
    found = world.backed_up()
    assert why(found) == ("NotAllBackedUp", "2 topics are backed up, and 1 are not: wal_1 OffsetsUnknown")


def keep(world: BackupWorld, **spec: Any) -> None:
    """Somebody edits what may be edited."""
    world.kube.apply(FULL, {"clusterRef": {"name": "wal"}, **spec, "keep": True}, kind=WALBackup)


def test_an_edit_of_a_backup_that_is_over_is_observed_and_changes_nothing_else() -> None:
    world = BackupWorld()
    before = world.backed_up()
    keep(world)
    after = world.settle_backup()
    generation = before.metadata.generation + 1
    assert after.status.observed_generation == after.metadata.generation == generation
    observed = [each.model_copy(update={"observed_generation": generation}) for each in before.status.conditions]
    update = {"observed_generation": generation, "conditions": tuple(observed)}
    assert after.status == before.status.model_copy(update=update)
    writes = world.kube.status_writes
    world.settle_backup()
    assert world.kube.status_writes == writes


def test_a_backup_that_is_over_is_counted_once_although_it_is_edited_later() -> None:
    world = BackupWorld()
    world.backed_up()
    keep(world)
    world.settle_backup()
    assert [status.outcome for status in world.meters.backups] == [Outcome.PASSED]


def test_a_backup_that_is_edited_goes_when_its_ttl_is_over_all_the_same() -> None:
    world = BackupWorld()
    world.backed_up(ttlSecondsAfterFinished=600)
    keep(world, ttlSecondsAfterFinished=600)
    ticked = world.backer().tick(FULL)
    assert ticked.after is not None
    assert 500 < ticked.after <= 600
    world.time.time += timedelta(seconds=600)
    world.backer().tick(FULL)
    assert world.kube.get(WALBackup, FULL) is None


def test_a_backup_that_is_deleted_needs_nothing() -> None:
    world = BackupWorld(slow=10**6)
    world.back_up()
    world.settle_backup(ticks=30)
    condition = find_condition(world.walbackup().status.conditions, ConditionType.COMPLETE)
    assert condition is not None
    assert condition.status == "False"
    world.kube.remove(FULL, WALBackup)
    assert world.kube.get(WALBackup, FULL) is None


def test_a_job_that_was_made_and_deleted_while_no_operator_was_there_is_made_again_and_is_not_refused() -> None:
    """Nobody has seen its first application; what that wrote is there (day 82 of the simulation)."""
    world = BackupWorld()
    world.back_up()
    process = world.backer()
    while not world.spark.made:
        world.settle_backup(process=process, ticks=1)
    for _ in range(3):
        world.run_spark()
    (application,) = world.spark.applications.values()
    assert (application.state, len(world.stored)) == ("COMPLETED", 1)
    world.spark.delete(application)
    stored = dict(world.stored)
    found = world.settle_backup()
    assert (found.status.stage, found.status.attempt) == (JobStage.COMPLETED, 2), why(found)
    assert {key: world.stored[key] for key in stored} == stored


@pytest.mark.parametrize("spec", [{}, CONTINUES])
def test_a_backup_whose_application_is_deleted_begins_anew_and_writes_over_nothing(spec: dict[str, Any]) -> None:
    """Its manifest is there, and no status names it: the next attempt has another."""
    world = BackupWorld()
    world.backed_up()
    before = len(world.stored)
    world.back_up(NEXT, **spec)
    process = world.backer()
    world.delete_application("next-1", "COMPLETED", partial(world.settle_backup, NEXT, process, ticks=1))
    assert len(world.stored) == before + 1
    stored = dict(world.stored)
    found = world.settle_backup(NEXT, process)
    assert (found.status.stage, found.status.attempt) == (JobStage.COMPLETED, 2), why(found)
    assert {key: world.stored[key] for key in stored} == stored
    assert world.spark.made.count(Key(NAMESPACE, "next-1")) == 1
    assert world.backed_up(THIRD, parentRef={"name": NEXT.name}).status.stage is JobStage.COMPLETED
