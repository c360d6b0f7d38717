"""The closed set of reasons of a WALPurge's conditions; those of single topics are the ledger's."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a WALPurge is as it is; each member says its state, and what ends it."""

    QUEUED = "WaitingForTurn"
    """Reconciling. Another run of the same WALCluster comes first; the message says what that one does."""
    PAUSED = "Paused"
    """Not ready. seawall.dev/paused is set on the run or on its WALCluster: remove it."""
    CANNOT_OBSERVE = "CannotLook"
    """Reconciling. The ledger cannot be read; the message says why, and it goes on when that is over."""
    PREPARING = "Preparing"
    """Reconciling. It reads and plans, and waits until the report of every region has advanced."""
    FLUSHING = "Flushing"
    """Reconciling. Regions that hold the floor back were asked to flush, and it waits for them."""
    VERIFYING = "WaitingForVerification"
    """Reconciling. A policy requires a replay verification, and it waits for one that runs."""
    SEEING = "WaitingForEvidence"
    """Reconciling. Every region has to report twice since it was observed what may go, and openGrace has to pass."""
    DELETING = "Deleting"
    """Reconciling. It deletes."""
    COMPLETED = "Completed"
    """Ready. The end: all that could be purged was. `topics` counts what became of them; `skipped` and `refused` name
    up to 50 each."""
    PLANNED = "DryRunCompleted"
    """Ready. The end of a dry run: the status says what would be done."""
    INVALID_SPEC = "InvalidSpec"
    """Stalled. The spec does not fit this operator's models, or the stage does not. A run that has begun, or has only
    fields that this version does not know, deletes nothing and waits: upgrade CRDs and operator together. For another
    one it is the end."""
    CLUSTER_MISSING = "ClusterMissing"
    """Stalled. The end: there is no such WALCluster in the namespace. Create it, and make another run."""
    NO_DATA_PLANE = "NoDataPlane"
    """Stalled. The end: the WALCluster names no database. Set dataPlane.greptimedb or http, and make another run."""
    TARGETS_LOST = "TargetsLost"
    """Stalled. The end: what it has observed, in its ConfigMaps, is gone or was changed, and nothing more is deleted.
    Find out who changed them, and make another run (a policy does)."""
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """Stalled. The end: it took too long. What was deleted stays deleted, and the next run goes on where it ended."""


class TopicEnd(StrEnum):
    """Why a topic was not purged although the ledger had nothing against it."""

    NOT_SUPPORTED = "NotSupportedByKafka"
    """Kafka deletes no records for our user: give the right (docs/kafka-acls.md). Where a managed Kafka does not offer
    it at all, the log only grows (docs/managed-kafka.md#a-kafka-that-deletes-no-records)."""
    DELETE_REFUSED = "DeleteRefused"
    """Kafka refused to delete for a reason of its own, which the message of `refused` has."""
    DELETE_UNANSWERED = "DeleteUnanswered"
    """Kafka did not answer in time; the records may be gone or not. The next run reads where the log starts."""
