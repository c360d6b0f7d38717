"""The Kube port on the API server, whose events are not repeated."""

from __future__ import annotations

import base64
import builtins
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.greptimedb_cluster import read_greptimedb_cluster
from seawall.adapters.kube.repeats import Repeats
from seawall.adapters.times import EVENT_REPEAT_SECONDS
from seawall.api.meta import GROUP, VERSION, APIModel, InvalidSpec, Key, Kind
from seawall.api.resource import AnyResource, Listing, Resource, ResourceT, SpecT, StatusT
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.dataplane.greptimedb_cluster import Absence, GreptimeDBCluster
from seawall.domain.errors import Forbidden, Refused, SeawallError
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.step import Event

_log = logging.getLogger(__name__)

_API_VERSION = f"{GROUP}/{VERSION}"
_STRICT = "fieldValidation=Strict"
"""A field that the CRD there does not have is refused: by default it is dropped, and the write succeeds (KEP-2885)."""
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
"""What a list is asked for that needs no specs and statuses, which are nearly all of it."""
_PREFIX_FIELD = "spec.topics.prefix"
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
        self._repeats = Repeats(EVENT_REPEAT_SECONDS)
        self._scopes: Sequence[str | None] = [*namespaces] or [None]

    def get(self, resource: type[ResourceT], key: Key) -> ResourceT | None:
        """Reads an object."""
        raw = self._api.get(path_of(resource.KIND, key))
        return None if raw is None else resource.parse(raw)

    def list(self, resource: type[ResourceT], namespace: str | None = None) -> Listing[ResourceT]:
        """All objects of a kind in a namespace, or in scope."""
        found = self._list_all(resource.KIND, self._scopes if namespace is None else [namespace])
        items = [resource.parse(raw) for objects in found.values() if objects is not None for raw in objects]
        return Listing(items, _unreadable(found))

    def list_metadata(self, resource: type[AnyResource]) -> builtins.list[dict[str, Any]]:
        """The metadata of all objects of a kind in scope, as the API server has it, as far as it may be read."""
        found = self._list_all(resource.KIND, self._scopes, accept=_METADATA)
        return [raw["metadata"] for objects in found.values() if objects is not None for raw in objects]

    def require_served(self, resource: type[AnyResource]) -> None:
        """Raises what hinders to list objects of a kind; without the CRD that is Refused."""
        for scope in self._scopes:
            self._list(resource.KIND, scope, query="limit=1", is_one_of_many=len(self._scopes) > 1)

    def list_claims(self, prefix: str) -> Listing[WALCluster]:
        """The WALClusters with this topic prefix; the API server picks them, unless it or the CRD is too old."""
        try:
            query = urlencode({"fieldSelector": f"{_PREFIX_FIELD}={prefix}"})
            found = self._list_all(WALCluster.KIND, self._scopes, query)
        except Forbidden:
            raise
        except Refused:  # it does not know the field
            found = self._list_all(WALCluster.KIND, self._scopes)
        clusters = [WALCluster.parse(raw) for objects in found.values() if objects is not None for raw in objects]
        return Listing([each for each in clusters if each.prefix == prefix], _unreadable(found))

    def _list_all(
        self, kind: Kind, scopes: Sequence[str | None], query: str = "", accept: str | None = None
    ) -> dict[str | None, builtins.list[dict[str, Any]] | None]:
        many = len(scopes) > 1
        return {scope: self._list(kind, scope, query=query, accept=accept, is_one_of_many=many) for scope in scopes}

    def _list(
        self, kind: Kind, namespace: str | None, *, query: str = "", accept: str | None = None, is_one_of_many: bool
    ) -> builtins.list[dict[str, Any]] | None:
        """One namespace whose Role is gone, as it is while the namespace is being deleted, must not hide the others."""
        scope = "" if namespace is None else f"/namespaces/{namespace}"
        path = f"/apis/{_API_VERSION}{scope}/{kind.plural}?{query}".rstrip("?")
        try:
            return self._api.list(path) if accept is None else self._api.list(path, accept)
        except Forbidden as error:
            if not is_one_of_many:
                raise
            _log.warning("%s", error)
            return None

    def create(
        self, resource: type[Resource[SpecT, Any]], key: Key, spec: SpecT, owner: AnyResource | None = None
    ) -> None:
        """Creates an object. What the spec leaves to its defaults is written out: it may outlive them."""
        metadata: dict[str, Any] = {"name": key.name, "namespace": key.namespace}
        if owner is not None:
            metadata["ownerReferences"] = [controller_reference(owner, blocks=True)]
        body = {
            "apiVersion": _API_VERSION,
            "kind": resource.KIND.kind,
            "metadata": metadata,
            "spec": _dumped(spec),
        }
        self._api.create(f"/apis/{_API_VERSION}/namespaces/{key.namespace}/{resource.KIND.plural}?{_STRICT}", body)

    def delete(self, obj: AnyResource) -> None:
        """Deletes the object; UID and resource version make it a compare-and-swap."""
        metadata = obj.metadata
        self._api.delete(path_of(obj.KIND, metadata.key), metadata.uid, metadata.resource_version)

    def replace_spec(self, obj: Resource[SpecT, Any], spec: SpecT) -> None:
        """Replaces the spec by a merge patch, whose resource version makes it a compare-and-swap."""
        before = {} if isinstance(obj.spec, InvalidSpec) else _dumped(obj.spec)
        body = {"metadata": _identity(obj), "spec": _patch(before, _dumped(spec))}
        self._api.merge(f"{path_of(obj.KIND, obj.metadata.key)}?{_STRICT}", body)

    def replace_status(self, obj: Resource[Any, StatusT], status: StatusT) -> None:
        """Replaces the status: a merge patch would keep what is left out."""
        body = {
            "apiVersion": _API_VERSION,
            "kind": obj.KIND.kind,
            "metadata": _identity(obj),
            "status": obj.written(status),
        }
        self._api.replace(f"{path_of(obj.KIND, obj.metadata.key)}/status?{_STRICT}", body)

    def set_finalizers(self, obj: AnyResource, finalizers: Sequence[str]) -> None:
        """Patches the finalizers; the resource version in the patch makes it a compare-and-swap."""
        body = {"metadata": {**_identity(obj), "finalizers": [*finalizers]}}
        self._api.merge(path_of(obj.KIND, obj.metadata.key), body)

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
            binary_data={name: base64.b64decode(text) for name, text in (raw.get("binaryData") or {}).items()},
            is_immutable=bool(raw.get("immutable")),
        )

    def write_config_map(self, owner: AnyResource, config_map: ConfigMap) -> None:
        """Creates or replaces a ConfigMap."""
        metadata: dict[str, Any] = {
            "name": config_map.key.name,
            "namespace": config_map.key.namespace,
            "labels": {"app.kubernetes.io/managed-by": "seawall"},
            "ownerReferences": [controller_reference(owner, blocks=False)],
        }
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": dict(config_map.data),
        }
        if config_map.binary_data:
            found = config_map.binary_data.items()
            body["binaryData"] = {name: base64.b64encode(data).decode() for name, data in found}
        if config_map.is_immutable:
            body["immutable"] = True
        if config_map.resource_version is None:
            self._api.create(f"/api/v1/namespaces/{config_map.key.namespace}/configmaps", body)
            return
        metadata["resourceVersion"] = config_map.resource_version
        self._api.replace(_core_path(config_map.key, "configmaps"), body)

    def delete_config_map(self, config_map: ConfigMap) -> None:
        """Deletes a ConfigMap; the resource version makes it a compare-and-swap."""
        self._api.delete(_core_path(config_map.key, "configmaps"), None, config_map.resource_version)

    def get_secret(self, key: Key) -> Mapping[str, bytes] | None:
        """Reads the data of a Secret."""
        raw = self._api.get(_core_path(key, "secrets"))
        return None if raw is None else {name: base64.b64decode(text) for name, text in (raw.get("data") or {}).items()}

    def get_greptimedb_cluster(self, key: Key) -> GreptimeDBCluster | Absence:
        """Reads a GreptimeDBCluster."""
        return read_greptimedb_cluster(self._api, key)

    def is_terminating(self, namespace: str) -> bool:
        """Whether the namespace is being deleted, or gone."""
        raw = self._api.get(f"/api/v1/namespaces/{namespace}")
        return raw is None or "deletionTimestamp" in raw["metadata"]

    def post_event(self, obj: AnyResource, event: Event) -> bool:
        """Posts an Event; a failure is logged only, and what was posted a moment ago is left out.

        Brokers learn of a change one after another: right after it, a tick may see the old state and act once more.
        """
        metadata, now = obj.metadata, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{metadata.name}.", "namespace": metadata.namespace},
            "involvedObject": {**_reference(obj), "namespace": metadata.namespace},
            "type": event.type.value,
            "reason": event.reason,
            "message": event.message[:_EVENT_MESSAGE],
            "source": {"component": "seawall"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        said = (metadata.uid, metadata.resource_version, event)
        if not self._repeats.is_new(said):
            return True
        _log.info("%s: %s: %s", metadata.key, event.reason, event.message)
        try:
            self._api.create(f"/api/v1/namespaces/{metadata.namespace}/events", body)
        except SeawallError as error:
            self._repeats.forget(said)
            _log.warning("%s", error)
            return False
        return True


def _unreadable(found: Mapping[str | None, object]) -> tuple[str, ...]:
    return tuple(namespace for namespace, objects in found.items() if objects is None and namespace is not None)


def _dumped(spec: APIModel) -> dict[str, Any]:
    return spec.model_dump(mode="json", by_alias=True, exclude_none=True)


def _patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What makes the one of the other: in a merge patch what is not named stays, and null takes it away (RFC 7396)."""
    gone: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    return gone | {
        key: _patch(before[key], value)
        if isinstance(value, Mapping) and isinstance(before.get(key), Mapping)
        else value
        for key, value in after.items()
    }


def path_of(kind: Kind, key: Key) -> str:
    """Where the API server has an object of one of our kinds."""
    return f"/apis/{_API_VERSION}/namespaces/{key.namespace}/{kind.plural}/{key.name}"


def _core_path(key: Key, plural: str) -> str:
    return f"/api/v1/namespaces/{key.namespace}/{plural}/{key.name}"


def _reference(obj: AnyResource) -> dict[str, Any]:
    return {
        "apiVersion": _API_VERSION,
        "kind": obj.KIND.kind,
        "name": obj.metadata.name,
        "uid": obj.metadata.uid,
    }


def controller_reference(owner: AnyResource, *, blocks: bool) -> dict[str, Any]:
    """An owner reference. With `blocks` a foreground deletion of the owner waits for what it owns."""
    return {**_reference(owner), "controller": True, "blockOwnerDeletion": blocks}


def _identity(obj: AnyResource) -> dict[str, str]:
    """What makes a write conditional: name, UID and the version that was read."""
    metadata = obj.metadata
    return {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
    }
