"""What every KafkaLogs does: the fake and the adapter on real brokers."""

from __future__ import annotations

import re
import time
import uuid
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest
from confluent_kafka.admin import PartitionMetadata

from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.api.meta import Key
from seawall.domain.datanodes.scans import KEYLESS, NOT_JSON
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import Configs, KafkaConnection, KafkaView, NewTopic
from seawall.domain.kafka_log import (
    AskedEpoch,
    Deleted,
    DeleteOutcome,
    DeleteRefused,
    DeleteUnknown,
    DescribedTopic,
    EpochEnd,
    EpochUnknown,
    FirstSince,
    Keys,
    LogOffsets,
    LogSizes,
    Nulls,
    ProducerId,
    ProducerState,
    Scanned,
    TopicFailure,
    TopicTrouble,
)
from seawall.ports import KafkaClusters, KafkaLogs
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.support.kafka import KafkaEyes
from tests.support.records import elect_unclean, open_transaction, produce

KEY = Key("wal", "orders")
NOBODY = "127.0.0.1:1"
MOST_PROCESSOR_SECONDS = 2.0
"""For some calls that wait for a broker that is down; a client that connects without a pause takes all there are."""
LONG_AGO = datetime.fromtimestamp(0, UTC)
pytestmark = pytest.mark.xdist_group("kafka")


class Bed(Protocol):
    """Three brokers, counted from 1, and somebody who writes."""

    @property
    def server(self) -> str: ...
    @property
    def clusters(self) -> KafkaClusters: ...
    def produce(self, topic: str, records: int, key: bytes | None = None) -> None: ...
    def open_transaction(self, topic: str, records: int) -> AbstractContextManager[None]: ...
    def at_nobody(self) -> KafkaLogs: ...
    def kill(self, broker: int) -> None: ...
    def start(self, broker: int) -> None: ...
    def lose_end(self, topic: str, records: int) -> None:
        """Has so many records acknowledged and then lost, by an unclean election."""


class FakeBed:
    server = "fake:9092"

    def __init__(self) -> None:
        self.kafka = FakeKafka(brokers=3)
        self.clusters = FakeKafkaClusters({self.server: self.kafka})

    def produce(self, topic: str, records: int, key: bytes | None = None) -> None:
        self.kafka.topics[topic].log.append_with_key(records, key)

    def open_transaction(self, topic: str, records: int) -> AbstractContextManager[None]:
        self.produce(topic, records)
        return nullcontext()

    def at_nobody(self) -> KafkaLogs:
        return self.clusters.logs(KEY, KafkaConnection((NOBODY,)))

    def kill(self, broker: int) -> None:
        self.kafka.offline.add(broker)

    def start(self, broker: int) -> None:
        self.kafka.offline.discard(broker)

    def lose_end(self, topic: str, records: int) -> None:
        log = self.kafka.topics[topic].log
        self.produce(topic, records)
        log.truncate(log.end - records)


class RealBed:
    def __init__(self, kafka: KafkaProcesses) -> None:
        self.kafka = kafka
        self.server = ",".join(kafka.bootstrap_servers)
        self.clusters = ConfluentKafkaClusters(view_timeout=5, request_timeout=12)

    def produce(self, topic: str, records: int, key: bytes | None = None) -> None:
        produce(self.kafka.bootstrap_servers, {topic: records}, key=key)

    def open_transaction(self, topic: str, records: int) -> AbstractContextManager[None]:
        return open_transaction(self.kafka.bootstrap_servers, topic, records)

    def at_nobody(self) -> KafkaLogs:
        return ConfluentKafkaAdmin(KafkaConnection((NOBODY,)), request_timeout=1).logs

    def kill(self, broker: int) -> None:
        self.kafka.kill(broker - 1)

    def start(self, broker: int) -> None:
        self.kafka.start(broker - 1)

    def lose_end(self, topic: str, records: int) -> None:
        """One replica of two is away while records are written; then it leads, because the other one is away."""
        eyes = KafkaEyes(self.kafka.bootstrap_servers)

        def shown() -> PartitionMetadata | None:
            found = eyes.topics(topic)
            return found[topic].partitions[0] if topic in found else None

        def elect() -> bool:
            elect_unclean(self.kafka.bootstrap_servers, topic)
            now = shown()
            return now is not None and now.leader == follower

        before = wait_until(shown, "its leader is known")
        leader, (follower,) = before.leader, set(before.replicas) - {before.leader}
        self.kill(follower)
        try:
            wait_until(lambda: (now := shown()) is not None and now.isrs == [leader], "the leader is alone")
            produce(self.kafka.bootstrap_servers, {topic: records}, acks="1")
            self.kill(leader)
            self.start(follower)
            wait_until(elect, "the follower leads", within=120)
        finally:
            away = [broker - 1 for broker in (follower, leader) if not self.kafka.is_running(broker - 1)]
            self.kafka.start_together(*away)


