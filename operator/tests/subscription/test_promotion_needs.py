"""Stories of a source that is dead: where its logs must end is said by whoever still knows it, and waited for."""

from __future__ import annotations

from dataclasses import replace

from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.ledger.shards import PoolId, shards_of
from seawall.domain.subscription.needed import MARGIN
from seawall.observe.database_ids import read_database_ids
from tests.subscription.test_promotion import SILENT, assert_safe, behind, promoted, promotion_of, topic_of
from tests.worlds.purge_world import NAMESPACE, TOPICS
from tests.worlds.subscription_world import SubscriptionWorld
from tests.worlds.verification_world import why


def a_record_that_cannot_be_read_for_a_moment_is_waited_for() -> None:
    """Source and database are gone: only the record knows where the log must end."""
    world = behind()
    world.write("wal_0", MARGIN)
    world.live(ticks=30)
    assert world.records()["wal_0"].high_watermark == 49 + MARGIN
    for region in world.data_plane.regions:
        world.flush(region)
    world.kafka.unreachable = SILENT
    world.store.is_silent = world.data_plane.is_silent = True
    (shard,) = shards_of(["wal_0"])
    world.intents.unreadable[PoolId(NAMESPACE, "fake-cluster", "wal").config_map(shard)] = "the API server is silent"
    world.subscribe(promote="Failover")
    found = world.live(ticks=30)
    assert (found.status.state, promotion_of(found).topics) == (SubscriptionState.PROMOTING, ())
    assert why(found)[0] == "Promoting"
    assert "must end: the source does not say it, and " in why(found)[1]
    assert "the API server is silent" in why(found)[1]
    world.intents.unreadable.clear()
    found = promoted(world)
    assert topic_of(found, "wal_0").known_end == 49 + MARGIN
    world.store.is_silent = False
    assert_safe(world)


def test_a_record_that_cannot_be_read_for_a_moment_is_waited_for() -> None:
    a_record_that_cannot_be_read_for_a_moment_is_waited_for()


def test_a_record_that_cannot_be_read_hinders_nothing_where_the_source_says_where_it_ends() -> None:
    world = behind()
    for shard in shards_of(TOPICS):
        world.intents.unreadable[PoolId(NAMESPACE, "fake-cluster", "wal").config_map(shard)] = (
            "the API server is silent"
        )
    assert topic_of(promoted(world), "wal_0").known_end == 49


def flushed_far(far: int = 2 * MARGIN) -> SubscriptionWorld:
    """The database has flushed more than Seawall's own records know of; then its Kafka dies."""
    world = behind()
    world.write("wal_0", far)
    for region in world.data_plane.regions:
        world.flush(region)
    world.kafka.unreachable = SILENT
    return world


def the_database_is_believed_where_its_kafka_is_dead() -> None:
    world = flushed_far()
    row = topic_of(promoted(world), "wal_0")
    assert (row.known_end, row.pad_to) == (49 + 2 * MARGIN, 49 + 3 * MARGIN)
    assert_safe(world)


def test_the_database_is_believed_where_its_kafka_is_dead() -> None:
    the_database_is_believed_where_its_kafka_is_dead()


def another_database_is_not_believed() -> None:
    world = flushed_far()
    world.store._now = replace(world.store._now, store_id="etcd/another")
    assert topic_of(promoted(world), "wal_0").known_end == 40


def test_another_database_is_not_believed() -> None:
    another_database_is_not_believed()


def test_a_database_that_is_silent_too_says_nothing() -> None:
    world = flushed_far()
    world.store.is_silent = True
    assert topic_of(promoted(world), "wal_0").known_end == 40


def all_that_the_database_speaks_of_counts() -> None:
    world = SubscriptionWorld()
    world.streaming()
    before = read_database_ids(world.observer().clusters, world.cluster())
    regions = dict(world.store.snapshot().region_keys.keys())
    world.store.put_topic("wal_1", 777)
    world.store.put_region("wal_0", regions["wal_0"], leader=0, checkpoint=999)
    world.data_plane.newest_ids["wal_2"] = 888
    found = read_database_ids(world.observer().clusters, world.cluster())
    assert set(before) <= set(found) == set(TOPICS)
    assert found == {"wal_0": 999, "wal_1": 777, "wal_2": 888}


def test_all_that_the_database_speaks_of_counts() -> None:
    all_that_the_database_speaks_of_counts()
