"""Reads a WALCluster's database: reports, what runs, and the metadata; if it is the pinned one, and one only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seawall.api.v1alpha1.wal_cluster import WALCluster
from seawall.domain.clocks import TrustedTime
from seawall.domain.dataplane.connection import PartRefused, PartUnavailable
from seawall.domain.dataplane.identity import Node, find_contradiction
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.version import weakest_version
from seawall.domain.ledger.declared import regime_of
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.looked import Obstacle
from seawall.domain.ledger.mode import Regime
from seawall.domain.wal_cluster.database import is_about_the_claim, usable_readoption, why_other_database
from seawall.observe.opened_cluster import Blocked, OpenedCluster


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """What was read of the database, and what it means for deletes."""

    reports: Sequence[DatanodeReport]
    snapshot: MetadataSnapshot
    regime: Regime


def read_database(cluster: WALCluster, opened: OpenedCluster, time: TrustedTime, *, readopts: bool) -> DatabaseState:
    """Reports, what runs, and the metadata, in this order.

    Args:
        cluster: the WALCluster, with what is pinned.
        opened: its ports.
        time: by which a readoption is in time, or not.
        readopts: whether who asks follows seawall.dev/readopt: a claim that is somebody else's is then no obstacle.

    Raises:
        Blocked: they are not of the pinned database, or not of one.
        PartUnavailable, PartRefused: metasrv or metadata store did not answer.
    """
    reports = opened.parts.data_plane.reports()
    nodes = _nodes_or_none(opened)
    snapshot = opened.parts.metadata_store.snapshot()
    contradiction = find_contradiction(reports, snapshot, nodes)
    if contradiction is not None:
        raise Blocked(Obstacle.CONTRADICTION, contradiction)
    other = why_other_database(cluster, snapshot.store_id, snapshot.claims)
    may_claim = readopts and usable_readoption(cluster, time) is not None
    if other is not None and not (may_claim and is_about_the_claim(cluster, snapshot.store_id)):
        raise Blocked(other.why, other.message)
    return DatabaseState(reports, snapshot, regime_of(opened.greptimedb, weakest_version(nodes)))


def _nodes_or_none(opened: OpenedCluster) -> Sequence[Node] | None:
    """What runs; a frontend that is away hides no disaster, but nothing is deleted then."""
    try:
        return opened.parts.data_plane.nodes()
    except (PartUnavailable, PartRefused):
        return None


def newest_revision(opened: OpenedCluster, snapshot: MetadataSnapshot, records: Mapping[str, FenceRecord]) -> int:
    """The store's revision now, where a record is newer than the snapshot: another operator may have written it."""
    newest = max((record.revision or 0 for record in records.values()), default=0)
    return opened.parts.metadata_store.head().revision if newest > snapshot.revision else snapshot.revision
