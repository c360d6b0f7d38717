"""One look at the partitions of a WALCluster: what a reassignment is decided from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import KafkaView
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.min_isr import find_under_min_isr, most_min_isr
from seawall.domain.partitions import Partition, PartitionId, Reassigning, known_brokers
from seawall.domain.reassignment.batch import topics_that_lose_replicas
from seawall.domain.reassignment.journal import Journal
from seawall.domain.reassignment.observed import KafkaState
from seawall.domain.reassignment.planning import internal_topics_to_move
from seawall.domain.reassignment.tracker import Direction, MoveTracker
from seawall.observe.connections import required_kafka
from seawall.observe.opened_cluster import Blocked, own_pool
from seawall.observe.sharing import observe_sharing
from seawall.ports import KafkaClusters, Kube, PartitionReassigner, Strimzi


@dataclass(frozen=True, slots=True)
class PartitionObserver:
    """Looks at Kafka for reassignments, if it is the Kafka that is meant and the topics are this WALCluster's."""

    kube: Kube
    kafka_clusters: KafkaClusters
    strimzi: Strimzi | None = None
    """None: nobody asks what Strimzi has."""

    def reassigner(self, cluster: WALCluster) -> PartitionReassigner:
        """The partitions of its Kafka.

        Raises:
            Refused: the spec does not lead to a connection.
            OutsideUnavailable: a Secret does not.
        """
        return self.kafka_clusters.reassigner(cluster.metadata.key, required_kafka(self.kube, cluster))

    def observe(
        self, cluster: WALCluster, spec: WALClusterSpec, journal: Journal | None, *, asks_throttled: bool
    ) -> KafkaState | str:
        """What Kafka says; a sentence: why nobody can look, or may act on it.

        What is under way is read before the replicas: a move that ends in between is done for the next look only.
        """
        try:
            admin = self.kafka_clusters.connect(cluster.metadata.key, required_kafka(self.kube, cluster))
            view = own_pool(self.kube, cluster, admin, spec.topics.prefix).view
            return self._read(cluster, spec, view, journal, asks_throttled=asks_throttled)
        except (OutsideUnavailable, Refused, Blocked) as error:
            return str(error)

    def _read(
        self,
        cluster: WALCluster,
        spec: WALClusterSpec,
        view: KafkaView,
        journal: Journal | None,
        *,
        asks_throttled: bool,
    ) -> KafkaState:
        """Kafka takes a second to describe the configs of a thousand topics, so that is not always asked."""
        reassigner = self.reassigner(cluster)
        declared = {*spec.topics.topic_names(), *internal_topics_to_move(spec)}
        pool = {name for name in declared if name in view.topics}
        topics = pool | (journal.topics if journal is not None else frozenset())
        ongoing = reassigner.ongoing()
        drained = _topics_to_drain(spec, reassigner)
        topics |= drained
        partitions, absent, silent = _sort(reassigner.partitions(topics))
        others = [found for found in partitions.values() if found.id.topic not in declared]
        kafka = KafkaState(
            brokers={broker.id: broker for broker in known_brokers(reassigner.brokers(), partitions.values())},
            partitions=partitions,
            absent=absent,
            silent=silent,
            ongoing=ongoing,
            throttles=reassigner.throttles(topics if asks_throttled else ()),
            under_min_isr=(
                *find_under_min_isr(
                    (found for found in partitions.values() if found.id.topic in declared),
                    ongoing,
                    spec.topics.effective_min_in_sync_replicas(),
                ),
                *_others_under_min_isr(reassigner, others, ongoing),
            ),
            sharing=observe_sharing(self.strimzi, view.cluster_id),
        )
        return kafka if journal is None else replace(kafka, min_isr=_min_isr(reassigner, kafka, journal))


def _topics_to_drain(spec: WALClusterSpec, reassigner: PartitionReassigner) -> frozenset[str]:
    """Of a Kafka that Seawall runs all topics leave a broker that is excluded; elsewhere they are somebody else's."""
    excluded = frozenset(spec.reassignment.exclude_brokers)
    if spec.kafka.managed is None or not excluded:
        return frozenset()
    described = (found for found in reassigner.partitions().values() if not isinstance(found, TopicFailure))
    return frozenset(each.id.topic for found in described for each in found if not excluded.isdisjoint(each.replicas))


def _others_under_min_isr(
    reassigner: PartitionReassigner, others: Collection[Partition], ongoing: Mapping[PartitionId, Reassigning]
) -> tuple[PartitionId, ...]:
    """Of topics that the spec does not declare each has a min.insync.replicas of its own; unknown: all but one."""
    min_isr = reassigner.min_insync_replicas(sorted({each.id.topic for each in others})) if others else {}
    found: list[PartitionId] = []
    for each in others:
        needed = min_isr.get(each.id.topic)
        least = needed if isinstance(needed, int) else most_min_isr(len(each.replicas))
        found.extend(find_under_min_isr((each,), ongoing, least))
    return tuple(found)


def _min_isr(reassigner: PartitionReassigner, kafka: KafkaState, journal: Journal) -> dict[str, int]:
    """min.insync.replicas of topics that may lose replicas, wherever the run goes, as far as Kafka tells."""
    topics: set[str] = set()
    for direction in Direction:
        topics |= topics_that_lose_replicas(MoveTracker(journal, kafka, direction))
    found = reassigner.min_insync_replicas(sorted(topics)) if topics else {}
    return {name: value for name, value in found.items() if isinstance(value, int)}


def _sort(
    found: Mapping[str, tuple[Partition, ...] | TopicFailure],
) -> tuple[dict[PartitionId, Partition], frozenset[str], dict[str, str]]:
    partitions: dict[PartitionId, Partition] = {}
    absent: set[str] = set()
    silent: dict[str, str] = {}
    for topic, reported in found.items():
        if not isinstance(reported, TopicFailure):
            partitions.update((partition.id, partition) for partition in reported)
        elif reported.why is TopicTrouble.UNKNOWN_TOPIC:
            absent.add(topic)
        else:
            silent[topic] = reported.message
    return partitions, frozenset(absent), silent
