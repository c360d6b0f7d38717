"""Connections to Kafka clusters."""

from __future__ import annotations

from typing import Protocol

from seawall.api.meta import Key
from seawall.domain.kafka import KafkaConnection
from seawall.ports.kafka import KafkaAdmin, KafkaLogs
from seawall.ports.kafka_users import KafkaUsers
from seawall.ports.partition_reassigner import PartitionReassigner


class KafkaClusters(Protocol):
    """Connections to Kafka clusters, kept while what they were made from stays the same; equal ones may be one."""

    def connect(self, key: Key, connection: KafkaConnection) -> KafkaAdmin:
        """The connection of the object `key`; a changed address, certificate or password makes a new one."""
        ...

    def logs(self, key: Key, connection: KafkaConnection) -> KafkaLogs:
        """The logs of the same cluster. Deletes have connections of their own: nothing else waits for them."""
        ...

    def reassigner(self, key: Key, connection: KafkaConnection) -> PartitionReassigner:
        """The partitions of the same cluster. Its connections live for one call."""
        ...

    def users(self, key: Key, connection: KafkaConnection) -> KafkaUsers:
        """The users of the same cluster."""
        ...

    def forget(self, key: Key) -> None:
        """Closes the connection of an object that is gone, unless others use it."""
        ...
