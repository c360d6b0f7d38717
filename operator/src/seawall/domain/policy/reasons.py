"""The closed set of reasons of a WALPurgePolicy's conditions; of failures `decision.py` has them."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a WALPurgePolicy is as it is; each member says its state, and what ends it."""

    SCHEDULED = "Scheduled"
    """Ready. Runs begin as declared: `nextRunTime` says when, the message what keeps a trigger from it."""
    SUSPENDED = "Suspended"
    """Ready. No new runs, and one that has begun goes on. Set `suspend: false`: one run makes up for what was
    missed."""
    INVALID_SPEC = "InvalidSpec"
    """Stalled. The spec does not fit this operator's models: mend it, or upgrade CRDs and operator together."""
    NAME_TOO_LONG = "NameTooLong"
    """Stalled. The names of its runs would be too long: create it anew with a name of at most 238 characters."""
    CLUSTER_MISSING = "ClusterMissing"
    """Stalled. There is no such WALCluster in the namespace, or it is being deleted: create it, or delete the
    policy."""
    RUN_NAME_TAKEN = "RunNameTaken"
    """Stalled. A WALPurge with the name of the run that is due is somebody else's: delete it, or wait for the next
    time."""
