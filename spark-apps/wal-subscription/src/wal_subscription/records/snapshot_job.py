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
from wal_subscription.records import process
from wal_subscription.records.encoding import Encoder
from wal_subscription.records.jobs import Copied, Job, Sides
from wal_subscription.records.snapshot import END, File
from wal_subscription.records.snapshot_rows import PLACED, encoded, placed

_COPIED: Any = pa.schema([("copied", pa.binary())])
_ORDER = ("topic", "file", "row")


class SparkSnapshots:
    """Through Hadoop's file systems, as Equivalence reads them."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def read(self, uri: str) -> bytes:
        """As named."""
        return Storage(self._spark).read(uri)

    def hand_on(self, jobs: Sequence[Job], sides: Sides) -> list[Copied]:
        """As named. A topic is written by one task, in the order of its files and rows."""
        rows = self._ends(jobs)
        for frame in self._rows(jobs, sides):
            rows = rows.unionByName(frame)
        ordered = rows.repartition(len(jobs), "topic").sortWithinPartitions(*_ORDER)
        written = ordered.mapInArrow(_written({job.topic.name: job for job in jobs}, sides), _schema(_COPIED))
        return [pickle.loads(line["copied"]) for line in written.collect()]  # noqa: S301 - of our own tasks

    def _ends(self, jobs: Sequence[Job]) -> DataFrame:
        marks = [(file.topic, file.number, END, 0, None, None) for job in jobs for file in job.files]
        return self._spark.createDataFrame(marks, _schema(PLACED))

    def _rows(self, jobs: Sequence[Job], sides: Sides) -> Iterator[DataFrame]:
        """PLACED of the files of regions that are selected, group by group of those with the same columns."""
        request, folder = sides.request, str(sides.request.snapshot_uri)
        encoders = {job.topic.name: Encoder(job.topic.name, request.sink, request.selection) for job in jobs}
        starts = {job.topic.name: job.from_file for job in jobs}
        for columns, files in _by_columns(jobs, sides).items():
            frame = read_files(self._spark, folder, dict.fromkeys(file.name for file in files), columns, numbered=True)
            yield frame.mapInArrow(encoded(files, encoders, starts), _schema(PLACED))


def _by_columns(jobs: Sequence[Job], sides: Sides) -> Mapping[tuple[str, ...], list[File]]:
    groups: dict[tuple[str, ...], list[File]] = defaultdict(list)
    for job in jobs:
        for file in job.files:
            if sides.request.selection.has_region(file.region):
                groups[file.columns].append(file)
    return groups


def _written(jobs: Mapping[str, Job], sides: Sides) -> Any:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for topic, rows in groupby(placed(batches), itemgetter(0)):
            copied = process.hand_on(jobs[topic], sides, (row for _, row in rows))
            yield pa.RecordBatch.from_pylist([{"copied": pickle.dumps(copied)}], _COPIED)

    return write


def _schema(arrow: Any) -> Any:
    return from_arrow_schema(arrow)
