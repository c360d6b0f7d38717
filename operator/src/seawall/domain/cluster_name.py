"""The WALCluster that an object of another kind is about."""

from __future__ import annotations

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.wal_hold import WALHold
from seawall.api.v1alpha1.wal_purge import WALPurge
from seawall.api.v1alpha1.wal_purge_policy import WALPurgePolicy
from seawall.api.v1alpha1.wal_verification import WALVerification


def cluster_name(obj: WALHold | WALPurge | WALPurgePolicy | WALVerification) -> str | None:
    """Its name; None: the spec cannot be read, and does not even say that."""
    return obj.spec.cluster if isinstance(obj.spec, InvalidSpec) else obj.spec.cluster_ref.name
