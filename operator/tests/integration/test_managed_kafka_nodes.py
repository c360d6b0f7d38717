"""A managed Kafka on real parts: the API server, the entrypoint, Kafka's processes. Only the kubelet is the test's."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seawall.adapters.clock import MonotonicStopwatch, SystemClock
from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.adapters.kube.kafka_objects import KubeKafkaObjects
from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import Condition, ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.managed_kafka import ManagedKafkaController
from seawall.domain.conditions import find_condition
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import ConfigChange, KafkaConnection, KafkaView, NewTopic
from seawall.domain.managed_kafka.names import format_name
from seawall.domain.partitions import PartitionId
from seawall.observe.connections import kafka_of
from seawall.ports import KafkaAdmin, KafkaLogs, KafkaUsers, PartitionReassigner
from seawall.reconciler import Controller, Reconciler
from seawall_e2e.loopback import ApiServer
from seawall_e2e.waiting import Bound
from tests.support.kube import WAL_CLUSTERS, KubeClient, Object
from tests.support.kubelet import Kubelet, empty
from tests.support.patient import kube_api
from tests.support.records import produce

pytestmark = pytest.mark.integration

NAME = "wal"
CONTROLLER, A, B = 100, 0, 1
RECORDS = 200
WITHIN = 180.0


def spec(brokers: int = 2, controllers: int = 1) -> Object:
    pools = [("controllers", ["controller"], CONTROLLER, controllers), ("brokers", ["broker"], 0, brokers)]
    made = [
        {"name": name, "roles": roles, "firstId": first, "replicas": count, "storage": {"size": "1Gi"}, "heap": "128Mi"}
        for name, roles, first, count in pools
    ]
    quick = {"num.io.threads": "2", "num.network.threads": "1"}
    managed = {"version": "4.3.1", "nodePools": made, "security": {"insecure": True}, "config": quick}
    return {"kafka": {"managed": managed}, "topics": {"count": 1, "replicationFactor": min(2, brokers)}}


@dataclass
class LoopbackClusters:
    """KafkaClusters, with the addresses of nodes as they are on loopback."""

    kubelet: Kubelet
    real: ConfluentKafkaClusters = field(
        default_factory=lambda: ConfluentKafkaClusters(view_timeout=3, request_timeout=6)
    )

    def connect(self, key: Key, connection: KafkaConnection) -> KafkaAdmin:
        """The connection."""
        return self.real.connect(key, self._local(connection))

    def logs(self, key: Key, connection: KafkaConnection) -> KafkaLogs:
        """The logs."""
        return self.real.logs(key, self._local(connection))

    def reassigner(self, key: Key, connection: KafkaConnection) -> PartitionReassigner:
        """The partitions."""
        return self.real.reassigner(key, self._local(connection))

    def forget(self, key: Key) -> None:
        """Closes the connection."""
        self.real.forget(key)

    def users(self, key: Key, connection: KafkaConnection) -> KafkaUsers:
        """The users."""
        return self.real.users(key, self._local(connection))

    def _local(self, connection: KafkaConnection) -> KafkaConnection:
        return replace(connection, bootstrap_servers=tuple(map(self.kubelet.local, connection.bootstrap_servers)))


@dataclass
class Bed:
    """One WALCluster in a namespace of its own, its operator and its kubelet."""

    client: KubeClient
    namespace: str
    kubelet: Kubelet
    kube: KubeAdapter
    controller: ManagedKafkaController
    beside: tuple[Controller[Any, Any, Any, Any], ...] = ()
    is_operated: bool = True

    @property
    def key(self) -> Key:
        return Key(self.namespace, NAME)

    def declare(self, found: Object) -> None:
        body = {"apiVersion": "seawall.dev/v1alpha1", "kind": "WALCluster", "metadata": {"name": NAME}, "spec": found}
        self.client.create(WAL_CLUSTERS.format(self.namespace), body)

    def cluster(self) -> WALCluster:
        found = self.kube.get(WALCluster, self.key)
        assert found is not None
        return found

    def condition(self) -> Condition | None:
        return find_condition(self.cluster().status.conditions, ConditionType.KAFKA_NODES_HEALTHY)

    def wait(self, holds: Callable[[], object], what: str, within: float = WITHIN) -> None:
        """Lets operator and kubelet go on until something holds."""
        reconcilers = [Reconciler(each, may_write=lambda: True) for each in (self.controller, *self.beside)]
        bound = Bound(within)
        while not holds():
            assert not bound.is_over(), f"{what}: not within {bound.seconds:.0f} s; {self.condition()}; {self.logs()}"
            if self.is_operated:
                for reconciler in reconcilers:
                    reconciler.tick(self.key)
            self.kubelet.step()
            time.sleep(0.05)

    def logs(self) -> str:
        return "\n".join(f"--- {node}\n{self.kubelet.log(node)[-1500:]}" for node in self.kubelet.pods)

    def says(self, reason: str) -> bool:
        found = self.condition()
        return found is not None and found.reason == reason

    def tokens(self) -> Object:
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/{format_name(NAME)}"
        found: Object = self.client.request("GET", path).get("data") or {}
        return found

    def connection(self) -> KafkaConnection:
        servers = [f"{NAME}-{node}.{self.namespace}.svc:9092" for node in (A, B)]
        return KafkaConnection(tuple(map(self.kubelet.local, servers)))

    def make_topic(self, name: str, replicas: tuple[int, ...], min_isr: int) -> PartitionId:
        admin = self.kafka()
        configs = {"min.insync.replicas": str(min_isr)}
        admin.create_topics([NewTopic(name, len(replicas), configs, replicas)])
        self.wait(lambda: self.isr(name) == set(replicas), f"{name} is in sync")
        admin.alter_configs([ConfigChange(name, configs)])
        return PartitionId(name, 0)

    def kafka(self) -> KafkaAdmin:
        """By the connection of Seawall itself."""
        return self.controller.kafka_clusters.connect(self.key, self._named())

    def isr(self, topic: str) -> frozenset[int]:
        """Nobody, while Kafka does not answer."""
        try:
            found = self.controller.kafka_clusters.reassigner(self.key, self._named()).partitions([topic])[topic]
        except OutsideUnavailable:
            return frozenset()
        return found[0].isr if isinstance(found, tuple) and found else frozenset()

    def online(self) -> frozenset[int]:
        """The brokers that Kafka hears from; nobody, while it does not answer."""
        view = self.kafka().view()
        return view.online if isinstance(view, KafkaView) else frozenset()

    def is_led(self, topic: str) -> bool:
        view = self.kafka().view()
        return isinstance(view, KafkaView) and topic in view.topics and view.topics[topic].leader is not None

    def records(self, topic: str) -> int:
        """How many there are."""
        found = self.controller.kafka_clusters.logs(self.key, self._named()).describe_offsets([topic])[topic]
        end = getattr(found, "high_watermark", None)
        assert isinstance(end, int), found
        return end

    def _named(self) -> KafkaConnection:
        """As Seawall itself reaches it."""
        found = kafka_of(self.kube, self.cluster())
        assert isinstance(found, KafkaConnection), found
        return found


@pytest.fixture
def bed(api_server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    monkeypatch.setenv("KUBECONFIG", str(api_server.kubeconfig))
    client, namespace = KubeClient(api_server), f"kafka-{uuid.uuid4().hex[:8]}"
    client.install_crds()
    client.make_namespace(namespace)
    api = kube_api(4)
    kube = KubeAdapter(api, [namespace])
    kubelet = Kubelet(client, namespace, NAME, Path(tempfile.mkdtemp(prefix="seawall-nodes-")))
    clusters = LoopbackClusters(kubelet)
    clock = SystemClock(api.dates)
    controller = ManagedKafkaController(kube, KubeKafkaObjects(api), clusters, clock, MonotonicStopwatch(), "seawall")
    yield Bed(client, namespace, kubelet, kube, controller)
    controller.kafka_clusters.forget(Key(namespace, NAME))
    kubelet.close()


def brought_up(bed: Bed) -> PartitionId:
    """All nodes are Online, tokens are back, and a topic of two replicas has 200 records in both."""
    bed.declare(spec())
    bed.wait(lambda: bed.says("AllOnline"), "all nodes are Online")
    bed.wait(lambda: bed.tokens() == {}, "tokens are taken back")
    partition = bed.make_topic("orders", (A, B), 1)
    produce(bed.connection().bootstrap_servers, {partition.topic: RECORDS})
    bed.wait(lambda: bed.isr("orders") == {A, B}, "both are in sync")
    assert bed.records("orders") == RECORDS
    return partition


def b_is_last_and_its_disk_is_emptied(bed: Bed) -> Path:
    """A stops, so B alone is in sync; B stops, too, and its disk is replaced. A is back first. Returns B's old disk."""
    bed.kubelet.stop(A)
    bed.wait(lambda: bed.isr("orders") == {B}, "only B is in sync")
    volume = bed.kubelet.volume_of(B)
    bed.kubelet.stop(B)
    kept = volume.with_suffix(".kept")
    shutil.copytree(volume, kept)
    empty(volume)
    bed.kubelet.start(A)
    bed.wait(lambda: A in bed.online(), "A answers")
    return kept


