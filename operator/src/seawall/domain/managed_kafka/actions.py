"""What may be done for a managed Kafka: no volume, and neither pod nor template of what runs, is changed (K6, K7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seawall.domain.events import EventReason
from seawall.domain.managed_kafka.found import FoundObject
from seawall.domain.managed_kafka.identity import Identity
from seawall.domain.managed_kafka.objects import Manifest
from seawall.domain.step import Event, EventType


@dataclass(frozen=True, slots=True)
class MakeIdentity:
    """Make cluster id and directory ids of the first controllers, where there are none."""

    controllers: tuple[int, ...]

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.KAFKA_IDENTITY_MADE, "Made the ids of a new Kafka cluster")


@dataclass(frozen=True, slots=True)
class WriteIdentity:
    """Write what is known of the identity; `version` is what it replaces, None: nothing."""

    identity: Identity
    version: str | None

    def event(self) -> Event:
        """What the event says."""
        known = len(self.identity.nodes)
        registered = sum(record.registered for record in self.identity.nodes.values())
        said = f"Recorded {known} volumes of Kafka, {registered} of them in use"
        return Event(EventType.NORMAL, EventReason.KAFKA_IDENTITY_RECORDED, said)


@dataclass(frozen=True, slots=True)
class WriteTokens:
    """Let these nodes format, and no others; `version` is what it replaces, None: nothing."""

    tokens: Mapping[str, str]
    version: str | None

    def event(self) -> Event:
        """What the event says."""
        nodes = ", ".join(sorted(self.tokens))
        said = f"May format their volumes if these are empty: {nodes}" if nodes else "No volume may be formatted now"
        return Event(EventType.NORMAL, EventReason.KAFKA_FORMAT_TOKENS, said)


@dataclass(frozen=True, slots=True)
class CreateObject:
    """Create an object that is not there."""

    manifest: Manifest

    def event(self) -> Event:
        """What the event says."""
        said = f"Created {self.manifest.kind} {self.manifest.name}"
        return Event(EventType.NORMAL, EventReason.KAFKA_OBJECT_CREATED, said)


@dataclass(frozen=True, slots=True)
class ChangeBudget:
    """Let a PodDisruptionBudget keep as many pods as there are nodes, but for one."""

    found: FoundObject
    manifest: Manifest

    def event(self) -> Event:
        """What the event says."""
        said = f"{self.manifest.name} keeps {self.manifest.body['spec']['minAvailable']} pods from now on"
        return Event(EventType.NORMAL, EventReason.KAFKA_BUDGET_CHANGED, said)


@dataclass(frozen=True, slots=True)
class ChangePolicy:
    """Let a NetworkPolicy say what is declared."""

    found: FoundObject
    manifest: Manifest

    def event(self) -> Event:
        """What the event says."""
        said = f"NetworkPolicy {self.manifest.name} says what is declared again"
        return Event(EventType.NORMAL, EventReason.KAFKA_POLICY_CHANGED, said)


@dataclass(frozen=True, slots=True)
class RemovePolicy:
    """Delete the NetworkPolicy, as it was found: the spec wants none."""

    found: FoundObject

    def event(self) -> Event:
        """What the event says."""
        said = f"Deleted NetworkPolicy {self.found.name}: networkPolicy.enabled is false"
        return Event(EventType.NORMAL, EventReason.KAFKA_POLICY_CHANGED, said)


@dataclass(frozen=True, slots=True)
class MakeAnew:
    """Delete the StatefulSet of a node that never came up, as it was found: it is made again as the spec says now."""

    found: FoundObject

    def event(self) -> Event:
        """What the event says."""
        said = f"Deleted StatefulSet {self.found.name}, which never came up: it is made as the spec says now"
        return Event(EventType.NORMAL, EventReason.KAFKA_OBJECT_DELETED, said)


@dataclass(frozen=True, slots=True)
class RemoveConfig:
    """Delete the files of a node of before an edit, as they were found: its pod runs with others."""

    found: FoundObject

    def event(self) -> Event:
        """What the event says."""
        said = f"Deleted ConfigMap {self.found.name}: its node runs with the files of a later edit"
        return Event(EventType.NORMAL, EventReason.KAFKA_OBJECT_DELETED, said)


_Identities = MakeIdentity | WriteIdentity | WriteTokens
ManagedAction = _Identities | CreateObject | MakeAnew | ChangeBudget | ChangePolicy | RemovePolicy | RemoveConfig
