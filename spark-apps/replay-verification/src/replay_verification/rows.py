"""Rows as they can be compared wherever they come from: the key as JSON, and a hash of all columns.

JSON tells 1, 1.0, true and "1" apart, and shows a person which row differs. A deletion has no hash.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import pyarrow as pa

from replay_verification.schemas import ROWS_ARROW
from sparkjob.entry_rows import NotReadable, names_of, require_mutations, rows_of
from sparkjob.integrity.log_entries import LogEntry
from sparkjob.integrity.schemas import signed
from sparkjob.log_records import Chunk, Work
from sparkjob.snapshot import of_file, value_of_file
from walrecord import InvalidEntry, decode_entry
from walrecord.pb.wal_pb2 import Mutation, WalEntry

_MOST_POSITION = 2**63 - 1
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
    """Before all of the log: negative, later files later. Of a row of the log, its sequence number."""


class Bounds(NamedTuple):
    """A pair of cuts: entries of `older < id ≤ newer` count, and of those, rows with a sequence above `flushed`.

    `flushed` is the highest one of the older cut, -1 if the snapshot does not tell it.
    """

    older: int
    newer: int
    flushed: int = -1


class LogRegion(NamedTuple):
    """A region's columns and the cuts between which its entries count, rising; the first one only bounds."""

    columns: tuple[str, ...]
    key: tuple[str, ...]
    pairs: tuple[Bounds, ...]
    """Rising."""


class _Change(NamedTuple):
    """A row that an entry puts, or deletes: then it has no hash."""

    sequence: int
    key: str
    hash: int | None


def rows_of_files(roles: Mapping[str, Sequence[Role]], columns: Sequence[str], key: Sequence[str]) -> Rows:
    """For `mapInArrow`: (file, columns …) → ROWS; a row counts once for each role of its file."""
    keys = [columns.index(name) for name in key]

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            files, *values = (column.to_pylist() for column in batch.columns)
            rows = []
            for file, row in zip(files, zip(*values, strict=True), strict=True):
                content = [value_of_file(value) for value in row]
                text, hashed = _text([content[index] for index in keys]), _hash(content)
                rows += [_row(role, role.position, None, text, hashed) for role in of_file(file, roles)]
            yield pa.RecordBatch.from_pylist(rows, ROWS_ARROW)

    return read


def rows_of_log(
    regions: Mapping[str, Mapping[int, LogRegion]], read: Callable[[Iterable[Chunk]], Iterator[list[LogEntry]]]
) -> Work:
    """Records → ROWS of the entries that `read` reads: whole ones, or those of parts."""

    def rows(chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
        for entries in read(chunks):
            found: list[dict[str, Any]] = []
            for topic, region, entry_id, payload in entries:
                if (about := regions[topic].get(region)) is not None:
                    found += entry_rows(topic, region, about, entry_id, payload)
            yield pa.RecordBatch.from_pylist(found, ROWS_ARROW)

    return rows


def entry_rows(topic: str, region: int, about: LogRegion, entry_id: int, payload: bytes) -> list[dict[str, Any]]:
    """The rows that an entry puts and deletes; one row with a reason when they cannot be told."""
    place = bisect_left(about.pairs, entry_id, key=lambda pair: pair.newer)
    if place == len(about.pairs) or about.pairs[place].older >= entry_id:
        return []
    role = Role(topic, region, about.pairs[place].newer, is_found=False, position=0)
    try:
        entry = decode_entry(payload)
    except InvalidEntry:
        return []  # Integrity tells it; a database cannot apply it either
    try:
        changes = [change for change in _changes(entry, about) if change.sequence > about.pairs[place].flushed]
    except NotReadable as reason:
        return [_row(role, 0, entry_id, "", None) | {"why": f"the entry {entry_id} {reason}"}]
    return [
        _row(role, min(change.sequence, _MOST_POSITION), entry_id, change.key, change.hash) | {"place": entry_id}
        for change in changes
    ]


def _changes(entry: WalEntry, about: LogRegion) -> Iterator[_Change]:
    require_mutations(entry)
    for mutation in entry.mutations:
        names = set(names_of(mutation))
        if unknown := names - set(about.columns):
            raise NotReadable(f"has the column {min(unknown)}, which the snapshot does not have")
        if missing := set(about.key) - names:
            raise NotReadable(f"does not have the key column {min(missing)}")
        is_delete = mutation.op_type == Mutation.DELETE
        for sequence, values in rows_of(mutation):
            text = _text([values.get(name) for name in about.key])
            yield _Change(sequence, text, None if is_delete else _hash([values.get(name) for name in about.columns]))


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
