"""The pool in Kafka becomes and stays what is declared."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.site import Site, condition

pytestmark = pytest.mark.integration

EXPECTED = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "unclean.leader.election.enable": "false",
    "compression.type": "producer",
    "max.message.bytes": "1048576",
    "segment.bytes": "67108864",
    "min.insync.replicas": "2",
}


def test_a_pool_becomes_ready_with_exactly_the_declared_configs(site: Site) -> None:
    site.declare(topics={"count": 3, "maxMessageBytes": "2Mi", "config": {"flush.messages": 1000}})
    found = site.wait_ready()
    site.becomes(lambda: sorted(site.eyes.topics(site.prefix)), [site.topic(0), site.topic(1), site.topic(2)])
    for name, topic in site.eyes.topics(site.prefix).items():
        assert list(topic.partitions) == [0]
        assert len(topic.partitions[0].replicas) == 3
        expected = {**EXPECTED, "max.message.bytes": "2097152", "flush.messages": "1000"}
        site.becomes(partial(site.eyes.config, name), expected)
    assert found["status"]["topics"] == {
        "desired": 3,
        "ready": 3,
        "drifted": 0,
        "foreign": 0,
        "underReplicated": 0,
        "minInSyncReplicas": 2,
    }
    reported = found["status"]["kafka"]
    assert (reported["clusterId"], reported["brokers"]["total"], reported["brokers"]["online"]) == (
        site.kafka.cluster_id,
        3,
        3,
    )
    site.wait_event("TopicsCreated")


def test_a_topic_that_somebody_deletes_is_not_made_again_although_no_database_is_declared(site: Site) -> None:
    site.declare(topics={"count": 2})
    site.wait_ready()
    site.wait_event("LogsRecorded")
    site.eyes.delete(site.topic(1))
    found = site.wait_for("Ready", "False", reason="TopicLost")
    site.becomes(lambda: sorted(site.eyes.topics(site.prefix)), [site.topic(0)])
    assert condition(found, "WALIntact")["reason"] == "TopicLost"
    assert found["status"]["wal"]["recordShards"]


def test_a_pool_grows(site: Site) -> None:
    site.declare(topics={"count": 2})
    site.wait_ready()
    site.edit(count=5)
    found = site.wait_ready()
    site.becomes(lambda: sorted(site.eyes.topics(site.prefix)), [site.topic(index) for index in range(5)])
    assert found["status"]["topics"]["ready"] == 5
    site.becomes(lambda: site.eyes.config(site.topic(4)), EXPECTED)


def test_a_config_changed_behind_the_operators_back_is_repaired(site: Site) -> None:
    site.declare()
    site.wait_ready()
    site.eyes.alter(site.topic(1), {"segment.bytes": "1048576", "min.insync.replicas": "1", "flush.ms": "5"})
    site.wait(lambda: site.eyes.config(site.topic(1)) == EXPECTED, "the configs are repaired")
    event = site.wait_event("ConfigsRepaired")
    assert event["message"] == f"Repaired flush.ms, min.insync.replicas, segment.bytes on topic {site.topic(1)}"
    site.wait_ready()


def test_an_edit_of_a_config_reaches_the_topics_and_a_removed_one_is_reset(site: Site) -> None:
    site.declare(topics={"config": {"flush.messages": 1000, "flush.ms": "500"}})
    site.wait_ready()
    site.edit(config={"flush.messages": 2000, "flush.ms": None}, segmentBytes="32Mi")
    site.wait_ready()
    expected = {**EXPECTED, "flush.messages": "2000", "segment.bytes": "33554432"}
    site.becomes(
        lambda: site.eyes.configs(site.topic(0), site.topic(1)), dict.fromkeys(map(site.topic, (0, 1)), expected)
    )


def only_repaired(site: Site, expected: dict[str, str]) -> None:
    """The operator repaired topic 0 to just this, and leaves it so.

    The event comes first: right after a change, a broker that is behind still shows the configs of before.
    """
    site.wait(lambda: bool(site.events("ConfigsRepaired")), "something is repaired")
    site.wait(lambda: site.eyes.config(site.topic(0)) == expected, "the topic has what is left alone, and is repaired")
    site.operator.wait_for_idle_ticks()
    assert site.eyes.config(site.topic(0)) == expected


def test_ignored_configs_are_neither_set_nor_reset(site: Site) -> None:
    site.declare(topics={"ignoredConfigs": ["flush.ms"]})
    site.wait_ready()
    site.eyes.alter(site.topic(0), {"flush.ms": "7", "segment.bytes": "1048576"})
    only_repaired(site, {**EXPECTED, "flush.ms": "7"})


def test_reassignment_throttles_are_left_alone(site: Site) -> None:
    site.declare()
    site.wait_ready()
    throttle = {"leader.replication.throttled.replicas": "*", "follower.replication.throttled.replicas": "*"}
    site.eyes.alter(site.topic(0), {**throttle, "segment.bytes": "1048576"})
    only_repaired(site, {**EXPECTED, **throttle})


@pytest.mark.parametrize(
    "unsafe",
    [{"retention.ms": "604800000"}, {"cleanup.policy": "compact"}, {"retention.bytes": "1000000"}, {}],
    ids=["seven days", "compaction", "size", "broker defaults"],
)
def test_a_topic_that_kafka_could_empty_is_adopted_and_guarded(unsafe: dict[str, str], site: Site) -> None:
    site.eyes.create(site.topic(0), unsafe)
    site.declare()
    site.wait_ready()
    site.becomes(lambda: site.eyes.config(site.topic(0)), EXPECTED)
    event = site.wait_event("RetentionGuarded")
    assert event["type"] == "Warning"
    assert event["message"].endswith(f"on topic {site.topic(0)}")


def test_retention_set_later_is_guarded_too(site: Site) -> None:
    site.declare()
    site.wait_ready()
    site.eyes.alter(site.topic(1), {"retention.ms": "1000"})
    site.wait(lambda: site.eyes.config(site.topic(1)) == EXPECTED, "retention is unlimited again")
    site.wait_event("RetentionGuarded")


def test_topics_with_the_prefix_beyond_the_count_are_guarded_and_counted_and_stay(site: Site) -> None:
    site.eyes.create(site.topic(7), {"retention.ms": "604800000", "flush.ms": "5"})
    site.declare()
    found = site.wait_ready()
    assert found["status"]["topics"]["foreign"] == 1
    assert site.topic(7) in condition(found, "Ready")["message"]
    guarded = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1", "flush.ms": "5"}
    site.becomes(lambda: site.eyes.config(site.topic(7)), guarded)
    assert site.topic(7) in site.eyes.topics(site.prefix)


def test_topics_with_other_names_are_not_touched(site: Site) -> None:
    others = [f"{site.prefix}x_0", f"{site.prefix}_01", f"{site.prefix}_a", site.prefix, f"{site.prefix}_1_0"]
    for name in others:
        site.eyes.create(name, {"retention.ms": "604800000"}, replication_factor=1)
    site.declare()
    found = site.wait_ready()
    assert found["status"]["topics"]["foreign"] == 0
    site.becomes(lambda: site.eyes.configs(*others), {name: {"retention.ms": "604800000"} for name in others})


def test_a_pool_of_single_replicas_has_min_insync_replicas_one(site: Site) -> None:
    site.declare(topics={"replicationFactor": 1})
    site.wait_ready()
    site.becomes(lambda: site.eyes.config(site.topic(0)), {**EXPECTED, "min.insync.replicas": "1"})
