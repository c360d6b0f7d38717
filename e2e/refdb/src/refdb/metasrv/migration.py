"""Moves regions to another datanode, whether the one that leads them lives, is dead, or is stopped and will wake up.

    1. the route says Downgrading in a new term (compare-and-swap), and no more leases are granted
    2. the old leader flushes and closes the region; if it does not answer, its lease is waited out
    3. the new one opens it for this term: its manifest shuts the old one out, and it replays the log
    4. route and datanode tables change in one transaction; only then is there a lease again

A migration that ended half way is begun again, in the next term: by the same call, or by failover.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from refdb.errors import DatabaseError, StatusCode, Unavailable, invalid
from refdb.meta import keys
from refdb.meta.etcd import Etcd, KeyValue, Put, Unchanged
from refdb.meta.values import DatanodeTable, Peer, RegionRoute, TableRoute
from refdb.metasrv.state import ClusterState
from refdb.web import Client
from walrecord.region import region_number, table_id

LOG = logging.getLogger("refdb.metasrv.migration")
CLOSE_TIMEOUT = 5.0


class Migrations:
    """Moves regions, one after another."""

    def __init__(
        self, etcd: Etcd, state: ClusterState, client: Client, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._etcd, self._state, self._client, self._sleep = etcd, state, client, sleep
        self._lock = threading.RLock()

    def migrate(self, region_id: int, source: int, target: int) -> None:
        """Moves a region from a datanode to another; back to the same one only if a migration ended half way."""
        with self._lock:
            _, route = self._route(region_id)
            if route.leader.id != source or (source == target and not route.downgrading):
                raise invalid(f"region {region_id} is led by datanode {route.leader.id}, not to be moved to {target}")
            peer = next((peer for peer in self._state.living() if peer.id == target), None)
            if peer is None:
                raise Unavailable(f"datanode {target} does not live")
            self._finish(self._begin(region_id), peer)

    def refresh(self) -> list[RegionRoute]:
        """Makes the memory agree with etcd, after a transaction whose answer was lost; returns all routes."""
        with self._lock:
            routes = [TableRoute.from_text(pair.value) for pair in self._etcd.range(keys.TABLE_ROUTES).pairs]
            for route in routes:
                self._state.load(route)
            return [region for route in routes for region in route.regions]

    def fail_over(self) -> None:
        """Moves the regions of dead datanodes to living ones, and ends migrations that ended half way.

        Not in maintenance mode. All of them are begun before the first is moved: leases are waited for together.
        """
        with self._lock:
            routes = [route for route in self.refresh() if route.downgrading or self._state.is_dead(route.leader.id)]
            if not routes or not self._state.living() or self._etcd.get(keys.MAINTENANCE) is not None:
                return
            begun = [self._begin(route.region_id) for route in routes]
            moved = [self._moved(route) for route in begun]
        if not all(moved):
            raise Unavailable(f"{moved.count(False)} regions could not be moved")

    def _begin(self, region_id: int) -> RegionRoute:
        """From here on nobody leads the region."""
        held, route = self._route(region_id)
        route = replace(route, downgrading=True, term=route.term + 1)
        self._write([Unchanged(held.key, held.mod_revision)], [_with_region(held, route)])
        self._state.withdraw(region_id, route.term)
        return route

    def _moved(self, route: RegionRoute) -> bool:
        try:
            self._finish(route, self._state.least_loaded())
        except DatabaseError as error:
            LOG.warning("Region %d could not be moved: %s", route.region_id, error)
            return False
        return True

    def _finish(self, route: RegionRoute, target: Peer) -> None:
        topic = self._topic(route)
        self._stop_old(route)
        self._open(route, target, topic)
        self._switch(route, target, topic)
        self._state.lead(route.region_id, route.term, target.id)
        LOG.info("Region %d moved from datanode %d to %d", route.region_id, route.leader.id, target.id)

    def _stop_old(self, route: RegionRoute) -> None:
        leader, body = route.leader, {"before_term": route.term}
        try:
            if not self._state.is_dead(leader.id):
                self._client.post(leader.addr, f"/regions/{route.region_id}/close", body, timeout=CLOSE_TIMEOUT)
                return
        except DatabaseError as error:
            LOG.warning("Datanode %d did not close region %d: %s", leader.id, route.region_id, error)
        self._sleep(max(0.0, self._state.lease_left(route.region_id)))

    def _open(self, route: RegionRoute, target: Peer, topic: str) -> None:
        """Asks until it is open: a replay may take longer than a call, but not longer than the datanode lives."""
        while True:
            try:
                self._client.post(target.addr, f"/regions/{route.region_id}/open", {"topic": topic, "term": route.term})
            except DatabaseError as error:
                unknown = isinstance(error, Unavailable) or error.code is StatusCode.REGION_BUSY
                if not unknown or self._state.is_dead(target.id):
                    raise
                self._sleep(0.5)
            else:
                return

    def _switch(self, route: RegionRoute, target: Peer, topic: str) -> None:
        held, current = self._route(route.region_id)
        if current != route:
            raise Unavailable("the route has changed meanwhile")
        new = replace(route, leader=target, downgrading=False)
        compare, puts = [Unchanged(held.key, held.mod_revision)], [_with_region(held, new)]
        table, number = table_id(route.region_id), region_number(route.region_id)
        for datanode, topics in {route.leader.id: {}, target.id: {number: topic}}.items():
            key = keys.datanode_table(datanode, table)
            found = self._etcd.get(key)
            before = DatanodeTable.from_text(found.value) if found is not None else DatanodeTable(table, {}, -1)
            kept = {n: name for n, name in before.topics.items() if n != number}
            compare.append(Unchanged(key, found.mod_revision if found is not None else 0))
            puts.append(Put(key, DatanodeTable(table, kept | topics, before.version + 1).to_text()))
        self._write(compare, puts)

    def _route(self, region_id: int) -> tuple[KeyValue, RegionRoute]:
        held = self._etcd.get(keys.table_route(table_id(region_id)))
        route = TableRoute.from_text(held.value).of(region_id) if held is not None else None
        if held is None or route is None:
            raise DatabaseError(StatusCode.REGION_NOT_FOUND, f"no region {region_id}")
        return held, route

    def _topic(self, route: RegionRoute) -> str:
        held = self._etcd.get(keys.datanode_table(route.leader.id, table_id(route.region_id)))
        topics = DatanodeTable.from_text(held.value).topics if held is not None else {}
        if region_number(route.region_id) not in topics:
            raise Unavailable(f"datanode {route.leader.id} has no region {route.region_id} in its table")
        return topics[region_number(route.region_id)]

    def _write(self, compare: list[Unchanged], puts: list[Put]) -> None:
        if not self._etcd.txn(compare, puts):
            raise Unavailable("the route has changed meanwhile: migrate again")


def _with_region(held: KeyValue, route: RegionRoute) -> Put:
    return Put(held.key, TableRoute.from_text(held.value).with_region(route).to_text())
