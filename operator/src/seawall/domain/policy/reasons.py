"""The closed set of reasons of a WALPurgePolicy's conditions; of failures `failure.py` has them."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a WALPurgePolicy is as it is; each member says what ends it."""

    SCHEDULED = "Scheduled"
    """Runs begin as declared."""
    SUSPENDED = "Suspended"
    """No new runs: set suspend to false."""
    INVALID_SPEC = "InvalidSpec"
    """The spec does not fit the models: mend it, or upgrade the CRDs."""
    NAME_TOO_LONG = "NameTooLong"
    """The names of its runs would be too long: create it anew with a shorter name."""
    CLUSTER_MISSING = "ClusterMissing"
    """There is no such WALCluster in the namespace: create it, or delete the policy."""
    RUN_NAME_TAKEN = "RunNameTaken"
    """A WALPurge with the name of the run that is due is somebody else's: delete it, or wait for the next time."""
