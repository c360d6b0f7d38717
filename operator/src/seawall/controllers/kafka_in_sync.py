"""The controller of the readiness gates of a managed Kafka's pods, one more of WALClusters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import ClassVar

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.controllers.controller import Controller
from seawall.controllers.since import Since
from seawall.domain.kafka_in_sync.decide import InSyncDecision, InSyncObserved, SayInSync, decide, in_sync_now
from seawall.domain.kafka_in_sync.judge import Run
from seawall.domain.managed_kafka.found import Observed
from seawall.domain.managed_kafka.identity import found_nodes
from seawall.domain.managed_kafka.roll import known_case
from seawall.domain.step import Event
from seawall.domain.times import MANAGED_KAFKA_IN_SYNC_MS
from seawall.observe.kafka_nodes import Asked, KafkaNodesAsker
from seawall.ports import Clock, KafkaClusters, KafkaObjects, KafkaPods, Kube, Stopwatch

KAFKA_IN_SYNC = "KafkaInSync"
"""The kind of its queue, whose keys are those of WALClusters."""


@dataclass(frozen=True, slots=True)
class KafkaInSyncController(Controller[WALCluster, InSyncObserved, WALClusterStatus, SayInSync]):
    """Says of pods whether their nodes are in sync.

    Of the status it writes only its own condition; its queue is its own.
    """

    resource: ClassVar = WALCluster

    kube: Kube
    objects: KafkaObjects | None
    """None: this process may not run a Kafka."""
    pods: KafkaPods
    kafka_clusters: KafkaClusters
    clock: Clock
    stopwatch: Stopwatch
    kind: str = KAFKA_IN_SYNC
    _since: Since[Run] = field(default_factory=Since)
    """Since when each look of this process has shown a container in sync."""

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        self._since.forget(key)

    def observe(self, obj: WALCluster) -> InSyncObserved:
        """Reads the pods and then asks Kafka: what it says is younger than the container that it is said of."""
        key, time, managed = obj.metadata.key, self.clock.trusted(), obj.managed_kafka
        begun = self.stopwatch.milliseconds()
        if self.objects is None or managed is None or obj.metadata.deletion_timestamp is not None:
            self.forget(key)
            return InSyncObserved(time, "there is none", is_managed=False)
        found = self.objects.find(key)
        nodes = found_nodes(key, managed, found)
        answer = KafkaNodesAsker(self.kube, self.kafka_clusters).ask(obj, nodes, found, Asked.IN_SYNC)
        case = known_case(obj, Observed(time, found, kafka=answer))
        observed = InSyncObserved(time, case, pods=found.pods)
        return replace(observed, steady=self._steady(key, observed, begun))

    def decide(self, obj: WALCluster, observed: InSyncObserved) -> InSyncDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALCluster, action: SayInSync) -> Event:
        """Says it of the pod as it was read, if all that is read once more would say it, too."""
        self._ask_again(obj, action, decide)
        self.pods.say_in_sync(obj.metadata.namespace, action.pod, action.said, self.clock.now())
        return action.event()

    def _steady(self, key: Key, observed: InSyncObserved, begun: int) -> frozenset[Run]:
        """What this process saw in sync at each look since one that is long enough ago."""
        in_sync_for = self._since.note(key, in_sync_now(observed), begun, self.stopwatch.milliseconds())
        enough = timedelta(milliseconds=MANAGED_KAFKA_IN_SYNC_MS)
        return frozenset(run for run, lasted in in_sync_for.items() if lasted >= enough)
