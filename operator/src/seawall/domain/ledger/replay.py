"""What a restart would cost: the entries from where a region would read to the end of its log.

A region reads the whole shared topic from its start on, other regions' entries too. A datanode that opens many
regions of a topic reads it once, from the lowest of their starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seawall.domain.columns import Ids, Numbers, greatest
from seawall.domain.ledger.ledger import Ledger, as_bytes


@dataclass(frozen=True, slots=True)
class RegionReplay:
    """One region of a topic. None: unknown."""

    region: int
    datanode: int | None
    prunable: int | None
    reads_from: int | None
    entries: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class DatanodeReplay:
    """All regions of a datanode; `size_bytes` is None if the size of any of their topics is unknown."""

    datanode: int
    entries: int
    size_bytes: int | None


def replay_by_region(ledger: Ledger, row: int) -> tuple[RegionReplay, ...]:
    """The regions of one topic."""
    regions = ledger.case.regions
    first, last = np.searchsorted(regions.topic, [row, row + 1])
    rows = np.arange(first, last, dtype=np.int64)
    entries = _entries(ledger, regions.topic[rows], ledger.case.reads_from.take(rows))
    size = as_bytes(ledger, regions.topic[rows], entries)
    return tuple(
        RegionReplay(
            int(regions.region[at]),
            regions.leader.at(at),
            ledger.case.prunable.at(at),
            ledger.case.reads_from.at(at),
            entries.at(number),
            size.at(number),
        )
        for number, at in enumerate(rows)
    )


def replay_by_datanode(ledger: Ledger) -> tuple[DatanodeReplay, ...]:
    """All datanodes that lead a region whose start is known, by id."""
    regions, count = ledger.case.regions, len(ledger.topics)
    useful = np.flatnonzero(ledger.case.reads_from.known & regions.leader.known)
    datanodes, leader = np.unique(regions.leader.numbers[useful], return_inverse=True)
    pairs, place = np.unique(leader * count + regions.topic[useful], return_inverse=True)
    starts = ledger.case.reads_from.take(useful).least_by(place.astype(np.int64), len(pairs))
    where = pairs // count
    entries = _entries(ledger, pairs % count, starts)
    size = as_bytes(ledger, pairs % count, entries)
    total = np.bincount(where, entries.numbers * entries.known, len(datanodes))
    total_size = np.bincount(where, size.numbers * size.known, len(datanodes))
    sized = np.bincount(where, ~size.known, len(datanodes)) == 0
    return tuple(
        DatanodeReplay(int(datanode), int(total[at]), int(total_size[at]) if sized[at] else None)
        for at, datanode in enumerate(datanodes)
    )


def longest_replay(ledger: Ledger) -> Ids:
    """By topic the entries from the lowest known start of its regions to the end of the log."""
    every = np.arange(len(ledger.topics), dtype=np.int64)
    return _entries(ledger, every, ledger.case.reads_from.least_by(ledger.case.regions.topic, len(ledger.topics)))


def _entries(ledger: Ledger, topic: Numbers, starts: Ids) -> Ids:
    """From the start, or where the log begins, to its end."""
    log_start, end = ledger.topics.log_start.take(topic), ledger.topics.high_watermark.take(topic)
    begin = greatest(starts, log_start)
    return Ids(np.maximum(end.numbers - begin.numbers, 0), starts.known & log_start.known & end.known)
