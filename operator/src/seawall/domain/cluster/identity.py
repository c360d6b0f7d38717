"""Which Kafka cluster a WALCluster means: the one that its spec names, and the one pinned at first contact."""

from __future__ import annotations

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.kafka import KafkaView


def pinned_id(cluster: WALCluster) -> str | None:
    """The cluster id in the status; None before first contact."""
    return cluster.status.kafka.cluster_id if cluster.status.kafka else None


def why_wrong(cluster: WALCluster, kafka: KafkaView) -> str | None:
    """Why this Kafka is not the one that is meant, in one sentence; None when nothing speaks against it."""
    declared = None if isinstance(cluster.spec, InvalidSpec) else cluster.spec.kafka.external.cluster_id
    for expected, source in ((declared, "spec.kafka.external.clusterId"), (pinned_id(cluster), "the status")):
        if expected is not None and expected != kafka.cluster_id:
            return f"Kafka's cluster id is {kafka.cluster_id}, but {source} says {expected}: nothing is touched"
    return None
