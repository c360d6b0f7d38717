"""Votes of a managed Kafka on real parts: a controller's disk is lost, and three become five and three again.

API server, entrypoint and Kafka's processes are real; only the kubelet, the StatefulSet controller and the disruption
controller are the test's. A producer writes all the time. In every run a vote comes and goes on real processes in the
contract of the port (contract/test_voters_contract.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from seawall.api.meta import Key
from seawall.controllers.kafka_removal import KafkaRemovalController
from seawall.controllers.kafka_voters import KafkaVotersController
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import KafkaConnection
from seawall.domain.partitions import NewVoter
from seawall.observe.connections import kafka_of
from seawall.ports import PartitionReassigner
from tests.integration.test_managed_kafka_nodes import NAME, Bed, LoopbackClusters, spec
from tests.integration.test_managed_kafka_nodes import bed as bed  # noqa: PLC0414 - a fixture
from tests.integration.test_managed_kafka_roll import TOPIC, Writer, read_all
from tests.support.kube import WAL_CLUSTERS
from tests.support.kubelet import Kubelet, empty

pytestmark = [pytest.mark.integration, pytest.mark.soak]

LOST = 101
WITHIN = 400.0


class LoopbackVoters:
    """The port, but controllers that get a vote are found on loopback."""

    def __init__(self, real: PartitionReassigner, kubelet: Kubelet) -> None:
        self._real, self._kubelet = real, kubelet

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)

    def add_voter(self, voter: NewVoter) -> None:
        """Lets it vote, with the address that it has here."""
        host, _, port = self._kubelet.local(f"{voter.host}:{voter.port}").partition(":")
        self._real.add_voter(replace(voter, host=host, port=int(port)))


@dataclass
class VotingClusters(LoopbackClusters):
    """KafkaClusters, with the addresses of nodes as they are on loopback, also of those that get a vote."""

    def reassigner(self, key: Key, connection: KafkaConnection) -> PartitionReassigner:
        """The partitions."""
        made: PartitionReassigner = LoopbackVoters(super().reassigner(key, connection), self.kubelet)  # type: ignore[assignment]  # it has all of it
        return made


def votes(bed: Bed) -> dict[int, str]:
    """By controller the directory that votes; nobody, while nobody leads."""
    connection = kafka_of(bed.kube, bed.cluster())
    assert isinstance(connection, KafkaConnection)
    try:
        quorum = bed.controller.kafka_clusters.reassigner(bed.key, connection).quorum()
    except OutsideUnavailable:
        return {}
    return {each.id: str(each.directory_id) for each in quorum.voters}


@pytest.mark.timeout(1800)
def test_a_lost_disk_of_a_controller_is_replaced_and_three_become_five_and_three_again(bed: Bed) -> None:
    bed.declare(spec(brokers=2, controllers=3))
    bed.wait(lambda: bed.says("AllOnline") and bed.tokens() == {}, "all nodes are Online", WITHIN)
    nodes = bed.controller
    clusters = VotingClusters(bed.kubelet)
    bed.beside = (
        KafkaVotersController(nodes.kube, nodes.objects, clusters, nodes.clock, nodes.stopwatch),
        KafkaRemovalController(nodes.kube, nodes.objects, clusters, nodes.clock, nodes.stopwatch),
    )
    bed.make_topic(TOPIC, (0, 1), 1)
    before, pods = votes(bed), {node: pod.uid for node, pod in bed.kubelet.pods.items()}
    assert set(before) == {100, 101, 102}
    servers = tuple(bed.kubelet.local(f"{NAME}-{node}.{bed.namespace}.svc:9092") for node in (0, 1))
    with Writer(servers) as writer:
        a_disk_is_lost(bed, before)
        two_more_are_declared(bed)
        they_leave_again(bed)
    print(  # noqa: T201 - the numbers are the evidence
        f"{len(writer.acknowledged)} acknowledged, longest gap {writer.longest:.1f} s, {len(writer.failed)} failed"
    )
    assert writer.failed == []
    assert writer.acknowledged <= read_all(servers)
    now = {node: pod.uid for node, pod in bed.kubelet.pods.items()}
    assert {node: now[node] for node in pods if node != LOST} == {n: uid for n, uid in pods.items() if n != LOST}


def a_disk_is_lost(bed: Bed, before: dict[int, str]) -> None:
    """Its vote goes, it is formatted by token, follows, and votes with another directory."""
    volume = bed.kubelet.volume_of(LOST)
    bed.kubelet.stop(LOST)
    empty(volume)
    bed.kubelet.start(LOST)
    bed.wait(lambda: LOST not in votes(bed) and bed.cluster().status.disruption is None, "the vote goes", WITHIN)
    bed.wait(lambda: bed.says("AllOnline"), "it votes again", WITHIN)
    found = votes(bed)
    assert set(found) == set(before)
    assert found[LOST] != before[LOST]
    assert {node: found[node] for node in (100, 102)} == {node: before[node] for node in (100, 102)}
    bed.wait(lambda: bed.tokens() == {} and bed.cluster().status.voter_change is None, "nothing is left of it", WITHIN)


def edit(bed: Bed, controllers: int) -> None:
    """Somebody edits `replicas`."""
    edited = {"spec": spec(brokers=2, controllers=controllers)}
    bed.client.merge(f"{WAL_CLUSTERS.format(bed.namespace)}/{NAME}", edited)


def two_more_are_declared(bed: Bed) -> None:
    """One after the other."""
    edit(bed, 5)
    bed.wait(lambda: set(votes(bed)) == {100, 101, 102, 103, 104}, "five vote", WITHIN)
    bed.wait(lambda: bed.says("RollingNodes") and bed.tokens() == {}, "the list of controllers is to be rolled", WITHIN)
    assert bed.cluster().status.disruption is None or bed.cluster().status.voter_change is not None


def they_leave_again(bed: Bed) -> None:
    """Their votes are taken, then they are stopped, and their ids are not used again."""
    edit(bed, 3)

    def are_out() -> bool:
        managed = bed.cluster().status.managed_kafka
        return managed is not None and managed.removal is None and set(managed.removed) == {103, 104}

    bed.wait(lambda: set(votes(bed)) == {100, 101, 102}, "three vote", WITHIN)
    bed.wait(are_out, "both are out", WITHIN)
    bed.wait(lambda: bed.says("AllOnline"), "all that stay are Online", WITHIN)
    assert {103, 104}.isdisjoint(bed.kubelet.pods)
    assert bed.cluster().status.disruption is None
