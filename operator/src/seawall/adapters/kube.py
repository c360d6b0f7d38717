"""The Kube port on the API server."""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from seawall.adapters.kube_api import KubeApi
from seawall.adapters.repeats import Repeats
from seawall.api.meta import GROUP, VERSION, Key
from seawall.api.v1alpha1.wal_cluster import WAL_CLUSTER, WALCluster, WALClusterStatus
from seawall.domain.errors import Forbidden, Refused, SeawallError
from seawall.domain.step import Event
from seawall.domain.wal_cluster.rival import Claims
from seawall.domain.walconfig.config_map import ConfigMap

_log = logging.getLogger(__name__)

_API_VERSION = f"{GROUP}/{VERSION}"
_PREFIX_FIELD = "spec.topics.prefix"
REPEAT_SECONDS = 10.0
"""The same event about the same version of an object within this time is the same news."""
_EVENT_MESSAGE = 1024
"""Longest message of an Event that the API server takes."""


class KubeAdapter:
    """Reads and writes through the API server; nothing is cached.

    Args:
        api: the connection.
        namespaces: the namespaces to list; empty means all.
    """

    def __init__(self, api: KubeApi, namespaces: Sequence[str]) -> None:
        self._api = api
        self._repeats = Repeats(REPEAT_SECONDS)
        self._scopes = [f"/namespaces/{namespace}" for namespace in namespaces] or [""]

    def get_wal_cluster(self, key: Key) -> WALCluster | None:
        """Reads a WALCluster."""
        raw = self._api.get(_wal_cluster_path(key))
        return None if raw is None else WALCluster.parse(raw)

    def require_served(self) -> None:
        """Raises what hinders to list WALClusters; without the CRD that is Refused."""
        self.list_claims("")  # nobody's prefix

    def list_claims(self, prefix: str) -> Claims:
        """The WALClusters with this topic prefix; the API server picks them, unless it or the CRD is too old."""
        found = [self._list(scope, prefix) for scope in self._scopes]
        clusters = [WALCluster.parse(raw) for objects in found if objects is not None for raw in objects]
        return Claims([each for each in clusters if each.prefix == prefix], complete=None not in found)

    def _list(self, scope: str, prefix: str) -> list[dict[str, Any]] | None:
        """One namespace whose Role is gone, as it is while the namespace is being deleted, must not hide the others."""
        path = _wal_clusters_path(scope)
        try:
            return self._api.list(f"{path}?{urlencode({'fieldSelector': f'{_PREFIX_FIELD}={prefix}'})}")
        except Forbidden as error:
            if len(self._scopes) == 1:
                raise
            _log.warning("%s", error)
            return None
        except Refused:  # it does not know the field
            return self._api.list(path)

    def replace_wal_cluster_status(self, cluster: WALCluster, status: WALClusterStatus) -> None:
        """Replaces the status: a merge patch would keep what is left out."""
        body = {
            "apiVersion": _API_VERSION,
            "kind": WAL_CLUSTER.kind,
            "metadata": _identity(cluster),
            "status": status.model_dump(mode="json", by_alias=True, exclude_none=True),
        }
        self._api.replace(f"{_wal_cluster_path(cluster.metadata.key)}/status", body)

    def set_finalizers(self, cluster: WALCluster, finalizers: Sequence[str]) -> None:
        """Patches the finalizers; the resource version in the patch makes it a compare-and-swap."""
        body = {"metadata": {**_identity(cluster), "finalizers": list(finalizers)}}
        self._api.merge(_wal_cluster_path(cluster.metadata.key), body)

    def get_config_map(self, key: Key) -> ConfigMap | None:
        """Reads a ConfigMap."""
        raw = self._api.get(_core_path(key, "configmaps"))
        if raw is None:
            return None
        owners = raw["metadata"].get("ownerReferences", ())
        return ConfigMap(
            key=key,
            data=raw.get("data") or {},
            controller_uid=next((owner["uid"] for owner in owners if owner.get("controller")), None),
            resource_version=raw["metadata"]["resourceVersion"],
        )

    def write_config_map(self, owner: WALCluster, config_map: ConfigMap) -> None:
        """Creates or replaces a ConfigMap."""
        metadata: dict[str, Any] = {
            "name": config_map.key.name,
            "namespace": config_map.key.namespace,
            "labels": {"app.kubernetes.io/managed-by": "seawall"},
            "ownerReferences": [{**_reference(owner), "controller": True, "blockOwnerDeletion": False}],
        }
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(config_map.data)}
        if config_map.resource_version is None:
            self._api.create(f"/api/v1/namespaces/{config_map.key.namespace}/configmaps", body)
            return
        metadata["resourceVersion"] = config_map.resource_version
        self._api.replace(_core_path(config_map.key, "configmaps"), body)

    def get_secret(self, key: Key) -> Mapping[str, bytes] | None:
        """Reads the data of a Secret."""
        raw = self._api.get(_core_path(key, "secrets"))
        return None if raw is None else {name: base64.b64decode(text) for name, text in (raw.get("data") or {}).items()}

    def is_terminating(self, namespace: str) -> bool:
        """Whether the namespace is being deleted, or gone."""
        raw = self._api.get(f"/api/v1/namespaces/{namespace}")
        return raw is None or "deletionTimestamp" in raw["metadata"]

    def post_event(self, cluster: WALCluster, event: Event) -> None:
        """Posts an Event; a failure is logged only, and what was posted a moment ago is left out.

        Brokers learn of a change one after another: right after it, a tick may see the old state and act once more.
        """
        metadata, now = cluster.metadata, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{metadata.name}.", "namespace": metadata.namespace},
            "involvedObject": {**_reference(cluster), "namespace": metadata.namespace},
            "type": event.type.value,
            "reason": event.reason,
            "message": event.message[:_EVENT_MESSAGE],
            "source": {"component": "seawall"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        if not self._repeats.is_new((metadata.uid, metadata.resource_version, event)):
            return
        _log.info("%s: %s: %s", metadata.key, event.reason, event.message)
        try:
            self._api.create(f"/api/v1/namespaces/{metadata.namespace}/events", body)
        except SeawallError as error:
            _log.warning("%s", error)


def _wal_clusters_path(scope: str) -> str:
    return f"/apis/{_API_VERSION}{scope}/{WAL_CLUSTER.plural}"


def _wal_cluster_path(key: Key) -> str:
    return f"{_wal_clusters_path(f'/namespaces/{key.namespace}')}/{key.name}"


def _core_path(key: Key, plural: str) -> str:
    return f"/api/v1/namespaces/{key.namespace}/{plural}/{key.name}"


def _reference(cluster: WALCluster) -> dict[str, Any]:
    return {
        "apiVersion": _API_VERSION,
        "kind": WAL_CLUSTER.kind,
        "name": cluster.metadata.name,
        "uid": cluster.metadata.uid,
    }


def _identity(cluster: WALCluster) -> dict[str, str]:
    """What makes a write conditional: name, UID and the version that was read."""
    metadata = cluster.metadata
    return {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
    }
