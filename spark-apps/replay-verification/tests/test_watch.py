"""What happens to the topics while they are read ends the reading, and not a consumer's patience."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from spark_marks import WITH_SPARK
from wal_logs import clean_log
from wal_topics import Topics, request_of

from replay_verification import coverage_counts, job, source, watch
from replay_verification.job import UNREADABLE_LOG, Verifier
from replay_verification.request import parse_request
from replay_verification.watch import Watch
from seawall_e2e.loopback import KafkaProcesses
from sparkjob.errors import Interrupted
from sparkjob.log_records import LogRecords

pytest_plugins = ("spark_beds",)
pytestmark = WITH_SPARK

PATIENCE = 60
"""Seconds that a task waits for nothing, as a consumer does for a topic that is gone."""


def waits(folder: Path, seconds: int = PATIENCE) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Says that it has begun, waits, and says that nothing ended it."""
    begun, ended = folder / "begun", folder / "ended"

    def wait(batches: Iterable[Any]) -> Iterator[Any]:
        begun.touch()
        threading.Event().wait(seconds)
        ended.touch()
        yield from batches

    return wait


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The questions follow each other, and no task waits long for Kafka."""
    monkeypatch.setattr(watch, "EVERY", 0.2)
    monkeypatch.setattr(source, "PATIENCE_SECONDS", 3.0)


@pytest.mark.usefixtures("often")
def test_a_job_ends_when_the_log_is_broken(spark: SparkSession, tmp_path: Path) -> None:
    waiting = spark.range(1).mapInArrow(waits(tmp_path), "id long")
    with pytest.raises(UNREADABLE_LOG), Watch(spark, (tmp_path / "begun").exists):
        waiting.collect()
    assert not (tmp_path / "ended").exists()


@pytest.mark.usefixtures("often")
def test_a_kafka_that_does_not_answer_ends_nothing(spark: SparkSession, tmp_path: Path) -> None:
    asked = list[bool]()

    def silent() -> bool:
        asked.append(True)
        raise Interrupted("no answer")

    waiting = spark.range(1).mapInArrow(waits(tmp_path, 2), "id long")
    with Watch(spark, silent):
        assert len(waiting.collect()) == 1
    assert len(asked) > 1


@pytest.mark.usefixtures("often")
def test_a_topic_that_is_deleted_while_it_is_read_is_told_and_the_others_are_read(
    spark: SparkSession, kafka: KafkaProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics, log = Topics(kafka.bootstrap_servers), clean_log()
    topics.fill({"watch-deleted": log.records, "watch-kept": log.records})
    request = parse_request(
        request_of(
            topics.servers, "Coverage", [topics.topic(name, log.end) for name in ("watch-deleted", "watch-kept")]
        )
    )
    honest, is_first = coverage_counts.counted, [True]

    def slow(records: LogRecords) -> DataFrame:
        """The first reading does not get on."""
        if not is_first:
            return honest(records)
        is_first.clear()
        deleting = threading.Thread(target=_delete_when_begun, args=(topics, tmp_path / "begun"))
        deleting.start()
        read, wait = records.read, waits(tmp_path)
        return honest(replace(records, read=lambda number: wait(read(number))))

    monkeypatch.setattr(job, "counted", slow)
    seen = Verifier(spark, request).verify()
    assert [(found.kind.value, found.topic) for found in seen.findings] == [("TopicMissing", "watch-deleted")]
    assert seen.topics["watch-kept"].records == log.end
    assert not (tmp_path / "ended").exists()


def _delete_when_begun(topics: Topics, begun: Path) -> None:
    while not begun.exists():
        threading.Event().wait(0.1)
    topics.delete("watch-deleted")
