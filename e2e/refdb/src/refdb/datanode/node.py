"""A datanode: the regions that it holds, and what may be asked of them."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refdb.errors import AnotherLeads, DatabaseError, RegionFatalError, StatusCode
from refdb.meta import keys
from refdb.meta.store import Store
from refdb.meta.values import DatanodeTable, Peer, TableRoute, checkpoint, checkpoint_value, pruned_entry_id
from refdb.region.files import RegionFiles
from refdb.region.opener import Assignment, Floors, create_region, open_region
from refdb.region.region import Region, named, report_of
from refdb.schema import Schema
from refdb.wal.log import WalLog
from walrecord.region import region_number, table_id

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
    version: str = "1.1.0"
    """The GreptimeDB whose interfaces it says it has."""
    checkpoint_heartbeats: int = 5
    memtable_limit: int = 64 * 2**20


class Datanode:
    """The open regions."""

    def __init__(self, options: NodeOptions, etcd: Store, log: WalLog, epoch: int) -> None:
        self.options, self.epoch = options, epoch
        self._etcd, self._log = etcd, log
        self._regions: dict[int, Region] = {}
        self._opening: set[int] = set()
        self._superseded: dict[int, int] = {}
        """Regions that others lead, with the term: closed by the next tick, because heartbeats must not wait."""
        self._follows: frozenset[int] = frozenset()
        self._lock = threading.Lock()
        self._ticks = 0

    def open_all(self) -> None:
        """Opens what the metadata store says is here: all of it, or the datanode does not start, as GreptimeDB's.

        Raises:
            RegionFatalError: the log or the manifest of a region is not what it must be; the others were tried, too.
            Unavailable: Kafka or etcd does not answer.
        """
        found = self._etcd.range(keys.datanode_tables(self.options.peer.id))
        wanted = [region for pair in found.pairs for region in self._led_here(DatanodeTable.from_text(pair.value))]
        with ThreadPoolExecutor(OPENERS) as pool:
            reasons = [reason for reason in pool.map(self._try_open, wanted) if reason is not None]
        if reasons:
            raise RegionFatalError(f"cannot start with {len(reasons)} of {len(wanted)} regions closed: {reasons[0]}")
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
            # What it has in memory is of a time before others led it.
            self.close(region_id, assignment.term, flush=False)
            floors = self._floors(assignment)
            self._regions[region_id] = open_region(assignment, floors, self._files(region_id), self._log)
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
        raise DatabaseError(
            StatusCode.REGION_NOT_FOUND, f"region {named(region_id)} is not on datanode {self.options.peer.id}"
        )

    def report(self) -> dict[str, Any]:
        """What a heartbeat says. A region with a fatal finding has only its term there: others may lead it now."""
        held = list(self._regions.values())
        regions = [region for region in held if region.fatal is None]
        followed = [self._followed(region) for region in self._follows - {region.region_id for region in held}]
        stat = {
            "timestamp_millis": int(time.time() * 1000),
            "id": self.options.peer.id,
            "addr": self.options.peer.addr,
            "region_num": len(regions) + len(followed),
            "region_stats": [*(region.report() for region in regions), *(one for one in followed if one)],
            "topic_stats": self._log.topic_stats(),
            "node_epoch": self.epoch,
        }
        terms = [(region.region_id, region.term) for region in held]
        return {"stat": stat, "terms": terms, "version": self.options.version}

    def granted(self, answer: Any, sent: float) -> None:
        """Takes in what the metasrv answered to a report that was sent at that time (CLOCK_MONOTONIC)."""
        for region_id, term in answer["granted"]:
            region = self._regions.get(region_id)
            if region is not None and region.term == term:
                region.extend_lease(sent + float(answer["lease_seconds"]))
        for region_id, term in answer["revoked"]:
            self._superseded[region_id] = term
        self._follows = frozenset(answer["follows"])

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
                LOG.warning("Region %s: %s", region, error)

    def _followed(self, region_id: int) -> dict[str, Any] | None:
        """What a heartbeat says of a read replica: it reads its leader's manifest and no log, as GreptimeDB's do."""
        manifest = self._files(region_id).latest()
        return None if manifest is None else report_of(region_id, manifest, "Follower")

    def _idle(self, region: Region) -> None:
        """Samples how far the region needs no replay, and now and then makes it a durable checkpoint.

        The route is read before the sample is taken and compared when it is written: a leader that was stopped and woke
        up late cannot write a checkpoint beyond rows that its successor took.
        """
        if self._ticks % self.options.checkpoint_heartbeats:
            region.sample_idle()
            return
        try:
            route = self._etcd.get(keys.table_route(table_id(region.region_id)))
            held = self._etcd.get(keys.topic_region(region.topic, region.region_id))
        finally:  # without etcd, too
            sample = region.sample_idle()
        routed = TableRoute.from_text(route.value).of(region.region_id)
        if not held.exists or not routed.led_by(self.options.peer.id):
            return
        is_news = sample is not None and sample > (checkpoint(held.value) or 0)
        if is_news and self._etcd.txn([route, held], {held.key: checkpoint_value(sample)}):
            LOG.info("Checkpoint of idle region %s: %d", region, sample)

    def _led_here(self, table: DatanodeTable) -> list[Assignment]:
        """Regions of a table to open at the start; one that is being moved is not."""
        routes = TableRoute.from_text(self._etcd.get(keys.table_route(table.table_id)).value).regions
        return [
            Assignment(route.region_id, table.topics[region_number(route.region_id)], route.term)
            for route in routes
            if route.led_by(self.options.peer.id)
        ]

    def _try_open(self, assignment: Assignment) -> str | None:
        """Why it cannot be opened; None: it is, or it was moved elsewhere in this very moment."""
        try:
            self.open(assignment)
        except AnotherLeads as error:
            if (again := self._in_a_new_term(assignment)) is not None:
                LOG.warning("Metadata of region %s are older than it: %s", named(assignment.region_id), error)
                return self._try_open(again)
            LOG.warning("Region %s is left to another datanode: %s", named(assignment.region_id), error)
        except RegionFatalError as error:
            reason = f"region {named(assignment.region_id)} cannot be opened: {error}"
            LOG.critical("%s", reason)
            return reason
        return None

    def _in_a_new_term(self, assignment: Assignment) -> Assignment | None:
        """The assignment in a term that nobody had yet, where the metadata store still says that it is led here.

        Then it was restored from a copy of before a later leader, and it decides: GreptimeDB, which has no terms, opens
        what its metadata say. Who restores metadata has stopped the database: nobody waits for the leases of before.
        """
        region_id, manifest = assignment.region_id, self._files(assignment.region_id).latest()
        while manifest is not None:
            held = self._etcd.get(keys.table_route(table_id(region_id)))
            table = TableRoute.from_text(held.value)
            route = table.of(region_id)
            if not route.led_by(self.options.peer.id) or route.term != assignment.term:
                return None
            raised = replace(route, term=manifest.term + 1)
            if self._etcd.txn([held], {held.key: table.with_region(raised).to_text()}):
                return replace(assignment, term=raised.term)
        return None

    def _floors(self, assignment: Assignment) -> Floors:
        held = self._etcd.get(keys.topic_region(assignment.topic, assignment.region_id))
        if not self.options.read_pruned_marker:
            return Floors(checkpoint(held.value))
        return Floors(checkpoint(held.value), pruned_entry_id(self._etcd.get(keys.topic_name(assignment.topic)).value))

    def _files(self, region_id: int) -> RegionFiles:
        return RegionFiles(self.options.storage / str(table_id(region_id)) / str(region_id))