class World:
    """A bed, and a prefix of topics that no other test has."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.prefix = f"l{uuid.uuid4().hex[:8]}"
        self.connection = KafkaConnection(tuple(bed.server.split(",")))
        self.admin = bed.clusters.connect(KEY, self.connection)

    @property
    def logs(self) -> KafkaLogs:
        return self.bed.clusters.logs(KEY, self.connection)

    def create(
        self, name: str = "a", replication_factor: int = 1, configs: Configs | None = None, *, records: int = 0
    ) -> str:
        """Creates a topic, waits until its leader tells of its log, and writes to it."""
        topic = f"{self.prefix}_{name}"
        self.admin.create_topics([NewTopic(topic, replication_factor, configs or {})])
        wait_until(lambda: self.is_led(topic), f"{topic} is led")
        wait_until(lambda: self.is_in_sync(topic, replication_factor), f"{topic} is in sync")
        if records:
            self.bed.produce(topic, records)
        return topic

    def online(self) -> frozenset[int]:
        view = self.admin.view()
        assert isinstance(view, KafkaView), view
        return view.online

    def find(self, topic: str) -> DescribedTopic | None:
        """None while the broker that is asked does not know it."""
        answer = self.logs.describe_topics([topic])[topic]
        return answer if isinstance(answer, DescribedTopic) else None

    def is_in_sync(self, topic: str, replicas: int) -> bool:
        found = self.find(topic)
        return found is not None and len(found.topic.isr) == replicas

    def has_other_id(self, topic: str, before: str) -> bool:
        found = self.find(topic)
        return found is not None and found.topic_id != before

    def wait_for_ends(self, topic: str, expected: tuple[int, int], what: str) -> None:
        """Brokers hear of topics, leaders of their followers, one after another."""

        def are_so() -> bool:
            answer = self.logs.describe_offsets([topic])[topic]
            return isinstance(answer, LogOffsets) and (answer.log_start, answer.high_watermark) == expected

        wait_until(are_so, what)

    def is_led(self, topic: str) -> bool:
        return isinstance(self.logs.describe_offsets([topic])[topic], LogOffsets)

    def described(self, topic: str) -> DescribedTopic:
        answer = self.logs.describe_topics([topic])[topic]
        assert isinstance(answer, DescribedTopic), answer
        return answer

    def offsets(self, topic: str) -> LogOffsets:
        answer = self.logs.describe_offsets([topic])[topic]
        assert isinstance(answer, LogOffsets), answer
        return answer

    def ends(self, topic: str) -> tuple[int, int]:
        offsets = self.offsets(topic)
        return offsets.log_start, offsets.high_watermark

    def delete(self, topic: str, before: int) -> DeleteOutcome:
        return self.logs.delete_records({topic: before})[topic]

    def sizes(self, topic: str) -> dict[int, int]:
        answer = self.logs.describe_sizes([topic])[topic]
        assert isinstance(answer, LogSizes), answer
        return dict(answer.by_broker)


@pytest.fixture(params=["fake", "late fake", pytest.param("real", marks=pytest.mark.integration)])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "real":
        return World(RealBed(request.getfixturevalue("kafka")))
    bed = FakeBed()
    bed.kafka.late_deletes = 6 if request.param == "late fake" else 0
    return World(bed)


def why(answer: object) -> TopicTrouble:
    assert isinstance(answer, TopicFailure), answer
    return answer.why


def test_a_topic_is_described_with_its_id_and_its_replicas(world: World) -> None:
    first, second = world.create("a", 3), world.create("b", 2)
    described = world.logs.describe_topics([first, second, first])
    assert described.keys() == {first, second}
    one, two = world.described(first), world.described(second)
    assert one.topic_id != two.topic_id
    assert re.fullmatch("[A-Za-z0-9_-]{22}", one.topic_id)
    view = world.admin.view()
    assert isinstance(view, KafkaView)
    assert one.topic == view.topics[first]
    assert set(one.topic.isr) == {1, 2, 3}


def test_a_topic_deleted_and_created_again_has_another_id_and_an_empty_log(world: World) -> None:
    topic = world.create(records=3)
    before = world.described(topic).topic_id
    assert world.described(topic).topic_id == before
    world.admin.delete_topics({topic: before})
    wait_until(lambda: world.find(topic) is None, "the topic is gone")
    world.create()
    wait_until(lambda: world.has_other_id(topic, before), "it has another id")
    world.wait_for_ends(topic, (0, 0), "its log is empty")


def test_nothing_is_asked_about_nothing(world: World) -> None:
    logs = world.logs
    assert logs.describe_topics([]) == logs.describe_offsets([]) == logs.describe_sizes([]) == {}
    assert logs.describe_epoch_ends({}) == {}
    assert logs.find_first_since([], LONG_AGO) == {}
    assert logs.delete_records({}) == {}


def test_each_topic_has_its_own_answer(world: World) -> None:
    """The others of a request do not suffer."""
    topic, gone, impossible = world.create(records=3), f"{world.prefix}_gone", "no topic"
    asked = [impossible, gone, topic]
    logs = world.logs
    answers: list[dict[str, object]] = [
        dict(logs.describe_topics(asked)),
        dict(logs.describe_offsets(asked)),
        dict(logs.describe_epoch_ends(dict.fromkeys(asked, AskedEpoch(0, 0)))),
        dict(logs.describe_sizes(asked)),
        dict(logs.find_first_since(asked, LONG_AGO)),
    ]
    for answer in answers:
        assert answer.keys() == set(asked)
        assert why(answer[impossible]) is TopicTrouble.REFUSED
        assert why(answer[gone]) is TopicTrouble.UNKNOWN_TOPIC
        assert not isinstance(answer[topic], TopicFailure)
    assert answers[2][topic] == EpochEnd(0, 3)
    outcomes = logs.delete_records(dict.fromkeys(asked, 2))
    assert isinstance(outcomes[impossible], DeleteRefused)
    assert isinstance(outcomes[gone], DeleteRefused)
    assert outcomes[topic] == Deleted(2)


def test_a_topic_that_does_not_exist_is_told_also_when_nobody_asks_about_another(world: World) -> None:
    gone = f"{world.prefix}_gone"
    logs = world.logs
    answers: list[dict[str, object]] = [
        dict(logs.describe_topics([gone])),
        dict(logs.describe_offsets([gone])),
        dict(logs.describe_epoch_ends({gone: AskedEpoch(0, 0)})),
        dict(logs.describe_sizes([gone])),
        dict(logs.find_first_since([gone], LONG_AGO)),
    ]
    assert [why(answer[gone]) for answer in answers] == [TopicTrouble.UNKNOWN_TOPIC] * 5
    assert isinstance(world.delete(gone, 1), DeleteRefused)


def test_an_empty_log_starts_and_ends_at_zero(world: World) -> None:
    assert world.ends(world.create(replication_factor=3)) == (0, 0)


def test_the_high_watermark_is_after_the_last_record(world: World) -> None:
    topic = world.create(replication_factor=3, records=5)
    world.wait_for_ends(topic, (0, 5), "the records are counted")


def test_an_open_transaction_does_not_hold_the_high_watermark_back(world: World) -> None:
    topic = world.create(records=2)
    with world.bed.open_transaction(topic, 3):
        assert world.ends(topic) == (0, 5)


def test_deleting_is_exclusive_and_can_be_repeated(world: World) -> None:
    topic = world.create(replication_factor=3, records=5)
    assert world.delete(topic, 3) == Deleted(3)
    assert world.ends(topic) == (3, 5)
    assert world.delete(topic, 3) == Deleted(3)
    assert world.delete(topic, 1) == Deleted(3)
    assert world.ends(topic) == (3, 5)


def test_everything_up_to_the_high_watermark_can_be_deleted_and_offsets_go_on(world: World) -> None:
    topic = world.create(records=5)
    assert world.delete(topic, 5) == Deleted(5)
    assert world.ends(topic) == (5, 5)
    world.bed.produce(topic, 2)
    assert world.ends(topic) == (5, 7)


@pytest.mark.parametrize("before", [-1, 0, 6, 2**62, -1001])
def test_an_offset_that_would_delete_too_much_is_never_sent(world: World, before: int) -> None:
    """-1 is Kafka's word for everything, and librdkafka has more negative numbers that mean something."""
    topic, other = world.create("a", records=5), world.create("b", records=5)
    outcomes = world.logs.delete_records({topic: before, other: 1})
    assert outcomes == {
        topic: DeleteRefused(f"Seawall deletes nothing of topic {topic} before {before}: its high watermark is 5"),
        other: Deleted(1),
    }
    assert world.ends(topic) == (0, 5)


