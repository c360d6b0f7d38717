"""What the nodes of a managed Kafka are made of, in the API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.managed_kafka.found import FoundKafka, FoundObject
from seawall.domain.managed_kafka.objects import Manifest


class KafkaObjects(Protocol):
    """Objects of managed Kafkas. Reads are never cached. What is deleted is what was found, and no other of its name.

    What is there stays as it is, but for records, budgets, the NetworkPolicy, the bytes that volumes ask for, and one
    StatefulSet at a time.
    """

    def find(self, cluster: Key) -> FoundKafka:
        """All that has the labels of this WALCluster's Kafka, its pods, and both records."""
        ...

    def create(self, owner: WALCluster, manifest: Manifest) -> None:
        """Creates an object, which `owner` controls if it is to go with it.

        Raises:
            Conflict: it is there already.
            Refused: another object has its name.
        """
        ...

    def renew_template(self, statefulset: FoundObject, namespace: str, manifest: Manifest) -> None:
        """Lets a StatefulSet make its next pod as this manifest of it says; no pod is touched.

        Raises:
            Conflict: it changed since it was found, or is gone.
        """
        ...

    def change_budget(self, budget: FoundObject, namespace: str, manifest: Manifest) -> None:
        """Lets a budget say all that this manifest of it says, and nothing else.

        Raises:
            Conflict: it changed since it was found, or is gone.
        """
        ...

    def change_policy(self, policy: FoundObject, namespace: str, manifest: Manifest) -> None:
        """Lets a NetworkPolicy say all that this manifest of it says, and nothing else.

        Raises:
            Conflict: it changed since it was found, or is gone.
        """
        ...

    def grow(self, volume: FoundObject, namespace: str, size: int) -> None:
        """Lets a claim ask for so many bytes; nothing else of it changes.

        Raises:
            Conflict: it changed since it was found, or is gone.
            Refused: its StorageClass does not let it, or a quota.
        """
        ...

    def stop(self, statefulset: FoundObject, namespace: str) -> None:
        """Lets a StatefulSet make no pod, and marks it as taken out, in one write; the pod that it has ends.

        Raises:
            Conflict: it changed since it was found, or is gone.
        """
        ...

    def delete(self, found: FoundObject, namespace: str) -> None:
        """Deletes an object; one that is gone, or is another one by now, is left alone.

        Raises:
            Conflict: it is there, and has changed since it was found.
        """
        ...

    def write_record(self, key: Key, labels: Mapping[str, str], data: Mapping[str, str], version: str | None) -> None:
        """Creates a ConfigMap that nobody owns (None), or replaces that version of it.

        Raises:
            Conflict: it changed, or appeared, since it was read.
            Refused: another object has its name.
        """
        ...
