"""Tables: columns, partition rules, and their JSON form in etcd and in manifests; rows as tables of Arrow."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

import pyarrow as pa

from refdb.errors import invalid

Value = str | int | float | bool | None
Row = tuple[Value, ...]
"""Values in the order of the table's columns."""


class ColumnType(StrEnum):
    """Types, by the names that GreptimeDB prints."""

    STRING = "String"
    INT32 = "Int32"
    INT64 = "Int64"
    UINT64 = "UInt64"
    FLOAT64 = "Float64"
    BOOLEAN = "Boolean"
    TIMESTAMP = "TimestampMillisecond"


_ARROW = {
    ColumnType.STRING: pa.string(),
    ColumnType.INT32: pa.int32(),
    ColumnType.INT64: pa.int64(),
    ColumnType.UINT64: pa.uint64(),
    ColumnType.FLOAT64: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.TIMESTAMP: pa.int64(),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `default_now` stands for DEFAULT current_timestamp()."""

    name: str
    type: ColumnType
    default_now: bool = False

    def array(self, values: Sequence[Value]) -> Any:
        """The values as this column keeps them; one of another type, or one that does not fit, is refused."""
        try:
            return pa.array(values, _ARROW[self.type])
        except (pa.ArrowException, OverflowError) as error:
            raise invalid(f"column {self.name} is {self.type}: {error}") from None


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns of a table; a row is known by its primary key and its time."""

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    time_index: str

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    def index(self, name: str) -> int:
        """Where a column stands."""
        try:
            return self.names.index(name)
        except ValueError:
            raise invalid(f"no column {name}") from None

    def key_indexes(self) -> tuple[int, ...]:
        """Where the columns stand that make rows the same: primary key, then time index."""
        return tuple(self.index(name) for name in (*self.primary_key, self.time_index))

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Reads what `asdict` made."""
        columns = tuple(Column(c["name"], ColumnType(c["type"]), c["default_now"]) for c in data["columns"])
        return cls(columns, tuple(data["primary_key"]), data["time_index"])


@dataclass(frozen=True, slots=True)
class RangePartitions:
    """PARTITION BY RANGE COLUMNS over one column: a region holds what is below its bound and not below the one before.

    NULL goes to the first region, as in MySQL. No column means one region. The last bound is always MAXVALUE.
    """

    column: str | None = None
    bounds: tuple[str | int, ...] = ()

    @property
    def count(self) -> int:
        """How many regions."""
        return len(self.bounds) + 1

    def place(self, value: Value) -> int:
        """The number, from 0, of the region that holds rows with this value."""
        return 0 if value is None else bisect_right(self.bounds, value)


@dataclass(frozen=True, slots=True)
class Table:
    """A table as `__table_info` keeps it."""

    table_id: int
    name: str
    schema: Schema
    partitions: RangePartitions = RangePartitions()

    def region_of(self, row: Row) -> int:
        """The number, from 0, of the region that holds the row."""
        column = self.partitions.column
        return 0 if column is None else self.partitions.place(row[self.schema.index(column)])

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Reads what `asdict` made."""
        partitions = RangePartitions(data["partitions"]["column"], tuple(data["partitions"]["bounds"]))
        return cls(data["table_id"], data["name"], Schema.from_json(data["schema"]), partitions)


def checked_table(table: Table) -> Table:
    """Refuses a table that contradicts itself."""
    schema, partitions = table.schema, table.partitions
    if len(set(schema.names)) != len(schema.names):
        raise invalid("two columns have the same name")
    if schema.columns[schema.index(schema.time_index)].type is not ColumnType.TIMESTAMP:
        raise invalid("TIME INDEX must be a TIMESTAMP column")
    for name in schema.primary_key:
        schema.index(name)
    if partitions.column is not None:
        column = schema.columns[schema.index(partitions.column)]
        column.array(partitions.bounds)
        if any(a >= b for a, b in zip(partitions.bounds, partitions.bounds[1:], strict=False)):  # type: ignore[operator]
            raise invalid("bounds of partitions must rise")
    return table


def arrow_table(columns: Sequence[Column], rows: Iterable[Row]) -> Any:
    """Rows as a table of Arrow, for files and queries; what does not fit its column is refused."""
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [column.array(of_column) for column, of_column in zip(columns, values, strict=True)]
    return pa.table(arrays, names=[column.name for column in columns])


def rows_of(table: Any) -> list[Row]:
    """A table's rows."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
