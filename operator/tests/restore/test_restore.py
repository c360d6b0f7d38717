"""The life of a WALRestore, on the in-memory ports."""

from __future__ import annotations

import gzip
import json
from functools import partial
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.controllers.hold import WALHoldController
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.spark_job.request import FILE
from seawall.reconciler import Reconciler
from tests.worlds.purge_world import NAMESPACE, TOPICS, WAL
from tests.worlds.restore_world import BACK, LONG_AGO, WRITTEN, RestoreWorld, lost
from tests.worlds.verification_world import why


def logs(world: RestoreWorld) -> dict[str, tuple[int, int]]:
    return {name: (topic.log.log_start, topic.log.end) for name, topic in sorted(world.kafka.topics.items())}


def request_of(world: RestoreWorld, name: str) -> Any:
    found = world.kube.get_config_map(Key(NAMESPACE, name))
    assert found is not None
    return json.loads(gzip.decompress(found.binary_data["request.json.gz"]))


def nothing_was_made(world: RestoreWorld) -> None:
    assert world.kafka.topics == {}
    assert "create_topics" not in world.kafka.requests


def test_a_lost_log_comes_back_at_its_offsets_and_ends_above_all_that_the_database_has() -> None:
    world = lost()
    found = world.restored()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.COMPLETED, "Restored")
    assert logs(world) == dict.fromkeys(TOPICS, (1, 40 + WRITTEN))
    assert found.status.plan is not None
    assert (found.status.plan.topics, found.status.plan.lost_at_most) == (3, 3 * WRITTEN)
    assert [(row.start, row.end, row.needed_end) for row in found.status.topics] == [(1, 47, 47)] * 3
    assert [world.kafka.topics[row.name].log.topic_id for row in found.status.topics] == [
        row.topic_id for row in found.status.topics
    ]
    assert found.status.location == "s3://wal/greptimedb"


def test_afterwards_the_ledger_has_no_finding_and_a_purge_deletes() -> None:
    world = lost()
    world.restored()
    world.start_database()
    records = world.records()
    assert {(record.intent, record.log_start, record.broken) for record in records.values()} == {(1, 1, False)}
    for topic in TOPICS:
        world.write(topic, 20)
        for region in list(world.data_plane.regions):
            world.flush(region)
    world.start_run()
    run = world.settle()
    assert (run.status.stage, run.status.skipped) == ("Completed", ())
    assert min(world.log_starts().values()) > 1


def test_offsets_that_a_kill_of_all_replicas_brings_back_are_deleted_again_by_the_next_purge() -> None:
    """Until Kafka has written down where the log begins, it may begin with the padding again (ADR 33)."""
    world = RestoreWorld()
    for number in list(world.data_plane.regions):
        world.flush(number)
    for topic in TOPICS:
        world.store.put_topic(topic, 25)
    world.backed_up()
    for _ in range(3):
        world.recorder().tick(WAL)
    world.lose_kafka()
    world.restored()
    assert logs(world) == dict.fromkeys(TOPICS, (26, 40))
    for topic in TOPICS:
        world.kafka.topics[topic].log.log_start = 0
    world.start_database()
    for _ in range(3):
        world.recorder().tick(WAL)
    assert {(record.intent, record.broken) for record in world.records().values()} == {(26, False)}
    key = Key(NAMESPACE, "reader")
    world.kube.apply(key, {"clusterRef": {"name": "wal"}, "topics": dict.fromkeys(TOPICS, 26)}, kind=WALHold)
    holds: Any = WALHoldController(world.kube, world.observer(), world.time, world.meters)
    granter = Reconciler(holds, may_write=lambda: True)
    for _ in range(5):
        granter.tick(key)
    world.start_run()
    run = world.settle()
    assert (run.status.stage, run.status.skipped, run.status.entries_deleted) == ("Completed", (), 3 * 26)
    assert logs(world) == dict.fromkeys(TOPICS, (26, 40))
    assert {record.intent for record in world.records().values()} == {26}


def test_a_region_that_is_created_after_the_backup_can_read_the_log_that_comes_back() -> None:
    world = RestoreWorld()
    for region in list(world.data_plane.regions):
        world.flush(region)  # else one of them would read from the marker as well
    assert [row.start for row in world.backed_up().status.topics] == [1, 1, 1]
    world.add_region(TOPICS[0], 1024 << 32 | 9, datanode=0)
    world.data_plane.regions[1024 << 32 | 9].flushed = 0  # its datanode had not met the topic before
    for topic in TOPICS:
        world.write(topic, WRITTEN)
    for _ in range(3):
        world.recorder().tick(WAL)
    world.lose_kafka()
    assert world.restored().status.stage is RestoreStage.COMPLETED


