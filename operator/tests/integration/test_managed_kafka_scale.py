"""A managed Kafka gets a broker more, and loses it again, on real parts: API server, entrypoint, Kafka's processes.

Only the kubelet, the StatefulSet controller and the disruption controller are the test's. A producer writes all the
time; replicas are moved by the controller that moves them.
"""

from __future__ import annotations

import pytest

from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.controllers.kafka_removal import KafkaRemovalController
from seawall.controllers.reassignment import ReplicationController
from seawall.domain.kafka import KafkaConnection
from seawall.domain.partitions import PartitionId
from seawall.observe.connections import kafka_of
from seawall.observe.partitions import PartitionObserver
from seawall.ports import PartitionReassigner
from tests.fakes.meters import FakeMeters
from tests.integration.test_managed_kafka_nodes import NAME, Bed, spec
from tests.integration.test_managed_kafka_nodes import bed as bed  # noqa: PLC0414 - a fixture
from tests.integration.test_managed_kafka_roll import TOPIC, Writer, read_all
from tests.support.kube import WAL_CLUSTERS

pytestmark = [pytest.mark.integration, pytest.mark.soak]

LEAVES = 3
WITHIN = 300.0


def test_three_brokers_become_four_and_three_again_and_no_record_is_lost(bed: Bed) -> None:
    bed.declare(spec(brokers=3))
    bed.wait(lambda: bed.says("AllOnline") and bed.tokens() == {}, "all nodes are Online", WITHIN)
    bed.make_topic(TOPIC, (0, 1, 2), 2)
    before = {node: pod.uid for node, pod in bed.kubelet.pods.items()}
    servers = tuple(bed.kubelet.local(f"{NAME}-{node}.{bed.namespace}.svc:9092") for node in (0, 1, 2))
    with Writer(servers) as writer:
        joins_and_takes_replicas(bed)
        is_taken_out(bed)
    print(  # noqa: T201 - the numbers are the evidence
        f"{len(writer.acknowledged)} acknowledged, longest gap {writer.longest:.1f} s, {len(writer.failed)} failed"
    )
    assert writer.failed == []
    assert writer.acknowledged <= read_all(servers)
    assert {node: pod.uid for node, pod in bed.kubelet.pods.items()} == before, "nobody is restarted for it"


def joins_and_takes_replicas(bed: Bed) -> None:
    """It is empty until somebody moves replicas there."""
    edit(bed, 4)
    bed.wait(lambda: bed.says("ScalingUp"), "that it joins is told", WITHIN)
    bed.wait(lambda: bed.says("AllOnline") and LEAVES in bed.online(), "it has joined", WITHIN)
    assert min_available(bed) == 3
    assert bed.isr(TOPIC) == {0, 1, 2}
    assert not reassigner(bed).reassign({PartitionId(TOPIC, 0): (LEAVES, 1, 2)})
    bed.wait(lambda: bed.isr(TOPIC) == {LEAVES, 1, 2}, "it has the records of node 0", WITHIN)
    bed.make_topic("alone", (LEAVES,), 1)


def is_taken_out(bed: Bed) -> None:
    """All that is on it moves away, then it is stopped, and Kafka forgets it."""
    nodes = bed.controller
    removes = KafkaRemovalController(nodes.kube, nodes.objects, nodes.kafka_clusters, nodes.clock, nodes.stopwatch)
    observer = PartitionObserver(nodes.kube, nodes.kafka_clusters)
    bed.beside = (removes, ReplicationController(nodes.kube, observer, nodes.clock, FakeMeters()))
    pin(bed)
    edit(bed, 3)

    def is_out() -> bool:
        managed = bed.cluster().status.managed_kafka
        return managed is not None and managed.removal is None and LEAVES in managed.removed

    bed.wait(is_out, "it is out", WITHIN)
    bed.wait(lambda: bed.says("AllOnline"), "all that stay are Online", WITHIN)
    assert {broker.id for broker in reassigner(bed).brokers()} == {0, 1, 2}
    assert LEAVES not in bed.isr(TOPIC) | bed.isr("alone")
    assert len(bed.isr("alone")) == 1
    assert LEAVES not in bed.kubelet.pods
    assert min_available(bed) == 2
    claim = f"/api/v1/namespaces/{bed.namespace}/persistentvolumeclaims/data-{NAME}-{LEAVES}"
    assert bed.client.find(claim) is not None, "its volume stays"
    assert bed.client.find(f"/apis/apps/v1/namespaces/{bed.namespace}/statefulsets/{NAME}-{LEAVES}") is None


def edit(bed: Bed, brokers: int) -> None:
    """Somebody edits `replicas`."""
    bed.client.merge(f"{WAL_CLUSTERS.format(bed.namespace)}/{NAME}", {"spec": spec(brokers=brokers)})


def pin(bed: Bed) -> None:
    """As the controller of topics does when it has met its Kafka."""
    found = bed.cluster()
    assert found.status.managed_kafka is not None
    brokers = BrokersStatus(total=4, online=4)
    known = KafkaStatus(cluster_id=str(found.status.managed_kafka.cluster_id), brokers=brokers)
    bed.kube.replace_status(found, found.status.model_copy(update={"kafka": known}))


def min_available(bed: Bed) -> int:
    """Of the budget of brokers."""
    path = f"/apis/policy/v1/namespaces/{bed.namespace}/poddisruptionbudgets/{NAME}-kafka-brokers"
    return int(bed.client.request("GET", path)["spec"]["minAvailable"])


def reassigner(bed: Bed) -> PartitionReassigner:
    """As Seawall itself reaches it."""
    connection = kafka_of(bed.kube, bed.cluster())
    assert isinstance(connection, KafkaConnection)
    return bed.controller.kafka_clusters.reassigner(bed.key, connection)