def test_nothing_is_deleted_of_a_topic_that_has_another_id_than_the_one_that_is_meant(world: World) -> None:
    """Who looked by one connection and deletes by another may have come to another cluster meanwhile."""
    topic, other = world.create("a", records=5), world.create("b", records=5)
    ids = {name: world.described(name).topic_id for name in (topic, other)}
    outcomes = world.logs.delete_records({topic: 3, other: 3}, {topic: ids[topic], other: ids[topic]})
    assert outcomes[topic] == Deleted(3)
    refused = outcomes[other]
    assert isinstance(refused, DeleteRefused)
    assert refused.message == (
        f"Seawall deletes nothing of topic {other}: its id is {ids[other]}, and {ids[topic]} is meant"
    )
    assert world.ends(other) == (0, 5)


def test_nothing_is_deleted_of_a_topic_that_has_had_another_leader_than_the_one_that_is_meant(world: World) -> None:
    """It may have been cut since, and have grown with other records."""
    topic, other = world.create("a", records=5), world.create("b", records=5)
    epochs = {topic: world.offsets(topic).leader_epoch, other: world.offsets(other).leader_epoch + 1}
    outcomes = world.logs.delete_records({topic: 3, other: 3}, None, epochs)
    assert outcomes == {
        topic: Deleted(3),
        other: DeleteUnknown(
            f"Nothing is deleted of topic {other}: its leader epoch is another one since it was observed"
        ),
    }
    assert world.ends(other) == (0, 5)


