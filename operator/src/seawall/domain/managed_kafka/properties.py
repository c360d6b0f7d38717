"""The files that a node of Kafka reads: server.properties, options of Java, what is logged, and its entrypoint."""

from __future__ import annotations

from importlib.resources import files

from seawall.api.meta import Key
from seawall.api.quantity import MI
from seawall.api.v1alpha1.kafka_node_pools import NodePool, NodeRole
from seawall.api.v1alpha1.managed_kafka import CLIENT_PORT, INTERNAL_PORT, ManagedKafka, node_host
from seawall.domain.managed_kafka.secured import protocols, security_properties

CONTROLLER_PORT, CONTROLLER_LISTENER = 9090, "CONTROLLER"
VOLUME = "/var/lib/kafka"
REPLICAS = 3
"""Of Kafka's own topics, where there are so many brokers."""
CLEANER_BYTES = 128 * MI
"""Kafka's default of log.cleaner.dedupe.buffer.size."""

ENTRYPOINT = files("seawall.domain.managed_kafka").joinpath("entrypoint.sh").read_text()

JVM_OPTIONS = """\
# A restarted node has a new address: forget the old one within a second.
-Dsun.net.inetaddr.ttl=1
-Dsun.net.inetaddr.negative.ttl=0
-Djava.awt.headless=true
-Dlog4j2.configurationFile=/etc/seawall/config/log4j2.properties
"""

LOG4J = """\
status = warn
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p %c{1} %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
# One line for each partition and each second.
logger.request.name = kafka.request.logger
logger.request.level = warn
logger.state.name = state.change.logger
logger.state.level = warn
"""


def config_files(cluster: Key, kafka: ManagedKafka, node: int, pool: NodePool) -> dict[str, str]:
    """By name the files of a node's configuration."""
    properties = server_properties(cluster, kafka, node, pool)
    return {
        "entrypoint.sh": ENTRYPOINT,
        "jvm.options": JVM_OPTIONS,
        "log4j2.properties": LOG4J,
        "server.properties": "".join(f"{key}={properties[key]}\n" for key in sorted(properties)),
    }


def server_properties(cluster: Key, kafka: ManagedKafka, node: int, pool: NodePool) -> dict[str, str]:
    """The properties of a node. What Kafka must not have otherwise cannot be set by the spec (GUARDED_PROPERTIES)."""
    return {**_defaults(kafka, pool), **kafka.static_config, **_identity(cluster, kafka, node, pool)}


def voter_address(cluster: Key, node: int) -> str:
    """Where a controller is found by the others, host:port."""
    return f"{node_host(cluster.namespace, cluster.name, node)}:{CONTROLLER_PORT}"


def most_replicas(kafka: ManagedKafka) -> int:
    """How many replicas topics get that are made without a word."""
    return min(REPLICAS, len(tuple(kafka.broker_ids)))


def default_min_isr(kafka: ManagedKafka) -> int:
    """What min.insync.replicas is without a word; Kafka takes it out of the file of the first start, and keeps it."""
    return max(1, most_replicas(kafka) - 1)


def _defaults(kafka: ManagedKafka, pool: NodePool) -> dict[str, str]:
    """What a WAL needs, unless the spec says otherwise; min.insync.replicas is below the replicas: one may be lost.

    Only Kafka's own topics are compacted, and the cleaner's buffer of 128 MiB would not fit into a small heap.
    """
    replicas, min_isr = most_replicas(kafka), default_min_isr(kafka)
    return {
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(min_isr),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(min_isr),
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": str(min_isr),
        "log.cleaner.dedupe.buffer.size": str(min(CLEANER_BYTES, pool.heap_bytes // 16)),
    }


def _identity(cluster: Key, kafka: ManagedKafka, node: int, pool: NodePool) -> dict[str, str]:
    """Who the node is, where it listens, and what would lose records otherwise."""
    host = node_host(cluster.namespace, cluster.name, node)
    listeners = {CONTROLLER_LISTENER: CONTROLLER_PORT} if pool.is_controller else {}
    if pool.is_broker:
        listeners |= {"INTERNAL": INTERNAL_PORT, "CLIENTS": CLIENT_PORT}
    roles = [role.value for role in NodeRole if role in pool.roles]
    return {
        "process.roles": ",".join(roles),
        "node.id": str(node),
        "controller.quorum.bootstrap.servers": ",".join(voter_address(cluster, each) for each in kafka.controller_ids),
        "controller.listener.names": CONTROLLER_LISTENER,
        "inter.broker.listener.name": "INTERNAL",
        "listener.security.protocol.map": ",".join(f"{name}:{how}" for name, how in protocols(kafka.security).items()),
        "listeners": ",".join(f"{name}://:{port}" for name, port in listeners.items()),
        "advertised.listeners": ",".join(f"{name}://{host}:{port}" for name, port in listeners.items()),
        "log.dirs": f"{VOLUME}/data",
        "auto.create.topics.enable": "false",
        "unclean.leader.election.enable": "false",
        **security_properties(cluster, kafka),
    }
