"""A batch whose bytes are others than were written is no hole of the log: its client would go on behind it."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message
from pyspark.sql import SparkSession
from spark_marks import WITH_SPARK
from verifications import verify
from wal_logs import NOOP
from wal_topics import Topics, damage, request_of

from seawall_e2e.loopback import KafkaProcesses
from sparkjob.errors import Interrupted
from sparkjob.wire import reader
from sparkjob.wire.reader import Range, Reader

pytest_plugins = ("spark_beds",)
pytestmark = WITH_SPARK
NAME = "damaged"


@pytest.fixture(scope="module")
def topics(kafka: KafkaProcesses) -> Topics:
    """Three batches of a record each, of which the second has another byte than was written."""
    made = Topics(kafka.bootstrap_servers)
    made.create(NAME)
    for value in (b"one", b"two", b"three"):
        made.append({NAME: [(b"key", value)]})
    damage(kafka.log_file(0, NAME), b"two")
    return made


def test_it_ends_the_reading(topics: Topics) -> None:
    """Where it is, and nothing of it or behind it is given."""
    with (
        Reader({"bootstrap.servers": topics.servers}) as asked,
        pytest.raises(Interrupted, match=f"^topic {NAME} cannot be read at offset 1: .*CRC32C"),
    ):
        assert [record.value for record, _ in asked.read(Range(NAME, 0, 3))] == [b"one"]


@pytest.mark.parametrize("level", ["Coverage", "Integrity"])
def test_a_verification_of_it_proves_nothing(spark: SparkSession, topics: Topics, tmp_path: Path, level: str) -> None:
    answer = verify(spark, tmp_path, request_of(topics.servers, level, [topics.topic(NAME, 3)]))
    assert (answer.code, answer.report) == (3, None)
    assert answer.summary["message"].startswith(f"topic {NAME} could not be read: topic {NAME} cannot be read at")


def test_large_records_are_taken_a_few_at_a_time(kafka: KafkaProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a task of Spark has its memory bounded by bytes, however large a record is."""
    asked: list[int] = []

    class Counting(Consumer):
        def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
            asked.append(num_messages)
            return super().consume(num_messages, timeout)

    topics = Topics(kafka.bootstrap_servers)
    topics.fill({"damaged-small": [NOOP] * 3_000, "damaged-large": [(b"key", b"x" * 900_000)] * 40})
    monkeypatch.setattr(reader, "Consumer", Counting)
    with Reader({"bootstrap.servers": topics.servers}) as small:
        assert sum(map(len, small.messages(Range("damaged-small", 0, 3_000)))) == 3_000
    assert (asked[0], max(asked)) == (16, 2_000)
    asked.clear()
    with Reader({"bootstrap.servers": topics.servers}) as large:
        chunks = list(large.messages(Range("damaged-large", 0, 40)))
    assert max(asked[1:]) == 18, "16 MiB of them"
    assert max(map(len, chunks)) <= 18
