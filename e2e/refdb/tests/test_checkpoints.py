"""A datanode that was stopped while others led its region, on a real etcd and a real Kafka: checkpoints and returns."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from refdb.datanode.node import Datanode, NodeOptions
from refdb.errors import DatabaseError
from refdb.meta import keys
from refdb.meta.etcd import Etcd
from refdb.meta.values import DatanodeTable, Peer, RegionRoute, TableRoute, checkpoint, checkpoint_value
from refdb.region.files import RegionFiles
from refdb.region.manifest import Manifest
from refdb.region.opener import Assignment, Floors, open_region
from refdb.region.region import Region
from refdb.schema import Column, ColumnType, Schema
from refdb.wal.log import WalLog
from refdb.wal.options import WalOptions
from refdb.wal.topics import require_topics
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess

pytestmark = pytest.mark.integration
SCHEMA = Schema((Column("ts", ColumnType.TIMESTAMP), Column("v", ColumnType.STRING)), (), "ts")
REGION = 4398046511105
ME, OTHER = Peer(0, "me:1"), Peer(1, "other:1")


class Bed:
    """A datanode without its HTTP, with one region that was flushed and is idle."""

    def __init__(self, kafka: KafkaProcesses, etcd: EtcdProcess, folder: Path) -> None:
        options = WalOptions(
            kafka={"bootstrap.servers": kafka.bootstrap_servers[0]}, topics=(f"c-{uuid.uuid4().hex[:8]}",)
        )
        require_topics(options)
        self.topic, self.log = options.topics[0], WalLog(options)
        self.etcd = Etcd(etcd.url, f"{self.topic}/")
        node_options = NodeOptions(ME, folder, idle_heartbeats=1, checkpoint_heartbeats=1)
        self.node = Datanode(node_options, self.etcd, self.log, epoch=1)
        self.node.create(REGION, self.topic, SCHEMA)
        self.region.extend_lease(time.monotonic() + 60)
        self.region.write([(1, "a")])
        self.region.flush()
        self.write_route(RegionRoute(REGION, ME))
        self.etcd.txn([], {keys.topic_region(self.topic, REGION): checkpoint_value(None)})

    @property
    def region(self) -> Region:
        return self.node.region(REGION)

    @property
    def files(self) -> RegionFiles:
        return self.node._files(REGION)

    def write_route(self, route: RegionRoute) -> None:
        self.etcd.txn([], {keys.table_route(1024): TableRoute((route,)).to_text()})

    def checkpoint(self) -> int | None:
        held = self.etcd.get(keys.topic_region(self.topic, REGION))
        assert held.exists
        return checkpoint(held.value)


@pytest.fixture
def bed(one_kafka: KafkaProcesses, etcd: EtcdProcess, tmp_path: Path) -> Iterator[Bed]:
    made = Bed(one_kafka, etcd, tmp_path)
    yield made
    made.log.close()


def test_the_leader_writes_it(bed: Bed) -> None:
    bed.node.tick()
    assert bed.checkpoint() == 1


@pytest.mark.parametrize("route", [RegionRoute(REGION, OTHER), RegionRoute(REGION, ME, downgrading=True)])
def test_nobody_else_does(bed: Bed, route: RegionRoute) -> None:
    bed.write_route(route)
    bed.node.tick()
    assert bed.checkpoint() is None


def test_a_leader_that_was_stopped_after_it_sampled_cannot(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = Region.sample_idle

    def stopped(region: Region) -> int | None:
        sampled = sample(region)
        bed.write_route(RegionRoute(REGION, OTHER))  # SIGSTOP here, failover, SIGCONT
        return sampled

    monkeypatch.setattr(Region, "sample_idle", stopped)
    bed.node.tick()
    assert bed.checkpoint() is None


def test_a_leader_that_was_stopped_before_it_sampled_cannot(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = Region.sample_idle

    def late(region: Region) -> int | None:
        bed.write_route(RegionRoute(REGION, OTHER))
        bed.log._append(bed.topic, b"of the new leader", b"x")
        return sample(region)

    monkeypatch.setattr(Region, "sample_idle", late)
    bed.node.tick()
    assert bed.checkpoint() is None


def test_a_region_that_comes_back_has_what_others_wrote(bed: Bed) -> None:
    old = bed.region
    elsewhere = open_region(Assignment(REGION, bed.topic, 1), Floors(), bed.files, bed.log)
    elsewhere.extend_lease(time.monotonic() + 60)
    elsewhere.write([(2, "b")])
    assert elsewhere.flush()
    bed.node.open(Assignment(REGION, bed.topic, 2))
    assert bed.region is not old
    bed.node.granted(
        {"granted": [(REGION, 1), (REGION, 2)], "revoked": [(REGION, 2)], "follows": [], "lease_seconds": 60},
        time.monotonic(),
    )
    assert sorted(bed.region.scan().rows) == [(1, "a"), (2, "b")]
    with pytest.raises(DatabaseError, match="was closed here"):
        old.write([(3, "c")])


def test_answers_about_an_earlier_term_neither_lease_nor_close_a_region(bed: Bed) -> None:
    bed.node.open(Assignment(REGION, bed.topic, 2))
    bed.node.granted(
        {"granted": [(REGION, 1)], "revoked": [(REGION, 2)], "follows": [], "lease_seconds": 60}, time.monotonic()
    )
    assert bed.region.report()["role"] == "Follower"
    bed.node.tick()
    assert bed.node.report()["terms"] == [(REGION, 2)]
    bed.node.granted({"granted": [], "revoked": [(REGION, 3)], "follows": [], "lease_seconds": 60}, time.monotonic())
    bed.node.tick()
    assert bed.node.report()["terms"] == []


def test_a_replaced_leader_that_was_asked_to_flush_is_closed_when_others_lead(bed: Bed) -> None:
    old = bed.region
    old.write([(2, "b")])
    open_region(Assignment(REGION, bed.topic, 1), Floors(), bed.files, bed.log)
    with pytest.raises(DatabaseError, match="another leader"):
        old.flush()  # a request to close it that comes late
    report = bed.node.report()
    assert (report["stat"]["region_stats"], report["terms"]) == ([], [(REGION, 0)])
    bed.node.granted({"granted": [], "revoked": [(REGION, 1)], "follows": [], "lease_seconds": 60}, time.monotonic())
    bed.node.tick()
    assert bed.node.report()["terms"] == []


def led_later(bed: Bed) -> Datanode:
    """Another datanode led the region in terms 1 to 3, and this one starts anew."""
    elsewhere = open_region(Assignment(REGION, bed.topic, 3), Floors(), bed.files, bed.log)
    elsewhere.extend_lease(time.monotonic() + 60)
    elsewhere.write([(2, "b")])
    assert elsewhere.flush()
    bed.etcd.txn([], {keys.datanode_table(ME.id, 1024): DatanodeTable(1024, {1: bed.topic}, 0).to_text()})
    return Datanode(bed.node.options, bed.etcd, bed.log, epoch=2)


def test_metadata_of_before_a_later_leader_decide_where_they_were_restored(bed: Bed) -> None:
    node = led_later(bed)
    node.open_all()
    assert node.report()["terms"] == [(REGION, 4)]
    assert TableRoute.from_text(bed.etcd.get(keys.table_route(1024)).value).of(REGION) == RegionRoute(
        REGION, ME, term=4
    )
    node.region(REGION).extend_lease(time.monotonic() + 60)
    assert sorted(node.region(REGION).scan().rows) == [(1, "a"), (2, "b")]


def test_a_region_that_is_moved_while_its_leader_starts_is_left_to_the_other(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, latest = led_later(bed), RegionFiles.latest
    moved = RegionRoute(REGION, OTHER, term=3)

    def late(files: RegionFiles) -> Manifest | None:
        bed.write_route(moved)  # after the route was read
        return latest(files)

    monkeypatch.setattr(RegionFiles, "latest", late)
    node.open_all()
    assert node.report()["terms"] == []
    assert TableRoute.from_text(bed.etcd.get(keys.table_route(1024)).value).of(REGION) == moved
