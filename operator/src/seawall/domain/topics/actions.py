"""Actions on topics. Each carries the reason that its event shows."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.domain.events import EventReason
from seawall.domain.kafka import ConfigChange, NewTopic
from seawall.domain.step import Event, EventType
from seawall.domain.text import listed


@dataclass(frozen=True, slots=True)
class CreateTopics:
    """Create topics; one that exists already is left as it is.

    Attributes:
        topics: the topics.
        readopted: those of them that were written to before, and that a person lets be made again.
        grounds: why that person does.
        note: what people should know of where they were made.
    """

    topics: tuple[NewTopic, ...]
    readopted: tuple[str, ...] = ()
    grounds: str = ""
    note: str = ""

    def event(self) -> Event:
        """What the event says."""
        created = f"Created {listed([topic.name for topic in self.topics])}" + (f"; {self.note}" if self.note else "")
        if not self.readopted:
            return Event(EventType.NORMAL, EventReason.TOPICS_CREATED, created)
        why = f"as seawall.dev/readopt says: {self.grounds}"
        return Event(
            EventType.WARNING,
            EventReason.LOST_TOPICS_CREATED,
            f"{created}; lost was {listed(list(self.readopted))}, {why}",
        )


@dataclass(frozen=True, slots=True)
class GuardRetention:
    """Set the guarded configs on topics from which Kafka could delete or compact records by itself."""

    changes: tuple[ConfigChange, ...]

    def event(self) -> Event:
        """What the event says."""
        what = sorted({f"{key}={value}" for change in self.changes for key, value in change.set.items()})
        return Event(
            EventType.WARNING,
            EventReason.RETENTION_GUARDED,
            f"Kafka could have deleted or compacted WAL records: set {', '.join(what)} on "
            + listed([change.topic for change in self.changes]),
        )


@dataclass(frozen=True, slots=True)
class RepairConfigs:
    """Set and reset configs that drifted."""

    changes: tuple[ConfigChange, ...]

    def event(self) -> Event:
        """What the event says."""
        keys = sorted({key for change in self.changes for key in (*change.set, *change.reset)})
        return Event(
            EventType.NORMAL,
            EventReason.CONFIGS_REPAIRED,
            f"Repaired {', '.join(keys)} on {listed([change.topic for change in self.changes])}",
        )


@dataclass(frozen=True, slots=True)
class DeleteTopics:
    """Delete topics, records and all; one that does not exist is no error."""

    names: tuple[str, ...]

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.TOPICS_DELETED, f"Deleted {listed(list(self.names))} (deletionPolicy Delete)"
        )


TopicAction = CreateTopics | GuardRetention | RepairConfigs | DeleteTopics
