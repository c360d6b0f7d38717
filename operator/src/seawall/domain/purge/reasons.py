"""The closed set of reasons of a WALPurge's conditions; those of single topics are the ledger's."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a WALPurge is as it is; each member says what ends it."""

    QUEUED = "WaitingForTurn"
    """Another run of the same WALCluster comes first."""
    PAUSED = "Paused"
    """seawall.dev/paused is set on the run or on its WALCluster: remove it."""
    CANNOT_OBSERVE = "CannotLook"
    """The ledger cannot be looked at; the message says why, and it goes on when that is over."""
    PREPARING = "Preparing"
    """It reads and plans, and waits until every region's report was seen to advance."""
    FLUSHING = "Flushing"
    """Regions that hold the floor back were asked to flush, and it waits for them."""
    VERIFYING = "WaitingForVerification"
    """A policy requires a replay verification, and it waits for one that runs."""
    SEEING = "WaitingForEvidence"
    """Every region has to report twice since it was seen what may go, and openGrace has to pass."""
    DELETING = "Deleting"
    """It deletes."""
    COMPLETED = "Completed"
    """The end: all that could be purged was."""
    PLANNED = "DryRunCompleted"
    """The end of a dry run: the status says what would be done."""
    INVALID_SPEC = "InvalidSpec"
    """The spec does not fit the models: upgrade the CRDs, and make another run."""
    CLUSTER_MISSING = "ClusterMissing"
    """There is no such WALCluster in the namespace: create it, and make another run."""
    NO_DATA_PLANE = "NoDataPlane"
    """The WALCluster names no database: set dataPlane.greptimedb, and make another run."""
    TARGETS_LOST = "TargetsLost"
    """What it has seen is gone, or was changed: nothing more is deleted; make another run."""
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """It took too long; what was deleted stays deleted, and the next run goes on."""


class TopicEnd(StrEnum):
    """Why a topic was not purged although the ledger had nothing against it."""

    DELETE_REFUSED = "DeleteRefused"
    """Kafka refused to delete: an ACL, or a policy of its provider."""
    DELETE_UNANSWERED = "DeleteUnanswered"
    """Kafka did not answer in time; the records may be gone or not."""
