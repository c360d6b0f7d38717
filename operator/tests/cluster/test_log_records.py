"""Logs are recorded also where no database can be looked at: what writes to them writes all the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.controllers.cluster import WALClusterController
from seawall.domain.cluster.actions import MarkRecords, RecordLogs
from seawall.domain.cluster.identity import Pin
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused, SeawallError
from seawall.domain.kafka_log import LogOffsets, TopicFailure, TopicTrouble
from seawall.domain.ledger.fence import BEFORE_ANY_DATABASE
from seawall.domain.ledger.intents import FenceRecord, database_digest
from seawall.domain.ledger.observation import Unavailable, UnavailableReason, read_shards
from seawall.domain.ledger.shards import PoolId, shard_of, shards_of
from tests.cluster.test_lost_topics import (
    BARE,
    assert_lost,
    begin_a_restore,
    database_of,
    is_recorded,
    lose,
    mark_as_used,
    token_of,
)
from tests.cluster.test_topic_deletion import LONG, controller, live, reported, until_it_acts
from tests.fakes.intents import FakeIntentStore
from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.fakes.ledgers import FakeLedgers
from tests.ledger.test_ledger_watch import look, until, watch
from tests.worlds.purge_world import CLUSTER, NAMESPACE, TOPICS, WAL, Calls, World

SHARDS = tuple(sorted(shards_of(TOPICS)))
BLOCKED = Unavailable(UnavailableReason.POLICY_INVALID, "a WALPurgePolicy cannot be read")


def process_of(world: World, calls: Calls | None = None, found: Any = None) -> WALClusterController:
    """A new process; `found`: by the newest look at the ledger."""
    ledgers = FakeLedgers({} if found is None else {WAL: found})
    return replace(controller(world, calls), ledgers=ledgers)


def new_world(spec: dict[str, Any] = BARE) -> World:
    """A WALCluster that was applied a moment ago."""
    world = World()
    world.kube.apply(WAL, spec)
    return world


def begun(spec: dict[str, Any] = BARE, found: Any = None) -> World:
    """A WALCluster that is Ready, and that nobody has looked at."""
    world = new_world(spec)
    live(world, process_of(world, found=found), ticks=8)
    return world


def declared_to(world: World, hours: int = 2, spec: dict[str, Any] = BARE) -> None:
    world.kube.apply(WAL, spec, annotations={"seawall.dev/readopt": until(world, hours)})


def shown(world: World) -> tuple[int, ...]:
    wal = world.cluster().status.wal
    return () if wal is None else wal.record_shards


@pytest.mark.parametrize(("spec", "found"), [(BARE, None), (CLUSTER, BLOCKED)], ids=["no database", "nobody can look"])
def test_a_topic_that_no_look_has_seen_is_lost_and_not_made_again(spec: dict[str, Any], found: Any) -> None:
    world = begun(spec, found)
    world.write("wal_1", 30)
    lose(world)
    live(world, process_of(world, found=found))
    assert_lost(world)
    assert "TopicsCreated" not in [event.reason for event in world.kube.events]


@pytest.mark.parametrize(("spec", "found"), [(BARE, None), (CLUSTER, BLOCKED)], ids=["no database", "nobody can look"])
def test_a_topic_that_was_added_while_nobody_looks_is_lost_too(spec: dict[str, Any], found: Any) -> None:
    world = begun(spec, found)
    world.kube.apply(WAL, {**spec, "topics": {**spec["topics"], "count": 4}})
    live(world, process_of(world, found=found), ticks=8)
    assert "wal_3" in world.kafka.topics
    lose(world, "wal_3")
    live(world, process_of(world, found=found))
    assert "wal_3" not in world.kafka.topics
    assert reported(world).startswith("TopicLost: Kafka has lost topic wal_3, which was in use")


def test_logs_are_recorded_once_and_the_status_says_that_there_are_records() -> None:
    world = begun()
    assert world.records().keys() == set(TOPICS)
    for name, record in world.records().items():
        log = world.kafka.topics[name].log
        assert (record.topic_id, record.high_watermark, record.intent) == (log.topic_id, log.end, log.log_start)
    assert shown(world) == SHARDS
    assert [event.message for event in world.kube.events if event.reason == "LogsRecorded"] == [
        "Recorded the identity of 3 topics (wal_0, wal_1, wal_2)"
    ]


def test_a_process_reads_once_and_a_calm_tick_nothing() -> None:
    world, calls = begun(), Calls(lambda _: None)
    process = process_of(world, calls)
    live(world, process, ticks=1)
    assert calls.names.count("read") == 1
    calls.names.clear()
    live(world, process, ticks=3)
    assert calls.names.count("view") == 3
    assert {"read", "write", "describe_offsets"}.isdisjoint(calls.names)


def test_what_a_look_records_is_left_to_it() -> None:
    world, calls = World(), Calls(lambda _: None)
    world.kube.apply(WAL, CLUSTER)
    watching = watch(world)
    live(world, process_of(world), ticks=6)
    assert world.records() == {}, "the first look has not ended"
    page = look(world, watching, times=1)
    live(world, process_of(world, calls, found=page), ticks=6)
    assert "read" not in calls.names


def test_a_topic_that_is_gone_before_it_was_recorded_is_made_as_any_other() -> None:
    world = World()
    del world.kafka.topics["wal_1"]
    world.kube.apply(WAL, BARE)
    process = process_of(world)
    live(world, process, ticks=4)
    live(world, process, ticks=8)
    assert "wal_1" in world.kafka.topics


def test_records_come_before_the_configuration_that_names_their_topics() -> None:
    world, calls = World(), Calls(lambda _: None)
    del world.kafka.topics["wal_1"]
    world.kube.apply(WAL, {**BARE, "dataPlane": {"walConfig": {"configMapName": "wal"}}})
    live(world, process_of(world, calls), ticks=10)
    writes = [name for name in calls.names if name in {"write", "create_topics", "write_config_map"}]
    assert writes[0] == "create_topics", "a leader that is silent would hold it up"
    assert writes[1:] == ["write"] * (len(writes) - 2) + ["write_config_map"]
    assert world.records().keys() == set(TOPICS)


def test_a_paused_walcluster_writes_no_record() -> None:
    world = World()
    world.kube.apply(WAL, BARE, annotations={"seawall.dev/paused": "true"})
    live(world, process_of(world), ticks=6)
    assert world.records() == {}


def test_a_topic_without_a_leader_is_recorded_when_it_has_one() -> None:
    world = new_world()
    world.kafka.topics["wal_1"].views_until_led = LONG
    process = process_of(world)
    live(world, process, ticks=6)
    assert world.records().keys() == {"wal_0", "wal_2"}
    world.kafka.topics["wal_1"].views_until_led = 0
    live(world, process, ticks=6)
    assert world.records().keys() == set(TOPICS)


def test_whenever_a_topic_is_deleted_it_is_made_again_only_if_it_was_not_recorded_yet() -> None:
    """Right before each call of the first minutes."""
    first = Calls(lambda _: None)
    world = new_world()
    live(world, process_of(world, first), ticks=8)
    fates: set[bool] = set()
    for number in range(len(first.names)):
        world, calls = new_world(), Calls(lambda _: None)
        recorded: list[bool] = []

        def happens(world: World = world, recorded: list[bool] = recorded) -> None:
            recorded.append("wal_1" in world.records())
            world.write("wal_1", 3)
            lose(world)

        calls.make_before(number, happens)
        live(world, process_of(world, calls), ticks=10)
        live(world, ticks=10)
        assert ("wal_1" not in world.kafka.topics) or recorded == [False], f"before call {number}"
        fates.add("wal_1" in world.kafka.topics)
    assert fates == {False, True}


# --- what a person gives up


@pytest.mark.parametrize(("spec", "found"), [(BARE, None), (CLUSTER, BLOCKED)], ids=["no database", "nobody can look"])
def test_one_annotation_makes_no_second_topic(spec: dict[str, Any], found: Any) -> None:
    world = begun(spec, found)
    lose(world)
    live(world, process_of(world, found=found), ticks=4)
    declared_to(world, spec=spec)
    process = process_of(world, found=found)
    live(world, process, ticks=8)
    assert is_recorded(world, "wal_1")
    lose(world)
    live(world, process, ticks=6)
    assert_lost(world)


def test_a_log_that_was_made_anew_is_recorded_also_by_the_process_that_knew_the_record_before() -> None:
    """An annotation lingers that nobody who could look has met."""
    world = begun(CLUSTER, BLOCKED)
    declared_to(world, spec=CLUSTER)
    process = process_of(world, found=BLOCKED)
    live(world, process, ticks=2)
    lose(world)
    live(world, process, ticks=8)
    assert is_recorded(world, "wal_1")
    lose(world)
    live(world, process, ticks=6)
    assert_lost(world)


def test_a_pool_of_which_nothing_was_left_is_recorded_again_by_the_process_that_knew_its_records() -> None:
    world = begun(CLUSTER, BLOCKED)
    declared_to(world, spec=CLUSTER)
    process = process_of(world, found=BLOCKED)
    live(world, process, ticks=2)
    lose(world, *TOPICS)
    live(world, process, ticks=8)
    assert all(is_recorded(world, name) for name in TOPICS)
    lose(world, *TOPICS)
    live(world, process, ticks=6)
    assert not world.kafka.topics
    assert reported(world).startswith("TopicLost: Kafka has lost 3 topics (wal_0, wal_1, wal_2), which was in use")


def test_what_is_lost_while_an_annotation_lingers_is_not_made_again() -> None:
    world = begun()
    declared_to(world)
    live(world, ticks=4)
    lose(world)
    live(world, ticks=6)
    assert_lost(world)


def test_an_annotation_that_expires_too_late_makes_no_topic_by_waiting() -> None:
    world = begun()
    declared_to(world, 26)
    live(world, ticks=4)
    lose(world)
    live(world, ticks=4)
    assert "expires more than 24 hours ahead and is not followed" in reported(world)
    world.time.time += timedelta(hours=3)
    live(world, ticks=6)
    assert_lost(world)


def test_a_database_that_cannot_be_asked_yet_may_still_meet_the_annotation() -> None:
    """Records that were marked here would not be adopted by its watch."""
    world = begun(CLUSTER, BLOCKED)
    declared_to(world, spec=CLUSTER)
    live(world, process_of(world, found=BLOCKED), ticks=4)
    assert {record.readopted for record in world.records().values()} == {None}


def forget_records(world: World) -> None:
    """Somebody removes the ConfigMaps."""
    world.intents = FakeIntentStore()


def test_records_that_are_gone_are_no_first_contact_until_a_person_begins_anew() -> None:
    world = begun()
    forget_records(world)
    live(world, ticks=4)
    assert world.records() == {}
    declared_to(world)
    live(world, ticks=4)
    assert world.records().keys() == set(TOPICS)


def test_records_that_begin_anew_say_when_and_those_of_new_topics_do_not() -> None:
    """What was verified before may have been cut off while nobody knew where the logs had ended."""
    world = new_world()
    declared_to(world)
    live(world, ticks=8)
    assert {record.readopted_at for record in world.records().values()} == {None}
    forget_records(world)
    declared_to(world, 3)
    before = world.time.now()
    live(world, ticks=4)
    times = [record.readopted_at or 0 for record in world.records().values()]
    assert len(times) == len(TOPICS)
    assert before.timestamp() <= min(times) <= max(times) <= world.time.now().timestamp() + 1


def test_an_annotation_that_was_used_begins_no_records_that_are_lost_later() -> None:
    """While nobody can look at the database, that it was used is known from the status alone."""
    world = begun(CLUSTER, BLOCKED)
    declared_to(world, 20, CLUSTER)
    mark_as_used(world)
    forget_records(world)
    live(world, process_of(world, found=BLOCKED), ticks=4)
    assert world.records() == {}
    declared_to(world, 2, CLUSTER)
    live(world, process_of(world, found=BLOCKED), ticks=4)
    assert world.records().keys() == set(TOPICS)


def test_one_annotation_begins_lost_records_once_also_without_a_database() -> None:
    world = begun()
    forget_records(world)
    declared_to(world, 20)
    live(world, ticks=4)
    assert world.records().keys() == set(TOPICS)
    forget_records(world)
    live(world, ticks=4)
    assert world.records() == {}
    declared_to(world, 2)
    live(world, ticks=4)
    assert world.records().keys() == set(TOPICS)


def test_an_annotation_is_not_used_up_before_all_lost_records_have_begun_anew() -> None:
    """One topic has no leader, another one is missing."""
    world = begun()
    forget_records(world)
    lose(world)
    world.kafka.topics["wal_2"].views_until_led = LONG
    declared_to(world, 20)
    process = process_of(world)
    live(world, process, ticks=8)
    assert world.records().keys() == {"wal_0", "wal_1"}
    assert Pin.of(world.cluster().status.data_plane).readopted is None
    world.kafka.topics["wal_2"].views_until_led = 0
    live(world, process, ticks=4)
    assert world.records().keys() == set(TOPICS)
    assert Pin.of(world.cluster().status.data_plane).readopted is not None


def test_an_annotation_is_not_used_up_while_a_topic_is_missing_whose_record_is_gone() -> None:
    world = begun()
    forget_records(world)
    lose(world, *TOPICS)
    world.kafka.offline = {3}
    declared_to(world, 20)
    live(world, ticks=4)
    assert not world.kafka.topics, "too few brokers are there"
    assert Pin.of(world.cluster().status.data_plane).readopted is None
    world.kafka.offline = set()
    live(world, ticks=8)
    assert all(is_recorded(world, name) for name in TOPICS)


def test_an_annotation_that_expires_too_late_begins_no_lost_records_by_waiting() -> None:
    world = begun()
    forget_records(world)
    declared_to(world, 26)
    live(world, ticks=4)
    world.time.time += timedelta(hours=3)
    live(world, ticks=4)
    assert world.records() == {}


def test_a_database_that_is_declared_after_an_annotation_was_used_is_met_as_any_other() -> None:
    world = begun()
    found = world.cluster()
    world.kube.replace_status(found, found.status.model_copy(update={"data_plane": None}))
    declared_to(world, 20)
    live(world, ticks=4)
    used = Pin.of(world.cluster().status.data_plane)
    assert (used.identity, used.readopted) == (None, token_of(world))
    world.kube.apply(WAL, CLUSTER)
    process = replace(process_of(world), ledgers=FakeLedgers({}, database_of(world)))
    live(world, process, ticks=4)
    assert Pin.of(world.cluster().status.data_plane) == replace(used, identity=world.store.snapshot().store_id)


def test_a_record_that_cannot_be_read_is_not_replaced() -> None:
    world = World()
    number = shard_of("wal_1")
    world.intents.unreadable[PoolId(NAMESPACE, "fake-cluster", "wal").config_map(number)] = "it is damaged"
    world.kube.apply(WAL, BARE)
    live(world, ticks=6)
    world.intents.unreadable.clear()
    assert world.records().keys() == {name for name in TOPICS if shard_of(name) != number}


# --- between the decision and the act


def pause(world: World) -> None:
    world.annotate(paused="true")


def make_object_anew(world: World) -> None:
    world.kube.remove(WAL)
    world.kube.apply(WAL, BARE)


def edit(world: World) -> None:
    world.kube.apply(WAL, {**BARE, "topics": {**BARE["topics"], "count": 7}})


def record_meanwhile(world: World) -> None:
    """Another leader was faster."""
    live(world, ticks=4)


LATE = (pause, make_object_anew, edit, record_meanwhile, begin_a_restore)


@pytest.mark.parametrize("late", LATE, ids=lambda late: late.__name__)
def test_it_is_asked_again_right_before_logs_are_recorded(late: Callable[[World], None]) -> None:
    assert_asked_again(new_world(), late)


def assert_asked_again(world: World, late: Callable[[World], None]) -> None:
    """What was decided is not done, and nothing is written, when the world moved since."""
    process = process_of(world)
    obj, step = until_it_acts(world, process, RecordLogs)
    late(world)
    before = world.records()
    with pytest.raises(Conflict):
        process.perform(obj, step.actions[0])
    assert world.records() == before


def test_an_annotation_that_replaces_a_refused_one_is_not_marked_as_met_in_its_place() -> None:
    """It expires sooner, as the message asks; what it was set for is made again by it."""
    world = new_world()
    live(world, ticks=LONG)
    lose(world)
    world.kube.apply(WAL, BARE, annotations={"seawall.dev/readopt": until(world, 26)})
    process = process_of(world)
    obj, step = until_it_acts(world, process, MarkRecords)
    world.kube.apply(WAL, BARE, annotations={"seawall.dev/readopt": until(world, 2)})
    with pytest.raises(Conflict):
        process.perform(obj, step.actions[0])
    live(world, ticks=LONG)
    assert "wal_1" in world.kafka.topics


def test_logs_that_a_restore_makes_are_left_to_it() -> None:
    world = new_world()
    begin_a_restore(world)
    live(world, ticks=LONG)
    assert world.records() == {}
    assert reported(world).startswith("Ready"), "nor is it tried again and again"


@pytest.mark.parametrize(
    ("trouble", "error", "reason"),
    [
        (TopicTrouble.REFUSED, Refused, "ChangeRefused"),
        (TopicTrouble.UNANSWERED, OutsideUnavailable, "ChangeUnanswered"),
        (TopicTrouble.UNKNOWN_TOPIC, OutsideUnavailable, "ChangeUnanswered"),
    ],
)
def test_a_log_that_kafka_does_not_tell_of_is_reported_and_holds_up_no_other(
    trouble: TopicTrouble, error: type[Exception], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    world.kube.apply(WAL, BARE)
    honest = FakeKafkaLogs.describe_offsets

    def silent(self: Any, topics: Any) -> dict[str, LogOffsets | TopicFailure]:
        found = dict(honest(self, topics))
        return found | ({"wal_1": TopicFailure(trouble, "topic wal_1: nobody says")} if "wal_1" in found else {})

    process = process_of(world)
    obj, step = until_it_acts(world, process, RecordLogs)
    monkeypatch.setattr(FakeKafkaLogs, "describe_offsets", silent)
    if trouble is not TopicTrouble.REFUSED:
        process.perform(obj, step.actions[0])  # what answers is recorded first
    with pytest.raises(SeawallError) as failure:
        process.perform(obj, step.actions[0])
    assert type(failure.value) is error
    assert world.records().keys() == {"wal_0", "wal_2"}
    live(world, process, ticks=4)
    assert reported(world) == f"{reason}: topic wal_1: nobody says"


def silence(monkeypatch: pytest.MonkeyPatch, name: str = "wal_1") -> None:
    """The leader of a topic does not say where its log ends, ever."""
    honest = FakeKafkaLogs.describe_offsets

    def silent(self: Any, topics: Any) -> dict[str, LogOffsets | TopicFailure]:
        nothing = TopicFailure(TopicTrouble.UNANSWERED, f"topic {name}: nobody says")
        return {**honest(self, topics), **({name: nothing} if name in topics else {})}

    monkeypatch.setattr(FakeKafkaLogs, "describe_offsets", silent)


def test_one_silent_leader_holds_up_no_other_topic_but_the_configuration_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silence(monkeypatch)
    spec = {**BARE, "dataPlane": {"walConfig": {"configMapName": "wal"}}}
    world = new_world(spec)
    process = process_of(world)
    live(world, process, ticks=10)
    world.kafka.topics["wal_2"].configs["max.message.bytes"] = "1000"
    world.kube.apply(WAL, {**spec, "topics": {**BARE["topics"], "count": 4}})
    live(world, process, ticks=10)
    assert world.kafka.topics["wal_2"].configs["max.message.bytes"] == "1048576"
    assert "wal_3" in world.kafka.topics
    assert reported(world) == "ChangeUnanswered: topic wal_1: nobody says"
    assert world.kube.get_config_map(Key(NAMESPACE, "wal")) is None


def test_one_silent_leader_holds_up_no_mark_of_a_readoption(monkeypatch: pytest.MonkeyPatch) -> None:
    world = begun()
    silence(monkeypatch, "wal_3")
    world.kube.apply(WAL, {**BARE, "topics": {**BARE["topics"], "count": 4}})
    live(world, ticks=4)
    declared_to(world, spec={**BARE, "topics": {**BARE["topics"], "count": 4}})
    live(world, ticks=4)
    lose(world)
    live(world, ticks=6)
    assert_lost(world)


def test_a_pool_whose_leaders_do_not_answer_yet_is_recorded_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker is told of its new topics a moment after others are: nobody need hear of that."""
    world = new_world()
    honest, late = FakeKafkaLogs.describe_offsets, list(reversed(TOPICS))

    def elected(self: Any, topics: Any) -> dict[str, LogOffsets | TopicFailure]:
        late.pop()
        failures = {name: TopicFailure(TopicTrouble.UNANSWERED, f"topic {name}: it is not the leader") for name in late}
        return {**honest(self, topics), **{name: failures[name] for name in topics if name in failures}}

    monkeypatch.setattr(FakeKafkaLogs, "describe_offsets", elected)
    live(world, process_of(world), ticks=8)
    assert world.records().keys() == set(TOPICS)
    assert "ChangeUnanswered" not in {event.reason for event in world.kube.events}
    assert len([event for event in world.kube.events if event.reason == "LogsRecorded"]) == len(TOPICS)


