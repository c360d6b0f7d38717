"""Entries out of the records of one topic, by the rules of the database's reader, which `reader.py` has by version.

    Full                             → entry
    First, Middle(1) … Middle(n), Last → entry, whose id is the offset of Last
    neither key nor value            → Noop
    a key without a value            → Tombstone
    a value without a key            → MissingKey is raised
    First while an entry is unfinished → a new one begins: RepeatedPart if it is that First alone again,
                                         else UnfinishedEntry
    Middle that is the part right before it again → RepeatedPart, where the database drops it
    Middle that does not follow First as 1, or Middle(n) as n + 1 → IllegalSequence: no region of the topic opens
    Middle or Last without a First   → RepeatedPart if the entry before ended so, else OrphanPart
    Last, and the parts do not join  → PartsDoNotJoin, no entry
    Last, the same as that of a different entry just before → entry and AmbiguousLast

Parts of different regions may interleave in any way. A part does not tell how many there are, so the loss of the Middle
right before Last shows only in the payload: `joins` decides, and looks at entries of several parts only. Middles
without a First are kept in order, too, as the database does: the rule for the next one holds for them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import assert_never

from walrecord.entry import is_framed
from walrecord.errors import MissingKey
from walrecord.findings import (
    AmbiguousLast,
    Finding,
    IllegalSequence,
    Noop,
    OrphanPart,
    PartsDoNotJoin,
    RepeatedPart,
    Tombstone,
    UnfinishedEntry,
)
from walrecord.key import First, Full, Last, Middle, RecordKey, RecordType, decode_key


@dataclass(frozen=True, slots=True)
class Entry:
    """One logical write, whole."""

    region_id: int
    entry_id: int
    payload: bytes
    first_offset: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one record led to: an entry, findings, or neither, when more parts are to come."""

    entry: Entry | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True)
class _Unfinished:
    """The parts of an entry that were read so far, in order; what begins with a Middle never becomes an entry."""

    first_offset: int
    last_offset: int
    types: list[First | Middle]
    values: list[bytes] = field(default_factory=list)
    is_refused: bool = False
    """An illegal Middle came: the database reads no further, and nothing more is to be said until another entry."""

    @property
    def has_first(self) -> bool:
        return isinstance(self.types[0], First)

    def may_go_on_with(self, number: int) -> bool:
        match self.types[-1]:
            case First():
                return number == 1
            case Middle(before):
                return number == before + 1

    def add(self, offset: int, part: Middle, value: bytes) -> None:
        self.last_offset = offset
        self.types.append(part)
        self.values.append(value)


class Reassembler:
    """Reads the records of one topic in the order of their offsets.

    A record that raises changes nothing: a consumer that goes on may feed the next one. `drops_repeats` is what
    `drops_repeated_middle` says of the database's version.
    """

    def __init__(self, joins: Callable[[bytes], bool] = is_framed, *, drops_repeats: bool = False) -> None:
        self._joins, self._drops_repeats = joins, drops_repeats
        self._unfinished: dict[int, _Unfinished] = {}
        self._ended: dict[int, dict[RecordType, bytes]] = {}

    def feed(self, offset: int, key: bytes | None, value: bytes | None) -> Outcome:
        """Take one record.

        Raises:
            RecordError: It cannot be read; the error names the offset.
        """
        if value is None:
            return Outcome(findings=(Noop(offset) if key is None else Tombstone(offset),))
        if key is None:
            raise MissingKey("the record has a value but no key", offset)
        decoded = decode_key(key, offset=offset)
        match decoded.type:
            case Full():
                return Outcome(Entry(decoded.region_id, offset, value, offset))
            case First() as first:
                return self._first(offset, decoded, first, value)
            case Middle() as middle:
                return self._middle(offset, decoded, middle, value)
            case Last():
                return self._last(offset, decoded, value)
            case _:
                assert_never(decoded.type)

    def unfinished(self) -> tuple[UnfinishedEntry, ...]:
        """The entries whose Last has not come: at the end of the log they are its incomplete tail."""
        return tuple(
            UnfinishedEntry(region_id, parts.first_offset, parts.last_offset)
            for region_id, parts in self._unfinished.items()
            if parts.has_first and not parts.is_refused
        )

    def _first(self, offset: int, key: RecordKey, first: First, value: bytes) -> Outcome:
        before = self._unfinished.get(key.region_id)
        self._unfinished[key.region_id] = _Unfinished(offset, offset, [first], [value])
        if before is None or not before.has_first or before.is_refused:
            return Outcome()
        if before.values == [value]:
            return Outcome(findings=(RepeatedPart(key.region_id, first, offset),))
        return Outcome(findings=(UnfinishedEntry(key.region_id, before.first_offset, before.last_offset),))

    def _middle(self, offset: int, key: RecordKey, middle: Middle, value: bytes) -> Outcome:
        parts = self._unfinished.get(key.region_id)
        if parts is None:
            self._unfinished[key.region_id] = _Unfinished(offset, offset, [middle], [value])
            return self._without_first(offset, key, value)
        if parts.is_refused:
            return Outcome()
        if self._drops_repeats and parts.types[-1] == middle and parts.values[-1] == value:
            return Outcome(findings=(RepeatedPart(key.region_id, middle, offset),))
        if not parts.may_go_on_with(middle.number):
            parts.is_refused = True
            return Outcome(findings=(IllegalSequence(key.region_id, offset, parts.types[-1], middle),))
        parts.add(offset, middle, value)
        return Outcome() if parts.has_first else self._without_first(offset, key, value)

    def _last(self, offset: int, key: RecordKey, value: bytes) -> Outcome:
        parts = self._unfinished.pop(key.region_id, None)
        if parts is not None and parts.is_refused:
            return Outcome()
        if parts is None or not parts.has_first:
            return self._without_first(offset, key, value)
        payload = b"".join((*parts.values, value))
        if not self._joins(payload):
            return Outcome(findings=(PartsDoNotJoin(key.region_id, parts.first_offset, offset),))
        pairs = zip(parts.types, parts.values, strict=True)
        digests: dict[RecordType, bytes] = {part: _digest(content) for part, content in pairs}
        digests[Last()] = _digest(value)
        before = self._ended.get(key.region_id, {})
        self._ended[key.region_id] = digests
        # The whole entry again is no mix.
        alike = before.get(Last()) == digests[Last()] and before != digests
        return Outcome(
            Entry(key.region_id, offset, payload, parts.first_offset),
            (AmbiguousLast(key.region_id, parts.first_offset, offset),) if alike else (),
        )

    def _without_first(self, offset: int, key: RecordKey, value: bytes) -> Outcome:
        """Either a part of the entry that was whole just before, sent again, or one whose First is not there."""
        if self._ended.get(key.region_id, {}).get(key.type) == _digest(value):
            return Outcome(findings=(RepeatedPart(key.region_id, key.type, offset),))
        return Outcome(findings=(OrphanPart(key.region_id, key.type, offset),))


def _digest(value: bytes) -> bytes:
    return blake2b(value, digest_size=16).digest()
