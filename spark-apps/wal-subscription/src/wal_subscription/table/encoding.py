"""The rows of an entry, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sparkjob.entry_rows import NotReadable
from sparkjob.fields import MAX_U64
from wal_subscription.records.encoding import decoded
from wal_subscription.records.selection import Selection
from wal_subscription.table.columns import Column, columns_of, kind_of
from walrecord import Entry
from walrecord.pb.wal_pb2 import Mutation
from walrecord.region import table_id


class Rows(NamedTuple):
    """Rows of one table and one operation, in their order.

    Attributes:
        offset: of the entry.
        first: the number of the first row in it.
        sequence: of the first row.
        bytes: about so many they take.
        values: of each column those of all rows.
    """

    table_id: int
    region: int
    offset: int
    first: int
    sequence: int
    operation: str
    number: int
    bytes: int
    columns: tuple[Column, ...]
    values: list[list[Any]]


class RowsOfFile(NamedTuple):
    """Rows of a snapshot's file.

    Attributes:
        offset: the entry id of the cut.
        sequence: the highest one of the cut; None: it is not known.
        file: its number among those of its topic.
        rows: their numbers in it.
        values: of each column those of all rows, as a file has them.
    """

    table_id: int
    region: int
    offset: int
    sequence: int | None
    file: int
    number: int
    rows: Any
    columns: tuple[Column, ...]
    values: list[Any]


@dataclass(frozen=True, slots=True)
class Encoder:
    """Rows of one topic."""

    selection: Selection

    def rows(self, entry: Entry) -> list[Rows]:
        """Of an entry, in its order.

        Raises:
            NotReadable: it gives no rows.
        """
        found, first, table = list[Rows](), 0, table_id(entry.region_id)
        for mutation in decoded(entry).mutations:
            columns, wire = columns_of(mutation), mutation.rows.rows
            values = [
                kind_of(column).read(column.name, [row.values[place] for row in wire])
                for place, column in enumerate(columns)
            ]
            if mutation.sequence + len(wire) > MAX_U64:
                raise NotReadable("has a sequence number that is too large")
            operation = "delete" if mutation.op_type == Mutation.DELETE else "put"
            place = (table, entry.region_id, entry.entry_id, first, mutation.sequence, operation)
            found.append(Rows(*place, len(wire), mutation.rows.ByteSize(), columns, values))
            first += len(wire)
        return [rows for rows in found if rows.number]
