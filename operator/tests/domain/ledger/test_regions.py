"""Reports and metadata become the table of regions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from seawall.domain.dataplane.metadata import LeaderState, MetadataSnapshot, RegionKey, Route, TopicMarker
from seawall.domain.dataplane.region_reports import microseconds
from seawall.domain.dataplane.reports import InnerReport, RegionReport, RegionRole
from seawall.domain.ledger.regions import build_regions

REGION = 2**63 + 5
NOW = datetime(2026, 11, 21, tzinfo=UTC)
REPORT = RegionReport(REGION, 1, 4, RegionRole.LEADER, NOW, "mito", 1, InnerReport(10, 15))
SNAPSHOT = MetadataSnapshot(
    revision=9,
    topics={"wal_0": TopicMarker(3, 2)},
    region_keys={("wal_0", REGION): RegionKey(8, None, 5)},
    wal_topics={REGION: frozenset({"wal_0"})},
    tombstoned_topics={},
    without_topic=frozenset({77}),
    routes={REGION: Route(1, LeaderState.NORMAL, 6)},
    datanodes={1: "node-1"},
    store_id="etcd/1/",
)


def test_a_region_takes_its_ids_from_its_leader_and_its_checkpoint_from_the_metadata() -> None:
    found = build_regions([REPORT], SNAPSHOT).regions
    assert (int(found.region[0]), found.leader.at(0), found.epoch.at(0), found.route_revision.at(0)) == (
        REGION,
        1,
        4,
        6,
    )
    assert (found.data_flushed.at(0), found.data_idle.at(0), found.data_checkpoint.at(0)) == (10, 15, 8)
    assert not found.opening[0]
    assert not found.metric[0]


def test_a_follower_and_a_former_leader_are_not_asked() -> None:
    other = replace(REPORT, datanode_id=2, data=InnerReport(99, 99))
    found = build_regions([REPORT, other], SNAPSHOT)
    assert found.regions.data_flushed.at(0) == 10
    assert build_regions([other], SNAPSHOT).regions.epoch.at(0) is None


@pytest.mark.parametrize("order", [1, -1])
def test_two_reports_of_one_leader_count_as_the_lower(order: int) -> None:
    newer = replace(REPORT, reported_at=NOW + timedelta(seconds=1), data=InnerReport(12, None))
    found = build_regions([REPORT, newer][::order], SNAPSHOT).regions
    assert (found.data_flushed.at(0), found.data_idle.at(0)) == (10, None)


@pytest.mark.parametrize(
    ("state", "role", "expected"),
    [
        (LeaderState.NORMAL, RegionRole.LEADER, False),
        (LeaderState.DOWNGRADING, RegionRole.LEADER, True),
        (LeaderState.STAGING, RegionRole.LEADER, True),
        (LeaderState.UNKNOWN, RegionRole.LEADER, True),
        (LeaderState.NORMAL, RegionRole.FOLLOWER, True),
        (LeaderState.NORMAL, RegionRole.DOWNGRADING, True),
        (LeaderState.NORMAL, RegionRole.STAGING, True),
        (LeaderState.NORMAL, RegionRole.UNKNOWN, True),
    ],
)
def test_whatever_is_not_plainly_led_is_opening(state: LeaderState, role: RegionRole, expected: bool) -> None:  # noqa: FBT001
    snapshot = replace(SNAPSHOT, routes={REGION: Route(1, state, 6)})
    assert bool(build_regions([replace(REPORT, role=role)], snapshot).regions.opening[0]) is expected


def test_the_metric_engine_has_two_inner_regions_and_a_half_report_is_unknown() -> None:
    metric = replace(REPORT, engine="metric", metadata=InnerReport(4, 5))
    snapshot = replace(SNAPSHOT, region_keys={("wal_0", REGION): RegionKey(8, 6, 5)})
    found = build_regions([metric], snapshot).regions
    assert (bool(found.metric[0]), found.metadata_flushed.at(0), found.metadata_checkpoint.at(0)) == (True, 4, 6)
    half = build_regions([replace(metric, metadata=None)], snapshot).regions
    assert (bool(half.metric[0]), half.metadata_flushed.at(0)) == (True, None)


def test_metadata_that_disagree_unmap_the_topic() -> None:
    found = build_regions([REPORT], replace(SNAPSHOT, wal_topics={}))
    assert found.torn == {
        "wal_0": f"region {REGION} has a key beside the topic, and in no datanode's table it has this topic"
    }


def test_a_tombstone_keeps_a_region_without_report() -> None:
    dropped = replace(
        SNAPSHOT, region_keys={}, wal_topics={}, tombstoned_topics={REGION: frozenset({"wal_0"})}, routes={}
    )
    found = build_regions([], dropped)
    assert found.regions.region.tolist() == [REGION]
    assert found.regions.epoch.at(0) is None


def test_a_reported_region_that_no_metadata_know_is_unplaced_by_each_who_says_that_it_leads() -> None:
    stranger = replace(REPORT, region_id=78, datanode_id=3)
    older = replace(stranger, reported_at=NOW - timedelta(seconds=1))
    follower = replace(stranger, datanode_id=4, role=RegionRole.FOLLOWER)
    staging = replace(stranger, datanode_id=5, role=RegionRole.UNKNOWN)
    found = build_regions([stranger, older, follower, staging, REPORT], SNAPSHOT, ["wal_9"])
    assert [(each.region, each.datanode, each.epoch) for each in found.unplaced] == [(78, 3, 4), (78, 5, 4)]
    assert found.unplaced[0].reported_at == microseconds(NOW)
    assert not found.torn


def test_a_region_without_remote_wal_is_nobodys_business() -> None:
    assert build_regions([REPORT, replace(REPORT, region_id=77)], SNAPSHOT).unplaced == ()


def test_a_topic_without_regions_has_its_row() -> None:
    found = build_regions([], SNAPSHOT, ["wal_9"])
    assert found.names == ("wal_0", "wal_9")
    assert found.regions.topic.tolist() == [0]
