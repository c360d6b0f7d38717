"""Sections as columns: what a check asks of them, without an object for each record.

The digest is that of `sparkjob.wire.records`, whose bytes are joined for a whole section at once; headers, which few
records have, are encoded record by record there.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkjob.wire.records import NULL, digest_of
from wal_backup.parquet import records_of

_HEAD = np.dtype([("offset", "<i8"), ("timestamp", "<i8"), ("type", "i1"), ("headers", "<i4"), ("key", "<i8")])
"""What stands before a key: packed, as `sparkjob.wire.records.encode` does."""
_LENGTH = np.dtype("<i8")


@dataclass(frozen=True, slots=True)
class Content:
    """What a row group has: topics, the number of its records, their first and last offset, and their digest.

    Attributes:
        rises: each offset is above the one before it.
    """

    topics: frozenset[str]
    records: int
    ends: tuple[int, ...]
    rises: bool
    digest: str


def content_of(table: pa.Table) -> Content:
    """Of a row group of a backup."""
    offsets = _column(table, "offset").to_numpy()
    return Content(
        topics=frozenset(pc.unique(table.column("topic")).to_pylist()),
        records=len(offsets),
        ends=tuple(offsets[[0, -1]].tolist()) if len(offsets) else (),
        rises=bool((offsets[1:] > offsets[:-1]).all()),
        digest=digest_of_columns(table),
    )


def digest_of_columns(table: pa.Table) -> str:
    """The digest of the records of a row group, in their order."""
    if table.column("headers").null_count < len(table):
        return digest_of(records_of(table))
    keys, values = _column(table, "key"), _column(table, "value")
    heads = np.empty(len(table), _HEAD)
    heads["offset"] = _column(table, "offset").to_numpy()
    heads["timestamp"] = _column(table, "timestamp").cast(pa.int64()).to_numpy()
    heads["type"] = _column(table, "timestamp_type").to_numpy()
    heads["headers"] = NULL
    heads["key"] = _lengths(keys)
    parts = _binary(heads), _content(keys), _binary(_lengths(values)), _content(values)
    joined = pc.binary_join_element_wise(*parts, b"")
    return hashlib.sha256(_bytes(joined)).hexdigest()


def _column(table: pa.Table, name: str) -> Any:
    """As one array."""
    found = table.column(name).combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def _lengths(column: Any) -> Any:
    return pc.fill_null(pc.binary_length(column).cast(pa.int64()), NULL).to_numpy(zero_copy_only=False).astype(_LENGTH)


def _content(column: Any) -> Any:
    return pc.fill_null(column, b"")


def _binary(numbers: Any) -> Any:
    """An array of numpy's, an element each, as bytes."""
    size = numbers.dtype.itemsize
    fixed = pa.Array.from_buffers(pa.binary(size), len(numbers), [None, pa.py_buffer(numbers.tobytes())])
    return fixed.cast(pa.binary())


def _bytes(joined: Any) -> Any:
    """All elements of a binary array, one after the other."""
    _, offsets, data = joined.buffers()
    return b"" if data is None else memoryview(data)[: np.frombuffer(offsets, "<i4")[len(joined)]]
