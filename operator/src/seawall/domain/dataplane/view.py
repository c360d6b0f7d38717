"""What a person sees of the data plane: a few numbers that change only when something happens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from seawall.domain.columns import distinct
from seawall.domain.dataplane.followers import Followers, find_followers, most_behind
from seawall.domain.dataplane.identity import Node, weakest_version
from seawall.domain.dataplane.mapped_regions import map_regions
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.metadata_tables import Routes
from seawall.domain.dataplane.region_reports import region_reports
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.wal_settings import DatanodeSettings, WALSettings
from seawall.domain.times import DATABASE_REPORTING_WITHIN

NEAR_LIMIT = 0.8
"""From this share of what can be read on people are told, so that they need not hear of it when it is too late."""
STEP = 5


@dataclass(frozen=True, slots=True)
class DataPlaneView:
    """Counts: datanodes, those that report, regions with a WAL topic, topics that a region writes to."""

    datanodes: int
    reporting: int
    regions: int
    topics_in_use: int
    store_id: str
    """Which metadata store answered."""
    claims: Mapping[str, str]
    """By prefix of topics the UID of the WALCluster that has claimed them."""
    version: str | None
    """The oldest version that runs; None: not every process has said its own."""
    wal: WALSettings | None
    """What its metasrv runs with; None: it did not say."""
    datanode_wal: Mapping[int, DatanodeSettings] = field(default_factory=dict)
    """What those datanodes run with that report and say so, by their ids."""
    answer_used: float = field(default=0.0, compare=False)
    """Of the longest answer that is read, how much the newest reports or metadata took, from 0 to 1: whichever more."""
    near_limit: int | None = None
    """The same in percent, in steps of 5, from NEAR_LIMIT on: what people must know does not change with each byte."""
    followers: int = 0
    """How many read replicas and hot standbys of regions the routes name."""
    silent_followers: int = 0
    """How many of them have not said where they are."""
    follower_lag: int | None = None
    """Entries from the slowest to its leader, rounded up to a power of two: it does not change with each flush."""


@dataclass(frozen=True, slots=True)
class RunningWAL:
    """What processes of a database said that they run with."""

    metasrv: WALSettings | None = None
    datanodes: Mapping[int, DatanodeSettings] = field(default_factory=dict)


def reporting(reports: Iterable[DatanodeReport], now: datetime) -> tuple[DatanodeReport, ...]:
    """Those of datanodes that live, as far as their reports say."""
    return tuple(report for report in reports if abs(now - report.reported_at) <= DATABASE_REPORTING_WITHIN)


def view_data_plane(
    reports: Sequence[DatanodeReport],
    snapshot: MetadataSnapshot,
    nodes: Iterable[Node],
    wal: RunningWAL,
    now: datetime,
) -> DataPlaneView:
    """Counts what the newest report of each datanode and the metadata say."""
    reported = {report.datanode_id for report in reports}
    mapped = map_regions(snapshot)
    used = max([snapshot.answer_used, *(report.answer_used for report in reports)])
    followers, lag = _followers(reports, Routes.of(snapshot.routes))
    return DataPlaneView(
        datanodes=len(snapshot.datanodes.keys() | reported),
        reporting=len(reporting(reports, now)),
        regions=len(distinct(mapped.region)),
        topics_in_use=mapped.topics_in_use,
        store_id=snapshot.store_id,
        claims=snapshot.claims,
        version=weakest_version(nodes, reports),
        wal=wal.metasrv,
        datanode_wal=wal.datanodes,
        answer_used=used,
        near_limit=int(used * 100) // STEP * STEP if used >= NEAR_LIMIT else None,
        followers=len(followers),
        silent_followers=int(np.count_nonzero(~followers.position.known)),
        follower_lag=1 << (lag - 1).bit_length() if lag else lag,
    )


def _followers(reports: Sequence[DatanodeReport], routes: Routes) -> tuple[Followers, int | None]:
    """They, and how far the slowest is behind; where there are none, no report is looked at."""
    regions = region_reports(reports if len(routes.follower) else ())
    followers = find_followers(regions, routes)
    return followers, most_behind(followers, regions) if len(followers) else None
