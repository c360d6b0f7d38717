"""A row as a record: JSON that says which row it is, where it stands in the log, and what its columns have."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sparkjob.entry_rows import NotReadable, require_mutations, rows_of, scalar
from sparkjob.integrity.content import find_flaws
from sparkjob.integrity.findings import Kind
from wal_subscription.records.request import By, Sink
from wal_subscription.records.selection import Selection
from walrecord import Entry, InvalidEntry, decode_entry
from walrecord.pb.wal_pb2 import ColumnSchema, JsonValue, Mutation, Value
from walrecord.region import table_id

_TYPES: Mapping[int, str] = {number: name for name, number in ColumnSchema.DataType.items()}
"""Their names; one that this program does not know is a number."""
_OVERHEAD = 128
"""Of a record, and of a batch that has it alone."""
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class Row(NamedTuple):
    """A record for the topic of rows."""

    partition: int
    key: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class Encoder:
    """Rows of one topic."""

    topic: str
    sink: Sink
    selection: Selection

    def rows(self, entry: Entry) -> list[Row]:
        """Of an entry, in its order.

        Raises:
            NotReadable: it gives no rows, or one that is too large.
        """
        try:
            decoded = decode_entry(entry.payload)
        except InvalidEntry:
            raise NotReadable("is not a whole WalEntry") from None
        require_mutations(decoded)
        for flaw in find_flaws(decoded, entry.payload):
            if flaw.kind is Kind.MALFORMED_ENTRY:  # what is not known to this program may be new
                raise NotReadable(f"is malformed: {flaw.message}")
        table = table_id(entry.region_id)
        place = {"tableId": table, "table": self.selection.names.get(table), "region": entry.region_id}
        partition, most = self._partition(table), self.sink.rows.most_bytes - _OVERHEAD
        written = {**place, "topic": self.topic, "offset": entry.entry_id}
        found = (row for mutation in decoded.mutations for row in _rows_of(mutation))
        rows = [Row(partition, *_encoded(row, written, number)) for number, row in enumerate(found)]
        if any(len(row.key) + len(row.value) > most for row in rows):
            raise NotReadable(f"has a row that is larger than topic {self.sink.rows.name} takes")
        return rows

    def _partition(self, table: int) -> int:
        number = table if self.sink.by is By.TABLE else zlib.crc32(self.topic.encode())
        return number % self.sink.rows.partitions


class _Found(NamedTuple):
    """A row of a mutation."""

    operation: str
    sequence: int
    key: dict[str, object]
    values: dict[str, object]
    types: dict[str, str]


def _rows_of(mutation: Mutation) -> Iterator[_Found]:
    columns = mutation.rows.schema
    operation = "delete" if mutation.op_type == Mutation.DELETE else "put"
    keys = [column.column_name for column in columns if column.semantic_type != ColumnSchema.FIELD]
    types = {column.column_name: _TYPES.get(column.datatype, str(column.datatype)) for column in columns}
    for sequence, values in rows_of(mutation, value_of):
        yield _Found(operation, sequence, {name: values[name] for name in keys}, values, types)


def _encoded(row: _Found, written: Mapping[str, object], number: int) -> tuple[bytes, bytes]:
    """Key and value of a record."""
    key = {"tableId": written["tableId"], "key": row.key}
    value = {
        "op": row.operation,
        **written,
        "row": number,
        "sequence": row.sequence,
        "values": row.values,
        "types": row.types,
    }
    try:
        return _encode(key).encode(), _encode(value).encode()
    except UnicodeEncodeError:
        raise NotReadable("has text that is no Unicode") from None


def value_of(value: Value) -> object:
    """A value as JSON has it."""
    kind = value.WhichOneof("data") or ""
    return _MADE_OF_OTHERS.get(kind, scalar)(value)


def _decimal(value: Value) -> object:
    """Of what scale it is, only the table knows."""
    high, low = value.decimal128.hi, value.decimal128.lo & (2**64 - 1)
    return {"unscaled": (high << 64) + low}


def _interval(value: Value) -> object:
    found = value.interval_month_day_nano
    return {"months": found.months, "days": found.days, "nanoseconds": found.nanoseconds}


_MADE_OF_OTHERS: Mapping[str, Callable[[Value], object]] = {
    "f32": lambda value: _float(value.f32),
    "f64": lambda value: _float(value.f64),
    "array": lambda value: [value_of(item) for item in value.array.items],
    "struct": lambda value: [value_of(item) for item in value.struct.items],
    "json": lambda value: _json(value.json),
    "decimal128": _decimal,
    "interval_year_month": lambda value: value.interval_year_month,
    "interval_day_time": lambda value: value.interval_day_time,
    "interval_month_day_nano": _interval,
}
"""Kinds that are no scalar of JSON."""


def _float(number: float) -> float | str:
    """JSON has no number for these three."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def _json(value: JsonValue) -> object:
    match value.WhichOneof("data"):
        case None:
            return None
        case "array":
            return [_json(item) for item in value.array.items]
        case "object":
            return {member.key: _json(member.value) for member in value.object.members}
        case "f64":
            return _float(value.f64)
        case kind:
            return getattr(value, kind)
