"""Whole entries out of RECORDS, for what is compared entry by entry: those of one record, and those of parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from walrecord import Full, Reassembler, RecordError, RecordKey, decode_key


class LogEntry(NamedTuple):
    """An entry with its place."""

    topic: str
    region: int
    entry_id: int
    payload: bytes


def whole_entries(records: DataFrame) -> DataFrame:
    """The records that hold a whole entry."""
    return records.where(F.col("key").cast("string").contains('"tp":"Full"'))


def parts(records: DataFrame) -> DataFrame:
    """The records that hold parts of entries, each topic's in the order of the log."""
    loose = records.where(~F.col("key").cast("string").contains('"tp":"Full"') & F.col("value").isNotNull())
    return loose.repartition("topic").sortWithinPartitions("topic", "offset")


def whole_entries_of(batches: Iterable[pa.RecordBatch]) -> Iterator[list[LogEntry]]:
    """The entries of RECORDS that hold whole ones, batch by batch."""
    for batch in batches:
        yield [
            LogEntry(topic, decoded.region_id, offset, value)
            for topic, offset, key, value in _records(batch)
            if (decoded := _key_of(key)) is not None and value is not None and isinstance(decoded.type, Full)
        ]


def entries_of_parts(batches: Iterable[pa.RecordBatch], *, drops_repeats: bool) -> Iterator[list[LogEntry]]:
    """The entries of RECORDS that hold parts, each topic's together and in the order of the log."""
    reassemblers: dict[str, Reassembler] = {}
    for batch in batches:
        found = []
        for topic, offset, key, value in _records(batch):
            if _key_of(key) is None:
                continue
            reassembler = reassemblers.setdefault(topic, Reassembler(drops_repeats=drops_repeats))
            entry = reassembler.feed(offset, key, value).entry
            if entry is not None:
                found.append(LogEntry(topic, entry.region_id, entry.entry_id, entry.payload))
        yield found


def _records(batch: pa.RecordBatch) -> Iterator[tuple[str, int, bytes | None, bytes | None]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


@lru_cache(maxsize=10_000)
def _key_of(key: bytes | None) -> RecordKey | None:
    try:
        return None if key is None else decode_key(key)
    except RecordError:
        return None  # Integrity tells it