def test_nothing_is_made_before_the_plan_is_approved_by_its_digest() -> None:
    world = lost()
    world.bring_back()
    found = world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    for digest in ("d" * 64, "yes"):
        world.approve(digest=digest)
        world.settle_restore(ticks=20)
        assert world.walrestore().status.stage is RestoreStage.AWAITING_APPROVAL
    nothing_was_made(world)
    reason, message = why(world.walrestore())
    assert reason == "AwaitingApproval"
    assert found.status.plan is not None
    assert f"seawall.dev/approve: {found.status.plan.digest}" in message
    assert "21 offsets are lost at most" in message


def test_while_the_database_runs_nothing_is_made() -> None:
    world = lost()
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.approve()
    world.settle_restore(ticks=30)
    assert why(world.walrestore()) == (
        "DatabaseRunning",
        "datanode-0, datanode-1, datanode-2 runs: scale StatefulSet datanode to 0",
    )
    nothing_was_made(world)
    world.stop_database()
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED


def test_without_a_statefulset_the_reports_say_whether_it_runs() -> None:
    world = lost()
    world.kube.apply(WAL, {**world.spec(), "dataPlane": {"greptimedb": world.greptimedb}})
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.approve()
    world.settle_restore(ticks=10)
    assert why(world.walrestore())[0] == "DatabaseRunning"
    world.stop_database()
    world.data_plane.is_silent = True
    world.settle_restore(ticks=30)
    assert why(world.walrestore())[0] == "DatabaseUnknown"
    nothing_was_made(world)
    world.data_plane.is_silent = False
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED


def test_a_topic_that_is_there_is_left_alone() -> None:
    world = lost()
    world.kafka.add_topic("wal_1").log.append(5)
    before = logs(world)
    found = world.restored()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "TopicNotEmpty")
    assert logs(world) == before
    assert world.spark.specs.keys() == {Key(NAMESPACE, "full-1"), Key(NAMESPACE, "back-1")}


def test_another_kafka_is_not_written_to() -> None:
    world = lost()
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    world.kafka.cluster_id = "another"
    world.settle_restore(ticks=30)
    assert why(world.walrestore())[0] == "KafkaUnreachable"
    assert "Kafka's cluster id is another" in why(world.walrestore())[1]
    nothing_was_made(world)


def test_too_few_brokers_are_waited_for() -> None:
    world = lost()
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    world.kafka.offline = {3}
    world.settle_restore(ticks=30)
    assert why(world.walrestore()) == ("TooFewBrokers", "2 brokers are online, and replicationFactor is 3")
    nothing_was_made(world)
    world.kafka.offline = set()
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        ({"source": {"clusterId": "fake-cluster", "chain": "no"}}, "RequestRefused", "chains"),
        ({"padAboveFlushed": False}, "RequestRefused", "the database has entries up to 46"),
        ({"topics": ["other"]}, "NoTopics", "no topic"),
        ({"padTo": {"x": 1}}, "NoTopics", "x is no topic of the pool"),
        ({"target": {"offsets": {"x": 1}}}, "NoTopics", "x is no topic of the pool"),
    ],
)
def test_what_cannot_be_planned_ends_and_says_why(spec: dict[str, Any], reason: str, words: str) -> None:
    world = lost()
    world.bring_back(**spec)
    found = world.settle_restore()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, reason)
    assert words in why(found)[1]
    nothing_was_made(world)


def test_a_log_that_begins_above_what_the_database_would_read_is_not_made() -> None:
    """Its files are older than the newest full backup: they were put back from somewhere else."""
    world = RestoreWorld()
    for number in list(world.data_plane.regions):
        world.flush(number)
    for topic in TOPICS:
        world.store.put_topic(topic, 25)
    assert [row.start for row in world.backed_up().status.topics] == [26] * 3
    for _ in range(3):
        world.recorder().tick(WAL)
    world.lose_kafka()
    for topic in TOPICS:
        world.store.put_topic(topic, 4)
    for known in world.data_plane.regions.values():
        known.flushed = 4
    world.bring_back()
    found = world.settle_restore()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "RequestRefused")
    assert why(found)[1] == "wal_0 would begin at 26, and the database reads from 5"
    nothing_was_made(world)


