"""A deletion that comes back with an API server that is restored from a backup, and topics that changed meanwhile."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.cluster import deletion
from seawall.domain.cluster.actions import DecideDeletion, FinishDeletion
from seawall.domain.errors import Conflict
from seawall.domain.ledger.shards import PoolId, shard_of
from tests.cluster.test_topic_deletion import (
    DELETE,
    controller,
    drop_tables,
    going,
    is_gone,
    live,
    reported,
    until_it_acts,
)
from tests.fakes.intents import FakeIntentStore
from tests.worlds.purge_world import CLUSTER, NAMESPACE, TOPICS, WAL, Calls, World

BARE: dict[str, Any] = {key: value for key, value in DELETE.items() if key not in {"dataPlane", "verification"}}
"""The same without a database that could be asked."""


def bare(*, recorded: bool = False) -> World:
    """A world whose WALCluster was deleted a moment ago and names no database; `recorded`: it did once."""
    world = going() if recorded else World()
    if not recorded:
        drop_tables(world)
        world.kube.apply(WAL, BARE)
        live(world, ticks=6)
        world.kube.remove(WAL)
    world.kube.apply(WAL, BARE)
    return world


def decide(world: World) -> None:
    """Lives until it is written down which logs go."""
    process = controller(world)
    for _ in range(20):
        if world.cluster().status.deletion is not None:
            return
        live(world, process, ticks=1)
    raise AssertionError(f"nothing is decided: {reported(world)}")


def backup(world: World) -> Callable[[], None]:
    """What restores the API server as it is now."""
    kube, intents = copy.deepcopy(world.kube), copy.deepcopy(world.intents)

    def restore() -> None:
        world.kube, world.intents = kube, intents

    return restore


def make_anew(world: World, *topics: str, rows: int = 7) -> None:
    """The topics of somebody who began again."""
    for topic in topics:
        world.kafka.topics.pop(topic, None)
        world.kafka.add_topic(topic, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"}).log.append(rows)


def ends(world: World) -> dict[str, int]:
    return {name: topic.log.end for name, topic in world.kafka.topics.items()}


def assert_left_alone(world: World, *sentences: str) -> None:
    """Nothing goes, however long it lives; it says why; and Retain is the way out."""
    before = ends(world)
    live(world)
    assert ends(world) == before
    assert reported(world).startswith("TopicsChanged: ")
    for sentence in (*sentences, "deletionPolicy: Retain"):
        assert sentence in reported(world)
    assert [event.reason for event in world.kube.events].count("TopicsChanged") == 1
    world.kube.apply(WAL, CLUSTER)
    live(world, ticks=4)
    assert is_gone(world)
    assert ends(world) == before


@pytest.mark.parametrize("make", [going, bare], ids=["with a database", "without one"])
def test_topics_that_were_made_since_the_backup_stay(make: Callable[[], World]) -> None:
    world = make()
    decide(world)
    restore = backup(world)
    live(world)
    assert is_gone(world)
    assert not world.kafka.topics
    make_anew(world, *TOPICS)
    restore()
    assert_left_alone(world, "topic wal_0 was made anew: its id is ")


def test_topics_of_a_backup_that_was_made_before_anything_was_decided_are_compared_with_their_records() -> None:
    world = going()
    assert world.cluster().status.deletion is None
    restore = backup(world)
    live(world)
    make_anew(world, *TOPICS)
    restore()
    assert_left_alone(world, "topic wal_0 was made anew")


def test_topics_of_a_backup_from_the_middle_of_a_deletion_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of those that were deleted before it are gone: nothing tells their ids any more."""
    monkeypatch.setattr(deletion, "BATCH", 1)
    world = bare()
    process = controller(world)
    obj, step = until_it_acts(world, process)
    process.perform(obj, step.actions[0])
    assert world.records().keys() == {"wal_1", "wal_2"}
    restore = backup(world)
    live(world)
    make_anew(world, "wal_0")
    restore()
    assert_left_alone(world, "topic wal_0 was made since this deletion was decided")


@pytest.mark.parametrize("recorded", [False, True], ids=["never recorded", "recorded once"])
def test_logs_that_were_written_to_since_the_backup_stay(*, recorded: bool) -> None:
    """Somebody called the deletion off, and the database went on."""
    world = bare(recorded=recorded)
    decide(world)
    restore = backup(world)
    world.kube.apply(WAL, CLUSTER)
    live(world, ticks=4)
    assert is_gone(world)
    world.kafka.topics["wal_2"].log.append(1)
    restore()
    assert_left_alone(world, "somebody writes to topic wal_2: it ended at 40 and ends at 41")


def test_topics_that_changed_are_deleted_by_hand_and_the_object_goes() -> None:
    world = bare()
    decide(world)
    world.kafka.topics["wal_2"].log.append(1)
    live(world, ticks=8)
    assert reported(world).startswith("TopicsChanged")
    world.kafka.topics.clear()
    live(world, ticks=8)
    assert is_gone(world)
    assert world.records() == {}


def test_a_deletion_that_was_called_off_says_nothing_about_the_next_one() -> None:
    world = bare()
    decide(world)
    world.kube.apply(WAL, CLUSTER)
    live(world, ticks=4)
    assert is_gone(world)
    world.kafka.topics["wal_2"].log.append(1)
    world.kube.apply(WAL, BARE)
    live(world, ticks=6)
    world.kube.remove(WAL)
    live(world)
    assert is_gone(world)
    assert not world.kafka.topics


