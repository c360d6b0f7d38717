"""Never two leases for one region, whatever is late: heartbeats, answers, stops of datanodes, migrations."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from refdb.meta.values import Peer, RegionRoute, TableRoute
from refdb.metasrv.state import ClusterState

REGION, LEASE = 7, 4.0
NODES = st.sampled_from([0, 1, 2])


class OneLeader(RuleBasedStateMachine):
    """Datanodes as sets of terms that they have opened, each with the end of its lease; messages that may be late.

    `route` stands for etcd: it survives the metasrv.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.route = RegionRoute(REGION, Peer(0, "dn-0"))
        self.opened: dict[int, dict[int, float]] = {0: {0: 0.0}, 1: {}, 2: {}}
        self.requests: list[tuple[int, int, float]] = []
        self.answers: list[tuple[int, Any, float]] = []
        self.state = self._started()

    def _started(self) -> ClusterState:
        state = ClusterState(LEASE, 5, lambda: self.now)
        state.load(TableRoute((self.route,)))
        return state

    @rule(seconds=st.sampled_from([0.1, 1.0, 3.0, 4.4]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(node=NODES)
    def a_heartbeat_is_sent(self, node: int) -> None:
        self.requests += [(node, term, self.now) for term in self.opened[node]]

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def a_heartbeat_arrives(self, data: st.DataObject) -> None:
        node, term, sent = self.requests.pop(data.draw(st.integers(0, len(self.requests) - 1)))
        stat = {"id": node, "addr": f"dn-{node}", "node_epoch": 1, "region_stats": []}
        self.answers.append((node, self.state.heartbeat({"stat": stat, "terms": [(REGION, term)]}), sent))

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def an_answer_arrives(self, data: st.DataObject) -> None:
        node, answer, sent = self.answers.pop(data.draw(st.integers(0, len(self.answers) - 1)))
        for _, term in answer["granted"]:
            if term in self.opened[node]:
                self.opened[node][term] = max(self.opened[node][term], sent + answer["lease_seconds"])
        for _, term in answer["revoked"]:
            self.opened[node] = {t: until for t, until in self.opened[node].items() if t >= term}

    @rule()
    def a_migration_begins(self) -> None:
        self.route = RegionRoute(REGION, self.route.leader, downgrading=True, term=self.route.term + 1)
        self.state.withdraw(REGION, self.route.term)

    @precondition(lambda self: self.route.downgrading)
    @rule(to=NODES, answers=st.booleans())
    def a_migration_ends(self, to: int, answers: bool) -> None:  # noqa: FBT001 - hypothesis draws it
        source, term = self.route.leader.id, self.route.term
        if answers:
            self.opened[source] = {t: until for t, until in self.opened[source].items() if t >= term}
        else:
            self.now += max(0.0, self.state.lease_left(REGION))
        self.opened[to][term] = 0.0
        self.route = RegionRoute(REGION, Peer(to, f"dn-{to}"), term=term)
        self.state.lead(REGION, term, to)

    @precondition(lambda self: self.route.downgrading)
    @rule(to=NODES)
    def a_migration_ends_half_way(self, to: int) -> None:
        self.opened[to][self.route.term] = 0.0

    @rule()
    def the_metasrv_is_killed_and_starts(self) -> None:
        self.state = self._started()

    @invariant()
    def one_lease_at_most(self) -> None:
        leases = [(n, term) for n, terms in self.opened.items() for term, until in terms.items() if until > self.now]
        assert len(leases) <= 1, leases


TestOneLeader = OneLeader.TestCase
