"""A GreptimeDBCluster of greptimedb-operator, as far as Seawall reads it, and the database that it makes.

greptimedb-operator v0.6.0 (ADR 43 has the files): a cluster `db` has the Services `db-meta` and `db-frontend` (of a
group `a` `db-frontend-a`), and the StatefulSets `db-datanode`, or `db-datanode-a` of each of the `datanodeGroups`. A
component's `config` is the TOML that it starts with; what the operator would write itself (`spec.wal.kafka`, the
metadata store) is added where the text does not have it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.data_plane import AutoPrune, FrontendAuth
from seawall.api.v1alpha1.metadata_store import Etcd, MetadataStore
from seawall.domain.dataplane.connection import NoDataPlane, NotReached
from seawall.domain.dataplane.declared import Database, DatanodeSet

KIND = "GreptimeDBCluster"
DEFAULT_PREFIX = "greptimedb_wal_topic"
"""GreptimeDB's own topic_name_prefix."""
_VERSION = re.compile(r"^v?(\d{1,2})\.(\d{1,2})(\.\d|$)")
_STORE_KEYS = ("backend", "store_addrs")


class Storage(StrEnum):
    """Where the metadata is."""

    ETCD = "etcd"
    POSTGRESQL = "PostgreSQL"
    MYSQL = "MySQL"
    NONE = "none"


class Absence(Enum):
    """Why there is no GreptimeDBCluster; each value is a clause about its name."""

    NO_CRD = "there is no GreptimeDBCluster {name}, because its CRD is not installed: install greptimedb-operator"
    MISSING = "there is no GreptimeDBCluster {name} in this namespace: correct clusterRef, or create it"
    STANDALONE = (
        "{name} is a GreptimeDBStandalone, which has no metasrv and never prunes: only a GreptimeDBCluster can be named"
    )


@dataclass(frozen=True, slots=True)
class GreptimeDBCluster:
    """What is read of a GreptimeDBCluster.

    Attributes:
        tag: of the datanodes' image, or the base image; empty: there is none.
        meta_config: the metasrv's TOML.
        meta_port: the metasrv's HTTP port.
        frontend: the name of its frontend's Service; None: it has none.
        frontend_port: the HTTP port of that Service.
        brokers: `spec.wal.kafka.brokerEndpoints`; None: there is no `spec.wal.kafka`.
        storage: where `spec.meta.backendStorage` has the metadata.
        etcd_endpoints: host:port of the members.
        etcd_prefix: `storeKeyPrefix`.
    """

    key: Key
    datanodes: tuple[DatanodeSet, ...]
    tag: str = ""
    meta_config: str = ""
    meta_port: int = 4000
    frontend: str | None = None
    frontend_port: int = 4000
    brokers: tuple[str, ...] | None = None
    storage: Storage = Storage.NONE
    etcd_endpoints: tuple[str, ...] = ()
    etcd_prefix: str = ""

    @property
    def version(self) -> str | None:
        """Major and minor version by the image's tag; None: it does not say, as `latest` does not."""
        found = _VERSION.match(self.tag)
        return None if found is None else f"{int(found[1])}.{int(found[2])}"

    @property
    def controller(self) -> str:
        """As its StatefulSets name it."""
        return f"{KIND} {self.key.name}"

    def url(self, service: str, port: int) -> str:
        """Of a Service."""
        return f"http://{service}.{self.key.namespace}.svc:{port}"


@dataclass(frozen=True, slots=True)
class DeclaredBeside:
    """What a person declares beside the name of a GreptimeDBCluster; None where that says it."""

    auto_prune: AutoPrune
    version: str | None = None
    metadata_store: MetadataStore | None = None
    auth: FrontendAuth | None = None


