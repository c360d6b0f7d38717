"""Snapshots of the logs that tests write, and their files as a driver without Spark hands them on, in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from record_logs import Written
from snapshots import Snapshot
from wal_logs import TableRow

from wal_subscription.records import process
from wal_subscription.records.encoding import Encoder, Placed
from wal_subscription.records.jobs import Copied, Job, Sides
from wal_subscription.records.snapshot import END, File
from wal_subscription.records.snapshot_rows import encoded, placed
from wal_subscription.table import process as tables
from wal_subscription.table.jobs import Copied as TableCopied
from wal_subscription.table.jobs import Job as TableJob
from wal_subscription.table.jobs import Made
from wal_subscription.table.jobs import Sides as TableSides
from wal_subscription.table.snapshot_rows import converted, made_of
from walrecord.region import table_id

BATCH = 3
"""Rows that are read at once."""


class LocalFiles:
    """Reads files with Arrow.

    Attributes:
        most: files that are handed on before it ends, as a driver that is killed does; None: all.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most

    def read(self, uri: str) -> bytes:
        """As Spark would."""
        return Path(urlparse(uri).path).read_bytes()


class LocalTables(LocalFiles):
    """For the sink of tables."""

    def hand_on(self, jobs: Sequence[TableJob], sides: TableSides) -> list[TableCopied]:
        """As Spark would, one topic after the other."""
        few = [job.with_files(job.files[: self.most]) for job in jobs]
        return [tables.name_files(job, sides, self.made(job, sides)) for job in few]

    def made(self, job: TableJob, sides: TableSides) -> list[Made]:
        """Each file by a task of its own."""
        base, has = job.base, sides.request.selection.has
        assert base is not None
        selected = [file for file in job.files if has(table_id(file.region))]
        return [made for file in selected for made in made_of(converted([file], sides)(_batches(base.folder, file)))]


class LocalSnapshots(LocalFiles):
    """For the sink of records."""

    def hand_on(self, jobs: Sequence[Job], sides: Sides) -> list[Copied]:
        """As Spark would, one topic after the other."""
        return [process.hand_on(job, sides, self.rows(job, sides)) for job in jobs]

    def rows(self, job: Job, sides: Sides) -> Iterator[Placed]:
        """Of the job's files."""
        encoders = {job.topic.name: Encoder(job.topic.name, sides.request.sink, sides.request.selection)}
        for file in job.files[: self.most]:
            if sides.request.selection.has(table_id(file.region)):
                assert job.base is not None
                batches = _batches(job.base.folder, file)
                for _, row in placed(encoded([file], encoders, {job.topic.name: job.from_file})(batches)):
                    yield row
            yield Placed(file.number, END, None)


def _batches(folder: str, file: File) -> Iterator[Any]:
    """The file's URI, the row's number, and the columns."""
    path = Path(urlparse(folder).path) / file.name
    table = pq.read_table(path, columns=list(file.columns))
    numbered = table.add_column(0, "row_index", pa.array(range(table.num_rows), pa.int64()))
    named = numbered.add_column(0, "file_path", pa.array([path.as_uri()] * table.num_rows, pa.string()))
    yield from named.to_batches(max_chunksize=BATCH)


def snapshot_of(
    folder: Path, topic: str, log: Written, cuts: dict[int, int], files: int = 2, *, append_mode: bool = False
) -> str:
    """Of a log, region by region up to an entry id: its rows in some files, the older ones first. Returns the URI."""
    made = Snapshot(folder)
    for region, entry_id in cuts.items():
        rows = rows_up_to(log, region, entry_id)
        size = -(-len(rows) // files) if rows else 1
        parts = [rows[at : at + size] for at in range(0, len(rows), size)] or [[]]
        older = {entry_id - len(parts) + 1 + number: part for number, part in enumerate(parts)}
        made.add(region, topic, older, sequences={entry_id: len(rows)}, append_mode=append_mode)
    made.write()
    return made.uri


def rows_up_to(log: Written, region: int, entry_id: int) -> list[TableRow]:
    """What a table has then; no test writes one key twice."""
    found = [row for offset, of, row in log.placed if of == region and offset <= entry_id]
    return [TableRow(row.host, row.sequence, row.load) for row in found]
