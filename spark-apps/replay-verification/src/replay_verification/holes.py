"""Offsets that a log does not have: its reader in the database waits at the first of them for ever.

A range [from, to) holds to - from records when none is missing: so counting tells whether there is a hole, and only a
topic with one is read again for its place. Compaction leaves holes, and so do transactions: their markers have offsets.
(GreptimeDB, src/log-store/src/kafka/consumer.rs, `RecordsBuffer::pop_front`: only the next offset is given out.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from replay_verification.schemas import RUNS, RUNS_ARROW
from sparkjob.integrity.findings import Finding, Kind
from sparkjob.log_records import Chunk, LogRecords
from sparkjob.wire.reader import Range


def with_holes(ranges: Sequence[Range], counts: Mapping[str, int]) -> list[Range]:
    """The ranges of which fewer records were read than they have offsets."""
    return [each for each in ranges if counts.get(each.topic, 0) != each.end - each.start]


def gaps(records: LogRecords) -> DataFrame:
    """Records → for each topic its first offset, the first without a successor, and its last."""
    order = Window.partitionBy("topic").orderBy("first")
    following = records.map(_runs, RUNS).select("*", F.lead("first").over(order).alias("next"))
    before = F.when(F.col("next") != F.col("last") + 1, F.col("last"))
    return following.groupBy("topic").agg(
        F.min("first").alias("first"), F.min(before).alias("before"), F.max("last").alias("last")
    )


def _runs(chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """Records → RUNS."""
    for topic, records in chunks:
        runs = list[dict[str, object]]()
        for offset, _, _ in records:
            if not runs or runs[-1]["last"] != offset - 1:
                runs.append({"topic": topic, "first": offset, "last": offset})
            runs[-1]["last"] = offset
        yield pa.RecordBatch.from_pylist(runs, RUNS_ARROW)


def missing(asked: Range, found: Mapping[str, int | None] | None, records: int) -> Finding:
    """The finding about a range with holes; `found` is the line of `gaps` for its topic, None without a record."""
    count = asked.end - asked.start - records
    first = asked.start
    if found is not None and found["first"] == asked.start:
        before, last = found["before"], found["last"]
        first = (last if before is None else before) + 1  # type: ignore[operator]
    offsets = "offset is" if count == 1 else "offsets are"
    said = (
        f"{count} {offsets} missing between {asked.start} and {asked.end}, the first at {first}: the database waits "
        "there for ever (the topic is or was compacted, or somebody wrote to it in transactions)"
    )
    return Finding(Kind.OFFSETS_MISSING, asked.topic, said, first)
