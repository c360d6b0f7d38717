"""What is left of the records of one Spark partition: the hot path of Integrity; no whole entry is kept.

A partition is a stretch of one topic, in the order of its offsets. What can be judged by a record alone is judged here;
what needs the stretches before and after is left as pieces, which `judge.py` puts together in the order of the log:

* entries of one record that follow each other → one run of sequences for all of them;
* parts of larger entries → as they are, because their First and Last may be in other partitions. They also end the
  region's run: the entry that they belong to has its place there;
* counts → one tally for each region.

Of regions that the request does not have, parts count all the same: the database reads them, too, before it drops them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
from google.protobuf.message import DecodeError

from sparkjob.integrity.content import find_flaws
from sparkjob.integrity.findings import Kind
from sparkjob.integrity.schemas import PIECES_ARROW, signed
from sparkjob.integrity.sequences import Run
from sparkjob.integrity.tally import Tally
from sparkjob.log_records import Chunk, LogRecord, Work
from walrecord import Full, RecordError, decode_key
from walrecord.pb.wal_pb2 import WalEntry
from walrecord.region import METADATA_GROUP, data_region, region_group

Starts = Mapping[str, Mapping[int, int]]
"""Topic → region → the first offset that it reads."""
Piece = dict[str, Any]
_MOST_KEYS = 100_000


def scan_records(starts: Starts) -> Work:
    """Records → PIECES."""

    def scan(chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
        stretch: Stretch | None = None
        for topic, records in chunks:
            if stretch is None or stretch.topic != topic:
                if stretch is not None:
                    yield _batch(stretch.end())
                stretch = Stretch(topic, starts[topic])
            try:
                stretch.read(records)
            except Exception as error:  # so that the sentence of the driver has the topic
                error.add_note(f"while it read topic {topic} from offset {records[0][0]}")
                raise
            yield _batch(stretch.take())
        if stretch is not None:
            yield _batch(stretch.end())

    return scan


def runs_of_entry(entry: WalEntry) -> Iterator[Run]:
    """The sequences that the mutations of an entry take, at offset 0. Bulk ones do not say how many rows they have."""
    for mutation in entry.mutations:
        if rows := len(mutation.rows.rows):
            yield Run(mutation.sequence, mutation.sequence + rows, 0, 0)
    for bulk in entry.bulk_entries:
        yield Run(bulk.sequence, None, 0, 0)


def start_of(region: int, starts: Mapping[int, int]) -> int | None:
    """Where a region reads from; the metadata region of the metric engine reads with its data region. None: unknown."""
    start = starts.get(region)
    if start is None and region_group(region) == METADATA_GROUP:
        return starts.get(data_region(region))
    return start


class _Region:
    """What was seen of a region since the stretch began."""

    __slots__ = ("after", "first", "last_offset", "offset", "reads_from", "region_id", "tally")

    def __init__(self, region_id: int, reads_from: int) -> None:
        self.region_id, self.reads_from = region_id, reads_from
        self.tally = Tally()
        self.first = self.after = self.offset = self.last_offset = -1


class _Meaning(NamedTuple):
    """What a key says; without a region (of the request) an entry is of nobody's concern, and a part is in the way."""

    region: _Region | None
    region_id: int
    is_full: bool


