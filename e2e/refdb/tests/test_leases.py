"""Who may lead a region, as the metasrv's memory says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refdb.meta.values import Peer, RegionRoute, TableRoute
from refdb.metasrv.pruner import prunable
from refdb.metasrv.state import DETECT_PERIOD, ClusterState

LEASE = 4.0


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def report(
    datanode: int,
    *regions: int,
    term: int = 0,
    epoch: int = 1,
    flushed: int = 5,
    idle: int = 0,
    role: str = "Leader",
) -> Any:
    stats = [
        {
            "id": region,
            "role": role,
            "region_manifest": {"Mito": {"flushed_entry_id": flushed}},
            "data_topic_latest_entry_id": idle,
        }
        for region in regions
    ]
    stat = {"id": datanode, "addr": f"dn-{datanode}", "node_epoch": epoch, "region_stats": stats}
    return {"stat": stat, "terms": [(region, term) for region in regions], "version": "1.1.0"}


def detect(state: ClusterState, seconds: float) -> None:
    for _ in range(int(seconds / DETECT_PERIOD)):
        state.detect()


def test_a_datanode_hears_what_it_follows() -> None:
    state = ClusterState(LEASE, 5, Clock())
    route = RegionRoute(1, Peer(0, "dn-0"), followers=(Peer(1, "dn-1"),))
    state.load(TableRoute((route,)))
    assert [state.heartbeat(report(node, 1))["follows"] for node in (0, 1)] == [[], [1]]
    state.follow(replace(route, followers=()))
    assert state.heartbeat(report(1))["follows"] == []


def test_only_the_leader_of_the_term_gets_leases() -> None:
    state = ClusterState(LEASE, 5, Clock())
    state.lead(1, 0, 0)
    state.lead(2, 1, 1)
    assert state.heartbeat(report(0, 1, 2, 3)) == {
        "granted": [(1, 0)],
        "revoked": [(2, 1)],
        "follows": [],
        "lease_seconds": LEASE,
    }
    state.withdraw(1, 1)
    assert state.heartbeat(report(0, 1)) == {"granted": [], "revoked": [(1, 1)], "follows": [], "lease_seconds": LEASE}
    assert state.heartbeat(report(0, 1, term=1)) == {
        "granted": [],
        "revoked": [],
        "follows": [],
        "lease_seconds": LEASE,
    }
    state.lead(1, 1, 0)
    assert state.heartbeat(report(0, 1))["revoked"] == [(1, 1)], "what it opened before it was moved away and back"
    assert state.heartbeat(report(0, 1, term=1))["granted"] == [(1, 1)]


def test_an_older_epoch_gets_nothing() -> None:
    state = ClusterState(LEASE, 5, Clock())
    state.lead(1, 0, 0)
    state.heartbeat(report(0, 1, epoch=2))
    assert state.heartbeat(report(0, 1, epoch=1))["granted"] == []
    assert state.nodes()[0].epoch == 2


def test_a_silent_datanode_is_dead_until_it_reports() -> None:
    state = ClusterState(LEASE, 5, Clock())
    state.heartbeat(report(0))
    detect(state, 5)
    assert not state.is_dead(0)
    detect(state, 0.5)
    assert state.is_dead(0)
    assert state.living() == []
    state.heartbeat(report(0))
    assert not state.is_dead(0)


def test_a_metasrv_that_was_stopped_itself_calls_nobody_dead() -> None:
    clock = Clock()
    state = ClusterState(LEASE, 5, clock)
    state.heartbeat(report(0))
    clock.now = 1000
    detect(state, 0.5)
    assert not state.is_dead(0)


def test_after_a_start_leaders_are_silent_from_then_on_and_leases_of_before_may_still_run() -> None:
    clock = Clock()
    clock.now = 100
    state = ClusterState(LEASE, 5, clock)
    state.load(TableRoute((RegionRoute(1, Peer(0, "dn-0")), RegionRoute(2, Peer(1, "dn-1"), downgrading=True, term=3))))
    detect(state, 5)
    assert not state.is_dead(0)
    assert state.lease_left(2) > LEASE
    clock.now = 102
    state.withdraw(2, 4)
    assert LEASE - 2 < state.lease_left(2) < LEASE, "nobody has led it meanwhile: it is not waited for anew"
    detect(state, 0.5)
    assert state.is_dead(0)


def test_three_reports_are_kept_newest_last() -> None:
    state = ClusterState(LEASE, 5, Clock())
    for epoch in range(5):
        state.heartbeat(report(0, epoch=epoch))
    assert [kept["node_epoch"] for kept in state.nodes()[0].reports] == [2, 3, 4]


def test_only_reports_of_living_leaders_count_for_the_marker() -> None:
    clock = Clock()
    state = ClusterState(LEASE, 5, clock)
    state.lead(1, 0, 0)
    state.lead(2, 0, 1)
    state.heartbeat(report(0, 1, 2, flushed=5, idle=9))
    assert prunable(state) == {1: 9}
    state.heartbeat(report(1, 2, flushed=7, role="Follower"))
    assert prunable(state) == {1: 9}
    state.heartbeat(report(1, 2, flushed=7))
    assert prunable(state) == {1: 9, 2: 7}
    detect(state, 5.5)
    assert prunable(state) == {}
