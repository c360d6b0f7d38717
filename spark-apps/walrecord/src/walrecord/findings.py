"""What a reader meets beside entries. Findings are values: what to make of them is the consumer's business."""

from dataclasses import dataclass

from walrecord.key import First, Middle, RecordType


@dataclass(frozen=True, slots=True)
class Noop:
    """A record without key and value: the database's first record of an empty topic. Its reader skips it."""

    offset: int


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A key without a value, which the database never writes and its reader skips: what stood here is lost."""

    offset: int


@dataclass(frozen=True, slots=True)
class RepeatedPart:
    """A part that was already read, dropped. Legal: the database's producer sends again when no answer came."""

    region_id: int
    type: RecordType
    offset: int


@dataclass(frozen=True, slots=True)
class UnfinishedEntry:
    """Parts without a Last: the writer died or gave up, or is not done yet. Legal: it was never acknowledged."""

    region_id: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class OrphanPart:
    """A part without its First, dropped. A loss, unless the reader began or the log starts within the entry."""

    region_id: int
    type: RecordType
    offset: int


@dataclass(frozen=True, slots=True)
class IllegalSequence:
    """A Middle that may not follow the part before it: the database ends, and opens no region of the topic."""

    region_id: int
    offset: int
    after: First | Middle
    """The part of the region right before it."""
    part: Middle


@dataclass(frozen=True, slots=True)
class PartsDoNotJoin:
    """The parts give no entry: the Middle right before Last is missing, or parts of different writes met."""

    region_id: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class AmbiguousLast:
    """An entry was given out, but its Last is that of the region's entry before, byte for byte.

    Either two entries end alike, or a batch of that Last and this First was sent again and the entry is a mix of the
    two; then the right one follows. The format cannot tell, and the database takes it for an entry.
    """

    region_id: int
    first_offset: int
    last_offset: int


Legal = Noop | RepeatedPart | UnfinishedEntry
"""What a healthy log may hold."""

Suspect = Tombstone | OrphanPart | IllegalSequence | PartsDoNotJoin | AmbiguousLast
"""What a healthy log does not hold, but for coincidences that README.md names."""

Finding = Legal | Suspect
