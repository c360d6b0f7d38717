"""The broker of a managed Kafka that is taken out gets no replica, and keeps none."""

from __future__ import annotations

from collections.abc import Collection

from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec


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
    excluded = spec.reassignment.exclude_brokers
    if removal is None or removal.node in excluded or (brokers is not None and removal.node not in brokers):
        return spec
    reassignment = spec.reassignment.model_copy(update={"exclude_brokers": (*excluded, removal.node)})
    return spec.model_copy(update={"reassignment": reassignment})
