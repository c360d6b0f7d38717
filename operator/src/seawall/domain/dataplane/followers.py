"""Followers of regions: read replicas and hot standbys, as the routes name them and as they report.

Only what a route names counts: the target of a migration and a former leader report as followers, too, and the first
reads nothing before the route is its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from seawall.domain.columns import Ids, Mask, Numbers, RegionIds, any_by, choose, least_of_all, rows_of
from seawall.domain.dataplane.metadata_tables import Routes
from seawall.domain.dataplane.region_reports import RegionReports


@dataclass(frozen=True, slots=True, eq=False)
class Followers:
    """One row for each follower of each region, sorted by region."""

    region: RegionIds
    datanode: RegionIds
    data: Ids
    """The entry id at and below which it needs nothing of the log, by what it last said of its own manifest: of the
    region, or of the metric engine's data region. Unknown: no report of it has one."""
    metadata: Ids
    """That of the metric engine's second region."""
    metric: Mask
    """The metric engine: there is a second region."""

    def __len__(self) -> int:
        return len(self.region)

    def by_region(self) -> Mapping[int, frozenset[int]]:
        """The datanodes of each region's."""
        found: dict[int, set[int]] = {}
        for region, datanode in zip(self.region.tolist(), self.datanode.tolist(), strict=True):
            found.setdefault(region, set()).add(datanode)
        return {region: frozenset(datanodes) for region, datanodes in found.items()}

    def of_regions(self, regions: RegionIds) -> Followers:
        """Those of these regions."""
        if not len(self):  # most databases have none, and a million regions
            return self
        rows = np.flatnonzero(np.isin(self.region, regions))
        data, metadata = self.data.take(rows), self.metadata.take(rows)
        return Followers(self.region[rows], self.datanode[rows], data, metadata, self.metric[rows])

    @property
    def position(self) -> Ids:
        """The lower of both."""
        return choose(self.metric, least_of_all(self.data, self.metadata), self.data)


def find_followers(reported: RegionReports, routes: Routes) -> Followers:
    """All that the routes name. Of several reports by one datanode the lowest counts: a position only rises."""
    route, datanode = routes.follower_route, routes.follower
    if not len(route):
        nothing, nobody = Ids.unknown(0), np.zeros(0, np.uint64)
        return Followers(nobody, nobody, nothing, nothing, np.zeros(0, np.bool_))
    nodes = np.unique(datanode)
    keys = _pairs(route, np.searchsorted(nodes, datanode), len(nodes))
    said_route, said_node = rows_of(routes.region, reported.region), rows_of(nodes, reported.datanode)
    wanted = _pairs(said_route.numbers, said_node.numbers, len(nodes))
    found = rows_of(keys, wanted)
    rows = np.flatnonzero(found.known & said_route.known & said_node.known)
    said, at = reported.take(rows), found.numbers[rows]
    data, metadata = (
        one.ids().least_of_all_by(at, len(keys)) if len(at) else Ids.unknown(len(keys))
        for one in (said.flushed, said.metadata_flushed)
    )
    return Followers(routes.region[route], datanode, data, metadata, any_by(said.is_metric, at, len(keys)))


def most_behind(followers: Followers, reported: RegionReports) -> int | None:
    """Entries from a follower's position to its leader's, of the one that is furthest behind; None: nobody knows."""
    leads = reported.take(np.flatnonzero(reported.claims_to_lead))
    regions = np.unique(followers.region)
    at = rows_of(regions, leads.region)
    rows = np.flatnonzero(at.known)
    newest = _positions(leads.take(rows)).greatest_by(at.numbers[rows], len(regions))
    newest = newest.take(rows_of(regions, followers.region).numbers)
    behind = (newest.numbers - followers.position.numbers)[newest.known & followers.position.known]
    return max(int(behind.max()), 0) if len(behind) else None


def _pairs(route: Numbers, node: Numbers, nodes: int) -> RegionIds:
    """Each pair as one number, which rises by route and then by datanode."""
    return (route * nodes + node).astype(np.uint64)


def _positions(said: RegionReports) -> Ids:
    data = said.flushed.ids()
    return choose(said.is_metric, least_of_all(data, said.metadata_flushed.ids()), data)
