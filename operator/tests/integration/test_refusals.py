"""A pool that cannot be made as declared: nothing is harmed, and a person learns why in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from seawall_e2e.waiting import wait_until
from tests.support.site import OF_BROKERS, Site, condition

pytestmark = pytest.mark.integration
NO_MOVES = {"seawall.dev/abort-reassignment": "a test wants them where they are"}


@contextmanager
def broker_down(site: Site, index: int) -> Iterator[None]:
    """One broker is killed; it is back, and in sync again, when the test goes on."""
    site.kafka.kill(index)
    try:
        yield
    finally:
        site.kafka.start(index)


def test_a_topic_with_two_partitions_is_reported_and_never_changed(site: Site) -> None:
    site.eyes.create(site.topic(0), {"retention.ms": "-1", "retention.bytes": "-1"}, partitions=2)
    site.declare()
    sentence = site.wait_stalled("PartitionsDiffer")
    assert site.topic(0) in sentence
    site.wait(lambda: site.topic(1) in site.eyes.topics(site.prefix), "the rest of the pool is created")
    assert len(site.eyes.topics(site.prefix)[site.topic(0)].partitions) == 2
    assert condition(site.read(), "Ready")["status"] == "False"


def test_a_topic_with_one_replica_that_must_not_be_moved_is_reported_and_keeps_accepting_writes(site: Site) -> None:
    site.eyes.create(site.topic(0), replication_factor=1)
    site.declare(annotations=NO_MOVES)
    sentence = site.wait_stalled("ReplicationFactorDiffers")
    assert sentence == (
        f"the replication factor of topic {site.topic(0)} is not 3:"
        " remove seawall.dev/abort-reassignment to let it be changed"
    )
    site.wait(lambda: site.eyes.config(site.topic(0)).get("retention.ms") == "-1", "its retention is guarded")
    site.wait(lambda: site.topic(1) in site.eyes.topics(site.prefix), "the rest of the pool is created")
    site.operator.wait_for_idle_ticks()
    assert "min.insync.replicas" not in site.eyes.config(site.topic(0))
    assert len(site.eyes.topics(site.prefix)[site.topic(0)].partitions[0].replicas) == 1


def test_min_insync_replicas_equal_to_the_actual_replicas_is_never_written(site: Site) -> None:
    site.eyes.create(site.topic(0), replication_factor=2)
    site.declare(topics={"replicationFactor": 3, "minInSyncReplicas": 2}, annotations=NO_MOVES)
    site.wait_stalled("ReplicationFactorDiffers")
    site.operator.wait_for_idle_ticks()
    assert "min.insync.replicas" not in site.eyes.config(site.topic(0))


def test_an_unknown_config_key_is_refused_in_kafkas_own_words_until_it_is_edited(site: Site) -> None:
    site.declare(topics={"config": {"no.such.config": "1"}})
    assert "Unknown topic config name: no.such.config" in site.wait_stalled("ChangeRefused")
    site.edit(config=None)
    site.wait_ready()
    site.becomes(lambda: len(site.eyes.topics(site.prefix)), 2)


def test_a_config_value_that_kafka_refuses_on_a_ready_pool_is_reported_and_recovers(site: Site) -> None:
    site.declare()
    site.wait_ready()
    before = wait_until(lambda: site.eyes.configs_if_known(site.topic(0)), "its configs are known")
    site.edit(config={"flush.ms": "soon"})
    assert "flush.ms" in site.wait_stalled("ChangeRefused")
    assert site.eyes.config(site.topic(0)) == before
    site.edit(config={"flush.ms": "60000"})
    site.wait_ready()
    site.becomes(lambda: site.eyes.config(site.topic(0)), {**before, "flush.ms": "60000"})


def said(site: Site) -> dict[str, object]:
    """The status but for how the brokers are, which fall behind for a moment where others keep the processors busy."""
    status = site.read()["status"]
    conditions = [each for each in status["conditions"] if each["type"] not in OF_BROKERS]
    return {**status, "conditions": conditions, "kafka": status["kafka"]["clusterId"]}


def test_a_refusal_is_told_once_and_not_at_every_retry(site: Site) -> None:
    site.declare(topics={"config": {"no.such.config": "1"}})
    site.wait_stalled("ChangeRefused")
    site.wait_brokers_told()
    told, before = said(site), site.operator.metric(FAILED) or 0
    site.wait(lambda: (site.operator.metric(FAILED) or 0) >= before + 3, "it was refused three more times", 150)
    assert said(site) == told
    site.wait_event("ChangeRefused")


def test_more_replicas_than_brokers_is_refused_until_it_is_edited(site: Site) -> None:
    site.declare(topics={"replicationFactor": 4})
    assert site.wait_stalled("ReplicationFactorTooHigh") == "replicationFactor 4 needs 4 brokers and Kafka has 3"
    assert not site.eyes.topics(site.prefix)
    site.edit(replicationFactor=3)
    site.wait_ready()


def test_a_killed_broker_is_reported_and_topics_wait_for_its_return(site: Site) -> None:
    site.declare()
    site.wait_ready()
    with broker_down(site, 2):
        found = site.wait_for("Ready", "False", "BrokersMissing")
        assert "2 of 3 brokers are online (missing: 3)" in condition(found, "Ready")["message"]
        brokers = found["status"]["kafka"]["brokers"]
        assert (brokers["total"], brokers["online"]) == (3, 2)
        assert condition(found, "Stalled")["status"] == "False"
        site.edit(count=4)
        site.wait_for("Ready", "False", "BrokersMissing")
        site.operator.wait_for_idle_ticks(1)
        assert len(site.eyes.topics(site.prefix)) == 2
    found = site.wait_ready()
    brokers = found["status"]["kafka"]["brokers"]
    assert (brokers["total"], brokers["online"]) == (3, 3)
    site.becomes(lambda: len(site.eyes.topics(site.prefix)), 4)


FAILED = 'seawall_reconcile_duration_seconds_count{kind="WALCluster",outcome="failed"}'