def somebody_is_unfenced_again(bed: Bed) -> None:
    """A starts again, for Kafka elects the last known leader whenever some broker is unfenced, and only then.

    B's own unfencing is too early where its replica is still assigned to the directory that is gone
    (ReplicationControlManager.LeaderAcceptor, Kafka 4.3.1): then nobody leads until the next one.
    """
    bed.kubelet.stop(A, hold=False)
    bed.wait(lambda: bed.online() == {B}, "A is away")
    bed.wait(lambda: A in bed.online(), "A is back")


# A fact of Kafka, and why there are tokens: it cannot break by what we change.
@pytest.mark.soak
def test_without_tokens_an_emptied_disk_leads_and_all_records_are_gone(bed: Bed) -> None:
    """The control: somebody formats what is empty, as most do who run Kafka on Kubernetes."""
    brought_up(bed)
    b_is_last_and_its_disk_is_emptied(bed)
    bed.is_operated = False
    path = f"/api/v1/namespaces/{bed.namespace}/configmaps/{format_name(NAME)}"
    bed.client.merge(path, {"data": {f"node-{B}": "join"}})
    bed.kubelet.start(B)
    bed.wait(lambda: B in bed.online(), "B is back with an empty disk")
    somebody_is_unfenced_again(bed)
    bed.wait(partial(bed.is_led, "orders"), "somebody leads")
    assert RECORDS - bed.records("orders") == RECORDS


