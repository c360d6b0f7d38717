"""A topic that was in use and that Kafka does not know any more: it is not made again without a person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import READOPT_ANNOTATION, Condition, ConditionType, Key
from seawall.api.v1alpha1.cluster import DataPlaneStatus, WALStatus
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.domain.cluster.identity import Pin
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.errors import Conflict, Refused
from seawall.domain.ledger.fence import Readoption, parse_readoption
from seawall.domain.ledger.shards import PoolId, shard_of, shards_of
from seawall.domain.topics.actions import CreateTopics
from tests.cluster.test_topic_deletion import DELETE, controller, is_gone, live, reported, until_it_acts
from tests.fakes.ledgers import FakeLedgers
from tests.ledger.test_ledger_watch import broken, look, until, watch
from tests.support.mortal import Died
from tests.worlds.purge_world import CLUSTER, NAMESPACE, TOPICS, WAL, Calls, World

BARE: dict[str, Any] = {key: value for key, value in CLUSTER.items() if key not in {"dataPlane", "verification"}}
SHARD = PoolId(NAMESPACE, "fake-cluster", "wal").config_map(shard_of("wal_1"))


def recorded(spec: dict[str, Any] = CLUSTER) -> World:
    """A pool that is ready, and whose logs are recorded."""
    world = World()
    world.kube.apply(WAL, spec)
    live(world, ticks=6)
    look(world, watch(world), times=2)
    assert world.records().keys() == set(TOPICS)
    return world


def lose(world: World, *topics: str) -> None:
    """Somebody deletes topics."""
    for topic in topics or ("wal_1",):
        world.foreign.add(topic)
        del world.kafka.topics[topic]


def intact(world: World) -> Condition:
    found = find_condition(world.cluster().status.conditions, ConditionType.WAL_INTACT)
    assert found is not None
    return found


def declare(world: World, readopt: str | None, spec: dict[str, Any] = CLUSTER) -> None:
    annotations = {} if readopt is None else {"seawall.dev/readopt": readopt}
    world.kube.apply(WAL, spec, annotations=annotations)


def assert_lost(world: World) -> None:
    assert "wal_1" not in world.kafka.topics
    assert reported(world).startswith("TopicLost: Kafka has lost topic wal_1, which was in use")
    assert (intact(world).status, intact(world).reason) == ("False", "TopicLost")


def test_a_lost_topic_with_a_record_is_not_made_again() -> None:
    world = recorded(DELETE)
    lose(world)
    live(world)
    assert_lost(world)
    stalled = find_condition(world.cluster().status.conditions, ConditionType.STALLED)
    assert stalled is not None
    assert stalled.status == "True"
    events = [event for event in world.kube.events if event.reason == "TopicLost"]
    assert [event.type for event in events] == ["Warning"]
    assert "seawall.dev/readopt" in events[0].message


def test_a_pool_that_names_no_database_any_more_loses_topics_all_the_same() -> None:
    world = recorded()
    world.kube.apply(WAL, BARE)
    lose(world)
    live(world)
    assert_lost(world)


def test_the_disaster_stands_while_kafka_cannot_be_asked() -> None:
    world = recorded()
    world.kube.apply(WAL, BARE)
    lose(world)
    live(world, ticks=4)
    world.kafka.offline = {1, 2, 3}
    live(world, ticks=4)
    assert reported(world).startswith("KafkaUnreachable")
    assert intact(world).reason == "TopicLost"
    world.kafka.offline = set()
    live(world, ticks=4)
    assert [event.reason for event in world.kube.events].count("TopicLost") == 2, "once as the reason of each Ready"


def test_a_new_topic_is_made_beside_a_lost_one() -> None:
    world = recorded()
    lose(world)
    more = {**CLUSTER, "topics": {**CLUSTER["topics"], "count": 5}}
    world.kube.apply(WAL, more)
    live(world)
    assert {"wal_3", "wal_4"} <= world.kafka.topics.keys()
    assert_lost(world)


def test_a_lost_topic_that_is_restored_is_intact_again() -> None:
    world = recorded()
    topic = world.kafka.topics["wal_1"]
    lose(world)
    live(world, ticks=4)
    assert_lost(world)
    world.kafka.topics["wal_1"] = topic
    live(world, ticks=4)
    assert reported(world).startswith("Ready")
    assert intact(world).reason != "TopicLost"


def test_a_calm_tick_reads_no_record() -> None:
    world = recorded()
    calls = Calls(lambda _: None)
    live(world, controller(world, calls), ticks=3)
    assert calls.names.count("view") == 3
    assert "read" not in calls.names
    assert "describe_topics" not in calls.names


def test_a_person_gives_a_lost_log_up_and_the_new_one_is_a_first_contact() -> None:
    world = recorded()
    watching = watch(world)
    look(world, watching, times=2)
    lost = world.records()["wal_1"].topic_id
    lose(world)
    for topic, region in list(world.store.snapshot().region_keys):
        if topic == "wal_1":
            world.store.drop_region(topic, region)
            world.data_plane.regions.pop(region)
    live(world, ticks=4)
    declare(world, until(world, 2))
    live(world, ticks=4)
    assert world.kafka.topics["wal_1"].log.end == 0
    assert reported(world).startswith("Ready")
    events = [event for event in world.kube.events if event.reason == "LostTopicsCreated"]
    assert [(event.type, event.message) for event in events] == [
        ("Warning", "Created topic wal_1; lost was topic wal_1, as seawall.dev/readopt says: checked by hand")
    ]
    page = look(world, watching, times=4)
    assert page.damaged() == ()
    record = world.records()["wal_1"]
    assert record.topic_id == world.kafka.topics["wal_1"].log.topic_id != lost
    assert not record.broken


def test_one_annotation_makes_no_second_topic() -> None:
    world = recorded()
    lose(world)
    live(world, ticks=4)
    declare(world, until(world, 2))
    live(world, ticks=4)
    look(world, watch(world), times=3)
    lose(world)
    live(world, ticks=4)
    assert_lost(world)
    assert "was set before they were lost: set a new one" in reported(world)


def test_what_is_lost_while_an_annotation_lingers_is_not_made_again() -> None:
    world = recorded()
    declare(world, until(world, 2))
    look(world, watch(world), times=2)
    lose(world)
    live(world, ticks=4)
    assert_lost(world)


@pytest.mark.parametrize(
    ("annotation", "sentence"),
    [
        (lambda world: until(world, 25), "expires more than 24 hours ahead and is not followed"),
        (lambda world: until(world, -1), "seawall.dev/readopt has expired: set a new one"),
        (lambda _: "soon", "must be <reason>@<expiry>"),
    ],
    ids=["too far", "expired", "malformed"],
)
def test_an_annotation_that_does_not_count_says_why(annotation: Callable[[World], str], sentence: str) -> None:
    world = recorded()
    lose(world)
    declare(world, annotation(world))
    live(world, ticks=4)
    assert_lost(world)
    assert sentence in reported(world)


def test_an_annotation_that_expires_too_late_makes_no_lost_topic_by_waiting() -> None:
    world = recorded()
    lose(world)
    declare(world, until(world, 26))
    live(world, ticks=4)
    world.time.time += timedelta(hours=3)
    live(world, ticks=6)
    assert_lost(world)
    declare(world, until(world, 2))
    live(world, ticks=6)
    assert "wal_1" in world.kafka.topics


def test_a_pool_that_goes_with_its_walcluster_is_made_again() -> None:
    world = recorded(DELETE)
    for topic, region in list(world.store.snapshot().region_keys):
        world.store.drop_region(topic, region)
        world.data_plane.regions.pop(region)
    world.kube.remove(WAL)
    live(world)
    assert is_gone(world)
    world.kube.apply(WAL, DELETE)
    live(world, ticks=6)
    assert world.kafka.topics.keys() == set(TOPICS)


def unreadable(world: World) -> Callable[[], None]:
    world.intents.unreadable[SHARD] = "it is damaged"
    return world.intents.unreadable.clear


def refused(world: World) -> Callable[[], None]:
    read = world.intents.read

    def refuse(*_: Any) -> Any:
        raise Refused("configmaps is forbidden")

    world.intents.read = refuse  # type: ignore[assignment, method-assign]

    def allow() -> None:
        world.intents.read = read  # type: ignore[method-assign]

    return allow


@pytest.mark.parametrize("hide", [unreadable, refused], ids=lambda hide: hide.__name__)
def test_a_record_that_cannot_be_read_counts_as_one(hide: Callable[[World], Callable[[], None]]) -> None:
    world = World()
    del world.kafka.topics["wal_1"]
    show = hide(world)
    live(world, ticks=6)
    assert "wal_1" not in world.kafka.topics
    assert reported(world).startswith("TopicRecordUnreadable: Kafka shows no topic wal_1")
    show()
    live(world, ticks=6)
    assert "wal_1" in world.kafka.topics, "it was never recorded"


def test_a_record_that_is_gone_counts_as_one_until_a_person_begins_anew() -> None:
    """The status says that there was a shard."""
    world = recorded()
    lose_with_record(world)
    live(world, ticks=6)
    assert "wal_1" not in world.kafka.topics
    assert "the ConfigMap with its record is gone" in reported(world)
    declare(world, until(world, 2))
    live(world, ticks=6)
    assert "wal_1" in world.kafka.topics


def lose_with_record(world: World) -> None:
    """A topic is deleted, and the ConfigMap with its record, of which the status knows; the others stay."""
    found = world.cluster()
    status = WALStatus(topics=3, purgeable=0, held_back=0, record_shards=tuple(sorted(shards_of(TOPICS))))
    world.kube.replace_status(found, found.status.model_copy(update={"wal": status}))
    del world.intents._shards[SHARD]
    lose(world)


def token_of(world: World) -> int:
    """Of the annotation that is set."""
    found = parse_readoption(world.cluster().metadata.annotations[READOPT_ANNOTATION])
    assert isinstance(found, Readoption)
    return found.token


def mark_as_used(world: World) -> None:
    """The annotation was met when all was ours: the status says so."""
    found = world.cluster()
    pinned = found.status.data_plane or DataPlaneStatus()
    used = pinned.model_copy(update={"readopted": token_of(world)})
    world.kube.replace_status(found, found.status.model_copy(update={"data_plane": used}))


def test_an_annotation_that_was_used_makes_no_topic_whose_record_is_lost_later() -> None:
    world = recorded()
    declare(world, until(world, 20))
    mark_as_used(world)
    lose_with_record(world)
    live(world, ticks=6)
    assert "wal_1" not in world.kafka.topics
    assert "the ConfigMap with its record is gone" in reported(world)
    declare(world, until(world, 2))
    live(world, ticks=6)
    assert "wal_1" in world.kafka.topics


def test_an_annotation_is_not_used_up_before_the_record_of_a_missing_topic_has_begun_anew() -> None:
    """Neither while the topic is missing, nor by a page of before it was made again."""
    world = recorded()
    lose_with_record(world)
    watching = watch(world)
    ledgers = FakeLedgers({WAL: look(world, watching)}, database_of(world))
    process = replace(controller(world), ledgers=ledgers)
    live(world, process, ticks=4)
    declare(world, until(world, 2))
    live(world, process, ticks=6)
    assert "wal_1" in world.kafka.topics
    assert Pin.of(world.cluster().status.data_plane).readopted is None
    ledgers.pages[WAL] = look(world, watching)
    assert is_recorded(world, "wal_1")
    live(world, process, ticks=4)
    assert Pin.of(world.cluster().status.data_plane).readopted == token_of(world)


def database_of(world: World) -> DataPlaneView:
    """What an observation finds of the database."""
    return DataPlaneView(3, 3, 12, 3, world.store.snapshot().store_id, {}, "1.1.0", None)


def is_recorded(world: World, name: str) -> bool:
    """Whether there is a record of the log that Kafka has."""
    record = world.records().get(name)
    return record is not None and record.topic_id == world.kafka.topics[name].log.topic_id


def test_a_topic_that_a_broker_has_not_heard_of_is_neither_lost_nor_made() -> None:
    """The list of all topics is of a broker that is behind, or leaves out what may not be described."""
    world = recorded()
    topic = world.kafka.topics["wal_1"]
    calls = Calls(lambda _: None)

    def hide(name: str) -> None:
        if name == "view":
            world.kafka.topics.pop("wal_1", None)
        elif name == "describe_topics":
            world.kafka.topics["wal_1"] = topic

    calls.before = hide
    live(world, controller(world, calls), ticks=6)
    assert "create_topics" not in calls.names
    assert reported(world) == "CreatingTopics: 1 of 3 topics are missing"
    assert "TopicLost" not in [event.reason for event in world.kube.events]


# --- between the decision and the act


def readoptable() -> World:
    world = recorded()
    lose(world)
    live(world, ticks=4)
    declare(world, until(world, 2))
    return world


def expire(world: World) -> None:
    world.time.time += timedelta(hours=2)


def retract(world: World) -> None:
    declare(world, None)


def use_up(world: World) -> None:
    """Another operator has made it; it was recorded, and is lost again."""
    live(world, ticks=4)
    look(world, watch(world), times=3)
    lose(world)


def pause(world: World) -> None:
    world.annotate(paused="true", readopt=until(world, 2))


def hide_record(world: World) -> None:
    world.intents.unreadable[SHARD] = "it is damaged"


def make_object_anew(world: World) -> None:
    world.kube.remove(WAL)
    declare(world, until(world, 2))


def disagree(world: World) -> None:
    """The leader's clock is behind: to it the annotation would never end."""
    world.time.ahead = timedelta(minutes=-5)


