"""Reports: what the datanodes said of their regions. They are sampled, may be old, and may come from a former leader.

Ids are inclusive offsets. A region id is a u64: `table id << 32 | region number`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class RegionRole(StrEnum):
    """The role that a datanode believes to have for a region; who leads it is said by the route alone."""

    LEADER = "Leader"
    FOLLOWER = "Follower"
    STAGING = "StagingLeader"
    """Leads, and its changes are not visible yet."""
    DOWNGRADING = "DowngradingLeader"
    """Leads, and takes no more writes, because the region is being moved."""
    UNKNOWN = "Unknown"
    """A role that this version does not know: it must never count as a leader."""


@dataclass(frozen=True, slots=True)
class InnerReport:
    """One inner region: the metric engine keeps two for each region, data and metadata, on the same topic."""

    flushed_entry_id: int | None
    """From the manifest. 0 is a value: nothing was flushed and a restart reads from 1. None: the report has none."""
    idle_entry_id: int | None
    """The last entry of the topic when the region's memtable was last seen empty; None: not since it was opened. What
    was in it before is durable, unless it was only staged (`Route.may_have_staged`)."""


@dataclass(frozen=True, slots=True)
class RegionReport:
    """What one datanode said of one region at one time."""

    region_id: int
    datanode_id: int
    node_epoch: int
    """Changes when the datanode starts anew."""
    role: RegionRole
    reported_at: datetime
    """UTC, by the clock of the database."""
    engine: str
    memtable_bytes: int
    data: InnerReport
    metadata: InnerReport | None = None
    """Only of the metric engine."""

    def inner(self) -> tuple[InnerReport, ...]:
        """All inner regions: the region needs what any of them needs."""
        return (self.data,) if self.metadata is None else (self.data, self.metadata)


@dataclass(frozen=True, slots=True)
class DatanodeReport:
    """What one datanode said at one time; `regions` are all that it holds, whatever its role for them."""

    datanode_id: int
    address: str
    node_epoch: int
    reported_at: datetime
    regions: Sequence[RegionReport]
    newest_ids: Mapping[str, int] = field(default_factory=dict)
    """By topic the greatest entry id that the datanode knows of; a topic that it has not used lately is left out."""
    answer_used: float = field(default=0.0, compare=False)
    """Of the longest answer that is read, how much the one took that it came with, from 0 to 1."""
    database: str | None = None
    """Whose report it is, as `MetadataSnapshot.store_id`; None: it does not say, as GreptimeDB's."""


def newest_reports(reports: Iterable[DatanodeReport]) -> tuple[DatanodeReport, ...]:
    """One report for each datanode, by its id: the latest of its latest start."""
    newest: dict[int, DatanodeReport] = {}
    for report in reports:
        held = newest.get(report.datanode_id)
        if held is None or (report.node_epoch, report.reported_at) >= (held.node_epoch, held.reported_at):
            newest[report.datanode_id] = report
    return tuple(newest[datanode] for datanode in sorted(newest))


def newest_ids(reports: Iterable[DatanodeReport]) -> dict[str, int]:
    """By topic the greatest entry id that any datanode knows of."""
    found: dict[str, int] = {}
    for report in reports:
        for topic, entry_id in report.newest_ids.items():
            found[topic] = max(entry_id, found.get(topic, entry_id))
    return found
