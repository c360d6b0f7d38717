"""A subscription whose target is a real Kafka: its topics, its producer, the hold that follows it, and its promotion.

The source, the API server and Spark are those of the stories; the job writes to the target as the real one does: on
condition, by a producer's sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.adapters.kafka.logs import ConfluentKafkaLogs
from seawall.adapters.kafka.reassigner import RawReassigner
from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.errors import Refused
from seawall.domain.kafka import KafkaConnection
from seawall.domain.kafka_log import LogOffsets, Nulls, ProducerId, ProducerState
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.waiting import wait_until
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.fakes.kafka_logs import FakeKafkaLogs
from tests.fakes.kafka_reassigner import FakeReassigner
from tests.support.records import produce
from tests.worlds.purge_world import NAMESPACE, TOPICS
from tests.worlds.subscription_world import DECLARED, DR, SubscriptionWorld
from tests.worlds.verification_world import why

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("kafka")]


@dataclass
class BothKafkas:
    """The port KafkaClusters: the source in memory, the target of real brokers."""

    source: FakeKafka
    real: ConfluentKafkaClusters

    def __post_init__(self) -> None:
        self.fake = FakeKafkaClusters({"kafka:9092": self.source})

    def of(self, connection: KafkaConnection) -> FakeKafkaClusters | ConfluentKafkaClusters:
        """Whose addresses they are."""
        return self.fake if connection.bootstrap_servers == ("kafka:9092",) else self.real

    def connect(self, key: Key, connection: KafkaConnection) -> FakeKafka | ConfluentKafkaAdmin:
        return self.of(connection).connect(key, connection)

    def logs(self, key: Key, connection: KafkaConnection) -> FakeKafkaLogs | ConfluentKafkaLogs:
        return self.of(connection).logs(key, connection)

    def reassigner(self, key: Key, connection: KafkaConnection) -> FakeReassigner | RawReassigner:
        return self.of(connection).reassigner(key, connection)

    def forget(self, key: Key) -> None:
        self.real.forget(key)


@dataclass
class WorldWithBrokers(SubscriptionWorld):
    """The same world with a target of real brokers.

    Attributes:
        servers: where the job, and the test, reach it.
        access: how the operator reaches it, where that differs.
    """

    servers: tuple[str, ...] = ()
    access: dict[str, Any] = field(default_factory=dict)
    of_others: dict[str, int] = field(default_factory=dict)
    real: ConfluentKafkaClusters = field(default_factory=ConfluentKafkaClusters)

    def __post_init__(self) -> None:
        mirrors = [{"name": "dr", "kafka": {"bootstrapServers": list(self.servers), **self.access}}]
        self.declared = {**DECLARED, "targets": mirrors}
        self.there = self.real.logs(Key("test", "job"), KafkaConnection(self.servers))
        super().__post_init__()

    def both_kafkas(self) -> Any:
        return BothKafkas(self.kafka, self.real)

    def ends(self) -> dict[str, int]:
        """Where the topics of the target end."""
        found = self.there.describe_offsets(TOPICS)
        return {name: ends.high_watermark for name, ends in found.items() if isinstance(ends, LogOffsets)}

    def check(self, after: str = "") -> None:
        """Brokers take their time when topics are made, and the world's clock does not wait for them by itself."""
        if after == "create_topics":
            wait_until(lambda: self.ends().keys() == set(TOPICS), "the leaders of the target know that they lead")
        super().check(after)

    def copy(self, topic: Mapping[str, Any], producer: Mapping[str, int]) -> dict[str, Any] | None:
        """All that the source has, at its offsets, by the condition that the broker judges."""
        if topic["name"] in self.of_others:
            return None  # it did not look yet
        end = self.ends()[topic["name"]]
        count = self.kafka.topics[topic["name"]].log.end - end
        if count > 0:
            as_producer = ProducerId(producer["id"], producer["epoch"])
            self.there.append_nulls(Nulls(topic["name"], topic["targetTopicId"], as_producer, end, count))
        return None

    def wrong_with_hold(self) -> str | None:
        hold, ends = self.kube.get(WALHold, DR), self.ends()
        granted = {} if hold is None else hold.status.granted
        wrong = [
            name
            for name, held in granted.items()
            if isinstance(held, int) and held > ends.get(name, 0) - self.of_others.get(name, 0)
        ]
        return f"{wrong[0]} is held beyond what was copied" if wrong else None

    def is_followed(self) -> bool:
        """Whether the target has all, and the hold knows it."""
        hold = self.kube.get(WALHold, DR)
        source = {name: topic.log.end for name, topic in self.kafka.topics.items()}
        return hold is not None and hold.status.granted == source == self.ends()


