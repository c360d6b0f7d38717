"""Puts the pieces of each region together in the order of the log: PIECES, sorted → VERDICTS."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa

from sparkjob.integrity.assembly import Assembly
from sparkjob.integrity.content import find_flaws
from sparkjob.integrity.findings import MOST_OF_A_KIND, Kind, Severity
from sparkjob.integrity.scan import Piece, Starts, runs_of_entry, start_of, tally_piece
from sparkjob.integrity.schemas import PIECES, VERDICTS_ARROW, signed, unsigned
from sparkjob.integrity.sequences import Run, Seen, Sequences
from sparkjob.integrity.tally import Tally
from walrecord import Entry, InvalidEntry, decode_entry

_COLUMNS = PIECES.names
_OF_THE_TOPIC = frozenset({Kind.UNKNOWN_REGION, Kind.ILLEGAL_SEQUENCE})
"""Whoever reads the topic meets these, from wherever on and of whatever region."""


class JudgePieces:
    """The function for `mapInArrow`: pieces of many regions, each region's together and in the order of the log."""

    def __init__(self, starts: Starts, *, drops_repeats: bool) -> None:
        self._starts, self._drops_repeats = starts, drops_repeats

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the verdicts of a region as soon as its pieces have ended."""
        for (topic, region), pieces in groupby(_pieces(batches), key=lambda piece: (piece["topic"], piece["region"])):
            region_id = None if region is None else unsigned(region)
            reads_from = 0 if region_id is None else start_of(region_id, self._starts[topic])
            judged = judge_region(topic, region_id, reads_from, pieces, drops_repeats=self._drops_repeats)
            yield pa.RecordBatch.from_pylist(judged, VERDICTS_ARROW)


def judge_region(
    topic: str, region: int | None, reads_from: int | None, pieces: Iterable[Piece], *, drops_repeats: bool
) -> list[dict[str, Any]]:
    """The verdicts of one region, or of the records that have none; nobody reads one without `reads_from`."""
    verdict = _Verdict(topic, region, reads_from, drops_repeats=drops_repeats)
    for piece in pieces:
        verdict.take(piece)
    return verdict.end()


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
    for batch in batches:
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield dict(zip(_COLUMNS, values, strict=True))


class _Verdict:
    """What is known of a region so far."""

    def __init__(self, topic: str, region: int | None, reads_from: int | None, *, drops_repeats: bool) -> None:
        self._topic, self._region = topic, region
        self._reads_from = math.inf if reads_from is None else reads_from
        self._tally, self._sequences = Tally(), Sequences()
        self._assembly = Assembly(drops_repeats=drops_repeats)
        self._noops = 0
        self._first_noop: int | None = None
        self._told: list[dict[str, Any]] = []
        self._counts: Counter[Kind] = Counter()

    def take(self, piece: Piece) -> None:
        """One piece, the next in the order of the log."""
        match piece["kind"]:
            case "run":
                first, after = piece["sequence"], piece["next_sequence"]
                self._run(
                    Run(
                        unsigned(first),
                        None if after is None else unsigned(after),
                        piece["offset"],
                        piece["last_offset"],
                    )
                )
                self._assembly.other_entry()
            case "part":
                entry, seen = self._assembly.part(piece["offset"], piece["key"], piece["value"])
                self._tell(seen)
                if entry is not None and entry.entry_id >= self._reads_from:
                    self._entry(entry)
            case "finding":
                kind = Kind(piece["finding"])
                if kind is not Kind.UNKNOWN_REGION or not self._counts[kind]:  # each partition tells it
                    self._tell([Seen(kind, piece["offset"], piece["message"])])
                if kind is Kind.UNDECODABLE_ENTRY:
                    self._assembly.other_entry()
            case "noops":
                self._noops += piece["entries"]
                self._first_noop = piece["offset"] if self._first_noop is None else self._first_noop
            case "tally":
                counts = (piece["entries"], piece["rows"], piece["bytes"], piece["last_offset"])
                self._tally.merge(Tally(*counts, unsigned(piece["xor"]), piece["total"]))

    def end(self) -> list[dict[str, Any]]:
        """The findings and the tally. Entries that are open here are none: their Last comes later."""
        self._tell(self._sequences.end())
        if self._first_noop is not None:
            self._tell([Seen(Kind.NOOPS, self._first_noop, noops_sentence(self._noops))])
        errors = sum(count for kind, count in self._counts.items() if kind.severity is Severity.ERROR)
        tally = tally_piece(self._topic, self._region, self._tally)
        return [*self._told, tally | {"errors": errors, "warnings": self._counts.total() - errors}]

    def _entry(self, entry: Entry) -> None:
        try:
            decoded = decode_entry(entry.payload)
        except InvalidEntry as error:
            # Read, wherever it begins: what counts is its id, the offset of its Last.
            self._add(Seen(Kind.UNDECODABLE_ENTRY, entry.first_offset, error.reason))
            return
        self._tell(Seen(kind, entry.entry_id, said) for kind, said in find_flaws(decoded, entry.payload))
        rows = 0
        for run in runs_of_entry(decoded):
            rows += 0 if run.after is None else run.after - run.first
            self._run(Run(run.first, run.after, entry.entry_id, entry.entry_id))
        self._tally.add(entry.entry_id, entry.payload, rows)

    def _run(self, run: Run) -> None:
        self._tell(self._sequences.add(run))

    def _tell(self, seen: Iterable[Seen]) -> None:
        for each in seen:
            if each.offset >= self._reads_from or each.kind in _OF_THE_TOPIC:  # else before what the region reads
                self._add(each)

    def _add(self, seen: Seen) -> None:
        kind, offset, message = seen
        self._counts[kind] += 1
        if self._counts[kind] <= MOST_OF_A_KIND:
            region = None if self._region is None or kind is Kind.ILLEGAL_SEQUENCE else signed(self._region)
            row = {"kind": "finding", "topic": self._topic, "region": region, "offset": offset}
            self._told.append(row | {"finding": kind.value, "message": message})


def noops_sentence(count: int) -> str:
    """What is said of noops beyond offset 0."""
    return (
        f"{count} records from here on have neither key nor value: the database skips them, and writes none but "
        "the first of a topic; whether they stand for entries cannot be known"
    )
