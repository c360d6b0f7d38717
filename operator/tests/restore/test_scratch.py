"""The life of a WALRestore into scratch topics, on the in-memory ports: whatever happens, nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.api.meta import SCRATCH_FINALIZER, Key, ObjectMeta
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.restore.scratch_names import PREFIX, scratch_name
from seawall.domain.topics.pool import desired_configs
from tests.restore.test_restore import logs, request_of
from tests.worlds.purge_world import NAMESPACE, TOPICS, WAL
from tests.worlds.restore_world import BACK, RestoreWorld, lost
from tests.worlds.scratch_world import ScratchWorld, backed_up
from tests.worlds.verification_world import why

OTHER = Key(NAMESPACE, "other")
MADE = [RestoreStage.PREPARING, RestoreStage.WRITING, RestoreStage.REMOVING]
"""The stages in which there may be topics."""


def left_nothing(world: ScratchWorld, before: dict[str, tuple[int, int]]) -> None:
    """The pool is as it was, nobody has a record of another topic, and nothing waits for an object."""
    assert world.scratch_topics() == []
    assert logs(world) == before
    assert set(world.records()) <= set(TOPICS)
    assert [each.metadata.finalizers for each in world.restores() if each.metadata.finalizers] == []


def test_a_backup_comes_back_beside_the_log_and_leaves_nothing_behind() -> None:
    world = backed_up()
    before = logs(world)
    found = world.drilled()
    assert (found.status.stage, found.status.outcome) == (RestoreStage.COMPLETED, Outcome.PASSED)
    assert why(found) == (
        "Drilled",
        "3 topics are restored: 117 records of 3 topics; the scratch topics are deleted",
    )
    left_nothing(world, before)
    request = request_of(world, "back-2")
    names = [scratch_name(found.metadata, at) for at in range(3)]
    assert [(each["name"], each["into"]) for each in request["topics"]] == list(zip(TOPICS, names, strict=True))
    assert (request["verify"], request["plan"]["needs"], request["plan"]["padTo"]) == ("Integrity", {}, {})
    assert found.status.database_ran is False
    assert world.data_plane.regions, "the database has to be there for this to say something"


def test_a_drill_whose_application_is_deleted_is_tried_again_with_topics_that_are_made_anew() -> None:
    world = backed_up()
    before = logs(world)
    world.drill()
    world.delete_application("back-2", "RUNNING", partial(world.settle_restore, BACK, world.restorer(), ticks=1))
    world.kafka.topics[world.scratch_topics()[0]].log.append(3)
    found = world.settle_restore()
    assert (why(found)[0], found.status.attempt) == ("Drilled", 3)
    assert world.spark.made.count(Key(NAMESPACE, "back-2")) == 1
    left_nothing(world, before)


def test_topics_are_made_as_they_are_declared_to_be_written_to() -> None:
    world = backed_up()
    found = world.drill_until(RestoreStage.WRITING)
    topics = [world.kafka.topics[name] for name in world.scratch_topics()]
    assert [len(topic.replicas) for topic in topics] == [1, 1, 1]
    configs = topics[0].configs
    assert (configs["retention.ms"], configs["cleanup.policy"]) == ("-1", "delete")
    pool = desired_configs(TopicsSpec(), replication_factor=1)
    assert configs == {**pool, "min.insync.replicas": "1"}, "no kinder than those of the pool, and Kafka's defaults"
    assert found.metadata.finalizers == (SCRATCH_FINALIZER,)


@pytest.mark.parametrize("make", [backed_up, lost])
def test_a_drill_fails_where_a_restore_of_the_pool_would_be_refused(make: Callable[[], RestoreWorld]) -> None:
    world = make()
    declared = {"prefix": "wal", "count": len(TOPICS), "config": {"message.timestamp.type": "LogAppendTime"}}
    world.kube.apply(WAL, {**world.spec(), "topics": declared})
    found = world.drilled() if isinstance(world, ScratchWorld) else world.restored()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "RequestRefused")
    assert "message.timestamp.type=LogAppendTime" in why(found)[1]


@given(st.from_regex(r"\A[a-zA-Z0-9._-]{1,200}\Z"), st.from_regex(r"\A[a-z]([-a-z0-9]{0,43}[a-z0-9])?\Z"))
def test_no_walcluster_can_have_a_scratch_topic_in_its_pool(prefix: str, restore: str) -> None:
    for number in (0, 7, 1_000):
        name = scratch_name(metadata(restore), number)
        assert TopicsSpec(prefix=prefix).index_of(name) is None
        for tempting in (name.rpartition("-")[0], PREFIX.rstrip("-"), name):
            assert TopicsSpec(prefix=tempting).index_of(name) is None
        assert not set(name) & {"_", "."}
        assert len(name) <= 249


def metadata(name: str) -> ObjectMeta:
    """Of a restore of this name."""
    return ObjectMeta(
        namespace=NAMESPACE,
        name=name,
        uid="0f6b2f7e-6d2b-4c51-9e0b-0a8f1a1f7c11",
        generation=1,
        resource_version="1",
        creation_timestamp=datetime(2026, 11, 24, tzinfo=UTC),
    )


@pytest.mark.parametrize(("times", "stage"), [(1, RestoreStage.COMPLETED), (9, RestoreStage.FAILED)])
def test_an_interrupted_job_is_tried_again_with_topics_that_are_made_anew(times: int, stage: RestoreStage) -> None:
    world = backed_up(half_written=times)
    before = logs(world)
    found = world.drilled()
    assert (found.status.stage, found.status.attempt) == (stage, 3 if times == 1 else 4)
    left_nothing(world, before)


@pytest.mark.parametrize(
    ("attributes", "spec", "reason", "words"),
    [
        ({"foreign_writer": True}, {}, "NotRestored", "something else wrote"),
        ({"undecodable": True}, {}, "NotDecoded", "does not decode"),
        ({"decodes_none": True}, {}, "NotDecoded", "use that of this release"),
        ({"broken_store": True}, {}, "ChainBroken", "is not there"),
        (
            {},
            {"scratch": {"maxBytes": 11_699}},
            "TooLarge",
            "11700 bytes would come back, and scratch.maxBytes is 11699",
        ),
        (
            {"plan_counts": {"padding": 2**40}},
            {},
            "TooLarge",
            "and scratch.maxBytes is 10737418240; 1099511627776 records of null would be written, too",
        ),
        ({"plan_counts": {"largestRecord": 2**24}}, {}, "RecordTooLarge", "16777216"),
        ({}, {"topics": ["other"]}, "NoTopics", "no topic"),
        ({}, {"source": {"clusterId": "fake-cluster", "chain": "no"}}, "RequestRefused", "chains"),
    ],
)
def test_what_fails_says_why_and_leaves_nothing_behind(
    attributes: dict[str, Any], spec: dict[str, Any], reason: str, words: str
) -> None:
    world = backed_up(**attributes)
    before = logs(world)
    found = world.drilled(**spec)
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, reason)
    assert words in why(found)[1]
    left_nothing(world, before)


@pytest.mark.parametrize("attributes", [{"undecodable": True}, {"decodes_none": True}])
def test_records_are_decoded_only_if_that_is_declared(attributes: dict[str, Any]) -> None:
    world = backed_up(**attributes)
    assert world.drilled(scratch={"decode": False}).status.stage is RestoreStage.COMPLETED
    assert request_of(world, "back-2")["verify"] == "Checksums"


@pytest.mark.parametrize("stage", [RestoreStage.INSPECTING, *MADE])
def test_a_restore_that_is_deleted_at_any_stage_takes_its_topics_and_its_application_with_it(
    stage: RestoreStage,
) -> None:
    world = backed_up(slow=3)
    before = logs(world)
    world.drill_until(stage)
    process = world.restorer()
    if stage is RestoreStage.PREPARING:
        while not world.scratch_topics():
            world.settle_restore(process=process, ticks=1)
    world.kube.remove(BACK, WALRestore)
    assert world.settle_restore(process=process, ticks=200) is None
    left_nothing(world, before)
    if stage is not RestoreStage.INSPECTING:
        assert Key(NAMESPACE, "back-2") not in world.spark.applications or stage is RestoreStage.PREPARING


def test_a_topic_that_is_asked_for_and_appears_late_goes_with_its_restore() -> None:
    """The request to make it was on its way when the restore was deleted."""
    world = backed_up()
    before = logs(world)
    world.drill_until(RestoreStage.PREPARING)
    process = world.restorer()
    while not world.walrestore().status.none_existed:
        world.settle_restore(process=process, ticks=1)
    name = scratch_name(world.walrestore().metadata, 1)
    world.kube.remove(BACK, WALRestore)
    world.settle_restore(process=process, ticks=3)
    world.kafka.add_topic(name)
    assert world.settle_restore(process=process, ticks=200) is None
    left_nothing(world, before)


def test_a_topic_that_is_made_late_goes_although_another_one_of_its_name_did() -> None:
    """A process that froze right before it made them wakes up when all of it is over."""
    world = backed_up()
    before = logs(world)
    world.drill_until(RestoreStage.REMOVING)
    process = world.restorer()
    while world.scratch_topics():
        world.settle_restore(process=process, ticks=1)
    world.kafka.add_topic(scratch_name(world.walrestore().metadata, 0))
    assert world.settle_restore(process=process).status.stage is RestoreStage.COMPLETED
    left_nothing(world, before)


def test_a_deletion_gives_up_on_a_kafka_that_does_not_answer_and_names_what_is_left() -> None:
    world = backed_up()
    world.drill_until(RestoreStage.WRITING)
    names = world.scratch_topics()
    world.kafka.cluster_id = "another"
    world.kube.deletes_at = world.time.time
    world.kube.remove(BACK, WALRestore)
    world.settle_restore(ticks=30)
    assert why(world.walrestore())[0] == "KafkaUnreachable"
    world.time.time += timedelta(minutes=4)
    world.settle_restore(ticks=30)
    assert why(world.walrestore())[0] == "KafkaUnreachable"
    world.is_given_up = True
    assert world.settle_restore() is None
    (event,) = [each for each in world.kube.events if each.reason == "ScratchTopicsLeft"]
    assert names[0] in event.message


def lose_broker(world: ScratchWorld) -> str:
    """The only broker of the first scratch topic is gone for good, and a job that would write to it dies."""
    name = world.scratch_topics()[0]
    world.kafka.offline = set(world.kafka.topics[name].replicas)
    world.dies = 1
    return name


def test_a_topic_whose_only_broker_is_gone_goes_by_its_id_and_blocks_nothing() -> None:
    """Nobody can say its offsets any more."""
    world = backed_up()
    before = logs(world)
    world.drill_until(RestoreStage.WRITING)
    lose_broker(world)
    found = world.settle_restore()
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 3), why(found)
    left_nothing(world, before)
    world.drill(OTHER)
    assert world.settle_restore(OTHER).status.stage is RestoreStage.COMPLETED
    left_nothing(world, before)


def test_a_deletion_does_not_wait_for_a_topic_whose_only_broker_is_gone() -> None:
    world = backed_up()
    before = logs(world)
    world.drill_until(RestoreStage.WRITING)
    lose_broker(world)
    world.kube.deletes_at = world.time.time
    world.kube.remove(BACK, WALRestore)
    assert world.settle_restore(ticks=60) is None
    left_nothing(world, before)
    assert "ScratchTopicsLeft" not in {each.reason for each in world.kube.events}


def test_a_topic_without_a_leader_whose_id_nobody_recorded_is_waited_for_as_long_as_it_may_have_records() -> None:
    """Until the restore is deleted, and then for ten minutes."""
    world = backed_up()
    world.drill_until(RestoreStage.PREPARING)
    process = world.restorer()
    while not world.scratch_topics():
        world.settle_restore(process=process, ticks=1)
    assert {row.topic_id for row in world.walrestore().status.topics} == {None}
    name = lose_broker(world)
    world.kube.deletes_at = world.time.time
    world.kube.remove(BACK, WALRestore)
    world.settle_restore(process=process, ticks=30)
    assert (why(world.walrestore())[0], world.scratch_topics()) == ("KafkaUnreachable", [name])
    world.is_given_up = True
    assert world.settle_restore(process=process) is None
    assert [event.message for event in left_behind(world)] == [
        f"Nobody could be asked to delete topic {name} of Kafka fake-cluster: if they are there, delete them by hand"
    ]


def left_behind(world: ScratchWorld) -> list[Any]:
    return [each for each in world.kube.events if each.reason == "ScratchTopicsLeft"]


def test_a_deletion_gives_up_on_one_topic_that_kafka_refuses_and_takes_all_others_with_it() -> None:
    world = backed_up()
    world.drill_until(RestoreStage.WRITING)
    name, *_ = world.scratch_topics()
    world.kafka.refuses_topics = {name}
    begins = world.time.time
    world.kube.deletes_at = begins
    world.kube.remove(BACK, WALRestore)
    world.settle_restore(ticks=30)
    assert (why(world.walrestore())[0], world.scratch_topics()) == ("KafkaUnreachable", [name])
    world.is_given_up = True
    assert world.settle_restore() is None
    assert world.time.time - begins >= timedelta(minutes=10)
    (event,) = left_behind(world)
    assert f"topic {name} of Kafka fake-cluster:" in event.message


def test_a_time_in_which_nobody_asked_kafka_leaves_no_scratch_topic() -> None:
    """The operator was away with it, and is back first."""
    world = backed_up()
    before = logs(world)
    world.drill_until(RestoreStage.WRITING)
    world.kafka.cluster_id = "another"
    world.kube.deletes_at = world.time.time
    world.kube.remove(BACK, WALRestore)
    world.settle_restore(ticks=30)
    world.time.time += timedelta(hours=3)
    world.settle_restore(ticks=30)
    assert why(world.walrestore())[0] == "KafkaUnreachable"
    world.kafka.cluster_id = "fake-cluster"
    assert world.settle_restore() is None
    left_nothing(world, before)


def test_a_deletion_waits_for_no_walcluster_that_is_gone() -> None:
    world = backed_up()
    world.drill_until(RestoreStage.WRITING)
    world.is_given_up = True
    world.kube.remove(WAL)
    world.kube.remove(BACK, WALRestore)
    assert world.settle_restore(ticks=50) is None


@pytest.mark.parametrize("stage", MADE)
def test_a_drill_whose_walcluster_is_gone_names_the_topics_that_it_leaves(stage: RestoreStage) -> None:
    """Which Kafka they are in, nobody knows any more."""
    world = backed_up()
    world.drill_until(stage)
    process = world.restorer()
    while not world.scratch_topics():
        world.settle_restore(process=process, ticks=1)
    names = world.scratch_topics()
    world.is_given_up = True
    world.kube.remove(WAL)
    found = world.settle_restore(process=process)
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "ClusterMissing")
    assert found.metadata.finalizers == ()
    (event,) = [each for each in world.kube.events if each.reason in {"ScratchTopicsLeft", "FinalizerRemoved"}]
    assert all(name in event.message for name in names), event.message
    assert world.scratch_topics() == names


@pytest.mark.parametrize("stage", MADE)
def test_a_drill_whose_walcluster_is_being_deleted_leaves_nothing_behind(stage: RestoreStage) -> None:
    world = backed_up(slow=3)
    before = logs(world)
    world.drill_until(stage)
    process = world.restorer()
    while not world.scratch_topics():
        world.settle_restore(process=process, ticks=1)
    cluster = world.kube.get(WALCluster, WAL)
    assert cluster is not None
    world.kube.set_finalizers(cluster, [*cluster.metadata.finalizers, "example.com/waits"])
    world.kube.remove(WAL)
    found = world.settle_restore(process=process)
    assert found.status.is_over
    assert (why(found)[0] == "ClusterMissing") is (stage is not RestoreStage.REMOVING), why(found)
    left_nothing(world, before)
    assert Key(NAMESPACE, "back-2") not in world.spark.applications or stage is not RestoreStage.WRITING
    reasons = [each.reason for each in world.kube.events]
    assert "FinalizerRemoved" in reasons
    assert "ScratchTopicsLeft" not in reasons


def test_a_topic_that_is_there_already_is_neither_written_to_nor_deleted() -> None:
    world = backed_up()
    world.drill_until(RestoreStage.INSPECTING)
    world.add_foreign(scratch_name(world.walrestore().metadata, 1), 5)
    found = world.settle_restore()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "TopicNotEmpty")
    assert [world.kafka.topics[name].log.end for name in world.scratch_topics()] == [5]


@pytest.mark.parametrize("records", [0, 4])
def test_a_topic_that_somebody_made_again_is_left_to_them_if_it_has_records(records: int) -> None:
    """An empty one may come of a request that was on its way."""
    world = backed_up()
    world.drill_until(RestoreStage.PREPARING)
    process = world.restorer()
    while not all(row.topic_id for row in world.walrestore().status.topics):
        world.settle_restore(process=process, ticks=1)
    name = world.scratch_topics()[0]
    world.known.pop(str(world.kafka.topics.pop(name).log.topic_id))
    world.add_foreign(name, records)
    world.foreign &= world.foreign if records else set()
    found = world.settle_restore(process=process)
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "TopicChanged")
    assert world.scratch_topics() == ([name] if records else [])


def test_what_is_written_before_its_id_is_known_is_left_as_it_is() -> None:
    world = backed_up()
    world.drill_until(RestoreStage.PREPARING)
    process = world.restorer()
    while not world.scratch_topics():
        world.settle_restore(process=process, ticks=1)
    name = world.scratch_topics()[0]
    world.kafka.topics[name].log.append(1)
    world.foreign.add(str(world.kafka.topics[name].log.topic_id))
    found = world.settle_restore(process=process)
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "NotRestored")
    assert name in why(found)[1]
    assert world.scratch_topics() == [name]


def test_a_restore_of_the_pool_goes_first_and_waits_for_no_drill() -> None:
    world = backed_up()
    world.bring_back(OTHER)
    world.live_until(RestoreStage.AWAITING_APPROVAL, OTHER)
    world.approve(OTHER)
    world.live_until(RestoreStage.PREPARING, OTHER)
    world.drill()
    world.live_until(RestoreStage.PREPARING)
    world.settle_restore(ticks=20)
    assert why(world.walrestore()) == ("OtherRestore", "WALRestore other is at work on the same WALCluster")
    world.settle_restore(OTHER, ticks=5)
    assert why(world.walrestore(OTHER))[0] == "DatabaseRunning"
    world.kube.remove(OTHER, WALRestore)
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED


def test_two_drills_do_not_meet() -> None:
    world = backed_up()
    before = logs(world)
    world.drill()
    world.drill(OTHER)
    process = world.restorer()
    for _ in range(200):
        for key in (OTHER, BACK):
            world.settle_restore(key, process, ticks=1)
    assert [why(world.walrestore(key))[0] for key in (BACK, OTHER)] == ["Drilled", "Drilled"]
    left_nothing(world, before)


def test_a_drill_that_cannot_begin_ends_and_says_what_it_waited_for() -> None:
    world = backed_up()
    before = logs(world)
    world.drill_until(RestoreStage.PREPARING, timeout="10m", scratch={"replicationFactor": 3})
    world.kafka.offline = {3}
    world.settle_restore(ticks=5)
    assert why(world.walrestore())[0] == "TooFewBrokers"
    world.time.time += timedelta(minutes=11)
    found = world.settle_restore()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "CouldNotBegin")
    assert "2 brokers are online, and scratch.replicationFactor is 3" in why(found)[1]
    world.kafka.offline = set()
    left_nothing(world, before)


def test_while_kafka_does_not_answer_topics_are_waited_for_and_not_forgotten() -> None:
    world = backed_up()
    before = logs(world)
    world.drill_until(RestoreStage.REMOVING, timeout="10m")
    world.kafka.cluster_id = "another"
    world.time.time += timedelta(hours=3)
    world.settle_restore(ticks=30)
    assert (world.walrestore().status.stage, why(world.walrestore())[0]) == (RestoreStage.REMOVING, "KafkaUnreachable")
    world.kafka.cluster_id = "fake-cluster"
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED
    left_nothing(world, before)


@pytest.mark.parametrize("stage", [RestoreStage.PREPARING, RestoreStage.WRITING])
def test_a_declaration_that_is_taken_away_ends_it_and_leaves_nothing_behind(stage: RestoreStage) -> None:
    world = backed_up()
    before = logs(world)
    world.drill_until(stage)
    process = world.restorer()
    while not world.scratch_topics():
        world.settle_restore(process=process, ticks=1)
    world.declare(None)
    found = world.settle_restore(process=process)
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "SparkNotAllowed")
    left_nothing(world, before)


def test_it_goes_by_its_ttl_after_its_topics() -> None:
    world = backed_up()
    before = logs(world)
    world.drill(ttlSecondsAfterFinished=0)
    assert world.settle_restore() is None or world.settle_restore(ticks=5) is None
    left_nothing(world, before)
