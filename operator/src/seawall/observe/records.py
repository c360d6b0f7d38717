"""Seawall's own records of topics, read anew: what cannot be read is a sentence and no error."""

from __future__ import annotations

from collections.abc import Iterable

from seawall.domain.errors import SeawallError
from seawall.domain.ledger.observation import ReadShards, read_shards
from seawall.domain.ledger.shards import PoolId, shards_of
from seawall.ports import IntentStore


def read_records(intents: IntentStore, pool: PoolId | None, topics: Iterable[str]) -> ReadShards:
    """The shards of these topics; without a pool there are none."""
    numbers = shards_of(topics)
    try:
        return read_shards({} if pool is None else intents.read(pool, numbers))
    except SeawallError as error:
        return ReadShards({}, {}, dict.fromkeys(numbers, str(error)))
