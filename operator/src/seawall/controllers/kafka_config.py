"""The controller of configs that a managed Kafka takes while it runs, one more of WALClusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.controllers.controller import Controller
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import Configs, NoKafka
from seawall.domain.kafka_config.actions import ChangeConfigs
from seawall.domain.kafka_config.decide import ConfigDecision, Observed, decide, recorded_keys
from seawall.domain.step import Event
from seawall.observe.connections import required_kafka
from seawall.observe.managed_kafka import reach
from seawall.ports import Clock, KafkaClusters, Kube

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
        return Observed(time, self._ask(obj) if self.is_enabled else "this operator may not run a Kafka")

    def decide(self, obj: WALCluster, observed: Observed) -> ConfigDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALCluster, action: ChangeConfigs) -> Event:
        """Does one action, if all that is read once more would have it so."""
        self._ask_again(obj, action, decide)
        kafka = self.kafka_clusters.connect(obj.metadata.key, required_kafka(self.kube, obj))
        kafka.alter_default_configs(dict(action.changes))
        return action.event()

    def _ask(self, obj: WALCluster) -> Configs | str:
        """What is asked has to be the Kafka of this WALCluster: addresses may lead elsewhere."""
        connection = reach(self.kube, obj)
        if isinstance(connection, str):
            return connection
        kafka = self.kafka_clusters.connect(obj.metadata.key, connection)
        view, status = kafka.view(), obj.status.managed_kafka
        if isinstance(view, NoKafka):
            return "Kafka does not answer"
        if status is None or view.cluster_id != status.cluster_id:
            return f"another Kafka answers, of id {view.cluster_id}"
        try:
            return kafka.describe_default_configs()
        except OutsideUnavailable:  # not its words: they are others each time
            return "Kafka does not answer"