# --- when a database is declared later


def test_what_was_deleted_before_anybody_declared_the_database_was_taken_from_nobody() -> None:
    world = begun()
    world.time.time += timedelta(hours=1)
    for region in [region for topic, region in world.store.snapshot().region_keys if topic == "wal_1"]:
        world.flush(region)
    world.foreign.add("wal_1")
    world.kafka.topics["wal_1"].log.delete_before(5)
    world.kube.apply(WAL, CLUSTER)
    page = look(world, watch(world), times=2)
    assert {line.reason for line in page.lines} == {line.reason for line in page.lines if line.name == "wal_0"}
    assert world.records()["wal_1"].intent == 5
    world.kafka.topics["wal_1"].log.delete_before(9)
    page = look(world, watch(world), times=2)
    assert {line.name for line in page.lines if line.reason == "ForeignDelete"} == {"wal_1"}


BY_RESTORE = FenceRecord("", leader_epoch=0, log_start=0, high_watermark=40, intent=0)
"""As a restore leaves it."""


def recorded_as(world: World, **record: Any) -> None:
    """All logs have such a record."""
    pool = PoolId(NAMESPACE, "fake-cluster", "wal")
    shards = read_shards(world.intents.read(pool, SHARDS))
    of_logs = {name: replace(BY_RESTORE, topic_id=world.kafka.topics[name].log.topic_id, **record) for name in TOPICS}
    for number, shard in shards.changed(of_logs).items():
        world.intents.write(pool, number, shard)


