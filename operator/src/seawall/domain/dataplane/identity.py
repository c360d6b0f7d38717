"""Which database answers, in which version, and whether its parts are parts of one database.

Reports come from a metasrv, metadata from its store, versions from a frontend: three addresses that people type. If one
of them is another database's, nothing that the ledger concludes is true. So the store's own id is pinned in
`WALCluster.status.dataPlane.identity` at first contact, and each observation is checked for contradictions.

GreptimeDB (v1.0.2, v1.2-line; `src/meta-srv/src/handler/collect_stats_handler.rs`): the metasrv writes a datanode's
`__node_address` before it keeps its first report, so whoever reports is in the store, by id and address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from seawall.domain.columns import RegionIds, distinct, rows_of
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.metadata_tables import RegionTopics, Routes
from seawall.domain.dataplane.region_reports import region_reports
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.wal_settings import WALSettings
from seawall.domain.times import DATABASE_REPORTING_WITHIN


class NodeRole(StrEnum):
    """What a process of the database is, as `information_schema.cluster_info` calls it."""

    DATANODE = "DATANODE"
    METASRV = "METASRV"
    FRONTEND = "FRONTEND"
    OTHER = "OTHER"
    """Flownodes, and what this version does not know."""


@dataclass(frozen=True, slots=True)
class Node:
    """A process of the database, as its frontend lists it; `version` is empty while the process has not said it."""

    role: NodeRole
    node_id: int
    address: str
    version: str
    database: str | None = None
    """Whose process it is, as `MetadataSnapshot.store_id`; None: the list does not say, as GreptimeDB's."""


WHOSE = " (the frontend's, where there is one)"
"""Of which the list is: people look whether the address is right."""


def why_of_another(store_id: str | None, answers: Iterable[DatanodeReport | Node | WALSettings]) -> str | None:
    """Why an answer is not that database's whose metadata were read, in one sentence; None: nothing speaks for it.

    One URL may lead to two installations, by a Service that selects both or a name that moves. By their contents they
    need not contradict each other: a copy has the same nodes and regions, and has flushed more.
    """
    for each in answers:
        if each.database not in {None, store_id}:
            what = "reports are" if isinstance(each, DatanodeReport) else "description is"
            return f"the {what} of database {each.database}, and the metadata of {store_id}: one URL leads to both"
    return None


def find_contradiction(
    reports: Iterable[DatanodeReport],
    snapshot: MetadataSnapshot,
    nodes: Iterable[Node] | None,
    wal: WALSettings | None,
) -> str | None:
    """Why metasrv, metadata store and frontend are not of one database, in one sentence; None: nothing speaks for it.

    A datanode that joins or moves while they are read contradicts itself for a moment: the next observation is right.

    Args:
        reports: what the metasrv knows, read first.
        snapshot: the metadata, read after it.
        nodes: what the frontend lists; None: it could not be asked.
        wal: what the metasrv runs with; None: it did not say.
    """
    reported, listed = {report.datanode_id: report for report in reports}, tuple(nodes or ())
    answers = (*reported.values(), *listed, *(() if wal is None else (wal,)))
    return (
        why_of_another(snapshot.store_id, answers)
        or _reports_without_address(reported, snapshot)
        or _regions_without_metadata(reported, snapshot)
        or _nodes_differ(reported, listed)
    )


def _reports_without_address(reported: dict[int, DatanodeReport], snapshot: MetadataSnapshot) -> str | None:
    for number, report in sorted(reported.items()):
        address = snapshot.datanodes.get(number)
        if address != report.address:
            stored = "no such datanode" if address is None else f"datanode {number} at {address}"
            return f"the reports have datanode {number} at {report.address} and the metadata store has {stored}"
    return None


