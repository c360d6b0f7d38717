"""A run that another version of Seawall has written, and that this one cannot read."""

from __future__ import annotations

from seawall.api.v1alpha1.cluster import WALCluster

UNREADABLE = (
    "status.reassignment was written by another version of Seawall and cannot be read: nothing is moved, and throttles "
    "stay, until that version runs again"
)

LEFT_BEHIND = "its run was written by another version of Seawall and cannot be read, a throttle may be left"
"""Why a WALCluster that is being deleted is let go all the same: that version may never run again."""


def is_unreadable(cluster: WALCluster) -> bool:
    """Whether there is such a run. It stays in the status as it is."""
    return "reassignment" in cluster.unreadable
