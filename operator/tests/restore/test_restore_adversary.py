"""The world moves between what a restore decided and what it does, or is not what it seems: each has a story."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.observation import Observation, read_shards
from seawall.domain.ledger.shards import PoolId, shards_of
from tests.restore.test_restore import logs, nothing_was_made
from tests.restore.test_restore_crash import approved
from tests.worlds.purge_world import NAMESPACE, TOPICS, WAL, Calls
from tests.worlds.restore_world import CHANGES, DATANODES, WRITTEN, RestoreWorld, lost
from tests.worlds.verification_world import why


def test_a_database_that_starts_right_before_the_topics_are_made_is_waited_for() -> None:
    world = approved()
    calls = Calls(world.check, CHANGES)

    def starts(name: str) -> None:
        """Between the decision, which read the topics, and the reads right before the act."""
        reads_again = calls.names[-2:] == ["list", "get"] and name == "get"
        if reads_again and world.walrestore().status.none_existed and not world.datanodes.running:
            world.start_database()

    calls.before = starts
    process = world.restorer(calls)
    for _ in range(30):
        world.settle_restore(process=process, ticks=1)
    assert world.datanodes.running
    assert world.kafka.topics == {}
    assert why(world.walrestore())[0] == "DatabaseRunning"
    calls.before = lambda _: None
    world.stop_database()
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED


def test_a_log_that_is_half_written_is_adopted_by_nobody() -> None:
    world = approved()
    process = world.restorer()
    while world.walrestore().status.stage is not RestoreStage.WRITING:
        world.settle_restore(process=process, ticks=1)
    for topic in world.kafka.topics.values():
        topic.log.append(3)  # by the job, which dies then
    watching = world.recorder()
    world.annotate(readopt=f"looks right@{(world.time.now() + timedelta(hours=1)).isoformat()}")
    for _ in range(5):
        watching.tick(WAL)
        world.time.time += timedelta(seconds=5)
    ids = {str(topic.log.topic_id) for topic in world.kafka.topics.values()}
    assert not [record for record in world.records().values() if record.topic_id in ids and not record.broken]
    found = world.observer().observe(world.cluster(), readopts=True)
    assert isinstance(found, Observation)
    assert "seawall.dev/readopt is not followed: WALRestore back is at work" in (found.readopt_problem or "")


def test_rows_in_memory_of_which_nobody_says_the_ids_are_not_padded_over() -> None:
    """A datanode leaves out the topics that it has not used lately, and flushes what it has when it stops."""
    world = lost()
    world.data_plane.newest_ids.clear()
    world.bring_back()
    world.settle_restore(ticks=40)
    reason, message = why(world.walrestore())
    assert reason == "FlushedUnknown"
    assert "does not say now what it has" in message
    for region in world.data_plane.regions:
        world.flush(region)
    found = world.live_until(RestoreStage.AWAITING_APPROVAL)
    assert [row.pad_to for row in found.status.topics] == [47] * 3


def test_an_idle_region_is_at_the_end_of_a_log_that_is_lost() -> None:
    world = lost()
    for region in list(world.data_plane.regions):
        world.flush(region)
    world.data_plane.newest_ids.clear()
    region = max(world.data_plane.regions)
    world.data_plane.idle[region] = 60
    world.bring_back()
    found = world.live_until(RestoreStage.AWAITING_APPROVAL)
    assert [row.pad_to for row in found.status.topics] == [47, 47, 61]


@pytest.mark.parametrize("spec", [{"padTo": dict.fromkeys(TOPICS, 42)}, {"padAboveFlushed": False}])
def test_what_is_known_counts_although_one_region_is_silent(spec: dict[str, Any]) -> None:
    world = lost()
    world.data_plane.reports()
    world.data_plane.stopped = {1}
    world.bring_back(**spec)
    process = world.restorer()
    for _ in range(80):
        world.settle_restore(process=process, ticks=1)
    found = world.walrestore()
    assert [row.needed_end for row in found.status.topics] == [47] * 3
    assert [row.compared for row in found.status.topics] == [False] * 3
    if "padTo" in spec:
        assert [row.pad_to for row in found.status.topics] == [47] * 3
        assert "the database did not say all that it has" in why(found)[1]
    else:
        assert why(found)[0] == "RequestRefused"


def test_a_record_that_cannot_be_read_is_waited_for() -> None:
    world = lost()
    for key in world.intents._shards:
        world.intents.unreadable[key] = "somebody wrote into it"
    world.bring_back()
    world.settle_restore(ticks=30)
    assert why(world.walrestore())[0] == "FlushedUnknown"
    assert "somebody wrote into it" in why(world.walrestore())[1]


def test_a_plan_does_not_outlive_the_log_that_it_was_made_for() -> None:
    world, other = lost(), Key(NAMESPACE, "other")
    world.bring_back(other)
    world.live_until(RestoreStage.AWAITING_APPROVAL, other)
    world.restored()
    world.start_database()
    for topic in TOPICS:
        world.write(topic, 500)
    for region in list(world.data_plane.regions):
        world.flush(region)
    for _ in range(4):
        world.recorder().tick(WAL)
    world.lose_kafka()
    world.kafka.requests.clear()
    world.stop_database()
    world.approve(other)
    found = world.settle_restore(other)
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "PlanChanged")
    nothing_was_made(world)


def test_a_statefulset_that_is_not_there_says_nothing_about_its_pods() -> None:
    world = lost()
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    del world.datanodes.statefulsets[DATANODES]
    world.approve()
    world.settle_restore(ticks=40)
    assert why(world.walrestore())[0] == "DatabaseUnknown"
    nothing_was_made(world)


def test_pods_that_are_gone_are_not_all_where_datanodes_report() -> None:
    world = approved()
    world.data_plane.stopped = {0, 1}
    world.settle_restore(ticks=40)
    assert why(world.walrestore()) == ("DatabaseRunning", "datanodes report: stop all of them")
    nothing_was_made(world)


def test_a_metasrv_that_knows_no_datanode_or_has_another_clock_says_nothing() -> None:
    world = lost()
    world.kube.apply(WAL, {**world.spec(), "dataPlane": {"greptimedb": world.greptimedb}})
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.approve()
    world.data_plane.now = lambda: world.time.now() - timedelta(minutes=2)
    process = world.restorer()
    for _ in range(20):
        world.settle_restore(process=process, ticks=1)
    assert why(world.walrestore())[0] == "DatabaseRunning"
    version = world.walrestore().metadata.resource_version
    for _ in range(5):
        world.settle_restore(process=process, ticks=1)
    assert world.walrestore().metadata.resource_version == version, "the status is written at each tick"
    world.data_plane.datanodes = 0
    world.data_plane._last.clear()
    world.settle_restore(process=process, ticks=40)
    assert why(world.walrestore())[0] == "DatabaseUnknown"
    nothing_was_made(world)


@pytest.mark.parametrize("stops_again", [False, True])
def test_logs_that_the_database_opened_while_they_were_written_are_not_adopted(*, stops_again: bool) -> None:
    """It may have written nothing: it has read a part, and its next flush would say that it has read all."""
    world = approved()
    world.slow = 6
    process = world.restorer()
    while "back-2" not in {key.name for key in world.spark.specs}:
        world.settle_restore(process=process, ticks=1)
    world.start_database()
    world.settle_restore(process=process, ticks=2)
    if stops_again:
        world.stop_database()
    found = world.settle_restore(process=process)
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "NotOurs")
    assert "the database was started while its logs were written" in why(found)[1]
    assert {record.broken for record in world.records().values()} != {False} or world.wrong_with_logs() is None
    assert "delete_topics" not in world.kafka.requests


@pytest.mark.parametrize("cut", [True, False])
def test_logs_that_are_not_what_was_read_back_are_not_adopted(*, cut: bool) -> None:
    world = approved()
    world.live_until(RestoreStage.ADOPTING)
    log = world.kafka.topics["wal_0"].log
    if cut:
        log.end = 20
    else:
        log.delete_before(30)
    found = world.settle_restore()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "NotRestored")
    assert "after they were read back" in why(found)[1]
    topic_ids = {row.topic_id for row in found.status.topics}
    assert all(record.topic_id not in topic_ids or record.broken for record in world.records().values())


def test_a_log_that_somebody_else_has_adopted_does_not_go() -> None:
    """A restore of another WALCluster of the same topics, say, which took them for its own."""
    world = approved(half_written=1)
    found = world.live_until(RestoreStage.REMOVING)
    made = {row.name: row.topic_id for row in found.status.topics}
    pool, names = PoolId(NAMESPACE, "fake-cluster", "wal"), list(made)
    shards = read_shards(world.intents.read(pool, shards_of(names)))
    adopted = {name: FenceRecord(str(topic_id), 0, 0, 3, intent=0) for name, topic_id in made.items()}
    for topic in world.kafka.topics.values():
        topic.log.end = 47
    for number, shard in shards.changed(adopted).items():
        world.intents.write(pool, number, shard)
    found = world.settle_restore()
    assert (found.status.stage, why(found)[0]) == (RestoreStage.FAILED, "NotOurs")
    assert "delete_topics" not in world.kafka.requests


def test_topics_are_not_removed_by_answers_of_an_hour_ago() -> None:
    """The process is frozen while it asks whether they still may go; the database may have been started since."""
    world = approved(half_written=1)
    world.live_until(RestoreStage.REMOVING)
    calls, asked, frozen = Calls(world.check, CHANGES), list[str](), list[str]()

    def freeze(name: str) -> None:
        """It is asked once to decide, and once more right before the act."""
        asked.extend([name] if name == "find_first_since" else [])
        if len(asked) == 2 and not frozen:
            frozen.append(name)
            world.time.time += timedelta(hours=1)

    calls.before = freeze
    process = world.restorer(calls)
    for _ in range(40):
        asked.clear()
        world.settle_restore(process=process, ticks=1)
        if frozen:
            break
    assert frozen
    assert "delete_topics" not in calls.names
    assert world.settle_restore(process=process).status.stage is RestoreStage.COMPLETED


def test_what_was_backed_up_while_the_restore_was_planned_is_no_obstacle_to_another_attempt() -> None:
    """The database ran until the plan was made; an attempt is interrupted, and its topics go."""
    world = approved(half_written=1)
    world.written_at = world.time.now()
    started = world.walrestore().status.start_time
    assert started is not None
    assert started < world.written_at
    found = world.settle_restore()
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 3), why(found)


def test_a_pool_that_another_walcluster_claims_is_not_restored() -> None:
    world = approved()
    world.kube.apply(Key(NAMESPACE, "twin"), world.spec())
    world.settle_restore(ticks=30)
    reason, message = why(world.walrestore())
    assert (reason, world.kafka.topics) == ("KafkaUnreachable", {})
    assert "claims the same topics" in message or "owns" in message
    world.kube.remove(Key(NAMESPACE, "twin"), WALCluster)
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED


def test_a_database_that_ran_between_two_looks_is_noticed_by_its_statefulset() -> None:
    world = approved(half_written=1)
    process = world.restorer()
    while not world.kafka.topics:
        world.settle_restore(process=process, ticks=1)
    world.start_database()
    world.stop_database()
    found = world.settle_restore(process=process)
    assert found.status.stage is RestoreStage.FAILED
    assert len(world.kafka.topics) == 3
    assert "delete_topics" not in world.kafka.requests


@pytest.mark.parametrize("stage", [RestoreStage.PREPARING, RestoreStage.WRITING, RestoreStage.ADOPTING])
def test_a_declaration_that_is_taken_away_in_mid_restore_loses_nothing(stage: RestoreStage) -> None:
    world = approved()
    world.live_until(stage)
    declared = world.declared
    world.declare(None)
    world.settle_restore(ticks=20)
    if stage is RestoreStage.ADOPTING:
        assert world.walrestore().status.stage is RestoreStage.COMPLETED
        return
    assert (world.walrestore().status.stage, why(world.walrestore())[0]) == (stage, "SparkNotAllowed")
    world.declare(declared)
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED


def test_what_is_left_of_a_restore_whose_walcluster_goes_is_named() -> None:
    world = approved()
    world.live_until(RestoreStage.WRITING)
    world.kube.remove(WAL)
    found = world.settle_restore()
    assert why(found)[0] == "ClusterMissing"
    assert "what it made of 3 topics (wal_0, wal_1, wal_2) is left as it is" in why(found)[1]


def without_wal_2() -> RestoreWorld:
    """Kafka is lost, and the backup has one topic less than it had."""
    world = RestoreWorld()
    world.backed_up(topics=["wal_0", "wal_1"])
    for topic in TOPICS:
        world.write(topic, WRITTEN)
    for _ in range(3):
        world.recorder().tick(WAL)
    world.lose_kafka()
    return world


def test_topics_that_the_backup_does_not_have_are_named() -> None:
    world = without_wal_2()
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.settle_restore(ticks=1)
    assert ", nothing of topic wal_2 (the database has entries of topic wal_2" in why(world.walrestore())[1]
    world.stop_database()
    world.approve()
    assert ", nothing of topic wal_2" in why(world.settle_restore())[1]
    assert sorted(logs(world)) == ["wal_0", "wal_1"]


def test_what_shall_be_padded_and_is_in_no_backup_is_refused() -> None:
    """Made anew with no record it would be what `padTo` is there to prevent."""
    world = without_wal_2()
    world.bring_back(padTo={"wal_2": 90, "wal_1": 90})
    assert why(world.settle_restore()) == (
        "RequestRefused",
        "padTo names topic wal_2, of which the backup has nothing: name another backup, or the others in spec.topics",
    )
    assert not logs(world)


def test_where_the_database_is_gone_what_is_in_no_backup_is_left_out_as_the_messages_say() -> None:
    """Nobody says what it has of any topic: all that come back are padded by a person's word."""
    world = without_wal_2()
    world.store.is_silent = world.data_plane.is_silent = True
    world.bring_back(padTo={"wal_0": 90, "wal_1": 90})
    found = world.settle_restore(ticks=60)
    assert why(found)[0] == "FlushedUnknown"
    assert why(found)[1].endswith("or set padTo, or leave it out")
    again = Key(NAMESPACE, "again")
    world.bring_back(again, padTo={"wal_0": 90, "wal_1": 90}, topics=["wal_0", "wal_1"])
    assert why(world.settle_restore(ticks=60, key=again))[0] == "AwaitingApproval"
