"""A topic that somebody deleted and made again, where no database is declared, or nobody can look at it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import ConditionType
from seawall.domain.cluster.actions import RecordLogs
from seawall.domain.conditions import find_condition
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka_log import DescribedTopic, TopicFailure, TopicTrouble
from seawall.domain.ledger.fence import BEFORE_ANY_DATABASE
from tests.cluster.test_log_records import BLOCKED, assert_asked_again, begun, declared_to, process_of
from tests.cluster.test_lost_topics import BARE, begin_a_restore, intact, is_recorded, lose, token_of
from tests.cluster.test_topic_deletion import is_gone, live, reported, until_it_acts
from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.ledger.test_ledger_watch import look, watch
from tests.worlds.purge_world import CLUSTER, TOPICS, WAL, Calls, World

GOING: dict[str, Any] = {**BARE, "topics": {**BARE["topics"], "deletionPolicy": "Delete"}}


def remake(world: World, name: str = "wal_1", end: int = 90) -> None:
    """By hand, or by auto.create.topics.enable: no view is without the topic."""
    lose(world, name)
    world.kafka.add_topic(name, replicas=(1, 2, 3)).log.append(end)


def events(world: World, reason: str) -> list[str]:
    return [event.message for event in world.kube.events if event.reason == reason]


def assert_reported(world: World) -> None:
    assert reported(world).startswith("TopicIdChanged: somebody made topic wal_1 anew: the id of wal_1 is ")
    assert (intact(world).status, intact(world).reason) == ("False", "TopicIdChanged")
    assert not is_recorded(world, "wal_1")


@pytest.mark.parametrize(("spec", "found"), [(BARE, None), (CLUSTER, BLOCKED)], ids=["no database", "nobody can look"])
def test_a_topic_that_was_made_anew_between_two_observations_is_reported(spec: dict[str, Any], found: Any) -> None:
    world = begun(spec, found)
    process = process_of(world, found=found)
    live(world, process, ticks=2)
    remake(world)
    live(world, process, ticks=4)
    assert_reported(world)
    assert len(events(world, "TopicIdChanged")) == 1
    live(world, process_of(world, found=found), ticks=4)
    assert_reported(world)


def test_a_calm_tick_asks_for_the_ids_and_reads_no_record() -> None:
    world, calls = begun(), Calls(lambda _: None)
    process = process_of(world, calls)
    live(world, process, ticks=1)
    calls.names.clear()
    live(world, process, ticks=3)
    assert calls.names.count("describe_topics") == calls.names.count("view") == 3
    assert {"read", "write", "describe_offsets"}.isdisjoint(calls.names)


def test_the_disaster_stands_while_nobody_can_compare_and_ends_with_the_declaration_of_a_database() -> None:
    world = begun()
    remake(world)
    live(world, ticks=4)
    world.kafka.offline = {1, 2, 3}
    live(world, ticks=4)
    assert reported(world).startswith("KafkaUnreachable")
    assert intact(world).reason == "TopicIdChanged"
    world.kafka.offline = set()
    live(world, ticks=4)
    assert_reported(world)
    world.kube.apply(WAL, CLUSTER)
    live(world, process_of(world, found=look(world, watch(world), times=4)), ticks=4)
    assert intact(world).reason == "IdentityFenceBroken"


def test_a_person_says_that_the_new_log_is_right_and_only_of_that_one() -> None:
    world = begun()
    remake(world)
    live(world, ticks=4)
    declared_to(world)
    live(world, ticks=6)
    assert is_recorded(world, "wal_1")
    record, log = world.records()["wal_1"], world.kafka.topics["wal_1"].log
    assert (record.high_watermark, record.intent, record.revision) == (log.end, log.log_start, BEFORE_ANY_DATABASE)
    assert {each.readopted for each in world.records().values()} == {token_of(world)}
    assert reported(world).startswith("Ready")
    assert find_condition(world.cluster().status.conditions, ConditionType.WAL_INTACT) is None
    assert events(world, "LogsReadopted") == ["Readopted topic wal_1, as seawall.dev/readopt says: checked by hand"]
    remake(world)
    live(world, ticks=6)
    assert_reported(world)


def test_an_annotation_that_expires_too_late_says_so_and_adopts_no_new_log_by_waiting() -> None:
    world = begun()
    remake(world)
    declared_to(world, 26)
    live(world, ticks=6)
    assert_reported(world)
    assert "expires more than 24 hours ahead and is not followed" in reported(world)
    world.time.time += timedelta(hours=3)
    live(world, ticks=6)
    assert_reported(world)
    declared_to(world)
    live(world, ticks=6)
    assert is_recorded(world, "wal_1")


def test_of_an_annotation_that_expires_too_late_nothing_is_adopted_and_all_is_marked() -> None:
    world = begun()
    remake(world)
    declared_to(world, 26)
    found = process_of(world).observe(world.cluster()).recorded
    assert found is not None
    assert (found.adopted, set(found.unmarked)) == ((), set(TOPICS))


def test_a_pool_whose_remade_topic_was_readopted_is_deleted_with_its_walcluster() -> None:
    world = begun(GOING)
    remake(world)
    live(world, ticks=4)
    declared_to(world, spec=GOING)
    live(world, ticks=6)
    world.kube.remove(WAL)
    live(world)
    assert is_gone(world)
    assert not world.kafka.topics


def test_a_database_that_is_declared_later_finds_nothing_of_what_was_readopted() -> None:
    world = begun()
    remake(world)
    declared_to(world)
    live(world, ticks=6)
    world.kube.apply(WAL, CLUSTER)
    assert look(world, watch(world), times=4).damaged() == ()


def test_logs_of_a_restore_are_not_reported() -> None:
    """It adopts them itself."""
    world = begun()
    begin_a_restore(world)
    remake(world)
    live(world, ticks=8)
    assert reported(world).startswith("Ready")


def answers_nobody(*_: Any) -> dict[str, DescribedTopic | TopicFailure]:
    raise OutsideUnavailable("Kafka does not answer")


def says_nothing(_: Any, topics: Any) -> dict[str, DescribedTopic | TopicFailure]:
    return {name: TopicFailure(TopicTrouble.UNANSWERED, f"topic {name}: nobody says") for name in topics}


@pytest.mark.parametrize("silent", [answers_nobody, says_nothing])
def test_silence_takes_nothing_back(silent: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the disaster, nor that the annotation is meant for the new log."""
    world = begun()
    process = process_of(world)
    remake(world)
    live(world, process, ticks=4)
    with monkeypatch.context() as patch:
        patch.setattr(FakeKafkaLogs, "describe_topics", silent)
        live(world, process, ticks=4)
        assert_reported(world)
        declared_to(world)
        live(world, process, ticks=4)
        assert_reported(world)
    assert world.records()["wal_1"].readopted is None
    live(world, process, ticks=6)
    assert reported(world).startswith("Ready")
    assert is_recorded(world, "wal_1")
    assert len(events(world, "TopicIdChanged")) == 1


