"""From reports and metadata to the table of regions.

Only the report of the route's leader counts; what former leaders say is left out, and followers are a table of their
own. Two reports by the leader's datanode count as the lower one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from seawall.domain.columns import Ids, Mask, Numbers, RegionIds, everywhere, found_at, ids_of, rows_of
from seawall.domain.dataplane.followers import Followers, find_followers
from seawall.domain.dataplane.mapped_regions import MappedRegions, map_regions
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.metadata_tables import RegionKeys, Routes
from seawall.domain.dataplane.region_reports import RegionReports
from seawall.domain.dataplane.reports import InnerReport, RegionReport, RegionRole
from seawall.domain.ledger.tables import Regions
from seawall.domain.ledger.unplaced import Unplaced, find_unplaced

_MICROSECONDS = 1_000
"""In a millisecond."""
_NOTHING = InnerReport(None, None)


@dataclass(frozen=True, slots=True, eq=False)
class RegionsOfTopics:
    """The table, and about what the metadata disagree."""

    names: tuple[str, ...]
    regions: Regions
    torn: Mapping[str, str]
    """The topics about which the metadata contradict themselves, and how, as a clause."""
    unplaced: tuple[Unplaced, ...]
    """Regions that a leader reports and no metadata know."""
    followers: Followers


def build_regions(
    reports: Iterable[RegionReport], snapshot: MetadataSnapshot, topics: Iterable[str] = ()
) -> RegionsOfTopics:
    """The table of regions, sorted by topic and region; `topics` are names that must have a row in any case.

    The reports must have been read before the snapshot: a region that is reported and was dropped meanwhile is unplaced
    for a moment, but one that was born meanwhile is never forgotten.
    """
    reported, routes, mapped = RegionReports.of(reports), Routes.of(snapshot.routes), map_regions(snapshot, topics)
    unplaced = find_unplaced(reported, mapped.region, snapshot.without_topic)
    table = _table(mapped, _of_leaders(reported, routes), routes, RegionKeys.of(snapshot.region_keys))
    if snapshot.kept_dropped:
        table = replace(table, dropped=mapped.tombstoned & is_of_tables(mapped.region, snapshot.kept_dropped))
    return RegionsOfTopics(mapped.names, table, mapped.torn, unplaced, find_followers(reported, routes))


def is_of_tables(regions: RegionIds, tables: Collection[int]) -> Mask:
    """Which regions are of these tables, whose ids are in theirs."""
    return np.isin(regions >> np.uint64(32), np.fromiter(tables, np.uint64, count=len(tables)))


def _of_leaders(reported: RegionReports, routes: Routes) -> tuple[RegionReports, Numbers]:
    """Reports, and in them the rows of what each region's route's leader said, by region id: one for each region."""
    if not len(routes):
        return reported, np.zeros(0, np.int64)
    route = rows_of(routes.region, reported.region)
    leader = routes.leader.take(route.numbers)
    rows = np.flatnonzero(route.known & leader.known & (leader.numbers == reported.datanode))
    rows = rows[np.argsort(reported.region[rows], kind="stable")]
    region = reported.region[rows]
    again = np.zeros(len(rows), np.bool_)
    again[1:] = region[1:] == region[:-1]
    return _lowest(reported, rows, again) if again.any() else (reported, rows)


def _lowest(reported: RegionReports, rows: Numbers, again: Mask) -> tuple[RegionReports, Numbers]:
    """Of regions that one datanode reports more than once the lower ids. Rows of one region follow each other."""
    repeated = again.copy()
    repeated[:-1] |= again[1:]
    said: dict[int, list[RegionReport]] = {}
    for report in reported.take(rows[repeated]):
        said.setdefault(report.region_id, []).append(report)
    folded = RegionReports.of([reduce(_lower, reports) for reports in said.values()])
    joined = RegionReports.joined([reported.take(rows[~repeated]), folded])
    return joined, np.argsort(joined.region, kind="stable")


def _lower(one: RegionReport, other: RegionReport) -> RegionReport:
    """The newer of two, with the lower of their ids."""
    older, newer = sorted((one, other), key=lambda report: (report.node_epoch, report.reported_at))
    metadata = newer.metadata
    if metadata is not None:
        metadata = _lower_inner(older.metadata or _NOTHING, metadata)
    role = newer.role if newer.role is older.role else RegionRole.UNKNOWN
    return replace(newer, role=role, data=_lower_inner(older.data, newer.data), metadata=metadata)


def _lower_inner(one: InnerReport, other: InnerReport) -> InnerReport:
    return InnerReport(
        _lower_id(one.flushed_entry_id, other.flushed_entry_id), _lower_id(one.idle_entry_id, other.idle_entry_id)
    )


def _lower_id(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else min(one, other)


def _table(mapped: MappedRegions, chosen: tuple[RegionReports, Numbers], routes: Routes, keys: RegionKeys) -> Regions:
    """What is known of each mapped region. A row that is not there is taken from no table."""
    said, rows = chosen
    at = rows_of(said.region[rows], mapped.region)
    report = Ids(rows[at.numbers], at.known) if len(rows) else at
    route, key = rows_of(routes.region, mapped.region), mapped.key
    return Regions(
        topic=mapped.topic,
        region=mapped.region,
        leader=found_at(routes.leader.ids(), route),
        route_revision=_revision(routes, route),
        key_revision=found_at(Ids(keys.mod_revision, keys.mod_revision > 0), key),
        epoch=found_at(ids_of(said.epoch, everywhere(len(said))), report),
        reported_at=found_at(Ids(said.reported_at // _MICROSECONDS, said.reported_at >= 0), report),
        data_flushed=found_at(said.flushed.ids(), report),
        data_checkpoint=found_at(keys.checkpoint.ids(), key),
        data_idle=found_at(said.idle.ids(), report),
        metric=_flagged(said.is_metric, report),
        metadata_flushed=found_at(said.metadata_flushed.ids(), report),
        metadata_checkpoint=found_at(keys.metadata.ids(), key),
        metadata_idle=found_at(said.metadata_idle.ids(), report),
        opening=_flagged(~routes.is_normal, route) | _flagged(~said.is_plain_leader, report),
        idle_is_durable=_flagged(~routes.may_have_staged, route),
        dropped=np.zeros(len(mapped.region), np.bool_),
    )


def _revision(routes: Routes, at: Ids) -> Ids:
    """The route's; 0 where there is none, so that a route that is made is a change."""
    found = found_at(Ids(routes.mod_revision, routes.mod_revision >= 0), at)
    return Ids(np.where(at.known, found.numbers, 0), found.known | ~at.known)


def _flagged(mask: Mask, at: Ids) -> Mask:
    """Whether the row is there, and set."""
    return mask[at.numbers] & at.known if len(mask) else np.zeros(len(at), np.bool_)
