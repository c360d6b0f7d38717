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
    Legal,
    MissingMiddle,
    Noop,
    OrphanPart,
    PartsDoNotJoin,
    RepeatedPart,
    Suspect,
    UnfinishedEntry,
)
from walrecord.key import First, Full, Last, Middle, RecordKey, RecordType, decode_key, encode_key
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
    "InvalidEntry",
    "InvalidKey",
    "Last",
    "Legal",
    "Middle",
    "MissingKey",
    "MissingMiddle",
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
    "UnfinishedEntry",
    "UnknownRecordType",
    "UnsupportedVersion",
    "decode_entry",
    "decode_key",
    "encode_entry",
    "encode_key",
    "is_framed",
    "split",
]
