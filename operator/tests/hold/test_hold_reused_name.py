"""Holds that name a WALCluster which is gone, and whose name another one has now, with topics of its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.hold import GrantedLogs, HoldState, WALHoldStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.domain.conditions import find_condition
from tests.cluster.test_topic_deletion import LONG, controller, going, live, reported
from tests.hold.test_wal_hold import HOLD, granter, is_true, message, place, read, settle, stay
from tests.worlds.purge_world import CLUSTER, NAMESPACE, TOPICS, World

FORMER = Key(NAMESPACE, "former")
EVERYTHING: dict[str, Any] = {"*": "earliest"}


def form_anew(world: World, *, later: float = 10) -> None:
    """The name of the one that had these topics is used again; by default some seconds after all that is there."""
    world.time.time += timedelta(seconds=later)
    world.kube.apply(FORMER, {**CLUSTER, "topics": {"prefix": "other", "count": 3}})


def place_former(world: World, topics: dict[str, Any], status: WALHoldStatus | None = None, **spec: Any) -> None:
    """A hold that was placed, and maybe granted, when the former WALCluster had the topics."""
    place(world, clusterRef={"name": FORMER.name}, topics=topics, **spec)
    if status is not None:
        world.kube.replace_status(read(world), status)


def granted(topics: dict[str, Any], prefix: str | None) -> WALHoldStatus:
    return WALHoldStatus(state=HoldState.ACTIVE, granted=topics, granted_prefix=prefix)


def named(world: World) -> None:
    """By a version that did not write down on which topics."""
    place_former(world, {"wal_0": 3}, granted({"wal_0": 3}, None))


def named_and_edited(world: World) -> None:
    """It names a topic of the new one, and what was granted still stands."""
    place_former(world, {"other_0": 3}, granted({"wal_0": 3}, None))


def requested(world: World) -> None:
    """Nobody has granted it yet."""
    place_former(world, {"wal_0": 3})


def on_everything(world: World) -> None:
    place_former(world, {"*": "earliest"}, granted(EVERYTHING, "wal"))


def on_everything_and_edited(world: World) -> None:
    place_former(world, {"other_0": 3}, granted(EVERYTHING, "wal"))


def on_everything_long_ago(world: World) -> None:
    """By a version that did not write down on which topics."""
    place_former(world, EVERYTHING, granted(EVERYTHING, None))


def unreadable(world: World) -> None:
    """Nobody knows what it claims; it is older than the new WALCluster."""
    place_former(world, EVERYTHING, newField=1)


FORMERLY = (
    named,
    named_and_edited,
    requested,
    on_everything,
    on_everything_and_edited,
    on_everything_long_ago,
    unreadable,
)


@pytest.mark.parametrize("held", FORMERLY)
def test_a_purge_keeps_what_was_held_before_the_name_was_used_again(held: Callable[[World], None]) -> None:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    held(world)
    form_anew(world)
    world.start_run()
    world.settle()
    assert world.log_starts()["wal_0"] <= 3


@pytest.mark.parametrize("held", FORMERLY)
def test_topics_stay_that_were_held_before_the_name_was_used_again(held: Callable[[World], None]) -> None:
    world = going()
    held(world)
    form_anew(world)
    live(world, controller(world), ticks=LONG)
    assert set(TOPICS) <= world.kafka.topics.keys()
    assert reported(world).startswith(("TopicsHeld", "TopicUseUnknown"))
    assert "WALHold" in reported(world)


def after_it(world: World) -> None:
    """It was placed when the new one was there."""
    form_anew(world)
    world.time.time += timedelta(seconds=10)
    place_former(world, EVERYTHING)


def granted_by_it(world: World) -> None:
    """It was placed before, and is granted by the new one: so is one that was made again with its topics."""
    place_former(world, EVERYTHING, granted(EVERYTHING, "other"))
    form_anew(world)


def of_its_topics(world: World) -> None:
    place_former(world, {"other_0": 3})
    form_anew(world)


@pytest.mark.parametrize("held", [after_it, granted_by_it, of_its_topics])
def test_what_is_held_of_another_pool_keeps_nothing_of_this_one(held: Callable[[World], None]) -> None:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    held(world)
    world.start_run()
    world.settle()
    assert world.log_starts()["wal_0"] > 3


def flushed() -> World:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    return world


@pytest.mark.parametrize(
    ("claim", "grant"), [(EVERYTHING, EVERYTHING), ({"other_0": 3}, EVERYTHING), ({"other_0": 3}, {"other_0": 3})]
)
def test_a_hold_whose_cluster_is_gone_keeps_nothing_of_other_topics(
    claim: dict[str, Any], grant: dict[str, Any]
) -> None:
    """Found by a review: it stopped each pool of the namespace, for ever."""
    world = flushed()
    place_former(world, claim, granted(grant, "other"))
    world.start_run()
    world.settle()
    assert world.log_starts()["wal_0"] > 3


@pytest.mark.parametrize("prefix", ["wal", None])
def test_a_hold_whose_cluster_is_gone_keeps_what_it_was_granted(prefix: str | None) -> None:
    world = flushed()
    place_former(world, EVERYTHING, granted(EVERYTHING, prefix))
    world.start_run()
    world.settle()
    assert set(world.log_starts().values()) == {0}


def test_an_open_request_on_everything_counts_while_its_cluster_is_gone() -> None:
    world = flushed()
    place_former(world, EVERYTHING, granted({"other_0": 3}, "other"))
    world.start_run()
    world.settle()
    assert set(world.log_starts().values()) == {0}


def test_a_hold_whose_cluster_is_gone_is_granted_for_nobody_and_ends_by_its_ttl() -> None:
    world = World()
    place_former(world, EVERYTHING, granted(EVERYTHING, "wal"), ttl="10m")
    process = granter(world)
    hold = settle(world, process)
    assert (hold.status.state, hold.status.granted) == (HoldState.ACTIVE, EVERYTHING)
    assert "does not exist" in message(hold)
    condition = find_condition(hold.status.conditions, ConditionType.GRANTED)
    assert condition is not None
    assert (condition.status, condition.reason) == ("Unknown", "ClusterMissing")
    hold = stay(world, process, 9)
    assert hold.status.state is HoldState.AT_RISK
    place_former(world, EVERYTHING, ttl="10m", renewTime=world.time.time.isoformat())
    hold = stay(world, process, 9)
    assert hold.status.state is HoldState.AT_RISK, "renewed, and nobody knows more of it"
    hold = stay(world, process, 3)
    assert hold.status.state is HoldState.LOST
    assert "its ttl is 600 s" in message(hold)


def test_a_hold_that_is_released_while_its_cluster_is_gone_is_ready() -> None:
    """Found by a reader: it was Stalled for ever, and nobody could end that."""
    world = World()
    place_former(world, EVERYTHING, granted(EVERYTHING, "wal"))
    process = granter(world)
    assert is_true(settle(world, process), ConditionType.STALLED)
    place_former(world, EVERYTHING, release=True)
    hold = settle(world, process)
    assert (hold.status.state, message(hold)) == (HoldState.RELEASED, "its owner released it")
    assert is_true(hold, ConditionType.READY)
    assert not is_true(hold, ConditionType.STALLED)


def test_a_hold_keeps_its_grant_while_its_cluster_is_gone() -> None:
    world = World()
    place(world, topics=EVERYTHING, ttl="24h")
    process = granter(world)
    before = settle(world, process)
    world.kube.remove(world.cluster().metadata.key)
    gone = settle(world, process)
    assert (gone.status.granted, gone.status.granted_logs) == (before.status.granted, before.status.granted_logs)
    assert not is_true(gone, ConditionType.GRANTED)


OF_FORMER = pytest.mark.parametrize(
    ("topics", "prefix"), [({"former_0": 3}, None), (EVERYTHING, "former"), ({"former_0": 3}, "former")]
)


def place_namesake(world: World, topics: dict[str, Any], prefix: str | None) -> None:
    """A hold that was granted when another WALCluster had the name of the one that there is."""
    place(world, topics=topics, ttl="10m")
    status = granted(topics, prefix).model_copy(update={"granted_logs": GrantedLogs(topics=3, digest="0" * 16)})
    world.kube.replace_status(read(world), status)


@OF_FORMER
def test_a_hold_is_not_judged_by_the_topics_of_a_later_cluster_of_that_name(
    topics: dict[str, Any], prefix: str | None
) -> None:
    world = World()
    place_namesake(world, topics, prefix)
    process = granter(world)
    for _ in range(12):
        hold = stay(world, process, 3)
        assert hold.status.state is HoldState.ACTIVE
        assert hold.status.granted == topics
        assert is_true(hold, ConditionType.STALLED)
        assert "granted on topics of former, and the WALCluster of this name has those of wal" in message(hold)
        condition = find_condition(hold.status.conditions, ConditionType.GRANTED)
        assert condition is not None
        assert (condition.status, condition.reason) == ("Unknown", "OtherTopics")
        place(world, topics=topics, ttl="10m", renewTime=world.time.time.isoformat())


@OF_FORMER
def test_a_hold_of_a_later_clusters_name_is_released(topics: dict[str, Any], prefix: str | None) -> None:
    """Found by a reader: it kept everything of the new one for ever, and people were told that it was released."""
    world = flushed()
    place_namesake(world, topics, prefix)
    process = granter(world)
    settle(world, process)
    place(world, topics=topics, ttl="10m", release=True)
    hold = settle(world, process)
    assert (hold.status.state, message(hold)) == (HoldState.RELEASED, "its owner released it")
    assert is_true(hold, ConditionType.READY)
    world.start_run()
    world.settle()
    assert world.log_starts()["wal_0"] > 3


@OF_FORMER
def test_a_hold_of_a_later_clusters_name_ends_by_its_ttl(topics: dict[str, Any], prefix: str | None) -> None:
    """Until then it counts, by its name; then a purge of the new one deletes."""
    world = flushed()
    place_namesake(world, topics, prefix)
    process = granter(world)
    assert stay(world, process, 9).status.state is HoldState.AT_RISK
    assert "by this name" in message(read(world))
    hold = stay(world, process, 3)
    assert hold.status.state is HoldState.LOST
    assert "its ttl is 600 s" in message(hold)
    world.start_run()
    world.settle()
    assert world.log_starts()["wal_0"] > 3


def test_a_hold_on_everything_counts_for_the_later_cluster_of_that_name_until_it_ends() -> None:
    """Somebody may have placed it for the new one, whatever it was granted."""
    world = flushed()
    place_namesake(world, EVERYTHING, "former")
    settle(world)
    world.start_run()
    world.settle()
    assert set(world.log_starts().values()) == {0}


def test_a_grant_says_on_which_topics_it_is_also_one_that_did_not() -> None:
    world = World()
    place(world, topics=EVERYTHING)
    process = granter(world)
    while not read(world).status.granted:
        process.tick(HOLD)
    assert read(world).status.granted_prefix == "wal", "by the same write"
    hold = settle(world, process)
    world.kube.replace_status(hold, hold.status.model_copy(update={"granted_prefix": None}))
    assert settle(world, process).status.granted_prefix == "wal"
    assert read(world).status.state in {HoldState.ACTIVE, HoldState.EXTENDED}


def of_another_kafka(world: World, *, cluster_id: str | None) -> None:
    """The name of the one that had these topics is of one with the same prefix on another Kafka now."""
    world.time.time += timedelta(seconds=10)
    world.kube.apply(FORMER, {**CLUSTER, "topics": {"prefix": "wal", "count": 3}})
    found = world.kube.get(WALCluster, FORMER)
    assert found is not None
    if cluster_id is not None:
        pinned = KafkaStatus(cluster_id=cluster_id, brokers=BrokersStatus(total=3, online=3))
        world.kube.replace_status(found, WALClusterStatus(kafka=pinned))


def granted_on(cluster_id: str) -> WALHoldStatus:
    return WALHoldStatus(
        state=HoldState.ACTIVE, granted={"wal_0": 3}, granted_prefix="wal", granted_cluster_id=cluster_id
    )


@pytest.mark.parametrize("later", [None, "another-kafka"])
def test_a_purge_keeps_what_was_held_before_another_kafka_got_the_name(later: str | None) -> None:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    place_former(world, {"wal_0": 3}, granted_on("fake-cluster"))
    of_another_kafka(world, cluster_id=later)
    world.start_run()
    world.settle()
    assert world.log_starts()["wal_0"] <= 3


def test_a_hold_on_another_kafka_with_the_same_names_of_topics_keeps_nothing_here() -> None:
    """Two databases in one namespace, each with its Kafka: `wal` is what prefixes are called by default."""
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    place_former(world, {"wal_0": 3}, granted_on("another-kafka"))
    of_another_kafka(world, cluster_id="another-kafka")
    world.start_run()
    world.settle()
    assert world.log_starts()["wal_0"] > 3


def test_a_hold_whose_name_of_a_walcluster_is_on_another_kafka_now_is_not_lost() -> None:
    """Of its topics nothing was observed: it is renewed, released, or its ttl counts."""
    world = World()
    place(world, topics={"wal_0": 3})
    settle(world)
    assert read(world).status.granted_cluster_id == "fake-cluster"
    world.kube.replace_status(read(world), granted_on("another-kafka"))
    settle(world)
    assert read(world).status.state is HoldState.ACTIVE
    assert "on Kafka another-kafka, and the WALCluster of this name has those of Kafka fake-cluster" in message(
        read(world)
    )
