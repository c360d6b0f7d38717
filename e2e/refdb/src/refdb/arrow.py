"""Rows as tables of Arrow: for files and for queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from refdb.schema import Column, ColumnType, Row

_TYPES = {
    ColumnType.STRING: pa.string(),
    ColumnType.INT32: pa.int32(),
    ColumnType.INT64: pa.int64(),
    ColumnType.UINT64: pa.uint64(),
    ColumnType.FLOAT64: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.TIMESTAMP: pa.int64(),
}


def arrow_table(columns: Sequence[Column], rows: Iterable[Row]) -> Any:
    """A table with these columns."""
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(of_column, _TYPES[column.type]) for column, of_column in zip(columns, values, strict=True)]
    return pa.table(arrays, names=[column.name for column in columns])
