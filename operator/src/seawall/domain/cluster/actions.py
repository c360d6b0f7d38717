"""Actions on a WALCluster's own objects, beside those on topics."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.meta import TOPICS_FINALIZER
from seawall.domain.events import EventReason
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.step import Event, EventType
from seawall.domain.text import listed
from seawall.domain.topics.actions import TopicAction


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Put the topics finalizer on the object, so that its deletion waits for its topics'."""

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.FINALIZER_ADDED, f"Added {TOPICS_FINALIZER}: deletionPolicy is Delete"
        )


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Take the topics finalizer off."""

    why: str
    type: EventType = EventType.NORMAL

    def event(self) -> Event:
        """What the event says."""
        return Event(self.type, EventReason.FINALIZER_REMOVED, f"Removed {TOPICS_FINALIZER}: {self.why}")


@dataclass(frozen=True, slots=True)
class RecordLogs:
    """Write down which logs there are, where nobody who looks at a database does it."""

    names: tuple[str, ...]
    readopted: tuple[str, ...] = ()
    """Those of them that were made anew, and that a person says are right."""
    reason: str = ""
    """Why they are, in the person's words."""

    def event(self) -> Event:
        """What the event says."""
        if self.readopted:
            message = f"Readopted {listed(list(self.readopted))}, as seawall.dev/readopt says: {self.reason}"
            return Event(EventType.WARNING, EventReason.LOGS_READOPTED, message)
        return Event(
            EventType.NORMAL, EventReason.LOGS_RECORDED, f"Recorded the identity of {listed(list(self.names))}"
        )


@dataclass(frozen=True, slots=True)
class MarkRecords:
    """Write into records that a readoption has met them: it adopts nothing of them later. Kafka is not asked."""

    names: tuple[str, ...]
    token: int
    """Of the annotation that was decided about."""

    def event(self) -> Event:
        """What the event says."""
        message = f"Marked the records of {listed(list(self.names))}: seawall.dev/readopt has met them"
        return Event(EventType.NORMAL, EventReason.LOGS_RECORDED, message)


@dataclass(frozen=True, slots=True)
class DecideDeletion:
    """Write down which logs go with the WALCluster: their ids, and where they end."""

    names: tuple[str, ...]

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.DELETION_DECIDED, f"Wrote down which logs go: {listed(list(self.names))}"
        )


@dataclass(frozen=True, slots=True)
class FinishDeletion:
    """Ask Kafka once more to delete all that was decided to go, and take the topics finalizer off when none is left."""

    names: tuple[str, ...]

    def event(self) -> Event:
        """What the event says."""
        gone = listed(list(self.names))
        return Event(
            EventType.NORMAL, EventReason.FINALIZER_REMOVED, f"Removed {TOPICS_FINALIZER}: Kafka has no more {gone}"
        )


@dataclass(frozen=True, slots=True)
class WriteConfigMap:
    """Write the rendered WAL configuration."""

    config_map: ConfigMap

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.WAL_CONFIG_WRITTEN, f"Wrote ConfigMap {self.config_map.key.name}")


ClusterAction = (
    TopicAction
    | AddFinalizer
    | RemoveFinalizer
    | RecordLogs
    | MarkRecords
    | DecideDeletion
    | FinishDeletion
    | WriteConfigMap
)
