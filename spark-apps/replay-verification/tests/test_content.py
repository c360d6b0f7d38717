"""Entries that decode: which of them the database would not apply, and which have more than this program knows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from wal_logs import TableRow, payload

from sparkjob.integrity.content import find_flaws
from sparkjob.integrity.findings import Kind
from walrecord import decode_entry, encode_entry
from walrecord.pb.wal_pb2 import ArrowIpc, BulkMutation, Row, Value, WalEntry

ROWS = (TableRow("a", 1, 7), TableRow("b", 2, None))


def flaws(content: bytes) -> list[tuple[Kind, str]]:
    return [(flaw.kind, flaw.message) for flaw in find_flaws(decode_entry(content), content)]


def changed(change: Callable[[WalEntry], None]) -> bytes:
    entry = decode_entry(payload(1, *ROWS))
    change(entry)
    return encode_entry(entry)


def nested(value: bytes) -> bytes:
    """An entry whose only value is these bytes."""
    row = b"\x0a" + bytes([len(value)]) + value
    rows = b"\x12" + bytes([len(row)]) + row
    schema = b"\x0a\x03\x0a\x01c"
    inner = schema + rows
    mutation = b"\x08\x01\x10\x05\x1a" + bytes([len(inner)]) + inner
    return b"\x0a" + bytes([len(mutation)]) + mutation


def _more_values(entry: WalEntry) -> None:
    entry.mutations[0].rows.rows[1].values.append(Value(text="more"))


def _no_values(entry: WalEntry) -> None:
    entry.mutations[0].rows.rows[0].CopyFrom(Row())


def _unknown_operation(entry: WalEntry) -> None:
    entry.mutations[0].op_type = 2  # type: ignore[assignment]


def _empty_bulk(entry: WalEntry) -> None:
    entry.bulk_entries.append(BulkMutation(sequence=9))


def test_what_a_database_writes_has_no_flaw() -> None:
    bulk = encode_entry(WalEntry(bulk_entries=[BulkMutation(sequence=9, arrow_ipc=ArrowIpc(payload=b"x"))]))
    for content in (payload(1, *ROWS), payload(1, *ROWS, delete=True), payload(7), b"", bulk, nested(b"\x6a\x01x")):
        assert flaws(content) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_more_values, "a row has 4 values, and the entry 3 columns"),
        (_no_values, "a row has 0 values, and the entry 3 columns"),
        (_unknown_operation, "a mutation has the unknown operation 2"),
        (_empty_bulk, "a bulk entry has no rows in it"),
    ],
)
def test_what_crashes_the_database_is_malformed(change: Callable[[WalEntry], None], said: str) -> None:
    assert flaws(changed(change)) == [(Kind.MALFORMED_ENTRY, said)]


@pytest.mark.parametrize(
    ("content", "kind", "where"),
    [
        (payload(1, *ROWS) + b"\x08\x01", Kind.MALFORMED_ENTRY, "field 1 of WalEntry is not of the type"),
        (payload(1, *ROWS) + b"\x78\x01", Kind.UNKNOWN_FIELDS, "field 15 of WalEntry is not known"),
        (nested(b"\x68\x01"), Kind.MALFORMED_ENTRY, "field 13 of Value is not of the type"),  # text as a number
        (nested(b"\x98\x06\x01"), Kind.UNKNOWN_FIELDS, "field 99 of Value is not known"),
    ],
)
def test_fields_that_are_not_known_are_told_wherever_they_are(content: bytes, kind: Kind, where: str) -> None:
    assert [(found, said[: len(where)]) for found, said in flaws(content)] == [(kind, where)]


def test_another_encoding_of_the_same_is_no_flaw() -> None:
    zero = payload(1, *ROWS) + b"\x0a\x02\x10\x00"  # a sequence of 0, which need not be written
    assert flaws(zero) == []
