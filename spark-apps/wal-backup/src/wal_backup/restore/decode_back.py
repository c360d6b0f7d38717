"""Decodes what was restored, from Kafka: each record as the database would read it, whatever its topic is called."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import pyarrow as pa
from pyspark.sql import SparkSession

from sparkjob.integrity.schemas import RECORDS, RECORDS_ARROW
from sparkjob.wire.reader import Range, Reader
from wal_backup.decode import Decoded, judge_records
from wal_backup.restore.plan import TopicPlan
from wal_backup.restore.task import TopicJob
from walrecord import drops_repeated_middle

_ROWS_OF_A_BATCH = 2_000


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
    numbers = spark.range(0, len(jobs), 1, len(jobs))
    records = numbers.mapInArrow(_read(tuple(jobs), dict(options)), RECORDS)
    of_jobs = {job.source: dict(starts.get(job.source, {})) for job in jobs}
    return judge_records(records, of_jobs, drops_repeats=drops_repeated_middle(database_version))


def _read(
    jobs: Sequence[TopicJob], options: Mapping[str, str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For `mapInArrow`: places in `jobs` → RECORDS."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _batches(jobs[number], options)

    return read


def _batches(job: TopicJob, options: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    topic = job.topic
    with Reader(options) as reader:
        records = (record for record, _ in reader.read(Range(topic.name, topic.start, topic.end)))
        real = (record for record in records if not _is_gap(topic, record.offset))
        while rows := [
            {"topic": job.source, "offset": each.offset, "key": each.key, "value": each.value}
            for each in islice(real, _ROWS_OF_A_BATCH)
        ]:
            yield pa.RecordBatch.from_pylist(rows, RECORDS_ARROW)


def _is_gap(topic: TopicPlan, offset: int) -> bool:
    before = bisect_right(topic.gaps, offset, key=lambda gap: gap[0])
    return before > 0 and offset < topic.gaps[before - 1][1]
