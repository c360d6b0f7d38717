"""Where the contract of PartitionReassigner is tested: three brokers, counted from 1."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Protocol

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)
from kafka.protocol.admin import UpdateFeaturesRequest

from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.adapters.kafka.raw import Silence, connect
from seawall.api.meta import Key
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import KafkaConnection, NewTopic
from seawall.domain.kafka_log import TopicFailure
from seawall.domain.partitions import NO_RATES, Partition, PartitionId, Rates, ThrottledReplicas
from seawall.domain.throttles import FOLLOWER_RATE, LEADER_RATE
from seawall.ports import KafkaClusters, PartitionReassigner
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.fakes.kafka_moves import advance
from tests.support.records import produce

KEY = Key("wal", "orders")
UPGRADE, SAFE_DOWNGRADE = 1, 2
NOBODY = "127.0.0.1:1"


class Bed(Protocol):
    """Three brokers, and somebody who writes."""

    server: str
    clusters: KafkaClusters

    def produce(self, topic: str, records: int) -> None: ...
    def add_partitions(self, topic: str, count: int) -> None: ...
    def at_nobody(self) -> PartitionReassigner: ...
    def stop(self, broker: int) -> None: ...
    def start(self, broker: int) -> None: ...
    def throttle_broker(self, broker: int, rates: Rates) -> None:
        """Somebody sets exactly these rates on a single broker, as Kafka's tool does."""

    def finalize(self, feature: str, level: int) -> None:
        """Somebody sets the level of a feature; 0 turns it off."""

    def fetch(self) -> None:
        """Time passes, in which replicas fetch."""


class FakeBed:
    server = "fake:9092"

    def __init__(self) -> None:
        self.kafka = FakeKafka(brokers=3)
        self.clusters: KafkaClusters = FakeKafkaClusters({self.server: self.kafka})

    def produce(self, topic: str, records: int) -> None:
        self.kafka.topics[topic].log.append(records)

    def add_partitions(self, topic: str, count: int) -> None:
        self.kafka.topics[topic].partitions = count

    def at_nobody(self) -> PartitionReassigner:
        return self.clusters.reassigner(KEY, KafkaConnection((NOBODY,)))

    def stop(self, broker: int) -> None:
        self.kafka.offline.add(broker)

    def start(self, broker: int) -> None:
        self.kafka.offline.discard(broker)
        self.kafka.moves.unregistered.discard(broker)

    def throttle_broker(self, broker: int, rates: Rates) -> None:
        self.kafka.moves.broker_rates[broker] = rates

    def finalize(self, feature: str, level: int) -> None:
        self.kafka.moves.features |= {feature: level}
        if not level:
            del self.kafka.moves.features[feature]

    def fetch(self) -> None:
        advance(self.kafka)


class RealBed:
    def __init__(self, kafka: KafkaProcesses) -> None:
        self.kafka = kafka
        self.server = ",".join(kafka.bootstrap_servers)
        self.clusters: KafkaClusters = ConfluentKafkaClusters(view_timeout=5, request_timeout=9)

    def produce(self, topic: str, records: int) -> None:
        produce(self.kafka.bootstrap_servers, {topic: records})

    def add_partitions(self, topic: str, count: int) -> None:
        admin = AdminClient({"bootstrap.servers": self.server, "log_level": 0})
        for answer in admin.create_partitions([NewPartitions(topic, count)]).values():
            answer.result(10)

    def at_nobody(self) -> PartitionReassigner:
        return ConfluentKafkaAdmin(KafkaConnection((NOBODY,)), request_timeout=0.2).reassigner

    def stop(self, broker: int) -> None:
        self.kafka.stop(broker - 1)

    def start(self, broker: int) -> None:
        self.kafka.start(broker - 1)

    def throttle_broker(self, broker: int, rates: Rates) -> None:
        admin = AdminClient({"bootstrap.servers": self.server, "log_level": 0})
        values = ((LEADER_RATE, rates.leader), (FOLLOWER_RATE, rates.follower))
        resource = ConfigResource(
            ResourceType.BROKER,
            str(broker),
            incremental_configs=[
                ConfigEntry(name, None if rate is None else str(rate), incremental_operation=_set_or_delete(rate))
                for name, rate in values
            ],
        )
        for answer in admin.incremental_alter_configs([resource]).values():
            answer.result(10)

    def finalize(self, feature: str, level: int) -> None:
        change = UpdateFeaturesRequest.FeatureUpdateKey(
            feature=feature, max_version_level=level, upgrade_type=UPGRADE if level else SAFE_DOWNGRADE
        )
        raw = connect(KafkaConnection(self.kafka.bootstrap_servers), 10)
        assert not isinstance(raw, Silence)
        with raw:
            answer = raw.ask_any(UpdateFeaturesRequest(timeout_ms=9000, feature_updates=[change], validate_only=False))
        assert not answer.error_code, answer

    def fetch(self) -> None:
        """It passes by itself."""


