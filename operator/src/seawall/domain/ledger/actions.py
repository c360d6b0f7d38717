"""What those who look at a ledger write: without a record there is no intent, and without an intent no promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seawall.domain.intent_shards import IntentShard, PoolId
from seawall.domain.step import Event, EventType
from seawall.domain.topics.actions import listed


@dataclass(frozen=True, slots=True)
class WriteRecords:
    """Write records of logs: first contacts, verdicts, new leader epochs; at the versions that the look read."""

    pool: PoolId
    shards: Mapping[int, IntentShard]
    topics: tuple[str, ...]
    readopted: tuple[str, ...] = ()
    """Those that a person says are right."""
    reason: str = ""
    """Why they are, in the person's words."""

    def event(self) -> Event:
        """What the event says."""
        if self.readopted:
            message = f"Readopted {listed(list(self.readopted))}, as seawall.dev/readopt says: {self.reason}"
            return Event(EventType.WARNING, "LogsReadopted", message)
        more = f" and {len(self.topics) - 1} more" if len(self.topics) > 1 else ""
        return Event(EventType.NORMAL, "LogsRecorded", f"Recorded the identity of {self.topics[0]}{more}")
