"""Records of logs as Spark's tasks read them: in Python, in the process that works on them (docs/adr/0083).

A DataFrame of records would take each of them through Java, and from there to Python once more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from sparkjob.integrity.schemas import RECORDS_ARROW

MOST_BYTES = 16 << 20
"""Of keys and values in one Arrow batch, about: it is in memory more than once."""
LogRecord = tuple[int, bytes | None, bytes | None]
"""Offset, key, value."""


class Chunk(NamedTuple):
    """Records of one topic, in the order of their offsets."""

    topic: str
    records: Sequence[LogRecord]


Work = Callable[[Iterable[Chunk]], Iterator[pa.RecordBatch]]
"""What a task makes of its records."""


@dataclass(frozen=True, slots=True)
class LogRecords:
    """Records of logs, in partitions for Spark.

    Attributes:
        partitions: how many there are, at least one.
        read: what the one of this number has, in a task: stretches of topics, each in the order of the log.
    """

    spark: SparkSession
    partitions: int
    read: Callable[[int], Iterator[Chunk]]

    def map(self, work: Work, schema: StructType) -> DataFrame:
        """What the tasks make of the records."""
        numbers = self.spark.range(0, self.partitions, 1, self.partitions)
        return numbers.mapInArrow(_of_numbers(self.read, work), schema)

    def of(self, topics: Collection[str]) -> LogRecords:
        """Those of these topics."""
        return replace(self, read=_Only(self.read, frozenset(topics)))


@dataclass(frozen=True, slots=True)
class _Only:
    read: Callable[[int], Iterator[Chunk]]
    topics: frozenset[str]

    def __call__(self, number: int) -> Iterator[Chunk]:
        return (chunk for chunk in self.read(number) if chunk.topic in self.topics)


def on_batches(work: Work) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The same for `mapInArrow` on a DataFrame with the columns RECORDS."""
    return lambda batches: work(chunk for batch in batches for chunk in chunks_of(batch))


def chunks_of(batch: pa.RecordBatch) -> Iterator[Chunk]:
    """The records of RECORDS."""
    topics, *columns = (column.to_pylist() for column in batch.columns)
    begin = 0
    while begin < len(topics):
        topic = topics[begin]
        is_last = topics[-1] == topic
        end = len(topics) if is_last else next(at for at in range(begin, len(topics)) if topics[at] != topic)
        yield Chunk(topic, list(zip(*(column[begin:end] for column in columns), strict=True)))
        begin = end


def batches_of(topic: str, records: Sequence[LogRecord]) -> Iterator[pa.RecordBatch]:
    """RECORDS of a topic's records."""
    begin = size = 0
    for at, (_, key, value) in enumerate(records, 1):
        size += len(key or b"") + len(value or b"")
        if size >= MOST_BYTES or at == len(records):
            offsets, keys, values = zip(*records[begin:at], strict=True)
            columns: Any = [[topic] * len(offsets), list(offsets), list(keys), list(values)]
            yield pa.RecordBatch.from_pydict(dict(zip(RECORDS_ARROW.names, columns, strict=True)), schema=RECORDS_ARROW)
            begin, size = at, 0


def _of_numbers(
    read: Callable[[int], Iterator[Chunk]], work: Work
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For `mapInArrow`: numbers of partitions → what is made of them."""
    return lambda batches: work(
        chunk for batch in batches for number in batch.column(0).to_pylist() for chunk in read(number)
    )
