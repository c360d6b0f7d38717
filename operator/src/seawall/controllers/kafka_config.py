"""The controller of configs that a managed Kafka takes while it runs, one more of WALClusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.controllers.controller import Controller
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import Configs
from seawall.domain.kafka_config.actions import ChangeConfigs
from seawall.domain.kafka_config.decide import ConfigDecision, Observed, decide, recorded_keys
from seawall.domain.step import Event
from seawall.observe.connections import required_kafka
from seawall.observe.managed_kafka import NO_ANSWER, reach
from seawall.ports import Clock, KafkaAdmin, KafkaClusters, Kube

KAFKA_CONFIG = "KafkaConfig"
"""The kind of its queue, whose keys are those of WALClusters."""


@dataclass(frozen=True, slots=True)
class KafkaConfigController(Controller[WALCluster, Observed, WALClusterStatus, ChangeConfigs]):
    """Sets what the spec says of brokers that run. Of the status it writes only its own parts; its queue is its own."""

    resource: ClassVar = WALCluster

    kube: Kube
    kafka_clusters: KafkaClusters
    clock: Clock
    is_enabled: bool
    """Whether this process may run a Kafka."""
    kind: str = KAFKA_CONFIG

    def forget(self, key: Key) -> None:
        """Nothing is remembered."""

    def observe(self, obj: WALCluster) -> Observed:
        """Asks Kafka for its defaults, once a broker is Online, if there is anything to compare them with."""
        time, managed = self.clock.trusted(), obj.managed_kafka
        if managed is None or not (managed.dynamic_config or recorded_keys(obj)):
            return Observed(time)
        if not self.is_enabled:
            return Observed(time, "this operator may not run a Kafka")
        connection = reach(self.kube, self.kafka_clusters, obj)
        if isinstance(connection, str):
            return Observed(time, connection)
        kafka = self.kafka_clusters.connect(obj.metadata.key, connection)
        try:
            defaults = kafka.describe_default_configs()
        except OutsideUnavailable:
            return Observed(time, NO_ANSWER)
        return Observed(time, defaults, _own(kafka, managed))

    def decide(self, obj: WALCluster, observed: Observed) -> ConfigDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALCluster, action: ChangeConfigs) -> Event:
        """Does one action, if all that is read once more would have it so."""
        self._ask_again(obj, action, decide)
        kafka = self.kafka_clusters.connect(obj.metadata.key, required_kafka(self.kube, obj))
        kafka.alter_default_configs(dict(action.changes))
        return action.event()


def _own(kafka: KafkaAdmin, managed: ManagedKafka) -> Mapping[int, Configs]:
    """What brokers have of their own: where none tells it, that keeps nothing from being set."""
    try:
        return kafka.describe_broker_overrides(managed.dynamic_config) if managed.dynamic_config else {}
    except OutsideUnavailable:
        return {}
