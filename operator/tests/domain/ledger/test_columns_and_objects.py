"""Columns of reports and metadata give the table that plain objects gave, and with it the same findings and offsets."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from seawall.domain.columns import Ids
from seawall.domain.dataplane.metadata import LeaderState, MetadataSnapshot, RegionKey, Route, TopicMarker
from seawall.domain.dataplane.metadata_tables import RegionKeys, RegionTopics, Routes
from seawall.domain.dataplane.region_reports import ENGINES, RegionReports
from seawall.domain.dataplane.reports import InnerReport, RegionReport, RegionRole
from seawall.domain.ledger import assess as assessing
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.ledger import Ledger, permit, plan, recorded_column
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.domain.ledger.policy import Policy, Safety
from seawall.domain.ledger.read import Memory, Read
from seawall.domain.ledger.regions import RegionsOfTopics, build_regions
from seawall.domain.ledger.tables import TopicLog
from tests.domain import plain_regions
from tests.domain.builders import NOW

POLICY, MODE = Policy("p", safety=Safety(open_grace=timedelta(seconds=2))), PruneMode(Mode.B)
TOPICS = ("wal_0", "wal_1", "wal_2")
REGIONS = st.sampled_from([1, 2, 3, 2**63 + 5, 2**64 - 1])
NODES = st.sampled_from([0, 1, 2])
IDS = st.none() | st.sampled_from([0, 1, 7, 50, 99, 100, 120, 2**63 - 1, 2**63, 2**64 - 1])
REVISIONS = st.integers(0, 12)
FOLLOWERS = st.just(()) | st.frozensets(NODES, max_size=2).map(lambda nodes: tuple(sorted(nodes)))
INNER = st.builds(InnerReport, IDS, IDS)
TIMES = st.integers(0, 3).map(lambda seconds: NOW + timedelta(seconds=seconds, microseconds=seconds))
REPORTS = st.builds(
    RegionReport,
    region_id=REGIONS,
    datanode_id=NODES,
    node_epoch=st.sampled_from([1, 2, 2**64 - 1]),
    role=st.sampled_from(RegionRole),
    reported_at=TIMES,
    engine=st.sampled_from(ENGINES),
    memtable_bytes=st.integers(0, 2),
    data=INNER,
    metadata=st.none() | INNER,
)
NAMED = st.dictionaries(REGIONS, st.frozensets(st.sampled_from(TOPICS), min_size=1))
SNAPSHOTS = st.builds(
    MetadataSnapshot,
    revision=st.just(12),
    topics=st.dictionaries(st.sampled_from(TOPICS), st.builds(TopicMarker, IDS, REVISIONS)),
    region_keys=st.dictionaries(st.tuples(st.sampled_from(TOPICS), REGIONS), st.builds(RegionKey, IDS, IDS, REVISIONS)),
    wal_topics=NAMED,
    tombstoned_topics=st.just({}) | NAMED,
    without_topic=st.frozensets(REGIONS, max_size=1),
    routes=st.dictionaries(
        REGIONS, st.builds(Route, st.none() | NODES, st.sampled_from(LeaderState), REVISIONS, FOLLOWERS), min_size=1
    ),
    datanodes=st.just({}),
    store_id=st.just("etcd/1/"),
    kept_dropped=st.just({}) | st.dictionaries(REGIONS.map(lambda region: region >> 32), st.none(), max_size=2),
)


@st.composite
def healthy(draw: st.DrawFn) -> tuple[list[RegionReport], MetadataSnapshot]:
    """All agree, and some of it is changed afterwards: or hardly any topic would have anything to purge."""
    topic_of = draw(st.dictionaries(REGIONS, st.sampled_from(TOPICS), min_size=1))
    leader = {region: draw(NODES) for region in topic_of}
    made = [
        RegionReport(region, leader[region], 1, RegionRole.LEADER, NOW, "mito", 0, InnerReport(draw(IDS) or 90, None))
        for region in topic_of
    ]
    snapshot = MetadataSnapshot(
        12,
        {name: TopicMarker(40, 1) for name in TOPICS},
        {(topic, region): RegionKey(draw(IDS), None, 1) for region, topic in topic_of.items()},
        {region: frozenset({topic}) for region, topic in topic_of.items()},
        {},
        frozenset(),
        {region: Route(leader[region], LeaderState.NORMAL, 1, draw(FOLLOWERS)) for region in topic_of},
        {},
        "etcd/1/",
    )
    return made + draw(st.lists(REPORTS, max_size=2)), snapshot


@st.composite
def anything(draw: st.DrawFn) -> tuple[list[RegionReport], MetadataSnapshot]:
    return draw(st.lists(REPORTS, max_size=8)), draw(SNAPSHOTS)


def as_columns(snapshot: MetadataSnapshot) -> MetadataSnapshot:
    return replace(
        snapshot,
        region_keys=RegionKeys.of(snapshot.region_keys.items()),
        wal_topics=RegionTopics.of(snapshot.wal_topics),
        tombstoned_topics=RegionTopics.of(snapshot.tombstoned_topics),
        routes=Routes.of(snapshot.routes.items()),
    )


def listed(table: RegionsOfTopics) -> dict[str, object]:
    columns = {each.name: getattr(table.regions, each.name) for each in fields(table.regions)}
    rows = {name: each.listed() if isinstance(each, Ids) else each.tolist() for name, each in columns.items()}
    followers = {
        "follows": table.followers.region.tolist(),
        "follower": table.followers.datanode.tolist(),
        "follows_data": table.followers.data.listed(),
        "follows_metadata": table.followers.metadata.listed(),
        "follows_metric": table.followers.metric.tolist(),
    }
    return {"names": table.names, "torn": set(table.torn), "unplaced": table.unplaced, **followers, **rows}


@given(healthy() | anything())
def test_the_table_is_the_same(given_look: tuple[list[RegionReport], MetadataSnapshot]) -> None:
    reports, snapshot = given_look
    expected = listed(plain_regions.build_regions(reports, snapshot, ["wal_1", "wal_9"]))
    assert listed(build_regions(reports, snapshot, ["wal_1", "wal_9"])) == expected
    assert listed(build_regions(RegionReports.of(reports), as_columns(snapshot), ["wal_1", "wal_9"])) == expected


@given(healthy() | anything())
def test_columns_are_the_objects_that_they_were_made_of(
    given_look: tuple[list[RegionReport], MetadataSnapshot],
) -> None:
    reports, snapshot = given_look
    assert list(RegionReports.of(reports)) == reports
    half = len(reports) // 2
    parts = [RegionReports.of(reports[:half]), RegionReports.of(reports[half:])]
    assert list(RegionReports.joined(parts)) == reports
    assert as_columns(snapshot) == snapshot
    for region in {report.region_id for report in reports} | snapshot.wal_topics.keys():
        columns = as_columns(snapshot)
        assert columns.wal_topics.get(region) == snapshot.wal_topics.get(region)
        assert columns.routes.get(region) == snapshot.routes.get(region)
        for topic in (*TOPICS, "wal_9"):
            assert columns.region_keys.get((topic, region)) == snapshot.region_keys.get((topic, region))


def read_of(reports: list[RegionReport], snapshot: MetadataSnapshot, began: int) -> Read:
    later = [replace(each, reported_at=each.reported_at + timedelta(milliseconds=began)) for each in reports]
    names = sorted({*TOPICS, *snapshot.topics})
    return Read(
        began=began,
        reports=later,
        snapshot=snapshot,
        logs={name: TopicLog("id", 1, 10, 200) for name in names},
        epoch_ends=dict.fromkeys(names, 200),
        records={name: FenceRecord("id", 1, 10, 60, 10) for name in names},
        holds=(),
        recorded=dict.fromkeys(names, 40),
        ended=began + 1,
        now=NOW + timedelta(milliseconds=began),
    )


def said(ledger: Ledger) -> list[object]:
    topics = ledger.topics.names
    rows = range(len(topics))
    return [[topics[row], ledger.reason(row), ledger.purge_to.at(row), ledger.holder_of(row)] for row in rows]


@settings(max_examples=40)
@given(healthy() | anything())
def test_findings_and_offsets_are_the_same(given_look: tuple[list[RegionReport], MetadataSnapshot]) -> None:
    """Over several looks, at the end of which topics may be purged."""
    reports, snapshot = given_look
    memories = [Memory.at_start(0)] * 2
    for began in range(1_000, 7_000, 1_000):
        looks = []
        for number, build in enumerate((build_regions, plain_regions.build_regions)):
            read = read_of(reports, as_columns(snapshot) if number == 0 else snapshot, began)
            with patch.object(assessing, "build_regions", build):
                found = assessing.assess(memories[number], read, MODE, (POLICY,))
            memories[number] = found.memory
            recorded = recorded_column(found.inputs.topics.names, dict(read.recorded))
            looks.append([said(plan(found.inputs)), said(permit(found.inputs, recorded)), found.identities])
        assert looks[0] == looks[1]


def test_some_of_these_looks_end_with_a_purge() -> None:
    """Or nothing would have been compared above."""
    snapshot = MetadataSnapshot(
        12,
        {"wal_0": TopicMarker(40, 1)},
        {("wal_0", 1): RegionKey(None, None, 1)},
        {1: frozenset({"wal_0"})},
        {},
        frozenset(),
        {1: Route(1, LeaderState.NORMAL, 1)},
        {},
        "etcd/1/",
    )
    report = RegionReport(1, 1, 1, RegionRole.LEADER, NOW, "mito", 0, InnerReport(90, None))
    memory, purged = Memory.at_start(0), []
    for began in range(1_000, 7_000, 1_000):
        read = read_of([report], as_columns(snapshot), began)
        found = assessing.assess(memory, read, MODE, (POLICY,))
        memory = found.memory
        recorded = recorded_column(found.inputs.topics.names, dict(read.recorded))
        purged.append(permit(found.inputs, recorded).purge_to.at(0))
    assert purged[-1] == 40
    assert None in purged
