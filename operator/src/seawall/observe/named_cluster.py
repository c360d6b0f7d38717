"""The WALCluster that another object names."""

from __future__ import annotations

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.verification import WALVerification
from seawall.ports import Kube


def named_cluster(kube: Kube, obj: WALPurge | WALPurgePolicy | WALVerification) -> WALCluster | None:
    """Reads it; None: none is named, there is none, or it is being deleted."""
    if isinstance(obj.spec, InvalidSpec):
        return None
    cluster = kube.get(WALCluster, Key(obj.metadata.namespace, obj.spec.cluster_ref.name))
    is_there = cluster is not None and cluster.metadata.deletion_timestamp is None
    return cluster if is_there else None
