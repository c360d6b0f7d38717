"""Never two leases for one region, whatever is late: heartbeats, answers, stops of datanodes, migrations."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from refdb.meta.values import Peer, RegionRoute, TableRoute
from refdb.metasrv.state import ClusterState

REGION, LEASE = 7, 4.0
NODES = st.sampled_from([0, 1, 2])


class OneLeader(RuleBasedStateMachine):
    """Datanodes that have opened the region for a term, with the end of its lease; messages that may be late.

    `route` stands for etcd: it survives the metasrv.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.route = RegionRoute(REGION, Peer(0, "dn-0"))
        self.opened: dict[int, tuple[int, float]] = {0: (0, 0.0)}
        self.late: list[tuple[int, int, float]] = []
        self.late_answers: list[tuple[int, Any, float]] = []
        self.state = self._started()

    def _started(self) -> ClusterState:
        state = ClusterState(LEASE, 5, lambda: self.now)
        state.load(TableRoute((self.route,)))
        return state

    @rule(stopped=st.none() | NODES, seconds=st.floats(0, 1))
    def datanodes_report(self, stopped: int | None, seconds: float) -> None:
        self.now += seconds
        for node, (term, _) in list(self.opened.items()):
            if node != stopped:
                self._take_in(node, self._asked(node, term), self.now)

    @rule(answered=st.booleans())
    def heartbeats_or_their_answers_are_late(self, *, answered: bool) -> None:
        for node, (term, _) in self.opened.items():
            if answered:
                self.late_answers.append((node, self._asked(node, term), self.now))
            else:
                self.late.append((node, term, self.now))

    @rule()
    def what_was_late_arrives(self) -> None:
        self.late_answers += [(node, self._asked(node, term), sent) for node, term, sent in self.late]
        for node, answer, sent in self.late_answers:
            self._take_in(node, answer, sent)
        self.late, self.late_answers = [], []

    @rule(to=NODES, old_one_answers=st.booleans(), metasrv_is_killed=st.booleans(), half_way=st.booleans())
    def the_region_is_moved(self, *, to: int, old_one_answers: bool, metasrv_is_killed: bool, half_way: bool) -> None:
        source, term = self.route.leader.id, self.route.term + 1
        self.route = RegionRoute(REGION, self.route.leader, downgrading=True, term=term)
        self.state.withdraw(REGION, term)
        if metasrv_is_killed:
            self.state = self._started()
        if old_one_answers:
            self.opened.pop(source, None)
        else:
            self.now += max(0.0, self.state.lease_left(REGION))
        self.opened[to] = (term, 0.0)
        if not half_way:
            self.route = RegionRoute(REGION, Peer(to, f"dn-{to}"), term=term)
            self.state.lead(REGION, term, to)

    @invariant()
    def one_lease_at_most(self) -> None:
        leases = {node: term for node, (term, until) in self.opened.items() if until > self.now}
        assert len(leases) <= 1, leases

    def _asked(self, node: int, term: int) -> Any:
        stat = {"id": node, "addr": f"dn-{node}", "node_epoch": 1, "region_stats": []}
        return self.state.heartbeat({"stat": stat, "terms": [(REGION, term)], "version": "1.1.0"})

    def _take_in(self, node: int, answer: Any, sent: float) -> None:
        for _, term in answer["granted"]:
            if node in self.opened and self.opened[node][0] == term:
                self.opened[node] = term, max(self.opened[node][1], sent + answer["lease_seconds"])
        for _, term in answer["revoked"]:
            if node in self.opened and self.opened[node][0] < term:
                del self.opened[node]


TestOneLeader = OneLeader.TestCase
TestOneLeader.settings = settings(max_examples=500, stateful_step_count=15)
