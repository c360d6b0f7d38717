"""Whether entries whose sequence numbers come again are what was sent before: same bytes are legal, others are not.

Only regions in which numbers come again are read a second time. An entry goes back when its first number lies before
the end of one that stands earlier; then an equal entry (numbers and bytes) must stand earlier, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - as above

from sparkjob.integrity.findings import MOST_OF_A_KIND, Finding, Kind
from sparkjob.integrity.log_entries import LogEntry, entries_of_parts, parts, whole_entries_of
from sparkjob.integrity.scan import runs_of_entry
from sparkjob.integrity.schemas import ENTRIES, ENTRIES_ARROW, signed, unsigned
from sparkjob.log_records import Chunk, LogRecords, Work, on_batches
from walrecord import InvalidEntry, decode_entry

Regions = Mapping[str, Mapping[int, int]]
"""Topic → region → the first offset that it reads."""
_MOST_SEQUENCE = 2**63 - 1


def reused(records: LogRecords, regions: Regions, *, drops_repeats: bool) -> DataFrame:
    """Records → the entries that go back and equal none before: topic, region, offset, first, and how many there are.

    At most 20 of each region, those that stand first in the log.
    """
    whole = records.map(_rows(regions, whole_entries_of), ENTRIES)
    joining = _rows(regions, partial(entries_of_parts, drops_repeats=drops_repeats))
    joined = parts(records).mapInArrow(on_batches(joining), ENTRIES)
    region = Window.partitionBy("topic", "region")
    before = region.orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    same = Window.partitionBy("topic", "region", "first", "after", "hash").orderBy("offset")
    entries = whole.unionByName(joined).withColumns(
        {"reached": F.max("after").over(before), "copy": F.row_number().over(same)}
    )
    back = entries.where((F.col("first") < F.col("reached")) & (F.col("copy") == 1))
    counted = back.withColumns(
        {"nth": F.row_number().over(region.orderBy("offset")), "count": F.count("offset").over(region)}
    )
    return counted.where(F.col("nth") <= MOST_OF_A_KIND).select("topic", "region", "offset", "first", "count")


def find_reused(lines: Sequence[Row]) -> list[Finding]:
    """What the lines of `reused` say."""
    return [
        Finding(
            Kind.SEQUENCE_REUSED,
            line["topic"],
            f"sequence {line['first']} comes again or too late, and no entry of the region before has the same bytes",
            line["offset"],
            unsigned(line["region"]),
        )
        for line in lines
    ]


def _rows(regions: Regions, read: Callable[[Iterable[Chunk]], Iterator[list[LogEntry]]]) -> Work:
    """Records → ENTRIES."""

    def rows(chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
        for entries in read(chunks):
            found = [_row(entry) for entry in entries if _is_asked(entry, regions)]
            yield pa.RecordBatch.from_pylist([row for row in found if row is not None], ENTRIES_ARROW)

    return rows


def _is_asked(entry: LogEntry, regions: Regions) -> bool:
    reads_from = regions[entry.topic].get(entry.region)
    return reads_from is not None and entry.entry_id >= reads_from


def _row(entry: LogEntry) -> dict[str, Any] | None:
    """An entry's numbers; None when it has no rows, or is no entry, which Integrity tells."""
    try:
        runs = list(runs_of_entry(decode_entry(entry.payload)))
    except InvalidEntry:
        return None
    if not runs:
        return None
    return {
        "topic": entry.topic,
        "region": signed(entry.region),
        "offset": entry.entry_id,
        "first": min(_MOST_SEQUENCE, *(run.first for run in runs)),
        "after": min(max(run.first + 1 if run.after is None else run.after for run in runs), _MOST_SEQUENCE),
        "hash": signed(int.from_bytes(blake2b(entry.payload, digest_size=8).digest(), "big")),
    }
