"""What the removal of a node does to the outside. Each is idempotent, or refused when it comes late."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.domain.events import EventReason
from seawall.domain.managed_kafka.found import FoundObject
from seawall.domain.managed_kafka.identity import Identity
from seawall.domain.step import Event, EventType


@dataclass(frozen=True, slots=True)
class StopNode:
    """Let the StatefulSet of a node make no pod, and say that this is for good."""

    node: int
    statefulset: FoundObject

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.KAFKA_NODE_STOPPED, f"Stopped node {self.node}: nothing is on it")


@dataclass(frozen=True, slots=True)
class UnregisterBroker:
    """Let Kafka forget a broker that is gone."""

    node: int

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.KAFKA_BROKER_UNREGISTERED, f"Kafka forgot broker {self.node}")


@dataclass(frozen=True, slots=True)
class RemoveId:
    """Remember that an id is not used again; `version` is what is replaced."""

    node: int
    identity: Identity
    version: str | None

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.KAFKA_IDENTITY_RECORDED, f"Recorded that node {self.node} is out")


@dataclass(frozen=True, slots=True)
class DeleteObject:
    """Delete an object of a node that is out, as it was found."""

    found: FoundObject

    def event(self) -> Event:
        """What the event says."""
        said = f"Deleted {self.found.kind} {self.found.name}"
        return Event(EventType.NORMAL, EventReason.KAFKA_OBJECT_DELETED, said)


RemovalAction = StopNode | UnregisterBroker | RemoveId | DeleteObject
