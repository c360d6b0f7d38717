"""Columns of a table as Parquet has them: which type each is, and how a value of the log becomes one of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from sparkjob.entry_rows import NotReadable
from wal_subscription.records.encoding import TYPES, value_of
from walrecord.pb.wal_pb2 import ColumnSchema, Mutation, Value

DataType = ColumnSchema.DataType
_UTC = "UTC"
_DAY_SECONDS = 86_400
_MOST_SECONDS = (2**63 - 1) // 1_000
"""Parquet has no seconds: they become milliseconds."""
_MOST_DECIMAL = 10**38 - 1
json_of = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class Column(NamedTuple):
    """A column as a mutation has it: by all of this, what it is in a file."""

    name: str
    datatype: int
    semantic: int


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of the log.

    Attributes:
        value: the field of `Value` that has it; None: any.
        arrow: its type in a file.
        stored: the numbers that make it up, where they are given as such.
        least, most: what it may be.
        factor: so many of the file's make one of the log's.
        made: how a value becomes one of the file; None: as it is, but for the factor.
    """

    value: str | None
    arrow: pa.DataType
    stored: pa.DataType | None = None
    least: int | None = None
    most: int | None = None
    factor: int = 1
    made: Callable[[Value], object] | None = None

    def read(self, name: str, values: Sequence[Value]) -> list[Any]:
        """The values of a column.

        Raises:
            NotReadable: one is of another type, or is none that a file can have.
        """
        found: list[Any] = [self._one(name, value) for value in values]
        if self.least is not None and self.most is not None:
            for value in found:
                if value is not None and not self.least <= value <= self.most:
                    raise NotReadable(f"has a value in column {name} that is none of its type")
        return found

    def _one(self, name: str, value: Value) -> object:
        kind = value.WhichOneof("data")
        if kind is None:
            return None
        if self.value is None:
            return value.text if kind == "text" else json_of(value_of(value))
        if kind != self.value:
            raise NotReadable(f"has a value of type {kind} in column {name}, which has another one")
        if self.made is not None:
            return self.made(value)
        given = getattr(value, kind)
        return given if self.factor == 1 else given * self.factor

    def array(self, values: Sequence[Any]) -> pa.Array:
        """As a file has them."""
        if self.stored is None:
            return pa.array(values, self.arrow)
        return pa.array(values, self.stored).view(self.arrow)


def _integer(value: str, arrow: pa.DataType, bits: int, *, signed: bool = True) -> Kind:
    least = -(2 ** (bits - 1)) if signed else 0
    return Kind(value, arrow, least=least, most=least + 2**bits - 1)


def _time(value: str, unit: str, number: int) -> Kind:
    arrow, stored = (pa.time32(unit), pa.int32()) if unit == "ms" else (pa.time64(unit), pa.int64())
    return Kind(value, arrow, stored, 0, _DAY_SECONDS * number - 1)


def _timestamp(value: str, unit: str) -> Kind:
    return Kind(value, pa.timestamp(unit, _UTC), pa.int64())


def _decimal(value: Value) -> Decimal:
    return Decimal((value.decimal128.hi << 64) + (value.decimal128.lo & (2**64 - 1)))


