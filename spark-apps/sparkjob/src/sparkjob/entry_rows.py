"""The rows that an entry puts and deletes, as plain values: Equivalence compares them, a subscription hands them on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from walrecord.pb.wal_pb2 import Mutation, Value, WalEntry

_TIMES = ("date", "datetime", "ts_s", "ts_ms", "ts_us", "ts_ns", "time_s", "time_ms", "time_us", "time_ns")
_NUMBERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64")
SCALARS = frozenset((*_TIMES, *_NUMBERS, "boolean", "binary", "text"))
"""Kinds of values that are not made of others."""


class NotReadable(Exception):  # noqa: N818 - a reason, not an error of ours
    """An entry that cannot be turned into rows; what it says begins with a verb."""


def require_mutations(entry: WalEntry) -> None:
    """Refuses an entry that has more than mutations.

    Raises:
        NotReadable: it is so.
    """
    if entry.bulk_entries:
        raise NotReadable("is a bulk entry, which this program does not read")


def names_of(mutation: Mutation) -> list[str]:
    """Of its columns."""
    return [column.column_name for column in mutation.rows.schema]


def scalar(value: Value) -> object:
    """A value; null is None.

    Raises:
        NotReadable: it is made of others.
    """
    kind = value.WhichOneof("data")
    if kind is None:
        return None
    if kind not in SCALARS:
        raise NotReadable(f"has a value of type {kind}, which this program does not read")
    return plain(getattr(value, kind))


def plain(value: object) -> object:
    """As JSON can have it."""
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def rows_of(
    mutation: Mutation, value_of: Callable[[Value], object] = scalar
) -> Iterator[tuple[int, dict[str, object]]]:
    """Its rows: the sequence number, and what the columns have.

    Raises:
        NotReadable: `value_of` cannot read a value.
    """
    names = names_of(mutation)
    for sequence, row in enumerate(mutation.rows.rows, mutation.sequence):
        yield sequence, dict(zip(names, map(value_of, row.values), strict=False))
