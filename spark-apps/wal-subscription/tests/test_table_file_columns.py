"""Columns of a snapshot's files have the types that the log would have; values that they cannot have are told."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from sparkjob.entry_rows import NotReadable
from sparkjob.errors import Refused
from wal_subscription.records.snapshot import File
from wal_subscription.table.columns import Column, kind_of
from wal_subscription.table.file_columns import array_of, columns_of_file
from walrecord.pb.wal_pb2 import ColumnSchema

UTC_MS = pa.timestamp("ms", "UTC")


def made(array: pa.Array, called: str | None, key: tuple[str, ...] = ()) -> tuple[Column, pa.Array]:
    """The column, and its values."""
    file = File("a", "wal_0", 0, 1, 9, ("x",), key, {} if called is None else {"x": called}, 4)
    (column,) = columns_of_file(file, [array.type])
    return column, array_of(column, array)


def of_type(value: Any, stored: pa.DataType, arrow: pa.DataType) -> pa.Array:
    """As a file of the bucket has it."""
    return pa.array([value, None], stored).view(arrow)


TYPES: list[tuple[Any, pa.DataType, str | None, pa.Array]] = [
    (1, pa.int64(), "TIMESTAMP_MILLISECOND", of_type(1, pa.int64(), UTC_MS)),
    (2, pa.int64(), "TIMESTAMP_SECOND", of_type(2_000, pa.int64(), UTC_MS)),
    (3, pa.int64(), "TIMESTAMP_NANOSECOND", of_type(3, pa.int64(), pa.timestamp("ns", "UTC"))),
    (4, pa.int32(), "DATE", of_type(4, pa.int32(), pa.date32())),
    (86_399, pa.int64(), "TIME_SECOND", of_type(86_399_000, pa.int32(), pa.time32("ms"))),
    (5, pa.int64(), "TIME_MICROSECOND", of_type(5, pa.int64(), pa.time64("us"))),
    (200, pa.int16(), "UINT8", pa.array([200, None], pa.uint8())),
    (Decimal(2**64 - 1), pa.decimal128(20, 0), None, pa.array([2**64 - 1, None], pa.uint64())),
    (Decimal(5), pa.decimal128(38, 0), None, pa.array([Decimal(5), None], pa.decimal128(38, 0))),
    (2**62, pa.int64(), "DECIMAL128", pa.array([Decimal(2**62), None], pa.decimal128(38, 0))),
    (1.5, pa.float64(), "FLOAT32", pa.array([1.5, None], pa.float32())),
    (1.5, pa.float64(), None, pa.array([1.5, None], pa.float64())),
    (True, pa.bool_(), None, pa.array([True, None])),
    (b"x", pa.binary(), None, pa.array([b"x", None])),
    (b"v", pa.binary(), "VECTOR", pa.array([b"v", None])),
    ("a", pa.string(), None, pa.array(["a", None])),
    (7, pa.int8(), None, pa.array([7, None], pa.int8())),
    (7, pa.int64(), "INTERVAL_YEAR_MONTH", pa.array([7, None], pa.int32())),
    (7, pa.int64(), "DATETIME", pa.array([7, None], pa.int64())),
    (b"x", pa.binary(), "JSON", pa.array(['{"hex":"78"}', None])),
    ('{"a":1}', pa.string(), "JSON", pa.array(['{"a":1}', None])),
    (float("nan"), pa.float64(), "JSON", pa.array(['"NaN"', None])),
]


@pytest.mark.parametrize(("value", "arrow", "called", "wanted"), TYPES)
def test_a_column_has_the_type_that_the_log_would_have(
    value: Any, arrow: pa.DataType, called: str | None, wanted: pa.Array
) -> None:
    column, found = made(pa.array([value, None], arrow), called)
    assert (found.type, found) == (wanted.type, wanted)
    assert kind_of(column).arrow == wanted.type
    assert column.semantic == ColumnSchema.FIELD


def test_the_key_is_of_tags_and_a_time() -> None:
    numbers = pa.array([1])
    assert made(numbers, "INT64", ("x",))[0].semantic == ColumnSchema.TAG
    assert made(numbers, "TIMESTAMP_SECOND", ("x",))[0].semantic == ColumnSchema.TIMESTAMP
    assert made(numbers, "TIMESTAMP_SECOND")[0].semantic == ColumnSchema.FIELD


@pytest.mark.parametrize(
    ("array", "called"),
    [
        (pa.array([300], pa.int16()), "UINT8"),
        (pa.array([86_400]), "TIME_SECOND"),
        (pa.array([2**62]), "TIMESTAMP_SECOND"),
        (pa.array([2**40]), "INTERVAL_YEAR_MONTH"),
        (pa.array([Decimal(-1)], pa.decimal128(20, 0)), None),
    ],
)
def test_a_value_that_is_none_of_its_type_is_not_readable(array: pa.Array, called: str | None) -> None:
    with pytest.raises(NotReadable, match="has a value in column x that is none of its type"):
        made(array, called)


@pytest.mark.parametrize(
    ("array", "called", "said"),
    [
        (pa.array(["a"]), "INT64", "the snapshot calls column x INT64, and its files have it as string"),
        (pa.array([1]), "STRING", "the snapshot calls column x STRING, and its files have it as int64"),
        (pa.array([1.5]), "INT64", "the snapshot calls column x INT64, and its files have it as double"),
        (pa.array([1]), "INTERVAL_MONTH_DAY_NANO", "and its files have it as int64"),
        (pa.array([1]), "MONEY", "the snapshot calls column x MONEY, which this program does not know"),
    ],
)
def test_a_type_that_a_file_cannot_have_is_refused(array: pa.Array, called: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        made(array, called)
