"""Decodes what was restored, from Kafka: each record as the database would read it, whatever its topic is called."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import SparkSession

from sparkjob.log_records import Chunk, LogRecords
from sparkjob.wire.reader import Range, Reader
from wal_backup.decode import Decoded, judge_records
from wal_backup.restore.plan import TopicPlan
from wal_backup.restore.task import TopicJob
from walrecord import drops_repeated_middle


def decode_back(
    spark: SparkSession,
    jobs: Sequence[TopicJob],
    options: Mapping[str, str],
    starts: Mapping[str, Mapping[int, int]],
    database_version: str | None,
) -> Decoded:
    """Judges the records that were restored; `starts` and findings have the topics' names in the backup.

    Records of null where the log had none are left out. Spark fails when Kafka does not answer.
    """
    records = LogRecords(spark, len(jobs), lambda number: _chunks(jobs[number], options))
    of_jobs = {job.source: dict(starts.get(job.source, {})) for job in jobs}
    return judge_records(records, of_jobs, drops_repeats=drops_repeated_middle(database_version))


def _chunks(job: TopicJob, options: Mapping[str, str]) -> Iterator[Chunk]:
    topic = job.topic
    with Reader(options) as reader:
        for records in reader.records(Range(topic.name, topic.start, topic.end)):
            yield Chunk(job.source, [each for each in records if not _is_gap(topic, each[0])])


def _is_gap(topic: TopicPlan, offset: int) -> bool:
    before = bisect_right(topic.gaps, offset, key=lambda gap: gap[0])
    return before > 0 and offset < topic.gaps[before - 1][1]
