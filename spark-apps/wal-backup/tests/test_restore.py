"""What comes back is what was backed up: the same records at the same offsets, and nothing else."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from backups import Bed
from restores import GUARDED, Restores, begin_at, same, write_raw
from spark_marks import WITH_SPARK
from test_round_trip import transaction

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from sparkjob.errors import Refused
from sparkjob.wire.batches import batches
from sparkjob.wire.raw_options import raw_options
from sparkjob.wire.records import Record
from wal_backup.restore.appender import Appender

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK
LATELY = 1_700_000_000_000


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
    topics = {f"on_three_{start}_{secrets.token_hex(4)}": start for start in (0, 10_000)}
    bed.topics.create(*topics, config=GUARDED)
    for topic, start in topics.items():
        begin_at(bed, topic, start)
        write_raw(bed, topic, [(b"k", b"v%d" % number, None, LATELY + number) for number in range(50)])
    assert bed.back_up(*((topic, start, start + 50) for topic, start in topics.items())).code == 0

    restores = Restores(bed, ",".join(three_brokers.bootstrap_servers), three_brokers.cluster_id, replicas=3)
    padded = {topic: start + 60 for topic, start in topics.items()}
    answer = restores.restore(*topics, padTo=padded)
    assert answer.summary["outcome"] == "Passed", answer.summary
    assert (answer.summary["restored"], answer.summary["counts"]["lostAtMost"]) == (2, 20)

    for topic, start in topics.items():
        wait_until(lambda: first_segments(three_brokers, topic) == [start] * 3, "the padding is gone")  # noqa: B023
    for broker in range(3):
        three_brokers.kill(broker)
    three_brokers.start_together(0, 1, 2)
    for topic, start in topics.items():
        state = restores.state(topic)
        assert (state.start, state.end) == (start, start + 60)
        assert same(restores.log(topic), bed.log(topic, start, start + 50), start, start + 60)


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
