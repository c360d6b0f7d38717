"""Heartbeats as the metasrv keeps them: `[[Stat, …], …]`, a list for each datanode, its newest last.

Only the newest of each list is decoded, one datanode after another, and at once into columns: ten thousand regions
make an answer of 13 MB. What is not listed here is ignored.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import msgspec
import numpy as np

from seawall.domain.columns import RegionIds, Words
from seawall.domain.dataplane.region_reports import EPOCH, ROLES, RegionReports, engine_number, microseconds
from seawall.domain.dataplane.reports import DatanodeReport, RegionRole

U64 = Annotated[int, msgspec.Meta(ge=0)]
"""That it is not greater than 2^64 - 1, numpy says."""


class Mito(msgspec.Struct, gc=False):
    """What a region's manifest says."""

    flushed_entry_id: U64


class Metric(msgspec.Struct, gc=False):
    """The same for the two inner regions of the metric engine."""

    data_flushed_entry_id: U64
    metadata_flushed_entry_id: U64


class Manifest(msgspec.Struct, gc=False):
    """One of the two, by the name of the engine."""

    mito: Mito | None = msgspec.field(name="Mito", default=None)
    metric: Metric | None = msgspec.field(name="Metric", default=None)

    @property
    def flushed(self) -> int | None:
        """Of the region, or of the metric engine's data region."""
        if self.metric is not None:
            return self.metric.data_flushed_entry_id
        return None if self.mito is None else self.mito.flushed_entry_id


class Region(msgspec.Struct, gc=False):
    """A region in a heartbeat."""

    id: U64
    engine: str
    role: str
    region_manifest: Manifest
    memtable_size: U64 = 0
    data_topic_latest_entry_id: U64 = 0
    metadata_topic_latest_entry_id: U64 = 0


class TopicStat(msgspec.Struct, gc=False):
    """What a datanode knows of a topic that it used lately (since GreptimeDB 0.17)."""

    topic: str
    latest_entry_id: U64


class Stat(msgspec.Struct):
    """A heartbeat of a datanode. The time is the metasrv's, when it took it in."""

    timestamp_millis: int
    id: U64
    addr: str
    node_epoch: U64
    region_stats: list[Region]
    topic_stats: list[TopicStat] = []


_LISTS = msgspec.json.Decoder(list[list[msgspec.Raw]])
_STAT = msgspec.json.Decoder(Stat)
_ROLES = {role.value: ROLES.index(role) for role in RegionRole if role is not RegionRole.UNKNOWN}
_UNKNOWN_ROLE = ROLES.index(RegionRole.UNKNOWN)


def read_heartbeats(body: bytes) -> list[DatanodeReport]:
    """The newest heartbeat of each list.

    Raises:
        ValueError: this is no such answer.
    """
    try:
        return [_datanode_report(_STAT.decode(stats[-1])) for stats in _LISTS.decode(body) if stats]
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    except OverflowError as error:
        raise ValueError("a number is no u64, or a time is none") from error


def _datanode_report(stat: Stat) -> DatanodeReport:
    at = EPOCH + timedelta(milliseconds=stat.timestamp_millis)
    regions = _region_reports(stat, microseconds(at))
    latest = _u64([each.latest_entry_id for each in stat.topic_stats]).tolist()
    newest = {each.topic: entry_id for each, entry_id in zip(stat.topic_stats, latest, strict=True)}
    return DatanodeReport(stat.id, stat.addr, stat.node_epoch, at, regions, newest)


def _region_reports(stat: Stat, at: int) -> RegionReports:
    regions, count = stat.region_stats, len(stat.region_stats)
    flushed = [region.region_manifest.flushed for region in regions]
    metric = [region.region_manifest.metric for region in regions]
    has_metadata = np.array([each is not None for each in metric], np.bool_)
    metadata_idle = _idle([region.metadata_topic_latest_entry_id for region in regions])
    return RegionReports(
        region=_u64([region.id for region in regions]),
        datanode=np.broadcast_to(np.uint64(stat.id), count),
        epoch=np.broadcast_to(np.uint64(stat.node_epoch), count),
        role=np.array([_ROLES.get(region.role, _UNKNOWN_ROLE) for region in regions], np.uint8),
        reported_at=np.broadcast_to(np.int64(at), count),
        engine=np.array([engine_number(region.engine) for region in regions], np.uint8),
        memtable_bytes=_u64([region.memtable_size for region in regions]),
        flushed=Words(
            _u64([each or 0 for each in flushed]), np.array([each is not None for each in flushed], np.bool_)
        ),
        idle=_idle([region.data_topic_latest_entry_id for region in regions]),
        has_metadata=has_metadata,
        metadata_flushed=Words(
            _u64([each.metadata_flushed_entry_id if each is not None else 0 for each in metric]), has_metadata
        ),
        metadata_idle=Words(metadata_idle.numbers, metadata_idle.known & has_metadata),
    )


def _idle(entry_ids: list[int]) -> Words:
    """GreptimeDB writes 0 for an idle id that it does not have: offset 0 is the topic's noop record."""
    numbers = _u64(entry_ids)
    return Words(numbers, numbers != 0)


def _u64(numbers: list[int]) -> RegionIds:
    return np.array(numbers, np.uint64)
