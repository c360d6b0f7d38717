"""Batches as kafka-python reads them, whose code is not ours."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some
from kafka.record.default_records import DefaultRecordBatch

from sparkjob.wire.batches import Batch, Producer, batches, nulls, to_bytes
from sparkjob.wire.records import Record, most_in_batch, size_of

CONTENTS = some.none() | some.binary(max_size=80)
HEADERS = some.none() | some.lists(some.tuples(some.text(max_size=3), CONTENTS), min_size=1, max_size=3)
RECORDS = some.lists(
    some.tuples(some.integers(0, 3) | some.just(1_200), some.integers(-(2**40), 2**42), CONTENTS, CONTENTS, HEADERS)
)
"""With the hole before each."""


def read(made: Iterable[Batch], position: int) -> list[Record]:
    """What Kafka would append at this offset."""
    records: list[Record] = []
    for batch in made:
        found = DefaultRecordBatch(to_bytes(batch, Producer(7, 1), position))
        assert found.validate_crc()
        assert (found.producer_id, found.producer_epoch, found.base_sequence) == (7, 1, position % 2**31)
        assert (found.records_count, found.last_offset_delta, found.magic) == (batch.count, batch.count - 1, 2)
        found = DefaultRecordBatch(to_bytes(plain(batch), Producer(7, 1), position))
        each = list(found)
        assert max(record.timestamp for record in each) == found.max_timestamp
        records += [
            Record(position + one.offset, one.timestamp, 1, one.key, one.value, one.headers or None) for one in each
        ]
        position += batch.count
    return records


def plain(batch: Batch) -> Batch:
    """Without compression."""
    records = batch.records
    if batch.attributes:
        records = pa.CompressedInputStream(pa.BufferReader(records), "zstd").read()
    return Batch(batch.count, batch.first_timestamp, batch.most_timestamp, 0, records)


@given(RECORDS, some.integers(100, 3_000), some.sampled_from([0, 2**31 - 2, 10**10]))
def test_every_record_is_at_its_offset_holes_are_null_and_no_batch_is_too_large(
    drawn: list[tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]],
    most_bytes: int,
    position: int,
) -> None:
    records, offset = list[Record](), position
    for hole, timestamp, key, value, headers in drawn:
        offset += hole
        records.append(Record(offset, timestamp, 1, key, value, headers))
        offset += 1
    made = list(batches(records, position, most_bytes))
    found = {record.offset: record for record in read(made, position)}
    assert sorted(found) == list(range(position, offset))
    for record in records:
        assert found.pop(record.offset) == record
    assert all((record.key, record.value, record.headers) == (None, None, None) for record in found.values())
    assert all(batch.size <= most_bytes or batch.count == 1 for batch in made)


@given(CONTENTS | some.just(b"x" * 900_000), CONTENTS, HEADERS)
def test_a_record_alone_needs_no_more_bytes_than_a_manifest_says(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]] | None
) -> None:
    record = Record(0, 2**42, 1, key, value, headers)
    (batch,) = batches([record], 0, 1)
    size = plain(batch).size
    assert batch.size <= size <= most_in_batch(record, size_of(record)) <= size + 20 + 8 * len(headers or ())


@given(some.integers(0, 130_000), some.integers(1_000, 10_000) | some.just(10**6))
def test_padding_is_as_many_nulls_and_no_batch_is_too_large(count: int, most_bytes: int) -> None:
    made = list(nulls(count, 5, most_bytes))
    assert sum(batch.count for batch in made) == count
    assert all(batch.size <= most_bytes or batch.count == 1 for batch in made)


def test_padding_is_read_as_nulls() -> None:
    records = read(nulls(1_234, 0), 10)
    assert records == [Record(10 + number, 0, 1, None, None, None) for number in range(1_234)]


def test_a_record_that_belongs_before_the_end_of_the_log_is_no_record() -> None:
    with pytest.raises(ValueError, match="offset 4 comes where 5 must be"):
        list(batches([Record(4, 0, 1, None, None, None)], 5, 1_000))
