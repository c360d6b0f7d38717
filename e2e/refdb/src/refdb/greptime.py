"""GreptimeDB's own command line, so that greptimedb-operator can run refdb in its place.

`<role> start --http-addr … --config-file …`, as greptimedb-operator v0.6.0 writes it
(`deployers/{meta,datanode,frontend}.go`): addresses by flags, and the rest in the file: the metadata store, the node's
id and its gRPC address, which the initializer adds. Where GreptimeDB speaks gRPC, refdb serves its HTTP as well. Only
what refdb has no word for there comes by its own variables: REFDB_ETCD of datanodes and frontend, which in GreptimeDB
ask the metasrv, and REFDB_STORAGE.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from refdb.errors import invalid

START = "start"


def translated(words: Sequence[str]) -> list[str]:
    """Refdb's own words for GreptimeDB's; others are left as they are."""
    if len(words) < 2 or words[1] != START:  # noqa: PLR2004 - a role and a verb
        return list(words)
    role, flags = words[0], _flags(words[2:])
    options = _options(flags.get("config-file", ""))
    found = {
        "http": flags.get("http-addr"),
        "also-http": flags.get("rpc-bind-addr", _at(options, "grpc", "bind_addr")),
        "advertise": flags.get("rpc-server-addr", _at(options, "grpc", "server_addr")),
        "metasrv": flags.get("metasrv-addrs"),
    }
    if role != "frontend":
        found["config"] = flags.get("config-file")
    found |= {"metasrv": _of_metasrv, "datanode": _of_datanode}.get(role, lambda _: {})(options)
    return [role, *(f"--{name}={value}" for name, value in found.items() if value is not None)]


def _of_metasrv(options: Mapping[str, Any]) -> dict[str, str | None]:
    stores = options.get("store_addrs") or [None]
    store = None if stores[0] is None else f"http://{str(stores[0]).removeprefix('http://')}"
    failover = str(options.get("enable_region_failover", False)).lower()
    return {"etcd": store, "store-key-prefix": options.get("store_key_prefix"), "enable-region-failover": failover}


def _of_datanode(options: Mapping[str, Any]) -> dict[str, str | None]:
    home, number = _at(options, "storage", "data_home"), options.get("node_id")
    return {
        "home": None if home is None else f"{home}/refdb-home",
        "node-id": None if number is None else str(number),
    }


def _flags(words: Sequence[str]) -> dict[str, str]:
    """`--flag value` and `--flag=value`."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).removeprefix("--").partition("=")
        found[name] = value if equals or not rest else rest.pop(0)
    return found


def _options(file: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(Path(file).read_text()) if file else {}
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise invalid(f"--config-file: {error}") from None


def _at(options: Mapping[str, Any], table: str, key: str) -> str | None:
    value = options.get(table, {}).get(key)
    return None if value is None else str(value)