class Stretch:
    """Reads records of one topic, in the order of their offsets."""

    def __init__(self, topic: str, starts: Mapping[int, int]) -> None:
        self.topic, self._starts = topic, starts
        self._meanings: dict[bytes, _Meaning | None] = {}
        self._regions: dict[int, _Region] = {}
        self._unknown: set[int] = set()
        self._pieces: list[Piece] = []
        self._records = self._bytes = self._place = self._noops = self._first_noop = 0

    def read(self, records: Iterable[LogRecord]) -> None:
        """Takes records."""
        meanings = self._meanings
        for offset, key, value in records:
            self._records += 1
            if value is None:
                self._without_value(offset, key)
                continue
            self._bytes += len(value)
            if key is None:
                self._find(
                    Kind.MISSING_KEY, offset, "the record has a value but no key: no region of the topic can be opened"
                )
                continue
            meaning = meanings.get(key) or self._learn(key, offset)
            if meaning is None:
                continue
            region = meaning.region
            if not meaning.is_full:
                if region is not None:
                    self._end_run(region)
                self._pieces.append(self._piece("part", offset, meaning.region_id) | {"key": key, "value": value})
            elif region is not None and offset >= region.reads_from:
                self._entry(region, offset, value)

    def take(self) -> list[Piece]:
        """The pieces that are ready."""
        pieces, self._pieces = self._pieces, []
        for place, piece in enumerate(pieces, self._place):
            piece["place"] = place
        self._place += len(pieces)
        return pieces

    def end(self) -> list[Piece]:
        """The pieces that are left when the stretch has ended."""
        for region in self._regions.values():
            self._end_run(region)
            self._pieces.append(tally_piece(self.topic, region.region_id, region.tally))
        if self._noops:
            self._pieces.append(self._piece("noops", self._first_noop, None) | {"entries": self._noops})
        whole = {"entries": self._records, "bytes": self._bytes, "rows": 0, "xor": 0, "total": 0, "last_offset": -1}
        self._pieces.append({"kind": "tally", "topic": self.topic, **whole})
        return self.take()

    def _without_value(self, offset: int, key: bytes | None) -> None:
        if key is None:
            if offset > 0:  # the database writes one into an empty topic
                self._first_noop = self._first_noop if self._noops else offset
                self._noops += 1
            return
        try:
            region = decode_key(key).region_id
        except RecordError:
            region = None
        if region is None or start_of(region, self._starts) is not None:
            self._find(Kind.TOMBSTONE, offset, "the record has a key and no value: the database skips it", region)

    def _entry(self, region: _Region, offset: int, value: bytes) -> None:
        try:
            entry = WalEntry.FromString(value)
        except DecodeError:
            self._find(Kind.UNDECODABLE_ENTRY, offset, "the value is not a whole WalEntry", region.region_id)
            return
        rows = 0
        for mutation in entry.mutations:
            count = len(mutation.rows.rows)
            rows += count
            if mutation.sequence == region.after:
                region.after += count
                region.last_offset = offset
            elif count:
                self._end_run(region)
                region.first, region.after = mutation.sequence, mutation.sequence + count
                region.offset = region.last_offset = offset
        if entry.bulk_entries:
            self._end_run(region)
            self._pieces += [
                run_piece(self.topic, region.region_id, Run(bulk.sequence, None, offset, offset))
                for bulk in entry.bulk_entries
            ]
        region.tally.add(offset, value, rows)
        for kind, message in find_flaws(entry, value):
            self._find(kind, offset, message, region.region_id)

    def _learn(self, key: bytes, offset: int) -> _Meaning | None:
        try:
            decoded = decode_key(key, offset=offset)
        except RecordError as error:
            self._find(Kind.UNDECODABLE_KEY, offset, error.reason)
            return None
        region_id = decoded.region_id
        region = self._regions.get(region_id)
        reads_from = start_of(region_id, self._starts)
        if region is None and reads_from is not None:
            region = self._regions[region_id] = _Region(region_id, reads_from)
        if region is None and region_id not in self._unknown:
            self._unknown.add(region_id)
            self._find(Kind.UNKNOWN_REGION, offset, "the request does not have the region of this record", region_id)
        if len(self._meanings) >= _MOST_KEYS:
            self._meanings.clear()  # keys repeat; so many of them are damaged ones
        meaning = self._meanings[key] = _Meaning(region, region_id, isinstance(decoded.type, Full))
        return meaning

    def _end_run(self, region: _Region) -> None:
        if region.after >= 0:
            run = Run(region.first, region.after, region.offset, region.last_offset)
            self._pieces.append(run_piece(self.topic, region.region_id, run))
            region.after = -1

    def _find(self, kind: Kind, offset: int, message: str, region: int | None = None) -> None:
        self._pieces.append(self._piece("finding", offset, region) | {"finding": kind.value, "message": message})

    def _piece(self, kind: str, offset: int, region: int | None) -> Piece:
        return {
            "kind": kind,
            "topic": self.topic,
            "region": None if region is None else signed(region),
            "offset": offset,
        }


def run_piece(topic: str, region: int, run: Run) -> Piece:
    """A run as a row."""
    return {
        "kind": "run",
        "topic": topic,
        "region": signed(region),
        "offset": run.offset,
        "last_offset": run.last_offset,
        "sequence": signed(run.first),
        "next_sequence": None if run.after is None else signed(run.after & (2**64 - 1)),
    }


def tally_piece(topic: str, region: int | None, tally: Tally) -> Piece:
    """A tally as a row."""
    return {
        "kind": "tally",
        "topic": topic,
        "region": None if region is None else signed(region),
        "last_offset": tally.last_entry_id,
        "entries": tally.entries,
        "rows": tally.rows,
        "bytes": tally.size,
        "xor": signed(tally.xor),
        "total": tally.total,
    }


def _batch(pieces: list[Piece]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(pieces, PIECES_ARROW)
