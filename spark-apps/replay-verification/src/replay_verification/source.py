"""The records of exact ranges of offsets, for Spark's tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import SparkSession

from sparkjob.log_records import Chunk, LogRecords
from sparkjob.wire.reader import PATIENCE_SECONDS, Range, Reader
from sparkjob.wire.records import no_search_for_cycles

_TASKS_PER_CORE = 3
_LEAST_OFFSETS, _MOST_OFFSETS = 1_000, 1_000_000
"""Of a partition: to begin with one takes longer than to read so few; executors that come late find work, too."""


def read_records(spark: SparkSession, options: Mapping[str, str], ranges: Sequence[Range]) -> LogRecords:
    """The records of these ranges; the job fails when one cannot be read from end to end.

    Args:
        spark: whose cores they are split over.
        options: of confluent-kafka.
        ranges: at least one, none of them empty.
    """
    patience, given = PATIENCE_SECONDS, dict(options)
    partitions = split(ranges, _TASKS_PER_CORE * spark.sparkContext.defaultParallelism, _LEAST_OFFSETS)
    return LogRecords(spark, len(partitions), lambda number: _read(partitions[number], given, patience))


def split(ranges: Sequence[Range], most: int, least: int) -> list[list[Range]]:
    """Partitions of the ranges, at most so many where logs are short, of `least` offsets at least but the last one."""
    offsets = sum(each.end - each.start for each in ranges)
    size = max(least, min(_MOST_OFFSETS, -(-offsets // most)))
    partitions, room = list[list[Range]](), 0
    for each in ranges:
        start = each.start
        while start < each.end:
            if not room:
                partitions.append([])
                room = size
            end = min(each.end, start + room)
            partitions[-1].append(Range(each.topic, start, end))
            room -= end - start
            start = end
    return partitions


def _read(ranges: Sequence[Range], options: Mapping[str, str], patience: float) -> Iterator[Chunk]:
    with no_search_for_cycles(), Reader(options, patience) as reader:
        for each in ranges:
            for records in reader.records(each):
                yield Chunk(each.topic, records)
