"""A datanode: the regions that it holds, and what may be asked of them."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refdb.errors import DatabaseError, RegionFatalError, StatusCode, Unavailable
from refdb.meta import keys
from refdb.meta.etcd import Etcd, Put, Unchanged
from refdb.meta.values import DatanodeTable, Peer, TableRoute, checkpoint, checkpoint_value, pruned_entry_id
from refdb.region.files import RegionFiles
from refdb.region.opener import Assignment, Floors, create_region, open_region
from refdb.region.region import Region, named
from refdb.schema import Schema
from refdb.wal.log import WalLog
from walrecord.region import region_number
from walrecord.region import table_id as table_id_of

LOG = logging.getLogger("refdb.datanode")
OPENERS = 8


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """How this datanode behaves."""

    peer: Peer
    storage: Path
    read_pruned_marker: bool = True
    """Whether a region opens no earlier than its topic's pruned marker (GreptimeDB does since v1.1)."""
    idle_heartbeats: int = 3
    checkpoint_heartbeats: int = 5
    memtable_limit: int = 64 * 2**20


class Datanode:
    """The open regions, and those that cannot be opened with the reason."""

    def __init__(self, options: NodeOptions, etcd: Etcd, log: WalLog, epoch: int) -> None:
        self.options, self.epoch = options, epoch
        self._etcd, self._log = etcd, log
        self._regions: dict[int, Region] = {}
        self._fatal: dict[int, str] = {}
        self._opening: set[int] = set()
        self._superseded: dict[int, int] = {}
        """Regions that others lead, with the term: closed by the next tick, because heartbeats must not wait."""
        self._lock = threading.Lock()
        self._ticks = 0

    def open_all(self) -> None:
        """Opens what the metadata store says is here.

        A region with a fatal finding does not stop the others; that Kafka or etcd does not answer stops all.
        """
        found = self._etcd.range(keys.datanode_tables(self.options.peer.id))
        wanted = [region for pair in found.pairs for region in self._led_here(DatanodeTable.from_text(pair.value))]
        with ThreadPoolExecutor(OPENERS) as pool:
            list(pool.map(self._try_open, wanted))
        if self._fatal:
            LOG.critical("%d of %d regions could not be opened", len(self._fatal), len(wanted))
        else:
            LOG.info("all regions are opened")

    def open(self, assignment: Assignment) -> None:
        """Opens a region that is to be led here; one that was opened for this term already is fine."""
        region_id = assignment.region_id
        with self._lock:
            held = self._regions.get(region_id)
            if held is not None and held.term >= assignment.term:
                return
            if region_id in self._opening:
                raise DatabaseError(StatusCode.REGION_BUSY, f"region {named(region_id)} is being opened")
            self._opening.add(region_id)
        try:
            self.close(
                region_id, assignment.term, flush=False
            )  # what it has in memory is of a time before others led it
            files, floors = self._files(region_id), self._floors(assignment)
            self._regions[region_id] = open_region(assignment, floors, files, self._log)
            self._fatal.pop(region_id, None)
        finally:
            self._opening.discard(region_id)

    def create(self, region_id: int, topic: str, schema: Schema) -> None:
        """Makes a new region."""
        self._regions[region_id] = create_region(region_id, topic, schema, self._files(region_id), self._log)

    def close(self, region_id: int, before: int, *, flush: bool) -> None:
        """Lets a region go that was opened for an earlier term than this, if it is here."""
        region = self._regions.get(region_id)
        if region is None or region.term >= before:
            return
        if flush:
            region.flush()
        region.close()
        with self._lock:
            if self._regions.get(region_id) is region:
                del self._regions[region_id]
        LOG.info("Region %s is closed", named(region_id))

    def region(self, region_id: int) -> Region:
        """An open region."""
        if region_id in self._regions:
            return self._regions[region_id]
        if region_id in self._fatal:
            raise RegionFatalError(self._fatal[region_id])
        raise DatabaseError(
            StatusCode.REGION_NOT_FOUND, f"region {named(region_id)} is not on datanode {self.options.peer.id}"
        )

    def report(self) -> dict[str, Any]:
        """What a heartbeat says. A region with a fatal finding is not in it: nobody may count on it."""
        regions = [region for region in list(self._regions.values()) if region.fatal is None]
        terms = [(region.region_id, region.term) for region in regions]
        return {"stat": self._stat(regions), "terms": terms}

    def _stat(self, regions: list[Region]) -> dict[str, Any]:
        return {
            "timestamp_millis": int(time.time() * 1000),
            "id": self.options.peer.id,
            "addr": self.options.peer.addr,
            "region_num": len(regions),
            "region_stats": [region.report() for region in regions],
            "topic_stats": self._log.topic_stats(),
            "node_epoch": self.epoch,
        }

    def granted(self, answer: Any, sent: float) -> None:
        """Takes in what the metasrv answered to a report that was sent at that time (CLOCK_MONOTONIC)."""
        for region_id, term in answer["granted"]:
            region = self._regions.get(region_id)
            if region is not None and region.term == term:
                region.extend_lease(sent + float(answer["lease_seconds"]))
        for region_id, term in answer["revoked"]:
            self._superseded[region_id] = term

    def tick(self) -> None:
        """Once a heartbeat: closes what others lead, flushes what is too large, samples what is idle."""
        self._ticks += 1
        while self._superseded:
            region_id, term = self._superseded.popitem()
            LOG.warning("Region %s is led by another datanode now (term %d)", named(region_id), term)
            self.close(region_id, term, flush=False)
        for region in list(self._regions.values()):
            try:
                if region.memtable_bytes > self.options.memtable_limit:
                    region.flush()
                if region.is_idle(self.options.idle_heartbeats):
                    self._idle(region)
            except DatabaseError as error:
                LOG.warning("Region %s: %s", named(region.region_id), error)

    def _idle(self, region: Region) -> None:
        """Samples how far the region needs no replay, and now and then makes it a durable checkpoint.

        The route is read before the sample is taken and compared when it is written: a leader that was stopped and woke
        up late cannot write a checkpoint beyond rows that its successor took.
        """
        if self._ticks % self.options.checkpoint_heartbeats:
            region.sample_idle()
            return
        route_key = keys.table_route(table_id_of(region.region_id))
        region_key = keys.topic_region(region.topic, region.region_id)
        try:
            route, held = self._etcd.get(route_key), self._etcd.get(region_key)
        except Unavailable:
            region.sample_idle()
            raise
        sample = region.sample_idle()
        if route is None or held is None or sample is None or sample <= (checkpoint(held.value) or 0):
            return
        mine = TableRoute.from_text(route.value).of(region.region_id)
        if mine is None or mine.leader.id != self.options.peer.id or mine.downgrading:
            return
        compare = [Unchanged(route_key, route.mod_revision), Unchanged(region_key, held.mod_revision)]
        if self._etcd.txn(compare, [Put(region_key, checkpoint_value(sample))]):
            LOG.info("Checkpoint of idle region %s: %d", named(region.region_id), sample)

    def _led_here(self, table: DatanodeTable) -> list[Assignment]:
        """Regions of a table to open at the start; one that is being moved is not."""
        held = self._etcd.get(keys.table_route(table.table_id))
        routes = TableRoute.from_text(held.value).regions if held is not None else ()
        return [
            Assignment(route.region_id, table.topics[region_number(route.region_id)], route.term)
            for route in routes
            if route.leader.id == self.options.peer.id and not route.downgrading
        ]

    def _try_open(self, assignment: Assignment) -> None:
        try:
            self.open(assignment)
        except RegionFatalError as error:
            reason = f"region {named(assignment.region_id)} cannot be opened: {error}"
            self._fatal[assignment.region_id] = reason
            LOG.critical("%s", reason)

    def _floors(self, assignment: Assignment) -> Floors:
        topic = assignment.topic
        found = self._etcd.get(keys.topic_region(topic, assignment.region_id))
        marker = self._etcd.get(keys.topic_name(topic)) if self.options.read_pruned_marker else None
        return Floors(
            checkpoint=checkpoint(found.value) if found is not None else None,
            pruned=pruned_entry_id(marker.value) if marker is not None else None,
        )

    def _files(self, region_id: int) -> RegionFiles:
        return RegionFiles(self.options.storage / str(table_id_of(region_id)) / str(region_id))
