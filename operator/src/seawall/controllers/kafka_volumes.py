"""The controller of the sizes of a managed Kafka's volumes, one more of WALClusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.controllers.controller import Controller
from seawall.domain.errors import Refused
from seawall.domain.kafka_volumes.decide import GrowVolume, VolumesDecision, VolumesObserved, decide
from seawall.domain.managed_kafka.found import Observed
from seawall.domain.managed_kafka.roll import known_case
from seawall.domain.step import Event
from seawall.ports import Clock, KafkaObjects, Kube

KAFKA_VOLUMES = "KafkaVolumes"
"""The kind of its queue, whose keys are those of WALClusters."""


@dataclass(frozen=True, slots=True)
class KafkaVolumesController(Controller[WALCluster, VolumesObserved, WALClusterStatus, GrowVolume]):
    """Lets claims ask for what is declared.

    Of the status it writes only its own condition; its queue is its own, and it asks nothing of Kafka: a volume that is
    full keeps its broker from answering.
    """

    resource: ClassVar = WALCluster

    kube: Kube
    objects: KafkaObjects | None
    """None: this process may not run a Kafka."""
    clock: Clock
    kind: str = KAFKA_VOLUMES

    def observe(self, obj: WALCluster) -> VolumesObserved:
        """Reads the volumes, and what the identity knows of them."""
        time = self.clock.trusted()
        if self.objects is None or obj.managed_kafka is None or obj.metadata.deletion_timestamp is not None:
            return VolumesObserved(time, "there is none", is_managed=False)
        found = self.objects.find(obj.metadata.key)
        if found.identity is None:  # what would be made of the volumes themselves vouches for none of them
            return VolumesObserved(time, "which volumes it has is not written down")
        return VolumesObserved(time, known_case(obj, Observed(time, found)))

    def decide(self, obj: WALCluster, observed: VolumesObserved) -> VolumesDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALCluster, action: GrowVolume) -> Event:
        """Does it to the claim as it was read, if all that is read once more would have it so."""
        if self.objects is None:
            raise Refused("this operator may not run a Kafka")
        self._ask_again(obj, action, decide)
        self.objects.grow(action.volume, obj.metadata.namespace, action.size)
        return action.event()
