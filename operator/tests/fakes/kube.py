"""The API server in memory: objects as JSON, resource versions, finalizers. It passes the Kube contract."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from seawall.api.meta import Key, Kind
from seawall.api.resource import AnyResource, Listing, Resource, ResourceT, SpecT, StatusT
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.dataplane.greptimedb_cluster import Absence, GreptimeDBCluster
from seawall.domain.errors import Conflict, Forbidden, Refused
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.step import Event
from tests.fakes.ids import new_uid

LARGEST_CONFIG_MAP = 1_048_576
"""Bytes of a ConfigMap's data that the API server takes."""
_START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class FakeKube:
    """An API server with objects of our kinds, ConfigMaps and Secrets.

    Args:
        now: its clock; without one every object is a second younger than the one before.

    Attributes:
        secrets: data of the Secrets; tests put them here.
        unreadable: served namespaces that may not be read.
        terminating: namespaces that are being deleted.
        events: what was posted.
        status_writes: how many status writes changed something.
        deletes_at: when people delete what they delete.
        greptimedb_clusters: those of greptimedb-operator; tests put them here.
        greptimedb_absence: why there are no others.
        may_read_greptimedb: whether the operator may read them.
        takes_event: whether the API server takes an event; else it has too many.
    """

    def __init__(self, now: Callable[[], datetime] | None = None) -> None:
        self._objects: dict[tuple[str, Key], dict[str, Any]] = {}
        self._parsed: dict[tuple[str, Key], AnyResource] = {}
        self._config_maps: dict[Key, ConfigMap] = {}
        self._versions = itertools.count(1)
        self._created = itertools.count()
        self._now = now or self._one_second_later
        self.unreadable: tuple[str, ...] = ()
        self.secrets: dict[Key, dict[str, bytes]] = {}
        self.terminating: set[str] = set()
        self.events: list[Event] = []
        self.status_writes = 0
        self.deletes_at = _START
        self.greptimedb_clusters: dict[Key, GreptimeDBCluster | Absence] = {}
        self.greptimedb_absence = Absence.MISSING
        self.may_read_greptimedb = True
        self.takes_event: Callable[[Event], bool] = lambda _: True

    def apply(
        self,
        key: Key,
        spec: Mapping[str, Any],
        annotations: Mapping[str, str] | None = None,
        kind: type[AnyResource] = WALCluster,
    ) -> None:
        """Creates an object, or edits its spec and annotations, as a person does."""
        raw = self._objects.setdefault((kind.KIND.kind, key), self._new(key))
        if raw["spec"] != spec:
            raw["metadata"]["generation"] += 1
            raw["spec"] = _sent(dict(spec))
        raw["metadata"]["annotations"] = dict(annotations or {})
        self._touch(raw)

    def write_raw_status(self, key: Key, kind: type[AnyResource], status: Mapping[str, Any]) -> None:
        """Another operator, of a newer version, writes a status as it likes."""
        raw = self._objects[kind.KIND.kind, key]
        raw["status"] = _sent(dict(status))
        self._touch(raw)

    def raw_status(self, key: Key, kind: type[AnyResource]) -> Mapping[str, Any]:
        """The status as it is stored."""
        found: Mapping[str, Any] = _sent(self._objects[kind.KIND.kind, key].get("status", {}))
        return found

    def remove(self, key: Key, kind: type[AnyResource] = WALCluster) -> None:
        """Deletes an object, as a person does: it stays while finalizers stand."""
        raw = self._objects[kind.KIND.kind, key]
        raw["metadata"].setdefault("deletionTimestamp", _timestamp(self.deletes_at))
        self._touch(raw)
        self._collect(kind.KIND, key)

    def get(self, resource: type[ResourceT], key: Key) -> ResourceT | None:
        """Reads an object."""
        return self._read(resource, key) if (resource.KIND.kind, key) in self._objects else None

    def list(self, resource: type[ResourceT], namespace: str | None = None) -> Listing[ResourceT]:
        """All objects of a kind."""
        found = [
            self._read(resource, key)
            for kind, key in self._objects
            if kind == resource.KIND.kind and namespace in {None, key.namespace}
        ]
        return Listing(found, self.unreadable if namespace is None else ())

    def list_claims(self, prefix: str) -> Listing[WALCluster]:
        """The WALClusters with this topic prefix."""
        found = self.list(WALCluster)
        return Listing([each for each in found.items if each.prefix == prefix], found.unreadable)

    def create(
        self, resource: type[Resource[SpecT, Any]], key: Key, spec: SpecT, owner: AnyResource | None = None
    ) -> None:
        """Creates an object."""
        if (resource.KIND.kind, key) in self._objects:
            raise Conflict(f"{resource.KIND.kind} {key} exists")
        self.apply(key, spec.model_dump(mode="json", by_alias=True, exclude_none=True), kind=resource)
        if owner is not None:
            reference = {"kind": owner.KIND.kind, "name": owner.metadata.name, "uid": owner.metadata.uid}
            raw = self._objects[resource.KIND.kind, key]
            raw["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
            self._touch(raw)

    def delete(self, obj: AnyResource) -> None:
        """Deletes an object as it was read."""
        if (obj.KIND.kind, obj.metadata.key) in self._objects:
            self._at_version(obj)
            self.remove(obj.metadata.key, type(obj))

    def replace_spec(self, obj: Resource[SpecT, Any], spec: SpecT) -> None:
        """Replaces the spec."""
        raw = self._at_version(obj)
        new = _sent(spec.model_dump(mode="json", by_alias=True, exclude_none=True))
        if raw["spec"] != new:
            raw["spec"] = new
            raw["metadata"]["generation"] += 1
            self._touch(raw)

    def replace_status(self, obj: Resource[Any, StatusT], status: StatusT) -> None:
        """Replaces the status; an identical one leaves the resource version as it is."""
        raw = self._at_version(obj)
        new = obj.written(status)
        if raw.get("status") != new:
            raw["status"] = new
            self.status_writes += 1
            self._touch(raw)

    def set_finalizers(self, obj: AnyResource, finalizers: Sequence[str]) -> None:
        """Replaces the finalizers."""
        raw = self._at_version(obj)
        new = sorted(set(finalizers) - set(raw["metadata"].get("finalizers") or ()))
        if new and "deletionTimestamp" in raw["metadata"]:
            sentence = "no new finalizers can be added if the object is being deleted, found new finalizers"
            raise Refused(f"{obj.KIND.kind} {obj.metadata.key}: {sentence} {new}")
        raw["metadata"]["finalizers"] = [*finalizers]
        self._touch(raw)
        self._collect(obj.KIND, obj.metadata.key)

    def get_config_map(self, key: Key) -> ConfigMap | None:
        """Reads a ConfigMap."""
        return self._config_maps.get(key)

    def get_greptimedb_cluster(self, key: Key) -> GreptimeDBCluster | Absence:
        """Reads a GreptimeDBCluster."""
        if self.may_read_greptimedb is False:
            raise Forbidden(f"greptimedbclusters.greptime.io {key.name} is forbidden")
        return self.greptimedb_clusters.get(key, self.greptimedb_absence)

    def put_config_map(self, key: Key, data: Mapping[str, str]) -> None:
        """Writes a ConfigMap that nobody controls, or edits one, as a person does."""
        before = self._config_maps.get(key)
        self._config_maps[key] = ConfigMap(key, dict(data), before.controller_uid if before else None, self._version())

    def remove_config_map(self, key: Key) -> None:
        """Deletes a ConfigMap, as a person does."""
        del self._config_maps[key]

    def config_maps(self) -> Mapping[Key, ConfigMap]:
        """All ConfigMaps."""
        return dict(self._config_maps)

    def write_config_map(self, owner: AnyResource, config_map: ConfigMap) -> None:
        """Creates or replaces a ConfigMap."""
        found = self._config_maps.get(config_map.key)
        if config_map.resource_version is None and found is not None:
            raise Conflict(f"ConfigMap {config_map.key} exists")
        if config_map.resource_version is not None and found is None:
            raise Conflict(f"ConfigMap {config_map.key} is gone")
        if found is not None and found.resource_version != config_map.resource_version:
            raise Conflict(f"ConfigMap {config_map.key} changed")
        if found is not None and found.is_immutable:
            raise Refused(f"ConfigMap {config_map.key} is immutable")
        values = [*config_map.binary_data.values(), *(value.encode() for value in config_map.data.values())]
        if sum(map(len, values)) > LARGEST_CONFIG_MAP:
            raise Refused(f"ConfigMap {config_map.key} is too long")
        self._config_maps[config_map.key] = replace(
            config_map, controller_uid=owner.metadata.uid, resource_version=self._version()
        )

    def delete_config_map(self, config_map: ConfigMap) -> None:
        """Deletes a ConfigMap as it was read."""
        found = self._config_maps.get(config_map.key)
        if found is not None and found.resource_version != config_map.resource_version:
            raise Conflict(f"ConfigMap {config_map.key} changed")
        self._config_maps.pop(config_map.key, None)

    def get_secret(self, key: Key) -> Mapping[str, bytes] | None:
        """Reads the data of a Secret."""
        return self.secrets.get(key)

    def is_terminating(self, namespace: str) -> bool:
        """Whether the namespace is being deleted."""
        return namespace in self.terminating

    def post_event(self, obj: AnyResource, event: Event) -> bool:  # noqa: ARG002 - the port has it
        """Posts an Event."""
        is_taken = self.takes_event(event)
        if is_taken:
            self.events.append(event)
        return is_taken

    def _read(self, resource: type[ResourceT], key: Key) -> ResourceT:
        """An object that exists; nobody can change what is read, so that each version need be parsed only once."""
        stored = (resource.KIND.kind, key)
        raw, parsed = self._objects[stored], self._parsed.get(stored)
        if not isinstance(parsed, resource) or parsed.metadata.resource_version != raw["metadata"]["resourceVersion"]:
            self._parsed[stored] = parsed = resource.parse(_sent(raw))
        return parsed

    def _one_second_later(self) -> datetime:
        return _START + timedelta(seconds=next(self._created))

    def _new(self, key: Key) -> dict[str, Any]:
        return {
            "metadata": {
                "namespace": key.namespace,
                "name": key.name,
                "uid": new_uid(),
                "generation": 0,
                "creationTimestamp": _timestamp(self._now()),
            },
            "spec": None,
        }

    def _at_version(self, obj: AnyResource) -> dict[str, Any]:
        raw = self._objects.get((obj.KIND.kind, obj.metadata.key))
        if raw is None or raw["metadata"]["uid"] != obj.metadata.uid:
            raise Conflict(f"{obj.KIND.kind} {obj.metadata.key} is gone")
        if raw["metadata"]["resourceVersion"] != obj.metadata.resource_version:
            raise Conflict(f"{obj.KIND.kind} {obj.metadata.key} changed")
        return raw

    def _collect(self, kind: Kind, key: Key) -> None:
        metadata = self._objects[kind.kind, key]["metadata"]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            del self._objects[kind.kind, key]

    def _touch(self, raw: dict[str, Any]) -> None:
        raw["metadata"]["resourceVersion"] = self._version()

    def _version(self) -> str:
        return str(next(self._versions))


def _timestamp(when: datetime) -> str:
    return when.replace(microsecond=0).isoformat()


def _sent(body: Any) -> Any:
    """A copy, as JSON over the wire makes it: nobody shares a part with what is stored."""
    return json.loads(json.dumps(body))
