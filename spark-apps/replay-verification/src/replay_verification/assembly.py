"""The entries of one region out of its parts, with the place of what is missing.

walrecord's `Reassembler` has the rules; this adds what only a verification needs: the first offset that is not as it
should be, and whether parts without their First were merely cut off by the beginning of the range.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from replay_verification.findings import Kind
from replay_verification.sequences import Seen
from walrecord import (
    AmbiguousLast,
    Entry,
    First,
    Full,
    Last,
    Middle,
    MissingMiddle,
    Noop,
    OrphanPart,
    PartsDoNotJoin,
    Reassembler,
    RecordType,
    RepeatedPart,
    UnfinishedEntry,
    decode_key,
)
from walrecord import Finding as Outcome


class Assembly:
    """Takes the parts of one region in the order of their offsets, and is told where its other entries are."""

    def __init__(self) -> None:
        self._reassembler = Reassembler()
        self._middles: dict[int, int] = {}
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
            self._cut, self._middles = False, {}
        elif isinstance(kind, Middle):
            self._middles.setdefault(kind.number, offset)
        outcome = self._reassembler.feed(offset, key, value)
        seen = [told for finding in outcome.findings for told in self._tell(finding)]
        if isinstance(kind, Last):
            self._cut, self._middles = False, {}
        return outcome.entry, seen

    def _tell(self, finding: Outcome) -> Iterator[Seen]:
        match finding:
            case Noop():
                return
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
            case MissingMiddle(_, _, last, numbers):
                yield self._missing(last, numbers)
            case PartsDoNotJoin(_, first, last):
                said = f"the parts from {first} on give no entry: one before this is missing, or they are of two writes"
                yield Seen(Kind.PARTS_DO_NOT_JOIN, last, said)
            case AmbiguousLast(_, _, last):
                yield Seen(Kind.AMBIGUOUS_LAST, last, "this entry ends as the one before: it may be a mix of two")
            case _:
                assert_never(finding)

    def _missing(self, last: int, numbers: tuple[int, ...]) -> Seen:
        after = min((offset for number, offset in self._middles.items() if number > numbers[0]), default=last)
        others = "" if len(numbers) == 1 else f" (and {len(numbers) - 1} or more others)"
        said = f"Middle({numbers[0]}){others} is missing before this part: the database would not notice"
        return Seen(Kind.MISSING_MIDDLE, after, said)


def _named(kind: RecordType) -> str:
    match kind:
        case Middle(number):
            return f"Middle({number})"
        case First() | Full() | Last():
            return type(kind).__name__
        case _:
            assert_never(kind)
