"""Where the intents of deletes and the identity fence's records are kept: 16 ConfigMaps for each pool of topics.

They are found by what they are about, the Kafka cluster's id and the pool's prefix, not by the WALCluster that wrote
them: they outlive it, and one that adopts the topics later, in the same namespace, goes on with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from seawall.api.meta import Key
from seawall.domain.ledger.intents import SHARDS, shard_of

__all__ = ["SHARDS", "IntentShard", "PoolId", "UnreadableShard", "shard_of", "shards_of"]

NAME_PREFIX = "seawall-intents"


@dataclass(frozen=True, slots=True)
class PoolId:
    """The topics of one prefix on one Kafka cluster, as a namespace knows them."""

    namespace: str
    cluster_id: str
    prefix: str

    def digest(self) -> str:
        """16 hexadecimal digits: ids and prefixes have characters that names and labels in Kubernetes cannot have."""
        # A cluster id has no slash, so no two pools are written alike.
        return blake2b(f"{self.cluster_id}/{self.prefix}".encode(), digest_size=8).hexdigest()

    def config_map(self, shard: int) -> Key:
        """The ConfigMap of a shard: `seawall-intents-<digest>-<number>`."""
        return Key(self.namespace, f"{NAME_PREFIX}-{self.digest()}-{shard:02}")


@dataclass(frozen=True, slots=True)
class IntentShard:
    """One shard as it was read.

    Attributes:
        data: the records, encoded; empty when nothing was written yet.
        version: the resource version that a write must find; None: there must be no ConfigMap.
    """

    data: bytes
    version: str | None


@dataclass(frozen=True, slots=True)
class UnreadableShard:
    """There is something, and it cannot be trusted; why, in one sentence. Nothing of its topics may be deleted."""

    message: str


def shards_of(topics: Iterable[str]) -> frozenset[int]:
    """The shards that topics are in."""
    return frozenset(map(shard_of, topics))
