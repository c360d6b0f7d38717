"""WALClusters beside Strimzi's resources, by its real CRDs; the test plays people and Strimzi's operators."""

from __future__ import annotations

import pytest

from seawall.api.meta import Key
from tests.integration.conftest import NewOperator
from tests.integration.test_rbac import install_rights, start_as
from tests.support.kube import Object
from tests.support.site import Site, condition
from tests.support.strimzi import StrimziRole, install_strimzi_crds

pytestmark = pytest.mark.integration

SEVEN_DAYS = {"retention.ms": "604800000"}
KIND = "SharedWithStrimzi"


@pytest.fixture
def strimzi(own_site: Site) -> StrimziRole:
    """Strimzi, on the API server of the corner."""
    install_strimzi_crds(own_site.kube)
    return StrimziRole(own_site.kube)


def of(site: Site, name: str) -> Key:
    return Key(site.namespace, name)


def test_a_topic_that_a_kafka_topic_manages_is_left_alone_until_it_is_let_go(
    own_site: Site, strimzi: StrimziRole, new_operator: NewOperator
) -> None:
    site, managed = own_site, own_site.topic(0)
    strimzi.put_kafka(of(site, "wal"), site.kafka.cluster_id)
    strimzi.put_topic(of(site, "first"), managed, "wal")
    site.eyes.create(managed, SEVEN_DAYS)
    new_operator(strimzi=True).start()
    site.declare(topics={"deletionPolicy": "Delete"})

    sentence = site.wait_stalled("TopicsManagedByStrimzi")
    assert f"KafkaTopic {site.namespace}/first manages topic {managed}" in sentence
    assert "Kafka may remove records by itself" in sentence
    assert site.wait_for(KIND, "True", "TopicsManagedByStrimzi")
    site.becomes(lambda: len(site.eyes.topics(site.prefix)), 2)
    site.operator.wait_for_idle_ticks(2)
    assert site.eyes.config(managed)["retention.ms"] == SEVEN_DAYS["retention.ms"]
    assert site.eyes.config(site.topic(1))["retention.ms"] == "-1"

    site.delete()
    site.wait(lambda: "KafkaTopic" in condition(site.read(), "Ready")["message"], "the deletion says who manages it")
    assert len(site.eyes.topics(site.prefix)) == 2

    strimzi.put_topic(of(site, "first"), managed, "wal", managed="false")
    site.wait_gone()
    site.becomes(lambda: site.eyes.topics(site.prefix), {})


def test_a_topic_that_was_let_go_is_managed_by_seawall(
    own_site: Site, strimzi: StrimziRole, new_operator: NewOperator
) -> None:
    site, managed = own_site, own_site.topic(0)
    strimzi.put_topic(of(site, "first"), managed, managed="false")
    site.eyes.create(managed, SEVEN_DAYS)
    new_operator(strimzi=True).start()
    site.declare()
    site.wait_ready()
    assert site.eyes.config(managed)["retention.ms"] == "-1"
    assert site.wait_for(KIND, "False", "NotShared")


def test_a_topic_of_another_kafka_cluster_is_none_of_ours(
    own_site: Site, strimzi: StrimziRole, new_operator: NewOperator
) -> None:
    site = own_site
    strimzi.put_kafka(of(site, "other"), "another-cluster")
    strimzi.put_topic(of(site, "namesake"), site.topic(0), "other")
    new_operator(strimzi=True).start()
    site.declare()
    site.wait_ready()
    assert site.wait_for(KIND, "False", "NotShared")


def test_no_replica_moves_while_a_rebalance_runs(
    own_site: Site, strimzi: StrimziRole, new_operator: NewOperator
) -> None:
    site, key = own_site, of(own_site, "even")
    new_operator(strimzi=True).start()
    site.declare(topics={"replicationFactor": 1})
    site.wait_ready()
    strimzi.put_rebalance(key, state="Rebalancing")
    site.edit(replicationFactor=3)

    def waits(found: Object) -> bool:
        return "KafkaRebalance" in found["status"].get("reassignment", {}).get("message", "")

    site.wait_object(waits, "the run says that it waits")
    assert site.wait_for(KIND, "True", "RebalanceRunning")
    assert {len(topic.partitions[0].replicas) for topic in site.eyes.topics(site.prefix).values()} == {1}
    strimzi.put_rebalance(key, state="Ready")
    site.wait_ready(within=120.0)
    assert {len(topic.partitions[0].replicas) for topic in site.eyes.topics(site.prefix).values()} == {3}


def test_the_charts_rights_for_strimzi_are_enough_and_without_them_it_is_told(
    own_site: Site, strimzi: StrimziRole, new_operator: NewOperator
) -> None:
    site = own_site
    start_as(site, install_rights(site), new_operator, strimzi=True)
    site.declare()
    found = condition(site.wait_for(KIND, "Unknown", "StrimziUnknown"), KIND)
    assert "strimzi.namespaces" in found["message"]
    site.wait_ready()
    install_rights(site, strimzi={"enabled": True})
    site.wait_for(KIND, "False", "NotShared")
    strimzi.put_topic(of(site, "first"), site.topic(0))
    site.wait_for(KIND, "True", "TopicsManagedByStrimzi")


def test_who_does_not_ask_says_nothing(own_site: Site, strimzi: StrimziRole, new_operator: NewOperator) -> None:
    site = own_site
    strimzi.put_topic(of(site, "first"), site.topic(0))
    new_operator().start()
    site.declare()
    assert condition(site.wait_ready(), KIND) == {}
