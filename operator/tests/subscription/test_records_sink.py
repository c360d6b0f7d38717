"""Stories of WALSubscriptions that hand rows on, on the in-memory ports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription_status import HandedOn, StopReason, SubscriptionState
from seawall.domain.conditions import find_condition
from seawall.domain.spark_job.application import Ended
from tests.worlds.purge_world import TOPICS
from tests.worlds.records_world import ROWS, SPEC, RecordsWorld
from tests.worlds.subscription_world import DR, TARGET
from tests.worlds.verification_world import why

LATER = 8 << 32
"""A region of a table that is made later."""


def granted(world: RecordsWorld) -> dict[str, Any]:
    hold = world.kube.get(WALHold, DR)
    assert hold is not None
    return dict(hold.status.granted)


def progress_topic(world: RecordsWorld) -> str:
    records = world.subscription().status.records
    assert records is not None
    return records.progress.name


def make_table(world: RecordsWorld, schema: str = "public", rows: int = 5) -> None:
    """A table of one region of wal_0, with its first rows."""
    world.add_region("wal_0", LATER, datanode=0)
    world.store.put_table(LATER >> 32, schema, "later")
    for _ in range(rows):
        world.rows[LATER].append(world.kafka.topics["wal_0"].log.end)
        world.data_plane.regions[LATER].last = world.kafka.topics["wal_0"].log.end
        world.kafka.topics["wal_0"].log.append_of(LATER)


def test_rows_are_handed_on_from_the_log_start_and_each_once() -> None:
    world = RecordsWorld()
    found = world.streaming()
    assert why(found) == ("Streaming", f"the rows of 3 topics go to topic {ROWS} of dr")
    assert {name: world.rows_of(name) for name in TOPICS} == {name: list(range(40)) for name in TOPICS}
    assert granted(world) == dict.fromkeys(TOPICS, 40)
    (request,) = world.requests()
    assert request["sink"] == "Records"
    assert [(each["name"], each["progressPartition"], each["generation"]) for each in request["topics"]] == [
        ("wal_0", 0, 0),
        ("wal_1", 1, 0),
        ("wal_2", 2, 0),
    ]
    assert request["records"]["writer"] == f"seawall.db.dr.{found.metadata.uid[:8]}"
    progress = world.target.topics[progress_topic(world)]
    assert (progress.partitions, progress.configs["cleanup.policy"]) == (3, "compact")
    assert len(progress.replicas) == len(world.target.topics[ROWS].replicas) == 3
    assert find_condition(found.status.conditions, ConditionType.TARGET_SAFE) is None, "late writers are fenced"
    assert found.status.producer is None
    found = world.live(lambda: world.subscription().status.handed_on == HandedOn(rows=120, dead_letters=0))
    assert world.meters.subscriptions[DR] == (found.status, 2**20)


def test_nothing_is_made_or_read_before_the_hold_is_granted() -> None:
    world = RecordsWorld(auto_prune="Physical")
    world.subscribe()
    found = world.live(ticks=40)
    assert (world.target.topics, world.spark.specs) == ({}, {})
    assert found.status.state is SubscriptionState.HOLDING


def test_the_hold_stays_where_an_entry_began_that_is_not_whole() -> None:
    world = RecordsWorld(open_from={"wal_1": 33})
    world.subscribe()
    world.live(lambda: world.needed_from() == {"wal_0": 40, "wal_1": 33, "wal_2": 40} == granted(world))
    world.open_from.clear()
    world.live(world.is_even)


def test_the_rows_topic_of_somebody_is_used_as_it_is() -> None:
    world = RecordsWorld()
    world.target.add_topic(ROWS, replicas=(2,), partitions=7, configs={"max.message.bytes": "77777"})
    world.streaming()
    (request,) = world.requests()
    rows = request["records"]["rows"]
    assert (rows["partitions"], rows["maxMessageBytes"]) == (7, 77777)
    assert world.target.topics[ROWS].configs == {"max.message.bytes": "77777"}


def test_a_topic_of_the_pool_that_is_new_gets_a_partition_of_the_progress() -> None:
    world = RecordsWorld()
    world.streaming()
    world.grow("wal_3")
    world.live(lambda: world.runs(2) and world.is_even())
    assert world.target.topics[progress_topic(world)].partitions == 4
    assert world.rows_of("wal_3") == list(range(8))


def test_only_selected_tables_are_handed_on_and_an_edit_is_another_run() -> None:
    world = RecordsWorld()
    make_table(world)
    world.subscribe(tables={"include": ["public.t*"]})
    world.live(world.is_even)
    assert world.rows_of("wal_0") == list(range(40))
    assert [offset for _, _, offset in world.left_out] == list(range(40, 45))
    world.subscribe(tables={"include": ["public.later"]})
    world.live(lambda: world.runs(2))
    make_table(world)
    world.live(world.is_even)
    assert world.rows_of("wal_0") == [*range(40), *range(45, 50)]


def test_a_table_that_is_made_later_is_in_from_its_first_row() -> None:
    """The job meets it first, and stops; the operator reads the names again, and the next run knows it."""
    world = RecordsWorld()
    process = world.subscriber()
    world.subscribe(tables={"include": ["public.*"], "exclude": ["public.tmp*"]})
    world.live(world.is_even, process)
    make_table(world)
    world.live(world.is_even, process)
    assert world.rows_of("wal_0") == list(range(45))
    assert world.left_out == []
    assert not any(row.stopped for row in world.subscription().status.topics)


def test_a_table_that_is_not_selected_is_left_out_also_when_it_is_new_and_when_it_is_gone() -> None:
    world = RecordsWorld()
    world.subscribe(tables={"include": ["public.*"]})
    world.live(world.is_even)
    make_table(world, schema="private")
    world.live(world.is_even)
    assert [offset for _, _, offset in world.left_out] == list(range(40, 45))
    make_table(world, schema="private")
    world.store.drop_table(LATER >> 32)
    world.live(world.is_even)
    assert [offset for _, _, offset in world.left_out] == list(range(40, 50))
    assert world.rows_of("wal_0") == list(range(40))


def test_while_the_database_is_silent_what_runs_goes_on_and_nothing_new_begins() -> None:
    world = RecordsWorld()
    world.subscribe(tables={"include": ["public.*"]})
    world.live(world.is_even)
    world.write("wal_1", 10)
    world.store.is_silent = True
    world.live(lambda: world.needed_from()["wal_1"] == 50)
    found = world.live(lambda: why(world.subscription())[0] == "NamesUnknown")
    assert "the names of tables are not known" in why(found)[1]
    world.store.is_silent = False
    world.live(world.is_even)
    assert len(world.requests()) == 1


def test_names_of_another_database_count_for_nothing() -> None:
    world = RecordsWorld()
    world.streaming()
    world.store.put_claim("wal", "somebody-else")
    found = world.live(lambda: why(world.subscription())[0] == "NamesUnknown")
    assert "has claimed these topics" in why(found)[1]


def test_a_gap_stops_its_topic_and_the_others_go_on() -> None:
    world = RecordsWorld()
    world.streaming()
    world.stride = 0
    world.write("wal_2", 20)
    world.foreign.add("wal_2")
    world.kafka.topics["wal_2"].log.delete_before(50)
    found = world.live(lambda: world.subscription().status.state is SubscriptionState.STOPPED)
    (stopped,) = [row for row in found.status.topics if row.stopped]
    assert (stopped.name, stopped.stopped, stopped.offset) == ("wal_2", StopReason.SOURCE_GAP, 40)
    world.stride = 25
    world.write("wal_0", 7)
    world.live(lambda: world.needed_from()["wal_0"] == 47)


def lose_and_purge(world: RecordsWorld) -> None:
    """The target is away for too long, and what it needs of wal_2 is gone."""
    world.subscribe(lagBudget={"maxBytes": 16000})
    world.live(world.is_even)
    world.stride = 0
    world.write("wal_2", 175)
    world.live(lambda: world.subscription().status.state is SubscriptionState.LOST and not world.spark.applications)
    world.purged("wal_2", 100)
    world.stride = 25


def test_resync_begins_what_has_a_gap_anew_in_another_generation() -> None:
    begins_what_has_a_gap_anew(RecordsWorld())


def begins_what_has_a_gap_anew(world: RecordsWorld) -> None:
    """Only that, wherever rows go."""
    lose_and_purge(world)
    world.subscribe(resync="the rows of May are gone", lagBudget={"maxBytes": "1Mi"})
    found = world.live(world.is_even)
    assert {row.name: row.generation for row in found.status.topics} == {"wal_0": 0, "wal_1": 0, "wal_2": 1}
    assert world.rows_of("wal_2", 1) == list(range(100, 215))
    assert world.rows_of("wal_0") == list(range(40))


def test_resync_that_is_taken_away_asks_for_nothing() -> None:
    """A line that nobody needs any more, in Git: the topic that stopped meanwhile waits for a person."""
    world = RecordsWorld()
    lose_and_purge(world)
    world.subscribe(resync="the rows of May are gone", lagBudget={"maxBytes": "1Mi"})
    world.live(world.is_even)
    world.lose_target(ROWS)
    before = world.live(lambda: world.subscription().status.state is SubscriptionState.STOPPED)
    world.subscribe(resync="")
    after = world.live(ticks=20)
    assert (after.status.state, after.status.generation) == (SubscriptionState.STOPPED, before.status.generation)
    assert ROWS not in world.target.topics


def test_without_a_job_it_is_found_too_that_the_target_lost_its_topics() -> None:
    world = RecordsWorld()
    world.streaming()
    world.spark_operator_runs = False
    world.recreate(progress_topic(world), world.target)
    found = world.live(lambda: world.subscription().status.state is SubscriptionState.STOPPED)
    assert found.status.worst[0].reason is StopReason.TARGET_LOST
    assert "was made again in the target by somebody else" in found.status.worst[0].message


@pytest.mark.parametrize("topic", ["rows", "progress"])
def test_without_its_topics_of_the_target_it_stops_and_resync_begins_all_anew(topic: str) -> None:
    world = RecordsWorld()
    world.streaming()
    world.lose_target(ROWS if topic == "rows" else progress_topic(world))
    found = world.live(lambda: world.subscription().status.state is SubscriptionState.STOPPED)
    assert {row.stopped for row in found.status.topics} <= {StopReason.TARGET_LOST, None}
    assert why(found)[0] == "TopicsStopped"
    assert (ROWS in world.target.topics) is (topic == "progress"), "nothing is made again by itself"
    world.subscribe(resync="yes")
    world.live(world.is_even)
    assert {name: world.rows_of(name, 1) for name in TOPICS} == {name: list(range(40)) for name in TOPICS}


def test_a_record_without_rows_stops_its_topic_until_there_are_dead_letters() -> None:
    world = RecordsWorld(unreadable={"wal_1": 17})
    world.subscribe()
    found = world.live(lambda: world.subscription().status.state is SubscriptionState.STOPPED)
    (stopped,) = [row for row in found.status.topics if row.stopped]
    assert (stopped.stopped, stopped.offset) == (StopReason.UNREADABLE, 17)
    assert world.needed_from()["wal_1"] == 17
    world.live(lambda: granted(world).get("wal_0") == 40)
    assert granted(world)["wal_1"] <= 17
    world.subscribe(sink={"records": {**SPEC["sink"]["records"], "deadLetters": "wal_dead"}})
    world.subscribe(resync="to the dead letters with it")
    world.live(world.is_even)
    assert world.target.topics["wal_dead"].partitions == 1
    assert world.rows_of("wal_1") == list(range(40)), "it goes on from where it was"
    world.live(lambda: world.subscription().status.handed_on == HandedOn(rows=120, dead_letters=1))


def test_resync_reads_anew_what_the_topic_of_rows_takes() -> None:
    world = RecordsWorld()
    world.streaming()
    world.target.topics[ROWS].configs["max.message.bytes"] = "5000000"
    world.subscribe(resync="larger rows")
    world.live(lambda: world.runs(2) and world.is_even())
    assert [request["records"]["rows"]["maxMessageBytes"] for request in world.requests()] == [1048588, 5000000]
    assert {row.generation for row in world.subscription().status.topics} == {0}


def test_it_begins_with_a_snapshot_whose_volume_all_pods_have_and_another_one_is_another_run() -> None:
    begins_with_a_snapshot(RecordsWorld())


def begins_with_a_snapshot(world: RecordsWorld) -> None:
    snapshot = {"uri": "file:///snapshot/may", "persistentVolumeClaim": "snapshots"}
    world.subscribe(start={"from": "Snapshot", "snapshot": snapshot})
    world.live(world.is_even)
    (request,) = world.requests()
    assert request["snapshot"] == {"uri": "file:///snapshot/may"}
    ((_, made),) = world.spark.specs.items()
    for role in ("driver", "executor"):
        pod = made[role]["template"]["spec"]
        assert {"name": "snapshot", "mountPath": "/snapshot", "readOnly": True} in pod["containers"][0]["volumeMounts"]
        claims = [each.get("persistentVolumeClaim", {}).get("claimName") for each in pod["volumes"]]
        assert "snapshots" in claims
    world.subscribe(start={"from": "Earliest"})
    world.live(lambda: world.runs(2) and world.is_even())
    assert "snapshot" not in world.requests()[-1]


def test_a_topic_that_has_begun_with_another_snapshot_begins_anew_when_a_person_says_so() -> None:
    world = RecordsWorld()
    world.streaming()
    application = next(iter(world.spark.applications))
    found = world.request_of(application)
    assert found is not None
    stop = {"topic": "wal_1", "reason": "SnapshotUnusable", "offset": None, "message": "another snapshot"}
    body = {"version": 1, "requestDigest": found[1], "outcome": "Stopped", "message": "x", "stopped": [stop]}
    world.spark.report(application, "COMPLETED", driver=Ended(0, json.dumps(body)))
    found_now = world.live(lambda: world.subscription().status.state is SubscriptionState.STOPPED)
    assert [row.stopped for row in found_now.status.topics if row.stopped] == [StopReason.SNAPSHOT_UNUSABLE]
    world.subscribe(resync="from the new one")
    world.live(lambda: world.subscription().status.resync == "from the new one" and world.is_even())
    assert {row.name: row.generation for row in world.subscription().status.topics} == {
        "wal_0": 0,
        "wal_1": 1,
        "wal_2": 0,
    }


def test_rows_may_go_to_the_kafka_of_the_log_but_not_among_its_topics() -> None:
    same = {**TARGET, "kafka": {"bootstrapServers": ["kafka:9092"]}}
    world = RecordsWorld(declared={"spark": {"image": "wal-subscription:1"}, "targets": [same]})
    world.subscribe(sink={"records": {"target": "dr", "topic": "wal_rows"}})
    found = world.live(lambda: why(world.subscription())[0] == "TopicOfPool")
    assert "is named as those of the log (wal_…)" in why(found)[1]
    assert found.status.state is SubscriptionState.HOLDING
    assert "wal_rows" not in world.kafka.topics


def test_a_configuration_that_would_lose_the_progress_is_set_back() -> None:
    world = RecordsWorld()
    world.streaming()
    name = progress_topic(world)
    world.target.topics[name].configs["cleanup.policy"] = "delete"
    world.live(lambda: world.target.topics[name].configs["cleanup.policy"] == "compact")


def test_an_old_driver_that_wakes_up_hands_nothing_on() -> None:
    world = RecordsWorld()
    world.streaming()
    old = world.requests()[0]
    world.subscribe(tables={"include": ["public.*"]})
    world.live(lambda: world.runs(2) and world.is_even())
    world.write("wal_0", 5)
    (stop, *_) = world.work_on(old)
    assert stop["reason"] == "Fenced"
    world.live(world.is_even)


def test_progress_of_others_moves_no_hold() -> None:
    world = RecordsWorld()
    world.streaming()
    world.spark_operator_runs = False  # else the job would stop at it
    world.write("wal_0", 30)
    name = progress_topic(world)
    key, value = world.target.topics[name].newest[0]
    assert value is not None
    for foreign in (value.replace(b"seawall.db", b"somebody"), b"", b"{}", value.replace(b'"wal_0"', b'"wal_1"')):
        world.target.topics[name].newest[0] = key, foreign.replace(b'"readFrom": 40', b'"readFrom": 70')
        world.live(ticks=20)
        assert granted(world)["wal_0"] == 40
