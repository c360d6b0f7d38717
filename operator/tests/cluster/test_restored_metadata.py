"""The metadata store of a database is restored from an older copy while its WALCluster is being deleted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from seawall.controllers import topic_deletion
from seawall.domain.cluster import deletion, needed
from seawall.domain.kafka import KafkaView
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.ledger.observation import read_shards
from seawall.domain.ledger.shards import PoolId, shards_of
from tests.cluster.test_topic_deletion import controller, going, is_gone, live, reported
from tests.fakes.kafka import FakeKafka
from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import CLUSTER, NAMESPACE, TOPICS, WAL, World


def restore_metadata(world: World) -> None:
    """A copy of before the tables were made; datanodes that start anew open what it names, and report nothing else."""
    nothing: Any = {}
    world.store._now = replace(
        world.store._now,
        revision=2,
        topics=nothing,
        region_keys=nothing,
        wal_topics=nothing,
        tombstoned_topics=nothing,
        routes=nothing,
    )
    world.data_plane.regions.clear()


def test_metadata_that_went_back_do_not_say_that_nobody_needs_the_topics() -> None:
    """A deletion waits for as long as there are tables: nobody can take it back meanwhile."""
    world = going(used=True)
    process = controller(world)
    live(world, process, ticks=4)
    assert reported(world).startswith("TopicsInUse: 12 regions")
    tables, regions = world.store._now, dict(world.data_plane.regions)
    restore_metadata(world)
    live(world, process)
    assert set(TOPICS) <= world.kafka.topics.keys()
    assert reported(world).startswith(
        "TopicUseUnknown: the database's metadata may lack regions that need the topics: the metadata store's revision "
        "went back from"
    )
    world.store._now = tables
    world.data_plane.regions |= regions
    live(world, process)
    assert reported(world).startswith("TopicsInUse: 12 regions")


def found_broken() -> World:
    """One topic's record says that its log was found broken, and nobody has found out why before the deletion."""
    world = going()
    pool = PoolId(NAMESPACE, "fake-cluster", "wal")
    shards = read_shards(world.intents.read(pool, shards_of(TOPICS)))
    broken = replace(world.records()["wal_1"], broken=True)
    for number, shard in shards.changed({"wal_1": broken}).items():
        world.intents.write(pool, number, shard)
    return world


DOUBT = (
    "TopicUseUnknown: the database's metadata may lack regions that need the topics: the identity fence was found "
    "broken before and nobody has readopted the topic; find out what it was"
)


def test_a_log_that_was_found_broken_keeps_the_topics_and_retain_lets_the_walcluster_go() -> None:
    world = found_broken()
    live(world)
    assert set(TOPICS) <= world.kafka.topics.keys()
    assert reported(world).startswith(DOUBT)
    world.kube.apply(WAL, CLUSTER)
    live(world, ticks=2)
    assert is_gone(world)
    assert set(TOPICS) <= world.kafka.topics.keys()


def test_topics_that_a_person_has_deleted_keep_no_walcluster() -> None:
    """Also not by what the process has found of them while they were there: there is nothing left to delete."""
    world = found_broken()
    process = controller(world)
    live(world, process)
    assert reported(world).startswith(DOUBT)
    world.kafka.topics.clear()
    live(world, process)
    assert is_gone(world)
    assert world.records() == {}


@pytest.mark.parametrize("is_new", [False, True])
def test_a_topic_that_was_found_broken_does_not_go_by_its_id_while_no_broker_shows_it(*, is_new: bool) -> None:
    """The broker that is asked has not caught up, and shows no topics; the id that was decided would delete it."""
    world = found_broken()
    process = controller(world)
    live(world, process)
    with pytest.MonkeyPatch.context() as patch:
        view = world.kafka.view()
        assert isinstance(view, KafkaView)
        patch.setattr(FakeKafka, "view", lambda _: replace(view, topics={}))
        unknown = TopicFailure(TopicTrouble.UNKNOWN_TOPIC, "there is no such topic")
        patch.setattr(FakeKafkaLogs, "describe_topics", lambda _, topics: dict.fromkeys(topics, unknown))
        live(world, controller(world) if is_new else process)
    assert world.kafka.topics.keys() == {"wal_1"}


def test_the_guards_are_missed() -> None:
    unasked = rewritten(
        needed, "why_needed", "_doubted(needs, needs.observation, topics) or ", "", deletion, topic_deletion
    )
    gone = rewritten(needed, "_doubted", " and name in there", "")
    by_id = rewritten(topic_deletion.TopicDeletion, "delete", "pool, doubted)", "pool)")
    by_record = rewritten(needed, "doubts", "**standing, ", "", topic_deletion)
    mutants = (
        (unasked, test_metadata_that_went_back_do_not_say_that_nobody_needs_the_topics),
        (unasked, test_a_log_that_was_found_broken_keeps_the_topics_and_retain_lets_the_walcluster_go),
        (gone, test_topics_that_a_person_has_deleted_keep_no_walcluster),
        (
            by_id,
            partial(test_a_topic_that_was_found_broken_does_not_go_by_its_id_while_no_broker_shows_it, is_new=False),
        ),
        (
            by_record,
            partial(test_a_topic_that_was_found_broken_does_not_go_by_its_id_while_no_broker_shows_it, is_new=True),
        ),
    )
    assert find_survivors(mutants) == []
