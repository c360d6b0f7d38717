"""The one action of a hold's tick: without a record there is no intent, and without an intent no promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seawall.domain.intent_shards import IntentShard, PoolId
from seawall.domain.step import Event, EventType


@dataclass(frozen=True, slots=True)
class WriteRecords:
    """Write the records of a first contact, at the versions that the look read."""

    pool: PoolId
    shards: Mapping[int, IntentShard]

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, "RecordsWritten", "Wrote the first intents of topics that are claimed")
