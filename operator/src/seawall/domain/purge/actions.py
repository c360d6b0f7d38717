"""What a run does to the outside. Each is idempotent, and harmless when it comes late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seawall.domain.dataplane.flush import Flushed
from seawall.domain.dataplane.metadata import MarkerMove
from seawall.domain.errors import NotSupported, Refused
from seawall.domain.events import EventReason
from seawall.domain.frozen_targets import Target
from seawall.domain.kafka_log import DeleteRefused
from seawall.domain.ledger.actions import ClaimDatabase
from seawall.domain.ledger.observation import ObservedCluster
from seawall.domain.ledger.shards import IntentShard, PoolId
from seawall.domain.step import Event, EventType


@dataclass(frozen=True, slots=True)
class FlushRegions:
    """Ask regions to flush; one that has nothing in memory stays as it is."""

    region_ids: tuple[int, ...]
    cluster: ObservedCluster

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.FLUSH_ASKED, f"Asked {len(self.region_ids)} regions to flush")


@dataclass(frozen=True, slots=True)
class WriteTargets:
    """Write what is seen of the topics; it counts once the status names it."""

    targets: Mapping[str, Target]
    cluster: ObservedCluster

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.TARGETS_WRITTEN, f"Wrote what was seen of {len(self.targets)} topics"
        )


@dataclass(frozen=True, slots=True)
class Announce:
    """Move pruned markers in the metadata store (mode B).

    Attributes:
        flushed: by region of these topics what its leader had flushed: a marker above it would have rows skipped.
    """

    moves: tuple[MarkerMove, ...]
    flushed: Mapping[int, Flushed]
    cluster: ObservedCluster

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.ANNOUNCED, f"Moved the pruned markers of {len(self.moves)} topics")


@dataclass(frozen=True, slots=True)
class WriteIntents:
    """Write how far is meant to be deleted, and what is known of the logs, before anything is deleted."""

    pool: PoolId
    shards: Mapping[int, IntentShard]
    topics: int
    cluster: ObservedCluster

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.INTENTS_WRITTEN, f"Wrote the records of {self.topics} topics")


@dataclass(frozen=True, slots=True)
class DeleteRecords:
    """Delete the records before each offset: one batch, of logs with these ids, led in these epochs."""

    before: Mapping[str, int]
    topic_ids: Mapping[str, str]
    epochs: Mapping[str, int]
    pool: PoolId
    cluster: ObservedCluster

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.RECORDS_DELETED, f"Deleted records of {len(self.before)} topics")


PurgeAction = FlushRegions | ClaimDatabase | WriteTargets | Announce | WriteIntents | DeleteRecords


class DeletesRefused(Refused):
    """Kafka refused to delete records of some topics of a batch; by topic its own words."""

    def __init__(self, topics: Mapping[str, DeleteRefused]) -> None:
        super().__init__(next(iter(topics.values())).message)
        self.topics = topics


class DeletesNotSupported(DeletesRefused, NotSupported):
    """It refused them all because it deletes no records for us."""


def refused_deletes(topics: Mapping[str, DeleteRefused]) -> DeletesRefused:
    """The refusal of these topics."""
    is_none = all(refused.unsupported for refused in topics.values())
    return DeletesNotSupported(topics) if is_none else DeletesRefused(topics)
