"""The records of a write-ahead log in Kafka: keys, entries, splitting and reassembly."""

from walrecord.entry import decode_entry, encode_entry, is_framed
from walrecord.errors import (
    IdOutOfRange,
    InvalidEntry,
    InvalidKey,
    MissingKey,
    RecordError,
    UnknownRecordType,
    UnsupportedVersion,
)
from walrecord.findings import (
    AmbiguousLast,
    Finding,
    IllegalSequence,
    Legal,
    Noop,
    OrphanPart,
    PartsDoNotJoin,
    RepeatedPart,
    Suspect,
    Tombstone,
    UnfinishedEntry,
)
from walrecord.key import First, Full, Last, Middle, RecordKey, RecordType, decode_key, encode_key
from walrecord.reader import drops_repeated_middle
from walrecord.reassembly import Entry, Outcome, Reassembler
from walrecord.split import KEY_RESERVE, Record, split

__all__ = [
    "KEY_RESERVE",
    "AmbiguousLast",
    "Entry",
    "Finding",
    "First",
    "Full",
    "IdOutOfRange",
    "IllegalSequence",
    "InvalidEntry",
    "InvalidKey",
    "Last",
    "Legal",
    "Middle",
    "MissingKey",
    "Noop",
    "OrphanPart",
    "Outcome",
    "PartsDoNotJoin",
    "Reassembler",
    "Record",
    "RecordError",
    "RecordKey",
    "RecordType",
    "RepeatedPart",
    "Suspect",
    "Tombstone",
    "UnfinishedEntry",
    "UnknownRecordType",
    "UnsupportedVersion",
    "decode_entry",
    "decode_key",
    "drops_repeated_middle",
    "encode_entry",
    "encode_key",
    "is_framed",
    "split",
]
