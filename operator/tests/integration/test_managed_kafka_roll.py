"""A config roll of a managed Kafka on real parts: the API server, the entrypoint, Kafka's processes, a producer.

Only the kubelet, the StatefulSet controller and the disruption controller are the test's. In every run it is done on
pods (e2e/test_a_managed_kafka.py); this is the form without a cluster.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from seawall.adapters.kube.kafka_objects import KubeKafkaObjects
from seawall.adapters.kube.kafka_pods import KubeKafkaPods
from seawall.adapters.kube.workloads import KubeWorkloads
from seawall.api.v1alpha1.rollout import RollStage, RollStatus
from seawall.controllers.kafka_in_sync import KafkaInSyncController
from seawall.controllers.kafka_roll import KafkaRollController
from seawall.domain.kafka import KafkaConnection
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.reconciler import Reconciler
from tests.fakes.intents import FakeIntentStore
from tests.fakes.meters import FakeMeters
from tests.integration.test_managed_kafka_nodes import NAME, Bed
from tests.integration.test_managed_kafka_nodes import bed as bed  # noqa: PLC0414 - a fixture
from tests.support.kube import WAL_CLUSTERS, Object
from tests.support.patient import kube_api

pytestmark = [pytest.mark.integration, pytest.mark.soak]

NODES = (0, 1, 2)
TOPIC = "orders"
WITHIN = 400.0
NO_DATABASE: Any = None
"""Nobody purges here, so nobody is asked."""
DWELL = "3s"
"""Kafka answers from this machine: what it says is no older than that. In a cluster it is 15 s."""


def spec(threads: str) -> Object:
    """Three nodes that are controllers and brokers."""
    pool = {
        "name": "nodes",
        "roles": ["broker", "controller"],
        "firstId": 0,
        "replicas": 3,
        "storage": {"size": "1Gi"},
        "heap": "128Mi",
    }
    quick = {"num.io.threads": threads, "num.network.threads": "1"}
    managed = {"version": "4.3.1", "nodePools": [pool], "security": {"insecure": True}, "config": quick}
    managed["rollout"] = {"dwell": DWELL}
    return {"kafka": {"managed": managed}, "topics": {"count": 1, "replicationFactor": 3}}


@dataclass
class Writer:
    """Writes numbers with acks=all until it is told to stop; remembers what was acknowledged, and what failed."""

    servers: tuple[str, ...]
    acknowledged: set[int] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)
    longest: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(150)
        assert not self._thread.is_alive()

    def _write(self) -> None:
        producer = Producer(
            {"bootstrap.servers": ",".join(self.servers), "acks": "all", "enable.idempotence": True, "linger.ms": 5}
        )
        number, before = 0, time.monotonic()

        def told(error: Any, message: Message) -> None:
            nonlocal before
            now = time.monotonic()
            if error is not None:
                self.failed.append(str(error))
                return
            self.longest, before = max(self.longest, now - before), now
            self.acknowledged.add(int(message.key() or b"-1"))

        while not self._stop.is_set():
            producer.produce(TOPIC, key=str(number).encode(), value=b"x", on_delivery=told)
            number += 1
            producer.poll(0.02)
        producer.flush(120)


def require_unharmed(rolled: RollBed, writer: Writer, servers: tuple[str, ...], what: str) -> None:
    """No produce failed, what was acknowledged is there, and never two nodes were away."""
    print(f"{len(writer.acknowledged)} acknowledged, longest gap {writer.longest:.1f} s, {what}")  # noqa: T201 - evidence
    assert writer.failed == []
    assert writer.acknowledged <= read_all(servers)
    assert rolled.most_away == 1


def read_all(servers: tuple[str, ...]) -> set[int]:
    """The numbers in the log."""
    consumer = Consumer({"bootstrap.servers": ",".join(servers), "group.id": "check", "enable.auto.commit": False})
    _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=30)
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: set[int] = set()
    count, deadline = 0, time.monotonic() + 60
    while count < end and time.monotonic() < deadline:
        for message in consumer.consume(1_000, timeout=1.0):
            assert message.error() is None
            found.add(int(message.key() or b"-1"))
            count = (message.offset() or 0) + 1
    consumer.close()
    return found


@dataclass
class RollBed:
    """The bed of nodes, with the controller of restarts beside."""

    bed: Bed
    most_away: int = 0
    is_sampled: bool = False
    uids: dict[int, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        api = kube_api(2)
        nodes = self.bed.controller
        opener = ClusterOpener(nodes.kube, nodes.kafka_clusters, NO_DATABASE)
        ledgers = LedgerObserver(opener, FakeIntentStore(), nodes.clock, nodes.stopwatch)
        self.rolls = KafkaRollController(
            nodes.kube,
            KubeKafkaObjects(api),
            KubeWorkloads(api),
            nodes.kafka_clusters,
            ledgers,
            nodes.clock,
            nodes.stopwatch,
            FakeMeters(),
        )
        gates = KafkaInSyncController(
            nodes.kube, KubeKafkaObjects(api), KubeKafkaPods(api), nodes.kafka_clusters, nodes.clock, nodes.stopwatch
        )
        self.bed.beside = (gates,)  # without it no pod is Ready, and no eviction passes

    def wait(self, holds: Callable[[], object], what: str, within: float = WITHIN) -> None:
        """Both controllers and the kubelet go on until something holds."""
        roll: Reconciler[Any, Any, Any, Any] = Reconciler(self.rolls, may_write=lambda: True)

        def goes_on() -> object:
            roll.tick(self.bed.key)
            self.sample()
            return holds()

        self.bed.wait(goes_on, what, within)

    def sample(self) -> None:
        """How many nodes have no process that runs."""
        running = {n for n, pod in self.bed.kubelet.pods.items() if pod.runs is not None and pod.runs.is_running()}
        for node, pod in self.bed.kubelet.pods.items():
            self.uids.setdefault(node, set()).add(pod.uid)
        if self.is_sampled:
            self.most_away = max(self.most_away, len(set(NODES) - running))

    def roll(self) -> RollStatus:
        """As the status has it."""
        managed = self.bed.cluster().status.managed_kafka
        return RollStatus() if managed is None or managed.roll is None else managed.roll

    def edit(self, found: Object) -> None:
        """Somebody edits the spec."""
        self.bed.client.merge(f"{WAL_CLUSTERS.format(self.bed.namespace)}/{NAME}", {"spec": found})

    def connection(self) -> KafkaConnection:
        """Clients find the nodes there."""
        names = (f"{NAME}-{node}.{self.bed.namespace}.svc:9092" for node in NODES)
        return KafkaConnection(tuple(map(self.bed.kubelet.local, names)))

    def is_completed(self) -> bool:
        """The roll is over."""
        return self.roll().stage is RollStage.COMPLETED and self.bed.says("AllOnline")


@pytest.fixture
def rolled(bed: Bed) -> RollBed:
    """With the controller of restarts."""
    return RollBed(bed)


def test_a_config_roll_of_all_nodes_fails_no_produce_and_loses_none(rolled: RollBed) -> None:
    bed = rolled.bed
    bed.declare(spec("2"))
    rolled.wait(lambda: bed.says("AllOnline") and bed.tokens() == {}, "all nodes are Online")
    bed.make_topic(TOPIC, NODES, 2)
    rolled.is_sampled = True
    began = time.monotonic()
    servers = rolled.connection().bootstrap_servers
    with Writer(servers) as writer:
        rolled.edit(spec("3"))
        rolled.wait(rolled.is_completed, "the config is rolled out")
        rolled.edit(spec("0"))
        rolled.wait(lambda: rolled.bed.cluster().status.disruption is not None, "the next roll begins")
        entry = bed.cluster().status.disruption
        assert entry is not None
        broken = int(entry.name.split("-")[1])
        rolled.wait(lambda: len(rolled.uids[broken]) == 3, "a node is made with a config that Kafka refuses")
        rolled.wait(lambda: "CrashLoopBackOff" in rolled.roll().message or is_down(rolled, broken), "it is down")
        rolled.edit(spec("4"))
        rolled.wait(rolled.is_completed, "the edit mends it, and is rolled out")
    seconds = time.monotonic() - began
    require_unharmed(rolled, writer, servers, f"{seconds:.0f} s for 7 restarts")
    assert {node: len(uids) for node, uids in rolled.uids.items()} == {
        node: 4 if node == broken else 3 for node in NODES
    }


def is_down(rolled: RollBed, node: int) -> bool:
    """Kafka ended by itself."""
    pod = rolled.bed.kubelet.pods.get(node)
    return pod is not None and pod.runs is not None and "num.io.threads" in pod.runs.tail()
