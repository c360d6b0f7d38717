"""Topics are touched only on the Kafka that is meant, and only by their one owner."""

from __future__ import annotations

import time

import pytest

from seawall_e2e.loopback import KafkaProcesses
from tests.support.kafka import KafkaEyes
from tests.support.site import Site, condition

pytestmark = pytest.mark.integration


@pytest.fixture
def other_kafka(sasl_kafka: KafkaProcesses) -> KafkaProcesses:
    """Another Kafka cluster, of one broker."""
    return sasl_kafka


def point_at(site: Site, kafka: KafkaProcesses) -> None:
    servers = {"bootstrapServers": list(kafka.bootstrap_servers)}
    site.kube.merge(site.path(), {"spec": {"kafka": {"external": servers}}})


def test_another_cluster_than_the_spec_names_is_not_touched(site: Site) -> None:
    site.declare(external={"clusterId": "somewhere-else"})
    sentence = site.wait_stalled("WrongCluster")
    assert site.kafka.cluster_id in sentence
    assert "spec.kafka.external.clusterId says somewhere-else" in sentence
    site.operator.wait_for_idle_ticks()
    assert not site.eyes.topics(site.prefix)
    reachable = condition(site.read(), "KafkaReachable")
    assert (reachable["status"], reachable["reason"]) == ("False", "WrongCluster"), (
        "the Kafka that is meant is not there"
    )
    site.kube.merge(site.path(), {"spec": {"kafka": {"external": {"clusterId": site.kafka.cluster_id}}}})
    site.wait_ready()


def test_another_cluster_than_the_pinned_one_is_not_touched(site: Site, other_kafka: KafkaProcesses) -> None:
    site.declare(topics={"replicationFactor": 1})
    pinned = site.wait_ready()["status"]["kafka"]["clusterId"]
    other_eyes = KafkaEyes(other_kafka.bootstrap_servers)
    other_eyes.create(site.topic(0), {"retention.ms": "5000"}, replication_factor=1)
    point_at(site, other_kafka)
    sentence = site.wait_stalled("WrongCluster")
    assert other_kafka.cluster_id in sentence
    assert pinned in sentence
    site.operator.wait_for_idle_ticks()
    assert list(other_eyes.topics(site.prefix)) == [site.topic(0)]
    assert other_eyes.config(site.topic(0)) == {"retention.ms": "5000"}
    assert site.read()["status"]["kafka"]["clusterId"] == pinned == site.kafka.cluster_id
    point_at(site, site.kafka)
    site.wait_ready()


def test_a_cluster_that_the_spec_rules_out_is_not_pinned(site: Site, other_kafka: KafkaProcesses) -> None:
    site.declare(topics={"replicationFactor": 1}, external={"clusterId": other_kafka.cluster_id})
    site.wait_stalled("WrongCluster")
    assert "kafka" not in site.read()["status"]
    point_at(site, other_kafka)
    site.wait_ready()
    assert not site.eyes.topics(site.prefix)


def test_a_deletion_deletes_nothing_on_a_cluster_that_the_spec_rules_out(site: Site) -> None:
    site.eyes.create(site.topic(0))
    site.declare(topics={"deletionPolicy": "Delete"}, external={"clusterId": "somewhere-else"})
    site.wait_stalled("WrongCluster")
    site.delete()
    site.wait_gone()
    assert list(site.eyes.topics(site.prefix)) == [site.topic(0)]


def test_a_deletion_waits_while_the_spec_rules_the_pinned_cluster_out(site: Site) -> None:
    site.declare(topics={"deletionPolicy": "Delete"})
    site.wait_ready()
    site.kube.merge(site.path(), {"spec": {"kafka": {"external": {"clusterId": "somewhere-else"}}}})
    site.wait_stalled("WrongCluster")
    site.delete()
    site.operator.wait_for_idle_ticks()
    assert len(site.eyes.topics(site.prefix)) == 2
    site.edit(deletionPolicy="Retain")
    site.wait_gone()
    assert len(site.eyes.topics(site.prefix)) == 2


def test_a_deletion_pointed_at_another_cluster_deletes_nothing_there(site: Site, other_kafka: KafkaProcesses) -> None:
    site.declare(topics={"replicationFactor": 1, "deletionPolicy": "Delete"})
    site.wait_ready()
    other_eyes = KafkaEyes(other_kafka.bootstrap_servers)
    other_eyes.create(site.topic(0), replication_factor=1)
    point_at(site, other_kafka)
    site.wait_stalled("WrongCluster")
    site.delete()
    site.operator.wait_for_idle_ticks()
    assert site.exists()
    assert list(other_eyes.topics(site.prefix)) == [site.topic(0)]
    assert len(site.eyes.topics(site.prefix)) == 2
    point_at(site, site.kafka)
    site.wait_gone()
    assert list(other_eyes.topics(site.prefix)) == [site.topic(0)]


def test_of_two_claims_to_a_prefix_the_younger_waits_and_takes_over(site: Site) -> None:
    site.declare("older")
    site.wait_ready("older")
    time.sleep(1)  # creation times have whole seconds; ties go by UID
    site.declare("younger", topics={"count": 4, "config": {"flush.ms": "9"}})
    sentence = site.wait_stalled("PrefixClaimed", "younger")
    assert f"{site.namespace}/older owns the prefix {site.prefix}" in sentence
    site.operator.wait_for_idle_ticks()
    assert len(site.eyes.topics(site.prefix)) == 2
    assert "flush.ms" not in site.eyes.config(site.topic(0))
    assert f"{site.namespace}/younger claims the same topics" in site.wait_stalled("PrefixContested", "older")
    site.delete("older")
    site.wait_ready("younger")
    site.becomes(lambda: len(site.eyes.topics(site.prefix)), 4)
    site.becomes(lambda: site.eyes.config(site.topic(0)).get("flush.ms"), "9")


def test_the_younger_claim_deletes_none_of_the_olders_topics(site: Site) -> None:
    site.declare("older")
    site.wait_ready("older")
    time.sleep(1)
    site.declare("younger", topics={"deletionPolicy": "Delete"})
    site.wait_stalled("PrefixClaimed", "younger")
    site.delete("younger")
    site.wait_gone("younger")
    assert len(site.eyes.topics(site.prefix)) == 2
    site.wait_ready("older")


def test_one_prefix_on_two_kafkas_is_no_conflict(site: Site, other_kafka: KafkaProcesses) -> None:
    site.declare("here", topics={"replicationFactor": 1})
    site.wait_ready("here")
    there = {"bootstrapServers": list(other_kafka.bootstrap_servers)}
    site.declare("there", topics={"replicationFactor": 1}, external=there)
    site.wait_ready("there")
    assert len(KafkaEyes(other_kafka.bootstrap_servers).topics(site.prefix)) == 2
