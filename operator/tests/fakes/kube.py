"""The API server in memory: objects as JSON, resource versions, finalizers. It passes the Kube contract."""

from __future__ import annotations

import copy
import itertools
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.wal_cluster import WALCluster, WALClusterStatus
from seawall.domain.errors import Conflict
from seawall.domain.step import Event
from seawall.domain.wal_cluster.rival import Claims
from seawall.domain.walconfig.config_map import ConfigMap


class FakeKube:
    """An API server with WALClusters, ConfigMaps and Secrets.

    Attributes:
        secrets: data of the Secrets; tests put them here.
        may_list_all: whether all namespaces may be read.
        terminating: namespaces that are being deleted.
        events: what was posted.
        status_writes: how many status writes changed something.
    """

    def __init__(self) -> None:
        self._objects: dict[Key, dict[str, Any]] = {}
        self._config_maps: dict[Key, ConfigMap] = {}
        self._versions = itertools.count(1)
        self._created = itertools.count()
        self.may_list_all = True
        self.secrets: dict[Key, dict[str, bytes]] = {}
        self.terminating: set[str] = set()
        self.events: list[Event] = []
        self.status_writes = 0

    def apply(self, key: Key, spec: Mapping[str, Any], annotations: Mapping[str, str] | None = None) -> None:
        """Creates a WALCluster, or edits its spec and annotations, as a person does."""
        raw = self._objects.setdefault(key, self._new(key))
        if raw["spec"] != spec:
            raw["metadata"]["generation"] += 1
            raw["spec"] = copy.deepcopy(dict(spec))
        raw["metadata"]["annotations"] = dict(annotations or {})
        self._touch(raw)

    def delete(self, key: Key) -> None:
        """Deletes a WALCluster, as a person does: it stays while finalizers stand."""
        raw = self._objects[key]
        raw["metadata"].setdefault("deletionTimestamp", _timestamp(0))
        self._touch(raw)
        self._collect(key)

    def get_wal_cluster(self, key: Key) -> WALCluster | None:
        """Reads a WALCluster."""
        raw = self._objects.get(key)
        return None if raw is None else WALCluster.parse(copy.deepcopy(raw))

    def list_claims(self, prefix: str) -> Claims:
        """The WALClusters with this topic prefix."""
        clusters = [WALCluster.parse(copy.deepcopy(raw)) for raw in self._objects.values()]
        return Claims([each for each in clusters if each.prefix == prefix], complete=self.may_list_all)

    def replace_wal_cluster_status(self, cluster: WALCluster, status: WALClusterStatus) -> None:
        """Replaces the status; an identical one leaves the resource version as it is."""
        raw = self._at_version(cluster)
        new = status.model_dump(mode="json", by_alias=True, exclude_none=True)
        if raw.get("status") != new:
            raw["status"] = new
            self.status_writes += 1
            self._touch(raw)

    def set_finalizers(self, cluster: WALCluster, finalizers: Sequence[str]) -> None:
        """Replaces the finalizers."""
        raw = self._at_version(cluster)
        raw["metadata"]["finalizers"] = list(finalizers)
        self._touch(raw)
        self._collect(cluster.metadata.key)

    def get_config_map(self, key: Key) -> ConfigMap | None:
        """Reads a ConfigMap."""
        return self._config_maps.get(key)

    def put_config_map(self, key: Key, data: Mapping[str, str]) -> None:
        """Writes a ConfigMap that nobody controls, or edits one, as a person does."""
        before = self._config_maps.get(key)
        self._config_maps[key] = ConfigMap(key, dict(data), before.controller_uid if before else None, self._version())

    def write_config_map(self, owner: WALCluster, config_map: ConfigMap) -> None:
        """Creates or replaces a ConfigMap."""
        found = self._config_maps.get(config_map.key)
        if config_map.resource_version is None and found is not None:
            raise Conflict(f"ConfigMap {config_map.key} exists")
        if config_map.resource_version is not None and found is None:
            raise Conflict(f"ConfigMap {config_map.key} is gone")
        if found is not None and found.resource_version != config_map.resource_version:
            raise Conflict(f"ConfigMap {config_map.key} changed")
        self._config_maps[config_map.key] = ConfigMap(
            config_map.key, dict(config_map.data), owner.metadata.uid, self._version()
        )

    def get_secret(self, key: Key) -> Mapping[str, bytes] | None:
        """Reads the data of a Secret."""
        return self.secrets.get(key)

    def is_terminating(self, namespace: str) -> bool:
        """Whether the namespace is being deleted."""
        return namespace in self.terminating

    def post_event(self, cluster: WALCluster, event: Event) -> None:  # noqa: ARG002 - the port has it
        """Posts an Event."""
        self.events.append(event)

    def _new(self, key: Key) -> dict[str, Any]:
        return {
            "metadata": {
                "namespace": key.namespace,
                "name": key.name,
                "uid": str(uuid.uuid4()),
                "generation": 0,
                "creationTimestamp": _timestamp(next(self._created)),
            },
            "spec": None,
        }

    def _at_version(self, cluster: WALCluster) -> dict[str, Any]:
        raw = self._objects.get(cluster.metadata.key)
        if raw is None or raw["metadata"]["uid"] != cluster.metadata.uid:
            raise Conflict(f"WALCluster {cluster.metadata.key} is gone")
        if raw["metadata"]["resourceVersion"] != cluster.metadata.resource_version:
            raise Conflict(f"WALCluster {cluster.metadata.key} changed")
        return raw

    def _collect(self, key: Key) -> None:
        metadata = self._objects[key]["metadata"]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            del self._objects[key]

    def _touch(self, raw: dict[str, Any]) -> None:
        raw["metadata"]["resourceVersion"] = self._version()

    def _version(self) -> str:
        return str(next(self._versions))


def _timestamp(seconds: int) -> str:
    return (datetime(2026, 11, 21, 12, 0, tzinfo=UTC) + timedelta(seconds=seconds)).isoformat()
