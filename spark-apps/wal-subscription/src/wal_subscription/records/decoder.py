"""Rows out of the records of one topic, in the order of its offsets. Pure, and the same wherever it begins again.

What a database would not apply is no row: its reader ignores parts without their First, entries without their Last,
nulls. What it would stop at, or what this program cannot turn into rows, is told with its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from sparkjob.entry_rows import NotReadable
from sparkjob.wire.records import Record
from wal_subscription.records.selection import Selection
from walrecord import (
    Entry,
    First,
    Full,
    IllegalSequence,
    MissingKey,
    PartsDoNotJoin,
    Reassembler,
    RecordError,
    RecordKey,
    decode_key,
)
from walrecord.region import region_group, table_id

OPEN_MILLISECONDS = 600_000
"""An entry that is open for longer than this, by the times of the log's records, is not waited for any more."""


RowT_co = TypeVar("RowT_co", covariant=True)


class Poison(Exception):  # noqa: N818 - what it is called
    """A record that gives no rows; `begins` is where its entry does: without that it would not be found again."""

    def __init__(self, offset: int, region: int | None, said: str, begins: int | None = None) -> None:
        super().__init__(said)
        self.offset, self.region, self.said = offset, region, said
        self.begins = offset if begins is None else begins


class UnknownTable(Exception):  # noqa: N818 - what is the matter
    """A record of a table whose name is not known."""

    def __init__(self, offset: int, region: int) -> None:
        super().__init__(region)
        self.offset, self.region = offset, region


class Encodes(Protocol[RowT_co]):
    """How a sink has the rows of an entry."""

    @property
    def selection(self) -> Selection:
        """Whose rows are handed on."""
        ...

    def rows(self, entry: Entry) -> list[RowT_co]:
        """Of an entry, in its order; raises NotReadable: it gives none."""
        ...


class Decoder(Generic[RowT_co]):
    """One topic, from `position` on. What it is given below that only completes entries that end later.

    Attributes:
        entries: those of selected tables that it gave rows of.
    """

    def __init__(self, encoder: Encodes[RowT_co], position: int, *, drops_repeats: bool) -> None:
        self._encoder, self._position = encoder, position
        self._reassembler = Reassembler(drops_repeats=drops_repeats)
        self._begun: dict[int, tuple[int, int]] = {}
        self._newest = 0
        self.entries = 0

    def rows(self, record: Record) -> list[RowT_co]:
        """The rows that a record completes. Whatever it raises, the next record may follow.

        Raises:
            Poison: it is one.
            UnknownTable: as it says.
        """
        self._newest = max(self._newest, record.timestamp)
        is_new, offset = record.offset >= self._position, record.offset
        if record.value is None:
            return []
        try:
            key = _key(record.key)
        except RecordError as error:
            if is_new:
                raise Poison(offset, None, error.reason) from None
            return []
        region = key.region_id
        if region_group(region):
            return []  # the metric engine's own notes
        is_selected = self._encoder.selection.has(table_id(region))
        if is_selected is None and is_new:
            raise UnknownTable(offset, region)
        if isinstance(key.type, Full):
            entry: Entry | None = Entry(region, offset, record.value, offset)
        else:
            entry = self._part(record, key, tells=is_new and bool(is_selected))
        if entry is None or not is_new or not is_selected:
            return []
        return self._rows(entry)

    def read_from(self, position: int) -> int:
        """The first offset that is needed to go on from a position."""
        return min([position, *self._open()])

    def _rows(self, entry: Entry) -> list[RowT_co]:
        try:
            rows = self._encoder.rows(entry)
        except NotReadable as reason:
            raise Poison(entry.entry_id, entry.region_id, f"the entry {reason}", entry.first_offset) from None
        self.entries += 1
        return rows

    def _part(self, record: Record, key: RecordKey, *, tells: bool) -> Entry | None:
        """Parts of all tables are kept: an edit may select one in the middle of an entry."""
        region = key.region_id
        if isinstance(key.type, First):
            self._begun[region] = record.offset, record.timestamp
        outcome = self._reassembler.feed(record.offset, record.key, record.value)
        if not tells or region not in self._begun:
            return outcome.entry
        for finding in outcome.findings:
            match finding:
                case IllegalSequence():
                    raise Poison(
                        record.offset, region, "the part does not follow the one before it", self._begun[region][0]
                    )
                case PartsDoNotJoin():
                    said = f"the parts from offset {finding.first_offset} on give no entry"
                    raise Poison(record.offset, region, said, finding.first_offset)
        return outcome.entry

    def _open(self) -> Iterator[int]:
        waiting = {entry.region_id for entry in self._reassembler.unfinished()}
        self._begun = {region: begun for region, begun in self._begun.items() if region in waiting}
        oldest = self._newest - OPEN_MILLISECONDS
        return (offset for offset, time in self._begun.values() if time >= oldest)


@lru_cache(maxsize=10_000)
def _decoded(key: bytes) -> RecordKey:
    return decode_key(key)


def _key(key: bytes | None) -> RecordKey:
    if key is None:
        raise MissingKey("the record has a value but no key")
    return _decoded(key)