# In every run: a disk that is emptied on a secured Kafka (test_managed_kafka_secured.py), and each call of its life in
# memory (operator/tests/managed_kafka/test_managed_kafka_adversary.py).
@pytest.mark.soak
def test_with_tokens_no_record_is_gone_and_the_condition_names_the_partitions(bed: Bed) -> None:
    brought_up(bed)
    kept = b_is_last_and_its_disk_is_emptied(bed)
    bed.kubelet.start(B)
    bed.wait(lambda: bed.says("VolumeLost"), "the loss is told")
    bed.wait(lambda: "orders-0" in _message(bed), "the partition is named")
    assert "node 1: its volume is empty" in _message(bed)
    deadline = time.monotonic() + 25
    bed.wait(lambda: time.monotonic() > deadline, "more time than a look needs to be sure", within=40)
    assert bed.tokens() == {}
    assert bed.says("VolumeLost")
    volume = bed.kubelet.volume_of(B)
    shutil.copytree(kept, volume, dirs_exist_ok=True)
    bed.wait(lambda: bed.says("AllOnline"), "the volume is back")
    bed.wait(partial(bed.is_led, "orders"), "B leads")
    assert bed.records("orders") == RECORDS


def _message(bed: Bed) -> str:
    found = bed.condition()
    return "" if found is None else found.message
