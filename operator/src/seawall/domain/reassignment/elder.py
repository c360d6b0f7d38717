"""One run for each Kafka cluster at a time, among the WALClusters that one operator serves."""

from __future__ import annotations

from collections.abc import Iterable

from seawall.api.meta import Key
from seawall.api.v1alpha1.reassignment import ReassignmentStage
from seawall.api.v1alpha1.wal_cluster import WALCluster

BEGUN = frozenset({ReassignmentStage.ONGOING, ReassignmentStage.VERIFYING, ReassignmentStage.ABORTING})
IN_LINE = BEGUN | {ReassignmentStage.PENDING}


def find_elder(cluster: WALCluster, others: Iterable[WALCluster]) -> Key | None:
    """Another WALCluster on the same Kafka whose run goes first: one that has begun, then the oldest."""
    rank = _rank(cluster)
    first = [other for other in others if _is_in_line(cluster, other) and _rank(other) < rank]
    return min(first, key=_rank).metadata.key if first else None


def _rank(cluster: WALCluster) -> tuple[bool, str, str]:
    run = cluster.status.reassignment
    has_begun = run is not None and run.stage in BEGUN
    return not has_begun, cluster.metadata.creation_timestamp.isoformat(), cluster.metadata.uid


def _is_in_line(cluster: WALCluster, other: WALCluster) -> bool:
    mine, theirs, run = cluster.status.kafka, other.status.kafka, other.status.reassignment
    if other.metadata.uid == cluster.metadata.uid or mine is None or theirs is None or run is None:
        return False
    return mine.cluster_id == theirs.cluster_id and run.stage in IN_LINE
