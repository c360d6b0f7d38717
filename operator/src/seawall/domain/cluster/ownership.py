"""Two WALClusters must not tend the same topics: the older one owns them, and neither deletes while the other is there.

The younger one's database may write there all the same, and what it needs the older one cannot know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.kafka import KafkaView


def find_conflicting_owner(cluster: WALCluster, kafka: KafkaView, others: Iterable[WALCluster]) -> Key | None:
    """The oldest other WALCluster with this prefix on this Kafka that is older than `cluster` (ties by UID)."""
    older = [other for other in others if _age(other) < _age(cluster) and _claims_the_same(cluster, kafka, other)]
    return min(older, key=_age).metadata.key if older else None


def find_contender(cluster: WALCluster, kafka: KafkaView, others: Iterable[WALCluster]) -> Key | None:
    """The oldest other WALCluster with this prefix on this Kafka, older or younger."""
    found = [other for other in others if _age(other) != _age(cluster) and _claims_the_same(cluster, kafka, other)]
    return min(found, key=_age).metadata.key if found else None


def why_owner_unknown(unreadable: Sequence[str]) -> str | None:
    """Why a WALCluster that nobody can read may own the topics, in one sentence; None: all can be read."""
    if not unreadable:
        return None
    where = ", ".join(unreadable)
    return f"the WALClusters of namespace {where} cannot be read, and one of them may own these topics"


def why_not_ours(cluster: WALCluster, kafka: KafkaView, others: Iterable[WALCluster]) -> str | None:
    """Why the topics of this prefix are another's, in one sentence; None: they are this WALCluster's."""
    conflicting_owner = find_conflicting_owner(cluster, kafka, others)
    return None if conflicting_owner is None else f"the older WALCluster {conflicting_owner} owns topics of this prefix"


def _age(cluster: WALCluster) -> tuple[datetime, str]:
    return cluster.metadata.creation_timestamp, cluster.metadata.uid


def _claims_the_same(cluster: WALCluster, kafka: KafkaView, other: WALCluster) -> bool:
    """An object that has not reached its Kafka yet is known by its addresses only.

    An invalid spec claims, too: its topics were made when it was valid.
    """
    if other.prefix != cluster.prefix:
        return False
    if other.status.kafka is not None:
        return other.status.kafka.cluster_id == kafka.cluster_id
    if isinstance(cluster.spec, InvalidSpec) or isinstance(other.spec, InvalidSpec):
        return False
    mine, theirs = (spec.kafka.access(of.metadata.key) for of, spec in ((cluster, cluster.spec), (other, other.spec)))
    return not set(mine.bootstrap_servers).isdisjoint(theirs.bootstrap_servers)
