"""What is in the source arrives in the target at the same offsets, whatever batches it is in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from confluent_kafka import Producer
from mirrors import Mirror, new_producer
from wal_topics import TIMEOUT

from sparkjob.wire.batches import nulls
from sparkjob.wire.connection import Connection
from wal_subscription import copier
from wal_subscription.request import Topic
from wal_subscription.source import LogSource
from wal_subscription.target import LogTarget

pytest_plugins = ("mirror_beds",)
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(autouse=True)
def no_connection_is_left() -> Iterator[None]:
    """Each test begins as a process does."""
    yield
    copier.forget_connections()


IN_ONE_BATCH: dict[str, Any] = {"linger.ms": 100}


def compressed_by(codec: str) -> dict[str, Any]:
    """Options of a producer."""
    return {"compression.type": codec}


def produce(mirror: Mirror, name: str, count: int, size: int = 100, first: int = 0, **options: Any) -> None:
    """Records with all that a record may have."""
    producer = Producer({**mirror.source.options, "acks": "all", "enable.idempotence": True, "linger.ms": 5, **options})
    for number in range(first, first + count):
        headers: Any = None if number % 3 else [("h", b"1"), ("h", None), ("", b"")]
        key = None if number % 7 == 0 else b"%d" % number
        value = None if number % 11 == 0 else b"%d " % number * (size // 4)
        producer.produce(name, value, key, 0, headers=headers, timestamp=1_700_000_000_000 + number * 3)
        if number % 500 == 0:
            producer.flush(TIMEOUT)
    assert producer.flush(TIMEOUT) == 0


@pytest.mark.parametrize("codec", CODECS)
def test_batches_of_every_codec_arrive_as_they_are(mirror: Mirror, codec: str) -> None:
    name = f"codec-{codec}"
    mirror.make(name)
    produce(mirror, name, 1_234, **compressed_by(codec))
    assert mirror.run() == []
    assert mirror.require_equal(name) == 1_234
    batches = []
    for side in (mirror.source, mirror.target):
        with Connection(side.options) as connection:
            batches.append(LogSource(connection, name, side.of(name).topic_id).fetch(0))
    assert [batch.to_batch() for batch in batches[0]] == [batch.to_batch() for batch in batches[1]]
    assert any(batch.attributes for batch in batches[1]) is (codec != "none")


def test_a_log_that_begins_within_a_batch_or_at_its_border_is_padded_up_to_there(mirror: Mirror) -> None:
    for name, start in (("within", 57), ("at-a-border", 100)):
        mirror.make(name)
        produce(mirror, name, 100, **IN_ONE_BATCH)
        produce(mirror, name, 100, first=100, **IN_ONE_BATCH)
        mirror.source.topics.delete_records(name, start)
        mirror.starts[name] = start
    assert mirror.run() == []
    assert mirror.require_equal("within", "at-a-border") == 143 + 100
    produce(mirror, "within", 10, first=200)
    assert mirror.run() == []
    assert mirror.require_equal("within") == 153


def test_a_long_padding_and_one_that_nothing_follows(mirror: Mirror) -> None:
    for name, start in (("long", 250_007), ("only-padding", 30)):
        mirror.make(name)
        mirror.starts[name] = start
        with Connection(mirror.source.options) as connection:
            topic = Topic(name, "", mirror.source.of(name).topic_id, 0)
            log = LogTarget(connection, topic, new_producer(mirror.source))
            log.open()
            log.append(nulls(start, 0))
        mirror.source.topics.delete_records(name, start)
    produce(mirror, "long", 3)
    assert mirror.run() == []
    assert mirror.require_equal("long", "only-padding") == 3
    produce(mirror, "only-padding", 7, first=30)
    assert mirror.run() == []
    assert mirror.require_equal("only-padding") == 7


def test_transactions_arrive_as_who_reads_uncommitted_sees_them_and_markers_are_nulls(mirror: Mirror) -> None:
    name = "in-transactions"
    mirror.make(name)
    producer = Producer({**mirror.source.options, "transactional.id": name})
    producer.init_transactions(TIMEOUT)
    for number in range(6):
        producer.begin_transaction()
        for at in range(10):
            producer.produce(name, b"%d" % at, b"%d" % number, 0)
        producer.flush(TIMEOUT)
        (producer.abort_transaction if number % 2 else producer.commit_transaction)(TIMEOUT)
    mirror.source.topics.wait_for_end(name, 66)
    assert mirror.run() == []
    assert mirror.require_equal(name) == 60
    nulls = [record.offset for record in mirror.target.log(name) if record.value is None]
    assert nulls == [10, 21, 32, 43, 54, 65]


def test_a_log_with_its_own_time_arrives_with_it(mirror: Mirror) -> None:
    name = "append-time"
    mirror.make(name, source={"message.timestamp.type": "LogAppendTime"})
    produce(mirror, name, 700, **compressed_by("lz4"))
    time.sleep(0.05)
    produce(mirror, name, 20, first=700)
    assert mirror.run() == []
    assert mirror.require_equal(name) == 720
    log = mirror.target.log(name)
    assert {record.timestamp_type for record in log} == {1}
    assert min(record.timestamp for record in log) > 1_700_000_000_000 + 720 * 3
    assert all(earlier.timestamp <= later.timestamp for earlier, later in pairwise(log))


def test_batches_of_a_megabyte_arrive(mirror: Mirror) -> None:
    name = "a-megabyte"
    mirror.make(name)
    producer = Producer({**mirror.source.options, "message.max.bytes": 2_000_000, "linger.ms": 0})
    largest = 1_048_588 - 61 - 20
    for number in range(12):
        producer.produce(name, bytes([number]) * (largest - number % 2), None, 0)
        producer.flush(TIMEOUT)
    assert mirror.run() == []
    assert mirror.require_equal(name) == 12


def test_a_log_that_was_compacted_has_nulls_where_it_has_no_records(mirror: Mirror) -> None:
    name = "compacted"
    compact = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "100"}
    mirror.make(name, source={**compact, "max.compaction.lag.ms": "100"})
    mirror.source.topics.append({name: [(b"%d" % (number % 3), b"%d" % number) for number in range(90)]})
    time.sleep(0.3)
    mirror.source.topics.append({name: [(b"last", b"")]})
    give_up = time.monotonic() + 60
    while len(mirror.source.log(name)) > 40:
        assert time.monotonic() < give_up, "the log is not compacted"
        time.sleep(0.5)
        mirror.source.topics.append({name: [(b"last", b"")]})
    assert mirror.run() == []
    end = mirror.target.of(name).end
    assert 0 < mirror.require_equal(name) < end
