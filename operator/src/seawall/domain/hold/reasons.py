"""The closed set of reasons of a WALHold's conditions; its states are reasons, too, and so are failures."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a WALHold is as it is, beside its states; each member says what ends it."""

    INVALID_SPEC = "InvalidSpec"
    """The spec does not fit the models, and counts as a hold that cannot be read: mend it, or upgrade the CRDs."""
    STATUS_UNREADABLE = "StatusUnreadable"
    """What was granted cannot be read, so nothing of its pool is deleted: upgrade Seawall, or delete the hold."""
    CLUSTER_MISSING = "ClusterMissing"
    """There is no such WALCluster in the namespace: create it, or delete the hold."""
    NOT_GRANTED_YET = "NotGrantedYet"
    """What is claimed cannot be promised now; the message says why. Until then it counts, and nobody may rely on it."""
    BEING_DELETED = "BeingDeleted"
    """Somebody deleted it and a finalizer keeps it: it counts until that goes, or until its ttl is over."""
    EDIT_REFUSED = "EditRefused"
    """What the edited spec claims is gone, or may go; what was granted before still stands. Edit it again."""
