"""Why a Kafka node is not restarted now, and why one is to be."""

from __future__ import annotations

from enum import StrEnum

from seawall.domain.text import Explained


class KafkaBlocker(Explained):
    """Why a Kafka node is not restarted now, in the order in which it is asked: the first that holds is shown."""

    PAUSED = (
        "Paused",
        "seawall.dev/paused is set on the WALCluster.",
        "Remove it.",
    )
    CERTIFICATES = (
        "CertificatesUnusable",
        "The certificates do not fit, so a node that goes would not come back.",
        "Do what the condition CertificatesValid says.",
    )
    VERSION = (
        "VersionTooOld",
        "Kafka's features are finalized at a level that the declared version does not know: it would not come back.",
        "Declare the version of before again, or a newer one.",
    )
    NOT_BELIEVED = (
        "NotBelieved",
        "With the certificate in its Secret, or the CAs there, it and the others would not believe each other.",
        "Keep the CA of before beside the new one; if all nodes were made anew since, let the restart through.",
    )
    VOLUME_GOES = (
        "VolumeGoes",
        "A claim is being deleted, or was replaced, so what is on that volume goes with its pod.",
        "Do not delete that pod, and do what KafkaNodesHealthy says (docs/kafka.md#a-claim-is-deleted).",
    )
    KAFKA_UNREACHABLE = (
        "KafkaUnreachable",
        "Kafka does not answer, so nobody knows what a restart would take away.",
        "Look at the condition KafkaReachable.",
    )
    NODE_NOT_ONLINE = (
        "NodeNotOnline",
        "Another Kafka node is not Online: two must never be away.",
        "Wait until it is; if it does not come up by itself, KafkaNodesHealthy says why.",
    )
    QUORUM_DEGRADED = (
        "QuorumDegraded",
        "The controllers would have no majority, or another one has not caught up.",
        "Bring the controllers back, and wait until they have caught up.",
    )
    LAST_IN_SYNC = (
        "LastInSyncReplica",
        "It has the last in-sync replica of a partition that has more than one.",
        "Bring the brokers with the others back, and wait until they have caught up.",
    )
    NOT_FULLY_IN_SYNC = (
        "NotFullyInSync",
        "A partition lacks an in-sync replica: one more broker that fails, and writes stop.",
        "Wait until all replicas have caught up.",
    )
    WOULD_STOP_WRITES = (
        "WouldStopWrites",
        "Without it a partition has fewer in-sync replicas than min.insync.replicas, so writes would stop.",
        "Raise the replication factor of the topic, or let the restart through.",
    )
    ONLY_REPLICA = (
        "OnlyReplica",
        "It has the only replica of a partition, or is the only controller, so Kafka would stop meanwhile.",
        "Raise the replication factor, or let the restart through.",
    )
    REASSIGNMENT = (
        "ReassignmentOngoing",
        "Replicas are being moved.",
        "Wait until the reassignment is done.",
    )
    DELETE_ONGOING = (
        "DeleteOngoing",
        "A run deletes records.",
        "Wait a moment: deletes take seconds. One that is paused keeps it so: the message names it.",
    )
    DATANODE_AWAY = (
        "DatanodeAway",
        "A datanode does not serve: its replay would lose whom it reads from.",
        "Wait until it serves; if it does not come up by itself, DatanodesHealthy says why.",
    )
    DWELL = (
        "Dwell",
        "A node has not been Online and in sync for long enough.",
        "Wait some seconds.",
    )


OVERRIDABLE = frozenset(KafkaBlocker) - {
    KafkaBlocker.PAUSED,
    KafkaBlocker.CERTIFICATES,
    KafkaBlocker.VERSION,
    KafkaBlocker.VOLUME_GOES,
    KafkaBlocker.QUORUM_DEGRADED,
    KafkaBlocker.LAST_IN_SYNC,
}
"""What a person may let through: not a disk, not the last copy, not the majority, and none that could not come back."""


class KafkaCause(StrEnum):
    """Why a Kafka node is to be restarted."""

    TEMPLATE_CHANGED = "TemplateChanged"
    """The spec says something else than the pod was made from: configuration, image, resources."""
    CERTIFICATE_RENEWED = "CertificateRenewed"
    """Another certificate, or other CAs, are in its Secret than it began with."""
    OPERATOR_CHANGED = "OperatorChanged"
    """Only a newer Seawall says something else: that waits for a person's word."""
