"""Deletion of a WALCluster with deletionPolicy Delete, beside its database and its holds, on the in-memory ports."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import HoldState, WALHold
from seawall.controllers.cluster import WALClusterController
from seawall.controllers.topic_deletion import TopicDeletion
from seawall.domain.cluster import deletion
from seawall.domain.cluster.actions import ClusterAction
from seawall.domain.conditions import find_condition
from seawall.domain.decision import settle
from seawall.domain.errors import Conflict
from seawall.domain.step import Act
from seawall.domain.topics.actions import DeleteTopics
from seawall.reconciler import Reconciler
from tests.fakes.kafka import FakeKafkaClusters
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.meters import FakeMeters
from tests.fakes.strimzi import FakeStrimzi
from tests.hold.test_wal_hold import granter, place, stay, without_database
from tests.hold.test_wal_hold import settle as settle_hold
from tests.ledger.test_ledger_watch import look, watch
from tests.worlds.purge_world import CLUSTER, NAMESPACE, TOPICS, WAL, Calls, Guard, World

DELETE: dict[str, Any] = {**CLUSTER, "topics": {**CLUSTER["topics"], "deletionPolicy": "Delete"}}
LONG = 40
"""Ticks that take longer than any grace, and than the ten minutes of an unreachable Kafka."""


def controller(world: World, calls: Guard | None = None, strimzi: FakeStrimzi | None = None) -> WALClusterController:
    """A new operator process."""
    calls = calls or Calls(lambda _: None)
    kube, clusters = calls.guard(world.kube), calls.guard(FakeKafkaClusters({"kafka:9092": world.kafka}))
    removal = TopicDeletion(kube, world.observer(calls), strimzi)
    return WALClusterController(kube, clusters, FakeLedgers(), world.time, FakeMeters(), removal)


def live(world: World, process: WALClusterController | None = None, ticks: int = LONG) -> None:
    """Ticks, 30 seconds apart where there is nothing to do; the database reports all the while."""
    reconciler: Reconciler[Any, Any, Any, Any] = Reconciler(process or controller(world), may_write=lambda: True)
    for _ in range(ticks):
        ticked = reconciler.tick(WAL)
        world.time.time += timedelta(seconds=0.05 if ticked.after == 0.0 else 30)


def going(*, used: bool = False) -> World:
    """A world whose WALCluster was deleted a moment ago, and whose logs are recorded."""
    world = World()
    if not used:
        drop_tables(world)
    world.kube.apply(WAL, DELETE)
    live(world, ticks=6)
    look(world, watch(world), times=2)
    assert world.records().keys() == set(TOPICS)
    world.kube.remove(WAL)
    return world


def drop_tables(world: World) -> None:
    """All regions, tombstones too."""
    for topic, region in list(world.store.snapshot().region_keys):
        world.store.drop_region(topic, region)
        world.data_plane.regions.pop(region)


def reported(world: World) -> str:
    """What people read at the WALCluster."""
    found = find_condition(world.cluster().status.conditions, ConditionType.READY)
    assert found is not None
    return f"{found.reason}: {found.message}"


def is_gone(world: World) -> bool:
    return world.kube.get(WALCluster, WAL) is None


def test_regions_keep_the_topics_until_their_tables_are_dropped_and_cannot_come_back() -> None:
    world = going(used=True)
    process = controller(world)
    live(world, process)
    assert set(TOPICS) <= world.kafka.topics.keys()
    expected = (
        "TopicsInUse: 12 regions of the database still write to 3 topics (wal_0, wal_1, wal_2): drop their tables, "
        "or set deletionPolicy: Retain to keep the topics"
    )
    assert reported(world) == expected
    for topic, region in list(world.store.snapshot().region_keys):
        world.store.bury_region(topic, region)
    world.data_plane.regions.clear()
    live(world, process, ticks=8)
    assert "12 regions" in reported(world), "tombstones"
    for region, topics in list(world.store.snapshot().tombstoned_topics.items()):
        world.store.drop_region(next(iter(topics)), region)
    live(world, process, ticks=2)
    assert "vanished" in reported(world)
    live(world, process)
    assert is_gone(world)
    assert not world.kafka.topics


@pytest.mark.parametrize("answers", [1, 5, 12])
def test_brokers_that_still_show_topics_which_are_deleted_are_asked_again(answers: int) -> None:
    world = going()
    world.kafka.late_deletes = answers
    live(world)
    assert is_gone(world)
    assert not world.kafka.topics


def test_an_operator_that_has_just_started_does_not_know_what_vanished() -> None:
    world = going()
    live(world, ticks=3)
    assert "less than one openGrace" in reported(world)
    assert set(TOPICS) <= world.kafka.topics.keys()


@pytest.mark.parametrize("answered_before", [False, True])
def test_a_database_that_was_silent_is_watched_for_one_grace_from_its_first_answer(*, answered_before: bool) -> None:
    """It may come up with half its catalogue: what failed, however long, has watched nothing."""
    world = going(used=not answered_before)
    process = controller(world)
    if answered_before:
        live(world, process, ticks=2)
    answer = silent_database(world)
    live(world, process)
    answer()
    drop_tables(world)
    live(world, process, ticks=3)
    assert "less than one openGrace" in reported(world)
    assert set(TOPICS) <= world.kafka.topics.keys()
    live(world, process)
    assert is_gone(world)


def hold_of_one_topic(world: World) -> Callable[[], None]:
    world.hold("spark", {"wal_1": 3})
    return lambda: world.hold("spark", {"wal_1": 3}, HoldState.LOST)


def hold_of_everything(world: World) -> Callable[[], None]:
    world.hold("backup", {"*": "earliest"}, HoldState.ACTIVE)
    return lambda: world.hold("backup", {"*": "earliest"}, HoldState.RELEASED)


def unreadable_hold(world: World) -> Callable[[], None]:
    key = Key(NAMESPACE, "newer")
    world.kube.apply(key, {"clusterRef": {"name": "wal"}, "newField": 1}, kind=WALHold)
    return lambda: world.kube.remove(key, WALHold)


def stopped(world: World) -> Callable[[], None]:
    world.kube.apply(WAL, DELETE, annotations={"seawall.dev/stop-deletes": "incident 7"})
    return lambda: world.kube.apply(WAL, DELETE)


def silent_database(world: World) -> Callable[[], None]:
    world.store.is_silent = True

    def answer() -> None:
        world.store.is_silent = False

    return answer


@pytest.mark.parametrize(
    ("stop", "sentence"),
    [
        (hold_of_one_topic, "TopicsHeld: WALHold spark claims records of topic wal_1: release or delete it"),
        (hold_of_everything, "TopicsHeld: WALHold backup claims all topics"),
        (unreadable_hold, "TopicUseUnknown: a WALHold may need the topics: WALHold newer cannot be read"),
        (stopped, "DeletesStopped: seawall.dev/stop-deletes is set"),
        (silent_database, "TopicUseUnknown: it cannot be seen whether the database still needs the topics"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_needs_the_topics_or_hides_who_does_is_waited_for_without_an_end(
    stop: Callable[[World], Callable[[], None]], sentence: str
) -> None:
    world = going()
    process = controller(world)
    end = stop(world)
    live(world, process)
    assert set(TOPICS) <= world.kafka.topics.keys()
    assert reported(world).startswith(sentence)
    assert "deletionPolicy: Retain" in reported(world)
    end()
    live(world, process)
    assert is_gone(world)
    assert not world.kafka.topics


@pytest.mark.parametrize("end", [{"release": True}, {}], ids=["released", "expired"])
def test_a_hold_that_is_released_or_expires_lets_topics_go_whose_cluster_names_no_database(
    end: dict[str, Any],
) -> None:
    """Found by a reader: who did as they were told, and took the database out of the spec, could not release it."""
    claim: dict[str, Any] = {"topics": {"wal_0": 3}, "ttl": "1h"}
    world = World()
    world.kube.apply(WAL, DELETE)
    live(world, ticks=6)
    holds = granter(world)
    place(world, **claim)
    assert settle_hold(world, holds).status.granted == {"wal_0": 3}
    world.kube.apply(WAL, without_database(DELETE))
    world.kube.remove(WAL)
    process = controller(world)
    live(world, process)
    stay(world, holds, 10)
    live(world, process, ticks=2)
    assert set(TOPICS) <= world.kafka.topics.keys()
    assert reported(world).startswith("TopicsHeld: WALHold spark claims records of topic wal_0: release or delete it")
    place(world, **claim, **end)
    state = stay(world, holds, 1 if end else 70).status.state
    assert state is (HoldState.RELEASED if end else HoldState.LOST)
    live(world, process)
    assert is_gone(world)
    assert not world.kafka.topics


def test_retain_is_the_way_out_and_keeps_the_topics() -> None:
    world = going(used=True)
    live(world, ticks=4)
    world.kube.apply(WAL, CLUSTER)
    live(world, ticks=4)
    assert is_gone(world)
    assert world.kafka.topics.keys() == set(TOPICS)
    assert world.records().keys() == set(TOPICS)


def region_is_born(world: World) -> None:
    world.add_region("wal_2", 4096 << 32, datanode=0)


def hold_is_placed(world: World) -> None:
    world.hold("late", {"wal_0": 1})


def retain(world: World) -> None:
    world.kube.apply(WAL, CLUSTER)


LATE = (region_is_born, hold_is_placed, stopped, retain)


@pytest.mark.parametrize("late", LATE, ids=lambda late: late.__name__)
def test_it_is_asked_again_right_before_the_topics_go(late: Callable[[World], object]) -> None:
    world = going()
    process = controller(world)
    obj, step = until_it_acts(world, process)
    late(world)
    with pytest.raises(Conflict):
        process.perform(obj, step.actions[0])
    assert set(TOPICS) <= world.kafka.topics.keys()


def until_it_acts(
    world: World, process: WALClusterController, kind: type[ClusterAction] = DeleteTopics
) -> tuple[WALCluster, Act[Any]]:
    """Lives until the next step is to delete topics, or another action."""
    for _ in range(LONG):
        obj = world.cluster()
        step = settle(obj, process.decide(obj, process.observe(obj)))
        found = [action for action in step.actions if isinstance(action, kind)] if isinstance(step, Act) else []
        if found:
            return obj, Act(tuple(found))
        live(world, process, ticks=1)
    raise AssertionError(f"it never acts: {reported(world)}")


def test_a_batch_is_asked_for_anew_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hold that comes between two batches keeps what is left."""
    monkeypatch.setattr(deletion, "BATCH", 1)
    world = going()
    process = controller(world)
    obj, step = until_it_acts(world, process)
    process.perform(obj, step.actions[0])
    assert world.kafka.topics.keys() == {"wal_1", "wal_2"}
    hold_is_placed(world)
    live(world, process)
    assert world.kafka.topics.keys() == {"wal_1", "wal_2"}
    assert world.records().keys() == {"wal_1", "wal_2"}