def test_a_compacted_topic_refuses_deletes_in_kafkas_words(world: World) -> None:
    topic = world.create(configs={"cleanup.policy": "compact"})
    world.bed.produce(topic, 3, key=b"k")
    outcome = world.delete(topic, 2)
    sentence = f"Kafka refused to delete records of topic {topic}: Broker: Policy violation"
    assert outcome == DeleteRefused(sentence, unsupported=True)
    assert world.ends(topic)[0] == 0


def test_the_first_record_since_a_time_is_found_by_the_timestamps_of_the_records(world: World) -> None:
    topic, empty = world.create("a", records=3), world.create("b")
    time.sleep(0.1)
    between = datetime.now(UTC)
    time.sleep(0.1)
    world.bed.produce(topic, 2)
    logs, day = world.logs, timedelta(days=1)
    world.wait_for_ends(topic, (0, 5), "the records are counted")
    assert logs.find_first_since([topic, empty, topic], between) == {topic: FirstSince(3), empty: FirstSince(None)}
    assert logs.find_first_since([topic], datetime.fromtimestamp(0, UTC) - day) == {topic: FirstSince(0)}
    assert logs.find_first_since([topic], between + day) == {topic: FirstSince(None)}
    assert world.delete(topic, 4) == Deleted(4)
    assert logs.find_first_since([topic], between) == {topic: FirstSince(4)}
    assert world.delete(topic, 5) == Deleted(5)
    assert logs.find_first_since([topic], between) == {topic: FirstSince(None)}