def test_a_broken_chain_makes_nothing_and_is_named() -> None:
    world = lost(broken_store=True)
    world.bring_back()
    found = world.settle_restore()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "ChainBroken")
    assert [each.kind for each in found.status.findings] == ["ObjectMissing"]
    nothing_was_made(world)


def test_damage_that_shows_when_objects_are_read_ends_it_with_no_topic_left_and_touches_no_other() -> None:
    world = lost(rotten=True)
    other = world.kafka.add_topic("other")
    other.log.append(5)
    found = world.restored()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "ChainBroken")
    (finding,) = found.status.findings
    assert (finding.kind, finding.object, finding.topic, finding.offset) == (
        "ObjectChanged",
        "data/0.parquet",
        TOPICS[0],
        1,
    )
    assert world.kafka.requests["create_topics"] == 1
    assert logs(world) == {"other": (0, 5)}
    assert [row.topic_id for row in found.status.topics] == [None] * 3
    assert world.spark.specs.keys() == {Key(NAMESPACE, name) for name in ("full-1", "back-1", "back-2")}


def test_a_record_that_does_not_fit_is_told_before_anything_is_made() -> None:
    world = lost()
    world.kube.apply(WAL, {**world.spec(), "topics": {"prefix": "wal", "count": 3, "maxMessageBytes": "1Ki"}})
    world.plan_counts = {"largestRecord": 4096}
    world.bring_back()
    found = world.settle_restore()
    assert why(found) == (
        "RecordTooLarge",
        "the largest record needs batches of 4096 bytes, and topics.maxMessageBytes is 1024",
    )
    nothing_was_made(world)


def test_what_the_database_has_must_be_known_where_logs_are_padded() -> None:
    world = lost()
    world.data_plane.is_silent = True
    world.bring_back()
    world.settle_restore(ticks=30)
    reason, message = why(world.walrestore())
    assert (reason, world.walrestore().status.topics) == ("FlushedUnknown", ())
    assert "let it run, and flush, until this is planned" in message
    world.data_plane.is_silent = False
    found = world.live_until(RestoreStage.AWAITING_APPROVAL)
    assert [row.pad_to for row in found.status.topics] == [47] * 3


def test_a_datanode_that_reports_no_more_may_have_flushed_since() -> None:
    world = lost()
    world.data_plane.reports()
    world.data_plane.stopped = {1}
    world.bring_back()
    world.settle_restore(ticks=60)
    reason, message = why(world.walrestore())
    assert reason == "FlushedUnknown"
    assert "does not say now what it has" in message
    world.kube.remove(BACK, WALRestore)
    world.bring_back(padTo=dict.fromkeys(TOPICS, 50))
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    assert [row.pad_to for row in world.walrestore().status.topics] == [50] * 3


def test_a_database_that_is_gone_is_not_waited_for_where_nothing_is_padded_and_that_is_said() -> None:
    world = lost()
    world.data_plane.is_silent = True
    world.bring_back(padAboveFlushed=False)
    world.settle_restore(ticks=20)
    assert why(world.walrestore())[0] == "WaitingForReports"
    found = world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.settle_restore(ticks=1)
    assert [(row.needed_end, row.compared) for row in found.status.topics] == [(40, False)] * 3
    assert "the database did not say all that it has" in why(world.walrestore())[1]


def test_only_the_topics_that_are_asked_for_and_backed_up_come_back() -> None:
    world = lost()
    found = world.restored(topics=["wal_1"])
    assert found.status.stage is RestoreStage.COMPLETED
    assert logs(world) == {"wal_1": (1, 47)}
    request = request_of(world, "back-2")
    assert [topic["name"] for topic in request["topics"]] == ["wal_1"]
    assert request["planDigest"] == found.status.plan.digest  # type: ignore[union-attr]


def test_an_interrupted_job_is_tried_again_with_topics_that_are_made_anew() -> None:
    world = lost(half_written=1)
    found = world.restored()
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 3)
    assert logs(world) == dict.fromkeys(TOPICS, (1, 47))
    assert world.kafka.requests["delete_topics"] == 1


def test_a_job_whose_application_is_deleted_is_not_made_again_on_what_it_has_written() -> None:
    world = lost()
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    world.delete_application("back-2", "RUNNING", partial(world.settle_restore, BACK, world.restorer(), ticks=1))
    world.kafka.topics["wal_0"].log.append(3, LONG_AGO)
    found = world.settle_restore()
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 3), why(found)
    assert logs(world) == dict.fromkeys(TOPICS, (1, 47))
    assert world.spark.made.count(Key(NAMESPACE, "back-2")) == 1


