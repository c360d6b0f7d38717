"""Facts of datanodes: from two looks at real reports and metadata, and from the pods' addresses."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from seawall.domain.datanodes.facts import Datanode, RegionFacts, TopicFacts
from seawall.domain.datanodes.from_ledger import Sources, datanodes_by_id, datanodes_of_pods
from seawall.domain.dataplane.metadata import LeaderState, MetadataSnapshot, RegionKey, Route, TopicMarker
from seawall.domain.dataplane.reports import InnerReport, RegionReport, RegionRole
from seawall.domain.kafka import Topic
from seawall.domain.ledger.assess import assess
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.domain.ledger.read import Memory, Read
from seawall.domain.ledger.tables import TopicLog
from tests.domain.datanodes.builders import make_pod

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


def make_report(region: int, datanode: int, flushed: int, memtable: int = 1) -> RegionReport:
    inner = InnerReport(flushed, None)
    return RegionReport(region, datanode, 4, RegionRole.LEADER, NOW, "mito", memtable, inner)


REPORTS = (make_report(1, 1, 119), make_report(2, 1, 149, memtable=0), make_report(3, 2, 159))
SNAPSHOT = MetadataSnapshot(
    revision=9,
    topics={"wal_0": TopicMarker(0, 2), "wal_1": TopicMarker(0, 2)},
    region_keys={
        (topic, region): RegionKey(None, None, 5) for topic, region in (("wal_0", 1), ("wal_0", 2), ("wal_1", 3))
    },
    wal_topics={1: frozenset({"wal_0"}), 2: frozenset({"wal_0"}), 3: frozenset({"wal_1"})},
    tombstoned_topics={},
    without_topic=frozenset(),
    routes={region: Route(2 if region == 3 else 1, LeaderState.NORMAL, 6) for region in (1, 2, 3)},
    datanodes={1: "10.0.0.7:4001", 2: "datanode-1.datanode:4001", 5: "10.0.0.9:4001"},
    store_id="etcd/1/",
)
LOGS = {name: TopicLog(f"id-{name}", 3, 100, 200, size_bytes=1_000) for name in ("wal_0", "wal_1")}
TOPICS = {"wal_0": Topic("wal_0", 1, (1, 2, 3), (1, 2, 3), 1), "wal_1": Topic("wal_1", 1, (1, 2, 3), (1, 3), 1)}


def sources(
    *, observer: int = 2, reports: tuple[RegionReport, ...] = REPORTS, snapshot: MetadataSnapshot = SNAPSHOT
) -> Sources:
    """After so many looks, between which every datanode reports anew."""
    memory, found = Memory.at_start(0), None
    for number in range(observer):
        time = timedelta(seconds=10 * number)
        newest = tuple(replace(report, reported_at=report.reported_at + time) for report in reports)
        began = 10_000 * number
        read = Read(began, newest, snapshot, LOGS, {}, {}, (), {}, began + 10, NOW + time, processes={1: 4, 2: 4, 5: 7})
        found = assess(memory, read, PruneMode(Mode.B), ())
        memory = found.memory
    assert found is not None
    return Sources(plan(found.inputs), read, TOPICS)


def test_a_datanode_has_the_regions_that_its_routes_say_and_reads_each_topic_once() -> None:
    found = datanodes_by_id(sources())
    assert found[1] == Datanode(
        id=1,
        epoch=4,
        regions=(
            RegionFacts(
                region=1, topic="wal_0", reads_from=120, entries=80, flushed_to=119, in_memory=True, leads=True
            ),
            RegionFacts(
                region=2, topic="wal_0", reads_from=150, entries=50, flushed_to=149, in_memory=False, leads=True
            ),
        ),
        topics=(TopicFacts("wal_0", 3, 3, 100),),
        entries=80,
        size_bytes=800,
    )
    assert found[2].topics == (TopicFacts("wal_1", 3, 2, 100),)
    assert found[5] == Datanode(5, 7, (), (), 0, 0), "a datanode without regions replays nothing"


def test_what_was_not_seen_to_advance_does_not_count_as_leading() -> None:
    """An operator that has just started cannot tell a datanode that lives from one that died."""
    assert datanodes_by_id(sources(observer=1))[1].leading == 0
    assert datanodes_by_id(sources(observer=2))[1].leads_all


def test_a_region_that_is_opened_or_moved_does_not_lead() -> None:
    opening = replace(REPORTS[0], role=RegionRole.FOLLOWER)
    assert datanodes_by_id(sources(reports=(opening, *REPORTS[1:])))[1].leading == 1
    moved = replace(SNAPSHOT, routes={**SNAPSHOT.routes, 2: Route(1, LeaderState.DOWNGRADING, 7)})
    assert datanodes_by_id(sources(snapshot=moved))[1].leading == 1


def test_a_region_without_a_report_makes_the_replay_unknown() -> None:
    found = datanodes_by_id(sources(reports=REPORTS[1:]))[1]
    assert (found.entries, found.size_bytes, found.leading) == (None, None, 1)
    assert [region.reads_from for region in found.regions] == [None, 150]


def test_a_topic_that_kafka_does_not_show_has_no_replica_in_sync() -> None:
    recorded = replace(sources(), topics={}, moving={"wal_0"}, cut={"wal_0"})
    (topic,) = datanodes_by_id(recorded)[1].topics
    assert topic == TopicFacts("wal_0", 0, 0, 100, is_moving=True, is_cut=True)


def test_pods_are_known_by_their_ip_or_by_their_name() -> None:
    pods = (make_pod(0, address="10.0.0.7"), make_pod(1, address="10.0.0.8"), make_pod(2, address="10.0.0.11"))
    assert datanodes_of_pods(pods, SNAPSHOT.datanodes) == {"datanode-0": 1, "datanode-1": 2}


def test_a_name_says_more_than_what_was_found_before() -> None:
    assert datanodes_of_pods((make_pod(1),), {2: "datanode-1.datanode:4001"}, {"datanode-1": 7}) == {"datanode-1": 2}


def test_a_pod_that_has_not_told_its_new_address_is_the_datanode_that_it_was() -> None:
    pods = (make_pod(0, address="10.0.0.23"), make_pod(1), make_pod(2))
    remembered = {"datanode-0": 1, "datanode-1": 2}
    assert datanodes_of_pods(pods, SNAPSHOT.datanodes, remembered) == {"datanode-0": 1, "datanode-1": 2}
    assert datanodes_of_pods(pods, {1: "10.0.0.7:4001"}) == {}


def test_an_address_that_two_have_says_nothing() -> None:
    """A pod that died left its IP to another one."""
    pods = (make_pod(0, address="10.0.0.7"),)
    assert datanodes_of_pods(pods, {1: "10.0.0.7:4001", 2: "10.0.0.7:4001"}) == {}
    assert datanodes_of_pods(pods, {1: "10.0.0.7:4001", 2: "10.0.0.7:4001"}, {"datanode-0": 2}) == {"datanode-0": 2}
    assert datanodes_of_pods(pods, {1: "10.0.0.7:4001"}, {"datanode-0": 2}) == {}, "2 has not told its new address"
    both = (make_pod(0, address="10.0.0.7"), make_pod(1, address="10.0.0.8"))
    assert datanodes_of_pods(both, {1: "10.0.0.7:4001"}, {"datanode-1": 1}) == {}


def test_an_address_of_the_sixth_version_is_known_too() -> None:
    assert datanodes_of_pods((make_pod(0, address="fd00::7"),), {1: "[fd00::7]:4001"}) == {"datanode-0": 1}