def test_an_epoch_ends_where_the_log_ends_while_its_leader_leads(world: World) -> None:
    topic = world.create(records=4)
    offsets = world.offsets(topic)
    assert world.logs.describe_epoch_ends({topic: AskedEpoch(offsets.leader_epoch, offsets.leader_epoch)}) == {
        topic: EpochEnd(offsets.leader_epoch, offsets.high_watermark)
    }


def test_an_epoch_that_never_was_is_unknown(world: World) -> None:
    topic = world.create(records=4)
    now = world.offsets(topic).leader_epoch
    assert world.logs.describe_epoch_ends({topic: AskedEpoch(now + 5, now)}) == {topic: EpochUnknown()}


def test_a_broker_that_was_replaced_as_leader_does_not_say_where_an_epoch_ended(world: World) -> None:
    """It has not heard of the epoch that the offsets are of."""
    topic = world.create(records=4)
    now = world.offsets(topic).leader_epoch
    answers = world.logs.describe_epoch_ends({topic: AskedEpoch(now, now + 1)})
    assert why(answers[topic]) is TopicTrouble.UNANSWERED


def test_the_first_record_without_a_key_is_found_and_what_lies_behind_it_too(world: World) -> None:
    topic = world.create()
    for records, key in ((3, b'{"version":0}'), (1, None), (2, b'{"version":0}'), (1, b"not JSON"), (1, b"{}")):
        world.bed.produce(topic, records, key)
    assert world.logs.find_unreadable(topic, 0) == Scanned(3, 3, KEYLESS)
    assert world.logs.find_unreadable(topic, 4) == Scanned(6, 6, NOT_JSON)
    assert world.logs.find_unreadable(topic, 7) == Scanned(8)
    assert world.logs.find_unreadable(topic, 8) == Scanned(8)


def test_who_reads_where_no_record_is_or_from_nobody_finds_nothing(world: World) -> None:
    topic = world.create(records=3)
    world.delete(topic, 2)
    assert why(world.logs.find_unreadable(topic, 1)) is TopicTrouble.UNANSWERED
    assert why(world.logs.find_unreadable("no topic", 0)) is TopicTrouble.REFUSED
    assert why(world.bed.at_nobody().find_unreadable(topic, 0)) is TopicTrouble.UNANSWERED


def test_the_keys_of_a_few_records_of_many_logs_are_read(world: World) -> None:
    """As far as there are records: a range may end beyond the log, and one that begins before it is a failure."""
    one, other = world.create(), world.create("other")
    for records, key in ((2, b"a"), (1, None), (2, b"b")):
        world.bed.produce(one, records, key)
    world.bed.produce(other, 3, b"c")
    read = world.logs.read_keys({one: (1, 4), other: (0, 9)})
    assert read == {one: Keys({1: b"a", 2: None, 3: b"b"}), other: Keys(dict.fromkeys(range(3), b"c"))}
    assert world.logs.read_keys({one: (4, 4)}) == {one: Keys({})}
    world.delete(one, 2)
    assert why(world.logs.read_keys({one: (0, 4)})[one]) is TopicTrouble.UNANSWERED
    assert why(world.logs.read_keys({"no topic": (0, 1)})["no topic"]) is TopicTrouble.REFUSED


