"""The columns of the DataFrames that only Equivalence has."""

from __future__ import annotations

from typing import Any

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType, LongType, StringType

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

ROWS_ARROW: Any = to_arrow_schema(ROWS)
