"""The columns of the DataFrames that only verifications have."""

from __future__ import annotations

from typing import Any

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType, LongType, StringType

from sparkjob.integrity.findings import Kind
from sparkjob.integrity.schemas import struct

ROWS = struct(
    topic=StringType(),
    region=LongType(),
    cut=LongType(),
    found=BooleanType(),
    position=LongType(),
    place=LongType(),
    offset=LongType(),
    key=StringType(),
    hash=LongType(),
    why=StringType(),
)
"""Rows of the database (`rows.py`): what they count for (the newer cut of a pair; found there, or expected), and their
position (the sequence number; of files, negative)
and place (the entry id) among others of the same key. A null hash is a deletion; `why` says what cannot be compared.
"""

SHOWN = (Kind.NOOPS, Kind.TOMBSTONE, Kind.MISSING_KEY)
"""What records show that nobody decodes."""

COUNTS = struct(
    topic=StringType(),
    records=LongType(),
    bytes=LongType(),
    **{kind.value: LongType() for kind in SHOWN},
    **{f"first{kind}": LongType() for kind in SHOWN},
)
"""Counts of a topic in one Spark partition (`coverage_counts.py`), and the offset of the first of each kind."""

RUNS = struct(topic=StringType(), first=LongType(), last=LongType())
"""Offsets that follow each other (`holes.py`)."""

ROWS_ARROW: Any = to_arrow_schema(ROWS)
COUNTS_ARROW: Any = to_arrow_schema(COUNTS)
RUNS_ARROW: Any = to_arrow_schema(RUNS)
