"""Whole entries out of records, for what is compared entry by entry: those of one record, and those of parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from sparkjob.integrity.schemas import RECORDS
from sparkjob.log_records import Chunk, LogRecord, LogRecords, batches_of
from walrecord import Full, Reassembler, RecordError, RecordKey, decode_key


class LogEntry(NamedTuple):
    """An entry with its place."""

    topic: str
    region: int
    entry_id: int
    payload: bytes


def parts(records: LogRecords) -> DataFrame:
    """RECORDS that hold parts of entries, each topic's together and in the order of the log."""
    return records.map(_parts, RECORDS).repartition("topic").sortWithinPartitions("topic", "offset")


def whole_entries_of(chunks: Iterable[Chunk]) -> Iterator[list[LogEntry]]:
    """The entries of records that hold whole ones."""
    for topic, records in chunks:
        yield [
            LogEntry(topic, decoded.region_id, offset, value)
            for offset, key, value in records
            if (decoded := _key_of(key)) is not None and value is not None and isinstance(decoded.type, Full)
        ]


def entries_of_parts(chunks: Iterable[Chunk], *, drops_repeats: bool) -> Iterator[list[LogEntry]]:
    """The entries of records that hold parts, each topic's together and in the order of the log."""
    reassemblers: dict[str, Reassembler] = {}
    for topic, records in chunks:
        found = []
        for offset, key, value in records:
            if _key_of(key) is None:
                continue
            reassembler = reassemblers.setdefault(topic, Reassembler(drops_repeats=drops_repeats))
            entry = reassembler.feed(offset, key, value).entry
            if entry is not None:
                found.append(LogEntry(topic, entry.region_id, entry.entry_id, entry.payload))
        yield found


def _parts(chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """Records → RECORDS of those that hold parts of entries."""
    for topic, records in chunks:
        yield from batches_of(topic, [each for each in records if _is_part(each)])


def _is_part(record: LogRecord) -> bool:
    _, key, value = record
    decoded = _key_of(key)
    return decoded is not None and value is not None and not isinstance(decoded.type, Full)


@lru_cache(maxsize=10_000)
def _key_of(key: bytes | None) -> RecordKey | None:
    try:
        return None if key is None else decode_key(key)
    except RecordError:
        return None  # Integrity tells it
