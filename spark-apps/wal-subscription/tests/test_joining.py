"""Small batches become one, and every record stays what and where it is."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkjob.wire.batches import batches, varint
from sparkjob.wire.records import Record
from wal_subscription.joining import MOST_JOINED_BYTES, MOST_SMALL_BYTES, _number_at, _plain, joined
from wal_subscription.log_batches import LogBatch

CODECS = {0: None, 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
Content = tuple[int, bytes]
"""Of a record: its timestamp, and all behind its deltas."""


def compressed_as(batch: LogBatch, codec: int) -> LogBatch:
    """The same batch by another codec."""
    name = CODECS[codec]
    plain = _plain(batch)
    if name in {None, "snappy"}:
        return batch._replace(attributes=codec, records=plain)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, name) as stream:
        stream.write(plain)
    return batch._replace(attributes=codec, records=sink.getvalue().to_pybytes())


def log_of(*groups: list[Record], codec: int = 0) -> list[LogBatch]:
    """A batch of each group."""
    found = []
    for group in groups:
        (made,) = batches(group, group[0].offset, 1 << 20)
        kept = LogBatch(
            group[0].offset, group[-1].offset + 1, made.attributes, made.first_timestamp, made.most_timestamp,
            made.count, made.records, 0,
        )  # fmt: skip
        found.append(compressed_as(kept, codec))
    return found


def contents(log: list[LogBatch]) -> list[tuple[int, Content]]:
    """Each record with its offset."""
    found = []
    for batch in log:
        plain, at = _plain(batch), 0
        for number in range(batch.number):
            length, begin = _number_at(plain, at)
            time, after = _number_at(plain, begin + 1)
            offset, content = _number_at(plain, after)
            at = begin + length
            assert offset == number
            found.append((batch.base + offset, (batch.first_timestamp + time, plain[content:at])))
        assert at == len(plain)
    return found


RECORDS = st.tuples(
    st.integers(0, 2**41),
    st.none() | st.binary(max_size=40),
    st.none() | st.binary(max_size=300),
    st.none() | st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), min_size=1, max_size=3),
)


@given(st.lists(st.lists(RECORDS, min_size=1, max_size=5), max_size=9), st.sampled_from([0, 1, 3, 4]))
def test_records_stay_what_and_where_they_are(
    given_groups: list[list[tuple[int, None, None, None]]], codec: int
) -> None:
    offset, groups = 7, []
    for group in given_groups:
        groups.append([Record(offset + at, time, 1, *rest) for at, (time, *rest) in enumerate(group)])
        offset += len(group)
    log = log_of(*groups, codec=codec)
    made = list(joined(log))
    assert contents(made) == contents(log)
    assert all(earlier.end == later.base for earlier, later in pairwise(made))
    assert len(made) == min(1, len(log))
    if made:
        assert made[0].passes
        assert made[0].most_timestamp == max(batch.most_timestamp for batch in log)


def small(offset: int, value: bytes = b"v") -> list[Record]:
    return [Record(offset, 1_000 + offset, 1, b"k", value, None)]


def shape(log: list[LogBatch]) -> list[tuple[int, int]]:
    return [(batch.base, batch.end) for batch in log]


def test_what_is_large_has_holes_or_does_not_pass_is_left_as_it_is() -> None:
    log = log_of(small(0), small(1), small(2, b"".join(b"%d" % n for n in range(MOST_SMALL_BYTES))), small(3), small(4))
    assert shape(list(joined(log))) == [(0, 2), (2, 3), (3, 5)]
    assert list(joined(log))[1] == log[2]
    holes = log_of(small(0), small(1), small(5), small(6))
    assert shape(list(joined(holes))) == [(0, 2), (5, 7)]
    marker = log_of(small(0), small(1), small(2), small(3), small(4))
    marker[2] = marker[2]._replace(attributes=0x30)
    assert shape(list(joined(marker))) == [(0, 2), (2, 3), (3, 5)]
    assert shape(list(joined(log_of(small(0))))) == [(0, 1)]
    assert list(joined([])) == []


def test_batches_with_snappy_are_left_as_they_are() -> None:
    log = log_of(small(0), small(1), codec=2)
    assert list(joined(log)) == log


def test_a_joined_batch_does_not_grow_beyond_its_bound() -> None:
    log = log_of(*(small(offset, b"x%d" % offset * 200) for offset in range(900)))
    made = list(joined(log))
    assert contents(made) == contents(log)
    assert 2 <= len(made) <= 5
    assert sum(batch.size for batch in log) > MOST_JOINED_BYTES


@pytest.mark.parametrize("number", [0, 1, -1, 63, -64, 64, 300, -8192, 2**31, -(2**41), 2**62])
def test_a_varint_is_read_as_it_is_written(number: int) -> None:
    assert _number_at(b"ab" + varint(number) + b"c", 2) == (number, 2 + len(varint(number)))
