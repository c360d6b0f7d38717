"""Rules that show on Spark and a real Kafka only, taken away: a story that needs each must fail."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from spark_marks import WITH_SPARK
from test_watch import waits
from verifications import verify
from wal_logs import clean_log, payload, records_of
from wal_topics import Topics, request_of

from replay_verification import holes, job, watch
from replay_verification.equivalence import twice
from replay_verification.job import UNREADABLE_LOG
from replay_verification.schemas import ROWS
from replay_verification.watch import Watch
from seawall_e2e.loopback import KafkaProcesses
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

pytest_plugins = ("spark_beds",)
pytestmark = WITH_SPARK
LOG = clean_log()
REUSED, HOLED = "mutants-reused", "mutants-holed"
Patch = pytest.MonkeyPatch


def nobody_counts(patch: Patch) -> None:
    patch.setattr(holes, "with_holes", lambda *_: [])


def numbers_alone_are_compared(patch: Patch) -> None:
    patch.setattr(job.Verifier, "_look_at_repeats", lambda *_: None)


def nobody_watches(patch: Patch) -> None:
    patch.setattr(watch.Watch, "_run", lambda _: None)


class Stories:
    """Topics with a fault each, and what is found in them."""

    def __init__(self, spark: SparkSession, kafka: KafkaProcesses, folder: Path) -> None:
        self._spark, self._folder, self._runs = spark, folder, 0
        self._topics = Topics(kafka.bootstrap_servers)
        entry = LOG.entries[0]
        other = [row._replace(load=99) for row in entry.rows]
        self._topics.fill({REUSED: [*LOG.records, *records_of(entry.region, payload(entry.sequence, *other))]})
        self._topics.fill({HOLED: LOG.records})
        self._topics.append_in_transaction(HOLED, [(None, None)])

    def finds(self, level: str, name: str, end: int, kind: str, at: int | None = None) -> None:
        """A run finds it, at this offset."""
        self._runs += 1
        request = request_of(self._topics.servers, level, [self._topics.topic(name, end)])
        answer = verify(self._spark, self._folder / str(self._runs), request)
        offsets = {found: offset for found, offset, _ in answer.found(name)}
        assert kind in offsets
        assert at in {None, offsets[kind]}

    def ends_when_broken(self) -> None:
        """A job that waits is cancelled."""
        self._runs += 1
        folder = self._folder / str(self._runs)
        folder.mkdir()
        waiting = self._spark.range(1).mapInArrow(waits(folder, 5), "id long")
        try:
            with Watch(self._spark, (folder / "begun").exists):
                waiting.collect()
        except UNREADABLE_LOG:
            return
        raise AssertionError("nothing ended it")


def test_no_rule_on_spark_can_be_taken_away(
    spark: SparkSession, kafka: KafkaProcesses, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(watch, "EVERY", 0.2)
    stories = Stories(spark, kafka, tmp_path)
    mutants: tuple[Mutant, ...] = (
        (nobody_counts, partial(stories.finds, "Coverage", HOLED, LOG.end + 2, "OffsetsMissing")),
        (nobody_counts, partial(stories.finds, "Integrity", HOLED, LOG.end + 2, "OffsetsMissing")),
        (
            rewritten(holes, "gaps", 'F.col("last") + 1', 'F.col("last")'),
            partial(stories.finds, "Coverage", HOLED, LOG.end + 2, "OffsetsMissing", LOG.end + 1),
        ),
        (numbers_alone_are_compared, partial(stories.finds, "Integrity", REUSED, LOG.end + 1, "SequenceReused")),
        (nobody_watches, stories.ends_when_broken),
    )
    for _, story in mutants:
        story()
    assert find_survivors(mutants) == []


def test_a_key_that_a_file_has_twice_is_seen_and_in_two_files_is_not(spark: SparkSession) -> None:
    common = ("w", 1, 9, True)
    rows: DataFrame = spark.createDataFrame(
        [
            (*common, -2, 0, None, "in two files", 1, None),
            (*common, -1, 0, None, "in two files", 2, None),
            (*common, 5, 5, 5, "of the log", 3, None),
            (*common, 5, 5, 5, "of the log", 3, None),
            (*common, -1, 0, None, "twice", 4, None),
            (*common, -1, 0, None, "twice", 5, None),
        ],
        ROWS,
    )
    assert [(line["region"], line["key"], line["cut"]) for line in twice(rows).collect()] == [(1, "twice", 9)]
