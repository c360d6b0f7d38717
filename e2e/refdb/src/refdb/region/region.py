"""One region: rows go to the log first, then to the memtable; a flush moves them to a file and the manifest says so.

A row is acknowledged only while the region's lease runs: after it ends, another datanode may have replayed the log and
would not know the row. Time is CLOCK_MONOTONIC, which goes on while the process is stopped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from refdb.errors import DatabaseError, RegionFatalError, StatusCode, Unavailable
from refdb.region.files import RegionFiles
from refdb.region.manifest import Manifest
from refdb.region.rows import Put, encode_put
from refdb.schema import Row
from refdb.wal.log import WalLog
from walrecord import split
from walrecord.region import region_number, table_id

LOG = logging.getLogger("refdb.region")
LEASE_WAIT = 3.0
"""A region that was opened just now gets its lease with the next heartbeat."""

_Key = tuple[Any, ...]


class Scan(NamedTuple):
    """All rows of a region, and the last entry of the log that is in them."""

    rows: list[Row]
    applied_entry_id: int


def named(region_id: int) -> str:
    """A region as GreptimeDB's logs write it."""
    return f"{region_id}({table_id(region_id)}, {region_number(region_id)})"


def report_of(region_id: int, manifest: Manifest, role: str) -> dict[str, Any]:
    """What is durable of a region in GreptimeDB's shape; members that would always be 0 are left out."""
    mito = {
        "manifest_version": manifest.version,
        "flushed_entry_id": manifest.flushed_entry_id,
        "file_removed_cnt": 0,
    }
    return {
        "id": region_id,
        "engine": "mito",
        "role": role,
        "memtable_size": 0,
        "sst_num": len(manifest.files),
        "region_manifest": {"Mito": mito},
        "data_topic_latest_entry_id": 0,
        "metadata_topic_latest_entry_id": 0,
    }


class Region:
    """An open region. All methods may be called from any thread."""

    def __init__(self, region_id: int, manifest: Manifest, files: RegionFiles, log: WalLog) -> None:
        self.region_id, self.manifest = region_id, manifest  # what is durable
        self.topic, self.term, self.schema = manifest.topic, manifest.term, manifest.schema
        self.fatal: str | None = None
        self.applied_entry_id = manifest.flushed_entry_id
        self.idle_entry_id = manifest.flushed_entry_id
        self._files, self._log, self._clock = files, log, time.monotonic
        self._memtable: dict[_Key, Row] = {}
        self.memtable_bytes = 0
        self._idle_ticks = 0
        self._next_sequence = manifest.next_sequence
        self._keys = manifest.schema.key_indexes()
        self._lease_until = float("-inf")
        self._closed = False
        self._lock = threading.RLock()

    def __str__(self) -> str:
        return named(self.region_id)

    def extend_lease(self, until: float) -> None:
        """The metasrv lets this datanode lead the region until then (CLOCK_MONOTONIC)."""
        self._lease_until = max(self._lease_until, until)

    def write(self, rows: Sequence[Row]) -> int:
        """Appends rows to the log, then applies them; returns the entry id."""
        with self._lock:
            self._wait_for_lease()
            put = Put(self._next_sequence, tuple(rows))
            payload = encode_put(self.schema, put)
            self._next_sequence = put.next_sequence
            try:
                entry_id = self._log.append(self.topic, split(self.region_id, payload, self._log.max_batch_bytes))
            except RegionFatalError as error:
                raise self._fail(str(error)) from None
            if entry_id <= self.applied_entry_id:
                raise self._fail(f"topic {self.topic} went back to offset {entry_id}: was it deleted and made again?")
            self.apply(entry_id, put, len(payload))
            if self._clock() >= self._lease_until:
                raise Unavailable(f"region {self} lost its lease: the outcome is unknown")
            return entry_id

    def apply(self, entry_id: int, put: Put, size: int) -> None:
        """Puts an entry that is in the log into the memtable."""
        for row in put.rows:
            self._memtable[self._key(row)] = row
        self.memtable_bytes += size
        self._idle_ticks = 0
        self._next_sequence = max(self._next_sequence, put.next_sequence)
        self.applied_entry_id = entry_id

    def scan(self) -> Scan:
        """The rows as of one moment."""
        with self._lock:
            self._wait_for_lease()
            manifest, memory = self.manifest, self._memtable.copy()
            applied = self.applied_entry_id
        rows = {self._key(row): row for name in manifest.files for row in self._files.read_rows(name)}
        return Scan(list((rows | memory).values()), applied)

    def flush(self) -> bool:
        """Moves the memtable to a file; False when there was nothing to move. If it fails, the rows stay in memory."""
        with self._lock:
            self._check_open()
            if not self._memtable:
                return False
            try:
                file = self._files.write_rows(self.schema, self._memtable.values())
                manifest = self.manifest.flushed(self.applied_entry_id, self._next_sequence, file)
                self._files.commit(manifest)
            except RegionFatalError as error:
                raise self._fail(str(error)) from None
            except OSError as error:
                LOG.warning("Flush of region %s failed, its rows stay in the log: %s", self, error)
                raise Unavailable(f"flush of region {self} failed: {error}") from None
            self.manifest, self._memtable, self.memtable_bytes = manifest, {}, 0
            LOG.info("Flushed region %s up to entry id %d", self, manifest.flushed_entry_id)
            return True

    def is_idle(self, ticks: int) -> bool:
        """Counts a heartbeat; whether so many have passed with nothing in memory."""
        with self._lock:
            self._idle_ticks = 0 if self._memtable else self._idle_ticks + 1
            return self._idle_ticks >= ticks and not self._closed and self.fatal is None

    def sample_idle(self) -> int | None:
        """The log's last entry id, while no append is under way and nothing is in memory: all of ours is durable."""
        with self._lock:
            if self._memtable or self._closed or self.fatal is not None:
                return None
            high = self._log.watermarks(self.topic).high
            if self._clock() >= self._lease_until:
                return None  # another datanode may have written already
            self.idle_entry_id = max(self.idle_entry_id, high - 1)
            return self.idle_entry_id

    def close(self) -> None:
        """No write is acknowledged after this."""
        with self._lock:
            self._closed = True

    def report(self) -> dict[str, Any]:
        """What a heartbeat says of it."""
        memory = {
            "memtable_size": self.memtable_bytes,
            "data_topic_latest_entry_id": self.idle_entry_id,
            "metadata_topic_latest_entry_id": self.idle_entry_id,
        }
        role = "Leader" if self._clock() < self._lease_until else "Follower"
        return {**report_of(self.region_id, self.manifest, role), **memory}

    def _wait_for_lease(self) -> None:
        deadline = self._clock() + LEASE_WAIT
        self._check_open()
        while self._clock() >= self._lease_until:
            if self._clock() > deadline:
                raise DatabaseError(StatusCode.REGION_NOT_READY, f"region {self} has no lease")
            time.sleep(0.02)

    def _check_open(self) -> None:
        if self.fatal is not None:
            raise RegionFatalError(self.fatal)
        if self._closed:
            raise DatabaseError(StatusCode.REGION_NOT_FOUND, f"region {self} was closed here")

    def _fail(self, message: str) -> RegionFatalError:
        self.fatal = f"region {self}: {message}"
        LOG.critical("%s", self.fatal)
        return RegionFatalError(self.fatal)

    def _key(self, row: Row) -> _Key:
        return tuple(row[index] for index in self._keys)