def found_database(
    declared: DeclaredBeside, name: str, found: GreptimeDBCluster | Absence, prefix: str
) -> Database | NoDataPlane:
    """The database of a GreptimeDBCluster, or in one sentence why there is none that Seawall can work with.

    Args:
        declared: what is declared beside it.
        name: of the GreptimeDBCluster.
        found: it, or why there is none.
        prefix: of the WALCluster's topics.
    """
    if isinstance(found, Absence):
        return NoDataPlane(NotReached.CLUSTER_MISSING, found.value.format(name=name))
    problem = _why_not(found, prefix)
    store = declared.metadata_store or _found_store(found)
    version = declared.version or found.version
    if problem is None and isinstance(store, str):
        problem = store
    if problem is None and version is None:
        problem = f'the tag of its image says no version ("{found.tag}"): set greptimedb.version beside clusterRef'
    if problem is not None or isinstance(store, str) or version is None or found.frontend is None:
        return NoDataPlane(NotReached.CLUSTER_UNSUITABLE, f"GreptimeDBCluster {name}: {problem}")
    return Database(
        version=version,
        metasrv=found.url(f"{name}-meta", found.meta_port),
        frontend=found.url(found.frontend, found.frontend_port),
        metadata_store=store,
        auto_prune=declared.auto_prune,
        auth=declared.auth,
        datanode_http_port=found.datanodes[0].http_port,
        cluster=found.key.name,
        datanodes=found.datanodes,
    )


def _why_not(found: GreptimeDBCluster, prefix: str) -> str | None:
    texts = {"spec.meta.config": found.meta_config, **{f"{each.where}.config": each.config for each in found.datanodes}}
    for where, text in texts.items():
        wal = wal_section(text, found.brokers)
        if wal is None:
            return f"{where} is no TOML"
        if wal.get("provider") != "kafka":
            return f'its WAL is not in Kafka: set spec.wal.kafka, or provider = "kafka" in [wal] of {where}'
    wal = wal_section(found.meta_config, found.brokers) or {}
    uses = str(wal.get("topic_name_prefix", DEFAULT_PREFIX))
    if uses != prefix:
        return (
            f"its WAL topics begin with {uses}, and those of this WALCluster with {prefix}: set topic_name_prefix in"
            " [wal] of spec.meta.config"
        )
    if found.frontend is None:
        return "it has no frontend, which Seawall asks for regions and flushes: set spec.frontend"
    return None if found.datanodes else "it has no datanodes"


def _found_store(found: GreptimeDBCluster) -> MetadataStore | str:
    """The etcd that it names, or why Seawall cannot find it by itself."""
    config = _toml(found.meta_config) or {}
    own = next((key for key in _STORE_KEYS if key in config), None)
    if own is not None:
        return f"spec.meta.config sets {own}: say where the metadata is in greptimedb.metadataStore"
    match found.storage:
        case Storage.ETCD:
            prefix = str(config.get("store_key_prefix", found.etcd_prefix))
            endpoints = (each.removeprefix("http://") for each in found.etcd_endpoints)
            return _etcd(tuple(f"http://{_reached_from_elsewhere(each, found)}" for each in endpoints), prefix)
        case Storage.POSTGRESQL | Storage.MYSQL:
            name = "PostgreSQL" if found.storage is Storage.POSTGRESQL else "MySQL"
            return f"its metadata is in {name}: say in greptimedb.metadataStore as whom Seawall reads it, and how"
        case Storage.NONE:
            return "it has no spec.meta.backendStorage: a memory store forgets which topic is whose"


def _reached_from_elsewhere(endpoint: str, found: GreptimeDBCluster) -> str:
    """A name without a dot is a Service of the namespace in which the metasrv runs, and Seawall may run in another."""
    host, colon, port = endpoint.partition(":")
    return endpoint if "." in host or not host else f"{host}.{found.key.namespace}.svc{colon}{port}"


def _etcd(endpoints: tuple[str, ...], prefix: str) -> MetadataStore | str:
    try:
        return MetadataStore(etcd=Etcd(endpoints=endpoints, prefix=prefix))
    except ValueError:
        return "the endpoints of its etcd are no host:port: say where it is in greptimedb.metadataStore"


def wal_section(config: str, brokers: tuple[str, ...] | None) -> Mapping[str, Any] | None:
    """`[wal]` that a component starts with: its own text, and what greptimedb-operator adds to it; None: no TOML.

    Args:
        config: the component's TOML.
        brokers: `spec.wal.kafka.brokerEndpoints`.
    """
    document = _toml(config)
    own = None if document is None else document.get("wal", {})
    if not isinstance(own, dict):
        return None
    added: dict[str, Any] = {} if brokers is None else {"provider": "kafka", "broker_endpoints": list(brokers)}
    return {**added, **own}


def _toml(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
