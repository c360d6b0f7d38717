"""Moves a region to another datanode, whether the one that leads it lives, is dead, or is stopped and will wake up.

    1. the route says Downgrading (compare-and-swap), and no more leases are granted
    2. the old leader flushes and closes it; if it does not answer, its lease is waited out
    3. the new one opens it: its manifest shuts the old one out, and it replays the log
    4. route and datanode tables change in one transaction; only then does anybody write to it there

A migration that ended half way is begun again by the same call.
"""

from __future__ import annotations

import logging
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
LEASE_MARGIN = 0.5
CLOSE_TIMEOUT = 5.0


class Migrations:
    """Moves regions, one at a time."""

    def __init__(
        self, etcd: Etcd, state: ClusterState, client: Client, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._etcd, self._state, self._client, self._sleep = etcd, state, client, sleep

    def migrate(self, region_id: int, source: int, target: int) -> None:
        """Moves a region from a datanode to another."""
        key = keys.table_route(table_id(region_id))
        held = self._etcd.get(key)
        route = TableRoute.from_text(held.value).of(region_id) if held is not None else None
        if held is None or route is None:
            raise DatabaseError(StatusCode.REGION_NOT_FOUND, f"no region {region_id}")
        if route.leader.id != source or source == target:
            raise invalid(f"region {region_id} is led by datanode {route.leader.id}, not to be moved to {target}")
        node = next((node for node in self._state.nodes() if node.peer.id == target and not node.dead), None)
        if node is None:
            raise Unavailable(f"datanode {target} does not live")
        topic = self._topic(region_id, source)
        self._write_route(held, replace(route, downgrading=True))
        self._state.lead(region_id, None)
        self._stop_old(region_id, route.leader)
        self._state.lead(region_id, target)
        self._client.post(node.peer.addr, f"/regions/{region_id}/open", {"topic": topic})
        self._switch(RegionRoute(region_id, node.peer), source, topic)
        LOG.info("Region %d moved from datanode %d to %d", region_id, source, target)

    def _stop_old(self, region_id: int, leader: Peer) -> None:
        try:
            self._client.post(leader.addr, f"/regions/{region_id}/close", {"flush": True}, timeout=CLOSE_TIMEOUT)
        except DatabaseError as error:
            LOG.warning("Datanode %d did not close region %d (%s): waiting for its lease", leader.id, region_id, error)
            self._sleep(self._state.lease + LEASE_MARGIN)

    def _write_route(self, held: KeyValue, route: RegionRoute) -> None:
        new = TableRoute.from_text(held.value).with_region(route)
        if not self._etcd.txn([Unchanged(held.key, held.mod_revision)], [Put(held.key, new.to_text())]):
            raise Unavailable("the route has changed meanwhile")

    def _switch(self, route: RegionRoute, source: int, topic: str) -> None:
        table, number = table_id(route.region_id), region_number(route.region_id)
        route_held = self._etcd.get(keys.table_route(table))
        if route_held is None:
            raise Unavailable("the route is gone")
        compare = [Unchanged(route_held.key, route_held.mod_revision)]
        puts = [Put(route_held.key, TableRoute.from_text(route_held.value).with_region(route).to_text())]
        for datanode, topics in ((source, {}), (route.leader.id, {number: topic})):
            key = keys.datanode_table(datanode, table)
            held = self._etcd.get(key)
            before = DatanodeTable.from_text(held.value) if held is not None else DatanodeTable(table, {}, -1)
            kept = {n: name for n, name in before.topics.items() if n != number}
            compare.append(Unchanged(key, held.mod_revision if held is not None else 0))
            puts.append(Put(key, DatanodeTable(table, kept | topics, before.version + 1).to_text()))
        if not self._etcd.txn(compare, puts):
            raise Unavailable("the route has changed meanwhile: migrate again")

    def _topic(self, region_id: int, source: int) -> str:
        held = self._etcd.get(keys.datanode_table(source, table_id(region_id)))
        topics = DatanodeTable.from_text(held.value).topics if held is not None else {}
        if region_number(region_id) not in topics:
            raise Unavailable(f"datanode {source} has no region {region_id} in its table")
        return topics[region_number(region_id)]
