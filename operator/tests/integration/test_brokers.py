"""The broker view on real brokers: one that is killed is fenced and missed, and online again when it is back."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from seawall.adapters.clock import MonotonicStopwatch, ServerDates, SystemClock
from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.api.meta import Condition, ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, BrokerState, BrokerStatus, KafkaStatus
from seawall.controllers.brokers import BrokersController
from seawall.domain.conditions import ConditionBuilder, find_condition
from seawall.domain.kafka import ConfigChange, KafkaConnection, NewTopic
from seawall.observe.shared_brokers import BrokersObserver
from seawall.reconciler import Reconciler
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from tests.fakes.kube import FakeKube
from tests.fakes.meters import FakeMeters
from tests.support.kafka import topic_ids
from tests.support.records import open_transaction, produce

pytestmark = pytest.mark.integration

KEY = Key("wal", "orders")


class World:
    """A WALCluster whose Kafka was met, and a controller that is a new process at each tick: it always looks."""

    def __init__(self, kafka: KafkaProcesses) -> None:
        self.kube, self.clusters = FakeKube(), ConfluentKafkaClusters(request_timeout=9)
        self.servers = kafka.bootstrap_servers
        self.prefix = f"v{uuid.uuid4().hex[:8]}"
        self.declare()
        build = ConditionBuilder((), 1, SystemClock(ServerDates()).now())
        met = WALClusterStatus(
            conditions=(build(ConditionType.KAFKA_REACHABLE, "True", "Connected"),),
            kafka=KafkaStatus(cluster_id=kafka.cluster_id, brokers=BrokersStatus(total=3, online=3)),
        )
        self.kube.replace_status(self.cluster(), met)

    def declare(self, **spec: Any) -> None:
        external = {"bootstrapServers": list(self.servers)}
        self.kube.apply(KEY, {"kafka": {"external": external}, "topics": {"prefix": self.prefix}, **spec})

    def cluster(self) -> WALCluster:
        found = self.kube.get(WALCluster, KEY)
        assert found is not None
        return found

    def observe(self) -> None:
        controller = BrokersController(
            self.kube, self.clusters, SystemClock(ServerDates()), BrokersObserver(MonotonicStopwatch()), FakeMeters()
        )
        process: Reconciler[Any, Any, Any, Any] = Reconciler(controller, may_write=lambda: True)
        process.tick(KEY)

    def reported(self) -> KafkaStatus:
        kafka = self.cluster().status.kafka
        assert kafka is not None
        return kafka

    def condition(self, kind: ConditionType) -> Condition | None:
        return find_condition(self.cluster().status.conditions, kind)

    def observed_at(self, broker: int) -> BrokerStatus:
        self.observe()
        return self.reported().brokers.items[broker - 1]

    def state_of(self, broker: int) -> BrokerState:
        return self.observed_at(broker).state

    def says(self, kind: ConditionType, reason: str) -> bool:
        self.observe()
        found = self.condition(kind)
        return found is not None and found.reason == reason


def test_a_broker_that_is_killed_is_fenced_and_missed_and_online_again_when_it_is_back(kafka: KafkaProcesses) -> None:
    world = World(kafka)
    topic = f"v{uuid.uuid4().hex[:8]}"
    admin = world.clusters.connect(KEY, KafkaConnection(world.servers))
    admin.create_topics([NewTopic(topic, 3, {"min.insync.replicas": "3"})])
    produce(world.servers, {topic: 100})
    wait_until(lambda: world.says(ConditionType.REPLICATION_HEALTHY, "InSync"), "every replica is in sync")
    first, last = world.reported().brokers.items[0], world.reported().brokers.items[2]
    assert [item.id for item in world.reported().brokers.items] == [1, 2, 3]
    assert last.replicas > 0
    assert (first.log_dir_bytes or 0) > 0
    assert world.says(ConditionType.QUORUM_HEALTHY, "VotersKeepUp")
    kafka.kill(2)
    try:
        wait_until(lambda: world.state_of(3) is BrokerState.FENCED, "it is fenced")
        # The controller knows that it is fenced; the broker that tells of partitions hears of their leaders later.
        wait_until(lambda: world.observed_at(3).leaders == 0, "it leads nothing")
        dead = world.reported().brokers.items[2]
        assert dead.replicas == last.replicas
        assert dead.under_replicated > 0
        assert world.reported().brokers.items[0].under_min_in_sync_replicas > 0
        said = world.condition(ConditionType.REPLICATION_HEALTHY)
        assert said is not None
        # Topics of other tests may be worse off, those with one replica on it.
        assert said.reason in {"UnderMinISR", "PartitionsLeaderless"}
        assert said.message.endswith("not in sync are replicas on broker 3 (Fenced)")
        wait_until(lambda: world.says(ConditionType.QUORUM_HEALTHY, "VotersBehind"), "its controller is missed")
        quorum = world.reported().quorum
        assert quorum is not None
        assert quorum.behind == (3,)
    finally:
        kafka.start(2)
    wait_until(lambda: world.says(ConditionType.REPLICATION_HEALTHY, "InSync"), "every replica is in sync again")
    wait_until(lambda: world.says(ConditionType.QUORUM_HEALTHY, "VotersKeepUp"), "its controller keeps up")
    assert {item.state for item in world.reported().brokers.items} == {BrokerState.ONLINE}
    admin.delete_topics(topic_ids(admin.logs, [topic]))


def test_min_insync_replicas_of_kafkas_own_topics_is_told_and_corrected_when_a_person_lets_it(
    kafka: KafkaProcesses,
) -> None:
    world = World(kafka)
    own = "__transaction_state"
    admin, reassigner = (
        world.clusters.connect(KEY, KafkaConnection(world.servers)),
        world.clusters.reassigner(KEY, KafkaConnection(world.servers)),
    )
    topic = f"v{uuid.uuid4().hex[:8]}"
    admin.create_topics([NewTopic(topic, 1, {})])
    with open_transaction(world.servers, topic, 1):
        pass
    wait_until(lambda: world.says(ConditionType.REPLICATION_HEALTHY, "InSync"), "every replica is in sync")
    admin.alter_configs([ConfigChange(own, {"min.insync.replicas": "3"})])
    try:
        wait_until(lambda: world.says(ConditionType.REPLICATION_HEALTHY, "InternalTopicsAtRisk"), "it is told")
        assert reassigner.min_insync_replicas([own]) == {own: 3}
        world.declare(internalTopics={"repair": True})
        wait_until(lambda: world.says(ConditionType.REPLICATION_HEALTHY, "InSync"), "it is corrected")
        assert reassigner.min_insync_replicas([own]) == {own: 2}
    finally:
        admin.alter_configs([ConfigChange(own, reset=("min.insync.replicas",))])
    admin.delete_topics(topic_ids(admin.logs, [topic]))
