"""The closed set of reasons of a WALHold's conditions; its states are reasons, too, and so are failures."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a WALHold is as it is, beside its states; each member says its state, and what ends it."""

    INVALID_SPEC = "InvalidSpec"
    """Stalled. The spec does not fit this operator's models: it counts as a hold that cannot be read, and stops all
    purges of its WALCluster. Mend it, or upgrade CRDs and operator together."""
    STATUS_UNREADABLE = "StatusUnreadable"
    """Stalled. Its state or grant cannot be read, as after a downgrade, so nothing of its pool is deleted: upgrade
    Seawall, or delete the hold."""
    CLUSTER_MISSING = "ClusterMissing"
    """Stalled. There is no such WALCluster in the namespace, or it is being deleted: create it, or delete the hold.
    What was granted stands for who has its topics, until the ttl is over; whether it is there nobody knows."""
    OTHER_TOPICS = "OtherTopics"
    """Stalled. The WALCluster has other topics than those on which it was granted: another one had its name then. It
    counts for the WALCluster that has those topics now, and for the one that it names, until it is released, deleted,
    or its ttl is over: release it once nobody needs them. Whether what was granted is there nobody knows."""
    NOT_GRANTED_YET = "NotGrantedYet"
    """Reconciling. What is claimed cannot be promised now; the message says why. Until then it counts, and nobody may
    rely on it."""
    BEING_DELETED = "BeingDeleted"
    """Reconciling. It was deleted and a finalizer keeps it, whose the message says: it counts until that goes, or until
    its ttl is over. It cannot be renewed."""
    EDIT_REFUSED = "EditRefused"
    """Stalled. What the edited spec claims is gone, or may go; what was granted before still stands. Claim a higher
    offset."""