def _set_or_delete(rate: int | None) -> AlterConfigOpType:
    return AlterConfigOpType.DELETE if rate is None else AlterConfigOpType.SET


class World:
    """A bed, and a prefix of topics that no other test has."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.prefix = f"r{uuid.uuid4().hex[:8]}"
        self.connection = KafkaConnection(tuple(bed.server.split(",")))
        self.admin = bed.clusters.connect(KEY, self.connection)
        self.reassigner = bed.clusters.reassigner(KEY, self.connection)

    def create(self, replicas: Sequence[int], name: str = "a", *, records: int = 0) -> PartitionId:
        """Creates a topic with one partition, which is on these brokers, and writes to it."""
        partition = PartitionId(f"{self.prefix}_{name}", 0)
        self.admin.create_topics([NewTopic(partition.topic, 1, {})])
        self.wait(lambda: self.is_led(partition), f"{partition.topic} is led")
        self.move(partition, replicas)
        if records:
            self.bed.produce(partition.topic, records)
        return partition

    def move(self, partition: PartitionId, replicas: Sequence[int]) -> None:
        """Moves a partition, and waits until its preferred leader leads."""
        assert self.reassigner.reassign({partition: tuple(replicas)}) == {}
        self.wait(lambda: self.shown(partition).isr == set(replicas), f"{partition.topic} is on {replicas}")
        self.elect(partition)

    def elect(self, partition: PartitionId) -> None:
        """Has the preferred leader lead."""
        assert self.reassigner.elect_preferred_leaders([partition]) == {}
        self.wait(lambda: self.shown(partition).leader == self.shown(partition).replicas[0], "the preferred leads")

    def clear_throttles(self, *topics: str) -> None:
        """Nothing is throttled any more."""
        self.reassigner.alter_throttles(NO_RATES, dict.fromkeys(topics, ThrottledReplicas()))

    def becomes(self, partition: PartitionId, *, replicas: tuple[int, ...], isr: set[int], leader: int) -> None:
        """Waits until all three are shown: the next question may go to a broker that has not heard of it yet."""
        told = Partition(partition, replicas, frozenset(isr), leader)
        self.wait(lambda: self.shown(partition) == told, f"Kafka shows {told}")

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Waits while replicas fetch."""

        def holds() -> bool:
            if condition():
                return True
            self.bed.fetch()
            return condition()

        wait_until(holds, what)

    def ask(self, change: Callable[[], None]) -> None:
        """Asks until somebody answers, as a controller does tick by tick: who went may have led the quorum."""

        def is_answered() -> bool:
            try:
                change()
            except OutsideUnavailable:
                return False
            return True

        wait_until(is_answered, "Kafka answers")

    def configs(self, topic: str) -> dict[str, str] | None:
        """By a client of its own, and so perhaps by another broker."""
        found = self.admin.describe_configs([topic]).get(topic)
        return None if found is None else dict(found)

    def described(self, topic: str) -> tuple[Partition, ...] | None:
        answer = self.reassigner.partitions([topic])[topic]
        return None if isinstance(answer, TopicFailure) else answer

    def is_led(self, partition: PartitionId) -> bool:
        described = self.described(partition.topic)
        return bool(described) and self.shown(partition).leader is not None

    def shown(self, partition: PartitionId) -> Partition:
        described = self.described(partition.topic)
        assert described is not None
        return described[partition.partition]
