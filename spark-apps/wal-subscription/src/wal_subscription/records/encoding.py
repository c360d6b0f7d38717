"""A row as a record: JSON that says which row it is, where it stands in the log, and what its columns have."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sparkjob.entry_rows import SCALARS, NotReadable, require_mutations, rows_of, scalar
from sparkjob.integrity.content import find_flaws
from sparkjob.integrity.findings import Kind
from wal_subscription.records.request import By, Sink
from wal_subscription.records.selection import Selection
from wal_subscription.records.snapshot import File
from walrecord import Entry, InvalidEntry, decode_entry
from walrecord.pb.wal_pb2 import ColumnSchema, JsonValue, Mutation, Value, WalEntry
from walrecord.region import table_id

TYPES: Mapping[int, str] = {number: name for name, number in ColumnSchema.DataType.items()}
"""Their names; one that this program does not know is a number."""
_OVERHEAD = 128
"""Of a record, and of a batch that has it alone."""
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class Row(NamedTuple):
    """A record for the topic of rows."""

    partition: int
    key: bytes
    value: bytes


class Placed(NamedTuple):
    """A row and where it stands; without one, the end of a file."""

    file: int
    row: int
    record: Row | None


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
        mutations = decoded(entry).mutations
        table = table_id(entry.region_id)
        place = {
            "tableId": table,
            "table": self.selection.names.get(table),
            "region": entry.region_id,
            "topic": self.topic,
            "offset": entry.entry_id,
        }
        partition = self._partition(table)
        rows = [Row(partition, *encoded) for encoded in _encoded(mutations, table, _encode(place)[1:-1])]
        if any(map(self.is_too_large, rows)):
            raise NotReadable(f"has a row that is larger than topic {self.sink.rows.name} takes")
        return rows

    def row_of_file(self, file: File, number: int, values: Mapping[str, object], types: Mapping[str, str]) -> Row:
        """Of a snapshot: `values` and `types` are those that the file has. It may be too large."""
        table = table_id(file.region)
        content = {
            "op": "put",
            "tableId": table,
            "table": self.selection.names.get(table),
            "region": file.region,
            "topic": self.topic,
            "offset": file.entry_id,
            "row": number,
            "sequence": file.sequence,
            "values": values,
            "types": {**types, **file.types},
            "snapshot": True,
            "file": file.name,
        }
        key = {"tableId": table, "key": {name: values[name] for name in sorted(file.key)}}
        return Row(self._partition(table), _encode(key).encode(), _encode(content).encode())

    def is_too_large(self, row: Row) -> bool:
        """Whether the topic of rows does not take it."""
        return len(row.key) + len(row.value) > self.sink.rows.most_bytes - _OVERHEAD

    def _partition(self, table: int) -> int:
        number = table if self.sink.by is By.TABLE else zlib.crc32(self.topic.encode())
        return number % self.sink.rows.partitions


def decoded(entry: Entry) -> WalEntry:
    """What an entry has, if all of it can be handed on.

    Raises:
        NotReadable: it cannot.
    """
    try:
        found = decode_entry(entry.payload)
    except InvalidEntry:
        raise NotReadable("is not a whole WalEntry") from None
    require_mutations(found)
    for flaw in find_flaws(found, entry.payload):
        if flaw.kind is Kind.MALFORMED_ENTRY:  # what is not known to this program may be new
            raise NotReadable(f"is malformed: {flaw.message}")
    return found


def _encoded(mutations: Iterable[Mutation], table: int, place: str) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of each row; what all of them have is encoded once, which halves the cost of a row."""
    number = 0
    for mutation in mutations:
        columns = mutation.rows.schema
        # Sorted: whoever writes rows may have columns in any order, and one key is one text.
        keys = sorted(column.column_name for column in columns if column.semantic_type != ColumnSchema.FIELD)
        types = _types(tuple((column.column_name, column.datatype) for column in columns))
        operation = "delete" if mutation.op_type == Mutation.DELETE else "put"
        head, tail = f'{{"op":"{operation}",{place},"row":', f',"types":{types}}}'
        for sequence, values in rows_of(mutation, value_of):
            key = _encode({name: values[name] for name in keys})
            value = f'{head}{number},"sequence":{sequence},"values":{_encode(values)}{tail}'
            yield f'{{"tableId":{table},"key":{key}}}'.encode(), value.encode()
            number += 1


@lru_cache(maxsize=1_000)
def _types(columns: tuple[tuple[str, int], ...]) -> str:
    """Of the columns, as JSON."""
    return _encode({name: TYPES.get(number, str(number)) for name, number in columns})


def value_of(value: Value) -> object:
    """A value as JSON has it."""
    kind = value.WhichOneof("data")
    if kind in _AS_IT_IS:
        return getattr(value, kind)
    return None if kind is None else _OTHERS.get(kind, scalar)(value)


def _decimal(value: Value) -> object:
    """Of what scale it is, only the table knows."""
    high, low = value.decimal128.hi, value.decimal128.lo & (2**64 - 1)
    return {"unscaled": (high << 64) + low}


def _interval(value: Value) -> object:
    found = value.interval_month_day_nano
    return {"months": found.months, "days": found.days, "nanoseconds": found.nanoseconds}


_OTHERS: Mapping[str, Callable[[Value], object]] = {
    "f32": lambda value: float_of(value.f32),
    "f64": lambda value: float_of(value.f64),
    "array": lambda value: [value_of(item) for item in value.array.items],
    "struct": lambda value: [value_of(item) for item in value.struct.items],
    "json": lambda value: _json(value.json),
    "decimal128": _decimal,
    "interval_year_month": lambda value: value.interval_year_month,
    "interval_day_time": lambda value: value.interval_day_time,
    "interval_month_day_nano": _interval,
}
"""Kinds that JSON has in another way, or not for all values."""
_AS_IT_IS = SCALARS - {"binary", *_OTHERS}


def float_of(number: float) -> float | str:
    """JSON has no number for three of them."""
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
            return float_of(value.f64)
        case kind:
            return getattr(value, kind)
