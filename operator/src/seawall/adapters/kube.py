"""The Kube port on the official client."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from seawall.adapters.kube_client import DEADLINE, is_absent, translated_errors
from seawall.api.meta import GROUP, VERSION, Key
from seawall.api.v1alpha1.wal_cluster import WAL_CLUSTER, WALCluster, WALClusterStatus
from seawall.domain.errors import SeawallError
from seawall.domain.step import Event
from seawall.domain.walconfig.config_map import ConfigMap

_log = logging.getLogger(__name__)

AnswerT = TypeVar("AnswerT")

_API_VERSION = f"{GROUP}/{VERSION}"
_PLURAL = WAL_CLUSTER.plural
_EVENT_MESSAGE = 1024
"""Longest message of an Event that the API server takes."""


class KubeAdapter:
    """Reads and writes through the API server; nothing is cached.

    Args:
        api: the connection.
        namespaces: the namespaces to list; empty means all.
    """

    def __init__(self, api: client.ApiClient, namespaces: Sequence[str]) -> None:
        self._objects = client.CustomObjectsApi(api)
        self._core = client.CoreV1Api(api)
        self._namespaces = tuple(namespaces)

    def get_wal_cluster(self, key: Key) -> WALCluster | None:
        """Reads a WALCluster."""
        raw: Any = _read(
            f"reading WALCluster {key}",
            lambda: self._objects.get_namespaced_custom_object(
                GROUP, VERSION, key.namespace, _PLURAL, key.name, _request_timeout=DEADLINE
            ),
        )
        return None if raw is None else WALCluster.parse(raw)

    def list_wal_clusters(self) -> Sequence[WALCluster]:
        """All WALClusters in scope."""
        answers: list[Any] = []
        with translated_errors("listing WALClusters"):
            answers.extend(
                self._objects.list_namespaced_custom_object(
                    GROUP, VERSION, namespace, _PLURAL, _request_timeout=DEADLINE
                )
                for namespace in self._namespaces
            )
            if not self._namespaces:
                answers.append(
                    self._objects.list_cluster_custom_object(GROUP, VERSION, _PLURAL, _request_timeout=DEADLINE)
                )
        return [WALCluster.parse(item) for answer in answers for item in answer["items"]]

    def replace_wal_cluster_status(self, cluster: WALCluster, status: WALClusterStatus) -> None:
        """Replaces the status: a merge patch would keep what is left out."""
        body = {
            "apiVersion": _API_VERSION,
            "kind": WAL_CLUSTER.kind,
            "metadata": _identity(cluster),
            "status": status.model_dump(mode="json", by_alias=True, exclude_none=True),
        }
        key = cluster.metadata.key
        with translated_errors(f"writing the status of WALCluster {key}"):
            self._objects.replace_namespaced_custom_object_status(
                GROUP, VERSION, key.namespace, _PLURAL, key.name, body, _request_timeout=DEADLINE
            )

    def set_finalizers(self, cluster: WALCluster, finalizers: Sequence[str]) -> None:
        """Patches the finalizers; the resource version in the patch makes it a compare-and-swap."""
        key = cluster.metadata.key
        body = {"metadata": {**_identity(cluster), "finalizers": list(finalizers)}}
        with translated_errors(f"writing the finalizers of WALCluster {key}"):
            self._objects.patch_namespaced_custom_object(
                GROUP, VERSION, key.namespace, _PLURAL, key.name, body, _request_timeout=DEADLINE
            )

    def get_config_map(self, key: Key) -> ConfigMap | None:
        """Reads a ConfigMap."""
        found = _read(
            f"reading ConfigMap {key}",
            lambda: self._core.read_namespaced_config_map(key.name, key.namespace, _request_timeout=DEADLINE),
        )
        if found is None:
            return None
        metadata = found.metadata or client.V1ObjectMeta()
        controllers = [owner.uid for owner in metadata.owner_references or () if owner.controller]
        return ConfigMap(
            key=key,
            data=dict(found.data or {}),
            controller_uid=controllers[0] if controllers else None,
            resource_version=metadata.resource_version,
        )

    def write_config_map(self, owner: WALCluster, config_map: ConfigMap) -> None:
        """Creates or replaces a ConfigMap."""
        key = config_map.key
        body = client.V1ConfigMap(
            metadata=client.V1ObjectMeta(
                name=key.name,
                namespace=key.namespace,
                resource_version=config_map.resource_version,
                labels={"app.kubernetes.io/managed-by": "seawall"},
                owner_references=[_owner_reference(owner)],
            ),
            data=dict(config_map.data),
        )
        with translated_errors(f"writing ConfigMap {key}"):
            if config_map.resource_version is None:
                self._core.create_namespaced_config_map(key.namespace, body, _request_timeout=DEADLINE)
            else:
                self._core.replace_namespaced_config_map(key.name, key.namespace, body, _request_timeout=DEADLINE)

    def get_secret(self, key: Key) -> Mapping[str, bytes] | None:
        """Reads the data of a Secret."""
        found = _read(
            f"reading Secret {key}",
            lambda: self._core.read_namespaced_secret(key.name, key.namespace, _request_timeout=DEADLINE),
        )
        return None if found is None else {name: base64.b64decode(text) for name, text in (found.data or {}).items()}

    def is_terminating(self, namespace: str) -> bool:
        """Whether the namespace is being deleted, or gone."""
        found = _read(
            f"reading Namespace {namespace}",
            lambda: self._core.read_namespace(namespace, _request_timeout=DEADLINE),
        )
        if found is None or found.metadata is None:
            return True
        return found.metadata.deletion_timestamp is not None

    def post_event(self, cluster: WALCluster, event: Event) -> None:
        """Posts an Event; a failure is logged only."""
        metadata, now = cluster.metadata, datetime.now(UTC)
        body = client.CoreV1Event(
            metadata=client.V1ObjectMeta(generate_name=f"{metadata.name}.", namespace=metadata.namespace),
            involved_object=client.V1ObjectReference(
                api_version=_API_VERSION,
                kind=WAL_CLUSTER.kind,
                name=metadata.name,
                namespace=metadata.namespace,
                uid=metadata.uid,
                resource_version=metadata.resource_version,
            ),
            type=event.type.value,
            reason=event.reason,
            message=event.message[:_EVENT_MESSAGE],
            source=client.V1EventSource(component="seawall"),
            first_timestamp=now,
            last_timestamp=now,
            count=1,
        )
        _log.info("%s: %s: %s", metadata.key, event.reason, event.message)
        try:
            with translated_errors(f"posting an event about {metadata.key}"):
                self._core.create_namespaced_event(metadata.namespace, body, _request_timeout=DEADLINE)
        except SeawallError as error:
            _log.warning("%s", error)


def _read(what: str, call: Callable[[], AnswerT]) -> AnswerT | None:
    """Calls; 404 becomes None, here and nowhere else."""
    with translated_errors(what):
        try:
            return call()
        except ApiException as error:
            if is_absent(error):
                return None
            raise


def _identity(cluster: WALCluster) -> dict[str, str]:
    """What makes a write conditional: name, UID and the version that was read."""
    metadata = cluster.metadata
    return {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
    }


def _owner_reference(owner: WALCluster) -> client.V1OwnerReference:
    return client.V1OwnerReference(
        api_version=_API_VERSION,
        kind=WAL_CLUSTER.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=False,
    )
