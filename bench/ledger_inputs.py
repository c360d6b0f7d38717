"""What the ledger bench plans: healthy regions, as the ledger's inputs and as the ports give them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from seawall.domain.columns import Ids, RegionIds, Words
from seawall.domain.dataplane.metadata import MetadataSnapshot, TopicMarker
from seawall.domain.dataplane.metadata_tables import PairTable, RegionKeys, RegionTopics, Routes
from seawall.domain.dataplane.region_reports import ROLES, RegionReports, microseconds, region_reports
from seawall.domain.dataplane.reports import DatanodeReport, RegionRole
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.ledger import Inputs
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.domain.ledger.read import Read
from seawall.domain.ledger.tables import Freshness, Regions, TopicLog, make_topics, no_bounds

PER_TOPIC = 100
DATANODES = 50
NOW = datetime(2026, 11, 21, tzinfo=UTC)
REGIME = PruneMode(Mode.B)


def make_inputs(count: int) -> Inputs:
    """Healthy regions with ids at random, every topic purgeable."""
    random = np.random.default_rng(count)
    topics = count // PER_TOPIC
    flushed = random.integers(1_000, 5_000, count)
    none = np.zeros(count, np.bool_)
    regions = Regions(
        topic=np.repeat(np.arange(topics), PER_TOPIC),
        region=np.arange(count).astype(np.uint64) + np.uint64(2**42),
        leader=Ids.of_known(random.integers(0, DATANODES, count)),
        route_revision=Ids.of_known(np.ones(count, np.int64)),
        key_revision=Ids.of_known(np.ones(count, np.int64)),
        epoch=Ids.of_known(np.ones(count, np.int64)),
        reported_at=Ids.of_known(np.ones(count, np.int64)),
        data_flushed=Ids.of_known(flushed),
        data_checkpoint=Ids(flushed - 10, random.random(count) < 0.5),
        data_idle=Ids(flushed + 10, random.random(count) < 0.5),
        metric=random.random(count) < 0.3,
        metadata_flushed=Ids.of_known(flushed),
        metadata_checkpoint=Ids.unknown(count),
        metadata_idle=Ids.of_known(flushed + 10),
        opening=none,
        idle_is_durable=~none,
        dropped=none,
    )
    names = tuple(f"wal_{number}" for number in range(topics))
    log = TopicLog("id", 1, 500, 10_000, 10**7)
    rows = make_topics(
        names,
        1,
        logs=dict.fromkeys(names, log),
        markers=dict.fromkeys(names, 900),
        unmapped={},
        vanished=frozenset(),
    )
    return Inputs(REGIME, regions, Freshness(none, ~none, ~none, none, none), rows, no_bounds(topics))


def make_read(count: int) -> Read:
    """What the ports give: columns with a row for each region's report, key and route."""
    names = tuple(sorted(f"wal_{number}" for number in range(count // PER_TOPIC)))
    region = np.arange(count, dtype=np.uint64) + np.uint64(2**42)
    topic = np.repeat(np.arange(len(names)), PER_TOPIC)
    # A database gives each new region the next topic.
    of_topic = np.arange(count).reshape(PER_TOPIC, len(names)).T.reshape(-1)
    one, none = np.ones(count, np.int64), Words(np.zeros(count, np.uint64), np.zeros(count, np.bool_))
    leader = Words(region % np.uint64(DATANODES), np.ones(count, np.bool_))
    pairs = PairTable(names, topic, region[of_topic])
    return Read(
        began=0,
        reports=region_reports(make_reports(region)),
        snapshot=MetadataSnapshot(
            revision=1,
            topics={name: TopicMarker(0, 1) for name in names},
            region_keys=RegionKeys(pairs, none, none, one),
            wal_topics=RegionTopics(pairs),
            tombstoned_topics={},
            without_topic=frozenset(),
            routes=Routes(
                region,
                leader,
                np.zeros(count, np.uint8),
                one,
                (np.zeros(0, np.int64), region[:0]),
                may_have_staged=np.zeros(count, np.bool_),
            ),
            datanodes={},
            store_id="etcd/1/",
        ),
        logs={name: TopicLog("AAAAAAAAAAAAAAAAAAAAAA", 1, 0, 1000, 10**7) for name in names},
        epoch_ends=dict.fromkeys(names, 1000),
        records={name: FenceRecord("AAAAAAAAAAAAAAAAAAAAAA", 1, 0, 1000, 0) for name in names},
        holds=(),
        recorded={},
        ended=int(timedelta(seconds=1) / timedelta(milliseconds=1)),
        now=NOW,
    )


def later(read: Read, number: int) -> Read:
    """The same some heartbeats later."""
    reports = RegionReports.of(read.reports)
    again = replace(reports, reported_at=reports.reported_at + 5_000_000)
    return replace(read, began=number * 10_000, ended=number * 10_000 + 1_000, reports=again)


def make_answer(count: int) -> bytes:
    """A metasrv's, with three heartbeats of each datanode; its regions have the numbers that GreptimeDB sends."""
    lists = []
    for datanode in range(DATANODES):
        regions = [_region(2**42 + number) for number in range(datanode, count, DATANODES)]
        stat = {**_STAT, "id": datanode, "addr": f"datanode-{datanode}:4001", "region_stats": regions}
        lists.append(b",".join([json.dumps(stat, separators=(",", ":")).encode()] * 3))
    return b"[[" + b"],[".join(lists) + b"]]"


_STAT = {"timestamp_millis": 1795262000123, "node_epoch": 1795262000000, "rcus": 0, "wcus": 0, "topic_stats": []}
_SIZES = ("approximate_bytes", "num_rows", "manifest_size", "sst_size", "sst_num", "index_size", "written_bytes")


def _region(number: int) -> dict[str, object]:
    return {
        "id": number,
        "rcus": 0,
        "wcus": 0,
        **dict.fromkeys(_SIZES, 123_456_789),
        "engine": "mito",
        "role": "Leader",
        "memtable_size": 4096,
        "region_manifest": {"Mito": {"manifest_version": 17, "flushed_entry_id": 123_456, "file_removed_cnt": 0}},
        "data_topic_latest_entry_id": 123_460,
        "metadata_topic_latest_entry_id": 0,
    }


def make_reports(region: RegionIds) -> list[DatanodeReport]:
    """One of each datanode, of the regions that it leads."""
    return [
        DatanodeReport(
            number, f"datanode-{number}:4001", 1, NOW, _reports_of(number, region[region % DATANODES == number])
        )
        for number in range(DATANODES)
    ]


def _reports_of(datanode: int, region: RegionIds) -> RegionReports:
    count = len(region)
    none, set_, not_set = np.zeros(count, np.uint64), np.ones(count, np.bool_), np.zeros(count, np.bool_)
    return RegionReports(
        region=region,
        datanode=np.full(count, datanode, np.uint64),
        epoch=np.ones(count, np.uint64),
        role=np.full(count, ROLES.index(RegionRole.LEADER), np.uint8),
        reported_at=np.full(count, microseconds(NOW), np.int64),
        engine=np.zeros(count, np.uint8),
        memtable_bytes=none,
        flushed=Words(region % np.uint64(997), set_),
        idle=Words(none, not_set),
        has_metadata=not_set,
        metadata_flushed=Words(none, not_set),
        metadata_idle=Words(none, not_set),
    )