def reason_of_a_deleted_log(world: World) -> str | None:
    """Somebody has deleted from the log before it is looked at for the first time."""
    for region in [region for topic, region in world.store.snapshot().region_keys if topic == "wal_1"]:
        world.flush(region)
    world.foreign.add("wal_1")
    world.kafka.topics["wal_1"].log.delete_before(5)
    page = look(world, watch(world), times=2)
    return next(line.reason for line in page.lines if line.name == "wal_1")


def test_a_log_that_a_restore_adopted_was_in_seawalls_hands() -> None:
    world = new_world(CLUSTER)
    recorded_as(world)
    assert reason_of_a_deleted_log(world) == "ForeignDelete"


def test_a_database_that_was_met_is_told_of_deletes() -> None:
    """One whose store begins to count where records without a database are."""
    world = new_world(CLUSTER)
    recorded_as(world, revision=BEFORE_ANY_DATABASE, database=database_digest(world.store.snapshot().store_id))
    assert reason_of_a_deleted_log(world) == "ForeignDelete"


def test_a_log_that_was_made_anew_before_the_database_was_declared_is_found() -> None:
    world = begun()
    lose(world)
    world.kafka.add_topic("wal_1", replicas=(1, 2, 3)).log.append(90)
    world.kube.apply(WAL, CLUSTER)
    page = look(world, watch(world), times=4)
    assert [line.name for line in page.damaged()] == ["wal_1"]
