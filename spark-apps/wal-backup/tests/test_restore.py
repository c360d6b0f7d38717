"""What comes back is what was backed up: the same records at the same offsets, and nothing else."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import pytest
from backups import Bed
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec, PartitionMetadata
from restores import GUARDED, Restores, begin_at, same, write_raw
from spark_marks import WITH_SPARK
from test_round_trip import transaction
from wal_topics import TIMEOUT

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from sparkjob.errors import Interrupted, Refused
from sparkjob.wire.batches import batches
from sparkjob.wire.kafka_state import KafkaState, TopicState
from sparkjob.wire.raw_options import raw_options
from sparkjob.wire.records import Record
from wal_backup.restore.appender import Appender
from wal_backup.restore.target import TargetKafka

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK
LATELY = 1_700_000_000_000
MOST_CONNECTS = 200
"""To a broker that is down for half a minute; one that spins makes as many in a hundredth of a second."""


def test_logs_come_back_at_their_own_offsets_wherever_they_begin(bed: Bed) -> None:
    restores = Restores(bed)
    starts = {f"from_{start}_{secrets.token_hex(4)}": start for start in (0, 1, 10_000, 10_000_000)}
    empty, purged = (f"{name}_{secrets.token_hex(4)}" for name in ("empty", "purged"))
    bed.topics.create(*starts, empty, purged, config=GUARDED)
    for topic, start in starts.items():
        begin_at(bed, topic, start)
        write_raw(bed, topic, [(b"k", b"v%d" % number, None, LATELY + number) for number in range(200)])
        transaction(bed, topic, [b"gone"] * 1_500, commits=False)
        write_raw(bed, topic, [(None, None, None, LATELY)])
    begin_at(bed, purged, 77)
    ranges = [*((topic, start, start + 1_702) for topic, start in starts.items()), (empty, 0, 0), (purged, 77, 77)]
    assert bed.back_up(*ranges).code == 0
    before = {topic: bed.log(topic, start, end) for topic, start, end in ranges}

    answer = restores.restore(*before)
    assert answer.summary["outcome"] == "Passed", answer.summary
    assert (answer.summary["restored"], answer.summary["notRestored"]) == (6, [])
    for topic, start, end in ranges:
        state = restores.state(topic)
        assert (state.start, state.end) == (start, end)
        assert same(restores.log(topic), before[topic], start, end)


def test_another_kafka_takes_the_logs_with_three_replicas_and_brokers_that_are_killed_change_nothing(
    bed: Bed, three_brokers: KafkaProcesses
) -> None:
    """The padding goes by itself, and with it what a broker could begin with that forgot where the log begins."""
    topics = backed_up_from(bed, 0, 10_000, 10_000_000)
    restores = restored_on(bed, topics, three_brokers)
    for topic, start in topics.items():
        wait_until(lambda: first_segments(three_brokers, topic) == [start] * 3, "the padding is gone")  # noqa: B023
    for broker in range(3):
        three_brokers.kill(broker)
    three_brokers.start_together(0, 1, 2)
    are_restored(restores, topics)


def test_a_broker_that_is_killed_while_the_padding_is_there_changes_nothing_and_of_all_the_intent_is_applied_again(
    bed: Bed, brokers_that_keep: KafkaProcesses
) -> None:
    """The log start that a leader knows is its followers', whatever they find on their own disks."""
    brokers, topics = brokers_that_keep, backed_up_from(bed, 10_000)
    ((topic, start),) = topics.items()
    restores = restored_on(bed, topics, brokers)
    leader = partition(restores, topic).leader
    (killed,) = (index for index in range(3) if brokers.broker_id(index) == leader)
    before, client = restores.state(topic), Watched(restores.options, topic)
    brokers.kill(killed)
    client.ask()
    after = state_in_the_end(restores, topic)  # it asks anew: whom it knew as the leader is dead
    assert (after.start, after.end, after.epoch) == (before.start, before.end, (before.epoch or 0) + 1)
    assert 0 < client.connects(leader) < MOST_CONNECTS, "it waits for the broker, and does not spin"
    wait_until(lambda: partition(restores, topic).leader not in {leader, -1}, "another broker leads", within=60)
    are_restored(restores, topics)
    brokers.start(killed)
    wait_until(lambda: len(partition(restores, topic).isrs) == 3, "all replicas are in sync", within=60)
    are_restored(restores, topics)
    assert first_segments(brokers, topic) == [0] * 3, "the padding is there, or this shows nothing"

    for broker in range(3):
        brokers.kill(broker)
    brokers.start_together(0, 1, 2)
    state = state_after_election(restores, topic)
    assert (state.start, state.end) == (0, start + 60)
    assert same(restores.log(topic), bed.log(topic, start, start + 50), 0, start + 60), "nulls, which readers skip"
    TargetKafka(restores.options).delete_records(topic, state.topic_id, start)  # as the operator's next purge (ADR 33)
    are_restored(restores, topics)


