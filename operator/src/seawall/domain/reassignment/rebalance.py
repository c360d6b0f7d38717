"""When replicas are balanced that could stay where they are: only if somebody asked for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.reassignment import Rebalance
from seawall.domain.partitions import Broker, BrokerState, Partition


def is_rebalance_due(
    cluster: WALCluster, spec: WALClusterSpec, partitions: Collection[Partition], brokers: Collection[Broker]
) -> bool:
    """Whether a plan that is made now should make loads even: by a new annotation, or because a broker has joined."""
    run, asked = cluster.status.reassignment, cluster.metadata.rebalance_asked
    if asked is not None and (run is None or asked != run.rebalanced_for):
        return True
    return spec.reassignment.rebalance is Rebalance.ON_EXPANSION and _has_empty_broker(spec, partitions, brokers)


def _has_empty_broker(spec: WALClusterSpec, partitions: Collection[Partition], brokers: Collection[Broker]) -> bool:
    """Whether a broker has nothing although there is a replica of the pool for each of them."""
    excluded = spec.reassignment.exclude_brokers
    usable = [found.id for found in brokers if found.state is BrokerState.ONLINE and found.id not in excluded]
    pool = [found for found in partitions if spec.topics.index_of(found.id.topic) is not None]
    load = Counter(broker for partition in pool for broker in partition.replicas)
    return sum(load[broker] for broker in usable) >= len(usable) and any(load[broker] == 0 for broker in usable)
