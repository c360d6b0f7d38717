"""GreptimeDBClusters of greptimedb-operator, as the API server has them.

The operator fills in what a person left out when it first sees one: until then its own defaults stand here. Nothing is
listed or watched, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from seawall.adapters.kube.api import KubeApi
from seawall.api.meta import Key
from seawall.domain.dataplane.declared import DatanodeSet
from seawall.domain.dataplane.greptimedb_cluster import Absence, GreptimeDBCluster, Storage

_GROUP = "/apis/greptime.io"
_VERSION = f"{_GROUP}/v1alpha1"

_HTTP_PORT, _REPLICAS = 4000, 1
"""`DefaultHTTPPort` and `DefaultReplicas` of its `apis/v1alpha1/constants.go`."""

Raw = Mapping[str, Any]


def read_greptimedb_cluster(api: KubeApi, key: Key) -> GreptimeDBCluster | Absence:
    """Reads one; where there is none, why."""
    raw = api.get(_path(key, "greptimedbclusters"))
    if raw is not None:
        return _cluster(key, raw["spec"])
    if api.get(_GROUP) is None:
        return Absence.NO_CRD
    return Absence.MISSING if api.get(_path(key, "greptimedbstandalones")) is None else Absence.STANDALONE


def _path(key: Key, plural: str) -> str:
    return f"{_VERSION}/namespaces/{key.namespace}/{plural}/{key.name}"


def _cluster(key: Key, spec: Raw) -> GreptimeDBCluster:
    meta: Raw = spec.get("meta") or {}
    kafka = _at(spec, "wal", "kafka")
    return GreptimeDBCluster(
        key=key,
        datanodes=tuple(_datanodes(key.name, spec)),
        tag=_tag(spec),
        meta_config=meta.get("config") or "",
        meta_port=int(meta.get("httpPort") or _HTTP_PORT),
        frontend=_frontend(key.name, spec),
        frontend_port=int(spec.get("httpPort") or _HTTP_PORT),
        brokers=None if kafka is None else tuple(kafka.get("brokerEndpoints") or ()),
        **_storage(_at(meta, "backendStorage") or {}),
    )


def _at(raw: Raw, *names: str) -> Raw | None:
    for name in names:
        raw = raw.get(name) or {}
    return raw or None


def _datanodes(name: str, spec: Raw) -> Iterator[DatanodeSet]:
    """Either one set or groups: with `datanode` the operator makes nothing of the groups."""
    if spec.get("datanode") is not None:
        yield _set(_resource(f"{name}-datanode", spec["datanode"]), "spec.datanode", spec["datanode"])
        return
    for at, group in enumerate(spec.get("datanodeGroups") or ()):
        yield _set(_resource(f"{name}-datanode", group), f"spec.datanodeGroups[{at}]", group)


def _resource(role: str, raw: Raw) -> str:
    """What it names the Service and the StatefulSet: `<cluster>-<role>`, and `-<name>` if one is given.

    `ResourceName` of its `controllers/common/common.go` (v0.6.0), also where there are no groups.
    """
    return f"{role}-{raw['name']}" if raw.get("name") else role


def _set(stateful_set: str, where: str, raw: Raw) -> DatanodeSet:
    partition = (_at(raw, "rollingUpdate") or {}).get("partition")
    return DatanodeSet(
        stateful_set=stateful_set,
        where=where,
        replicas=int(raw.get("replicas", _REPLICAS)),
        partition=int(partition or 0),
        config=raw.get("config") or "",
        http_port=int(raw.get("httpPort") or _HTTP_PORT),
    )


def _tag(spec: Raw) -> str:
    """Of the image that datanodes run: their own, or the base's."""
    groups = spec.get("datanodeGroups") or ()
    datanode: Raw = spec.get("datanode") or (groups[0] if groups else {})
    own = _at(datanode, "template", "main") or {}
    image = own.get("image") or (_at(spec, "base", "main") or {}).get("image") or ""
    return str(image.rpartition("/")[2].partition(":")[2])


def _frontend(name: str, spec: Raw) -> str | None:
    """The Service of its frontend, or of the first group of them."""
    if spec.get("frontend") is not None:
        return _resource(f"{name}-frontend", spec["frontend"])
    groups = spec.get("frontendGroups") or ()
    return _resource(f"{name}-frontend", groups[0]) if groups else None


def _storage(raw: Raw) -> dict[str, Any]:
    if raw.get("etcd"):
        etcd: Raw = raw["etcd"]
        endpoints, prefix = tuple(etcd.get("endpoints") or ()), etcd.get("storeKeyPrefix") or ""
        return {"storage": Storage.ETCD, "etcd_endpoints": endpoints, "etcd_prefix": prefix}
    if raw.get("postgresql"):
        return {"storage": Storage.POSTGRESQL}
    return {"storage": Storage.MYSQL if raw.get("mysql") else Storage.NONE}
