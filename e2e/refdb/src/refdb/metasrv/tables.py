"""Makes tables: regions round-robin over datanodes and topics, made first, then written down in one transaction."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import NamedTuple

from refdb.errors import DatabaseError, StatusCode, Unavailable
from refdb.meta import keys
from refdb.meta.store import Store
from refdb.meta.values import DatanodeTable, Peer, RegionRoute, TableRoute, checkpoint_value, dumps
from refdb.metasrv.state import ClusterState
from refdb.schema import Table
from refdb.web import Client
from walrecord.region import region_id, region_number

LOG = logging.getLogger("refdb.metasrv.tables")
FIRST_TABLE_ID = 1024


class Placement(NamedTuple):
    """Where one region goes."""

    region_id: int
    leader: Peer
    topic: str


def place(table_id: int, count: int, peers: Sequence[Peer], topics: Sequence[str], used: int) -> tuple[Placement, ...]:
    """Region 1 goes to the first datanode; topics go on after those that were given to `used` regions before."""
    return tuple(
        Placement(region_id(table_id, number + 1), peers[number % len(peers)], topics[(used + number) % len(topics)])
        for number in range(count)
    )


def metadata_of(table: Table, placements: Sequence[Placement]) -> dict[str, str]:
    """Every key of a new table, with its value."""
    routes = tuple(RegionRoute(placement.region_id, placement.leader) for placement in placements)
    values = {
        keys.table_name(table.name): dumps({"table_id": table.table_id}),
        keys.table_info(table.table_id): dumps(asdict(table)),
        keys.table_route(table.table_id): TableRoute(routes).to_text(),
    }
    values |= {keys.topic_region(p.topic, p.region_id): checkpoint_value(None) for p in placements}
    for datanode in sorted({placement.leader.id for placement in placements}):
        topics = {region_number(p.region_id): p.topic for p in placements if p.leader.id == datanode}
        values[keys.datanode_table(datanode, table.table_id)] = DatanodeTable(table.table_id, topics).to_text()
    return values


class Tables:
    """Creates tables."""

    def __init__(self, etcd: Store, state: ClusterState, client: Client, topics: Sequence[str]) -> None:
        self._etcd, self._state, self._client, self._topics = etcd, state, client, topics
        self._creating = threading.Lock()

    def create(self, wanted: Table) -> int:
        """Returns the table's id; one table is made after another."""
        with self._creating:
            name, peers = self._etcd.get(keys.table_name(wanted.name)), self._state.living()
            if name.exists:
                raise _exists(wanted.name)
            if not peers:
                raise Unavailable("there is no live datanode")
            table = replace(wanted, table_id=self._next_id())
            used = len(self._etcd.range(keys.TOPIC_REGIONS).pairs)
            placements = place(table.table_id, table.partitions.count, peers, self._topics, used)
            try:
                self._create_regions(table, placements)
                if not self._etcd.txn([name], metadata_of(table, placements)):
                    raise _exists(wanted.name)
            except DatabaseError:
                self._undo(table, placements)
                raise
        LOG.info("Created table %s (%d) with %d regions", table.name, table.table_id, len(placements))
        return table.table_id

    def _create_regions(self, table: Table, placements: Sequence[Placement]) -> None:
        for region, leader, topic in placements:
            self._state.lead(region, 0, leader.id)
            self._client.post(leader.addr, f"/regions/{region}/create", topic=topic, schema=asdict(table.schema))

    def _undo(self, table: Table, placements: Sequence[Placement]) -> None:
        """Lets the regions go, unless the transaction was made and only its answer was lost."""
        try:
            if self._etcd.get(keys.table_route(table.table_id)).exists:
                return
        except DatabaseError:
            LOG.error("Whether table %s was made is unknown until etcd answers", table.name)  # noqa: TRY400 - no traceback
            return
        for placement in placements:
            self._state.withdraw(placement.region_id, 1)  # the next heartbeat revokes it

    def _next_id(self) -> int:
        held = self._etcd.get(keys.NEXT_TABLE_ID)
        table_id = int(held.value or FIRST_TABLE_ID)
        if not self._etcd.txn([held], {held.key: str(table_id + 1)}):
            raise Unavailable("another table is being created")
        return table_id


def _exists(name: str) -> DatabaseError:
    return DatabaseError(StatusCode.TABLE_ALREADY_EXISTS, f"table {name} exists already")