def test_a_pool_that_is_deleted_and_made_again_is_no_recreated_one() -> None:
    world = going()
    live(world)
    assert is_gone(world)
    assert world.records() == {}
    again = World()
    again.intents = world.intents
    page = look(again, watch(again))
    assert page.damaged() == ()


def test_the_record_of_a_topic_that_kafka_still_shows_stays_and_is_waited_for() -> None:
    world = going()
    topics = dict(world.kafka.topics)
    calls = Calls(lambda _: None)
    shown = [4]

    def show_again(name: str) -> None:
        """The broker that is asked has not heard of the deletion yet."""
        if name == "describe_topics" and not world.kafka.topics and shown[0]:
            shown[0] -= 1
            world.kafka.topics["wal_0"] = topics["wal_0"]

    calls.before = show_again
    live(world, controller(world, calls))
    assert shown == [0]
    assert is_gone(world)
    assert world.records() == {}


def test_no_hold_is_granted_on_topics_that_go() -> None:
    """It may be placed after the holds were listed; its request counts all the same at the next listing."""
    world = going()
    place(world, topics={"wal_0": 39})
    hold = settle_hold(world, granter(world))
    assert hold.status.state in {None, HoldState.REQUESTED}
    assert not hold.status.granted
    live(world)
    assert set(TOPICS) <= world.kafka.topics.keys()


