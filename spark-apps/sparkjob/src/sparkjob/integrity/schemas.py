"""The columns of every DataFrame of Integrity, in one place; and 64 unsigned bits in columns that have signed ones."""

from __future__ import annotations

from typing import Any

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, DataType, LongType, StringType, StructField, StructType


def struct(**columns: DataType) -> StructType:
    """Columns by their names."""
    return StructType([StructField(name, kind) for name, kind in columns.items()])


_TEXT, _LONG, _BYTES = StringType(), LongType(), BinaryType()

ENTRIES = struct(topic=_TEXT, region=_LONG, offset=_LONG, first=_LONG, after=_LONG, hash=_LONG)
"""Entries of the log (`reuse.py`): the sequence numbers [first, after) of their rows, and a hash of their bytes."""

RECORDS = struct(topic=_TEXT, offset=_LONG, key=_BYTES, value=_BYTES)
"""Records of Kafka."""

PIECES = struct(
    kind=_TEXT,
    topic=_TEXT,
    region=_LONG,
    offset=_LONG,
    place=_LONG,
    last_offset=_LONG,
    sequence=_LONG,
    next_sequence=_LONG,
    key=_BYTES,
    value=_BYTES,
    finding=_TEXT,
    message=_TEXT,
    entries=_LONG,
    rows=_LONG,
    bytes=_LONG,
    xor=_LONG,
    total=_LONG,
)
"""What is left of the records of one Spark partition (`scan.py`); the kind says which columns are set.

`place` orders the pieces of one offset. `run`: offset, last_offset, sequence, next_sequence (null: unknown). `part`:
offset, key, value. `finding`: offset, finding, message. `noops`: offset of the first, entries.
`tally`: entries, rows, bytes, xor, total, last_offset; the one
without a region has the records and bytes of the topic.
"""

VERDICTS = struct(
    kind=_TEXT,
    topic=_TEXT,
    region=_LONG,
    offset=_LONG,
    last_offset=_LONG,
    finding=_TEXT,
    message=_TEXT,
    entries=_LONG,
    rows=_LONG,
    bytes=_LONG,
    xor=_LONG,
    total=_LONG,
    errors=_LONG,
    warnings=_LONG,
)
"""What a region's pieces say (`judge.py`): findings (at most 20 of a kind), and one `tally` with the number of all."""

ENTRIES_ARROW: Any = to_arrow_schema(ENTRIES)
RECORDS_ARROW: Any = to_arrow_schema(RECORDS)
PIECES_ARROW: Any = to_arrow_schema(PIECES)
VERDICTS_ARROW: Any = to_arrow_schema(VERDICTS)

_SIGN, _WIDTH = 1 << 63, 1 << 64


def signed(number: int) -> int:
    """64 unsigned bits as the signed number with the same bits: Spark has no unsigned ones."""
    return number - _WIDTH if number >= _SIGN else number


def unsigned(number: int) -> int:
    """The way back."""
    return number + _WIDTH if number < 0 else number
