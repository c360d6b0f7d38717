"""Heartbeats as the metasrv keeps them: `[[Stat, …], …]`, a list for each datanode, its newest last.

They are read one by one, and all but the newest are dropped at once: ten thousand regions make an answer of 13 MB.
What is not listed here is ignored.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import Field, StrictInt, StrictStr, TypeAdapter
from pydantic.dataclasses import dataclass

from seawall.domain.dataplane.reports import DatanodeReport, InnerReport, RegionReport, RegionRole

U64 = Annotated[int, Field(strict=True, ge=0, le=2**64 - 1)]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Mito:
    """What a region's manifest says."""

    flushed_entry_id: U64


@dataclass(frozen=True, slots=True)
class Metric:
    """The same for the two inner regions of the metric engine."""

    data_flushed_entry_id: U64
    metadata_flushed_entry_id: U64


@dataclass(frozen=True, slots=True)
class Manifest:
    """One of the two, by the name of the engine."""

    mito: Annotated[Mito | None, Field(alias="Mito")] = None
    metric: Annotated[Metric | None, Field(alias="Metric")] = None


@dataclass(frozen=True, slots=True)
class Region:
    """A region in a heartbeat."""

    id: U64
    engine: StrictStr
    role: StrictStr
    region_manifest: Manifest
    memtable_size: U64 = 0
    data_topic_latest_entry_id: U64 = 0
    metadata_topic_latest_entry_id: U64 = 0


@dataclass(frozen=True, slots=True)
class TopicStat:
    """What a datanode knows of a topic that it used lately (since GreptimeDB 0.17)."""

    topic: StrictStr
    latest_entry_id: U64


@dataclass(frozen=True, slots=True)
class Stat:
    """A heartbeat of a datanode. The time is the metasrv's, when it took it in."""

    timestamp_millis: StrictInt
    id: U64
    addr: StrictStr
    node_epoch: U64
    region_stats: list[Region]
    topic_stats: list[TopicStat] = Field(default_factory=list)


_STAT = TypeAdapter(Stat)
_BLANKS = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_ROLES = {role.value: role for role in RegionRole if role is not RegionRole.UNKNOWN}


def read_heartbeats(body: bytes) -> list[DatanodeReport]:
    """The newest heartbeat of each list.

    Raises:
        ValueError: this is no such answer (pydantic's errors are ValueErrors too).
        OverflowError: a time is none.
    """
    text = body.decode()
    lists, end = _array(text, 0, _newest)
    if end != len(text.rstrip()):
        raise ValueError("something follows the heartbeats")
    return [report for reports in lists for report in reports]


def _newest(text: str, at: int) -> tuple[list[DatanodeReport], int]:
    stats, end = _array(text, at, _DECODER.raw_decode, kept=1)
    return [_datanode_report(_STAT.validate_python(stat)) for stat in stats], end


def _array(
    text: str, at: int, read: Callable[[str, int], tuple[Any, int]], *, kept: int | None = None
) -> tuple[deque[Any], int]:
    """The last `kept` elements of the JSON array at `at`, and where it ends; `read` reads an element."""
    found: deque[Any] = deque(maxlen=kept)
    mark, at = _mark(text, at, "[")
    if text.startswith("]", at):
        return found, at + 1
    while mark != "]":
        value, at = read(text, at)
        found.append(value)
        mark, at = _mark(text, at, ",]")
    return found, at


def _mark(text: str, at: int, wanted: str) -> tuple[str, int]:
    """One of the wanted marks, with blanks around it, and where what follows begins."""
    at = _after_blanks(text, at)
    mark = text[at : at + 1]
    if not mark or mark not in wanted:
        raise ValueError(f"no {' or '.join(wanted)} at {at}")
    return mark, at + 1 if mark == "]" else _after_blanks(text, at + 1)


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _datanode_report(stat: Stat) -> DatanodeReport:
    at = EPOCH + timedelta(milliseconds=stat.timestamp_millis)
    regions = tuple(_region_report(region, stat, at) for region in stat.region_stats)
    newest = {each.topic: each.latest_entry_id for each in stat.topic_stats}
    return DatanodeReport(stat.id, stat.addr, stat.node_epoch, at, regions, newest)


def _region_report(region: Region, stat: Stat, at: datetime) -> RegionReport:
    data, metadata = _inner_reports(region)
    return RegionReport(
        region_id=region.id,
        datanode_id=stat.id,
        node_epoch=stat.node_epoch,
        role=_ROLES.get(region.role, RegionRole.UNKNOWN),
        reported_at=at,
        engine=region.engine,
        memtable_bytes=region.memtable_size,
        data=data,
        metadata=metadata,
    )


def _inner_reports(region: Region) -> tuple[InnerReport, InnerReport | None]:
    """GreptimeDB writes 0 for an idle id that it does not have: offset 0 is the topic's noop record."""
    idle, metadata_idle = region.data_topic_latest_entry_id or None, region.metadata_topic_latest_entry_id or None
    metric, mito = region.region_manifest.metric, region.region_manifest.mito
    if metric is not None:
        data = InnerReport(metric.data_flushed_entry_id, idle)
        return data, InnerReport(metric.metadata_flushed_entry_id, metadata_idle)
    return InnerReport(mito.flushed_entry_id if mito is not None else None, idle), None
