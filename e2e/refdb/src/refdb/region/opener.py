"""Creates and opens regions. Open means: read the manifest, replay the log after it, shut out the leader before."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from refdb.errors import RegionFatalError
from refdb.region.files import RegionFiles
from refdb.region.manifest import Manifest
from refdb.region.region import Region, named
from refdb.region.rows import decode_puts
from refdb.schema import Schema
from refdb.wal.log import RawRecord, WalLog, Watermarks
from walrecord import IllegalSequence, MissingKey, OrphanPart, PartsDoNotJoin, Reassembler, RecordError

SHUT_OUT_ATTEMPTS = 3
LOG = logging.getLogger("refdb.region.opener")


@dataclass(frozen=True, slots=True)
class Assignment:
    """A region that a datanode is to lead, and the term for which it is."""

    region_id: int
    topic: str
    term: int


@dataclass(frozen=True, slots=True)
class Floors:
    """What the metadata store says need not be replayed: entry ids, inclusive."""

    checkpoint: int | None = None
    pruned: int | None = None


def create_region(region_id: int, topic: str, schema: Schema, files: RegionFiles, log: WalLog) -> Region:
    """A region without rows, which begins at the end of its topic."""
    marks = log.activate(topic)
    manifest = Manifest(0, topic, schema, flushed_entry_id=marks.high - 1)
    files.commit(manifest)
    LOG.info("A new region created, region: %s, topic: %s", named(region_id), topic)
    return Region(region_id, manifest, files, log)


def open_region(assignment: Assignment, floors: Floors, files: RegionFiles, log: WalLog) -> Region:
    """Brings a region back to what was acknowledged; raises `RegionFatalError` when the log cannot give that."""
    region_id, topic = assignment.region_id, assignment.topic
    LOG.info("Try to open region %s", named(region_id))
    manifest = _shut_out_others(assignment, files)
    marks = log.watermarks(topic)  # after the commit: a leader that was shut out acknowledges nothing beyond
    start = max(manifest.flushed_entry_id, floors.checkpoint or 0, floors.pruned or 0) + 1
    _check(topic, start, marks)
    region = Region(region_id, manifest, files, log)
    LOG.info("Start replaying memtable at flushed_entry_id + 1 %d for region %s", start, named(region_id))
    rows = _replay(region, log.read(topic, start, marks.high))
    last = region.applied_entry_id
    LOG.info("Replay WAL for region: %s, rows recovered: %d, last entry id: %d", named(region_id), rows, last)
    region.applied_entry_id = max(last, start - 1)
    LOG.info("Region %s is opened", named(region_id))
    return region


def _shut_out_others(assignment: Assignment, files: RegionFiles, attempts: int = SHUT_OUT_ATTEMPTS) -> Manifest:
    """Writes the next version of the manifest: a leader before that still believes in itself cannot flush any more."""
    name, topic, manifest = named(assignment.region_id), assignment.topic, files.latest()
    if manifest is None:
        raise RegionFatalError(f"region {name} has no manifest")
    if manifest.topic != topic:
        raise RegionFatalError(f"region {name} belongs to topic {manifest.topic}, not {topic}")
    opened = manifest.opened(assignment.term)
    try:
        files.commit(opened)
    except RegionFatalError:  # the one before flushed meanwhile
        if attempts == 1:
            raise
        return _shut_out_others(assignment, files, attempts - 1)
    return opened


def _check(topic: str, start: int, marks: Watermarks) -> None:
    if marks.low > start:
        raise RegionFatalError(
            f"OffsetOutOfRange: topic {topic} begins at {marks.low}, but replay must begin at {start}: rows are lost"
        )
    if marks.high < start:
        raise RegionFatalError(
            f"topic {topic} ends at {marks.high}, before replay begins at {start}: was it deleted and made again?"
        )


def _replay(region: Region, records: Iterable[RawRecord]) -> int:
    """Applies the region's entries; returns how many rows.

    Like GreptimeDB it tells of a record that cannot be read in which topic it is, and not at which offset.
    """
    reassembler, rows = Reassembler(drops_repeats=True), 0  # as GreptimeDB since 1.1.3
    try:
        for record in records:
            outcome = reassembler.feed(*record)
            for finding in outcome.findings:
                if isinstance(finding, IllegalSequence):  # of whatever region: there is one reader of the topic
                    raise RegionFatalError(_unreadable(region, f"Illegal sequence of a middle record: {finding}"))
                if isinstance(finding, PartsDoNotJoin) and finding.region_id == region.region_id:
                    raise RegionFatalError(f"an entry is not whole: {finding}")
                if isinstance(finding, OrphanPart) and finding.region_id == region.region_id:
                    LOG.warning("Dropped %s", finding)
            entry = outcome.entry
            if entry is not None and entry.region_id == region.region_id:
                for put in decode_puts(region.schema, entry.payload, entry.entry_id):
                    region.apply(entry.entry_id, put, len(entry.payload))
                    rows += len(put.rows)
    except MissingKey:
        raise RegionFatalError(_unreadable(region, "Missing required key in a record")) from None
    except RecordError as error:
        raise RegionFatalError(_unreadable(region, error.reason)) from None
    return rows


def _unreadable(region: Region, why: str) -> str:
    return f"Failed to read WAL, provider: Kafka(topic={region.topic}): {why}"
