"""Parquet files that are made row by row on a disk, and are put into the bucket when they are whole.

Their names are their own: what nobody's commit names is nobody's, and does no harm.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sparkjob.bucket import Bucket
from wal_subscription.table.columns import OURS, Column, kind_of, schema_of
from wal_subscription.table.commit import File
from wal_subscription.table.encoding import Rows, RowsOfFile

MOST_WAITING_BYTES = 8 << 20
"""Of rows that are in no file yet; in Python they take ten times as much."""
MAX_OFFSET = 2**63 - 1
_LEVEL = 1
_ROW = OURS.get_field_index("_row")


class Files:
    """The files of one commit to be: one for each table, and one more for each other set of columns that it had.

    Attributes:
        rows: how many were added.
    """

    def __init__(self, bucket: Bucket, folder: str, prefix: str, topic: str) -> None:
        self._bucket, self._folder, self._prefix, self._topic = bucket, folder, prefix, topic
        self._open: dict[tuple[int, tuple[Column, ...]], _Open] = {}
        self._waiting = 0
        self.rows = 0

    @property
    def bytes(self) -> int:
        """About so many bytes they have."""
        return self._waiting + sum(each.written for each in self._open.values())

    def add(self, rows: Rows, table: str | None) -> None:
        """Rows of a table that has this name."""
        self._of(rows.table_id, table, rows.columns).add(rows)
        self._note(rows.number, rows.bytes)

    def add_of_snapshot(self, rows: RowsOfFile, table: str | None) -> None:
        """The same of a snapshot's."""
        self._of(rows.table_id, table, rows.columns).add_of_snapshot(rows)
        self._note(rows.number, sum(values.nbytes for values in rows.values))

    def finish(self) -> tuple[File, ...]:
        """Puts them into the bucket; the next rows begin others.

        Raises:
            Refused, Interrupted: the store does not take them, or does not answer.
        """
        self._write()
        made = tuple(self._put(each) for each in self._open.values())
        self.close()
        return made

    def close(self) -> None:
        """Forgets all rows."""
        for each in self._open.values():
            each.close()
        self._open.clear()
        self._waiting = self.rows = 0

    def _of(self, table_id: int, table: str | None, columns: tuple[Column, ...]) -> _Open:
        key = table_id, columns
        if key not in self._open:
            self._open[key] = _Open(table_id, table, self._topic, columns)
        return self._open[key]

    def _note(self, rows: int, size: int) -> None:
        self.rows += rows
        self._waiting += size
        if self._waiting >= MOST_WAITING_BYTES:
            self._write()

    def _write(self) -> None:
        for each in self._open.values():
            each.write()
        self._waiting = 0

    def _put(self, made: _Open) -> File:
        path = f"{self._folder}/{made.table_id}/{self._prefix}-{uuid.uuid4().hex}.parquet"
        size = made.finish()
        self._bucket.put(path, made.file)
        return File(path, made.table_id, made.table, made.rows, size, made.first, made.last)


@dataclass
class _Waiting:
    """Rows of the log that are in no row group yet."""

    offsets: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    sequences: list[int] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)
    regions: list[int] = field(default_factory=list)


class _Open:
    """A file that is being made. It has no name on the disk, so it is gone when its process is."""

    def __init__(self, table_id: int, table: str | None, topic: str, columns: tuple[Column, ...]) -> None:
        self.table_id, self.table, self.rows = table_id, table, 0
        self.first, self.last = MAX_OFFSET, 0
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="seawall-")  # noqa: SIM115 - `close` does
        self._topic, self._columns = topic, columns
        self._schema = schema_of(columns, table_id, table)
        self._writer = pq.ParquetWriter(self.file, self._schema, compression="zstd", compression_level=_LEVEL)
        self._forget()

    @property
    def written(self) -> int:
        """Bytes of the row groups that there are."""
        return self.file.tell()

    def add(self, rows: Rows) -> None:
        """More rows of these columns."""
        waiting, number = self._waiting, rows.number
        waiting.offsets += [rows.offset] * number
        waiting.numbers += range(rows.first, rows.first + number)
        waiting.sequences += range(rows.sequence, rows.sequence + number)
        waiting.operations += [rows.operation] * number
        waiting.regions += [rows.region] * number
        for values, more in zip(self._values, rows.values, strict=True):
            values.extend(more)
        self._note(number, rows.offset)

    def add_of_snapshot(self, rows: RowsOfFile) -> None:
        """The same of a snapshot's."""
        number, sequence = rows.number, rows.sequence
        ours = (self._topic, rows.offset, None, sequence, "put", rows.region, rows.file)
        arrays = [pa.repeat(pa.scalar(value, field.type), number) for field, value in zip(OURS, ours, strict=True)]
        arrays[_ROW] = rows.rows
        self._batches.append(pa.RecordBatch.from_arrays([*arrays, *rows.values], schema=self._schema))
        self._note(number, rows.offset)

    def _note(self, number: int, offset: int) -> None:
        self.rows += number
        self.first, self.last = min(self.first, offset), max(self.last, offset)

    def write(self) -> None:
        """A row group of what waits."""
        if self._waiting.offsets:
            self._batches.append(self._batch())
        if self._batches:
            self._writer.write_table(pa.Table.from_batches(self._batches))
        self._forget()

    def _batch(self) -> pa.RecordBatch:
        waiting = self._waiting
        ours: Sequence[Sequence[Any]] = (
            [self._topic] * len(waiting.offsets),
            waiting.offsets,
            waiting.numbers,
            waiting.sequences,
            waiting.operations,
            waiting.regions,
            [None] * len(waiting.offsets),
        )
        arrays = [
            *(pa.array(values, field.type) for field, values in zip(OURS, ours, strict=True)),
            *(kind_of(column).array(values) for column, values in zip(self._columns, self._values, strict=True)),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def finish(self) -> int:
        """Its bytes; it can be read from its beginning then."""
        self._writer.close()
        size = self.file.seek(0, os.SEEK_END)
        self.file.seek(0)
        return size

    def close(self) -> None:
        """Forgets it."""
        self._writer.close()  # else it would do so when it is collected
        self.file.close()

    def _forget(self) -> None:
        self._waiting = _Waiting()
        self._batches = list[pa.RecordBatch]()
        self._values: list[list[Any]] = [[] for _ in self._columns]
