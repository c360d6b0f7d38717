"""Reads what a metasrv or a datanode serves at `/config`: TOML.

Durations are as Rust's humantime prints them ("30m", "1h 30m"), sizes as `common_base::readable_size` does ("1MiB", or
a number of bytes).
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from seawall.domain.dataplane.wal_settings import DatanodeSettings, WALSettings

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3_600.0,
    "day": 86_400.0,
    "month": 2_630_016.0,
    "year": 31_557_600.0,
}
_SIZES: dict[str, int] = {unit: 2 ** (10 * power) for power, unit in enumerate("BKMGTP")}
_SIZE = re.compile(r"(\d{1,18})\s*([KMGTP]?)(i?B)?", re.ASCII)
_PART = re.compile(r"(\d{1,18})([a-z]+)", re.ASCII)


class _Wal(BaseModel):
    """The keys of `[wal]` that are read. All others, a password among them, are dropped here."""

    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)

    provider: str
    topic_name_prefix: str | None = None
    num_topics: int | None = None
    auto_prune_interval: str | None = None
    auto_prune_logical_delete: bool = False


class _DatanodeWal(BaseModel):
    """The same of a datanode."""

    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)

    provider: str
    max_batch_bytes: str | int | None = None
    overwrite_entry_start_id: bool = False


class _DatanodeOptions(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)

    wal: _DatanodeWal


class _SoftDrop(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)

    enable: bool = False


class _Gc(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)

    experimental_soft_drop: _SoftDrop = _SoftDrop()


class _Options(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)

    wal: _Wal
    gc: _Gc = _Gc()
    heartbeat_interval: Any = None
    """Only told: what is no duration is as if it was not there."""


_OPTIONS, _DATANODE_OPTIONS = TypeAdapter(_Options), TypeAdapter(_DatanodeOptions)


def read_settings(body: bytes) -> WALSettings:
    """The settings of a metasrv.

    Raises:
        ValueError: these are no options of a metasrv.
    """
    options = _OPTIONS.validate_python(tomllib.loads(body.decode()))
    wal = options.wal
    return WALSettings(
        provider=wal.provider,
        topic_name_prefix=wal.topic_name_prefix,
        num_topics=wal.num_topics,
        auto_prune_seconds=None if wal.auto_prune_interval is None else read_duration(wal.auto_prune_interval),
        logical_delete=wal.auto_prune_logical_delete,
        heartbeat_seconds=_seconds_or_none(options.heartbeat_interval),
        soft_drop=options.gc.experimental_soft_drop.enable,
    )


def _seconds_or_none(value: object) -> float | None:
    try:
        return read_duration(str(value))
    except ValueError:
        return None


def read_datanode_settings(body: bytes) -> DatanodeSettings:
    """The settings of a datanode.

    Raises:
        ValueError: these are no options of a datanode.
    """
    wal = _DATANODE_OPTIONS.validate_python(tomllib.loads(body.decode())).wal
    batch = None if wal.max_batch_bytes is None else read_size(wal.max_batch_bytes)
    return DatanodeSettings(wal.provider, batch, wal.overwrite_entry_start_id)


def read_size(size: str | int) -> int:
    """Bytes: `1MiB` and `1MB` are 2^20, as GreptimeDB reads them.

    Raises:
        ValueError: it is no size.
    """
    found = _SIZE.fullmatch(str(size).strip())
    if found is None:
        raise ValueError("max_batch_bytes is no size")
    return int(found[1]) * _SIZES[found[2] or "B"]


def read_duration(text: str) -> float:
    """Seconds.

    Raises:
        ValueError: it is no duration.
    """
    parts = [_PART.fullmatch(part) for part in text.split()]
    seconds = [
        None if part is None or (unit := _UNITS.get(_singular(part[2]))) is None else int(part[1]) * unit
        for part in parts
    ]
    known = [each for each in seconds if each is not None]
    if not known or len(known) != len(seconds):
        raise ValueError("auto_prune_interval is no duration")
    return sum(known)


def _singular(unit: str) -> str:
    """`2days` has an s at its end, and so have ns, us, ms and s."""
    return unit.removesuffix("s") if unit.removesuffix("s") in {"day", "month", "year"} else unit