def test_a_death_at_any_call_of_a_deletion_changes_nothing_about_the_end() -> None:
    """What a process remembers dies with it: the world is copied at each call, and a new one goes on in the copy."""
    world = going()
    left: list[World] = []

    def die(_: str) -> None:
        state = (frozenset(world.kafka.topics), frozenset(world.records()), is_gone(world))
        if not states or states[-1] != state:
            states.append(state)
            left.append(copy.deepcopy(world))

    states: list[tuple[frozenset[str], frozenset[str], bool]] = []
    calls = Calls(lambda _: None)
    calls.before = die
    live(world, controller(world, calls))
    assert is_gone(world)
    for each in left:
        live(each)
        assert is_gone(each)
        assert not each.kafka.topics
        assert each.records() == {}
    print(f"deletion: {len(calls.names)} calls, {len(left)} worlds, one end")  # noqa: T201 - the count is the evidence
    assert len(left) > 3


def test_topics_that_a_kafka_topic_manages_stay_until_it_lets_them_go() -> None:
    world, strimzi, manages = going(), FakeStrimzi(), Key("kafka", "wal-0")
    strimzi.put_topic(manages, TOPICS[0])
    live(world, controller(world, strimzi=strimzi))
    assert set(world.kafka.topics) >= set(TOPICS)
    assert reported(world).startswith(f"TopicsManagedByStrimzi: KafkaTopic kafka/wal-0 manages topic {TOPICS[0]}: ")
    strimzi.put_topic(manages, TOPICS[0], managed="false")
    live(world, controller(world, strimzi=strimzi))
    assert world.kube.get(WALCluster, WAL) is None
    assert not set(world.kafka.topics) & set(TOPICS)


def test_a_kafka_topic_that_comes_right_before_the_topics_go_keeps_them() -> None:
    """Whether it was there is asked again right before Kafka is."""
    world, strimzi = going(), FakeStrimzi()
    process = controller(world, strimzi=strimzi)
    live(world, process, ticks=2)
    cluster = world.kube.get(WALCluster, WAL)
    assert cluster is not None
    strimzi.put_topic(Key("kafka", "wal-0"), TOPICS[0])
    with pytest.raises(Conflict, match="KafkaTopic kafka/wal-0 manages"):
        process.perform(cluster, DeleteTopics((TOPICS[0],)))
    assert set(world.kafka.topics) >= set(TOPICS)