def test_the_database_may_write_until_its_tables_are_dropped() -> None:
    world = going(used=True)
    process = controller(world)
    live(world, process, ticks=6)
    assert reported(world).startswith("TopicsInUse")
    assert world.cluster().status.deletion is not None
    world.write("wal_0", 5)
    drop_tables(world)
    live(world, process)
    assert is_gone(world)
    assert not world.kafka.topics


def test_a_status_that_does_not_fit_does_not_forget_that_it_was_decided() -> None:
    """By an older or newer version, say: the topic was deleted and forgotten, and made anew since."""
    world = bare()
    decide(world)
    newer = {"kafka": {"clusterId": "fake-cluster"}, "topics": "many", "deletion": {"decidedAt": "then", "topics": 3}}
    world.kube.write_raw_status(WAL, WALCluster, newer)
    world.intents = FakeIntentStore()
    assert_left_alone(world, "topic wal_0 was made since this deletion was decided")


def test_an_unreadable_record_is_waited_for_without_an_end() -> None:
    world = bare()
    key = PoolId(NAMESPACE, "fake-cluster", "wal").config_map(shard_of("wal_1"))
    world.intents.unreadable[key] = "it is damaged"
    live(world)
    assert set(TOPICS) <= world.kafka.topics.keys()
    assert reported(world).startswith("TopicUseUnknown: it cannot be seen whether topic wal_1 is the one that is to go")
    assert "it is damaged" in reported(world)
    del world.intents.unreadable[key]
    live(world)
    assert is_gone(world)


def test_a_topic_without_a_leader_is_waited_for() -> None:
    world = bare()
    world.kafka.topics["wal_1"].views_until_led = 100
    live(world, ticks=8)
    assert set(TOPICS) <= world.kafka.topics.keys()
    assert reported(world).startswith("TopicUseUnknown")


def is_written(world: World) -> None:
    world.kafka.topics["wal_1"].log.append(1)


def is_made_anew(world: World) -> None:
    make_anew(world, "wal_1", rows=40)


def is_damaged(world: World) -> None:
    key = PoolId(NAMESPACE, "fake-cluster", "wal").config_map(shard_of("wal_1"))
    world.intents.unreadable[key] = "it is damaged"


@pytest.mark.parametrize("late", [is_written, is_made_anew, is_damaged], ids=lambda late: late.__name__)
def test_it_is_compared_again_right_before_the_topics_go(late: Callable[[World], None]) -> None:
    world = bare()
    process = controller(world)
    obj, step = until_it_acts(world, process)
    late(world)
    with pytest.raises(Conflict):
        process.perform(obj, step.actions[0])
    assert set(TOPICS) <= world.kafka.topics.keys()


def test_a_topic_that_appears_before_the_end_is_not_taken_along() -> None:
    world = bare()
    del world.kafka.topics["wal_1"]
    process = controller(world)
    obj, step = until_it_acts(world, process, FinishDeletion)
    make_anew(world, "wal_1")
    with pytest.raises(Conflict):
        process.perform(obj, step.actions[0])
    assert ends(world) == {"wal_1": 7}


def test_nothing_is_written_down_for_a_deletion_that_was_called_off_meanwhile() -> None:
    world = bare()
    process = controller(world)
    obj, step = until_it_acts(world, process, DecideDeletion)
    world.kube.apply(WAL, CLUSTER)
    with pytest.raises(Conflict):
        process.perform(obj, step.actions[0])
    assert [record.going for record in world.records().values()] == [None] * len(TOPICS)


def test_a_topic_that_is_made_anew_between_the_comparison_and_the_delete_stays() -> None:
    """Kafka is given the id."""
    world = bare()
    calls = Calls(lambda _: None)

    def make(name: str) -> None:
        if name == "delete_topics" and ends(world) == dict.fromkeys(TOPICS, 40):
            make_anew(world, "wal_1")

    calls.before = make
    live(world, controller(world, calls), ticks=12)
    assert ends(world) == {"wal_1": 7}


def test_somebody_who_writes_while_the_declared_database_is_asked_keeps_the_topics() -> None:
    world = going()
    calls = Calls(lambda _: None)

    def write(name: str) -> None:
        """After the offsets of the look, and before those that are compared with them."""
        if name == "describe_offsets" and "wal_1" in world.kafka.topics:
            world.kafka.topics["wal_1"].log.append(1)

    calls.before = write
    live(world, controller(world, calls))
    assert set(TOPICS) <= world.kafka.topics.keys()
    assert "somebody writes to topic wal_1" in reported(world)


def test_a_topic_whose_end_was_not_told_while_the_declared_database_was_asked_is_waited_for() -> None:
    """It has a leader again a moment later: nobody knows what was written in between."""
    world = going()
    calls, asked = Calls(lambda _: None), [""]

    def lose_leader(name: str) -> None:
        """The first offsets after the database's metadata are the look's; the next ones are compared with them."""
        if "wal_1" in world.kafka.topics and name in {"snapshot", "describe_offsets"}:
            asked.append(name)
            is_of_look = asked[-2:] == ["snapshot", "describe_offsets"]
            world.kafka.topics["wal_1"].views_until_led = 100 if is_of_look else 0

    calls.before = lose_leader
    live(world, controller(world, calls))
    assert set(TOPICS) <= world.kafka.topics.keys()
    assert "it cannot be seen where topic wal_1 ended when the database was asked" in reported(world)
    calls.before = lambda _: None
    world.kafka.topics["wal_1"].views_until_led = 0
    live(world, controller(world))
    assert is_gone(world)
