"""What a person sees of the data plane: a few numbers that change only when something happens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from seawall.domain.dataplane.identity import Node, weakest_version
from seawall.domain.dataplane.metadata import MetadataSnapshot, regions_of_topics
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.wal_settings import WALSettings
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


def view_data_plane(
    reports: Iterable[DatanodeReport],
    snapshot: MetadataSnapshot,
    nodes: Iterable[Node],
    wal: WALSettings | None,
    now: datetime,
) -> DataPlaneView:
    """Counts what the newest report of each datanode and the metadata say."""
    reported_at = {report.datanode_id: report.reported_at for report in reports}
    topics = regions_of_topics(snapshot).values()
    return DataPlaneView(
        datanodes=len(snapshot.datanodes.keys() | reported_at.keys()),
        reporting=sum(abs(now - at) <= DATABASE_REPORTING_WITHIN for at in reported_at.values()),
        regions=len(frozenset[int]().union(*(topic.regions for topic in topics))),
        topics_in_use=sum(bool(topic.regions) for topic in topics),
        store_id=snapshot.store_id,
        claims=snapshot.claims,
        version=weakest_version(nodes),
        wal=wal,
    )
