"""Tables: columns, partition rules, and their JSON form in etcd and in manifests."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

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


_PYTHON: dict[ColumnType, type] = {
    ColumnType.STRING: str,
    ColumnType.INT32: int,
    ColumnType.INT64: int,
    ColumnType.UINT64: int,
    ColumnType.FLOAT64: float,
    ColumnType.BOOLEAN: bool,
    ColumnType.TIMESTAMP: int,
}
_SIGNED = range(-(2**63), 2**63)
_RANGES = {
    ColumnType.INT32: range(-(2**31), 2**31),
    ColumnType.INT64: _SIGNED,
    ColumnType.UINT64: range(2**64),
    ColumnType.TIMESTAMP: _SIGNED,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `default_now` stands for DEFAULT current_timestamp()."""

    name: str
    type: ColumnType
    default_now: bool = False

    def check(self, value: Value) -> Value:
        """The value as this column keeps it; one of another type is refused."""
        if value is None:
            return None
        if self.type is ColumnType.FLOAT64 and type(value) is int:
            return float(value)
        if type(value) is not _PYTHON[self.type]:
            raise invalid(f"{value!r} is not a {self.type} (column {self.name})")
        if isinstance(value, int) and self.type in _RANGES and value not in _RANGES[self.type]:
            raise invalid(f"{value} does not fit {self.type} (column {self.name})")
        return value


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
        if any(column.check(bound) is None for bound in partitions.bounds):
            raise invalid("a bound cannot be NULL")
        if any(a >= b for a, b in zip(partitions.bounds, partitions.bounds[1:], strict=False)):  # type: ignore[operator]
            raise invalid("bounds of partitions must rise")
    return table
