"""Prometheus metrics of datanodes, nodes of managed Kafkas, and their restarts. `name` is the WALCluster's."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry

from seawall.api.meta import Key
from seawall.api.v1alpha1.rollout import RollStage
from seawall.handlers.metrics.object_labels import OBJECT, ObjectGauge, Series, labels_of


class RestartTelemetry:
    """The RestartMeter port.

    Args:
        registry: where the metrics are published.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._datanodes = ObjectGauge(
            "seawall_datanodes",
            "Datanodes by how they are: Serving, Restarting (by Seawall), or what ails them",
            [*OBJECT, "health"],
            registry=registry,
        )
        self._stage = ObjectGauge(
            "seawall_restart_stage",
            "1 for the stage of the roll under way; absent while there is none",
            [*OBJECT, "stage"],
            registry=registry,
        )
        self._nodes = ObjectGauge(
            "seawall_kafka_nodes",
            "Nodes of a managed Kafka by state: Offline, Fenced, Online or Stopping",
            [*OBJECT, "state"],
            registry=registry,
        )
        self._node_stage = ObjectGauge(
            "seawall_kafka_roll_stage",
            "1 for the stage of the roll of a managed Kafka's nodes; absent while there is none",
            [*OBJECT, "stage"],
            registry=registry,
        )

    def measure_restart(self, key: Key, datanodes: Mapping[str, int], stage: RollStage | None) -> None:
        """Replaces the metrics of one WALCluster's datanodes."""
        self._datanodes.replace(key, {(health,): count for health, count in datanodes.items()})
        self._stage.replace(key, _under_way(stage))

    def forget_restart(self, key: Key) -> None:
        """Removes the metrics of a WALCluster."""
        for gauge in (self._datanodes, self._stage):
            gauge.remove_by_labels(labels_of(key))

    def measure_kafka_nodes(self, key: Key, nodes: Mapping[str, int], stage: RollStage | None) -> None:
        """Replaces the metrics of the nodes of one managed Kafka."""
        self._nodes.replace(key, {(state,): count for state, count in nodes.items()})
        self._node_stage.replace(key, _under_way(stage))

    def forget_kafka_nodes(self, key: Key) -> None:
        """Removes the metrics of a WALCluster's nodes."""
        for gauge in (self._nodes, self._node_stage):
            gauge.remove_by_labels(labels_of(key))

    def clear(self) -> None:
        """Forgets everything: who does not lead knows nothing."""
        for gauge in (self._datanodes, self._stage, self._nodes, self._node_stage):
            gauge.clear()


def _under_way(stage: RollStage | None) -> Series:
    return {} if stage is None or stage is RollStage.COMPLETED else {(stage.value,): 1}
