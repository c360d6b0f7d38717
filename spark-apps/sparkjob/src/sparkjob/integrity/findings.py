"""What a verification finds. The kinds are part of the contract: reports and summaries name them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MOST_OF_A_KIND = 20
"""So many findings of one kind are told for a region; all are counted."""


class Severity(StrEnum):
    """Whether a topic with this finding can still be verified."""

    ERROR = "Error"
    WARNING = "Warning"


class Kind(StrEnum):
    """What is wrong, or may be."""

    TOPIC_MISSING = "TopicMissing"
    """Kafka has no such topic."""
    TOPIC_RECREATED = "TopicRecreated"
    """The topic has another id: what the regions wrote is gone."""
    LOG_START_BEYOND_REPLAY = "LogStartBeyondReplay"
    """The log starts after the first offset that a region would read."""
    LOG_ENDS_BEFORE_FLUSHED = "LogEndsBeforeFlushed"
    """The log ends at or before an id that is durable: the next rows would get offsets that replay skips."""
    LOG_ENDS_BEFORE_RANGE = "LogEndsBeforeRange"
    """The log ends before the range that was asked for does: its tail was lost, or the request is wrong."""
    OFFSETS_MISSING = "OffsetsMissing"
    """The log has holes: the database's reader waits for ever at the first, and opens no region of the topic."""
    TIMESTAMP_OUT_OF_RANGE = "TimestampOutOfRange"
    """A record's timestamp is none that the database's Kafka client reads: no region of the topic can be opened."""
    MORE_PARTITIONS = "MorePartitions"
    """The topic has partitions beside 0, which the database neither writes nor reads: nothing of them is replayed."""
    NOOPS = "Noops"
    """Records without key and value beyond offset 0, where the database writes none: what stood there is gone."""
    TOMBSTONE = "Tombstone"
    """A key without a value, which the database never writes and its reader skips: an entry is gone."""
    MISSING_KEY = "MissingKey"
    """A record has a value but no key: the database refuses to open every region of the topic."""
    UNDECODABLE_KEY = "UndecodableKey"
    """The key is none that the database writes."""
    UNDECODABLE_ENTRY = "UndecodableEntry"
    """The value is not a whole entry."""
    MALFORMED_ENTRY = "MalformedEntry"
    """The entry decodes, and the database would crash on it: values for no columns, an unknown operation."""
    UNKNOWN_FIELDS = "UnknownFields"
    """The entry has fields that this program does not know, of a newer database or by damage: they are not verified."""
    ORPHAN_PART = "OrphanPart"
    """A part of an entry whose First is not there."""
    ILLEGAL_SEQUENCE = "IllegalSequence"
    """A part may not follow the one before it: the database reads no further, and opens no region of the topic."""
    PARTS_DO_NOT_JOIN = "PartsDoNotJoin"
    """The parts give no entry: one is missing before Last, or parts of different writes met."""
    SEQUENCE_ORDER = "SequenceOrder"
    """An entry stands before one that was written earlier."""
    SEQUENCE_GAP = "SequenceGap"
    """Sequence numbers are left out: an entry is missing, or its write failed and was never acknowledged."""
    REPEATED_SEQUENCE = "RepeatedSequence"
    """Sequence numbers come again in the same bytes: legal, the producer sends again when no answer came."""
    SEQUENCE_REUSED = "SequenceReused"
    """Sequence numbers come again, or go back, and no entry before has the same bytes: rows would replace others."""
    REPEATED_PART = "RepeatedPart"
    """A part comes again: legal, for the same reason."""
    AMBIGUOUS_LAST = "AmbiguousLast"
    """Two entries end alike; the format cannot tell whether the second is a mix of both."""
    UNFINISHED_ENTRY = "UnfinishedEntry"
    """Another entry begins before this one's Last: its writer gave up, or its Last is lost."""
    UNKNOWN_REGION = "UnknownRegion"
    """The records belong to a region that the request does not have: dropped, or moved to another topic."""
    ROWS_DIFFER = "RowsDiffer"
    """The older rows and the log do not give the newer rows."""
    SNAPSHOT_KEY_TWICE = "SnapshotKeyTwice"
    """A file of the snapshot has a key twice: which of the rows counts is not known, so nothing is compared."""
    LOG_ENDS_BEFORE_CUT = "LogEndsBeforeCut"
    """The database holds rows of entries after the end of the log: the log lost its tail."""

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return Severity.WARNING if self in _WARNINGS else Severity.ERROR


_WARNINGS = frozenset(
    {
        Kind.SEQUENCE_GAP,
        Kind.REPEATED_SEQUENCE,
        Kind.REPEATED_PART,
        Kind.AMBIGUOUS_LAST,
        Kind.UNFINISHED_ENTRY,
        Kind.UNKNOWN_REGION,
        Kind.UNKNOWN_FIELDS,
        Kind.MORE_PARTITIONS,
        Kind.NOOPS,
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found; the offset is the first one that is not as it should be."""

    kind: Kind
    topic: str
    message: str
    offset: int | None = None
    region: int | None = None

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return self.kind.severity


def worst_first(findings: list[Finding]) -> list[Finding]:
    """Errors before warnings; in each, the lowest offsets first, and what concerns a whole topic before all."""
    return sorted(
        findings,
        key=lambda found: (
            found.severity is Severity.WARNING,
            -1 if found.offset is None else found.offset,
            found.topic,
            -1 if found.region is None else found.region,
            found.kind,
        ),
    )
