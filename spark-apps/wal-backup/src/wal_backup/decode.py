"""Integrity of what a store has: its records, judged as replay-verification judges those of Kafka."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from sparkjob.integrity import findings as log_findings
from sparkjob.integrity.reuse import find_reused, reused
from sparkjob.integrity.scan import Starts, start_of
from sparkjob.integrity.schemas import RECORDS_ARROW, unsigned
from sparkjob.integrity.verdicts import pieces_of, verdicts_on
from sparkjob.log_records import Chunk, LogRecords, chunks_of
from wal_backup.check import ObjectToCheck
from wal_backup.findings import Finding
from wal_backup.manifest import Manifest
from wal_backup.store import Place, Store

_ROWS_OF_A_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Decoded:
    """What is wrong with the records, and how many warnings there are; at most 20 of a kind for a region."""

    findings: tuple[Finding, ...]
    warnings: int


def decode(
    spark: SparkSession,
    place: Place,
    manifests: Sequence[Manifest],
    objects: Sequence[ObjectToCheck],
    *,
    drops_repeats: bool,
) -> Decoded:
    """Judges the records of backups of one chain that follow each other; `objects` are theirs.

    What a region reads is told by the backup in which it reads from lowest. Entries that begin before the first backup
    or end after the last one are no findings.
    """
    if not objects:
        return Decoded((), 0)
    return judge_records(records_of(spark, place, objects), starts_of(manifests), drops_repeats=drops_repeats)


def judge_records(records: LogRecords, starts: Starts, *, drops_repeats: bool) -> Decoded:
    """Judges records as a database would read them."""
    verdicts = verdicts_on(pieces_of(records, starts), starts, drops_repeats=drops_repeats)
    found = [_finding(row) for row in verdicts.where(F.col("kind") == "finding").collect()]
    repeats: dict[str, dict[int, int]] = defaultdict(dict)
    for each in found:
        if each.kind is log_findings.Kind.REPEATED_SEQUENCE and each.region is not None:
            repeats[each.topic][each.region] = start_of(each.region, starts[each.topic]) or 0
    if repeats:
        found += find_reused(reused(records.of(repeats), repeats, drops_repeats=drops_repeats).collect())
    errors = [each for each in found if each.severity is log_findings.Severity.ERROR]
    said = (Finding(each.kind, _said(each), None, each.topic, each.offset) for each in log_findings.worst_first(errors))
    return Decoded(tuple(said), len(found) - len(errors))


def records_of(spark: SparkSession, place: Place, objects: Sequence[ObjectToCheck]) -> LogRecords:
    """The records of these objects, of each in one Spark partition."""
    return LogRecords(spark, len(objects), lambda number: _chunks(place, objects[number]))


def _chunks(place: Place, each: ObjectToCheck) -> Iterator[Chunk]:
    with tempfile.TemporaryDirectory(prefix="wal-backup-") as folder:
        local = Path(folder) / "object.parquet"
        Store(place).fetch(f"{each.folder}/{each.stored.path}", local)
        with pq.ParquetFile(local) as file:
            for _, section in sorted(each.sections, key=lambda pair: pair[1].row_group):
                table = file.read_row_group(section.row_group, columns=RECORDS_ARROW.names)
                for batch in table.select(RECORDS_ARROW.names).cast(RECORDS_ARROW).to_batches(_ROWS_OF_A_BATCH):
                    yield from chunks_of(batch)


def starts_of(manifests: Sequence[Manifest]) -> Starts:
    """By topic where each of its regions reads from, in the backup in which that is lowest."""
    starts: dict[str, dict[int, int]] = defaultdict(dict)
    for manifest in manifests:
        for topic in manifest.topics:
            regions = starts[topic.name]
            for region in topic.regions:
                regions[region.id] = min(region.reads_from, regions.get(region.id, region.reads_from))
    return starts


def _finding(row: Row) -> log_findings.Finding:
    region = None if row["region"] is None else unsigned(row["region"])
    return log_findings.Finding(log_findings.Kind(row["finding"]), row["topic"], row["message"], row["offset"], region)


def _said(found: log_findings.Finding) -> str:
    of = "" if found.region is None else f", region {found.region}"
    return f"topic {found.topic}{of}, offset {found.offset}: {found.message}"
