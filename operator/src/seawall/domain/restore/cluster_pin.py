"""Which WALCluster a restore began with, and on which Kafka: a name may lead to another one later.

    status.clusterUid       the UID of the WALCluster, written when the restore begins
    status.kafkaClusterId   its Kafka, written as soon as the WALCluster has met it, and so before a topic is made

A WALCluster that is deleted and made again has another UID. Where either differs, what the restore made is where it
was made: that none of it is there says nothing, and a plan that was approved was about that Kafka. A status of an older
version has neither, and gets both in its next step.
"""

from __future__ import annotations

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.restore_status import WALRestoreStatus
from seawall.domain.cluster.identity import pinned_id


def why_replaced(status: WALRestoreStatus, cluster: WALCluster) -> str | None:
    """Why this is not what the restore began with, in one sentence; None: nothing speaks against it."""
    name, here, there = cluster.metadata.name, pinned_id(cluster), status.kafka_cluster_id
    on = "" if there is None else f" on Kafka {there}"
    if status.cluster_uid not in {None, cluster.metadata.uid}:
        return f"WALCluster {name} was made again since this restore began{on}"
    if there is not None and here not in {None, there}:
        return f"WALCluster {name} is on Kafka {here} now, and this restore began{on}"
    return None


def with_pin(status: WALRestoreStatus, cluster: WALCluster | None) -> WALRestoreStatus:
    """The status of one that has begun, with what is known of both."""
    if cluster is None or status.stage is None or status.is_over or why_replaced(status, cluster) is not None:
        return status
    pin = {"cluster_uid": cluster.metadata.uid, "kafka_cluster_id": status.kafka_cluster_id or pinned_id(cluster)}
    return status.model_copy(update=pin)
