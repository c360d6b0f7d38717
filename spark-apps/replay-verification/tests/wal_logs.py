"""Logs as a database writes them: two regions that take turns, most entries in one record, some in several parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from walrecord import KEY_RESERVE, encode_entry, split
from walrecord.pb.wal_pb2 import ColumnSchema, Mutation, Row, Rows, Value, WalEntry

DATA = 4398046511104
"""A region whose entries are of one record each, but for every fifth one."""
OTHER = 4398046511105
PART_BYTES = 16
NOOP = (None, None)
_COLUMNS = (
    ("host", ColumnSchema.STRING, ColumnSchema.TAG),
    ("ts", ColumnSchema.TIMESTAMP_MILLISECOND, ColumnSchema.TIMESTAMP),
    ("load", ColumnSchema.INT64, ColumnSchema.FIELD),
)

Record = tuple[bytes | None, bytes | None]
"""Key and value; both None is a noop."""


class TableRow(NamedTuple):
    """A row of the test's table: host and ts are the key."""

    host: str
    ts: int
    load: int | None


def payload(sequence: int, *rows: TableRow, delete: bool = False) -> bytes:
    """An entry with one mutation."""
    schema = [ColumnSchema(column_name=name, datatype=kind, semantic_type=role) for name, kind, role in _COLUMNS]
    wire = [Row(values=[Value(text=row.host), Value(ts_ms=row.ts), _number(row.load)]) for row in rows]
    operation = Mutation.DELETE if delete else Mutation.PUT
    return encode_entry(
        WalEntry(mutations=[Mutation(op_type=operation, sequence=sequence, rows=Rows(schema=schema, rows=wire))])
    )


def records_of(region: int, content: bytes, *, in_parts: bool = False) -> list[Record]:
    """An entry as records."""
    room = KEY_RESERVE + (PART_BYTES if in_parts else 1 << 20)
    return [(record.key, record.value) for record in split(region, content, room)]


@dataclass(frozen=True, slots=True)
class Written:
    """An entry of a log: the offsets of its records are [first, last]."""

    region: int
    sequence: int
    rows: tuple[TableRow, ...]
    first: int
    last: int


class Log:
    """A log that begins with a noop; its records' places are their offsets, as long as nothing is taken away before."""

    def __init__(self) -> None:
        self.records: list[Record] = [NOOP]
        self.entries: list[Written] = []
        self._next: dict[int, int] = {}

    def write(self, region: int, *rows: TableRow, in_parts: bool = False) -> Written:
        """Appends an entry."""
        sequence = self._next.get(region, 1)
        self._next[region] = sequence + len(rows)
        first = len(self.records)
        self.records += records_of(region, payload(sequence, *rows), in_parts=in_parts)
        written = Written(region, sequence, rows, first, len(self.records) - 1)
        self.entries.append(written)
        return written

    @property
    def end(self) -> int:
        """The offset after the last one."""
        return len(self.records)


def clean_log(entries: int = 30, regions: tuple[int, int] = (DATA, OTHER)) -> Log:
    """Every fifth entry of the first region has parts; keys come again after ten entries, so later rows win."""
    log = Log()
    for number in range(entries):
        region = regions[number % 2]
        rows = (
            TableRow(f"host-{number % 10}", 1_000, number),
            TableRow(f"host-{number % 10}", 2_000 + number, -number),
        )
        log.write(region, *rows, in_parts=number % 10 == 4)
    return log


def _number(value: int | None) -> Value:
    return Value() if value is None else Value(i64=value)
