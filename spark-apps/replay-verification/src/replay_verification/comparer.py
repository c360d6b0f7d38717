"""Compares a snapshot with the log: reads the files, runs the DataFrames, and words what differs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession

from replay_verification.comparison import Pair, Plan
from replay_verification.equivalence import (
    differing,
    latest,
    reasons,
    totals,
    twice,
    union_of,
)
from replay_verification.report import DIFFERS, EQUAL, NOT_COMPARED, Comparison
from replay_verification.rows import Bounds, LogRegion, Role, rows_of_files, rows_of_log
from replay_verification.schemas import ROWS
from replay_verification.source import read_records
from sparkjob.integrity.findings import Finding, Kind
from sparkjob.integrity.log_entries import entries_of_parts, parts, whole_entries_of
from sparkjob.integrity.schemas import unsigned
from sparkjob.log_records import on_batches
from sparkjob.snapshot_files import read_files
from sparkjob.wire.reader import Range


class Comparer:
    """Compares the pairs of a plan."""

    def __init__(
        self, spark: SparkSession, options: Mapping[str, str], folder: str, *, drops_repeats: bool = False
    ) -> None:
        self._spark, self._options, self._folder = spark, options, folder.rstrip("/")
        self._read_parts = partial(entries_of_parts, drops_repeats=drops_repeats)

    def compare(self, plan: Plan) -> tuple[dict[int, Comparison], list[Finding]]:
        """The result for each region of the plan's pairs, and what differs.

        Raises:
            Refused: A file of the snapshot cannot be read or has other columns.
        """
        frames = [self._files(group) for group in _by_columns(plan.pairs)]
        ranges = [Range(topic, start, end) for topic, (start, end) in plan.ranges().items() if start < end]
        if ranges:
            records, regions = read_records(self._spark, self._options, ranges), _log_regions(plan.pairs)
            frames.append(records.map(rows_of_log(regions, whole_entries_of), ROWS))
            frames.append(parts(records).mapInArrow(on_batches(rows_of_log(regions, self._read_parts)), ROWS))
        rows = union_of(frames).persist(StorageLevel.DISK_ONLY)
        try:
            keys = latest(rows)
            by_region: dict[int, list[Row]] = defaultdict(list)
            for line in totals(keys).collect():
                by_region[unsigned(line["region"])].append(line)
            why = {unsigned(line["region"]): str(line["why"]) for line in reasons(rows).collect()}
            doubled = [_doubled(line) for line in twice(rows).collect()]
            why |= {finding.region: finding.message for finding in doubled if finding.region is not None}
            bad = [line for lines in by_region.values() for line in lines if line["differing"]]
            found = [_finding(line, why) for line in (differing(keys).collect() if bad else [])]
        finally:
            rows.unpersist()
        results = {pair.region.id: _result(pair, plan.pairs, by_region, why) for pair in plan.pairs}
        return results, [*doubled, *(finding for finding in found if finding is not None)]

    def _files(self, pairs: Sequence[Pair]) -> DataFrame:
        """ROWS of the files of regions that have the same columns."""
        columns, key = pairs[0].region.columns, pairs[0].region.key
        roles: dict[str, list[Role]] = defaultdict(list)
        for pair in pairs:
            for cut, is_found in ((pair.older, False), (pair.newer, True)):
                for nth, name in enumerate(cut.files):
                    position = nth - len(cut.files)
                    role = Role(pair.region.topic, pair.region.id, pair.newer.entry_id, is_found, position)
                    roles[name].append(role)
        if not roles:
            return self._spark.createDataFrame([], ROWS)
        chosen = read_files(self._spark, self._folder, roles, columns)
        return chosen.mapInArrow(rows_of_files(dict(roles), columns, key), ROWS)


def _by_columns(pairs: Iterable[Pair]) -> list[list[Pair]]:
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.region.columns, pair.region.key].append(pair)
    return list(groups.values())


def _log_regions(pairs: Sequence[Pair]) -> dict[str, dict[int, LogRegion]]:
    regions: dict[str, dict[int, LogRegion]] = defaultdict(dict)
    for pair in pairs:
        about, known = pair.region, regions[pair.region.topic].get(pair.region.id)
        before = () if known is None else known.pairs
        flushed = -1 if pair.older.sequence is None else pair.older.sequence
        bounds = (*before, Bounds(pair.older.entry_id, pair.newer.entry_id, flushed))
        regions[about.topic][about.id] = LogRegion(about.columns, about.key, bounds)
    return dict(regions)


def _doubled(line: Row) -> Finding:
    said = (
        f"a file of the cuts up to entry {line['cut']} has the row {line['key']} twice: which counts is not known "
        "(a table in append_mode must say so)"
    )
    return Finding(Kind.SNAPSHOT_KEY_TWICE, line["topic"], said, None, unsigned(line["region"]))


def _finding(line: Row, why: Mapping[int, str]) -> Finding | None:
    region = unsigned(line["region"])
    if region in why:
        return None  # what differs may be what could not be read
    key, cut = line["key"], line["cut"]
    if line["expected"] is None:
        said = f"the row {key} of the snapshot at entry {cut} is neither in the older cut nor in the log"
    elif line["found"] is None:
        said = f"the row {key} is in the older cut or in the log, and not in the snapshot at entry {cut}"
    else:
        said = f"the row {key} is another one in the snapshot at entry {cut} than the log gives"
    return Finding(Kind.ROWS_DIFFER, line["topic"], said, line["offset"], region)


def _result(
    pair: Pair, pairs: Sequence[Pair], by_region: Mapping[int, Sequence[Row]], why: Mapping[int, str]
) -> Comparison:
    region = pair.region.id
    if region in why:
        return Comparison(NOT_COMPARED, why[region])
    lines = {line["cut"]: line for line in by_region.get(region, ())}
    own = [other for other in pairs if other.region.id == region]
    cuts = [_cut_json(other, lines.get(other.newer.entry_id)) for other in own]
    is_equal = all(line["differing"] == 0 for line in lines.values())
    return Comparison(EQUAL if is_equal else DIFFERS, None, tuple(cuts))


def _cut_json(pair: Pair, line: Row | None) -> dict[str, object]:
    """A pair in the report; without a line neither side has a row."""
    sides = {side: _side(line, side) for side in ("expected", "found")}
    differing_keys = 0 if line is None else line["differing"]
    return {"older": pair.older.entry_id, "newer": pair.newer.entry_id, "differingKeys": differing_keys, **sides}


def _side(line: Row | None, side: str) -> dict[str, object]:
    values = (0, None, None) if line is None else (line[f"{side}_rows"], line[f"{side}_xor"], line[f"{side}_sum"])
    return {"rows": values[0], "digest": blake2b(":".join(map(str, values)).encode(), digest_size=8).hexdigest()}