class Watched:
    """A client that has asked a leader, and counts how often it connects to it."""

    def __init__(self, options: Mapping[str, str], topic: str) -> None:
        self._said: list[str] = []
        counting: dict[str, Any] = {"statistics.interval.ms": 100, "stats_cb": self._said.append}
        self._client = AdminClient({**options, **counting})
        self._asked = {TopicPartition(topic, 0): OffsetSpec.latest()}  # type: ignore[no-untyped-call]
        for answer in self.ask():
            answer.result(TIMEOUT)

    def ask(self) -> list[Future[ListOffsetsResultInfo]]:
        """Of the topic's leader, where the log ends; once more with every call."""
        return list(self._client.list_offsets(self._asked, request_timeout=TIMEOUT).values())

    def connects(self, broker: int) -> int:
        """How often it has connected to a broker."""
        while self._client.poll(0):
            pass
        brokers = json.loads(self._said[-1])["brokers"].values()
        (found,) = (each["connects"] for each in brokers if each["nodeid"] == broker)
        return int(found)


def partition(restores: Restores, topic: str) -> PartitionMetadata:
    """Its leader and its replicas."""
    found: PartitionMetadata = AdminClient({**restores.options}).list_topics(topic, 30).topics[topic].partitions[0]
    return found


def state_after_election(restores: Restores, topic: str) -> TopicState:
    """Its id and offsets, as soon as there is a leader that knows them; asked by a client that knew no other one."""
    restores.kafka = KafkaState(restores.options)
    return state_in_the_end(restores, topic)


def state_in_the_end(restores: Restores, topic: str) -> TopicState:
    """The same, asked again when it gave up, as an attempt of a job follows another."""

    def state() -> TopicState | None:
        with suppress(Interrupted):
            return restores.state(topic)
        return None

    return wait_until(state, "its leader knows its offsets", within=90)


def backed_up_from(bed: Bed, *starts: int) -> dict[str, int]:
    """Topics of 50 records that begin there, and a backup of them."""
    topics = {f"on_three_{start}_{secrets.token_hex(4)}": start for start in starts}
    bed.topics.create(*topics, config=GUARDED)
    for topic, start in topics.items():
        begin_at(bed, topic, start)
        write_raw(bed, topic, [(b"k", b"v%d" % number, None, LATELY + number) for number in range(50)])
    assert bed.back_up(*((topic, start, start + 50) for topic, start in topics.items())).code == 0
    return topics


def restored_on(bed: Bed, topics: dict[str, int], brokers: KafkaProcesses) -> Restores:
    """Each topic restored to three replicas, and padded by ten."""
    restores = Restores(bed, ",".join(brokers.bootstrap_servers), brokers.cluster_id, replicas=3)
    answer = restores.restore(*topics, padTo={topic: start + 60 for topic, start in topics.items()})
    assert answer.summary["outcome"] == "Passed", answer.summary
    counts = answer.summary["counts"]
    assert (answer.summary["restored"], counts["lostAtMost"]) == (len(topics), 10 * len(topics))
    return restores


def are_restored(restores: Restores, topics: dict[str, int]) -> None:
    """They begin and end as they were padded, and have what was backed up."""
    for topic, start in topics.items():
        state = state_after_election(restores, topic)
        assert (state.start, state.end) == (start, start + 60)
        assert same(restores.log(topic), restores.bed.log(topic, start, start + 50), start, start + 60)


def first_segments(brokers: KafkaProcesses, topic: str) -> list[int]:
    """The first offset that each broker's files of a topic have."""
    folders = brokers._folder.glob(f"broker-*/data/{topic}-0")
    return [min(int(file.stem) for file in folder.glob("*.log")) for folder in folders]


@pytest.fixture(scope="module")
def three_brokers(beds: str) -> Iterator[KafkaProcesses]:
    """They clean every second, and never write down where logs begin: only that padding goes keeps the first offset."""
    often = {"log.initial.task.delay.ms": "500", "log.retention.check.interval.ms": "1000"}
    never = {"log.flush.start.offset.checkpoint.interval.ms": "3600000"}
    with KafkaProcesses(brokers=3, properties={**often, **never}) as processes:
        yield processes


@pytest.fixture
def brokers_that_keep(beds: str) -> Iterator[KafkaProcesses]:
    """They never clean, and never write down where logs begin: what a broker begins with that is killed at once."""
    with KafkaProcesses(brokers=3, properties={"log.initial.task.delay.ms": "3600000"}) as processes:
        yield processes


def test_records_go_through_tls_with_a_password_and_with_a_certificate(bed: Bed, kafka: KafkaProcesses) -> None:
    secure, topic = kafka.secure, f"secure_{secrets.token_hex(4)}"
    bed.topics.create(topic, config=GUARDED)
    options = [
        {
            "bootstrap.servers": ",".join(secure.sasl_ssl_servers),
            "security.protocol": "SASL_SSL",
            "ssl.ca.pem": secure.ca_pem,
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": secure.username,
            "sasl.password": secure.password,
        },
        {
            "bootstrap.servers": ",".join(secure.mutual_tls_servers),
            "security.protocol": "SSL",
            "ssl.ca.pem": secure.ca_pem,
            "ssl.certificate.pem": secure.client_cert_pem,
            "ssl.key.pem": secure.client_key_pem,
        },
    ]
    (topic_id,) = wait_until(lambda: Restores(bed).ids(topic), "the topic is there").values()
    for number, each in enumerate(options):
        with Appender(each, topic, topic_id) as log:
            log.position = number
            for batch in batches([Record(number, LATELY, 1, b"k", b"v", None)], number, 1_000):
                log.append(batch)
    assert [record.offset for record in bed.log(topic, 0, 2)] == [0, 1]
    with pytest.raises(Refused, match="a PEM file of Kafka's connection makes no sense"):
        raw_options({**options[1], "ssl.key.pem": "none"})