_KINDS: Mapping[int, Kind] = {
    DataType.BOOLEAN: Kind("boolean", pa.bool_()),
    DataType.INT8: _integer("i8", pa.int8(), 8),
    DataType.INT16: _integer("i16", pa.int16(), 16),
    DataType.INT32: Kind("i32", pa.int32()),
    DataType.INT64: Kind("i64", pa.int64()),
    DataType.UINT8: _integer("u8", pa.uint8(), 8, signed=False),
    DataType.UINT16: _integer("u16", pa.uint16(), 16, signed=False),
    DataType.UINT32: Kind("u32", pa.uint32()),
    DataType.UINT64: Kind("u64", pa.uint64()),
    DataType.FLOAT32: Kind("f32", pa.float32()),
    DataType.FLOAT64: Kind("f64", pa.float64()),
    DataType.BINARY: Kind("binary", pa.binary()),
    DataType.STRING: Kind("text", pa.string()),
    DataType.DATE: Kind("date", pa.date32(), pa.int32()),
    DataType.DATETIME: Kind("datetime", pa.int64()),
    DataType.TIMESTAMP_SECOND: Kind(
        "ts_s",
        pa.timestamp("ms", _UTC),
        pa.int64(),
        -_MOST_SECONDS * 1_000,
        _MOST_SECONDS * 1_000,
        1_000,
    ),
    DataType.TIMESTAMP_MILLISECOND: _timestamp("ts_ms", "ms"),
    DataType.TIMESTAMP_MICROSECOND: _timestamp("ts_us", "us"),
    DataType.TIMESTAMP_NANOSECOND: _timestamp("ts_ns", "ns"),
    DataType.TIME_SECOND: Kind("time_s", pa.time32("ms"), pa.int32(), 0, _DAY_SECONDS * 1_000 - 1, 1_000),
    DataType.TIME_MILLISECOND: _time("time_ms", "ms", 1_000),
    DataType.TIME_MICROSECOND: _time("time_us", "us", 1_000_000),
    DataType.TIME_NANOSECOND: _time("time_ns", "ns", 1_000_000_000),
    DataType.INTERVAL_YEAR_MONTH: Kind("interval_year_month", pa.int32()),
    DataType.INTERVAL_DAY_TIME: Kind("interval_day_time", pa.int64()),
    DataType.INTERVAL_MONTH_DAY_NANO: Kind(
        "interval_month_day_nano",
        pa.struct([("months", pa.int32()), ("days", pa.int32()), ("nanoseconds", pa.int64())]),
        made=value_of,
    ),
    DataType.DECIMAL128: Kind("decimal128", pa.decimal128(38, 0), None, -_MOST_DECIMAL, _MOST_DECIMAL, made=_decimal),
    DataType.JSON: Kind(None, pa.string()),
    DataType.VECTOR: Kind("binary", pa.binary()),
    DataType.LIST: Kind(None, pa.string()),
    DataType.STRUCT: Kind(None, pa.string()),
}
_SEMANTICS: Mapping[int, str] = {number: name for name, number in ColumnSchema.SemanticType.items()}
OURS = pa.schema(
    [
        ("_topic", pa.string()),
        ("_offset", pa.int64()),
        ("_row", pa.int32()),
        ("_sequence", pa.uint64()),
        ("_op", pa.string()),
        ("_region", pa.uint64()),
        ("_file", pa.int32()),
    ]
)
"""What each row has beside its own columns."""
_RESERVED = frozenset(OURS.names)


def columns_of(mutation: Mutation) -> tuple[Column, ...]:
    """Its columns.

    Raises:
        NotReadable: this program does not know the type of one, or two have one name.
    """
    return _checked(
        tuple((column.column_name, column.datatype, column.semantic_type) for column in mutation.rows.schema)
    )


@lru_cache(maxsize=1_000)
def _checked(found: tuple[tuple[str, int, int], ...]) -> tuple[Column, ...]:
    columns = tuple(Column(*each) for each in found)
    if len({column.name for column in columns}) < len(columns):
        raise NotReadable("has two columns of one name")
    for column in columns:
        if column.datatype not in _KINDS:
            raise NotReadable(f"has a column of type {column.datatype}, which this program does not read")
    return columns


def kind_of(column: Column) -> Kind:
    """Of a column that `columns_of` has let pass."""
    return _KINDS[column.datatype]


def name_in_file(name: str) -> str:
    """What a column is called in a file: one that is called as one of ours has one more underscore before it."""
    return f"_{name}" if f"_{name.lstrip('_')}" in _RESERVED and name.startswith("_") else name


def schema_of(columns: Sequence[Column], table_id: int, table: str | None) -> pa.Schema:
    """Of a file with these columns."""
    fields = [
        pa.field(
            name_in_file(column.name),
            kind_of(column).arrow,
            metadata={
                "seawall.type": TYPES[column.datatype],
                "seawall.semantic": _SEMANTICS.get(column.semantic, str(column.semantic)),
            },
        )
        for column in columns
    ]
    about = {"seawall.tableId": str(table_id), **({} if table is None else {"seawall.table": table})}
    return pa.schema([*OURS, *fields], metadata=about)
