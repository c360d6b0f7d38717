"""The controller of the nodes of a managed Kafka, one more of WALClusters."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import ClassVar, assert_never

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.controllers.controller import Controller
from seawall.controllers.permission import require_managed
from seawall.controllers.since import Since
from seawall.domain.errors import Conflict, Refused
from seawall.domain.kafka import id_text
from seawall.domain.managed_kafka.actions import (
    ChangeBudget,
    ChangePolicy,
    CreateObject,
    MakeAnew,
    MakeIdentity,
    ManagedAction,
    RemoveConfig,
    RemovePolicy,
    WriteIdentity,
    WriteTokens,
)
from seawall.domain.managed_kafka.case import doubtful_nodes, why_not_secured
from seawall.domain.managed_kafka.decide import ManagedDecision, decide
from seawall.domain.managed_kafka.found import Observed
from seawall.domain.managed_kafka.identity import Identity, found_nodes
from seawall.domain.managed_kafka.names import format_name, identity_name
from seawall.domain.managed_kafka.node import Node, cluster_labels
from seawall.domain.managed_kafka.volumes import why_not_without
from seawall.domain.step import Event
from seawall.domain.times import MANAGED_KAFKA_CLEARED_BREAK, MANAGED_KAFKA_CLEARED_MS
from seawall.observe.certificates import read_certificates
from seawall.observe.kafka_nodes import Asked, KafkaNodesAsker
from seawall.ports import Clock, KafkaClusters, KafkaObjects, Kube, Stopwatch

MANAGED_KAFKA = "ManagedKafka"
"""The kind of its queue, whose keys are those of WALClusters."""


def new_kafka_id() -> str:
    """An id as Kafka makes them up (Uuid.randomUuid): none begins with a dash."""
    while (made := id_text(uuid.uuid4().bytes)).startswith("-"):
        pass
    return made


@dataclass(frozen=True, slots=True)
class ManagedKafkaController(Controller[WALCluster, Observed, WALClusterStatus, ManagedAction]):
    """Makes the nodes of a managed Kafka. Of the status it writes only its own parts; its queue is its own."""

    resource: ClassVar = WALCluster

    kube: Kube
    objects: KafkaObjects | None
    """None: this process may not run a Kafka."""
    kafka_clusters: KafkaClusters
    clock: Clock
    stopwatch: Stopwatch
    operator_namespace: str
    """Where this process runs: from there it has to reach Kafka."""
    new_id: Callable[[], str] = new_kafka_id
    kind: str = MANAGED_KAFKA
    _safe_since: Since[tuple[int, str]] = field(default_factory=lambda: Since(MANAGED_KAFKA_CLEARED_BREAK))
    """By node and pod since when every look found that nothing is lost with its volume."""

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        self._safe_since.forget(key)

    def observe(self, obj: WALCluster) -> Observed:
        """Reads its objects and then asks Kafka: what pods say of empty volumes is older than what Kafka says."""
        time, begun, managed = self.clock.trusted(), self.stopwatch.milliseconds(), obj.managed_kafka
        if managed is None:
            self.forget(obj.metadata.key)
            return Observed(time)
        if self.objects is None:
            return Observed(time, is_enabled=False)
        try:
            certificates = read_certificates(self.kube, obj.metadata.key, managed)
            known = self.objects.find(obj.metadata.key)
        except Refused as error:
            return Observed(time, obstacle=str(error))
        found = Observed(time, known, certificates=certificates, operator=self.operator_namespace)
        nodes = found_nodes(obj.metadata.key, managed, found.found)
        doubtful = doubtful_nodes(obj, nodes, found)
        asked = Asked.VOLUMES if doubtful else Asked.NODES
        asker = KafkaNodesAsker(self.kube, self.kafka_clusters)
        found = replace(found, kafka=asker.ask(obj, nodes, found.found, asked))
        return replace(found, cleared=self._cleared(obj.metadata.key, doubtful, found, begun))

    def decide(self, obj: WALCluster, observed: Observed) -> ManagedDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALCluster, action: ManagedAction) -> Event:
        """Does one action. Who may format is decided once more, by a look of its own; all is compare-and-swap."""
        objects, key = self.objects, obj.metadata.key
        if objects is None:
            raise Refused("this operator may not run a Kafka")
        labels = cluster_labels(key.name)
        identity, tokens = (Key(key.namespace, name(key.name)) for name in (identity_name, format_name))
        match action:
            case MakeIdentity(controllers):
                initial = {node: self.new_id() for node in controllers}
                made = Identity(cluster_id=self.new_id(), initial=initial)
                objects.write_record(identity, labels, made.written(), None)
            case WriteIdentity():
                self._ask_again(obj, action, decide)
                objects.write_record(identity, labels, action.identity.written(), action.version)
            case WriteTokens():
                self._ask_again(obj, action, decide)
                objects.write_record(tokens, labels, action.tokens, action.version)
            case CreateObject():
                self._require_secured(require_managed(self.kube, obj))
                objects.create(obj, action.manifest)
            case ChangeBudget():
                self._ask_again(obj, action, decide)
                objects.change_budget(action.found, key.namespace, action.manifest)
            case ChangePolicy():
                self._ask_again(obj, action, decide)
                objects.change_policy(action.found, key.namespace, action.manifest)
            case RemovePolicy() | MakeAnew() | RemoveConfig():
                self._ask_again(obj, action, decide)
                objects.delete(action.found, key.namespace)
            case _:
                assert_never(action)
        return action.event()

    def _require_secured(self, found: WALCluster) -> None:
        """Nothing is made for nodes that could not talk to each other, as their Secrets are right now."""
        managed = found.managed_kafka
        if managed is None:
            raise Conflict(f"WALCluster {found.metadata.key} changed")
        certificates = read_certificates(self.kube, found.metadata.key, managed)
        why = why_not_secured(found, Observed(self.clock.trusted(), certificates=certificates))
        if why is not None:
            raise Conflict(why)

    def _cleared(self, key: Key, doubtful: tuple[Node, ...], observed: Observed, begun: int) -> frozenset[int]:
        """Nodes for which all looks of this process agree, for long enough that a broker that died is fenced."""
        safe = {
            (node.id, "" if (pod := observed.found.pods.get(node.id)) is None else pod.uid)
            for node in doubtful
            if why_not_without(node, observed.kafka) is None
        }
        safe_for = self._safe_since.note(key, safe, begun, self.stopwatch.milliseconds())
        enough = timedelta(milliseconds=MANAGED_KAFKA_CLEARED_MS)
        return frozenset(node for (node, _), lasted in safe_for.items() if lasted >= enough)