def test_sizes_are_those_of_every_replica(world: World) -> None:
    small, large = world.create("a", 2), world.create("b", 3, records=100)
    replicas = set(world.described(small).topic.replicas)
    answer = world.logs.describe_sizes([small, large])
    assert answer == {small: LogSizes(dict.fromkeys(replicas, 0)), large: LogSizes(world.sizes(large))}
    wait_until(lambda: len(set(world.sizes(large).values())) == 1, "the followers have everything")
    assert min(world.sizes(large).values()) > 0
    assert world.sizes(large).keys() == {1, 2, 3}


def test_each_producer_id_is_another_and_nobody_gives_one_at_the_wrong_address(world: World) -> None:
    found: list[ProducerId] = []

    def is_given() -> bool:  # a young broker cannot say for a moment
        try:
            found.append(world.logs.take_producer_id())
        except OutsideUnavailable:
            return False
        return len(found) == 2

    wait_until(is_given, "two producer ids are given")
    first, second = found
    assert first.id != second.id
    assert (first.epoch, second.epoch) == (0, 0)
    with pytest.raises(OutsideUnavailable):
        world.bed.at_nobody().take_producer_id()


def test_nulls_are_appended_once_each_in_their_order_and_a_new_epoch_fences_the_old(world: World) -> None:
    topic, producer, before = world.create(), ProducerId(70_001, 0), datetime.now(UTC).replace(microsecond=0)
    topic_id, logs = world.described(topic).topic_id, world.logs

    def append(epoch: int, sequence: int, count: int) -> str:
        try:
            logs.append_nulls(Nulls(topic, topic_id, replace(producer, epoch=epoch), sequence, count))
        except Refused as refused:
            return str(refused)
        return ""

    assert logs.describe_producer([topic], producer.id) == {topic: ProducerState(None)}
    assert append(0, 0, 3) == ""
    world.wait_for_ends(topic, (0, 3), "three are there")
    assert logs.describe_producer([topic], producer.id) == {topic: ProducerState(0, 2)}
    assert "out of order sequence number" in append(0, 5, 1)
    assert append(0, 3, 10_001) == ""
    assert "out of order sequence number" in append(1, 7, 1)
    assert append(1, 0, 1) == ""
    assert "epoch" in append(0, 10_004, 1)
    world.wait_for_ends(topic, (0, 10_005), "all are there, and no other")
    assert logs.describe_producer([topic], producer.id) == {topic: ProducerState(1, 0)}
    assert logs.find_first_since([topic], before) == {topic: FirstSince(0)}, "by older ones they would be forgotten"
    with pytest.raises(OutsideUnavailable):  # a broker may not have heard of it yet
        logs.append_nulls(Nulls(topic, "A" * 22, replace(producer, epoch=1), 1, 1))


def test_nobody_at_the_address_leaves_every_topic_unanswered(world: World) -> None:
    logs = world.bed.at_nobody()
    for answers in (
        logs.describe_topics(["a", "b"]),
        logs.describe_offsets(["a", "b"]),
        logs.describe_epoch_ends({"a": AskedEpoch(0, 0), "b": AskedEpoch(1, 1)}),
        logs.describe_sizes(["a", "b"]),
        logs.find_first_since(["a", "b"], LONG_AGO),
    ):
        assert [why(answer) for answer in answers.values()] == [TopicTrouble.UNANSWERED] * 2
    outcomes = logs.delete_records({"a": 1})
    assert isinstance(outcomes["a"], DeleteUnknown)
    assert "its high watermark is not known" in outcomes["a"].message