def test_a_real_kafka_gets_the_topics_is_followed_by_the_hold_and_is_promoted(kafka: KafkaProcesses) -> None:
    world = WorldWithBrokers(servers=kafka.bootstrap_servers)
    world.subscribe(sink={"mirror": {"target": "dr", "replicationFactor": 1, "minInSyncReplicas": 1}})
    world.live(world.is_followed)
    world.write("wal_0", 30)
    found = world.live(world.is_followed)
    (request,) = world.requests()
    producer = found.status.producer
    assert producer is not None
    configs = ConfluentKafkaAdmin(KafkaConnection(kafka.bootstrap_servers)).describe_configs(TOPICS)
    assert {each["retention.ms"] for each in configs.values()} == {"-1"}
    assert {each["message.timestamp.type"] for each in configs.values()} == {"CreateTime"}
    assert world.there.describe_producer(["wal_0"], producer.id) == {"wal_0": ProducerState(0, 69)}

    world.of_others["wal_2"] = 5
    produce(kafka.bootstrap_servers, {"wal_2": 5})
    found = world.live(lambda: why(world.subscription())[0] == "CopyInDoubt")
    assert "wal_2 of the target has 5 records that this mirror did not write" in why(found)[1]
    world.live(ticks=20)
    hold = world.kube.get(WALHold, DR)
    assert hold is not None
    assert hold.status.granted == {"wal_0": 70, "wal_1": 40, "wal_2": 40}

    world.subscribe(suspend=True)
    world.live(lambda: not world.spark.applications)
    world.write("wal_0", 9)
    world.subscribe(promote="Failover")
    found = world.live(lambda: world.subscription().status.state is SubscriptionState.PROMOTED)
    assert world.ends() == {"wal_0": 79, "wal_1": 41, "wal_2": 46}
    assert found.status.promotion is not None
    assert {row.name: row.end for row in found.status.promotion.topics} == {"wal_0": 70, "wal_1": 40, "wal_2": 40}
    assert found.status.promotion.lost_entries == 9
    world.write("wal_0", 20)
    with pytest.raises(Refused, match="epoch"):
        world.copy(next(each for each in request["topics"] if each["name"] == "wal_0"), request["producer"])


def test_a_target_that_lets_nobody_in_is_told_and_mending_the_secrets_is_enough(
    sasl_kafka: KafkaProcesses, tmp_path: Path
) -> None:
    secure = sasl_kafka.secure
    access = {
        "bootstrapServers": list(secure.sasl_ssl_servers),
        "tls": {"caSecretRef": {"name": "ca"}},
        "sasl": {"credentialsSecretRef": {"name": "user"}},
    }
    world = WorldWithBrokers(servers=sasl_kafka.bootstrap_servers, access=access)
    ca, user = Key(NAMESPACE, "ca"), Key(NAMESPACE, "user")
    good = {ca: {"ca.crt": secure.ca_pem}, user: {"username": secure.username, "password": secure.password}}
    stranger = CertificateAuthority(tmp_path).cert.read_text()

    def keep(key: Key, **changes: str) -> None:
        kept = {**good[key], **{name.replace("_", "."): text for name, text in changes.items()}}
        world.kube.secrets[key] = {name: text.encode() for name, text in kept.items()}

    world.subscribe(sink={"mirror": {"target": "dr", "replicationFactor": 1, "minInSyncReplicas": 1}})
    for of_ca, of_user, sentence in (
        ({}, {"password": "wrong"}, "refused the user name or password"),
        ({"ca_crt": stranger}, {}, "does not fit the CA in tls.caSecretRef"),
    ):
        keep(ca, **of_ca)
        keep(user, **of_user)
        found = world.live(ticks=10)
        assert (why(found)[0], world.ends(), world.spark.specs) == ("TargetAccess", {}, {})
        assert sentence in why(found)[1]
    keep(ca)
    world.live(world.is_followed)
