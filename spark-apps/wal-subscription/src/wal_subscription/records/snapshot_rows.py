"""Rows of a snapshot's files as records of the target, with their places: what goes through Spark, and who reads it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sparkjob.snapshot import of_file, value_of_file
from wal_subscription.records.encoding import Encoder, Placed, Row, float_of
from wal_subscription.records.snapshot import END, File

PLACED: Any = pa.schema(
    [
        ("topic", pa.string()),
        ("file", pa.int64()),
        ("row", pa.int64()),
        ("partition", pa.int32()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
_TYPES: Mapping[str, str] = {
    "bool": "BOOLEAN",
    "float": "FLOAT32",
    "double": "FLOAT64",
    "decimal128(20, 0)": "UINT64",  # Spark has no type for it
}
"""What the log calls those of Arrow, where it is not the same word."""


def encoded(
    files: Sequence[File], encoders: Mapping[str, Encoder], starts: Mapping[str, tuple[int, int]]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For `mapInArrow`: (file, row, columns …) of these files, which have the same columns → PLACED.

    `encoders` and `starts` are by topic: rows that stand before its start are left out.
    """
    by_name: dict[str, list[File]] = defaultdict(list)
    for file in files:
        by_name[file.name].append(file)

    def encode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names, rows, *values = (column.to_pylist() for column in batch.columns)
            columns = batch.schema.names[2:]
            types = {name: type_of(batch.schema.field(name).type) for name in columns}
            found = list[dict[str, Any]]()
            for name, row, content in zip(names, rows, zip(*values, strict=True), strict=True):
                plain = {column: _plain(value) for column, value in zip(columns, content, strict=True)}
                for file in of_file(name, by_name):
                    if (file.number, row) >= starts[file.topic]:
                        record = encoders[file.topic].row_of_file(file, row, plain, types)
                        found.append({"topic": file.topic, "file": file.number, "row": row, **record._asdict()})
            yield pa.RecordBatch.from_pylist(found, PLACED)

    return encode


def placed(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, Placed]]:
    """Rows by topic, out of PLACED."""
    for batch in batches:
        for topic, file, row, *record in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield topic, Placed(file, row, None if row == END else Row(*record))


def type_of(arrow: Any) -> str:
    """What the log calls a type of Arrow."""
    return _TYPES.get(str(arrow), str(arrow).upper())


def _plain(value: object) -> object:
    return float_of(value) if isinstance(value, float) else value_of_file(value)
