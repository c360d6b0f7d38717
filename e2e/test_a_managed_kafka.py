"""A Kafka that Seawall runs: its roll beside drains, and the example, which outlives its WALCluster and the CRDs."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from seawall_e2e.cluster import WAL_CLUSTER_CRD, install_crds
from seawall_e2e.commands import Object, kubectl
from seawall_e2e.kafka_drains import Drains
from seawall_e2e.managed_kafka import NODES, ManagedKafka, combined, example
from seawall_e2e.objects import items
from seawall_e2e.operator_faults import OperatorKilled
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

RECORDS = 200
DRAINED = 2
"""Evictions that go through, in each part: each takes as long as the restart of a node."""
SLACK = 10.0
"""Seconds by which a busy machine may start a process later than before."""


@pytest.fixture
def _crds_as_before() -> Iterator[None]:
    yield
    install_crds()


# In every run: a Kafka that Seawall runs, on processes (operator/tests/integration/test_managed_kafka_secured.py), and
# its life at each call in memory. On pods it takes 500 processor seconds in five minutes.
@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("_crds_as_before")
def test_a_managed_kafka_is_the_same_one_after_the_crds_were_deleted_and_applied_again(site: Site) -> None:
    kafka, declared = brought_up(site)
    status, identity, topic = kafka.wal.status(), kafka.identity(), f"{site.prefix}_0"
    volumes = {each["metadata"]["uid"] for each in items(site.namespace, "persistentvolumeclaims")}

    kubectl("delete", "crd", WAL_CLUSTER_CRD, timeout=60)
    kafka.wait_gone()
    install_crds()
    began = time.monotonic()
    kafka.apply(declared)

    kafka.wal.wait("AllOnline", kind="KafkaNodesHealthy", within=150)
    again = kafka.wal.wait("Ready", within=60)["status"]
    print(f"Ready again after {time.monotonic() - began:.1f} s")
    assert again["kafka"]["clusterId"] == status["kafka"]["clusterId"]
    assert kafka.identity() == identity
    assert {each["metadata"]["uid"] for each in items(site.namespace, "persistentvolumeclaims")} == volumes
    assert kafka.formats() == 0
    assert kafka.records(topic) == RECORDS


@pytest.mark.timeout(600)
def test_a_config_is_rolled_out_beside_drains_and_no_record_is_lost(site: Site) -> None:
    site.install("managedKafka.enabled=true")
    kafka = ManagedKafka(site.wal_cluster("combined"))
    declared = combined(site.namespace, kafka.wal.name, site.prefix)
    kafka.apply(declared)
    kafka.wal.wait("Ready", within=150)
    drains = Drains(site.namespace, kafka.wal.name, {"brokers": 3})
    a_roll_and_drains_at_once_take_one_at_a_time(site, kafka, declared, drains, f"{site.prefix}_0")


# Six JVMs start anew, and some twice. In every run, three that are both (above), and worlds die and are moved at each
# call of a roll and of a drain.
@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_roll_beside_drains_loses_no_record_and_a_dead_operator_lets_one_broker_go(site: Site) -> None:
    kafka, declared = brought_up(site)
    drains = Drains(site.namespace, "managed", {"brokers": 3, "controllers": 3})
    a_roll_and_drains_at_once_take_one_at_a_time(site, kafka, declared, drains, f"{site.prefix}_1")
    a_dead_operator_lets_one_go(site, kafka, drains)


def brought_up(site: Site) -> tuple[ManagedKafka, Object]:
    """The example's Kafka, with records in its first topic; and what was declared."""
    site.install("managedKafka.enabled=true")
    kafka = ManagedKafka(site.wal_cluster("managed"))
    declared = example(site.namespace, site.prefix)
    began = time.monotonic()
    kafka.apply(declared)
    kafka.wal.wait("AllOnline", kind="KafkaNodesHealthy", within=150)
    online = time.monotonic() - began
    status = kafka.wal.wait("Ready", within=60)["status"]
    ready = time.monotonic() - began
    print(f"3 controllers and 3 brokers are Online after {online:.1f} s, 64 topics Ready after {ready:.1f} s")
    assert [node["id"] for node in status["managedKafka"]["nodes"]] == list(NODES)
    assert status["kafka"]["clusterId"] == status["managedKafka"]["clusterId"]
    assert (status["topics"]["ready"], status["topics"]["desired"]) == (64, 64)
    assert kafka.formats() == len(NODES)
    topic = f"{site.prefix}_0"
    kafka.produce(topic, RECORDS)
    assert kafka.records(topic) == RECORDS
    return kafka, declared


def a_roll_and_drains_at_once_take_one_at_a_time(
    site: Site, kafka: ManagedKafka, declared: Object, drains: Drains, topic: str
) -> None:
    """A changed config goes to all nodes, pods are evicted beside it, and the operator dies by SIGKILL in it."""
    wait_until(drains.is_all_ready, "all pods are Ready, for their nodes are in sync", explain=drains.pods)
    before, began = kafka.pods(), time.monotonic()
    managed = declared["spec"]["kafka"]["managed"]
    managed["config"] = {**managed["config"], "num.replica.fetchers": "2"}
    brokers = [kafka.broker(number) for number in range(3)]
    with site.toolbox.loading([topic], RECORDS, brokers) as written, drains.sampled():
        kafka.apply(declared)
        wait_until(lambda: kafka.wal.status().get("disruption"), "a node is restarted", within=90)
        with drains.going_on(at_most=DRAINED), OperatorKilled(site.operator).applied():
            pass
        with drains.going_on(at_most=DRAINED):
            wait_until(lambda: kafka.roll() == "Completed", "the config is rolled out", within=500, explain=kafka.told)
            wait_until(lambda: drains.evicted, "a pod was drained, too", within=90, explain=drains.pods)
        wait_until(drains.is_all_ready, "all pods are Ready", explain=drains.pods)
    print(f"a roll, and {drains.evicted} drained: {time.monotonic() - began:.1f} s, {written['acknowledged']} records")
    print(f"{drains.samples} samples, most away {drains.most_away}; {drains.refused} evictions were refused")
    assert drains.errors == []
    assert (written["failed"], written["lost"]) == ([], 0)
    assert max(drains.most_away.values()) == 1
    assert all(before[name] != uid for name, uid in kafka.pods().items())


def a_dead_operator_lets_one_go(site: Site, kafka: ManagedKafka, drains: Drains) -> None:
    """A broker that is killed is back as fast as with it, and the budget alone refuses the second eviction."""
    took = {}
    for operators in (1, 0):
        site.operator.scale(operators)
        broker = kafka.pod(1)
        before = drains.pods()[broker].uid
        kubectl("-n", site.namespace, "delete", "pod", broker, "--force", "--grace-period=0")
        took[operators] = drains.seconds_until_back(broker, before)
        if operators:
            wait_until(drains.is_all_ready, "all pods are Ready", explain=drains.pods)
    refused = drains.evict(kafka.pod(2))
    assert refused is not None
    print(f"a killed broker is back after {took[1]:.1f} s, {took[0]:.1f} s while the operator is dead; then: {refused}")
    assert took[0] < 2 * took[1] + SLACK
    assert not drains.pods()[kafka.pod(1)].is_in_sync
    site.operator.scale(1)
    wait_until(drains.is_all_ready, "an operator says that all are in sync", explain=drains.pods)
    assert drains.evict(kafka.pod(2)) is None
    wait_until(drains.is_all_ready, "all pods are Ready", explain=drains.pods)
