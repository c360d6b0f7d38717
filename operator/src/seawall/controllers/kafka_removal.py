"""The controller of brokers that are taken out of a managed Kafka, one more of WALClusters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import ClassVar, assert_never

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.controllers.controller import Controller
from seawall.controllers.since import Since
from seawall.domain.errors import Conflict, SeawallError
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.emptiness import RemovalObserved, why_not_empty
from seawall.domain.managed_kafka.found import Observed
from seawall.domain.managed_kafka.names import identity_name
from seawall.domain.managed_kafka.node import cluster_labels
from seawall.domain.managed_kafka.removal import RemovalDecision, decide, leaving_node
from seawall.domain.managed_kafka.removal_actions import (
    DeleteObject,
    RemovalAction,
    RemoveId,
    StopNode,
    UnregisterBroker,
)
from seawall.domain.managed_kafka.roll import known_case
from seawall.domain.step import Event
from seawall.observe.certificates import read_certificates
from seawall.observe.connections import required_kafka
from seawall.observe.kafka_nodes import Asked, KafkaNodesAsker
from seawall.ports import Clock, KafkaClusters, KafkaObjects, Kube, PartitionReassigner, Stopwatch

KAFKA_REMOVAL = "KafkaRemoval"
"""The kind of its queue, whose keys are those of WALClusters."""


@dataclass(frozen=True, slots=True)
class KafkaRemovalController(Controller[WALCluster, RemovalObserved, WALClusterStatus, RemovalAction]):
    """Takes brokers out. Of the status it writes `managedKafka.removal` and the journal; its queue is its own."""

    resource: ClassVar = WALCluster

    kube: Kube
    objects: KafkaObjects | None
    """None: this process may not run a Kafka."""
    kafka_clusters: KafkaClusters
    clock: Clock
    stopwatch: Stopwatch
    kind: str = KAFKA_REMOVAL
    _empty_since: Since[int] = field(default_factory=Since)
    """By node since when each look of this process has found nothing on it."""

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        self._empty_since.forget(key)

    def observe(self, obj: WALCluster) -> RemovalObserved:
        """Reads objects and pods, and then Secrets, and asks Kafka, if a node is to be taken out."""
        key, time, begun = obj.metadata.key, self.clock.trusted(), self.stopwatch.milliseconds()
        managed = obj.managed_kafka
        if managed is None or self.objects is None:
            return self._without(key, "there is no managed Kafka")
        found = Observed(time, self.objects.find(key))
        case = known_case(obj, found)
        if isinstance(case, str):
            return self._without(key, case)
        node = leaving_node(case)
        if node is None and obj.status.removal is None:
            return self._without(key, case)
        found = replace(found, certificates=read_certificates(self.kube, key, managed))
        answer = KafkaNodesAsker(self.kube, self.kafka_clusters).ask(obj, case.nodes, found.found, Asked.REMOVALS)
        asked = known_case(obj, replace(found, kafka=answer))
        if isinstance(asked, str) or isinstance(answer, str) or node is None:
            return self._without(key, asked)
        observed = RemovalObserved(asked, self._stored(obj))
        is_empty = why_not_empty(node, observed) is None
        empty = (node.id,) if is_empty else ()
        return replace(observed, empty_for=self._empty_since.note(key, empty, begun, self.stopwatch.milliseconds()))

    def decide(self, obj: WALCluster, observed: RemovalObserved) -> RemovalDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALCluster, action: RemovalAction) -> Event:
        """Does one action; right before it, all that it was decided by is looked at once more."""
        key, objects = obj.metadata.key, self.objects
        if objects is None:
            raise Conflict("this operator may not run a Kafka any more")
        self._ask_again(obj, action, decide)
        match action:
            case StopNode():
                objects.stop(action.statefulset, key.namespace)
            case UnregisterBroker():
                self._reassigner(obj).unregister(action.node)
            case RemoveId():
                record = Key(key.namespace, identity_name(key.name))
                objects.write_record(record, cluster_labels(key.name), action.identity.written(), action.version)
            case DeleteObject():
                objects.delete(action.found, key.namespace)
            case _:
                assert_never(action)
        return action.event()

    def _reassigner(self, obj: WALCluster) -> PartitionReassigner:
        return self.kafka_clusters.reassigner(obj.metadata.key, required_kafka(self.kube, obj))

    def _stored(self, obj: WALCluster) -> dict[int, int]:
        """Of each broker that told, the replicas in its log directories; nobody, where Kafka does not answer."""
        try:
            sizes = self._reassigner(obj).sizes()
        except SeawallError:
            return {}
        counted = Counter(broker for by_broker in sizes.by_partition.values() for broker in by_broker)
        return {broker: counted[broker] for broker in sizes.reported}

    def _without(self, key: Key, case: Case | str) -> RemovalObserved:
        """Nobody asked Kafka: what was empty is not known to be."""
        self.forget(key)
        return RemovalObserved(case)
