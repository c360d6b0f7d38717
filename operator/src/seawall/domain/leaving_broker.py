"""The broker of a managed Kafka that is taken out gets no replica, and keeps none."""

from __future__ import annotations

from collections.abc import Collection

from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.kafka_node_pools import IDS_OF_A_POOL


def without_leaving(
    cluster: WALCluster, spec: WALClusterSpec, brokers: Collection[int] | None = None
) -> WALClusterSpec:
    """The spec with that broker among those that are excluded.

    Args:
        cluster: its status has the removal.
        spec: what is declared.
        brokers: those that Kafka knows; None: nobody asked. One that it has forgotten is not excluded any more.
    """
    removal = cluster.status.removal
    if removal is not None and is_controller(spec, removal.node):
        return spec
    excluded = spec.reassignment.exclude_brokers
    if removal is None or removal.node in excluded or (brokers is not None and removal.node not in brokers):
        return spec
    reassignment = spec.reassignment.model_copy(update={"exclude_brokers": (*excluded, removal.node)})
    return spec.model_copy(update={"reassignment": reassignment})


def is_controller(spec: WALClusterSpec, node: int) -> bool:
    """Whether a node is of a pool of controllers, which keep no replicas."""
    pools = () if spec.kafka.managed is None else spec.kafka.managed.node_pools
    of_it = (pool for pool in pools if pool.first_id == node - node % IDS_OF_A_POOL)
    return any(not pool.is_broker for pool in of_it)
