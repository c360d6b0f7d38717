"""Logs of several tables, written record by record so that entries may stay open; and the rows that are in them.

What is expected is written down when an entry is: no decoder of the program is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from wal_logs import TableRow, payload, records_of

from walrecord.region import region_id

Record = tuple[bytes | None, bytes | None]
CPU, MEM, NET = 1024, 1025, 1026
"""Tables."""
NAMES = {CPU: "public.cpu", MEM: "public.mem", NET: "other.net"}


class Expected(NamedTuple):
    """A row by what a reader needs to tell it from others."""

    table: int
    sequence: int
    host: str
    load: int | None
    operation: str


@dataclass
class Open:
    """An entry whose parts are written one by one."""

    region: int
    expected: list[Expected]
    parts: list[Record]


@dataclass
class Written:
    """A log, and its rows in the order in which their entries end.

    Attributes:
        rows: the offset of the entry that each is of, as if the log began at 0.
        placed: the same with the region.
    """

    records: list[Record] = field(default_factory=list)
    rows: list[tuple[int, Expected]] = field(default_factory=list)
    placed: list[tuple[int, int, Expected]] = field(default_factory=list)
    _sequences: dict[int, int] = field(default_factory=dict)

    def begin(self, table: int, rows: int = 1, *, number: int = 0, in_parts: bool = True, delete: bool = False) -> Open:
        """An entry of which nothing is written yet."""
        region = region_id(table, number)
        first = self._sequences.get(region, 1)
        self._sequences[region] = first + rows
        made = [TableRow(f"host-{first + place}", first + place, (first + place) * 7) for place in range(rows)]
        what = "delete" if delete else "put"
        expected = [Expected(table, first + place, row.host, row.load, what) for place, row in enumerate(made)]
        content = payload(first, *made, delete=delete)
        return Open(region, expected, records_of(region, content, in_parts=in_parts))

    def write(self, entry: Open, parts: int | None = None) -> bool:
        """Some of the parts that are left, or all; whether it is whole now."""
        number = len(entry.parts) if parts is None else parts
        self.records += entry.parts[:number]
        del entry.parts[:number]
        if entry.parts:
            return False
        ends = len(self.records) - 1
        self.rows += [(ends, row) for row in entry.expected]
        self.placed += [(ends, entry.region, row) for row in entry.expected]
        return True

    def entry(
        self, table: int, rows: int = 1, *, number: int = 0, in_parts: bool = False, delete: bool = False
    ) -> None:
        """A whole entry."""
        self.write(self.begin(table, rows, number=number, in_parts=in_parts, delete=delete))

    def of(self, *tables: int) -> list[Expected]:
        """The rows of some tables."""
        return [row for _, row in self.rows if row.table in tables]

    def take(self) -> list[Record]:
        """The records since the last time."""
        taken = self.records[self._taken :]
        self._taken = len(self.records)
        return taken

    _taken: int = 0
