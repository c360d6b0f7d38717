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
from dataclasses import replace

from refdb.errors import DatabaseError, StatusCode, Unavailable, invalid
from refdb.meta import keys
from refdb.meta.store import KeyValue, Store
from refdb.meta.values import DatanodeTable, Peer, RegionRoute, TableRoute
from refdb.metasrv.state import ClusterState
from refdb.web import Client
from walrecord.region import region_number, table_id

LOG = logging.getLogger("refdb.metasrv.migration")
CLOSE_TIMEOUT = 5.0


class Migrations:
    """Moves regions, one after another."""

    def __init__(self, etcd: Store, state: ClusterState, client: Client) -> None:
        self._etcd, self._state, self._client = etcd, state, client
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

    def follow(self, region_id: int, datanode: int, *, follows: bool) -> None:
        """A datanode becomes a read replica of a region, or is none any more."""
        with self._lock:
            held, route = self._route(region_id)
            peers = {peer.id: peer for peer in self._state.living()}
            if follows and (datanode not in peers or datanode == route.leader.id):
                raise invalid(f"datanode {datanode} cannot follow region {region_id}: it leads it, or does not live")
            kept = tuple(peer for peer in route.followers if peer.id != datanode)
            route = replace(route, followers=(*kept, peers[datanode]) if follows else kept)
            self._write([held], _with_region(held, route))
            self._state.follow(route)

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
            if not routes or not self._state.living() or self._etcd.get(keys.MAINTENANCE).exists:
                return
            begun = [self._begin(route.region_id) for route in routes]
            failures = []
            for route in begun:
                try:
                    self._finish(route, self._state.least_loaded())
                except DatabaseError as error:
                    failures.append(f"region {route.region_id}: {error}")
        if failures:
            raise Unavailable(f"{len(failures)} regions could not be moved: {'; '.join(failures)}")

    def _begin(self, region_id: int) -> RegionRoute:
        """From here on nobody leads the region."""
        held, route = self._route(region_id)
        route = replace(route, downgrading=True, term=route.term + 1)
        self._write([held], _with_region(held, route))
        self._state.withdraw(region_id, route.term)
        return route

    def _finish(self, route: RegionRoute, target: Peer) -> None:
        topic = self._topic(route)
        self._stop_old(route)
        self._open(route, target, topic)
        self._switch(route, target, topic)
        self._state.lead(route.region_id, route.term, target.id)
        self._state.follow(replace(route, followers=tuple(peer for peer in route.followers if peer.id != target.id)))
        LOG.info("Region %d moved from datanode %d to %d", route.region_id, route.leader.id, target.id)

    def _stop_old(self, route: RegionRoute) -> None:
        leader, path = route.leader, f"/regions/{route.region_id}/close"
        try:
            if not self._state.is_dead(leader.id):
                self._client.post(leader.addr, path, CLOSE_TIMEOUT, before_term=route.term)
                return
        except DatabaseError as error:
            LOG.warning("Datanode %d did not close region %d: %s", leader.id, route.region_id, error)
        time.sleep(max(0.0, self._state.lease_left(route.region_id)))

    def _open(self, route: RegionRoute, target: Peer, topic: str) -> None:
        """Asks until it is open: a replay may take longer than a call, but not longer than the datanode lives."""
        while True:
            try:
                self._client.post(target.addr, f"/regions/{route.region_id}/open", topic=topic, term=route.term)
            except DatabaseError as error:
                unknown = isinstance(error, Unavailable) or error.code is StatusCode.REGION_BUSY
                if not unknown or self._state.is_dead(target.id):
                    raise
                time.sleep(0.5)
            else:
                return

    def _switch(self, route: RegionRoute, target: Peer, topic: str) -> None:
        held, current = self._route(route.region_id)
        if current != route:
            raise Unavailable("the route has changed meanwhile")
        followers = tuple(peer for peer in route.followers if peer.id != target.id)
        moved = replace(route, leader=target, downgrading=False, followers=followers)
        read, writes = [held], _with_region(held, moved)
        table, number = table_id(route.region_id), region_number(route.region_id)
        for datanode, topics in {route.leader.id: {}, target.id: {number: topic}}.items():
            found = self._etcd.get(keys.datanode_table(datanode, table))
            before = DatanodeTable.from_text(found.value) if found.exists else DatanodeTable(table, {}, -1)
            kept = {n: name for n, name in before.topics.items() if n != number}
            read.append(found)
            writes[found.key] = DatanodeTable(table, kept | topics, before.version + 1).to_text()
        self._write(read, writes)

    def _route(self, region_id: int) -> tuple[KeyValue, RegionRoute]:
        held = self._etcd.get(keys.table_route(table_id(region_id)))
        return held, TableRoute.from_text(held.value).of(region_id)

    def _topic(self, route: RegionRoute) -> str:
        held = self._etcd.get(keys.datanode_table(route.leader.id, table_id(route.region_id)))
        topics = DatanodeTable.from_text(held.value).topics if held.exists else {}
        if region_number(route.region_id) not in topics:
            raise Unavailable(f"datanode {route.leader.id} has no region {route.region_id} in its table")
        return topics[region_number(route.region_id)]

    def _write(self, read: list[KeyValue], writes: dict[str, str]) -> None:
        if not self._etcd.txn(read, writes):
            raise Unavailable("the route has changed meanwhile: migrate again")


def _with_region(held: KeyValue, route: RegionRoute) -> dict[str, str]:
    return {held.key: TableRoute.from_text(held.value).with_region(route).to_text()}
