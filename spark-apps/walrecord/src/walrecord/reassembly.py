"""Entries out of the records of one topic, by the rules of the database's reader and stricter than it in one thing.

    Full                             → entry
    First, Middle(1) … Middle(n), Last → entry, whose id is the offset of Last
    no value                         → Noop
    a value without a key            → MissingKey is raised
    First while an entry is unfinished → the same bytes: RepeatedPart; else UnfinishedEntry, and a new one begins
    a part that was already read     → RepeatedPart
    Middle or Last without a First   → OrphanPart
    Last while a Middle is missing   → MissingMiddle, no entry (the database would take it for whole)
    Last, and the parts do not join  → PartsDoNotJoin, no entry
    Last, the same as that of a different entry just before → entry and AmbiguousLast

Parts of different regions may interleave in any way. A part does not tell how many there are, so the loss of the Middle
right before Last shows only in the payload: `joins` decides, and looks at entries of several parts only.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import assert_never

from walrecord.entry import is_framed
from walrecord.errors import MissingKey
from walrecord.findings import (
    AmbiguousLast,
    Finding,
    MissingMiddle,
    Noop,
    OrphanPart,
    PartsDoNotJoin,
    RepeatedPart,
    UnfinishedEntry,
)
from walrecord.key import First, Full, Last, Middle, RecordKey, RecordType, decode_key

_SHOWN = 10  # a damaged key may claim to be Middle 2^64 - 1


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
    """The parts of an entry that were read so far; the First's number is 0."""

    first_offset: int
    first: bytes
    last_offset: int
    again_offset: int | None = None
    middles: dict[int, bytes] = field(default_factory=dict)

    def missing(self) -> tuple[int, ...]:
        numbers = range(1, max(self.middles, default=0))
        return tuple(islice((number for number in numbers if number not in self.middles), _SHOWN))

    def joined(self, last: bytes) -> bytes:
        return b"".join((self.first, *(self.middles[number] for number in sorted(self.middles)), last))


class Reassembler:
    """Reads the records of one topic in the order of their offsets.

    A record that raises changes nothing: a consumer that goes on may feed the next one.
    """

    def __init__(self, joins: Callable[[bytes], bool] = is_framed) -> None:
        self._joins = joins
        self._unfinished: dict[int, _Unfinished] = {}
        self._ended: dict[int, dict[RecordType, bytes]] = {}

    def feed(self, offset: int, key: bytes | None, value: bytes | None) -> Outcome:
        """Take one record.

        Raises:
            RecordError: It cannot be read; the error names the offset.
        """
        if value is None:
            return Outcome(findings=(Noop(offset),))
        if key is None:
            raise MissingKey("the record has a value but no key", offset)
        decoded = decode_key(key, offset=offset)
        match decoded.type:
            case Full():
                return Outcome(Entry(decoded.region_id, offset, value, offset))
            case First():
                return self._first(offset, decoded, value)
            case Middle(number):
                return self._middle(offset, decoded, number, value)
            case Last():
                return self._last(offset, decoded, value)
            case _:
                assert_never(decoded.type)

    def unfinished(self) -> tuple[UnfinishedEntry, ...]:
        """The entries whose Last has not come: at the end of the log they are its incomplete tail."""
        return tuple(
            UnfinishedEntry(region_id, parts.first_offset, parts.last_offset)
            for region_id, parts in self._unfinished.items()
        )

    def _first(self, offset: int, key: RecordKey, value: bytes) -> Outcome:
        before = self._unfinished.get(key.region_id)
        if before is not None and before.first == value:
            before.again_offset = offset
            return Outcome(findings=(RepeatedPart(key.region_id, key.type, offset),))
        self._unfinished[key.region_id] = _Unfinished(offset, value, offset)
        if before is None:
            return Outcome()
        return Outcome(findings=(UnfinishedEntry(key.region_id, before.first_offset, before.last_offset),))

    def _middle(self, offset: int, key: RecordKey, number: int, value: bytes) -> Outcome:
        parts = self._unfinished.get(key.region_id)
        if parts is None:
            return self._without_first(offset, key, value)
        held = parts.middles.get(number)
        if held == value:
            return Outcome(findings=(RepeatedPart(key.region_id, key.type, offset),))
        finding: tuple[Finding, ...] = ()
        if held is not None:
            if parts.again_offset is None:
                del self._unfinished[key.region_id]
                return Outcome(findings=(PartsDoNotJoin(key.region_id, parts.first_offset, offset),))
            # An entry was begun again with the same First: the parts before that belong to a write that was given up.
            finding = (UnfinishedEntry(key.region_id, parts.first_offset, parts.last_offset),)
            parts = self._unfinished[key.region_id] = _Unfinished(parts.again_offset, parts.first, offset)
        parts.middles[number] = value
        parts.last_offset = offset
        return Outcome(findings=finding)

    def _last(self, offset: int, key: RecordKey, value: bytes) -> Outcome:
        parts = self._unfinished.pop(key.region_id, None)
        if parts is None:
            return self._without_first(offset, key, value)
        missing = parts.missing()
        if missing:
            return Outcome(findings=(MissingMiddle(key.region_id, parts.first_offset, offset, missing),))
        payload = parts.joined(value)
        if not self._joins(payload):
            return Outcome(findings=(PartsDoNotJoin(key.region_id, parts.first_offset, offset),))
        digests: dict[RecordType, bytes] = {Middle(number): _digest(part) for number, part in parts.middles.items()}
        digests |= {First(): _digest(parts.first), Last(): _digest(value)}
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
