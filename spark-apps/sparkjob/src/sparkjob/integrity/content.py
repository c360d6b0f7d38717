"""What is wrong with an entry that decodes: the database would crash on it, or this program does not know all of it.

The database's decoder (prost) refuses a known field of another wire type, which Python's takes for an unknown one; and
it applies rows by their place in the schema and the operation by its number, without asking whether they exist
(GreptimeDB, src/mito-codec/src/key_values.rs). Of a bulk entry it decodes the Arrow batch, which is not done here
(src/mito2/src/memtable/bulk/part.rs).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from sparkjob.integrity.findings import Kind
from walrecord.pb.wal_pb2 import Mutation, WalEntry

_OPERATIONS = frozenset(Mutation.OpType.values())


class Flaw(NamedTuple):
    """A finding about an entry, without its place."""

    kind: Kind
    message: str


def find_flaws(entry: WalEntry, payload: bytes) -> Iterator[Flaw]:
    """What is wrong with an entry; its unknown fields are gone from it afterwards."""
    for mutation in entry.mutations:
        if mutation.op_type not in _OPERATIONS:
            yield Flaw(Kind.MALFORMED_ENTRY, f"a mutation has the unknown operation {mutation.op_type}")
        columns = len(mutation.rows.schema)
        if others := {len(row.values) for row in mutation.rows.rows} - {columns}:
            yield Flaw(Kind.MALFORMED_ENTRY, f"a row has {min(others)} values, and the entry {columns} columns")
    if any(bulk.WhichOneof("body") is None for bulk in entry.bulk_entries):
        yield Flaw(Kind.MALFORMED_ENTRY, "a bulk entry has no rows in it")
    entry.DiscardUnknownFields()
    if entry.ByteSize() != len(payload):
        yield from _unknown_fields(payload)


def _unknown_fields(payload: bytes) -> Iterator[Flaw]:
    """The first field of each sort that is not known; none if the entry is only encoded in another way than usual."""
    found = dict(_fields_of(WalEntry.FromString(payload), "WalEntry"))
    if (known := next((where for where, is_known in found.items() if is_known), None)) is not None:
        yield Flaw(Kind.MALFORMED_ENTRY, f"{known} is not of the type that it has in an entry")
    if (new := next((where for where, is_known in found.items() if not is_known), None)) is not None:
        yield Flaw(Kind.UNKNOWN_FIELDS, f"{new} is not known to this program, which proves nothing of what it holds")


def _fields_of(message: Message, name: str) -> Iterator[tuple[str, bool]]:
    """Unknown fields of a message and of those in it: their place, and whether the number is that of a known field."""
    known = message.DESCRIPTOR.fields_by_number
    found = UnknownFieldSet(message)
    for unknown in (found[index] for index in range(len(found))):
        yield f"field {unknown.field_number} of {name}", unknown.field_number in known
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for inner in value if field.is_repeated else [value]:
            yield from _fields_of(inner, field.message_type.name)
