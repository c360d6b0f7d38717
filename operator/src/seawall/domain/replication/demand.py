"""What a WALCluster's spec asks of the placement of its topics."""

from __future__ import annotations

from collections.abc import Collection

from seawall.api.v1alpha1.wal_cluster import WALClusterSpec
from seawall.domain.partitions import Partition
from seawall.domain.placement import Demand


def demand_of(spec: WALClusterSpec, partitions: Collection[Partition]) -> Demand:
    """The declared replication factor for every topic of the pool that there is, away from excluded brokers."""
    pool = {found.id.topic for found in partitions if spec.topics.index_of(found.id.topic) is not None}
    return Demand(
        replication_factor=dict.fromkeys(sorted(pool), spec.topics.replication_factor),
        exclude=frozenset(spec.reassignment.exclude_brokers),
    )
