"""What the metasrv keeps in memory: the last reports of each datanode, and who leads which region.

Leases are granted from here, so writes go on while etcd is down. It is rebuilt from etcd when the metasrv starts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from refdb.meta.values import Peer

LOG = logging.getLogger("refdb.metasrv")
KEPT_REPORTS = 3


@dataclass(slots=True)
class Node:
    """A datanode that has reported."""

    peer: Peer
    epoch: int = 0
    seen: float = 0.0
    dead: bool = False
    reports: deque[Any] = field(default_factory=lambda: deque(maxlen=KEPT_REPORTS))


class ClusterState:
    """Reports and leaders. All methods may be called from any thread."""

    def __init__(self, lease: float, dead_after: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.lease = lease
        self._dead_after, self._clock = dead_after, clock
        self._lock = threading.Lock()
        self._nodes: dict[int, Node] = {}
        self._leaders: dict[int, int] = {}

    def lead(self, region_id: int, datanode: int | None) -> None:
        """From now on only this datanode gets leases for the region; None: nobody."""
        with self._lock:
            self._leaders[region_id] = -1 if datanode is None else datanode

    def heartbeat(self, report: Any) -> dict[str, Any]:
        """Keeps a report and answers which of its regions may be led on, and which are led by others."""
        peer = Peer(int(report["id"]), str(report["addr"]))
        reported = [int(region["id"]) for region in report["region_stats"]]
        with self._lock:
            node = self._nodes.setdefault(peer.id, Node(peer))
            if report["node_epoch"] < node.epoch:
                return {"granted": [], "revoked": reported, "lease_seconds": self.lease}
            if node.dead:
                LOG.info("Datanode %d is back", peer.id)
            node.peer, node.epoch, node.seen, node.dead = peer, report["node_epoch"], self._clock(), False
            node.reports.append(report)
            leaders = {region_id: self._leaders.get(region_id) for region_id in reported}
        granted = [region_id for region_id, leader in leaders.items() if leader == peer.id]
        revoked = [region_id for region_id, leader in leaders.items() if leader not in (None, peer.id)]
        return {"granted": granted, "revoked": revoked, "lease_seconds": self.lease}

    def detect(self) -> None:
        """Marks datanodes dead that have been silent."""
        with self._lock:
            for node in self._nodes.values():
                if not node.dead and self._clock() - node.seen > self._dead_after:
                    node.dead = True
                    LOG.warning("Datanode %d is dead: no heartbeat for %.1f s", node.peer.id, self._dead_after)

    def nodes(self) -> list[Node]:
        """All datanodes that have reported, by id."""
        with self._lock:
            return sorted(self._nodes.values(), key=lambda node: node.peer.id)

    def silent_for(self, node: Node) -> float:
        """Seconds since its last report."""
        return self._clock() - node.seen

    def leader(self, region_id: int) -> int | None:
        """The datanode that may lead a region."""
        with self._lock:
            return self._leaders.get(region_id)
