"""The reading of Coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from replay_verification.schemas import COUNTS, COUNTS_ARROW, SHOWN
from sparkjob.integrity.findings import Finding, Kind
from sparkjob.integrity.judge import noops_sentence
from sparkjob.log_records import Chunk, LogRecord, LogRecords


def counted(records: LogRecords) -> DataFrame:
    """Records and bytes of each topic (whoever counts all of them has read them), and what shows without decoding.

    That is how many noops beyond offset 0, tombstones and records without a key there are, and where the first one is.
    """
    columns = [F.sum("records").alias("records"), F.sum("bytes").alias("bytes")]
    for kind in SHOWN:
        columns += [F.sum(kind).alias(kind), F.min(f"first{kind}").alias(f"first{kind}")]
    return records.map(_count, COUNTS).groupBy("topic").agg(*columns)


def _count(chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """Records → COUNTS of each topic."""
    found: dict[str, _Counts] = {}
    for topic, records in chunks:
        found.setdefault(topic, _Counts()).add(records)
    yield pa.RecordBatch.from_pylist([{"topic": name} | each.row() for name, each in found.items()], COUNTS_ARROW)


@dataclass(slots=True)
class _Counts:
    records: int = 0
    size: int = 0
    shown: Counter[Kind] = field(default_factory=Counter)
    first: dict[Kind, int] = field(default_factory=dict)

    def add(self, records: Sequence[LogRecord]) -> None:
        self.records += len(records)
        for offset, key, value in records:
            if value is not None:
                self.size += len(value)
            if key is None or value is None:
                self._show(offset, key, value)

    def row(self) -> dict[str, Any]:
        row: dict[str, Any] = {"records": self.records, "bytes": self.size}
        for kind in SHOWN:
            row |= {kind.value: self.shown[kind], f"first{kind}": self.first.get(kind)}
        return row

    def _show(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        if value is not None:
            kind = Kind.MISSING_KEY
        elif key is not None:
            kind = Kind.TOMBSTONE
        elif offset > 0:
            kind = Kind.NOOPS
        else:
            return
        self.shown[kind] += 1
        self.first.setdefault(kind, offset)


def find_counted(row: Row) -> Iterator[Finding]:
    """What a line of `counted` says."""
    for kind, said in {
        Kind.NOOPS: noops_sentence(row[Kind.NOOPS]),
        Kind.TOMBSTONE: f"{row[Kind.TOMBSTONE]} records have a key and no value: the database skips them",
        Kind.MISSING_KEY: f"{row[Kind.MISSING_KEY]} records have a value but no key: no region can be opened",
    }.items():
        if row[kind]:
            yield Finding(kind, row["topic"], said, row[f"first{kind}"])
