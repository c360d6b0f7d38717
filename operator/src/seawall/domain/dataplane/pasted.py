"""What of the rendered `[wal]` a GreptimeDBCluster's own text lacks: greptimedb-operator reads no ConfigMap of ours.

User names, passwords and the paths of certificates are left out: they reach the database by `spec.wal.kafka` or by
environment variables, and are not compared.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from seawall.domain.dataplane.greptimedb_cluster import GreptimeDBCluster, wal_section
from seawall.domain.dataplane.wal_settings import Difference

NOT_COMPARED = frozenset({"sasl", "tls"})


def not_pasted(cluster: GreptimeDBCluster, rendered: Mapping[str, str]) -> tuple[tuple[str, Difference], ...]:
    """By the field of its spec the keys that differ, the metasrv's first.

    Args:
        cluster: as the API server has it.
        rendered: the files of the ConfigMap.
    """
    metasrv, datanode = _wal(rendered["metasrv.toml"]), _wal(rendered["datanode.toml"])
    found = [("spec.meta.config", each) for each in _lacking(cluster, cluster.meta_config, metasrv)]
    for group in cluster.datanodes:
        found += [(f"{group.where}.config", each) for each in _lacking(cluster, group.config, datanode)]
    return tuple(found)


def _wal(text: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = tomllib.loads(text)["wal"]
    return found


def _lacking(cluster: GreptimeDBCluster, config: str, rendered: Mapping[str, Any]) -> Iterator[Difference]:
    has = wal_section(config, cluster.brokers)
    for key, value in rendered.items():
        if key in NOT_COMPARED:
            continue
        said = None if has is None else has.get(key)
        if _plain(said) != _plain(value):
            yield Difference(key, "not set" if said is None else _written(said), _written(value))


def _plain(value: object) -> object:
    """Brokers in any order are the same, and `1MiB` is `1MB` to GreptimeDB."""
    match value:
        case list():
            return sorted(map(str, value))
        case str():
            return value.upper().replace(" ", "").replace("IB", "B")
        case _:
            return value


def _written(value: object) -> str:
    """As TOML has it."""
    match value:
        case bool():
            return str(value).lower()
        case list():
            return "[" + ", ".join(map(_written, value)) + "]"
        case str():
            return f'"{value}"'
        case _:
            return str(value)