def test_what_was_known_of_a_log_before_its_record_began_anew_counts_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    world = begun()
    process = process_of(world)
    remake(world)
    live(world, process, ticks=4)
    remake(world)
    declared_to(world)
    live(world, ticks=6)  # another leader
    assert is_recorded(world, "wal_1")
    with monkeypatch.context() as patch:
        patch.setattr(FakeKafkaLogs, "describe_topics", says_nothing)
        live(world, process, ticks=4)
    assert reported(world).startswith("Ready")


def test_a_topic_whose_id_nobody_tells_is_marked_as_the_recorded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens to it later is not adopted by an annotation that lingers."""
    world = begun()
    honest = FakeKafkaLogs.describe_topics

    def silent(self: Any, topics: Any) -> dict[str, DescribedTopic | TopicFailure]:
        nothing = TopicFailure(TopicTrouble.UNANSWERED, "topic wal_1: nobody says")
        return {**honest(self, topics), **({"wal_1": nothing} if "wal_1" in topics else {})}

    with monkeypatch.context() as patch:
        patch.setattr(FakeKafkaLogs, "describe_topics", silent)
        declared_to(world)
        live(world, ticks=4)
    assert {each.readopted for each in world.records().values()} == {token_of(world)}
    remake(world)
    live(world, ticks=6)
    assert_reported(world)


# --- between the decision and the act


def retract(world: World) -> None:
    world.kube.apply(WAL, BARE)


def expire(world: World) -> None:
    world.time.time += timedelta(hours=2)


def adopt_meanwhile(world: World) -> None:
    """Another leader was faster."""
    live(world, ticks=4)


LATE = (retract, expire, adopt_meanwhile, begin_a_restore)


@pytest.mark.parametrize("late", LATE, ids=lambda late: late.__name__)
def test_it_is_asked_again_right_before_a_new_record_begins(late: Callable[[World], None]) -> None:
    world = begun()
    remake(world)
    declared_to(world)
    assert_asked_again(world, late)


def test_a_topic_that_is_made_anew_once_more_after_the_decision_is_recorded_as_it_is() -> None:
    world = begun()
    remake(world)
    declared_to(world)
    process = process_of(world)
    obj, step = until_it_acts(world, process, RecordLogs)
    remake(world, end=7)
    process.perform(obj, step.actions[0])
    assert is_recorded(world, "wal_1")
    assert world.records().keys() == set(TOPICS)