def test_a_plan_whose_application_is_deleted_is_made_by_the_next_attempt() -> None:
    world = lost()
    world.bring_back()
    world.delete_application("back-1", "COMPLETED", partial(world.settle_restore, BACK, world.restorer(), ticks=1))
    found = world.live_until(RestoreStage.AWAITING_APPROVAL)
    assert (found.status.attempt, world.spark.made.count(Key(NAMESPACE, "back-1"))) == (2, 1)


LATE_DELETES = (40, 52, 57, 64, 90)
"""Answers, some of which still show the topics of the attempt before: while none is made, while their ids are recorded
and the leader of a new one has not heard of it, and while the job begins."""


@pytest.mark.parametrize("answers", LATE_DELETES)
def test_brokers_that_still_show_the_topics_of_the_attempt_before_change_nothing(answers: int) -> None:
    world = lost(half_written=1)
    world.kafka.late_deletes = answers
    found = world.restored()
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 3), found.status.message
    assert logs(world) == dict.fromkeys(TOPICS, (1, 47))


def test_records_of_somebody_else_in_a_new_topic_are_left_although_those_of_the_attempt_before_may_be_shown() -> None:
    world = lost(half_written=1)
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    process = world.restorer()
    for _ in range(200):
        world.settle_restore(BACK, process, ticks=1)
        new = [topic for topic in world.kafka.topics.values() if topic.log.end == 0]
        if world.walrestore().status.attempt == 3 and new and new[0].log.topic_id not in world.ours:
            new[0].log.append(1)
            break
    found = world.settle_restore(BACK, process)
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "NotOurs")
    assert new[0].log.end == 1
    assert "something wrote to" in found.status.message


def without_its_only_broker() -> RestoreWorld:
    """An attempt of topics with one replica each was interrupted, and the broker of one of them is gone."""
    world = lost(half_written=1)
    topics = {"prefix": "wal", "count": len(TOPICS), "replicationFactor": 1}
    world.kube.apply(WAL, {**world.spec(), "topics": topics})
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    world.live_until(RestoreStage.WRITING)
    world.kafka.offline = set(world.kafka.topics["wal_0"].replicas)
    world.settle_restore(ticks=60)
    assert why(world.walrestore())[0] == "KafkaUnreachable"
    assert "wal_0 may have records of others, which only its leader can say" in why(world.walrestore())[1]
    assert "delete_topics" not in world.kafka.requests
    return world


def test_a_topic_whose_only_broker_is_gone_is_made_anew_once_it_is_back() -> None:
    world = without_its_only_broker()
    world.kafka.offline = set()
    found = world.settle_restore()
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 3), why(found)
    assert logs(world) == dict.fromkeys(TOPICS, (1, 47))


def test_a_topic_whose_only_broker_is_gone_is_made_anew_once_a_person_has_deleted_it() -> None:
    """Of what is in it nobody can say anything any more."""
    world = without_its_only_broker()
    del world.kafka.topics["wal_0"]
    found = world.settle_restore()
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 3), why(found)
    assert logs(world) == dict.fromkeys(TOPICS, (1, 47))


def test_three_interruptions_are_the_end_and_leave_no_topic() -> None:
    world = lost(half_written=9)
    found = world.restored()
    assert (found.status.stage, found.status.outcome) == (RestoreStage.FAILED, Outcome.INTERRUPTED)
    assert why(found)[0] == "Interrupted"
    assert world.kafka.topics == {}


def test_after_an_interruption_nothing_goes_that_the_database_may_have_written() -> None:
    world = lost(half_written=1)
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    world.live_until(RestoreStage.REMOVING)
    world.start_database()
    world.settle_restore(ticks=30)
    assert why(world.walrestore())[0] == "DatabaseRunning"
    world.stop_database()
    found = world.settle_restore()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "NotOurs")
    assert "wal_0 may have records of others, and is left as it is" in why(found)[1]
    assert world.kafka.topics["wal_0"].log.end == 3


def test_a_foreign_writer_ends_it_and_its_record_stays() -> None:
    world = lost(foreign_writer=True)
    found = world.restored()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "NotOurs")
    assert world.kafka.topics["wal_0"].log.end == 48
    assert "delete_topics" not in world.kafka.requests


