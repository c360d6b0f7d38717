"""Makes missing topics; one that was written to only when a person readopts it (`domain/cluster/lost.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.permission import require_managed
from seawall.domain.cluster.identity import pool_of
from seawall.domain.cluster.lost import MissingTopics, find_missing
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused
from seawall.domain.kafka import NewTopic
from seawall.domain.kafka_log import DescribedTopic, TopicFailure
from seawall.domain.leaving_broker import without_leaving
from seawall.domain.ledger.observation import ReadShards
from seawall.domain.ledger.shards import PoolId
from seawall.domain.topics.actions import CreateTopics
from seawall.domain.topics.placing import with_replicas
from seawall.observe.claims import current_readoption
from seawall.observe.kafka_nodes import why_forming
from seawall.observe.records import read_records
from seawall.ports import Clock, IntentStore, KafkaAdmin, KafkaLogs, Kube, PartitionReassigner


@dataclass(frozen=True, slots=True)
class CreatesIn:
    """The Kafka cluster in which topics are made."""

    admin: KafkaAdmin
    logs: KafkaLogs
    reassigner: PartitionReassigner


@dataclass(frozen=True, slots=True)
class TopicCreation:
    """The creation of topics, for the controller of WALClusters."""

    kube: Kube
    intents: IntentStore
    clock: Clock

    def missing(self, cluster: WALCluster, names: Sequence[str], logs: KafkaLogs) -> MissingTopics:
        """What is recorded of topics that Kafka does not show, read anew; asks nobody when there are none."""
        pool = pool_of(cluster)
        return MissingTopics() if pool is None or not names else self._read(cluster, pool, names, logs)[0]

    def create(self, cluster: WALCluster, action: CreateTopics, kafka: CreatesIn) -> CreateTopics:
        """Creates topics, if by their records and by what a person declares right now they still may be.

        Returns:
            The action with the replicas that they got.

        Raises:
            Conflict: they may not, or the WALCluster or a record changed: decide again.
            SeawallError: the API server did not answer, or refused; and what `KafkaAdmin.create_topics` raises.
        """
        topics, note = with_brokers(cluster, action.topics, kafka.reassigner)
        placed = replace(action, topics=topics, note=note)
        names = [topic.name for topic in action.topics]
        current, pool = require_managed(self.kube, cluster), pool_of(cluster)
        if pool is None:
            raise Conflict("the Kafka cluster is not known yet")
        missing, shards = self._read(current, pool, names, kafka.logs)
        if missing.kept:
            raise Conflict(f"{min(missing.kept)} must not be made")
        for number, shard in shards.without(missing.readopted).items():
            self.intents.write(pool, number, shard)
        if (forming := why_forming(self.kube, current)) is not None:
            raise Conflict(forming)
        kafka.admin.create_topics(placed.topics)
        return placed

    def _read(
        self, cluster: WALCluster, pool: PoolId, names: Sequence[str], logs: KafkaLogs
    ) -> tuple[MissingTopics, ReadShards]:
        shards = read_records(self.intents, pool, names)
        described = _describe(logs, list(shards.of_topics(names)))
        readoption = current_readoption(self.kube, cluster, self.clock)
        return find_missing(names, shards, described, readoption, cluster.status.recorded_shards), shards


def with_brokers(
    cluster: WALCluster, topics: tuple[NewTopic, ...], reassigner: PartitionReassigner
) -> tuple[tuple[NewTopic, ...], str]:
    """The topics with their replicas, by the brokers as they are right now; and what people should know of these."""
    if isinstance(cluster.spec, InvalidSpec):
        raise Conflict(cluster.spec.message)
    try:
        described = reassigner.partitions(cluster.spec.topics.topic_names()).values()
        brokers = reassigner.brokers()
    except Refused as refused:
        return topics, f"Kafka chose their brokers: {refused}"
    partitions = [found for topic in described if not isinstance(topic, TopicFailure) for found in topic]
    return with_replicas(without_leaving(cluster, cluster.spec), topics, partitions, brokers)


def _describe(logs: KafkaLogs, names: Sequence[str]) -> dict[str, DescribedTopic | TopicFailure]:
    """A topic that nobody answers for is left out."""
    try:
        return dict(logs.describe_topics(names)) if names else {}
    except OutsideUnavailable:
        return {}