def _regions_without_metadata(reported: dict[int, DatanodeReport], snapshot: MetadataSnapshot) -> str | None:
    """Single regions without metadata are left to the ledger: a table that is made or dropped has them for a moment."""
    regions = region_reports(reported.values())
    led = distinct(regions.region[regions.claims_to_lead])
    if not len(led) or _knows_any(snapshot, led):
        return None
    return f"{len(led)} regions are reported and the metadata store knows none of them"


def _knows_any(snapshot: MetadataSnapshot, regions: RegionIds) -> bool:
    tables = (RegionTopics.of(snapshot.wal_topics), RegionTopics.of(snapshot.tombstoned_topics))
    is_known = rows_of(Routes.of(snapshot.routes).region, regions).known.any()
    return bool(
        is_known
        or any(np.isin(regions, table.pairs.region).any() for table in tables)
        or not snapshot.without_topic.isdisjoint(regions.tolist())
    )


def _nodes_differ(reported: dict[int, DatanodeReport], nodes: Iterable[Node]) -> str | None:
    listed = {node.node_id: node.address for node in nodes if node.role is NodeRole.DATANODE}
    for number in sorted(listed.keys() & reported.keys()):
        if listed[number] != reported[number].address:
            return (
                f"the list of nodes{WHOSE} has datanode {number} at {listed[number]} "
                f"and the reports have it at {reported[number].address}"
            )
    if listed and reported and listed.keys().isdisjoint(reported.keys()):
        return f"the list of nodes{WHOSE} has other datanodes than those that report"
    return None


MARKER_READ_SINCE = (1, 1, 0)
"""The pruned marker was written and never read before: a region opened from its own manifest alone."""

_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?P<suffix>.*)", re.ASCII)
_COUNTED = frozenset({NodeRole.DATANODE, NodeRole.METASRV})
"""Datanodes open regions, and the metasrv tells them from where on: what a frontend runs changes nothing about it."""


@lru_cache(maxsize=64)  # the few that run are asked at each look
def parse_version(text: str) -> tuple[int, int, int] | None:
    """The version, a pre-release as the one before it would be; None if it is none."""
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        return None
    major, minor, patch = (int(part or 0) for part in found.group(1, 2, 3))
    if not found["suffix"].startswith("-"):
        return major, minor, patch
    return (major, minor, patch - 1) if patch else (major, minor - 1, 0) if minor else (major - 1, 0, 0)


def reads_marker_at_open(version: str) -> bool:
    """Whether a region that opens starts no earlier than its topic's pruned marker."""
    found = parse_version(version)
    return found is not None and found >= MARKER_READ_SINCE


def weakest_version(nodes: Iterable[Node] | None, reports: Sequence[DatanodeReport]) -> str | None:
    """The oldest version that any datanode or metasrv runs; None while one of them, or all, did not say theirs.

    A datanode that reports and is not listed did not: the list is of whoever has spoken to the metasrv that leads, and
    one that leads since a moment ago has not heard all, while they are upgraded perhaps. One that is gone is forgotten
    by the list before its last report is.
    """
    counted = [node for node in nodes or () if node.role in _COUNTED]
    parsed = [(version, node.version) for node in counted if (version := parse_version(node.version)) is not None]
    listed = {node.node_id for node in counted if node.role is NodeRole.DATANODE}
    has_all = len(parsed) == len(counted) and listed and listed.issuperset(_living(reports))
    return min(parsed)[1].strip() if has_all else None


def _living(reports: Sequence[DatanodeReport]) -> set[int]:
    """The datanodes that reported about when the last one did: by the database's clock, whatever ours says."""
    newest = max((report.reported_at for report in reports), default=None)
    if newest is None:
        return set()
    return {report.datanode_id for report in reports if newest - report.reported_at <= DATABASE_REPORTING_WITHIN}


def is_older_than_declared(real: str, declared: str) -> bool:
    """Whether what runs is older than the "major.minor" that a person declared."""
    running, wanted = parse_version(real), parse_version(declared)
    return running is None or wanted is None or running[:2] < wanted[:2]
