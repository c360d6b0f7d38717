"""Rows as they can be compared wherever they come from: the key as JSON, and a hash of all columns.

JSON tells 1, 1.0, true and "1" apart, and shows a person which row differs. A deletion has no hash.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import pyarrow as pa

from replay_verification.schemas import ROWS_ARROW, signed
from walrecord import Full, InvalidEntry, Reassembler, RecordError, RecordKey, decode_entry, decode_key
from walrecord.pb.wal_pb2 import Mutation, Value, WalEntry

_TIMES = ("date", "datetime", "ts_s", "ts_ms", "ts_us", "ts_ns", "time_s", "time_ms", "time_us", "time_ns")
_NUMBERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64")
_SCALARS = frozenset((*_TIMES, *_NUMBERS, "boolean", "binary", "text"))
_encode = json.JSONEncoder(separators=(",", ":")).encode
"""json.dumps would make an encoder for each row, which takes longer than the row."""
Rows = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]


class Role(NamedTuple):
    """What a file is in a comparison: rows that the log adds to (expected), or rows that are there (found)."""

    topic: str
    region: int
    cut: int
    is_found: bool
    position: int
    """Before all of the log: negative, later files later."""


class LogRegion(NamedTuple):
    """A region's columns and the cuts between which its entries count, rising; the first one only bounds."""

    columns: tuple[str, ...]
    key: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    """(older, newer), rising; an entry of `older < id ≤ newer` counts for that pair."""


class _NotComparable(Exception):  # noqa: N818 - a reason, not an error of ours
    """An entry that this program cannot turn into rows."""


def rows_of_files(roles: Mapping[str, Sequence[Role]], columns: Sequence[str], key: Sequence[str]) -> Rows:
    """For `mapInArrow`: (file, columns …) → ROWS; a row counts once for each role of its file."""
    keys = [columns.index(name) for name in key]

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            files, *values = (column.to_pylist() for column in batch.columns)
            rows = []
            for file, row in zip(files, zip(*values, strict=True), strict=True):
                content = [_plain(value) for value in row]
                text, hashed = _text([content[index] for index in keys]), _hash(content)
                rows += [_row(role, role.position, None, text, hashed) for role in _roles_of(file, roles)]
            yield pa.RecordBatch.from_pylist(rows, ROWS_ARROW)

    return read


def rows_of_log(regions: Mapping[str, Mapping[int, LogRegion]]) -> Rows:
    """For `mapInArrow`: RECORDS that hold whole entries → ROWS."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows: list[dict[str, Any]] = []
            for topic, offset, key, value in _records(batch):
                decoded = _key_of(key)
                if decoded is None or value is None or not isinstance(decoded.type, Full):
                    continue
                if (about := regions[topic].get(decoded.region_id)) is not None:
                    rows += entry_rows(topic, decoded.region_id, about, offset, value)
            yield pa.RecordBatch.from_pylist(rows, ROWS_ARROW)

    return read


def rows_of_parts(regions: Mapping[str, Mapping[int, LogRegion]]) -> Rows:
    """For `mapInArrow`: RECORDS that hold parts, each topic's together and in the order of the log → ROWS."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reassemblers: dict[str, Reassembler] = {}
        for batch in batches:
            rows: list[dict[str, Any]] = []
            for topic, offset, key, value in _records(batch):
                if _key_of(key) is None:
                    continue
                entry = reassemblers.setdefault(topic, Reassembler()).feed(offset, key, value).entry
                if entry is not None and (about := regions[topic].get(entry.region_id)) is not None:
                    rows += entry_rows(topic, entry.region_id, about, entry.entry_id, entry.payload)
            yield pa.RecordBatch.from_pylist(rows, ROWS_ARROW)

    return read


def entry_rows(topic: str, region: int, about: LogRegion, entry_id: int, payload: bytes) -> list[dict[str, Any]]:
    """The rows that an entry puts and deletes; one row with a reason when they cannot be told."""
    place = bisect_left(about.pairs, entry_id, key=lambda pair: pair[1])
    if place == len(about.pairs) or about.pairs[place][0] >= entry_id:
        return []
    role = Role(topic, region, about.pairs[place][1], is_found=False, position=entry_id)
    try:
        entry = decode_entry(payload)
    except InvalidEntry:
        return []  # Integrity tells it; a database cannot apply it either
    try:
        return [_row(role, entry_id, entry_id, *row) | {"place": n} for n, row in enumerate(_changes(entry, about))]
    except _NotComparable as reason:
        return [_row(role, entry_id, entry_id, "", None) | {"why": f"the entry {entry_id} {reason}"}]


def _changes(entry: WalEntry, about: LogRegion) -> Iterator[tuple[str, int | None]]:
    if entry.bulk_entries:
        raise _NotComparable("is a bulk entry, which this program does not read")
    for mutation in entry.mutations:
        names = [column.column_name for column in mutation.rows.schema]
        if unknown := set(names) - set(about.columns):
            raise _NotComparable(f"has the column {min(unknown)}, which the snapshot does not have")
        if missing := set(about.key) - set(names):
            raise _NotComparable(f"does not have the key column {min(missing)}")
        for row in mutation.rows.rows:
            values = dict(zip(names, map(_value, row.values), strict=False))
            text = _text([values.get(name) for name in about.key])
            is_delete = mutation.op_type == Mutation.DELETE
            yield text, None if is_delete else _hash([values.get(name) for name in about.columns])


def _value(value: Value) -> object:
    kind = value.WhichOneof("data")
    if kind is None:
        return None
    if kind not in _SCALARS:
        raise _NotComparable(f"has a value of type {kind}, which this program does not compare")
    return _plain(getattr(value, kind))


def _plain(value: object) -> object:
    match value:
        case bytes():
            return {"hex": value.hex()}
        case Decimal():  # Spark reads unsigned 64 bits so
            return int(value)
        case _:
            return value


def _text(values: Sequence[object]) -> str:
    return _encode(values)


def _hash(values: Sequence[object]) -> int:
    return signed(int.from_bytes(blake2b(_text(values).encode(), digest_size=8).digest(), "big"))


def _row(role: Role, position: int, offset: int | None, key: str, hashed: int | None) -> dict[str, Any]:
    return {
        "topic": role.topic,
        "region": signed(role.region),
        "cut": role.cut,
        "found": role.is_found,
        "position": position,
        "place": 0,
        "offset": offset,
        "key": key,
        "hash": hashed,
        "why": None,
    }


def _roles_of(file: str, roles: Mapping[str, Sequence[Role]]) -> Sequence[Role]:
    """By the end of the file's URI, which is its name in the snapshot."""
    at = file.find("/")
    while at >= 0:
        if (found := roles.get(file[at + 1 :])) is not None:
            return found
        at = file.find("/", at + 1)
    raise KeyError(file)


def _records(batch: pa.RecordBatch) -> Iterator[tuple[str, int, bytes | None, bytes | None]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


@lru_cache(maxsize=10_000)
def _key_of(key: bytes | None) -> RecordKey | None:
    try:
        return None if key is None else decode_key(key)
    except RecordError:
        return None  # Integrity tells it
