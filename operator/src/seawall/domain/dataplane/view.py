"""What a person sees of the data plane: a few numbers that change only when something happens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from seawall.domain.dataplane.identity import Node, weakest_version
from seawall.domain.dataplane.mapped_regions import map_regions
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.wal_settings import DatanodeSettings, WALSettings
from seawall.domain.times import DATABASE_REPORTING_WITHIN


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
    return DataPlaneView(
        datanodes=len(snapshot.datanodes.keys() | reported),
        reporting=len(reporting(reports, now)),
        regions=len(np.unique(mapped.region)),
        topics_in_use=mapped.topics_in_use,
        store_id=snapshot.store_id,
        claims=snapshot.claims,
        version=weakest_version(nodes),
        wal=wal.metasrv,
        datanode_wal=wal.datanodes,
    )
