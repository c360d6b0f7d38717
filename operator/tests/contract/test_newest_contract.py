"""What every KafkaLogs says of the newest committed records: the fake, and the adapter on real brokers."""

from __future__ import annotations

import uuid
from typing import Protocol

import pytest
from confluent_kafka import Producer

from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.api.meta import Key
from seawall.domain.kafka import KafkaConnection, NewTopic
from seawall.domain.kafka_log import NewestRecord, TopicFailure, TopicTrouble
from seawall.ports import KafkaClusters, KafkaLogs
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters

KEY = Key("wal", "orders")
SECONDS = 30.0
pytestmark = pytest.mark.xdist_group("kafka")


class Bed(Protocol):
    """Brokers, and somebody who writes in transactions."""

    @property
    def server(self) -> str: ...
    @property
    def clusters(self) -> KafkaClusters: ...
    def commit(self, topic: str, partition: int, key: bytes, values: list[bytes | None]) -> None: ...
    def abort(self, topic: str, partition: int, records: int) -> None: ...


class FakeBed:
    server = "fake:9092"

    def __init__(self) -> None:
        self.kafka = FakeKafka(brokers=3)
        self.clusters = FakeKafkaClusters({self.server: self.kafka})

    def commit(self, topic: str, partition: int, key: bytes, values: list[bytes | None]) -> None:
        self.kafka.topics[topic].newest[partition] = key, values[-1]

    def abort(self, topic: str, partition: int, records: int) -> None:
        """Nobody reads what was aborted."""


class RealBed:
    def __init__(self, kafka: KafkaProcesses) -> None:
        self.server = ",".join(kafka.bootstrap_servers)
        self.clusters = ConfluentKafkaClusters(view_timeout=5, request_timeout=12)

    def begin(self, name: str) -> Producer:
        producer = Producer({"bootstrap.servers": self.server, "transactional.id": name, "log_level": 0})
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        return producer

    def commit(self, topic: str, partition: int, key: bytes, values: list[bytes | None]) -> None:
        producer = self.begin(f"{topic}-{partition}")
        for value in values:
            producer.produce(topic, value, key, partition)
        producer.commit_transaction(SECONDS)

    def abort(self, topic: str, partition: int, records: int) -> None:
        producer = self.begin(f"{topic}-{partition}")
        for number in range(records):
            producer.produce(topic, b"%d" % number, b"aborted", partition)
        assert producer.flush(SECONDS) == 0
        producer.abort_transaction(SECONDS)


class World:
    """A bed, and a topic of four partitions that no other test has."""

    def __init__(self, bed: Bed) -> None:
        self.bed, self.topic = bed, f"n{uuid.uuid4().hex[:8]}"
        self.connection = KafkaConnection(tuple(bed.server.split(",")))
        bed.clusters.connect(KEY, self.connection).create_topics([NewTopic(self.topic, 1, {}, partitions=4)])
        wait_until(lambda: self.newest() == dict.fromkeys(range(4)), "all partitions are led, and empty")

    @property
    def logs(self) -> KafkaLogs:
        return self.bed.clusters.logs(KEY, self.connection)

    def newest(self) -> dict[int, NewestRecord | TopicFailure | None]:
        return dict(self.logs.read_newest(self.topic, range(4)))

    def wait_newest(self, expected: dict[int, NewestRecord | TopicFailure | None]) -> None:
        """A commit is answered before its markers are in the log (KIP-98), and until then readers see what was."""
        wait_until(lambda: self.newest() == expected, f"the newest are {expected}", explain=self.newest)


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def world(request: pytest.FixtureRequest) -> World:
    return World(FakeBed() if request.param == "fake" else RealBed(request.getfixturevalue("kafka")))


def test_it_is_the_last_one_of_each_partition(world: World) -> None:
    world.bed.commit(world.topic, 0, b"a", [b"1", b"2"])
    world.bed.commit(world.topic, 2, b"c", [b"1"])
    world.bed.commit(world.topic, 2, b"c", [None])
    world.wait_newest({0: NewestRecord(b"a", b"2"), 1: None, 2: NewestRecord(b"c", None), 3: None})
    assert world.logs.read_newest(world.topic, [2]) == {2: NewestRecord(b"c", None)}
    assert world.logs.read_newest(world.topic, []) == {}


def test_what_was_aborted_is_passed_over_however_much_it_is(world: World) -> None:
    world.bed.commit(world.topic, 1, b"b", [b"1"])
    world.bed.abort(world.topic, 1, 3)
    world.bed.abort(world.topic, 1, 700)
    world.bed.abort(world.topic, 3, 20)
    world.wait_newest({0: None, 1: NewestRecord(b"b", b"1"), 2: None, 3: None})


def test_what_is_not_there_is_no_empty_partition(world: World) -> None:
    found = world.logs.read_newest(world.topic, [3, 9])
    assert found[3] is None
    assert isinstance(found[9], TopicFailure)
    none = world.logs.read_newest(f"{world.topic}-none", [0])
    assert isinstance(none[0], TopicFailure)
    assert none[0].why in {TopicTrouble.UNKNOWN_TOPIC, TopicTrouble.UNANSWERED}
    impossible = world.logs.read_newest("no/name", [0])
    assert isinstance(impossible[0], TopicFailure)
    assert impossible[0].why is TopicTrouble.REFUSED


def test_silence_is_no_answer(world: World) -> None:
    logs = world.bed.clusters.logs(Key("wal", "nobody"), KafkaConnection(("127.0.0.1:1",)))
    found = logs.read_newest(world.topic, [0, 1])
    assert {type(each) for each in found.values()} == {TopicFailure}


@pytest.mark.integration
def test_an_open_transaction_hides_itself_and_nothing_before(kafka: KafkaProcesses) -> None:
    bed = RealBed(kafka)
    world = World(bed)
    bed.commit(world.topic, 0, b"a", [b"1"])
    world.wait_newest({0: NewestRecord(b"a", b"1"), 1: None, 2: None, 3: None})
    producer = bed.begin(f"{world.topic}-open")
    producer.produce(world.topic, b"2", b"a", 0)
    assert producer.flush(SECONDS) == 0
    assert world.newest()[0] == NewestRecord(b"a", b"1")
    producer.commit_transaction(SECONDS)
    wait_until(lambda: world.newest()[0] == NewestRecord(b"a", b"2"), "it is committed")
