"""The old form: reports and metadata as plain objects, in sets and dicts. What works on columns must say the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from seawall.domain.columns import Ids, mask_of
from seawall.domain.dataplane.followers import Followers
from seawall.domain.dataplane.mapped_regions import Disagreement, MappedRegions
from seawall.domain.dataplane.metadata import LeaderState, MetadataSnapshot, RegionKey, Route
from seawall.domain.dataplane.reports import InnerReport, RegionReport, RegionRole
from seawall.domain.ledger.regions import RegionsOfTopics
from seawall.domain.ledger.tables import Regions
from seawall.domain.ledger.unplaced import Unplaced

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_NOTHING = InnerReport(None, None)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A region about which the metadata disagree."""

    region_id: int
    what: Disagreement


@dataclass(frozen=True, slots=True)
class TopicRegions:
    """The regions of one topic, each of which may need its log."""

    regions: frozenset[int]
    tombstoned: frozenset[int] = frozenset()
    """Those of `regions` that only tombstones name: dropped, and perhaps to come back."""
    contradictions: tuple[Contradiction, ...] = ()
    """By region id; any of them means that the topic must be left alone."""


def regions_of_topics(snapshot: MetadataSnapshot) -> Mapping[str, TopicRegions]:
    """The regions of every topic that anything in the snapshot names; a topic without regions has an empty set."""
    keyed = _by_topic((region, topic) for topic, region in snapshot.region_keys)
    optioned = _by_topic((region, topic) for region, topics in snapshot.wal_topics.items() for topic in topics)
    buried = _by_topic((region, topic) for region, topics in snapshot.tombstoned_topics.items() for topic in topics)
    first: dict[int, str] = {}
    torn = frozenset(
        region
        for claims in (keyed, optioned, buried)
        for topic, regions in claims.items()
        for region in regions
        if first.setdefault(region, topic) != topic
    )
    names = {*snapshot.topics, *keyed, *optioned, *buried}
    return {
        name: _topic_regions(keyed.get(name, _NONE), optioned.get(name, _NONE), buried.get(name, _NONE), torn)
        for name in sorted(names)
    }


_NONE: frozenset[int] = frozenset()


def _by_topic(pairs: Iterable[tuple[int, str]]) -> dict[str, frozenset[int]]:
    found: defaultdict[str, set[int]] = defaultdict(set)
    for region, topic in pairs:
        found[topic].add(region)
    return {topic: frozenset(regions) for topic, regions in found.items()}


def _topic_regions(
    keyed: frozenset[int], optioned: frozenset[int], buried: frozenset[int], torn: frozenset[int]
) -> TopicRegions:
    living = keyed | optioned
    found = {
        **dict.fromkeys(keyed - optioned, Disagreement.KEY_WITHOUT_OPTIONS),
        **dict.fromkeys(optioned - keyed, Disagreement.OPTIONS_WITHOUT_KEY),
        **dict.fromkeys((living | buried) & torn, Disagreement.TWO_TOPICS),
    }
    contradictions = tuple(Contradiction(region, found[region]) for region in sorted(found))
    return TopicRegions(living | buried, buried - living, contradictions)


def topics_of(mapped: MappedRegions) -> dict[str, TopicRegions]:
    """What the columns say, in the old form."""
    found = {}
    for number, name in enumerate(mapped.names):
        rows = np.flatnonzero(mapped.topic == number)
        regions = {int(mapped.region[row]): row for row in rows}
        assert list(regions) == sorted(regions)
        assert len(regions) == len(rows)
        what = {region: mapped.disagreement(int(row)) for region, row in regions.items()}
        assert {region for region, one in what.items() if one} == {
            region for region, row in regions.items() if mapped.disagrees[row]
        }
        found[name] = TopicRegions(
            frozenset(regions),
            frozenset(region for region, row in regions.items() if mapped.tombstoned[row]),
            tuple(Contradiction(region, one) for region, one in what.items() if one is not None),
        )
    return found


def build_regions(
    reports: Sequence[RegionReport], snapshot: MetadataSnapshot, topics: Iterable[str] = ()
) -> RegionsOfTopics:
    """The table of regions, sorted by topic and region; `topics` are names that must have a row in any case.

    The reports must have been read before the snapshot: a region that is reported and was dropped meanwhile is unplaced
    for a moment, but one that was born meanwhile is never forgotten.
    """
    by_topic = regions_of_topics(snapshot)
    names = tuple(sorted({*by_topic, *topics}))
    chosen, leaders = _of_leaders(reports, snapshot.routes)
    for found in by_topic.values():
        leaders -= found.regions
    unplaced = _unplaced(reports, leaders - snapshot.without_topic)
    torn = {name: str(found.contradictions[0]) for name, found in by_topic.items() if found.contradictions}
    rows = [
        (number, name, region)
        for number, name in enumerate(names)
        for region in sorted(by_topic.get(name, _EMPTY).regions)
    ]
    followers = _followers(reports, snapshot.routes)
    return RegionsOfTopics(names, _table(rows, chosen, snapshot), torn, unplaced, followers)


