"""Deletes the topics of a WALCluster that goes: writes down which, asks right before who needs them, and forgets them.

Topics are deleted by the ids that were written down: one that was made anew under its name stays, whenever that was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seawall.api.meta import TOPICS_FINALIZER, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.topic_pool import DeletionPolicy
from seawall.controllers.controller import unchanged
from seawall.controllers.permission import require_soon
from seawall.domain.cluster.deletion import why_remade, why_unclear, why_written
from seawall.domain.cluster.going import PoolNow, ids_to_delete, make_pool_now, records_to_decide
from seawall.domain.cluster.identity import pool_of, why_wrong
from seawall.domain.cluster.needed import doubts, why_needed
from seawall.domain.cluster.observed import Needs
from seawall.domain.cluster.ownership import find_contender, why_owner_unknown
from seawall.domain.errors import Conflict, OutsideUnavailable
from seawall.domain.kafka import KafkaView
from seawall.domain.kafka_log import DescribedTopic, TopicFailure, TopicTrouble
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.observation import ReadShards, read_shards
from seawall.domain.ledger.shards import PoolId, shards_of
from seawall.observe.claims import read_holds
from seawall.observe.ledger import LedgerObserver
from seawall.observe.records import read_records
from seawall.observe.sharing import observe_sharing
from seawall.ports import KafkaAdmin, KafkaLogs, Kube, Strimzi


@dataclass(frozen=True, slots=True)
class TopicDeletion:
    """The deletion of topics, for the controller of WALClusters. Looks block, as any other look at a ledger does."""

    kube: Kube
    observer: LedgerObserver
    strimzi: Strimzi | None = None
    """None: nobody asks what Strimzi has."""

    def needs(self, cluster: WALCluster, kafka: KafkaView, logs: KafkaLogs) -> Needs | None:
        """Who may need the topics, and then the topics, read anew; None while topics are not to be deleted."""
        spec = cluster.spec
        if isinstance(spec, InvalidSpec) or spec.topics.deletion_policy is not DeletionPolicy.DELETE:
            return None
        if cluster.metadata.deletion_timestamp is None or TOPICS_FINALIZER not in cluster.metadata.finalizers:
            return None
        observation = self.observer.observe(cluster) if spec.database is not None else None
        claims = self.kube.list_claims(spec.topics.prefix)
        contender = why_owner_unknown(claims.unreadable) or find_contender(cluster, kafka, claims.items)
        holds = read_holds(self.kube, cluster)
        sharing = observe_sharing(self.strimzi, kafka.cluster_id)
        pool, _ = self._pool_now(cluster, spec.topics.topic_names(), logs)
        return Needs(holds, observation, contender, pool, sharing)

    def decide(self, cluster: WALCluster, logs: KafkaLogs) -> None:
        """Writes down which logs go, and where they end; what was written down before stays.

        Raises:
            Conflict: the WALCluster or a record changed meanwhile: decide again.
            SeawallError: the API server did not answer, or refused.
        """
        spec, pool_id = cluster.spec, self._pool_id(cluster)
        if isinstance(spec, InvalidSpec) or pool_id is None:
            raise Conflict("there is no pool to decide about")
        pool, shards = self._pool_now(cluster, spec.topics.topic_names(), logs)
        changed = why_unclear(pool) or why_remade(cluster, pool)
        if changed is not None:
            raise Conflict(changed.message)
        self._require_same(cluster)
        self.observer.write_shards(pool_id, shards.changed(records_to_decide(cluster, pool)))

    def delete(self, cluster: WALCluster, names: Sequence[str], admin: KafkaAdmin, logs: KafkaLogs) -> None:
        """Deletes topics, if right now the pool is still as it was decided, and nobody needs any of it.

        Raises:
            Conflict: somebody does, or the WALCluster changed: decide again.
            Refused: Kafka said no.
            OutsideUnavailable: somebody did not answer; topics may be gone or not.
        """
        spec, began = cluster.spec, self.observer.stopwatch.milliseconds()
        if isinstance(spec, InvalidSpec):
            raise Conflict(spec.message)
        kafka = admin.view()
        if not isinstance(kafka, KafkaView):
            raise OutsideUnavailable(kafka.message)
        if (wrong := why_wrong(cluster, kafka)) is not None:
            raise Conflict(wrong)
        needs = self.needs(cluster, kafka, logs)
        pool = PoolNow() if needs is None or needs.pool is None else needs.pool
        kept = (
            why_unclear(pool)
            or why_remade(cluster, pool)
            or why_needed(cluster, spec.topics.topic_names(), needs)
            or why_written(cluster, pool, needs.observation if needs is not None else None)
        )
        if kept is not None:
            raise Conflict(kept.message)
        self._require_same(cluster)
        require_soon(self.observer.stopwatch, began)
        doubted = {} if needs is None else doubts(needs)
        admin.delete_topics(ids_to_delete(cluster, names, pool, doubted))

    def forget(self, cluster: WALCluster, names: Sequence[str], logs: KafkaLogs) -> frozenset[str]:
        """Removes the records of topics that were deleted, so that topics made again are first contacts.

        Only of topics that Kafka confirms to be gone. Shards that cannot be trusted are left as they are. An API server
        that was restored from a backup meanwhile may have an object of before the decision: without the records what
        was made since would be taken for first contacts by it, and go.

        Returns:
            Topics with a record that Kafka still shows, or did not answer for.

        Raises:
            Conflict: a shard or the WALCluster changed meanwhile: do it again.
            SeawallError: the API server did not answer, or refused.
        """
        pool = self._pool_id(cluster)
        if pool is None:
            return frozenset()
        shards = read_shards(self.observer.intents.read(pool, shards_of(names)))
        records = shards.of_topics(names)
        gone = _confirmed_gone(records, logs)
        self._require_same(cluster)
        self.observer.write_shards(pool, shards.without(gone))
        return frozenset(records.keys() - gone)

    def finish(self, cluster: WALCluster, names: Sequence[str], admin: KafkaAdmin, logs: KafkaLogs) -> None:
        """Asks Kafka once more to delete all that was decided to go, and forgets all records.

        Raises:
            OutsideUnavailable: Kafka has not confirmed that all of them are gone; and what `delete` and `forget` raise.
        """
        self.delete(cluster, names, admin, logs)
        left = self.forget(cluster, names, logs)
        if left:
            raise OutsideUnavailable(f"Kafka has not confirmed yet that {min(left)} is gone")

    def _pool_id(self, cluster: WALCluster) -> PoolId | None:
        return None if isinstance(cluster.spec, InvalidSpec) else pool_of(cluster)

    def _pool_now(self, cluster: WALCluster, names: Sequence[str], logs: KafkaLogs) -> tuple[PoolNow, ReadShards]:
        """The topics of the pool and their records; what cannot be read is in it as a sentence."""
        described = logs.describe_topics(names)
        there = [name for name in names if isinstance(described.get(name), DescribedTopic)]
        offsets = logs.describe_offsets(there) if there else {}
        shards = read_records(self.observer.intents, self._pool_id(cluster), names)
        return make_pool_now(names, described, offsets, shards), shards

    def _require_same(self, cluster: WALCluster) -> None:
        """Reads the object once more, right before topics are deleted, or forgotten: Kafka cannot be fenced.

        A leader that froze after it decided may wake up when the object is gone, and made anew with topics in use; or
        when a person has stopped the deletion.
        """
        unchanged(cluster, self.kube.get(WALCluster, cluster.metadata.key))


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
