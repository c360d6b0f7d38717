"""What a WALCluster's spec asks of the placement of its topics."""

from __future__ import annotations

from collections.abc import Collection

from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.api.v1alpha1.reassignment import Racks
from seawall.domain.kafka import INTERNAL_TOPICS
from seawall.domain.partitions import Partition
from seawall.domain.placement import Demand


def demand_of(spec: WALClusterSpec, partitions: Collection[Partition]) -> Demand:
    """The declared replication factor for every topic of the pool that there is, away from excluded brokers.

    Kafka's own topics are among the partitions only where they are to be repaired.
    """
    pool = {found.id.topic for found in partitions if spec.topics.index_of(found.id.topic) is not None}
    return Demand(
        replication_factor={
            **dict.fromkeys(sorted(pool), spec.topics.replication_factor),
            **_internal_factors(spec, partitions),
        },
        exclude=frozenset(spec.reassignment.exclude_brokers),
        racks=spec.reassignment.racks is Racks.REQUIRED,
    )


def internal_topics_to_move(spec: WALClusterSpec) -> frozenset[str]:
    """Kafka's own topics, if a run may move them."""
    return frozenset(INTERNAL_TOPICS) if spec.internal_topics.repair else frozenset()


def _internal_factors(spec: WALClusterSpec, partitions: Collection[Partition]) -> dict[str, int]:
    """Kafka's own topics with partitions that have too few replicas. They never lose any."""
    wanted = spec.internal_topics.replication_factor or spec.topics.replication_factor
    factors: dict[str, list[int]] = {}
    for found in partitions:
        if found.id.topic in internal_topics_to_move(spec):
            factors.setdefault(found.id.topic, []).append(len(found.replicas))
    return {topic: max(wanted, *some) for topic, some in sorted(factors.items()) if min(some) < wanted}