def _unplaced(reports: Iterable[RegionReport], regions: set[int]) -> tuple[Unplaced, ...]:
    """The newest report of each datanode about each of them."""
    found = [
        Unplaced(each.region_id, each.datanode_id, each.node_epoch, (each.reported_at - EPOCH) // timedelta.resolution)
        for each in reports
        if each.region_id in regions and each.role is not RegionRole.FOLLOWER
    ]
    pairs = sorted({(each.region, each.datanode) for each in found})
    return tuple(
        max(
            (each for each in found if (each.region, each.datanode) == pair),
            key=lambda each: (each.epoch, each.reported_at),
        )
        for pair in pairs
    )


def _followers(reports: Sequence[RegionReport], routes: Mapping[int, Route]) -> Followers:
    rows = [(region, datanode) for region in sorted(routes) for datanode in routes[region].followers]
    said = [[each for each in reports if (each.region_id, each.datanode_id) == row] for row in rows]
    return Followers(
        np.array([region for region, _ in rows], np.uint64),
        np.array([datanode for _, datanode in rows], np.uint64),
        Ids.of(_lowest([report.data for report in found]) for found in said),
        Ids.of(_lowest([report.metadata or _NOTHING for report in found]) for found in said),
        mask_of((any(map(_is_metric, found)) for found in said), len(rows)),
    )


def _lowest(said: list[InnerReport]) -> int | None:
    """Unknown where one is, or is no offset."""
    ids = [
        None if one.flushed_entry_id is None or one.flushed_entry_id >= 2**63 else one.flushed_entry_id for one in said
    ]
    known = [each for each in ids if each is not None]
    return min(known) if known and len(known) == len(ids) else None


_EMPTY = TopicRegions(frozenset())


def _of_leaders(
    reports: Iterable[RegionReport], routes: Mapping[int, Route]
) -> tuple[dict[int, RegionReport], set[int]]:
    """By region what its route's leader said; and all regions that anybody claims to lead."""
    chosen: dict[int, RegionReport] = {}
    claimed: set[int] = set()
    for report in reports:
        if report.role is not RegionRole.FOLLOWER:
            claimed.add(report.region_id)
        route = routes.get(report.region_id)
        if route is None or route.leader != report.datanode_id:
            continue
        before = chosen.get(report.region_id)
        chosen[report.region_id] = report if before is None else _lower(before, report)
    return chosen, claimed


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


def _table(rows: list[tuple[int, str, int]], chosen: Mapping[int, RegionReport], snapshot: MetadataSnapshot) -> Regions:
    count = len(rows)
    reports = [chosen.get(region) for _, _, region in rows]
    routes = [snapshot.routes.get(region, _NO_ROUTE) for _, _, region in rows]
    keys = [snapshot.region_keys.get((name, region), _NO_KEY) for _, name, region in rows]
    data = [report.data if report else _NOTHING for report in reports]
    metadata = [report.metadata or _NOTHING if report else _NOTHING for report in reports]
    return Regions(
        topic=np.fromiter((number for number, _, _ in rows), np.int64, count=count),
        region=np.fromiter((region for _, _, region in rows), np.uint64, count=count),
        leader=Ids.of(route.leader for route in routes),
        route_revision=Ids.of(route.mod_revision for route in routes),
        key_revision=Ids.of(key.mod_revision or None for key in keys),
        epoch=Ids.of(report.node_epoch if report else None for report in reports),
        reported_at=Ids.of(_milliseconds(report.reported_at) if report else None for report in reports),
        data_flushed=Ids.of(inner.flushed_entry_id for inner in data),
        data_checkpoint=Ids.of(key.checkpoint_entry_id for key in keys),
        data_idle=Ids.of(inner.idle_entry_id for inner in data),
        metric=mask_of((_is_metric(report) for report in reports), count),
        metadata_flushed=Ids.of(inner.flushed_entry_id for inner in metadata),
        metadata_checkpoint=Ids.of(key.metadata_entry_id for key in keys),
        metadata_idle=Ids.of(inner.idle_entry_id for inner in metadata),
        opening=mask_of((_is_opening(*pair) for pair in zip(routes, reports, strict=True)), count),
        idle_is_durable=mask_of((not route.may_have_staged for route in routes), count),
        dropped=mask_of((_is_dropped(name, region, snapshot) for _, name, region in rows), count),
    )


def _is_dropped(topic: str, region: int, snapshot: MetadataSnapshot) -> bool:
    lives = (topic, region) in snapshot.region_keys or topic in snapshot.wal_topics.get(region, ())
    return not lives and region // 2**32 in snapshot.kept_dropped


_NO_ROUTE = Route(None, LeaderState.NORMAL, 0)
_NO_KEY = RegionKey(None, None, 0)


def _is_opening(route: Route, report: RegionReport | None) -> bool:
    """A leader that says it is none has not opened the region yet, or gives it up."""
    return route.state is not LeaderState.NORMAL or (report is not None and report.role is not RegionRole.LEADER)


def _is_metric(report: RegionReport | None) -> bool:
    """Also of a metric region whose report lacks the metadata half: its start is then unknown."""
    return report is not None and (report.metadata is not None or report.engine == "metric")


def _milliseconds(when: datetime) -> int:
    return (when - EPOCH) // _MILLISECOND
