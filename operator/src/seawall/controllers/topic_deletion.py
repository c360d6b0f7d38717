"""Deletes the topics of a WALCluster that goes: asks right before who needs them, and forgets what was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seawall.api.meta import TOPICS_FINALIZER, InvalidSpec
from seawall.api.v1alpha1.topic_pool import DeletionPolicy
from seawall.api.v1alpha1.wal_cluster import WALCluster
from seawall.controllers.claims import read_holds
from seawall.controllers.ledger_look import LedgerLooks
from seawall.domain.errors import Conflict, OutsideUnavailable
from seawall.domain.intent_shards import PoolId, shards_of
from seawall.domain.kafka import KafkaView
from seawall.domain.kafka_log import DescribedTopic, TopicFailure, TopicTrouble
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.looked import read_shards
from seawall.domain.wal_cluster.identity import pinned_id, why_wrong
from seawall.domain.wal_cluster.needed import why_needed
from seawall.domain.wal_cluster.observed import Needs
from seawall.domain.wal_cluster.rival import find_contender
from seawall.ports import KafkaAdmin, KafkaLogs, Kube


@dataclass(frozen=True, slots=True)
class TopicDeletion:
    """The deletion of topics, for the controller of WALClusters. Looks block, as any other look at a ledger does."""

    kube: Kube
    looks: LedgerLooks

    def needs(self, cluster: WALCluster, kafka: KafkaView) -> Needs | None:
        """Who may need the topics, read anew; None while topics are not to be deleted."""
        spec = cluster.spec
        if isinstance(spec, InvalidSpec) or spec.topics.deletion_policy is not DeletionPolicy.DELETE:
            return None
        if cluster.metadata.deletion_timestamp is None or TOPICS_FINALIZER not in cluster.metadata.finalizers:
            return None
        looked = self.looks.look(cluster) if spec.greptimedb is not None else None
        claims = self.kube.list_claims(spec.topics.prefix)
        incomplete = None if claims.complete else "not all WALClusters can be read: one of them may claim the topics"
        return Needs(read_holds(self.kube, cluster), looked, incomplete or find_contender(cluster, kafka, claims.items))

    def delete(self, cluster: WALCluster, names: Sequence[str], admin: KafkaAdmin) -> None:
        """Deletes topics, if right now still nobody needs any of the pool.

        Raises:
            Conflict: somebody does, or the WALCluster changed: decide again.
            Refused: Kafka said no.
            OutsideUnavailable: somebody did not answer; topics may be gone or not.
        """
        spec = cluster.spec
        if isinstance(spec, InvalidSpec):
            raise Conflict(spec.message)
        kafka = admin.view()
        if not isinstance(kafka, KafkaView):
            raise OutsideUnavailable(kafka.message)
        if (wrong := why_wrong(cluster, kafka)) is not None:
            raise Conflict(wrong)
        needed = why_needed(cluster, spec.topics.topic_names(), self.needs(cluster, kafka))
        if needed is not None:
            raise Conflict(needed.message)
        self._require_same(cluster)
        admin.delete_topics(names)

    def forget(self, cluster: WALCluster, names: Sequence[str], logs: KafkaLogs) -> frozenset[str]:
        """Removes the records of topics that were deleted, so that topics made again are first contacts.

        Only of topics that Kafka confirms to be gone. Shards that cannot be trusted are left as they are.

        Returns:
            Topics with a record that Kafka still shows, or did not answer for.

        Raises:
            Conflict: a shard changed meanwhile: do it again.
            SeawallError: the API server did not answer, or refused.
        """
        spec, cluster_id = cluster.spec, pinned_id(cluster)
        if isinstance(spec, InvalidSpec) or cluster_id is None:
            return frozenset()
        pool = PoolId(cluster.metadata.namespace, cluster_id, spec.topics.prefix)
        shards = read_shards(self.looks.intents.read(pool, shards_of(names)))
        records = shards.of_topics(names)
        gone = _confirmed_gone(records, logs)
        self.looks.write_shards(pool, shards.without(gone))
        return frozenset(records.keys() - gone)

    def finish(self, cluster: WALCluster, names: Sequence[str], admin: KafkaAdmin, logs: KafkaLogs) -> None:
        """Asks Kafka once more to delete the whole pool, and forgets all records.

        Raises:
            OutsideUnavailable: Kafka has not confirmed that all of them are gone; and what `delete` and `forget` raise.
        """
        self.delete(cluster, names, admin)
        left = self.forget(cluster, names, logs)
        if left:
            raise OutsideUnavailable(f"Kafka has not confirmed yet that {min(left)} is gone")

    def _require_same(self, cluster: WALCluster) -> None:
        """Reads the object once more, right before topics are deleted: Kafka knows names only, and cannot be fenced.

        A leader that froze after it decided may wake up when the object is gone, and made anew with topics in use; or
        when a person has stopped the deletion.
        """
        now = self.kube.get(WALCluster, cluster.metadata.key)
        if now is None or now.metadata.resource_version != cluster.metadata.resource_version:
            raise Conflict(f"WALCluster {cluster.metadata.key} is no longer the one whose deletion was decided")


def _confirmed_gone(records: dict[str, FenceRecord], logs: KafkaLogs) -> set[str]:
    """The topics whose log Kafka does not have any more: there is none of this name, or one of another id."""
    found = logs.describe_topics(list(records)) if records else {}
    gone: set[str] = set()
    for name, record in records.items():
        match found.get(name):
            case DescribedTopic(topic_id) if topic_id != record.topic_id:
                gone.add(name)
            case TopicFailure(TopicTrouble.UNKNOWN_TOPIC):
                gone.add(name)
            case _:
                pass
    return gone
