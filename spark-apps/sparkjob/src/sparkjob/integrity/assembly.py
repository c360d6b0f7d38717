"""The entries of one region out of its parts, with the place of what is missing.

walrecord's `Reassembler` has the rules; this adds what only a verification needs: sentences, and whether parts without
their First were merely cut off by the beginning of the range.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from sparkjob.integrity.findings import Kind
from sparkjob.integrity.sequences import Seen
from walrecord import (
    AmbiguousLast,
    Entry,
    First,
    Full,
    IllegalSequence,
    Last,
    Middle,
    Noop,
    OrphanPart,
    PartsDoNotJoin,
    Reassembler,
    RecordType,
    RepeatedPart,
    Tombstone,
    UnfinishedEntry,
    decode_key,
)
from walrecord import Finding as Outcome


class Assembly:
    """Takes the parts of one region in the order of their offsets, and is told where its other entries are."""

    def __init__(self, *, drops_repeats: bool) -> None:
        self._reassembler = Reassembler(drops_repeats=drops_repeats)
        self._cut = True  # nothing of the region was read so far that says where its entries begin

    def other_entry(self) -> None:
        """An entry of one record stands here: parts after it were not cut off by the beginning of the range."""
        self._cut = False

    def part(self, offset: int, key: bytes, value: bytes) -> tuple[Entry | None, list[Seen]]:
        """The entry that this part completes, and what is to be said.

        Raises:
            RecordError: The key is none; parts have keys that were read before.
        """
        kind = decode_key(key, offset=offset).type
        if isinstance(kind, First):
            self._cut = False
        outcome = self._reassembler.feed(offset, key, value)
        seen = [told for finding in outcome.findings for told in self._tell(finding)]
        if isinstance(kind, Last):
            self._cut = False
        return outcome.entry, seen

    def _tell(self, finding: Outcome) -> Iterator[Seen]:
        match finding:
            case Noop() | Tombstone():
                return  # no parts
            case RepeatedPart(_, kind, offset):
                yield Seen(
                    Kind.REPEATED_PART, offset, f"part {_named(kind)} comes again (legal: sent again by the producer)"
                )
            case UnfinishedEntry(_, first, last):
                said = f"the entry that begins here has no Last, its last part is at {last}, and another one begins"
                yield Seen(Kind.UNFINISHED_ENTRY, first, said)
            case OrphanPart(_, kind, offset):
                if not self._cut:
                    yield Seen(Kind.ORPHAN_PART, offset, f"part {_named(kind)} has no First")
            case IllegalSequence(region, offset, after, part):
                said = f"part {_named(part)} of region {region} follows {_named(after)}: the database reads no further"
                yield Seen(Kind.ILLEGAL_SEQUENCE, offset, said)
            case PartsDoNotJoin(_, first, last):
                said = f"the parts from {first} on give no entry: one before this is missing, or they are of two writes"
                yield Seen(Kind.PARTS_DO_NOT_JOIN, last, said)
            case AmbiguousLast(_, _, last):
                yield Seen(Kind.AMBIGUOUS_LAST, last, "this entry ends as the one before: it may be a mix of two")
            case _:
                assert_never(finding)


def _named(kind: RecordType) -> str:
    match kind:
        case Middle(number):
            return f"Middle({number})"
        case First() | Full() | Last():
            return type(kind).__name__
        case _:
            assert_never(kind)
