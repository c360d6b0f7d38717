"""Who may lead a region, as the metasrv's memory says."""

from __future__ import annotations

from typing import Any

from refdb.metasrv.pruner import prunable
from refdb.metasrv.state import ClusterState

LEASE = 4.0


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def report(datanode: int, *regions: int, epoch: int = 1, flushed: int = 5, idle: int = 0, role: str = "Leader") -> Any:
    stats = [
        {
            "id": region,
            "role": role,
            "region_manifest": {"Mito": {"flushed_entry_id": flushed}},
            "data_topic_latest_entry_id": idle,
        }
        for region in regions
    ]
    return {"id": datanode, "addr": f"dn-{datanode}", "node_epoch": epoch, "region_stats": stats}


def test_only_the_leader_gets_leases() -> None:
    state = ClusterState(LEASE, 5, Clock())
    state.lead(1, 0)
    state.lead(2, 1)
    assert state.heartbeat(report(0, 1, 2, 3)) == {"granted": [1], "revoked": [2], "lease_seconds": LEASE}
    state.lead(1, None)
    assert state.heartbeat(report(0, 1)) == {"granted": [], "revoked": [1], "lease_seconds": LEASE}


def test_an_older_epoch_gets_nothing() -> None:
    state = ClusterState(LEASE, 5, Clock())
    state.lead(1, 0)
    state.heartbeat(report(0, 1, epoch=2))
    assert state.heartbeat(report(0, 1, epoch=1))["revoked"] == [1]
    assert state.nodes()[0].epoch == 2


def test_a_silent_datanode_is_dead_until_it_reports() -> None:
    clock = Clock()
    state = ClusterState(LEASE, 5, clock)
    state.heartbeat(report(0))
    clock.now = 5.5
    state.detect()
    assert state.nodes()[0].dead
    state.heartbeat(report(0))
    assert not state.nodes()[0].dead


def test_three_reports_are_kept_newest_last() -> None:
    state = ClusterState(LEASE, 5, Clock())
    for epoch in range(5):
        state.heartbeat(report(0, epoch=epoch))
    assert [kept["node_epoch"] for kept in state.nodes()[0].reports] == [2, 3, 4]


def test_only_fresh_reports_of_leaders_count_for_the_marker() -> None:
    clock = Clock()
    state = ClusterState(LEASE, 5, clock)
    state.lead(1, 0)
    state.lead(2, 1)
    state.heartbeat(report(0, 1, 2, flushed=5, idle=9))
    assert prunable(state, fresh=5) == {1: 9}
    state.heartbeat(report(1, 2, flushed=7, role="Follower"))
    assert prunable(state, fresh=5) == {1: 9}
    state.heartbeat(report(1, 2, flushed=7))
    assert prunable(state, fresh=5) == {1: 9, 2: 7}
    clock.now = 6
    assert prunable(state, fresh=5) == {}
