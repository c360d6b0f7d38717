"""Objects of a backup: Parquet files that any tool reads. A row group is a *section*: a stretch of one topic.

Columns: topic, offset, timestamp (ms), timestamp_type, key, value, headers (a list of key and value; null: none, which
Kafka does not tell from an empty list).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sparkjob.wire.records import Record, digest_of, most_in_batch, size_of

MOST_RECORDS = 65_536
MOST_BYTES = 64 << 20
"""Of one section: what a reader has in memory at once."""
_HEADER = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
SCHEMA = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(_HEADER)),
    ]
)
_DELTA = "DELTA_BINARY_PACKED"


@dataclass(frozen=True, slots=True)
class Section:
    """Records of one topic that follow each other, and where they are.

    Attributes:
        object: path of the object below the chain.
        row_group: which of its row groups.
        first, last: offsets of the first and the last record.
        largest: bytes that a batch of Kafka's with one of its records alone has at most.
        newest: the latest timestamp of its records, in ms.
        digest: of its records.
    """

    object: str
    row_group: int
    first: int
    last: int
    records: int
    bytes: int
    largest: int
    newest: int
    digest: str


class SectionWriter:
    """Writes the sections of one object to a local file.

    It is published whole, later: pyarrow's streams to a store cannot be aborted, and would publish half of one.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path, self._name = path, name
        self.sections: list[tuple[str, Section]] = []
        """With their topics."""
        self._records: list[Record] = []
        self._bytes = self._largest = 0
        self._topic = ""
        self.size = 0
        """Bytes of the file, without what is not written yet."""
        self._writer = pq.ParquetWriter(
            path,
            SCHEMA,
            compression="zstd",
            compression_level=3,
            use_dictionary=["topic", "key"],
            column_encoding={"offset": _DELTA, "timestamp": _DELTA},
            write_page_checksum=True,
        )

    def begin(self, topic: str) -> None:
        """What is added from now on is this topic's."""
        self._flush()
        self._topic = topic

    def add(self, record: Record) -> None:
        """One record, of a higher offset than those before it."""
        self._records.append(record)
        size = size_of(record)
        self._bytes += size
        self._largest = max(self._largest, most_in_batch(record, size))
        if len(self._records) >= MOST_RECORDS or self._bytes >= MOST_BYTES:
            self._flush()

    def close(self) -> None:
        """Writes what is left, and the end of the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if not self._records:
            return
        records = self._records
        self._writer.write_table(_table(self._topic, records), row_group_size=len(records))
        self.size = self.path.stat().st_size
        ends = records[0].offset, records[-1].offset
        newest = max(record.timestamp for record in records)
        counts = len(records), self._bytes, self._largest, newest
        section = Section(self._name, len(self.sections), *ends, *counts, digest_of(records))
        self.sections.append((self._topic, section))
        self._records, self._bytes, self._largest = [], 0, 0


def read_table(file: pq.ParquetFile, row_group: int) -> pa.Table:
    """A row group as it is stored.

    Raises:
        OSError, pyarrow.ArrowException: a page is broken.
        IndexError: there is no such row group.
    """
    if not 0 <= row_group < file.num_row_groups:
        raise IndexError(f"there is no row group {row_group}: the object has {file.num_row_groups}")
    return file.read_row_group(row_group)


def read_section(file: pq.ParquetFile, row_group: int) -> tuple[set[str], list[Record]]:
    """The topics that a row group names, and its records. Raises as `read_table`."""
    table = read_table(file, row_group)
    return set(table.column("topic").to_pylist()), records_of(table)


def records_of(table: pa.Table) -> list[Record]:
    """The records of a row group."""
    columns = [
        table.column("offset").to_pylist(),
        table.column("timestamp").cast(pa.int64()).to_pylist(),
        *(table.column(name).to_pylist() for name in ("timestamp_type", "key", "value")),
        [_headers(headers) for headers in table.column("headers").to_pylist()],
    ]
    return [Record(*row) for row in zip(*columns, strict=True)]


def sha256_of(path: Path) -> str:
    """Of a local file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _table(topic: str, records: Sequence[Record]) -> pa.Table:
    offsets, timestamps, types, keys, values, headers = zip(*records, strict=True)
    listed = [None if each is None else [{"key": key, "value": value} for key, value in each] for each in headers]
    topics = pa.DictionaryArray.from_arrays(pa.array([0] * len(records), pa.int32()), pa.array([topic]))
    arrays = [
        topics,
        *(pa.array(column, SCHEMA.field(name).type) for name, column in _named(offsets, timestamps, types)),
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        pa.array(listed, SCHEMA.field("headers").type),
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _named(*columns: Sequence[int]) -> list[tuple[str, Sequence[int]]]:
    return list(zip(("offset", "timestamp", "timestamp_type"), columns, strict=True))


def _headers(found: list[dict[str, Any]] | None) -> list[tuple[str, bytes | None]] | None:
    return None if found is None else [(header["key"], header["value"]) for header in found]
