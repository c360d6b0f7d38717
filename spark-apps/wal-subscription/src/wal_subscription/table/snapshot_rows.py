"""Rows of a snapshot's files as files of the bucket, which commits name later.

Nothing is sorted: a row says where it stood.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkjob.bucket import Bucket
from sparkjob.entry_rows import NotReadable
from sparkjob.snapshot import of_file
from wal_subscription.outcome import Outcome, outcome_of
from wal_subscription.records.snapshot import File
from wal_subscription.stops import MustStop, Reason, Stop
from wal_subscription.table.columns import Column
from wal_subscription.table.commit import File as Written
from wal_subscription.table.encoding import RowsOfFile
from wal_subscription.table.file_columns import array_of, columns_of_file
from wal_subscription.table.files import Files
from wal_subscription.table.jobs import Made, Sides
from walrecord.region import table_id

MADE: Any = pa.schema([("made", pa.binary())])


def converted(files: Sequence[File], sides: Sides) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For `mapInArrow`: (file, row, columns …) of these files, which have the same columns → MADE."""
    by_name: dict[str, list[File]] = defaultdict(list)
    for file in files:
        by_name[file.name].append(file)

    def convert(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tasks = dict[str, _Task]()
        for batch in batches:
            for uri in pc.unique(batch.column(0)).to_pylist():
                rows = batch.filter(pc.equal(batch.column(0), uri))
                for file in of_file(uri, by_name):
                    if file.topic not in tasks:
                        tasks[file.topic] = _Task(file.topic, sides)
                    tasks[file.topic].take(file, rows)
        for task in tasks.values():
            yield pa.RecordBatch.from_pylist([{"made": pickle.dumps(task.finish())}], MADE)

    return convert


def made_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Made]:
    """Out of MADE."""
    for batch in batches:
        for content in batch.column(0).to_pylist():
            yield pickle.loads(content)  # noqa: S301 - of our own tasks


class _Task:
    """What one task makes of a topic's rows. It goes on to its end, and tells then what went wrong first."""

    def __init__(self, topic: str, sides: Sides) -> None:
        self._topic, self._request, self._place = topic, sides.request, sides.place
        self._files: Files | None = None
        self._written = list[Written]()
        self._found: dict[int, tuple[int, int]] = {}
        self._how = Outcome()

    def take(self, file: File, rows: pa.RecordBatch) -> None:
        """Rows of a file."""
        if self._how.is_well:
            self._how = outcome_of(lambda: self._take(file, rows))

    def finish(self) -> Made:
        """Puts what is open into the bucket."""
        if self._how.is_well:
            self._how = outcome_of(self._put)
        if self._files is not None:
            self._files.close()
        return Made(self._topic, tuple(self._written), self._found, self._how)

    def _take(self, file: File, rows: pa.RecordBatch) -> None:
        if self._files is None:
            self._files = self._begun()
        number, table = rows.num_rows, table_id(file.region)
        _, numbers, *arrays = rows.columns  # two may have one name
        columns = columns_of_file(file, [array.type for array in arrays])
        values = [self._array(file, column, array) for column, array in zip(columns, arrays, strict=True)]
        place = (table, file.region, file.entry_id, file.sequence, file.number)
        made = RowsOfFile(*place, number, numbers.cast(pa.int32()), columns, values)
        self._files.add_of_snapshot(made, self._request.selection.names.get(table))
        before, highest = self._found.get(file.number, (0, -1))
        self._found[file.number] = before + number, max(highest, pc.max(numbers).as_py())
        if self._files.bytes >= self._request.sink.most_bytes:
            self._put()

    def _array(self, file: File, column: Column, array: pa.Array) -> pa.Array:
        try:
            return array_of(column, array)
        except NotReadable as reason:
            said = f"file {file.number} of the snapshot of topic {self._topic}, {file.name}, {reason}"
            raise MustStop(Stop(self._topic, Reason.UNREADABLE, None, said)) from None

    def _put(self) -> None:
        if self._files is not None:
            self._written += self._files.finish()

    def _begun(self) -> Files:
        sink = self._request.sink
        generation = next(topic.generation for topic in self._request.topics if topic.name == self._topic)
        return Files(Bucket(self._place), f"{sink.writer}/data", f"{self._topic}-{generation}", self._topic)
