"""Intent shards in memory."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping

from seawall.api.meta import Key
from seawall.domain.errors import Conflict, Refused
from seawall.domain.ledger.shards import IntentShard, PoolId, UnreadableShard

LARGEST = 1_048_576
"""Bytes of a ConfigMap's data that the API server takes."""


class FakeIntentStore:
    """The ConfigMaps, by their names.

    Attributes:
        unreadable: what is wrong with a ConfigMap; whoever reads it is told.
    """

    def __init__(self) -> None:
        self._shards: dict[Key, IntentShard] = {}
        self._versions = itertools.count(1)
        self.unreadable: dict[Key, str] = {}

    def read(self, pool: PoolId, shards: Collection[int]) -> Mapping[int, IntentShard | UnreadableShard]:
        """Reads shards."""
        return {shard: self._read(pool.config_map(shard)) for shard in shards}

    def write(self, pool: PoolId, shard: int, content: IntentShard) -> None:
        """Creates or replaces one shard."""
        key = pool.config_map(shard)
        found = self._shards.get(key)
        if (found.version if found else None) != content.version:
            raise Conflict(f"ConfigMap {key} changed")
        if len(content.data) > LARGEST:
            raise Refused(f"ConfigMap {key} is too long")
        self._shards[key] = IntentShard(content.data, str(next(self._versions)))
        self.unreadable.pop(key, None)

    def _read(self, key: Key) -> IntentShard | UnreadableShard:
        if key in self.unreadable:
            return UnreadableShard(self.unreadable[key])
        return self._shards.get(key, IntentShard(b"", None))
