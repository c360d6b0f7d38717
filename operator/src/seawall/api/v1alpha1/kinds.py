"""All kinds of this version."""

from __future__ import annotations

from seawall.api.meta import Kind
from seawall.api.v1alpha1.wal_cluster import WAL_CLUSTER
from seawall.api.v1alpha1.wal_hold import WAL_HOLD
from seawall.api.v1alpha1.wal_purge import WAL_PURGE
from seawall.api.v1alpha1.wal_purge_policy import WAL_PURGE_POLICY

KINDS: tuple[Kind, ...] = (WAL_CLUSTER, WAL_PURGE_POLICY, WAL_PURGE, WAL_HOLD)