def begin_a_restore(world: World) -> None:
    back = Key(NAMESPACE, "back")
    world.kube.apply(back, {"clusterRef": {"name": WAL.name}}, kind=WALRestore)
    found = world.kube.get(WALRestore, back)
    assert found is not None
    world.kube.replace_status(found, found.status.model_copy(update={"stage": RestoreStage.WRITING}))


LATE = (expire, disagree, retract, use_up, pause, hide_record, make_object_anew, begin_a_restore)


@pytest.mark.parametrize("late", LATE, ids=lambda late: late.__name__)
def test_what_a_person_declares_is_read_again_right_before_the_topic_is_made(late: Callable[[World], None]) -> None:
    world = readoptable()
    process = controller(world)
    obj, step = until_it_acts(world, process, CreateTopics)
    late(world)
    with pytest.raises(Conflict):
        process.perform(obj, step.actions[0])
    assert "wal_1" not in world.kafka.topics


def test_a_restore_that_begins_while_kafka_is_asked_lets_no_topic_be_made() -> None:
    """It finds a topic that it has not made, else, and gives up."""
    world, calls = readoptable(), Calls(lambda _: None)
    process = controller(world, calls)
    obj, step = until_it_acts(world, process, CreateTopics)
    calls.before = lambda name: begin_a_restore(world) if name == "describe_topics" else None
    with pytest.raises(Conflict):
        process.perform(obj, step.actions[0])
    assert "wal_1" not in world.kafka.topics