def test_a_broker_that_is_down_leaves_only_its_own_topics_unanswered_and_others_get_another_leader(
    world: World,
) -> None:
    """Nobody else can lead some. Its death is told by no error: librdkafka then answers the offset -1001.

    Those with more replicas have another leader in another epoch, and nothing is truncated.
    """
    spread = world.create("spread", 3, records=5)
    before, broker = world.offsets(spread), leader_of(world, spread)
    alive, dead = create_elsewhere_and_on(world, broker)
    world.bed.kill(broker)
    try:
        asked = [dead, alive]
        logs, spent = world.logs, time.process_time()
        answers: list[dict[str, object]] = [
            dict(logs.describe_offsets(asked)),
            dict(logs.describe_epoch_ends(dict.fromkeys(asked, AskedEpoch(0, 0)))),
            dict(logs.describe_offsets(asked)),
            dict(logs.find_first_since(asked, LONG_AGO)),
            dict(logs.describe_sizes(asked)),
        ]
        assert time.process_time() - spent < MOST_PROCESSOR_SECONDS, "it waits for the broker, and does not spin"
        for answer in answers:
            assert why(answer[dead]) is TopicTrouble.UNANSWERED
            assert not isinstance(answer[alive], TopicFailure)
        wait_until(lambda: broker not in world.online(), "Kafka knows that it is down")
        assert why(logs.describe_sizes([dead])[dead]) is TopicTrouble.UNANSWERED
        outcomes = logs.delete_records({dead: 2, alive: 2})
        assert isinstance(outcomes[dead], DeleteRefused | DeleteUnknown)
        assert outcomes[alive] == Deleted(2)
        wait_until(
            lambda: epoch(world, spread) > before.leader_epoch,
            "another leader leads",
            explain=lambda: (before, world.logs.describe_offsets([spread]), world.logs.describe_topics([spread])),
        )
        ends = world.logs.describe_epoch_ends({spread: AskedEpoch(before.leader_epoch, epoch(world, spread))})
        assert ends == {spread: EpochEnd(before.leader_epoch, before.high_watermark)}
        late = world.logs.describe_epoch_ends({spread: AskedEpoch(before.leader_epoch, before.leader_epoch)})
        assert why(late[spread]) is TopicTrouble.UNANSWERED, "the offsets are of before the election"
    finally:
        world.bed.start(broker)
    wait_until(lambda: world.is_led(dead), "it is led again")
    assert world.ends(alive) == (2, 5)


def create_elsewhere_and_on(world: World, broker: int) -> tuple[str, str]:
    """A topic that another broker leads, and one that only this one can lead: Kafka places topics as it likes."""
    led: dict[bool, str] = {}
    while len(led) < 2:
        topic = world.create(f"one{uuid.uuid4().hex[:4]}")
        led.setdefault(leader_of(world, topic) == broker, topic)
    for topic in led.values():
        world.bed.produce(topic, 5)
    return led[False], led[True]


def test_an_unclean_election_is_seen_by_the_end_of_the_epoch_remembered(world: World) -> None:
    """The high watermark tells nothing: writers go on, and soon it is as high as before."""
    configs = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    topic = world.create(replication_factor=2, configs=configs, records=5)
    world.wait_for_ends(topic, (0, 5), "the records are counted")
    before = world.offsets(topic)
    world.bed.lose_end(topic, 3)
    wait_until(
        lambda: epoch(world, topic) > before.leader_epoch,
        "another leader leads",
        explain=lambda: (before, world.logs.describe_offsets([topic]), world.logs.describe_topics([topic])),
    )
    world.bed.produce(topic, 10)
    assert world.ends(topic) == (0, 15)
    seen_before_the_loss = 8
    (end,) = world.logs.describe_epoch_ends({topic: AskedEpoch(before.leader_epoch, epoch(world, topic))}).values()
    assert isinstance(end, EpochEnd)
    assert end.end_offset == 5 < seen_before_the_loss


def leader_of(world: World, topic: str) -> int:
    leader = world.described(topic).topic.leader
    assert leader is not None
    return leader


def epoch(world: World, topic: str) -> int:
    answer = world.logs.describe_offsets([topic])[topic]
    return answer.leader_epoch if isinstance(answer, LogOffsets) else -1
