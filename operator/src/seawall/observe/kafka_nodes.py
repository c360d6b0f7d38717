"""What the Kafka of a WALCluster that runs it says of its nodes, and of what is on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import KafkaConnection, NoKafka
from seawall.domain.kafka_log import TopicFailure
from seawall.domain.managed_kafka.found import FoundKafka, KafkaAnswer, Record
from seawall.domain.managed_kafka.identity import read_identity
from seawall.domain.managed_kafka.names import format_name, identity_name
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.staleness import why_stale
from seawall.domain.managed_kafka.tokens import why_no_topics
from seawall.domain.partitions import Partition, PartitionId
from seawall.observe.connections import kafka_of
from seawall.ports import KafkaClusters, Kube, PartitionReassigner


class Asked:
    """What is asked for beside the nodes: nothing, or what judges a volume, a restart, a removal, or who is in sync."""

    NODES = frozenset[str]()
    VOLUMES = frozenset({"partitions", "eligible"})
    RESTARTS = frozenset({"partitions", "restarts"})
    REMOVALS = RESTARTS | {"adding"}
    IN_SYNC = frozenset({"partitions", "adding"})


def why_forming(kube: Kube, cluster: WALCluster) -> str | None:
    """Why no topics may be made in a managed Kafka yet; None: they may, or somebody else runs it."""
    key = cluster.metadata.key
    if cluster.managed_kafka is None:
        return None
    tokens, kept = (kube.get_config_map(Key(key.namespace, name(key.name))) for name in (format_name, identity_name))
    identity = read_identity(None if kept is None else Record(kept.data, ""))
    return why_no_topics(key.name, None if tokens is None else tokens.data, identity)


@dataclass(frozen=True, slots=True)
class KafkaNodesAsker:
    """Asks a managed Kafka."""

    kube: Kube
    clusters: KafkaClusters

    def ask(
        self, obj: WALCluster, nodes: Iterable[Node], found: FoundKafka, asked: frozenset[str]
    ) -> KafkaAnswer | str:
        """Nobody is asked before a broker is ready: names that lead nowhere, and closed ports, cost seconds."""
        if not any(node.pool.is_broker and (pod := found.pods.get(node.id)) and pod.is_ready for node in nodes):
            return "no broker is ready"
        connection = kafka_of(self.kube, obj)
        if isinstance(connection, NoKafka):
            return connection.message
        try:
            return _answer(self.clusters, obj, connection, asked)
        except (OutsideUnavailable, Refused):  # not its words: they are others each time
            return "Kafka does not answer"


def _answer(
    clusters: KafkaClusters, obj: WALCluster, connection: KafkaConnection, asked: frozenset[str]
) -> KafkaAnswer | str:
    key = obj.metadata.key
    view = clusters.connect(key, connection).view()
    if isinstance(view, NoKafka):
        return "Kafka does not answer"
    reassigner = clusters.reassigner(key, connection)
    brokers = {broker.id: broker for broker in reassigner.brokers()}
    answer = KafkaAnswer(view.cluster_id, brokers, "", reassigner.features())
    try:
        answer = replace(answer, quorum=reassigner.quorum())
    except OutsideUnavailable:
        answer = replace(answer, quorum="Kafka's controllers have no leader, or do not answer")
    adding = _adding(reassigner) if "adding" in asked else {}
    if "partitions" in asked:
        answer = replace(answer, partitions=why_stale(answer) or _partitions(reassigner))
    if "eligible" in asked:
        answer = replace(answer, eligible=reassigner.eligible_leaders())
    if "adding" in asked:
        answer = replace(answer, adding={**adding, **_adding(reassigner)})
    return _for_restarts(answer, reassigner) if "restarts" in asked else answer


def _adding(reassigner: PartitionReassigner) -> dict[PartitionId, frozenset[int]]:
    """Asked before the partitions and after: a move that begins or ends in between must not look like its end."""
    return {each: moved.adding for each, moved in reassigner.ongoing().items()}


def _for_restarts(answer: KafkaAnswer, reassigner: PartitionReassigner) -> KafkaAnswer:
    partitions = () if answer.partitions is None or isinstance(answer.partitions, str) else answer.partitions
    found = reassigner.min_insync_replicas(sorted({each.id.topic for each in partitions}))
    min_isr = {topic: needed for topic, needed in found.items() if isinstance(needed, int)}
    return replace(answer, min_isr=min_isr, is_moving=bool(reassigner.ongoing()))


def _partitions(reassigner: PartitionReassigner) -> tuple[Partition, ...] | str:
    """All of them; one topic of which nothing is known is a reason not to know."""
    described = reassigner.partitions()
    for found in described.values():
        if isinstance(found, TopicFailure):
            return found.message
    return tuple(each for found in described.values() if not isinstance(found, TopicFailure) for each in found)
