"""What a restore does to the outside, and what that is called; applications and requests as all Spark jobs do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seawall.api.meta import SCRATCH_FINALIZER
from seawall.domain.events import EventReason
from seawall.domain.kafka import NewTopic
from seawall.domain.ledger.shards import IntentShard, PoolId
from seawall.domain.spark_job.actions import FreezeRequest, RemoveApplication, RemoveItself, Submit
from seawall.domain.step import Event, EventType
from seawall.domain.text import listed


@dataclass(frozen=True, slots=True)
class ClaimTopics:
    """Write a record of topics that have none, so that nobody makes them as if they were new: nor purges, nor restarts.

    A topic with a record is never made by the WALCluster's controller, and one whose id is not in its record is left
    alone by purges.
    """

    pool: PoolId
    shards: Mapping[int, IntentShard]
    topics: tuple[str, ...]

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.TOPICS_CLAIMED, f"Claimed {listed(list(self.topics))}: nobody else makes them"
        )


@dataclass(frozen=True, slots=True)
class MakeTopics:
    """Create empty topics to restore to."""

    topics: tuple[NewTopic, ...]

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.TOPICS_CREATED, f"Created {listed([topic.name for topic in self.topics])}"
        )


@dataclass(frozen=True, slots=True)
class RemoveTopics:
    """Delete the topics of these ids, which this restore made."""

    ids: Mapping[str, str]

    def event(self) -> Event:
        """What the event says."""
        message = f"Deleted {listed(sorted(self.ids))}, which an attempt that is over had made"
        return Event(EventType.NORMAL, EventReason.TOPICS_REMOVED, message)


@dataclass(frozen=True, slots=True)
class AdoptLogs:
    """Begin Seawall's records anew for the logs that were restored."""

    pool: PoolId
    shards: Mapping[int, IntentShard]
    topics: tuple[str, ...]

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.LOGS_RESTORED, f"Adopted the restored logs of {listed(list(self.topics))}"
        )


@dataclass(frozen=True, slots=True)
class KeepForScratch:
    """Put the finalizer on the object: its deletion waits until no scratch topic is left."""

    def finalizers(self, before: Sequence[str]) -> list[str]:
        """Those that the object shall have."""
        return [*before, SCRATCH_FINALIZER]

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.FINALIZER_ADDED, "A deletion will wait for the scratch topics")


@dataclass(frozen=True, slots=True)
class ReleaseScratch:
    """Take the finalizer off. `left` are topics that nobody could be asked for any more; of which Kafka, if known."""

    left: tuple[str, ...] = ()
    kafka: str | None = None

    def finalizers(self, before: Sequence[str]) -> list[str]:
        """Those that the object shall have."""
        return [name for name in before if name != SCRATCH_FINALIZER]

    def event(self) -> Event:
        """What the event says."""
        if not self.left:
            return Event(EventType.NORMAL, EventReason.FINALIZER_REMOVED, "No scratch topic is left")
        of = "" if self.kafka is None else f" of Kafka {self.kafka}"
        message = (
            f"Nobody could be asked to delete {listed(list(self.left))}{of}: if they are there, delete them by hand"
        )
        return Event(EventType.WARNING, EventReason.SCRATCH_TOPICS_LEFT, message)


TopicAction = ClaimTopics | MakeTopics | RemoveTopics | AdoptLogs | KeepForScratch | ReleaseScratch
RestoreAction = TopicAction | FreezeRequest | Submit | RemoveApplication | RemoveItself
