"""The port `IntentStore` in ConfigMaps. Nothing is cached."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from typing import Any

from seawall.adapters.kube.api import KubeApi
from seawall.api.meta import GROUP, Key
from seawall.domain.ledger.shards import IntentShard, PoolId, UnreadableShard

DATA_KEY = "shard"
POOL_LABEL = f"{GROUP}/pool"
"""On the ConfigMaps of a pool (intents, identities): which pool, as a digest of Kafka's cluster id and the prefix."""
CLUSTER_ANNOTATION = f"{GROUP}/kafka-cluster-id"
"""On the ConfigMaps of a pool: the id of its Kafka cluster."""
PREFIX_ANNOTATION = f"{GROUP}/topic-prefix"
"""On the ConfigMaps of a pool: the prefix of its topics."""
ABOUT_ANNOTATION = f"{GROUP}/about"
"""On the ConfigMaps of a pool: what they are for, for people who find them."""
ABOUT = (
    "How far Seawall meant to delete records of these topics, and what it knew of their identity. "
    "It outlives the WALCluster. Without it, holds are granted that a delete under way may break: "
    "remove it only when the topics are gone."
)


class ConfigMapIntentStore:
    """One ConfigMap for each shard, with the API server's resource version as compare-and-swap."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    def read(self, pool: PoolId, shards: Collection[int]) -> Mapping[int, IntentShard | UnreadableShard]:
        """Reads shards, each by its name: listing would need a right to all ConfigMaps of the namespace."""
        return {shard: self._read(pool, shard) for shard in shards}

    def write(self, pool: PoolId, shard: int, content: IntentShard) -> None:
        """Creates or replaces one shard."""
        key = pool.config_map(shard)
        metadata: dict[str, Any] = {
            "name": key.name,
            "namespace": key.namespace,
            "labels": {
                "app.kubernetes.io/managed-by": "seawall",
                "app.kubernetes.io/component": "intents",
                POOL_LABEL: pool.digest(),
            },
            "annotations": {**_identity(pool), ABOUT_ANNOTATION: ABOUT},
        }
        data = {DATA_KEY: base64.b64encode(content.data).decode()}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "binaryData": data}
        if content.version is None:
            self._api.create(f"/api/v1/namespaces/{key.namespace}/configmaps", body)
            return
        metadata["resourceVersion"] = content.version
        self._api.replace(_path(key), body)

    def _read(self, pool: PoolId, shard: int) -> IntentShard | UnreadableShard:
        key = pool.config_map(shard)
        raw = self._api.get(_path(key))
        if raw is None:
            return IntentShard(b"", None)
        annotations = raw["metadata"].get("annotations") or {}
        if any(annotations.get(name) != value for name, value in _identity(pool).items()):
            return UnreadableShard(f"ConfigMap {key} is not about topics {pool.prefix} of Kafka {pool.cluster_id}")
        encoded = (raw.get("binaryData") or {}).get(DATA_KEY)
        if encoded is None:
            return UnreadableShard(f"ConfigMap {key} has no binary data {DATA_KEY}")
        return IntentShard(base64.b64decode(encoded), raw["metadata"]["resourceVersion"])


def _identity(pool: PoolId) -> dict[str, str]:
    return {CLUSTER_ANNOTATION: pool.cluster_id, PREFIX_ANNOTATION: pool.prefix}


def _path(key: Key) -> str:
    return f"/api/v1/namespaces/{key.namespace}/configmaps/{key.name}"
