"""Columns of every type of the log are columns of Parquet, exactly; what a column cannot have gives no rows."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkjob.entry_rows import NotReadable
from wal_subscription.records.selection import Selection
from wal_subscription.table import files
from wal_subscription.table.columns import name_in_file
from wal_subscription.table.encoding import Encoder
from wal_subscription.table.files import Files
from walrecord import Entry, encode_entry
from walrecord.pb.wal_pb2 import (
    ColumnSchema,
    Decimal128,
    IntervalMonthDayNano,
    JsonObject,
    JsonValue,
    ListValue,
    Mutation,
    Row,
    Rows,
    StructValue,
    Value,
    WalEntry,
)
from walrecord.region import region_id

TABLE, REGION = 1024, region_id(1024, 3)
PAGE = (Path(__file__).parents[1] / "contract/TABLE.md").read_text()
_JSON = JsonValue(object=JsonObject(members=[JsonObject.Member(key="a", value=JsonValue(i64=1))]))
TYPES: list[tuple[str, Value, pa.DataType, object]] = [
    ("BOOLEAN", Value(boolean=True), pa.bool_(), True),
    ("INT8", Value(i8=-128), pa.int8(), -128),
    ("INT16", Value(i16=2**15 - 1), pa.int16(), 2**15 - 1),
    ("INT32", Value(i32=-(2**31)), pa.int32(), -(2**31)),
    ("INT64", Value(i64=-(2**63)), pa.int64(), -(2**63)),
    ("UINT8", Value(u8=255), pa.uint8(), 255),
    ("UINT16", Value(u16=65_535), pa.uint16(), 65_535),
    ("UINT32", Value(u32=2**32 - 1), pa.uint32(), 2**32 - 1),
    ("UINT64", Value(u64=2**64 - 1), pa.uint64(), 2**64 - 1),
    ("FLOAT32", Value(f32=0.5), pa.float32(), 0.5),
    ("FLOAT64", Value(f64=float("-inf")), pa.float64(), float("-inf")),
    ("BINARY", Value(binary=b"\0\xff"), pa.binary(), b"\0\xff"),
    ("STRING", Value(text="é"), pa.string(), "é"),
    ("DATE", Value(date=-1), pa.date32(), -1),
    ("DATETIME", Value(datetime=5), pa.int64(), 5),
    ("TIMESTAMP_SECOND", Value(ts_s=-5), pa.timestamp("ms", "UTC"), -5_000),
    ("TIMESTAMP_MILLISECOND", Value(ts_ms=2**63 - 1), pa.timestamp("ms", "UTC"), 2**63 - 1),
    ("TIMESTAMP_MICROSECOND", Value(ts_us=-(2**63)), pa.timestamp("us", "UTC"), -(2**63)),
    ("TIMESTAMP_NANOSECOND", Value(ts_ns=2**63 - 1), pa.timestamp("ns", "UTC"), 2**63 - 1),
    ("TIME_SECOND", Value(time_s=86_399), pa.time32("ms"), 86_399_000),
    ("TIME_MILLISECOND", Value(time_ms=86_399_999), pa.time32("ms"), 86_399_999),
    ("TIME_MICROSECOND", Value(time_us=1), pa.time64("us"), 1),
    ("TIME_NANOSECOND", Value(time_ns=86_399_999_999_999), pa.time64("ns"), 86_399_999_999_999),
    ("INTERVAL_YEAR_MONTH", Value(interval_year_month=-3), pa.int32(), -3),
    ("INTERVAL_DAY_TIME", Value(interval_day_time=4), pa.int64(), 4),
    (
        "INTERVAL_MONTH_DAY_NANO",
        Value(interval_month_day_nano=IntervalMonthDayNano(months=1, days=-2, nanoseconds=3)),
        pa.struct([("months", pa.int32()), ("days", pa.int32()), ("nanoseconds", pa.int64())]),
        {"months": 1, "days": -2, "nanoseconds": 3},
    ),
    ("DECIMAL128", Value(decimal128=Decimal128(hi=-1, lo=-5)), pa.decimal128(38, 0), Decimal(-5)),
    ("JSON", Value(json=_JSON), pa.string(), '{"a":1}'),
    ("VECTOR", Value(binary=b"12"), pa.binary(), b"12"),
    ("LIST", Value(array=ListValue(items=[Value(i64=1), Value(text="x")])), pa.string(), '[1,"x"]'),
    ("STRUCT", Value(struct=StructValue(items=[Value(f64=1.0)])), pa.string(), "[1.0]"),
]


class Kept:
    """A bucket that keeps what is put."""

    def __init__(self) -> None:
        self.tables: list[pa.Table] = []

    def put(self, _: str, body: IO[bytes]) -> None:
        self.tables.append(pq.read_table(io.BytesIO(body.read())))


def mutation(columns: list[tuple[str, int]], *rows: list[Value], sequence: int = 7, delete: bool = False) -> Mutation:
    schema = [ColumnSchema(column_name=name, datatype=kind) for name, kind in columns]  # type: ignore[arg-type]
    operation = Mutation.DELETE if delete else Mutation.PUT
    wire = Rows(schema=schema, rows=[Row(values=values) for values in rows])
    return Mutation(op_type=operation, sequence=sequence, rows=wire)


def encoded(*mutations: Mutation, offset: int = 40) -> list[Any]:
    content = encode_entry(WalEntry(mutations=mutations))
    return list(Encoder(Selection(("*",), (), {})).rows(Entry(REGION, offset, content, offset)))


def written(*mutations: Mutation) -> list[pa.Table]:
    """What the files have, each as a plain reader finds it."""
    kept = Kept()
    made = Files(kept, "w/data", "wal_0-0", "wal_0")  # type: ignore[arg-type]
    for rows in encoded(*mutations):
        made.add(rows, "public.cpu")
    named = made.finish()
    assert [file.rows for file in named] == [table.num_rows for table in kept.tables]
    return kept.tables


def test_each_type_is_what_the_page_says_and_exact() -> None:
    columns = [(f"c{number}", ColumnSchema.DataType.Value(name)) for number, (name, *_) in enumerate(TYPES)]
    assert {name for name, *_ in TYPES} == set(ColumnSchema.DataType.keys())
    (table,) = written(mutation(columns, [value for _, value, _, _ in TYPES], [Value() for _ in TYPES]))
    for (column, _), (name, _, arrow, wanted) in zip(columns, TYPES, strict=True):
        field = table.schema.field(column)
        assert (field.type, field.metadata[b"seawall.type"]) == (arrow, name.encode())
        found = table.column(column).combine_chunks()
        if pa.types.is_temporal(arrow):
            found = found.view(pa.int32() if arrow.bit_width == 32 else pa.int64())
        assert found.to_pylist() == [wanted, None], name
    assert table.schema.metadata == {b"seawall.tableId": b"1024", b"seawall.table": b"public.cpu"}


def test_each_row_says_where_it_is_from() -> None:
    column = [("host", int(ColumnSchema.STRING))]
    (table,) = written(
        mutation(column, [Value(text="a")], [Value(text="b")], sequence=7),
        mutation(column, [Value(text="c")], sequence=9, delete=True),
    )
    ours = [(row["_row"], row["_sequence"], row["_op"], row["host"]) for row in table.to_pylist()]
    assert ours == [(0, 7, "put", "a"), (1, 8, "put", "b"), (2, 9, "delete", "c")]
    assert {(row["_topic"], row["_offset"], row["_region"]) for row in table.to_pylist()} == {("wal_0", 40, REGION)}
    assert "`_topic`, `_offset`, `_row`, `_sequence`, `_op`, `_region`" in PAGE


def test_another_type_of_a_column_is_another_file() -> None:
    found = written(
        mutation([("load", int(ColumnSchema.INT64))], [Value(i64=1)]),
        mutation([("load", int(ColumnSchema.FLOAT64))], [Value(f64=1.5)]),
        mutation([("load", int(ColumnSchema.INT64))], [Value(i64=2)]),
    )
    assert [table.column("load").to_pylist() for table in found] == [[1, 2], [1.5]]
    assert [table.column("_row").to_pylist() for table in found] == [[0, 2], [1]]


def test_many_rows_go_to_the_disk_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_WAITING_BYTES", 64)
    column = [("n", int(ColumnSchema.INT64))]
    (table,) = written(*(mutation(column, [Value(i64=number)], sequence=number) for number in range(100)))
    assert table.column("n").to_pylist() == list(range(100))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("host", "host"), ("_row", "__row"), ("__row", "___row"), ("row", "row"), ("_rows", "_rows"), ("", "")],
)
def test_a_column_that_is_called_as_one_of_ours_is_called_otherwise(name: str, wanted: str) -> None:
    assert name_in_file(name) == wanted


INT64, INT8, SECOND, TIME = (
    int(kind)
    for kind in (ColumnSchema.INT64, ColumnSchema.INT8, ColumnSchema.TIMESTAMP_SECOND, ColumnSchema.TIME_MILLISECOND)
)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (mutation([("a", INT64), ("a", INT64)], [Value(i64=1), Value(i64=1)]), "has two columns of one name"),
        (mutation([("a", 99)], [Value(i64=1)]), "has a column of type 99, which this program does not read"),
        (mutation([("a", INT64)], [Value(text="1")]), "has a value of type text in column a, which has another one"),
        (mutation([("a", INT8)], [Value(i8=128)]), "has a value in column a that is none of its type"),
        (mutation([("a", SECOND)], [Value(ts_s=2**60)]), "has a value in column a that is none of its type"),
        (mutation([("a", TIME)], [Value(time_ms=86_400_000)]), "has a value in column a that is none of its type"),
        (
            mutation([("a", int(ColumnSchema.DECIMAL128))], [Value(decimal128=Decimal128(hi=2**63 - 1, lo=0))]),
            "has a value in column a that is none of its type",
        ),
        (mutation([("a", INT64)], [Value(i64=1)], sequence=2**64 - 1), "has a sequence number that is too large"),
    ],
)
def test_what_no_file_can_have_gives_no_rows(bad: Mutation, sentence: str) -> None:
    with pytest.raises(NotReadable, match=sentence):
        encoded(bad)
