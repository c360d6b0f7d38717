"""Rows out of the records of one topic, in the order of its offsets. Pure, and the same wherever it begins again.

What a database would not apply is no row: its reader ignores parts without their First, entries without their Last,
nulls. What it would stop at, or what this program cannot turn into rows, is told with its place. An entry that is open
for too long is given up, so that a writer that died does not hold the log for ever; what comes of it after all is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from sparkjob.entry_rows import NotReadable
from sparkjob.wire.records import Record
from wal_subscription.records.progress import GivenUp
from wal_subscription.records.selection import Selection
from walrecord import (
    Entry,
    First,
    Full,
    IllegalSequence,
    Last,
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
MOST_GIVEN_UP = 1_000
"""Entries of a topic that can be given up: progress names them. Where there are more, the others are waited for."""


RowT = TypeVar("RowT")


class Poison(Exception):  # noqa: N818 - what it is called
    """A record that gives no rows.

    Attributes:
        begins: where its entry does: without that it would not be found again.
        is_part: whether it is one of several records of its entry.
    """

    def __init__(
        self, offset: int, region: int | None, said: str, begins: int | None = None, *, is_part: bool = False
    ) -> None:
        super().__init__(said)
        self.offset, self.region, self.said, self.is_part = offset, region, said, is_part
        self.begins = offset if begins is None else begins


class UnknownTable(Exception):  # noqa: N818 - what is the matter
    """A record of a table whose name is not known."""

    def __init__(self, offset: int, region: int) -> None:
        super().__init__(region)
        self.offset = self.begins = offset
        self.region = region


class Encodes(Protocol[RowT]):
    """How a sink has the rows of an entry."""

    @property
    def selection(self) -> Selection:
        """Whose rows are handed on."""
        ...

    def rows(self, entry: Entry) -> list[RowT]:
        """Of an entry, in its order; raises NotReadable: it gives none."""
        ...


class Decoder(Generic[RowT]):
    """One topic, from `position` on. What it is given below that only completes entries that end later.

    `cuts` are the entry ids up to which regions' rows are in a snapshot: their entries up to there give none.

    Attributes:
        entries: those of selected tables that it gave rows of.
    """

    def __init__(
        self,
        encoder: Encodes[RowT],
        position: int,
        *,
        drops_repeats: bool,
        names_known_to: int = 0,
        given_up: Iterable[GivenUp] = (),
        cuts: Mapping[int, int] | None = None,
    ) -> None:
        self._encoder, self._position, self._names_known_to = encoder, position, names_known_to
        self._reassembler = Reassembler(drops_repeats=drops_repeats)
        self._begun: dict[int, tuple[int, int]] = {}
        self._given_up = {entry.region: entry.offset for entry in given_up}
        self._cuts, self._newest = cuts or {}, 0
        self.entries = 0

    @property
    def given_up(self) -> tuple[GivenUp, ...]:
        """The entries that are not waited for, and of which a part may come after all."""
        return tuple(sorted((GivenUp(*entry) for entry in self._given_up.items()), key=lambda entry: entry.offset))

    def rows(self, record: Record) -> list[RowT]:
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
        is_in_snapshot = offset <= self._cuts.get(region, -1)
        tells = is_new and not is_in_snapshot and self._is_selected(region, offset)
        if isinstance(key.type, Full):
            entry: Entry | None = Entry(region, offset, record.value, offset)
        else:
            entry = self._part(record, key, tells=tells)
        rows = self._rows(entry) if tells and entry is not None else []
        if is_new and isinstance(key.type, Last):
            self._given_up.pop(region, None)
        return rows

    def give_up(self) -> None:
        """Waits no more for entries that have been open for too long: the oldest first, and not for too many."""
        waiting = {entry.region_id for entry in self._reassembler.unfinished()}
        self._begun = {region: begun for region, begun in self._begun.items() if region in waiting}
        oldest = self._newest - OPEN_MILLISECONDS
        for region, (offset, time) in sorted(self._begun.items(), key=lambda begun: begun[1]):
            if time < oldest and len(self._given_up) < MOST_GIVEN_UP:
                self._given_up[region] = offset

    def read_from(self, position: int) -> int:
        """The first offset that is needed to go on from a position."""
        begun = {entry.region_id: entry.first_offset for entry in self._reassembler.unfinished()}
        return min([position, *(offset for region, offset in begun.items() if self._given_up.get(region) != offset)])

    def pass_over(self, poison: Poison) -> None:
        """Takes it that a record that gave no rows is dealt with: of the rest of its entry nothing more is told."""
        if poison.is_part and poison.region is not None:
            self._given_up.pop(poison.region, None)

    def _is_selected(self, region: int, offset: int) -> bool:
        """Whether its table is. One that has a record where all names are known is, or is not, or is gone."""
        found = self._encoder.selection.has(table_id(region))
        if found is None and offset >= self._names_known_to:
            raise UnknownTable(offset, region)
        return bool(found)

    def _rows(self, entry: Entry) -> list[RowT]:
        try:
            rows = self._encoder.rows(entry)
        except NotReadable as reason:
            said, is_part = f"the entry {reason}", entry.first_offset != entry.entry_id
            raise self._poison(entry.entry_id, entry.region_id, said, entry.first_offset, is_part=is_part) from None
        self.entries += 1
        return rows

    def _part(self, record: Record, key: RecordKey, *, tells: bool) -> Entry | None:
        """Parts of all tables are kept: an edit may select one in the middle of an entry."""
        region, offset = key.region_id, record.offset
        given_up, (begins, _) = self._given_up.get(region), self._begun.get(region, (None, 0))
        if isinstance(key.type, First):
            self._begun[region] = offset, record.timestamp
            self._given_up.pop(region, None)
        elif tells and given_up is not None and given_up != begins:
            said = f"its entry began at offset {given_up}, and was given up: its end did not come in time"
            raise Poison(offset, region, said, is_part=True)
        elif isinstance(key.type, Last):
            self._begun.pop(region, None)
        outcome = self._reassembler.feed(offset, record.key, record.value)
        if not tells or begins is None:
            return outcome.entry
        for finding in outcome.findings:
            match finding:
                case IllegalSequence():
                    raise self._poison(offset, region, "the part does not follow the one before it", begins)
                case PartsDoNotJoin():
                    said = f"the parts from offset {finding.first_offset} on give no entry"
                    raise self._poison(offset, region, said, finding.first_offset)
        return outcome.entry

    def _poison(self, offset: int, region: int, said: str, begins: int, *, is_part: bool = True) -> Poison:
        """What was given up may be gone by now: progress tells of it."""
        is_kept = self._given_up.get(region) == begins
        return Poison(offset, region, said, None if is_kept else begins, is_part=is_part)


@lru_cache(maxsize=10_000)
def _decoded(key: bytes) -> RecordKey:
    return decode_key(key)


def _key(key: bytes | None) -> RecordKey:
    if key is None:
        raise MissingKey("the record has a value but no key")
    return _decoded(key)
