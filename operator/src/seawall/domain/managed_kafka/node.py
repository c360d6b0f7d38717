"""A node of a managed Kafka, as it is declared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from seawall.api.meta import Key
from seawall.api.v1alpha1.kafka_node_pools import IDS_OF_A_POOL, NodePool
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.domain.managed_kafka import names


@dataclass(frozen=True, slots=True)
class Ids:
    """What is known of node ids.

    Attributes:
        used: those that ever had a volume.
        removed: those of nodes that were taken out: none is used again.
        stopped: those that Seawall has stopped for good.
    """

    used: frozenset[int] = frozenset()
    removed: frozenset[int] = frozenset()
    stopped: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Node:
    """One node as it is declared, or as long as it is there.

    Attributes:
        kafka: as declared, with as many brokers as there are.
        is_leaving: it is to be taken out.
    """

    cluster: Key
    kafka: ManagedKafka
    id: int
    pool: NodePool
    is_leaving: bool = False

    @property
    def name(self) -> str:
        """What its StatefulSet and its Service are called."""
        return names.node_name(self.cluster.name, self.id)

    @property
    def pod_name(self) -> str:
        """What the one pod of its StatefulSet is called."""
        return f"{self.name}-0"

    @property
    def volume(self) -> str:
        """What its volume is called."""
        return names.volume_name(self.cluster.name, self.id)

    @property
    def budget(self) -> str:
        """Which budget counts it."""
        return "brokers" if self.pool.is_broker else "controllers"

    @property
    def labels(self) -> dict[str, str]:
        """On all of its objects."""
        return {**cluster_labels(self.cluster.name), names.NODE_LABEL: str(self.id)}


def nodes_of(cluster: Key, kafka: ManagedKafka, ids: Ids = Ids()) -> tuple[Node, ...]:
    """All nodes, by id: those that are declared, and those that leave."""
    found = [(number, pool) for pool in kafka.node_pools for number in _of_pool(pool, ids)]
    declared = {number for pool in kafka.node_pools for number in declared_ids(pool, ids)}
    counts = Counter(pool.name for _, pool in found)
    pools = tuple(_of_size(pool.without(ids.removed), counts[pool.name]) for pool in kafka.node_pools)
    as_it_is = kafka.model_copy(update={"node_pools": pools})
    return tuple(
        Node(cluster, as_it_is, number, pool, is_leaving=number not in declared)
        for number, pool in sorted(found, key=lambda each: each[0])
    )


def _of_size(pool: NodePool, replicas: int) -> NodePool:
    """The pool with so many nodes; the same one where it has them, as at nearly every look."""
    return pool if pool.replicas == replicas else pool.model_copy(update={"replicas": replicas})


def declared_ids(pool: NodePool, ids: Ids) -> list[int]:
    """The first that were not taken out; what was stopped for good is as good as out."""
    return list(pool.without(ids.removed | ids.stopped).node_ids)


FEWEST_LEFT = 3
"""Controllers leave only where so many stay: of two both would be needed, and the last one alone knows the topics."""


def _of_pool(pool: NodePool, ids: Ids) -> list[int]:
    """Of a pool with both roles nobody leaves in this version."""
    declared = declared_ids(pool, ids)
    if pool.is_controller and (pool.is_broker or pool.replicas < FEWEST_LEFT):
        return declared
    own = range(pool.first_id, pool.first_id + IDS_OF_A_POOL)
    return sorted({*declared, *(each for each in ids.used - ids.removed if each in own)})


def cluster_labels(cluster: str) -> dict[str, str]:
    """On all objects of a managed Kafka."""
    return {
        "app.kubernetes.io/name": "kafka",
        "app.kubernetes.io/instance": cluster,
        "app.kubernetes.io/managed-by": "seawall",
        names.KAFKA_LABEL: cluster,
    }
