"""The deletion of a WALCluster whose finalizer stands.

Topics are deleted only by their owner, on the cluster that was pinned, and only with deletionPolicy Delete. A deletion
that cannot be finished must not hold a namespace for ever, so the finalizer is released, with an event, when

    the policy no longer says Delete · a person paused the object · the namespace itself is terminating
    · another WALCluster owns the pool · Kafka was unreachable for ten minutes · no topic is left
"""

from __future__ import annotations

from datetime import timedelta

from seawall.api.meta import PAUSED_ANNOTATION, TOPICS_FINALIZER, InvalidSpec
from seawall.api.v1alpha1.topic_pool import DeletionPolicy
from seawall.api.v1alpha1.wal_cluster import WALCluster, WALClusterStatus
from seawall.domain.kafka import KafkaView
from seawall.domain.step import Act, EventType, Step, Wait
from seawall.domain.topics.actions import DeleteTopics
from seawall.domain.wal_cluster.actions import ClusterAction, RemoveFinalizer
from seawall.domain.wal_cluster.identity import pinned_id, why_wrong
from seawall.domain.wal_cluster.observed import Observed

GIVE_UP_AFTER = timedelta(minutes=10)
"""How long a deletion waits for Kafka."""

RETRY_SECONDS = 5.0


def next_step_of_deletion(cluster: WALCluster, observed: Observed) -> Step[WALClusterStatus, ClusterAction]:
    """Decides what one tick of a deletion does."""
    if TOPICS_FINALIZER not in cluster.metadata.finalizers:
        return Wait("deletion has nothing to do")
    if observed.failure is not None:
        return Wait(observed.failure.message, RETRY_SECONDS)
    released = _release(cluster, observed)
    if released is not None:
        return Act((released,))
    left = _topics_left(cluster, observed)
    if left is None:
        return Wait("waiting for Kafka to delete the topics", RETRY_SECONDS)
    if not left:
        return Act((RemoveFinalizer("all topics of the pool are deleted"),))
    return Act((DeleteTopics(tuple(left)),))


def _release(cluster: WALCluster, observed: Observed) -> RemoveFinalizer | None:
    spec = cluster.spec
    if isinstance(spec, InvalidSpec):
        return RemoveFinalizer(f"the topics stay, because the spec is invalid: {spec.message}", EventType.WARNING)
    paused = cluster.metadata.annotations.get(PAUSED_ANNOTATION) == "true"
    reasons = (
        (spec.topics.deletion_policy is not DeletionPolicy.DELETE, "deletionPolicy is Retain"),
        (paused, f"{PAUSED_ANNOTATION} is set"),
        (observed.namespace_terminating, "the namespace is being deleted"),
        (cluster.status.kafka is None, "Kafka was never reached"),
        (observed.rival is not None, f"WALCluster {observed.rival} owns them"),
        (_gave_up(cluster, observed), "Kafka could not be reached for 10 minutes"),
    )
    why = next((why for holds, why in reasons if holds), None)
    return RemoveFinalizer(f"the topics stay, because {why}", EventType.WARNING) if why else None


def _gave_up(cluster: WALCluster, observed: Observed) -> bool:
    since = cluster.metadata.deletion_timestamp
    return since is not None and observed.now - since >= GIVE_UP_AFTER and _own_kafka(cluster, observed) is None


def _own_kafka(cluster: WALCluster, observed: Observed) -> KafkaView | None:
    """Kafka's view, if it answered and is the cluster that is meant: another cluster's topics are not ours."""
    kafka = observed.kafka
    if not isinstance(kafka, KafkaView) or pinned_id(cluster) is None or why_wrong(cluster, kafka) is not None:
        return None
    return kafka


def _topics_left(cluster: WALCluster, observed: Observed) -> list[str] | None:
    kafka = _own_kafka(cluster, observed)
    if kafka is None or isinstance(cluster.spec, InvalidSpec):
        return None
    return [name for name in cluster.spec.topics.topic_names() if name in kafka.topics]
