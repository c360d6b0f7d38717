"""Hands on files of a snapshot on Spark: read and encoded by all cores, and written in order, topic by topic."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from sparkjob.snapshot_files import read_files
from sparkjob.storage import Storage
from wal_subscription.asked import OfRun
from wal_subscription.records import process
from wal_subscription.records.beginnings import OfFiles
from wal_subscription.records.encoding import Encoder
from wal_subscription.records.jobs import Copied, Job, Sides
from wal_subscription.records.snapshot import END, File
from wal_subscription.records.snapshot_rows import PLACED, encoded, placed
from walrecord.region import table_id

_COPIED: Any = pa.schema([("copied", pa.binary())])
_ORDER = ("topic", "file", "row")


class SparkFiles:
    """Through Hadoop's file systems, as Equivalence reads them."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def read(self, uri: str) -> bytes:
        """As named."""
        return Storage(self._spark).read(uri)

    def frames(self, jobs: Sequence[OfFiles], request: OfRun) -> Iterator[tuple[list[File], DataFrame]]:
        """Files of jobs whose tables are selected, those with the same columns together, and their numbered rows.

        Raises:
            Refused: one cannot be read.
        """
        groups: dict[tuple[str, ...], list[File]] = defaultdict(list)
        for job in jobs:
            for file in job.files:
                if request.selection.has(table_id(file.region)):
                    groups[file.columns].append(file)
        for columns, files in groups.items():
            names = dict.fromkeys(file.name for file in files)
            yield files, read_files(self._spark, str(request.snapshot_uri), names, columns, numbered=True)


class SparkSnapshots(SparkFiles):
    """Rows in order: shuffled by topic, sorted by their places."""

    def hand_on(self, jobs: Sequence[Job], sides: Sides) -> list[Copied]:
        """As named. A topic is written by one task, in the order of its files and rows."""
        rows = self._ends(jobs)
        for frame in self._rows(jobs, sides):
            rows = rows.unionByName(frame)
        ordered = rows.repartition(len(jobs), "topic").sortWithinPartitions(*_ORDER)
        written = ordered.mapInArrow(_written({job.topic.name: job for job in jobs}, sides), schema_for(_COPIED))
        return [pickle.loads(line["copied"]) for line in written.collect()]  # noqa: S301 - of our own tasks

    def _ends(self, jobs: Sequence[Job]) -> DataFrame:
        marks = [(file.topic, file.number, END, 0, None, None) for job in jobs for file in job.files]
        return self._spark.createDataFrame(marks, schema_for(PLACED))

    def _rows(self, jobs: Sequence[Job], sides: Sides) -> Iterator[DataFrame]:
        """PLACED of the files of regions that are selected, group by group of those with the same columns."""
        request = sides.request
        encoders = {job.topic.name: Encoder(job.topic.name, request.sink, request.selection) for job in jobs}
        starts = {job.topic.name: job.from_file for job in jobs}
        for files, frame in self.frames(jobs, request):
            yield frame.mapInArrow(encoded(files, encoders, starts), schema_for(PLACED))


def _written(jobs: Mapping[str, Job], sides: Sides) -> Any:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for topic, rows in groupby(placed(batches), itemgetter(0)):
            copied = process.hand_on(jobs[topic], sides, (row for _, row in rows))
            yield pa.RecordBatch.from_pylist([{"copied": pickle.dumps(copied)}], _COPIED)

    return write


def schema_for(arrow: Any) -> Any:
    """Of Arrow, as Spark has it."""
    return from_arrow_schema(arrow)
