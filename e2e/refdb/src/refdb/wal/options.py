"""Reads the `[wal]` table of metasrv.toml or datanode.toml, as a WALCluster renders it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from refdb.errors import invalid

_SIZES = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DEFAULTS = {
    "auto_create_topics": True,
    "max_batch_bytes": "1MiB",
    "overwrite_entry_start_id": False,
    "num_topics": 64,
    "topic_name_prefix": "greptimedb_wal_topic",
    "replication_factor": 1,
    "auto_prune_interval": "0s",
    "auto_prune_logical_delete": False,
}
"""Of keys that nobody set; a metasrv serves them, too."""
_TLS = {
    "server_ca_cert_path": "ssl.ca.location",
    "client_cert_path": "ssl.certificate.location",
    "client_key_path": "ssl.key.location",
}


@dataclass(frozen=True, slots=True)
class WalOptions:
    """What refdb reads of `[wal]`; other keys of GreptimeDB are ignored."""

    kafka: dict[str, Any]
    """librdkafka's properties: addresses, SASL, TLS."""
    max_batch_bytes: int = 2**20
    topics: tuple[str, ...] = ()
    replication_factor: int = 1
    auto_create_topics: bool = True
    auto_prune_interval: float = 0.0
    """Seconds between prunes; 0 leaves it to Seawall (mode B)."""
    auto_prune_logical_delete: bool = False
    """Whether a prune only moves markers (mode A), and deletes no records."""
    served: str = ""
    """`[wal]` as it runs, in TOML: what a metasrv or a datanode serves at `/config`, passwords and all."""


def wal_options(text: str, environment: Mapping[str, str]) -> WalOptions:
    """Reads a configuration file; user name and password come by environment variables."""
    try:
        wal = tomllib.loads(text)["wal"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise invalid(f"the configuration has no readable [wal]: {error}") from None
    if wal.get("provider") != "kafka":
        raise invalid('refdb needs [wal] provider = "kafka"')
    wal = {**_DEFAULTS, **wal}
    wal["max_batch_bytes"] = readable(size(wal.pop("max_batch_size", wal["max_batch_bytes"])))
    return WalOptions(
        kafka=_kafka(wal, environment),
        max_batch_bytes=size(wal["max_batch_bytes"]),
        topics=tuple(f"{wal['topic_name_prefix']}_{number}" for number in range(wal["num_topics"])),
        replication_factor=wal["replication_factor"],
        auto_create_topics=wal["auto_create_topics"],
        auto_prune_interval=duration(wal["auto_prune_interval"]),
        auto_prune_logical_delete=wal["auto_prune_logical_delete"],
        served=_served(wal),
    )


def _served(wal: Mapping[str, Any]) -> str:
    """As GreptimeDB prints its options."""
    rows = {key: value for key, value in wal.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in wal.items() if isinstance(value, Mapping)}
    lines = ["[wal]", *_rows(rows)]
    for name, values in tables.items():
        lines += ["", f"[wal.{name}]", *_rows(values)]
    return "\n".join([*lines, ""])


def _rows(values: Mapping[str, Any]) -> list[str]:
    """Texts, numbers, truths and lists of texts are the same in JSON and TOML."""
    return [f"{key} = {json.dumps(value)}" for key, value in values.items()]


def _kafka(wal: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    tls, sasl = wal.get("tls"), wal.get("sasl")
    properties: dict[str, Any] = {"bootstrap.servers": ",".join(wal.get("broker_endpoints", ["127.0.0.1:9092"]))}
    if sasl is not None:
        properties |= {
            "sasl.mechanism": sasl["type"],
            "sasl.username": sasl.get("username") or _secret(environment, "USERNAME"),
            "sasl.password": sasl.get("password") or _secret(environment, "PASSWORD"),
        }
    if tls is not None:
        properties |= {_TLS[name]: path for name, path in tls.items()}
    protocol = ("sasl_" if sasl is not None else "") + ("ssl" if tls is not None else "plaintext")
    return properties | {"security.protocol": protocol}


def _secret(environment: Mapping[str, str], name: str) -> str:
    for role in ("DATANODE", "METASRV"):
        if value := environment.get(f"GREPTIMEDB_{role}__WAL__SASL__{name}"):
            return value
    raise invalid(f"set GREPTIMEDB_DATANODE__WAL__SASL__{name} (or …METASRV…): [wal] has sasl")


def size(text: str) -> int:
    """`1MB` and `1MiB` are 2^20 bytes."""
    match = re.fullmatch(r"(\d+)\s*([KMG]?)i?B?", str(text))
    if match is None:
        raise invalid(f"{text!r} is no size")
    return int(match[1]) * _SIZES[f"{match[2]}B"]


def readable(number: int) -> str | int:
    """As GreptimeDB prints a size: in the largest unit that it is a multiple of, or as a number of bytes."""
    unit = next((unit for unit in ("GB", "MB", "KB") if number and number % _SIZES[unit] == 0), None)
    return number if unit is None else f"{number // _SIZES[unit]}{unit[0]}iB"


def duration(text: str) -> float:
    """Seconds of `30s`, `5m`, `1h` or `100ms`."""
    match = re.fullmatch(r"(\d+)(ms|s|m|h)", str(text))
    if match is None:
        raise invalid(f"{text!r} is no duration")
    return int(match[1]) * _SECONDS[match[2]]
