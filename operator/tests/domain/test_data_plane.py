"""What a WALCluster says of its data plane, and that its topics are tended all the same."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import DataPlaneStatus, WALCluster
from seawall.domain.cluster.observed import Observed
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.connection import NoDataPlane, NotReached
from seawall.domain.dataplane.identity import Node, NodeRole, reads_marker_at_open, weakest_version
from seawall.domain.dataplane.metadata import LeaderState, MetadataSnapshot, RegionKey, Route, TopicMarker
from seawall.domain.dataplane.reports import DatanodeReport, InnerReport, RegionReport, RegionRole
from seawall.domain.dataplane.view import DataPlaneView, RunningWAL, view_data_plane
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.ledger import watch
from seawall.domain.ledger.observation import Unavailable, UnavailableReason
from seawall.domain.step import Act, EventType, Record, Wait
from tests.domain.builders import (
    NOW,
    PINNED,
    make_cluster,
    make_kafka,
    make_spec,
    make_topic,
    next_step,
    observe,
    settle,
)
from tests.fakes.dataplane import settings

GREPTIMEDB = {
    "version": "1.1",
    "autoPrune": "Disabled",
    "metasrv": "http://metasrv:4000",
    "frontend": "http://frontend:4000",
    "metadataStore": {"etcd": {"endpoints": ["http://etcd:2379"]}},
}
SPEC = make_spec(dataPlane={"greptimedb": GREPTIMEDB})
POOL = make_kafka(make_topic("wal_0"), make_topic("wal_1"))
STORE = "etcd/1/"
VIEW = DataPlaneView(
    datanodes=3,
    reporting=2,
    regions=6,
    topics_in_use=2,
    store_id=STORE,
    claims={},
    version="1.1.0",
    wal=settings(topics=2),
)
SILENT = NoDataPlane(NotReached.METASRV_UNREACHABLE, "the metasrv does not answer")
REFUSED = NoDataPlane(NotReached.AUTHENTICATION_FAILED, "etcd refused the password")


def recorded(data_plane: DataPlaneView | NoDataPlane | None, **other: Any) -> Observed:
    return observe(SPEC, POOL, data_plane=data_plane, **other)


def reachable(cluster: WALCluster) -> Condition | None:
    return find_condition(cluster.status.conditions, ConditionType.DATA_PLANE_REACHABLE)


def shown(cluster: WALCluster) -> tuple[str, str, str] | None:
    found = reachable(cluster)
    return (found.status, found.reason, found.message) if found else None


def ready(cluster: WALCluster) -> str:
    found = find_condition(cluster.status.conditions, ConditionType.READY)
    assert found is not None
    return found.status


def test_one_that_answers_is_reachable_and_its_numbers_are_shown() -> None:
    cluster, step = settle(make_cluster(SPEC, PINNED), recorded(VIEW))
    assert shown(cluster) == ("True", "Connected", "2 of 3 datanodes report")
    assert cluster.status.data_plane == DataPlaneStatus(
        identity=STORE,
        version="1.1.0",
        datanodes=3,
        reporting=2,
        regions=6,
        topics_in_use=2,
        reads_marker_at_open=True,
    )
    assert step == Wait("2 topics are ready", None)


@pytest.mark.parametrize("trouble", [SILENT, REFUSED])
def test_one_that_does_not_answer_is_said_and_the_topics_stay_ready(trouble: NoDataPlane) -> None:
    before, _ = settle(make_cluster(SPEC, PINNED), recorded(VIEW))
    cluster, _ = settle(before, recorded(trouble))
    assert shown(cluster) == ("False", trouble.why.value, trouble.message)
    assert ready(cluster) == "True"
    assert cluster.status.data_plane == before.status.data_plane, "what was last known stays"


def test_the_topics_are_tended_while_it_does_not_answer() -> None:
    _, step = settle(make_cluster(SPEC, PINNED), observe(SPEC, make_kafka(), data_plane=SILENT))
    assert isinstance(step, Act)


@pytest.mark.parametrize("found", [SILENT, REFUSED])
def test_a_database_that_is_not_well_is_asked_again_by_the_watch_of_its_ledger_which_wakes_this_one(
    found: NoDataPlane,
) -> None:
    _, step = settle(make_cluster(SPEC, PINNED), recorded(found))
    assert step == Wait("2 topics are ready", None)
    for why in set(UnavailableReason) - {UnavailableReason.NO_DATA_PLANE, UnavailableReason.INVALID_SPEC}:
        watched = watch.Watched(Unavailable(why, "it does not answer"), may_write=True)
        assert watch.decide(make_cluster(SPEC, PINNED), watched).verdict.after == 10.0


def test_a_sooner_look_at_the_topics_is_not_put_off() -> None:
    leaderless = make_kafka(make_topic("wal_0", leader=None), make_topic("wal_1"))
    _, step = settle(make_cluster(SPEC, PINNED), observe(SPEC, leaderless, data_plane=SILENT))
    assert step == Wait("1 of 2 topics have no leader", 0.5)


def test_before_the_first_look_nothing_is_known() -> None:
    cluster, step = settle(make_cluster(SPEC, PINNED), recorded(None))
    assert shown(cluster) == ("Unknown", "NotAsked", "the first look at the data plane has not ended yet")
    assert cluster.status.data_plane is None
    assert step == Wait("2 topics are ready", None)


@pytest.mark.parametrize("known", [VIEW, SILENT])
def test_a_restarted_operator_changes_nothing_before_its_first_look(known: DataPlaneView | NoDataPlane) -> None:
    cluster, _ = settle(make_cluster(SPEC, PINNED), recorded(known))
    assert isinstance(next_step(cluster, recorded(None)), Wait)


def test_after_an_edit_what_was_known_does_not_stand() -> None:
    cluster, _ = settle(make_cluster(SPEC, PINNED), recorded(VIEW))
    edited = replace(cluster, metadata=cluster.metadata.model_copy(update={"generation": 2}))
    assert shown(settle(edited, recorded(None))[0]) == (
        "Unknown",
        "NotAsked",
        "the first look at the data plane has not ended yet",
    )


def test_without_a_data_plane_nothing_is_said_of_it() -> None:
    cluster, _ = settle(make_cluster(SPEC, PINNED), recorded(VIEW))
    without = replace(cluster, spec=make_spec())
    gone, _ = settle(without, observe(make_spec(), POOL))
    assert reachable(gone) is None
    assert gone.status.data_plane == DataPlaneStatus(identity=STORE), "what is pinned outlives the declaration"


def test_it_is_told_while_kafka_does_not_answer() -> None:
    cluster, _ = settle(
        make_cluster(SPEC, PINNED), Observed(NOW, NoKafka(Unreachable.NOT_ANSWERING, "k"), data_plane=VIEW)
    )
    assert shown(cluster) == ("True", "Connected", "2 of 3 datanodes report")
    assert ready(cluster) == "False"


def test_an_invalid_spec_says_that_nobody_asks() -> None:
    cluster, _ = settle(make_cluster(SPEC, PINNED), recorded(VIEW))
    invalid, _ = settle(replace(cluster, spec=InvalidSpec("spec.topics: no")), Observed(NOW))
    assert shown(invalid) == ("Unknown", "NotAsked", "spec.topics: no")
    assert invalid.status.data_plane == cluster.status.data_plane


def test_losing_it_and_finding_it_again_are_events() -> None:
    cluster, _ = settle(make_cluster(SPEC, PINNED), recorded(VIEW))
    lost = next_step(cluster, recorded(SILENT))
    assert isinstance(lost, Record)
    assert [(event.type, event.reason) for event in lost.events] == [(EventType.WARNING, "MetasrvUnreachable")]
    found = next_step(replace(cluster, status=lost.status), recorded(VIEW))
    assert isinstance(found, Record)
    assert [(event.type, event.reason, event.message) for event in found.events] == [
        (EventType.NORMAL, "Connected", "the data plane answers again: 2 of 3 datanodes report")
    ]


def test_the_first_look_is_no_event_when_all_is_well() -> None:
    before, _ = settle(make_cluster(SPEC, PINNED), recorded(None))
    step = next_step(before, recorded(VIEW))
    assert isinstance(step, Record)
    assert step.events == ()


@pytest.mark.parametrize(
    ("ago", "version"),
    [(timedelta(), None), (timedelta(minutes=1), None), (timedelta(minutes=1, seconds=1), "1.1.0")],
)
def test_of_who_reports_and_is_not_listed_no_version_is_known(ago: timedelta, version: str | None) -> None:
    """The list forgets a datanode that is gone, and the metasrv keeps its last report: it is none that runs."""
    listed = [Node(NodeRole.DATANODE, 0, "a", "1.1.0")]
    for clock in (timedelta(), timedelta(days=400)):  # whatever ours says
        at = NOW + clock
        reports = [DatanodeReport(0, "a", 1, at, ()), DatanodeReport(1, "b", 1, at - ago, ())]
        assert weakest_version(listed, reports) == version
    assert weakest_version(listed, ()) == "1.1.0"


@pytest.mark.parametrize(
    ("version", "reads"),
    [("0.16", False), ("0.17", False), ("1.0", False), ("1.1", True), ("1.10", True), ("2.0", True)],
)
def test_the_marker_is_read_at_open_since_1_1(version: str, reads: bool) -> None:  # noqa: FBT001 - a table
    assert reads_marker_at_open(version) is reads


def test_a_view_counts_what_is_known() -> None:
    keys = {("t_0", 1): RegionKey(None, None, 1), ("t_0", 2): RegionKey(None, None, 1)}
    snapshot = MetadataSnapshot(
        revision=1,
        topics={"t_0": TopicMarker(0, 1), "t_1": TopicMarker(0, 1)},
        region_keys=keys,
        wal_topics={1: frozenset({"t_0"}), 2: frozenset({"t_0"})},
        tombstoned_topics={3: frozenset({"t_2"})},
        without_topic=frozenset({9}),
        routes={1: Route(0, LeaderState.NORMAL, 1, (1, 2))},
        datanodes={0: "a", 1: "b", 2: "c"},
        store_id=STORE,
        claims={"wal": "uid"},
    )
    reports = [
        DatanodeReport(0, "a", 1, NOW - timedelta(seconds=9), (_report(0, RegionRole.LEADER, 900),)),
        DatanodeReport(1, "b", 1, NOW - timedelta(minutes=2), (_report(1, RegionRole.FOLLOWER, 100),)),
        DatanodeReport(7, "d", 1, NOW + timedelta(hours=1), ()),
    ]
    nodes = [Node(NodeRole.DATANODE, number, "a", "1.1.0") for number in (0, 7)]
    nodes.append(Node(NodeRole.METASRV, 0, "m", "1.0.2"))
    assert view_data_plane(reports, snapshot, nodes, RunningWAL(), NOW) == DataPlaneView(
        datanodes=4,
        reporting=1,
        regions=3,
        topics_in_use=2,
        store_id=STORE,
        claims={"wal": "uid"},
        version="1.0.2",
        wal=None,
        followers=2,
        silent_followers=1,
        follower_lag=1024,
    )


def _report(datanode: int, role: RegionRole, flushed: int) -> RegionReport:
    return RegionReport(1, datanode, 1, role, NOW, "mito", 0, InnerReport(flushed, None))
