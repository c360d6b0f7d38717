"""What the metasrv keeps in memory: the last reports of each datanode, and who leads which region in which term.

Leases are granted from here, so writes go on while etcd is down. It is rebuilt from etcd when the metasrv starts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from refdb.errors import Unavailable
from refdb.meta.values import Peer, RegionRoute, TableRoute

LOG = logging.getLogger("refdb.metasrv")
KEPT_REPORTS = 3
LEASE_MARGIN = 0.5
DETECT_PERIOD = 0.5


@dataclass(slots=True)
class Node:
    """A datanode that has reported, or that leads regions."""

    peer: Peer
    epoch: int = 0
    version: str = ""
    silence: float = 0.0
    dead: bool = False
    reports: deque[Any] = field(default_factory=lambda: deque(maxlen=KEPT_REPORTS))


@dataclass(frozen=True, slots=True)
class Leadership:
    """The datanode that gets leases for a region in a term; None: nobody, since then."""

    term: int
    datanode: int | None
    since: float


class ClusterState:
    """Reports and leaders. All methods may be called from any thread."""

    def __init__(self, lease: float, dead_after: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.lease = lease
        self._dead_after, self._clock = dead_after, clock
        self._lock = threading.Lock()
        self._nodes: dict[int, Node] = {}
        self._leaders: dict[int, Leadership] = {}
        self._followers: dict[int, frozenset[int]] = {}

    def load(self, route: TableRoute) -> None:
        """Takes in what etcd says. A leader that has not reported yet is silent from now on, not for ever."""
        for region in route.regions:
            self.follow(region)
            with self._lock:
                self._nodes.setdefault(region.leader.id, Node(region.leader))
            if region.downgrading:
                self.withdraw(region.region_id, region.term)
            else:
                self.lead(region.region_id, region.term, region.leader.id)

    def lead(self, region_id: int, term: int, datanode: int) -> None:
        """From now on this datanode gets leases for the region, if it opened it for this term."""
        with self._lock:
            self._leaders[region_id] = Leadership(term, datanode, self._clock())

    def follow(self, route: RegionRoute) -> None:
        """From now on these datanodes follow the region, and no others."""
        with self._lock:
            self._followers[route.region_id] = frozenset(peer.id for peer in route.followers)

    def withdraw(self, region_id: int, term: int) -> None:
        """From now on nobody gets leases for the region, and who opened it for an earlier term is to close it."""
        with self._lock:
            known = self._leaders.get(region_id)
            since = known.since if known is not None and known.datanode is None else self._clock()
            self._leaders[region_id] = Leadership(term, None, since)

    def lease_left(self, region_id: int) -> float:
        """Seconds until the last lease of a region that nobody leads has ended, wherever it was granted."""
        with self._lock:
            return self._leaders[region_id].since + self.lease + LEASE_MARGIN - self._clock()

    def heartbeat(self, body: Any) -> dict[str, Any]:
        """Keeps a report; answers which of its regions may be led on, and which have a leader of a later term."""
        answer: dict[str, Any] = {"granted": [], "revoked": [], "follows": [], "lease_seconds": self.lease}
        report = body["stat"]
        peer = Peer(int(report["id"]), str(report["addr"]))
        with self._lock:
            node = self._nodes.setdefault(peer.id, Node(peer))
            if report["node_epoch"] < node.epoch:
                return answer
            if node.dead:
                LOG.info("Datanode %d is back", peer.id)
            node.peer, node.epoch, node.silence, node.dead = peer, report["node_epoch"], 0.0, False
            node.version = str(body["version"])
            node.reports.append(report)
            answer["follows"] = [region for region, nodes in self._followers.items() if peer.id in nodes]
            for region_id, term in body["terms"]:
                leader = self._leaders.get(region_id, Leadership(term, None, 0.0))
                if (leader.term, leader.datanode) == (term, peer.id):
                    answer["granted"].append((region_id, term))
                if leader.term > term:
                    answer["revoked"].append((region_id, leader.term))
        return answer

    def detect(self) -> None:
        """Marks datanodes dead that have been silent; to be called every `DETECT_PERIOD`.

        Silence is counted in calls, not read from the clock: a metasrv that was stopped itself has not listened.
        """
        with self._lock:
            for node in self._nodes.values():
                node.silence += DETECT_PERIOD
                if not node.dead and node.silence > self._dead_after:
                    node.dead = True
                    LOG.warning("Datanode %d is dead: no heartbeat for %.1f s", node.peer.id, self._dead_after)

    def nodes(self) -> list[Node]:
        """All datanodes, by id."""
        with self._lock:
            return sorted(self._nodes.values(), key=lambda node: node.peer.id)

    def is_dead(self, datanode: int) -> bool:
        """Whether a datanode has been silent for too long."""
        with self._lock:
            return self._nodes[datanode].dead

    def living(self) -> list[Peer]:
        """Datanodes that report."""
        return [node.peer for node in self.nodes() if node.reports and not node.dead]

    def least_loaded(self) -> Peer:
        """The living datanode that leads the fewest regions."""
        with self._lock:
            load = Counter(leader.datanode for leader in self._leaders.values())
        living = self.living()
        if not living:
            raise Unavailable("there is no live datanode")
        return min(living, key=lambda peer: load[peer.id])

    def leader(self, region_id: int) -> int | None:
        """The datanode that may lead a region."""
        with self._lock:
            return self._leaders[region_id].datanode if region_id in self._leaders else None
