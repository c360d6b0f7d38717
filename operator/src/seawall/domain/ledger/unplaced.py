"""Regions that a datanode says it leads and that no metadata know, tombstones included: which topics they stop.

Such a region was made a moment ago and is not written down yet, or was dropped a moment ago, or the metadata are not
those of its datanode. It may write to any topic, so all are left alone: but for one whose topic was known before.

A report counts while it goes on, and for one openGrace after its last change. GreptimeDB's metasrv keeps the last
report of a datanode that is gone for as long as it leads, so a dropped region would stop the pool for months. What is
silent for one grace, and unknown for all of it, cannot come back without new metadata: a table that is made or put back
has a new key, which an announcement compares, and no report, which is `RegionMissing`. This holds only of metadata that
are the datanodes': so the reports of regions that they do know must go on meanwhile.

All of it is memory. An operator that starts anew counts every such report for one grace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from seawall.domain.columns import Mask, RegionIds, rows_of
from seawall.domain.dataplane.region_reports import RegionReports
from seawall.domain.ledger.report_history import ReportHistory


@dataclass(frozen=True, slots=True)
class Unplaced:
    """What one datanode says of one such region."""

    region: int
    datanode: int
    epoch: int
    reported_at: int
    """In microseconds since 1970, by the database's clock: it only has to stay the same."""


@dataclass(frozen=True, slots=True)
class UnplacedWatch:
    """Such a report, for as long as it is there."""

    report: Unplaced
    since: int
    """The look that first had it so, in milliseconds of the operator's monotonic clock."""
    topic: str | None
    """Where the region writes, by the metadata of the look before it became unknown. None: nobody knows."""


def find_unplaced(reported: RegionReports, mapped: RegionIds, without_topic: frozenset[int]) -> tuple[Unplaced, ...]:
    """All regions that anybody says it leads, and nobody knows; of two reports by one datanode the newer."""
    claimed = np.flatnonzero(reported.claims_to_lead)
    unknown = claimed[~rows_of(np.sort(mapped), reported.region[claimed]).known]
    rows = (each[unknown].tolist() for each in (reported.region, reported.datanode, reported.epoch))
    newest: dict[tuple[int, int], Unplaced] = {}
    for region, datanode, epoch, at in zip(*rows, reported.reported_at[unknown].tolist(), strict=True):
        said = Unplaced(region, datanode, epoch, at)
        held = newest.get((said.region, said.datanode))
        if said.region not in without_topic and (held is None or _age(said) >= _age(held)):
            newest[said.region, said.datanode] = said
    return tuple(newest[pair] for pair in sorted(newest))


def watch_unplaced(
    before: Iterable[UnplacedWatch], found: Iterable[Unplaced], last: ReportHistory, now: int
) -> tuple[UnplacedWatch, ...]:
    """The same reports go on to be watched; any that differs begins anew. `last` is the history before this look."""
    old = {(watch.report.region, watch.report.datanode): watch for watch in before}
    topics = {watch.report.region: watch.topic for watch in old.values() if watch.topic is not None}
    listed = tuple(found)
    topics |= _known_topics(last, {report.region for report in listed})
    watches = []
    for report in listed:
        held = old.get((report.region, report.datanode))
        since = held.since if held is not None and held.report == report else now
        watches.append(UnplacedWatch(report, since, topics.get(report.region)))
    return tuple(watches)


def stopped_topics(
    watches: Iterable[UnplacedWatch], names: Iterable[str], now: int, *, open_grace: int, others_report: bool
) -> dict[str, str]:
    """By topic why it is left alone, as a clause.

    Args:
        watches: as they are after this look.
        names: all topics.
        now: when the look began.
        open_grace: the longest of any topic, in milliseconds.
        others_report: whether the report of a region that the metadata do know was seen to advance for less than that.
    """
    counting = [watch for watch in watches if not others_report or now - watch.since < open_grace]
    found = {watch.topic: _clause(watch, now) for watch in reversed(counting) if watch.topic is not None}
    anywhere = next((watch for watch in counting if watch.topic is None), None)
    if anywhere is None:
        return found
    return found | {name: _clause(anywhere, now) for name in names if name not in found}


def _age(said: Unplaced) -> tuple[int, int]:
    return said.epoch, said.reported_at


def _known_topics(last: ReportHistory, regions: set[int]) -> dict[int, str]:
    """Of those of these regions that the last look had, and of one topic alone."""
    asked = np.array(sorted(regions), np.uint64)
    at = rows_of(last.region, asked)
    if not at.known.any():
        return {}
    alone: Mask = np.bincount(last.rows_of_table, minlength=len(last.region)) == 1
    topic = np.zeros(len(last.region), np.int64)
    topic[last.rows_of_table] = last.mapped.topic
    pairs = zip(asked[at.known].tolist(), at.numbers[at.known].tolist(), strict=True)
    return {region: last.mapped.names[topic[row]] for region, row in pairs if alone[row]}


def _clause(watch: UnplacedWatch, now: int) -> str:
    said, seconds = watch.report, (now - watch.since) // 1000
    return (
        f"no metadata know region {said.region}, which datanode {said.datanode} says it leads, "
        f"in a report that has not changed for {seconds} s"
    )
