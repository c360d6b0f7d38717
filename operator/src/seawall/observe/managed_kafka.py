"""Whether a managed Kafka can be asked, and by which connection."""

from __future__ import annotations

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.kafka_node_pools import NodeRole
from seawall.api.v1alpha1.managed_kafka_status import NodeState
from seawall.domain.conditions import find_condition
from seawall.domain.kafka import KafkaConnection, NoKafka
from seawall.domain.managed_kafka.reasons import Reason
from seawall.observe.connections import kafka_of
from seawall.ports import KafkaClusters, Kube

NO_ANSWER = "Kafka does not answer"


def reach(kube: Kube, kafka_clusters: KafkaClusters, cluster: WALCluster) -> KafkaConnection | str:
    """The connection to a managed Kafka of which a broker is Online, or why nobody asks it now.

    What answers has to be the Kafka of this WALCluster: addresses may lead elsewhere.
    """
    reported = find_condition(cluster.status.conditions, ConditionType.KAFKA_NODES_HEALTHY)
    if reported is None or reported.reason in {Reason.IDENTITY_UNCLEAR, Reason.FORMER_LIFE}:
        return "which Kafka it is, is not known: see KafkaNodesHealthy"
    status = cluster.status.managed_kafka
    brokers = () if status is None else (node for node in status.nodes if NodeRole.BROKER in node.roles)
    if not any(node.state is NodeState.ONLINE for node in brokers):
        return "no broker is Online"
    connection = kafka_of(kube, cluster)
    if isinstance(connection, NoKafka):
        return connection.message
    view = kafka_clusters.connect(cluster.metadata.key, connection).view()
    if isinstance(view, NoKafka):  # not its words: they are others each time
        return NO_ANSWER
    if status is None or view.cluster_id != status.cluster_id:
        return f"another Kafka answers, of id {view.cluster_id}"
    return connection
