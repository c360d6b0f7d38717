"""What the controller of restarts does: a roll's actions, each idempotent and harmless when late, and its finalizer."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.meta import MAINTENANCE_FINALIZER
from seawall.domain.events import EventReason
from seawall.domain.rollout.actions import Evict
from seawall.domain.rollout.workload import StatefulSet
from seawall.domain.step import Event, EventType


@dataclass(frozen=True, slots=True)
class FlushRegions:
    """Ask regions to flush; one that has nothing in memory stays as it is."""

    regions: tuple[int, ...]

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.FLUSH_ASKED, f"Asked {len(self.regions)} regions to flush before a restart"
        )


@dataclass(frozen=True, slots=True)
class SetMaintenance:
    """Let the database at this metasrv's URL enter or leave maintenance."""

    enabled: bool
    metasrv: str

    def event(self) -> Event:
        """What the event says."""
        what = "on" if self.enabled else "off"
        return Event(EventType.NORMAL, EventReason.MAINTENANCE, f"Turned the database's maintenance {what}")


@dataclass(frozen=True, slots=True)
class SetPartition:
    """Lower the partition so that Kubernetes replaces one pod, or put it back; as the StatefulSet was read."""

    statefulset: StatefulSet
    partition: int
    passed: str = ""
    """Why a shut gate lets the pod through that it restarts, and by whose word; empty: it is open."""

    @property
    def pod(self) -> str:
        """The name of the pod to which the partition is lowered."""
        return f"{self.statefulset.key.name}-{self.statefulset.first_ordinal + self.partition}"

    def event(self) -> Event:
        """What the event says."""
        if self.passed:
            said = f"Restarted {self.pod} although {self.passed}"
            return Event(EventType.WARNING, EventReason.RESTART_OVERRIDDEN, said)
        message = f"Set the partition of StatefulSet {self.statefulset.key.name} to {self.partition}"
        return Event(EventType.NORMAL, EventReason.PARTITION_SET, message)


@dataclass(frozen=True, slots=True)
class SetConfigHash:
    """Write into the pod template which configuration new pods have, and keep Kubernetes from restarting the others."""

    statefulset: StatefulSet
    config_hash: str

    @property
    def partition(self) -> int | None:
        """What the partition has to be in the same write; None: there is none, with OnDelete."""
        return None if self.statefulset.strategy.value == "OnDelete" else self.statefulset.replicas

    def event(self) -> Event:
        """What the event says."""
        message = f"Wrote configuration {self.config_hash} into the pod template of {self.statefulset.key.name}"
        return Event(EventType.NORMAL, EventReason.CONFIG_HASH_WRITTEN, message)


RolloutAction = FlushRegions | SetMaintenance | Evict | SetPartition | SetConfigHash


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Put the maintenance finalizer on the object: its deletion waits until the database is out of maintenance."""

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL,
            EventReason.FINALIZER_ADDED,
            f"Added {MAINTENANCE_FINALIZER}: a datanode is to be restarted",
        )


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Take the maintenance finalizer off."""

    why: str = "maintenance is given back"
    type: EventType = EventType.NORMAL

    def event(self) -> Event:
        """What the event says."""
        return Event(self.type, EventReason.FINALIZER_REMOVED, f"Removed {MAINTENANCE_FINALIZER}: {self.why}")


RestartAction = RolloutAction | AddFinalizer | RemoveFinalizer
