"""The readiness gates of pods of managed Kafkas in memory. It passes the KafkaPods contract."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import Key
from seawall.domain.errors import Conflict
from seawall.domain.managed_kafka.found import FoundPod, InSync
from tests.fakes.kafka_objects import FakeKafkaObjects


@dataclass
class FakeKafkaPods:
    """The KafkaPods port, for the pods of a FakeKafkaObjects."""

    objects: FakeKafkaObjects

    def say_in_sync(self, namespace: str, pod: FoundPod, said: InSync, now: datetime) -> None:  # noqa: ARG002 - the port
        """Writes the condition."""
        cluster = self._cluster_of(namespace, pod)
        if cluster is None:
            raise Conflict(f"pod {pod.name} changed, or is gone")
        self.objects.update_pod(cluster, pod.node, in_sync=said)

    def _cluster_of(self, namespace: str, pod: FoundPod) -> Key | None:
        """Whose pod it is, if it is as it was found."""
        for cluster, pods in self.objects.pods.items():
            found = pods.get(pod.node)
            if cluster.namespace == namespace and found is not None and found.name == pod.name:
                return cluster if (found.uid, found.version) == (pod.uid, pod.version) else None
        return None