def test_nobody_makes_the_topics_of_a_restore_nor_purges_them_before_they_are_adopted() -> None:
    """Of a WALCluster that has no records of them: made anew, and paused, after all was lost."""
    world = lost()
    world.intents._shards.clear()
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    process = world.restorer()
    while not world.kafka.topics:
        world.settle_restore(process=process, ticks=1)
    assert {record.broken for record in world.records().values()} == {True}
    assert world.settle_restore(process=process).status.stage is RestoreStage.COMPLETED
    assert {record.broken for record in world.records().values()} == {False}


def test_the_job_has_a_user_of_its_own_who_may_write() -> None:
    world = lost()
    external = {"bootstrapServers": ["kafka:9092"], "sasl": {"mechanism": "SCRAM-SHA-512", "insecure": True}}
    external["sasl"]["credentialsSecretRef"] = {"name": "seawall"}  # type: ignore[index]
    backup = {**world.declared, "restore": {"kafkaCredentialsSecretRef": {"name": "writer"}}}  # type: ignore[dict-item]
    for name in ("seawall", "writer"):
        world.kube.secrets[Key(NAMESPACE, name)] = {"username": b"u", "password": b"p"}
    world.kube.apply(WAL, {**world.spec(), "kafka": {"external": external}, "backup": backup})
    world.restored()
    mounts = world.spark.specs[Key(NAMESPACE, "back-2")]["driver"]["template"]["spec"]["volumes"]
    assert "writer" in json.dumps(mounts)
    assert "seawall" not in json.dumps(mounts)


def test_the_name_of_the_jobs_own_user_may_be_in_the_spec() -> None:
    """As with a Strimzi KafkaUser, whose Secret has a password only."""
    world = lost()
    sasl = {"insecure": True, "username": "seawall", "credentialsSecretRef": {"name": "seawall"}}
    user = {"kafkaUsername": "writer", "kafkaCredentialsSecretRef": {"name": "writer"}}
    for name in ("seawall", "writer"):
        world.kube.secrets[Key(NAMESPACE, name)] = {"password": b"p"}
    external = {"bootstrapServers": ["kafka:9092"], "sasl": sasl}
    backup = {**world.declared, "restore": user}  # type: ignore[dict-item]
    world.kube.apply(WAL, {**world.spec(), "kafka": {"external": external}, "backup": backup})
    world.restored()
    sasl_of_job = request_of(world, "back-2")["kafka"]["sasl"]
    assert sasl_of_job["username"] == "writer"


def test_a_topic_that_a_kafka_topic_manages_is_not_made_until_it_is_let_go() -> None:
    world, manages = lost(), Key("kafka", "wal-0")
    world.strimzi.put_topic(manages, TOPICS[0])
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    found = world.settle_restore(ticks=60)
    assert f"KafkaTopic kafka/wal-0 manages topic {TOPICS[0]}" in why(found)[1]
    assert world.kafka.topics == {}
    world.strimzi.put_topic(manages, TOPICS[0], managed="false")
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED


def test_two_restores_do_not_work_at_once() -> None:
    world = lost()
    other = Key(NAMESPACE, "other")
    world.bring_back()
    world.bring_back(other)
    for key in (BACK, other):
        world.live_until(RestoreStage.AWAITING_APPROVAL, key)
    world.stop_database()
    for key in (BACK, other):
        world.approve(key)
    process = world.restorer()
    for _ in range(60):
        for key in (other, BACK):
            world.settle_restore(key, process, ticks=1)
    ends = [why(world.walrestore(key))[0] for key in (BACK, other)]
    assert sorted(ends) == ["Restored", "TopicNotEmpty"]
    assert logs(world) == dict.fromkeys(TOPICS, (1, 47))


def test_a_request_that_somebody_changed_is_not_worked_on() -> None:
    world = lost()
    world.bring_back()
    process, key = world.restorer(), Key(NAMESPACE, "back-1")
    while world.kube.get_config_map(key) is None:
        world.settle_restore(process=process, ticks=1)
    world.kube.remove_config_map(key)
    forged = ConfigMap(
        key, {}, binary_data={FILE: gzip.compress(b'{"topics": [], "level": "Coverage"}')}, is_immutable=True
    )
    world.kube.write_config_map(world.walrestore(), forged)
    found = world.settle_restore(process=process)
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "RequestChanged")
    assert key not in world.spark.specs
