"""What those who look at a ledger write: without a record there is no intent, and without an intent no promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seawall.domain.events import EventReason
from seawall.domain.ledger.observation import Observation, ObservedCluster
from seawall.domain.ledger.shards import IntentShard, PoolId
from seawall.domain.step import Event, EventType
from seawall.domain.text import listed


@dataclass(frozen=True, slots=True)
class WriteRecords:
    """Write records of logs: first contacts, verdicts, new leader epochs; at the versions that the look read."""

    pool: PoolId
    shards: Mapping[int, IntentShard]
    topics: tuple[str, ...]
    cluster: ObservedCluster
    """The WALCluster, and the declarations under which this was decided."""
    readopted: tuple[str, ...] = ()
    """Those that a person says are right."""
    reason: str = ""
    """Why they are, in the person's words."""

    def event(self) -> Event:
        """What the event says."""
        if self.readopted:
            message = f"Readopted {listed(list(self.readopted))}, as seawall.dev/readopt says: {self.reason}"
            return Event(EventType.WARNING, EventReason.LOGS_READOPTED, message)
        more = f" and {len(self.topics) - 1} more" if len(self.topics) > 1 else ""
        return Event(EventType.NORMAL, EventReason.LOGS_RECORDED, f"Recorded the identity of {self.topics[0]}{more}")


@dataclass(frozen=True, slots=True)
class ClaimDatabase:
    """Write the WALCluster's UID into the metadata store: who announces markers there compares it each time."""

    cluster: ObservedCluster
    before: str | None
    """The claim as it was read; None: there was none."""

    def event(self) -> Event:
        """What the event says."""
        if self.before is None:
            return Event(
                EventType.NORMAL,
                EventReason.DATABASE_CLAIMED,
                "Claimed the database: nobody else announces its markers",
            )
        message = f"Claimed the database, which {self.before} had claimed, as seawall.dev/readopt says"
        return Event(EventType.WARNING, EventReason.DATABASE_CLAIMED, message)


def claim_of(observation: Observation) -> ClaimDatabase | None:
    """The claim to write before a marker may be announced; None: it stands, or nothing is announced."""
    before = observation.read.snapshot.claims.get(observation.pool.prefix)
    return ClaimDatabase(observation.cluster, before) if observation.to_claim else None