def test_an_annotation_that_expires_while_it_is_asked_for_restores_makes_no_topic() -> None:
    """The API server takes its time."""
    world, calls = readoptable(), Calls(lambda _: None)
    process = controller(world, calls)
    obj, step = until_it_acts(world, process, CreateTopics)
    calls.before = lambda name: expire(world) if name == "list" else None
    with pytest.raises(Conflict):
        process.perform(obj, step.actions[0])
    assert "wal_1" not in world.kafka.topics


def test_a_topic_that_is_recorded_and_lost_after_the_decision_is_not_made() -> None:
    """A leader that froze: another one has made the topic, a database has used it, somebody deleted it."""
    world = World()
    del world.kafka.topics["wal_1"]
    process = controller(world)
    obj, step = until_it_acts(world, process, CreateTopics)
    live(world, ticks=4)
    world.write("wal_1", 3)
    look(world, watch(world), times=3)
    lose(world)
    with pytest.raises(Conflict):
        process.perform(obj, step.actions[0])
    assert "wal_1" not in world.kafka.topics


def test_a_readoption_that_is_not_needed_any_more_harms_nothing() -> None:
    """Another leader was faster."""
    world = readoptable()
    process = controller(world)
    obj, step = until_it_acts(world, process, CreateTopics)
    live(world, ticks=4)
    world.kafka.topics["wal_1"].log.append(3)
    process.perform(obj, step.actions[0])
    assert world.kafka.topics["wal_1"].log.end == 3


def test_who_dies_while_a_topic_is_made_again_leaves_no_new_log_beside_the_record_of_the_old_one() -> None:
    """A readoption would have to adopt it, and the annotation may be gone by then."""
    world, calls = readoptable(), Calls(lambda _: None)

    def die(name: str) -> None:
        if name in CHANGES_OF_CREATION and len(CHANGES_OF_CREATION.intersection(calls.names)) > 1:
            raise Died

    calls.before = die
    with pytest.raises(Died):
        live(world, controller(world, calls))
    assert "wal_1" not in world.records()


CHANGES_OF_CREATION = frozenset({"write", "create_topics"})


def test_a_new_log_that_ends_before_what_the_database_knows_is_a_broken_one() -> None:
    """The price of giving a log up: what is written there is skipped until the tables are made anew."""
    world = readoptable()
    live(world, ticks=4)
    assert "wal_1" in world.kafka.topics
    look(world, watch(world), times=4)
    assert broken(world) == {"wal_1"}
