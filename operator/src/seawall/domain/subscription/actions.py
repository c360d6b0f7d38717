"""What a subscription does to the outside, beside what all Spark jobs do; each action is idempotent."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.v1alpha1.hold import WALHold, WALHoldSpec
from seawall.domain.events import EventReason
from seawall.domain.kafka import ConfigChange, NewTopic
from seawall.domain.kafka_log import Nulls
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.spark_job.actions import FreezeRequest, PlaceHold, ReleaseHold, RemoveApplication, Submit
from seawall.domain.step import Event, EventType
from seawall.domain.text import listed


@dataclass(frozen=True, slots=True)
class MoveHold:
    """Let the hold begin later, or be about more topics; whoever does it renews it, too."""

    hold: WALHold
    spec: WALHoldSpec

    def event(self) -> Event:
        """What the event says."""
        message = f"Moved WALHold {self.hold.metadata.name}, on {len(self.spec.topics)} topics"
        return Event(EventType.NORMAL, EventReason.HOLD_MOVED, message)


@dataclass(frozen=True, slots=True)
class RemoveRequest:
    """Delete the request of a run that is over, as it was read: each run leaves one, and etcd has a quota."""

    request: ConfigMap

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.REQUEST_REMOVED, f"Deleted ConfigMap {self.request.key.name}")


@dataclass(frozen=True, slots=True)
class MakeTargets:
    """Make topics in the target."""

    topics: tuple[NewTopic, ...]

    def event(self) -> Event:
        """What the event says."""
        names = [topic.name for topic in self.topics]
        return Event(EventType.NORMAL, EventReason.TOPICS_CREATED, f"Created {listed(names)} in the target")


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """Give a topic of the target more partitions."""

    topic: str
    total: int

    def event(self) -> Event:
        """What the event says."""
        message = f"{self.topic} of the target has {self.total} partitions now"
        return Event(EventType.NORMAL, EventReason.PARTITIONS_ADDED, message)


@dataclass(frozen=True, slots=True)
class GuardTargets:
    """Set configs of topics in the target, so that it keeps all records as they are."""

    changes: tuple[ConfigChange, ...]

    def event(self) -> Event:
        """What the event says."""
        names = [change.topic for change in self.changes]
        return Event(EventType.WARNING, EventReason.CONFIGS_REPAIRED, f"Set configs of {listed(names)} in the target")


@dataclass(frozen=True, slots=True)
class AppendNulls:
    """Append records of null to topics of the target: the first one of a new epoch fences all writers of the old."""

    nulls: tuple[Nulls, ...]
    fences: bool

    def event(self) -> Event:
        """What the event says."""
        names = listed([each.topic for each in self.nulls])
        if self.fences:
            return Event(EventType.NORMAL, EventReason.TOPICS_FENCED, f"Fenced the writers of {names} in the target")
        return Event(EventType.NORMAL, EventReason.TOPICS_PADDED, f"Padded {names} in the target")


SubscriptionAction = (
    PlaceHold
    | MoveHold
    | ReleaseHold
    | MakeTargets
    | AddPartitions
    | GuardTargets
    | FreezeRequest
    | RemoveRequest
    | Submit
    | RemoveApplication
    | AppendNulls
)
